// What is said about a failed server fits where the server is.
import { expect, test } from "vitest";
import { type ErrorCode, TenonError } from "../../../base/errors.js";
import { hintFor } from "./next-steps.js";

const HERE = { spec: { kind: "stdio", name: "s", command: "run", args: [], env: {} } } as const;
const THERE = { spec: { kind: "http", name: "s", url: "https://a.example/mcp", headers: {} } } as const;
const CODES = ["mcp.connect_failed", "mcp.connect_timeout", "mcp.connection_lost", "mcp.protocol"] as const;

function hintOf(server: typeof HERE | typeof THERE, code: ErrorCode, hint?: string): string {
  return hintFor(server, new TenonError(code, "m", hint === undefined ? {} : { hint }));
}

test.each(CODES)("a server at an address has no stderr, nothing to start and nobody to report to: %s", (code) => {
  expect(hintOf(THERE, code)).toMatch(/^Check the URL/u);
});

test("one that ended before anything was called is not to be called again", () => {
  expect(hintOf(HERE, "mcp.connection_lost")).toBe("Read its stderr.");
  expect(hintOf(HERE, "mcp.connect_timeout")).toBe("Start it by hand and read its output.");
});

test("what was said of this very failure stays", () => {
  expect(hintOf(THERE, "mcp.protocol", "Do this.")).toBe("Do this.");
  expect(hintOf(HERE, "mcp.connection_lost", "Do this.")).toBe("Do this.");
});
