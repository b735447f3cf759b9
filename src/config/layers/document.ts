// JSON with comments and trailing commas: any text gives what can be read of it, and what is wrong with file positions.
import { createScanner, type JSONVisitor, type ParseErrorCode, printParseErrorCode, visit } from "jsonc-parser";
import type { JsonValue } from "../../base/json/json.js";
import { CONFIG_LIMITS } from "../limits.js";

/** Both from 1; columns in UTF-16 units, as editors count. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface Document {
  /** Undefined when there is no value at all: an empty file, or one that is unreadable from the start. */
  readonly value: JsonValue | undefined;
  readonly problems: readonly (Omit<Fault, "offset"> & { readonly position: Position })[];
  /** The node of a value; undefined when there is none at that path. */
  readonly node: (path: KeyPath) => TextNode | undefined;
  /** Where a value (or the key before it) begins; for a path that is not there, where its nearest parent begins. */
  locate(path: KeyPath, what?: "key" | "value"): Position;
  /** Whether a syntax error lies in the value: then what was read of it may not be what was meant. */
  isBroken(path: KeyPath): boolean;
}

interface Fault {
  readonly severity: "error" | "warning";
  readonly offset: number;
  readonly message: string;
}

/** Never throws. Of the entries of `mcpServers` after the first `maxServers` only the names are read. */
export function parseDocument(given: string, maxServers?: number): Document {
  const text = given.replace(/^\ufeff/u, "");
  const positionAt = positionsIn(text);
  const refusal = refuse(text);
  if (refusal) return documentOf(undefined, [refusal], positionAt);
  const faults: Fault[] = [];
  const builder = new TreeBuilder(text.length, faults, maxServers);
  const onError: JSONVisitor["onError"] = (code, offset, length) => {
    faults.push({ severity: "error", offset, message: syntaxMessage(code, text.slice(offset, offset + length)) });
  };
  visit(text, { ...builder.visitor, onError }, { allowTrailingComma: true, allowEmptyContent: true });
  for (const { index } of text.matchAll(/\ufffd/gu)) {
    faults.push({ severity: "error", offset: index, message: "this is not UTF-8; save the file as UTF-8" });
  }
  return documentOf(builder.root, faults, positionAt);
}

/** What is not even tried: too large, too deep for a recursive parser, or no text at all. */
function refuse(text: string): Fault | undefined {
  const refused = (message: string, offset = 0): Fault => ({ severity: "error", offset, message });
  if (text.length > CONFIG_LIMITS.configMaxBytes) {
    return refused(`the file is larger than ${CONFIG_LIMITS.configMaxBytes} bytes`);
  }
  if (text.includes("\0")) return refused("this is not UTF-8 text; save the file as UTF-8", text.indexOf("\0"));
  const scanner = createScanner(text, true);
  const end = text.length;
  let depth = 0;
  for (scanner.scan(); scanner.getTokenOffset() < end; scanner.scan()) {
    const sign = text[scanner.getTokenOffset()];
    if (sign === "{" || sign === "[") depth += 1;
    else if (sign === "}" || sign === "]") depth = Math.max(0, depth - 1);
    if (depth > CONFIG_LIMITS.configMaxDepth) {
      return refused(`this is nested more than ${CONFIG_LIMITS.configMaxDepth} levels deep`, scanner.getTokenOffset());
    }
  }
  return undefined;
}

function documentOf(
  root: TextNode | undefined,
  faults: readonly Fault[],
  positionAt: (offset: number) => Position,
): Document {
  const errors = faults.filter(({ severity }) => severity === "error");
  const node = (path: KeyPath): TextNode | undefined => {
    let current = root;
    for (const step of path) current = current?.children.get(step)?.node;
    return current;
  };
  return {
    value: root?.value,
    problems: firstAtEach(faults)
      .sort((one, other) => one.offset - other.offset)
      .slice(0, CONFIG_LIMITS.configMaxProblems)
      .map(({ severity, message, offset }) => ({ severity, message, position: positionAt(offset) })),
    node,
    locate: (path, what = "value") => {
      for (let length = path.length; length > 0; length--) {
        const child = node(path.slice(0, length - 1))?.children.get(path[length - 1] ?? 0);
        if (child) return positionAt(what === "key" && length === path.length ? child.keyStart : child.node.start);
      }
      return positionAt(root?.start ?? 0);
    },
    isBroken: (path) => {
      const found = node(path);
      return found !== undefined && errors.some(({ offset }) => offset >= found.start && offset <= found.end);
    },
  };
}

/** Of several complaints about one place the first is the cause. */
function firstAtEach(faults: readonly Fault[]): Fault[] {
  const seen = new Set<number>();
  return faults.filter(({ offset }) => !seen.has(offset) && seen.add(offset));
}

function positionsIn(text: string): (offset: number) => Position {
  const lineStarts = [0, ...[...text.matchAll(/\r\n|\r|\n/gu)].map((found) => found.index + found[0].length)];
  return (offset) => {
    let low = 0;
    let high = lineStarts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (lineStarts[low] ?? 0) + 1 };
  };
}

// The JSON parser's error codes in words that say what to write.

