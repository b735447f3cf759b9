// The tree of a JSON text with the position of everything in it. Built from the parser's events, since its own tree is lost when a brace is missing.
import type { JSONVisitor } from "jsonc-parser";
import type { JsonValue } from "../base/json/json.js";

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

type Report = (offset: number, message: string, severity: "error" | "warning") => void;

/** Keys that lead to an object's prototype instead of to a value of its own in careless code. */
const FORBIDDEN_KEY = "__proto__";

const NO_CHILDREN: ReadonlyMap<string | number, TextChild> = new Map();

interface Open {
  readonly start: number;
  readonly value: Record<string, JsonValue> | JsonValue[];
  readonly children: Map<string | number, TextChild>;
  key: { readonly name: string; readonly start: number } | undefined;
}

export function isWithin(offset: number, node: TextNode): boolean {
  return offset >= node.start && offset <= node.end;
}

export class TreeBuilder {
  readonly #report: Report;
  readonly #textLength: number;
  readonly #maxServers: number;
  readonly #open: Open[] = [];
  #isSkipping = false;
  #root: TextNode | undefined;

  /** Of the entries of `mcpServers` after the first `maxServers` only the names are kept: a file may have thousands. */
  constructor(textLength: number, report: Report, maxServers: number = Number.POSITIVE_INFINITY) {
    this.#textLength = textLength;
    this.#report = report;
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
    if (key.name === FORBIDDEN_KEY) {
      this.#report(key.start, `the key "${FORBIDDEN_KEY}" is not used`, "warning");
      return;
    }
    if (parent.children.has(key.name)) {
      const message = `the key ${JSON.stringify(key.name)} is there twice; this, the last, counts`;
      this.#report(key.start, message, "warning");
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
