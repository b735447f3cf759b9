// A server that wants a log-in says so, with what to do that can be done now.
import { expect, test } from "vitest";
import { Cell } from "../base/cell.js";
import { TenonError } from "../base/errors.js";
import type { ConnectionState } from "../mcp/index.js";
import { type StatusSource, statusOf } from "./server-status.js";

function failed(code: "mcp.unauthorized" | "mcp.unavailable"): StatusSource {
  const cause = new TenonError(code, "the server wants credentials: 401");
  return {
    spec: { kind: "http", name: "web", url: "https://x.test/mcp", headers: {} },
    state: new Cell<ConnectionState>({ kind: "failed", cause, sinceMs: 0 }),
    tools: new Cell([]),
    problems: [],
  };
}

test("who gave the server decides what to do about its log-in", () => {
  const ofClient = statusOf(failed("mcp.unauthorized"), "client");
  expect(ofClient).toMatchObject({ state: "failed", needsLogin: true });
  expect(ofClient.hint).toContain("your editor's settings");
  const ofUser = statusOf(failed("mcp.unauthorized"), "user");
  expect(ofUser.hint).toContain('tenon mcp add "web" <url> --replace --header');
  for (const { hint } of [ofClient, ofUser]) expect(hint).toContain("tenon mcp login");
});

test("any other failure needs no log-in", () => {
  expect(statusOf(failed("mcp.unavailable"), "client")).not.toHaveProperty("needsLogin");
});