const COMMENT_NEVER_ENDS = "this comment never ends";
const SYNTAX_MESSAGES: Readonly<Partial<Record<ReturnType<typeof printParseErrorCode>, string>>> = {
  InvalidSymbol: "%s is no JSON value; write strings in double quotes",
  InvalidNumberFormat: "%s is no JSON number",
  UnexpectedEndOfNumber: "%s is no JSON number",
  PropertyNameExpected: 'expected a key in double quotes, or "}"',
  ValueExpected: "expected a value",
  ColonExpected: 'expected ":" after the key',
  CommaExpected: 'expected ","',
  CloseBraceExpected: 'expected "}"',
  CloseBracketExpected: 'expected "]"',
  EndOfFileExpected: "expected the end of the file: one object is all it may hold",
  InvalidCommentToken: COMMENT_NEVER_ENDS,
  UnexpectedEndOfComment: COMMENT_NEVER_ENDS,
  UnexpectedEndOfString: 'this text never ends: the closing " is missing',
  InvalidUnicode: "a \\u escape takes four hexadecimal digits",
  InvalidEscapeCharacter: "unknown escape after \\; write \\\\ for a backslash",
  InvalidCharacter: "control characters in texts are written as escapes, such as \\n or \\t",
};

function syntaxMessage(code: ParseErrorCode, found: string): string {
  const message = SYNTAX_MESSAGES[printParseErrorCode(code)] ?? "this is not JSON";
  return message.replace("%s", () => JSON.stringify(found.length > 40 ? `${found.slice(0, 40)}…` : found));
}

// The tree of a JSON text with the position of everything in it. Built from the parser's events, since its own tree is lost when a brace is missing.

export type KeyPath = readonly (string | number)[];

export interface TextChild {
  /** Where the key begins; in a list, where the value does. */
  readonly keyStart: number;
  readonly node: TextNode;
}

export interface TextNode {
  readonly value: JsonValue;
  readonly start: number;
  /** After its last character; the end of the text when it was never closed. */
  readonly end: number;
  /** By key or index, in the order of the text; of one key that is there twice, the last. */
  readonly children: ReadonlyMap<string | number, TextChild>;
}

/** Keys that lead to an object's prototype instead of to a value of its own in careless code. */
const FORBIDDEN_KEY = "__proto__";

const NO_CHILDREN: ReadonlyMap<string | number, TextChild> = new Map();

interface Open {
  readonly start: number;
  readonly value: Record<string, JsonValue> | JsonValue[];
  readonly children: Map<string | number, TextChild>;
  key: { readonly name: string; readonly start: number } | undefined;
}

class TreeBuilder {
  readonly #textLength: number;
  readonly #faults: Fault[];
  readonly #maxServers: number;
  readonly #open: Open[] = [];
  #isSkipping = false;
  #root: TextNode | undefined;

  /** Of the entries of `mcpServers` after the first `maxServers` only the names are kept: a file may have thousands. */
  constructor(textLength: number, faults: Fault[], maxServers: number = Number.POSITIVE_INFINITY) {
    this.#textLength = textLength;
    this.#faults = faults;
    this.#maxServers = maxServers;
  }

  get root(): TextNode | undefined {
    while (this.#open.length > 0) this.#close(this.#textLength);
    return this.#root;
  }

  readonly visitor: JSONVisitor = {
    onObjectBegin: (offset) => {
      if (this.#isSurplus) {
        this.#isSkipping = true;
        this.#add({ value: null, start: offset, end: offset, children: NO_CHILDREN });
        return false;
      }
      this.#open.push({ start: offset, value: emptyRecord(), children: new Map(), key: undefined });
      return true;
    },
    onArrayBegin: (offset) => {
      this.#open.push({ start: offset, value: [], children: new Map(), key: undefined });
    },
    onObjectProperty: (name, offset) => {
      const top = this.#open.at(-1);
      if (top) top.key = { name, start: offset };
    },
    onLiteralValue: (value: JsonValue, offset, length) => {
      this.#add({ value, start: offset, end: offset + length, children: NO_CHILDREN });
    },
    onObjectEnd: (offset, length) => {
      if (this.#isSkipping) this.#isSkipping = false;
      else this.#closeThrough("object", offset + length);
    },
    onArrayEnd: (offset, length) => this.#closeThrough("list", offset + length),
  };

  get #isSurplus(): boolean {
    const [root, servers] = this.#open;
    if (this.#open.length !== 2 || root?.key?.name !== "mcpServers") return false;
    return (servers?.children.size ?? 0) >= this.#maxServers;
  }

  /** The parser is silent about what a missing bracket leaves open: it ends with what encloses it. */
  #closeThrough(kind: "object" | "list", end: number): void {
    const isKind = (open: Open | undefined) => Array.isArray(open?.value) === (kind === "list");
    while (this.#open.length > 1 && !isKind(this.#open.at(-1))) this.#close(end);
    this.#close(end);
  }

  #close(end: number): void {
    const closed = this.#open.pop();
    if (closed) this.#add({ value: closed.value, start: closed.start, end, children: closed.children });
  }

  #add(node: TextNode): void {
    const parent = this.#open.at(-1);
    if (!parent) {
      this.#root ??= node;
      return;
    }
    if (Array.isArray(parent.value)) {
      parent.children.set(parent.value.length, { keyStart: node.start, node });
      parent.value.push(node.value);
      return;
    }
    const { key } = parent;
    parent.key = undefined;
    if (!key) return; // a value without a key: the parser has complained
    const warn = (message: string) => this.#faults.push({ severity: "warning", offset: key.start, message });
    if (key.name === FORBIDDEN_KEY) {
      warn(`the key "${FORBIDDEN_KEY}" is not used`);
      return;
    }
    if (parent.children.has(key.name)) {
      warn(`the key ${JSON.stringify(key.name)} is there twice; this, the last, counts`);
      parent.children.delete(key.name); // the last decides the order too
      delete parent.value[key.name];
    }
    parent.children.set(key.name, { keyStart: key.start, node });
    parent.value[key.name] = node.value;
  }
}

/** Without a prototype, so that no key reads anything but what was written. */
export function emptyRecord<T>(): Record<string, T> {
  const record: Record<string, T> = Object.create(null);
  return record;
}
