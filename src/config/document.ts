// JSON with comments and trailing commas: any text gives what can be read of it, and what is wrong with file positions.
import { createScanner, visit } from "jsonc-parser";
import type { JsonValue } from "../base/json/json.js";
import { CONFIG_LIMITS } from "./limits.js";
import { syntaxMessage } from "./syntax-message.js";
import { isWithin, type KeyPath, type TextNode, TreeBuilder } from "./text-tree.js";

/** Both from 1; columns in UTF-16 units, as editors count. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface SyntaxProblem {
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly position: Position;
}

export interface Document {
  /** Undefined when there is no value at all: an empty file, or one that is unreadable from the start. */
  readonly value: JsonValue | undefined;
  readonly problems: readonly SyntaxProblem[];
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
  const positions = new Positions(text);
  const refusal = refuse(text);
  if (refusal) return documentOf(undefined, [refusal], positions);
  const faults: Fault[] = [];
  const builder = new TreeBuilder(
    text.length,
    (offset, message, severity) => {
      faults.push({ severity, offset, message });
    },
    maxServers,
  );
  visit(
    text,
    {
      ...builder.visitor,
      onError: (code, offset, length) => {
        faults.push({ severity: "error", offset, message: syntaxMessage(code, text.slice(offset, offset + length)) });
      },
    },
    { allowTrailingComma: true, allowEmptyContent: true },
  );
  for (const { index } of text.matchAll(/\ufffd/gu)) {
    faults.push({ severity: "error", offset: index, message: "this is not UTF-8; save the file as UTF-8" });
  }
  return documentOf(builder.root, faults, positions);
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

function documentOf(root: TextNode | undefined, faults: readonly Fault[], positions: Positions): Document {
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
      .map(({ severity, message, offset }) => ({ severity, message, position: positions.at(offset) })),
    node,
    locate: (path, what = "value") => {
      for (let length = path.length; length > 0; length--) {
        const child = node(path.slice(0, length - 1))?.children.get(path[length - 1] ?? 0);
        if (child) return positions.at(what === "key" && length === path.length ? child.keyStart : child.node.start);
      }
      return positions.at(root?.start ?? 0);
    },
    isBroken: (path) => {
      const found = node(path);
      return found !== undefined && errors.some(({ offset }) => isWithin(offset, found));
    },
  };
}

/** Of several complaints about one place the first is the cause. */
function firstAtEach(faults: readonly Fault[]): Fault[] {
  const seen = new Set<number>();
  return faults.filter(({ offset }) => !seen.has(offset) && seen.add(offset));
}

class Positions {
  readonly #lineStarts: readonly number[];

  constructor(text: string) {
    this.#lineStarts = [0, ...[...text.matchAll(/\r\n|\r|\n/gu)].map((found) => found.index + found[0].length)];
  }

  at(offset: number): Position {
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#lineStarts[low] ?? 0) + 1 };
  }
}
