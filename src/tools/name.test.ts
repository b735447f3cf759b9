// Names must suit every provider and never collide, whatever servers call themselves.
import fc from "fast-check";
import { expect, test } from "vitest";
import { mcpToolId } from "./tool.js";

test("plain names stay readable", () => {
  expect(mcpToolId("everything", "echo")).toBe("mcp__everything__echo");
  expect(mcpToolId("my-server", "read_file")).toBe("mcp__my-server__read_file");
});

test("a name that loses something gets a hash of both names", () => {
  expect(mcpToolId("my server", "echo")).toMatch(/^mcp__my_server__echo_[a-z2-7]{8}$/);
  expect(mcpToolId("my.server", "echo")).not.toBe(mcpToolId("my server", "echo"));
  expect(mcpToolId("a__b", "c")).not.toBe(mcpToolId("a", "b__c"));
  expect(mcpToolId("a_", "b")).not.toBe(mcpToolId("a", "_b"));
  expect(mcpToolId("", "")).toMatch(/_[a-z2-7]{8}$/);
});

test("a long name is cut to 64 and stays distinct from its neighbours", () => {
  const long = "x".repeat(80);
  expect(mcpToolId("server", long)).toHaveLength(64);
  expect(mcpToolId("server", long)).not.toBe(mcpToolId("server", `${long}y`));
});

test("any two different pairs get different valid names", () => {
  const part = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[_a-b]{0,6}$/),
    fc.string({ unit: "grapheme", maxLength: 90 }),
  );
  fc.assert(
    fc.property(part, part, part, part, (serverA, toolA, serverB, toolB) => {
      const a = mcpToolId(serverA, toolA);
      const b = mcpToolId(serverB, toolB);
      expect(a).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      if (serverA !== serverB || toolA !== toolB) expect(a).not.toBe(b);
      else expect(a).toBe(b);
    }),
    { numRuns: 2_000 },
  );
});
