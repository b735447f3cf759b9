// The guess is cheap, and on the safe side: what is called quick is parsed in time.
import { describe, expect, test } from "vitest";
import { MCP_LIMITS } from "../../limits.js";
import { isQuicklyParsed } from "./message-lines.js";

const MB = 1_048_576;
const quick = (text: string) => isQuicklyParsed(Buffer.from(text), MCP_LIMITS.messageParseMs);

describe("a guess at the time JSON.parse takes", () => {
  test("takes one long text for quick, also with escapes and quotes in it", () => {
    expect(quick(JSON.stringify({ data: "QUJD".repeat(MB) }))).toBe(true);
    expect(quick(JSON.stringify({ text: 'say "hi" \\ and \n'.repeat(MB / 8) }))).toBe(true);
  });

  test("takes a list of tools of ordinary size for quick", () => {
    const tool = {
      name: "t",
      description: "d".repeat(300),
      inputSchema: { type: "object", properties: { a: { type: "string" } } },
    };
    expect(quick(JSON.stringify({ tools: Array.from({ length: 1_000 }, () => tool) }))).toBe(true);
  });

  test.each([
    ["nested arrays", "[".repeat(MB / 2) + "]".repeat(MB / 2)],
    ["empty objects", `[${"{},".repeat(MB / 3)}1]`],
    ["objects", `[${'{"a":1},'.repeat(MB / 4)}1]`],
    ["numbers", `[${"1,".repeat(MB)}1]`],
    ["short strings", `[${'"",'.repeat(MB / 2)}1]`],
    ["text that is not ASCII", JSON.stringify("日本".repeat(MB / 2))],
  ])("takes what is dense for slow: %s", (_, text) => {
    expect(quick(text)).toBe(false);
  });

  test("ends with the bytes, also in the middle of a string", () => {
    expect(quick('{"a":"b')).toBe(true);
    expect(quick('"\\')).toBe(true);
    expect(quick("")).toBe(true);
  });

  test("costs next to nothing for a long text", () => {
    const bytes = Buffer.from(JSON.stringify({ data: "QUJD".repeat(2 * MB - 1_000) }));
    isQuicklyParsed(bytes, MCP_LIMITS.messageParseMs);
    const times = Array.from({ length: 5 }, () => {
      const start = performance.now();
      isQuicklyParsed(bytes, 1_000);
      return performance.now() - start;
    });
    expect(Math.min(...times)).toBeLessThan(5);
  });
});
