// Whether and when a broken connection is tried again.
import { expect, test } from "vitest";
import { type ErrorCode, TenonError } from "../../base/errors.js";
import { MCP_LIMITS } from "../limits.js";
import { type Break, retryDelayMs } from "./state.js";

const broken = (code: ErrorCode, facts: Partial<Break> = {}): Break => ({
  cause: new TenonError(code, "broken"),
  failuresInARow: 1,
  wasReady: true,
  isRemote: false,
  ...facts,
});
const many = { failuresInARow: MCP_LIMITS.reconnectAttempts };

test.each<ErrorCode>(["mcp.spawn_failed", "mcp.unauthorized", "mcp.url_refused", "mcp.unsupported_version"])(
  "%s is final: somebody has to change something first",
  (code) => {
    expect(retryDelayMs(broken(code, { isRemote: true }), 0.5)).toBeUndefined();
  },
);

test("a local server that never started is a mistake in its entry; one that ran is restarted, a bounded number of times", () => {
  expect(retryDelayMs(broken("mcp.connect_failed", { wasReady: false }), 0.5)).toBeUndefined();
  expect(retryDelayMs(broken("mcp.connection_lost"), 0.5)).toBeGreaterThan(0);
  expect(retryDelayMs(broken("mcp.connection_lost", many), 0.5)).toBeUndefined();
});

test("the wait grows, is spread by the dice, and stays within its limit", () => {
  const waits = (isRemote: boolean) =>
    [0, 1, 2, 3, 4].map((failuresInARow) =>
      retryDelayMs(broken("mcp.connection_lost", { failuresInARow, isRemote }), 1),
    );
  expect(waits(true)).toEqual([500, 1_000, 2_000, 4_000, 8_000]);
  expect(waits(false)).toEqual([0, 1_000, 2_000, 4_000, 8_000]); // a process that worked is brought back at once
  expect(retryDelayMs(broken("mcp.connection_lost"), 0)).toBe(500);
});

test.each<ErrorCode>(["mcp.unavailable", "mcp.connect_timeout"])(
  "a remote server that was reached before and cannot be now (%s) is tried on, never more often than its limit",
  (code) => {
    const gone = { ...many, isRemote: true };
    expect(retryDelayMs(broken(code, { ...gone, failuresInARow: 1_000 }), 1)).toBe(MCP_LIMITS.reconnect.maxMs);
    expect(retryDelayMs(broken(code, { ...gone, wasReady: false }), 1)).toBeUndefined();
    expect(retryDelayMs(broken(code, { ...gone, isRemote: false }), 1)).toBeUndefined();
    expect(retryDelayMs(broken("mcp.protocol", gone), 1)).toBeUndefined();
  },
);
