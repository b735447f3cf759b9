// A server that wants a log-in says so, with what to do that can be done now.
import { expect, test } from "vitest";
import { Cell } from "../../base/async/cell.js";
import { TenonError } from "../../base/errors.js";
import type { ConnectionState } from "../../mcp/index.js";
import { type StatusSource, statusOf } from "./opening.js";

function failed(code: "mcp.unauthorized" | "mcp.unavailable", headers: Record<string, string> = {}): StatusSource {
  const cause = new TenonError(code, "the server wants credentials: 401");
  return {
    spec: { kind: "http", name: "web", url: "https://x.test/mcp", headers },
    state: new Cell<ConnectionState>({ kind: "failed", cause, sinceMs: 0 }),
    tools: new Cell([]),
    problems: [],
  };
}

test("who gave the server decides what to do about its log-in", () => {
  const ofClient = statusOf(failed("mcp.unauthorized"), "client");
  expect(ofClient).toMatchObject({ state: "failed", needsLogin: true });
  expect(ofClient.hint).toContain("tenon mcp login https://x.test/mcp in a terminal");
  const ofUser = statusOf(failed("mcp.unauthorized"), "user");
  expect(ofUser.hint).toContain("tenon mcp login web in a terminal");
  for (const { hint } of [ofClient, ofUser]) expect(hint).toContain("/mcp login web");
});

test("the query of an editor's address, which may hold a key, is in no words of ours", () => {
  const source = failed("mcp.unauthorized");
  const spec = { kind: "http", name: "web", url: "https://x.test/mcp?key=s3cret", headers: {} } as const;
  const { hint } = statusOf({ ...source, spec }, "client");
  expect(hint).toContain('tenon mcp login "https://x.test/mcp?…" in a terminal');
  expect(hint).not.toContain("s3cret");
});

test("a token that is given and refused is what has to be corrected", () => {
  const refused = failed("mcp.unauthorized", { AUTHORIZATION: "Bearer old" });
  expect(statusOf(refused, "client").hint).toContain("your editor's settings");
  expect(statusOf(refused, "user").hint).toContain("tenon mcp get web");
  expect(statusOf(refused, "user").hint).not.toContain("mcp login");
});

test("any other failure needs no log-in", () => {
  expect(statusOf(failed("mcp.unavailable"), "client")).not.toHaveProperty("needsLogin");
});
