// A misspelt word leads to the one that was meant, and another word to none.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editDistance, nearest } from "./nearest.js";

const KEYS = ["command", "args", "env", "cwd", "url", "headers", "deny", "allow", "disabled", "mcpServers"];

describe("nearest", () => {
  it.each([
    ["comand", "command"],
    ["commnad", "command"],
    ["ags", "args"],
    ["headrs", "headers"],
    ["MCPServers", "mcpServers"],
    ["mcp_servers", "mcpServers"],
    ["denny", "deny"],
    ["Disabled", "disabled"],
    ["evn", "env"],
  ])("takes %s for %s", (word, meant) => {
    expect(nearest(word, KEYS)).toBe(meant);
  });

  it.each(["icon", "description", "autoApprove", "x", ""])("takes %j for no key at all", (word) => {
    expect(nearest(word, KEYS)).toBeUndefined();
  });
});

describe("editDistance", () => {
  it("counts a swap of neighbours as one", () => {
    expect(editDistance("abcd", "acbd")).toBe(1);
    expect(editDistance("", "abc")).toBe(3);
  });

  it("is symmetric, zero only for equal texts, and never more than the longer text", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 8 });
    fc.assert(
      fc.property(text, text, (one, other) => {
        const distance = editDistance(one, other);
        expect(editDistance(one, other, 2)).toBe(distance > 2 ? Number.POSITIVE_INFINITY : distance);
        expect(distance).toBe(editDistance(other, one));
        expect(distance === 0).toBe(one === other);
        expect(distance).toBeLessThanOrEqual(Math.max(one.length, other.length));
      }),
    );
  });
});
