// The lock of definitions: the same tools give the same text, a change of any part is a difference, and whatever cannot be read holds back.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ToolDefinition } from "../tool.js";
import {
  compareTools,
  definitionHash,
  type LockedTools,
  type LockHold,
  lockedServer,
  lockHold,
  lockText,
  lockTools,
  parseLock,
  type ToolsLock,
} from "./lock.js";

const READ: ToolDefinition = { name: "read", description: "Reads", inputSchema: { type: "object" } };
const WRITE: ToolDefinition = {
  name: "write",
  title: "Write",
  description: "Writes",
  inputSchema: { type: "object", properties: { path: { type: "string" } } },
  outputSchema: { type: "object" },
  annotations: { destructiveHint: true },
};
const FILE = ".tenon/tools.lock";

function lockOf(...definitions: readonly ToolDefinition[]): ToolsLock {
  return parseLock(lockText({ files: lockTools(definitions) }), FILE);
}

function holdOf(lock: ToolsLock, definition: ToolDefinition, source = "files"): LockHold | undefined {
  return lockHold(lock, { source, definition, definitionHash: definitionHash(definition) });
}

function locked(lock: ToolsLock): LockedTools {
  const tools = lockedServer(lock, "files");
  if (!tools) throw new Error("nothing is locked");
  return tools;
}

describe("a lock", () => {
  it("is one text whatever the order of tools and keys, a value a line", () => {
    const turned: ToolDefinition = {
      inputSchema: { properties: { path: { type: "string" } }, type: "object" },
      annotations: { destructiveHint: true },
      outputSchema: { type: "object" },
      description: "Writes",
      title: "Write",
      name: "write",
    };
    const text = lockText({ b: lockTools([WRITE, READ]), a: lockTools([READ]) });
    expect(text).toBe(lockText({ a: lockTools([READ]), b: lockTools([READ, turned]) }));
    expect(text.endsWith("}\n")).toBe(true);
    expect(text).toContain('\n          "hash": "');
  });

  it("reads what it wrote, for any definition", () => {
    const texts = fc.string({ unit: "binary" });
    const definitions = fc.record({ name: texts, description: texts, inputSchema: fc.dictionary(texts, fc.json()) });
    fc.assert(
      fc.property(fc.uniqueArray(definitions, { selector: ({ name }) => name }), (tools) => {
        const lock = lockOf(...tools);
        expect(lock.problem).toBeUndefined();
        for (const tool of tools) expect(holdOf(lock, tool)).toBeUndefined();
        expect(compareTools(locked(lock), tools)).toEqual([]);
      }),
    );
  });

  it("holds back what differs in any part, and what it does not know, of the servers it names only", () => {
    const lock = lockOf(READ, WRITE);
    expect(holdOf(lock, READ)).toBeUndefined();
    for (const changed of [
      { ...WRITE, title: "Other" },
      { ...WRITE, description: "Writes, and tells" },
      { ...WRITE, inputSchema: { type: "object" } },
      { ...WRITE, outputSchema: {} },
      { ...WRITE, annotations: { destructiveHint: false } },
    ]) {
      const hold = holdOf(lock, changed);
      expect(hold).toMatchObject({ reason: "differs from .tenon/tools.lock", isReviewable: true });
      expect(hold?.difference().length).toBeGreaterThan(0);
    }
    const unknown = holdOf(lock, { ...READ, name: "new" });
    expect(unknown?.reason).toBe("differs from .tenon/tools.lock: it is not in it");
    expect(unknown?.difference()).toContain("added description: Reads");
    expect(holdOf(lock, { ...READ, name: "new" }, "other")).toBeUndefined();
  });

  it("compares all tools of a server for people", () => {
    const changes = compareTools(locked(lockOf(READ, WRITE)), [
      { ...WRITE, description: "Writes now" },
      { ...READ, name: "new" },
    ]);
    expect(changes.map(({ tool, change }) => `${tool} ${change}`)).toEqual([
      "new added",
      "read removed",
      "write changed",
    ]);
    expect(changes[2]?.difference).toEqual(["changed description:", "  - Writes", "  + Writes now"]);
  });

  it("keeps a long definition by its hash only", () => {
    const long: ToolDefinition = { ...READ, description: "x".repeat(100_000) };
    const lock = lockOf(long);
    expect(locked(lock)["read"]?.definition).toBeUndefined();
    expect(holdOf(lock, long)).toBeUndefined();
    expect(holdOf(lock, READ)?.difference()[0]).toContain("too large to be kept");
  });

  it("that cannot be read holds everything back, and no look at a tool frees it", () => {
    for (const text of ["", "{", "[]", '{"version":2,"servers":{}}', '{"version":1}', "<<<<<<< HEAD\n{}"]) {
      expect(holdOf(parseLock(text, FILE), READ, "any")).toMatchObject({ isReviewable: false });
    }
    const text = lockText({ files: lockTools([READ]) });
    for (const spoilt of [
      text.replace(/"hash": "[^"]*"/u, '"hash": "x"'),
      text.replace("Reads", "Reads more"),
      text.replace('"tools"', '"tool"'),
    ]) {
      const lock = parseLock(spoilt, FILE);
      expect(holdOf(lock, READ)).toMatchObject({ isReviewable: false });
      expect(holdOf(lock, READ, "other")).toBeUndefined();
    }
  });

  it("is read from any text without throwing, and never lets a locked server through by being broken", () => {
    const whole = lockText({ files: lockTools([READ, WRITE]) });
    const other: ToolDefinition = { ...READ, description: "Something else" };
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.string({ maxLength: 2 }), (at, put) => {
        const lock = parseLock(whole.slice(0, at) + put + whole.slice(at + put.length), FILE);
        if (lockedServer(lock, "files") !== undefined || lock.problem !== undefined)
          expect(holdOf(lock, other)).toBeDefined();
      }),
      { numRuns: 1_000 },
    );
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void parseLock(text, FILE)));
  });
});
