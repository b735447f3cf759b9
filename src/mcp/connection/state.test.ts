// The state machine of a connection: every state meets every event, and nothing leads out of closed.

import fc from "fast-check";
import { expect, test } from "vitest";
import { TenonError } from "../../base/errors.js";
import { MCP_LIMITS } from "../limits.js";
import { type ConnectionEvent, type ConnectionState, failuresInARow, next, retryDelayMs } from "./state.js";

const cause = new TenonError("mcp.connection_lost", "gone");
const server = { name: "s", version: "1" };
const agreement = { era: "legacy", protocolVersion: "2025-11-25" } as const;

const STATES: Record<ConnectionState["kind"], ConnectionState> = {
  idle: { kind: "idle" },
  resting: { kind: "resting" },
  connecting: { kind: "connecting", attempt: 2, sinceMs: 100 },
  ready: { kind: "ready", attempt: 2, sinceMs: 150, connectMs: 50, server, agreement },
  waiting: { kind: "waiting", attempt: 2, untilMs: 900, cause },
  failed: { kind: "failed", cause, sinceMs: 300 },
  closing: { kind: "closing" },
  closed: { kind: "closed" },
};

const EVENTS: Record<string, ConnectionEvent> = {
  rest: { kind: "rest" },
  start: { kind: "start", atMs: 1_000 },
  ready: { kind: "ready", atMs: 1_000, server, agreement },
  "broken for now": { kind: "broken", atMs: 1_000, cause, failuresInARow: 2, retryInMs: 500 },
  "broken for good": { kind: "broken", atMs: 1_000, cause, failuresInARow: 2 },
  queued: { kind: "queued", atMs: 1_000, cause },
  retry: { kind: "retry", atMs: 1_000 },
  close: { kind: "close" },
  closed: { kind: "closed" },
};

/** Where each event leads from each state; what is not named stays where it is. */
const MOVES: Record<ConnectionState["kind"], Partial<Record<keyof typeof EVENTS, ConnectionState["kind"]>>> = {
  idle: { rest: "resting", start: "connecting", close: "closing", closed: "closed" },
  resting: { start: "connecting", close: "closing", closed: "closed" },
  connecting: {
    queued: "connecting",
    ready: "ready",
    "broken for now": "waiting",
    "broken for good": "failed",
    close: "closing",
    closed: "closed",
  },
  ready: { "broken for now": "waiting", "broken for good": "failed", close: "closing", closed: "closed" },
  waiting: { retry: "connecting", close: "closing", closed: "closed" },
  failed: { start: "connecting", close: "closing", closed: "closed" },
  closing: { closed: "closed" },
  closed: {},
};

for (const [from, state] of Object.entries(STATES)) {
  for (const [name, event] of Object.entries(EVENTS)) {
    const expected = MOVES[state.kind][name] ?? state.kind;
    test(`${from} + ${name} -> ${expected}`, () => {
      const after = next(state, event);
      expect(after.kind).toBe(expected);
      if (MOVES[state.kind][name] === undefined) expect(after).toBe(state);
    });
  }
}

test("an attempt counts up while nothing holds, and starts anew after a proven connection", () => {
  const waiting = next(
    { kind: "connecting", attempt: 3, sinceMs: 0 },
    { kind: "broken", atMs: 5, cause, failuresInARow: 3, retryInMs: 10 },
  );
  expect(waiting).toMatchObject({ kind: "waiting", attempt: 3, untilMs: 15 });
  expect(next(waiting, { kind: "retry", atMs: 15 })).toMatchObject({ kind: "connecting", attempt: 4 });
  expect(failuresInARow(STATES.ready, 151)).toBe(2);
  expect(failuresInARow(STATES.ready, 150 + MCP_LIMITS.reconnectProvenMs)).toBe(0);
});

test("a connection that a proxy cuts every 55 s is opened anew each time, for as long as that goes on", () => {
  const lost = new TenonError("mcp.session_lost", "the server ended the event stream");
  let atMs = 0;
  let state = next({ kind: "idle" }, { kind: "start", atMs });
  for (let cut = 0; cut < 20; cut++) {
    state = next(state, { kind: "ready", atMs, server, agreement });
    atMs += 55_000;
    const failures = failuresInARow(state, atMs);
    const facts = { cause: lost, failuresInARow: failures, wasReady: true, isRemote: true };
    const retryInMs = retryDelayMs(facts, 0.5);
    expect(retryInMs).toBe(0);
    state = next(state, { kind: "broken", atMs, cause: lost, failuresInARow: failures, retryInMs: retryInMs ?? 0 });
    state = next(state, { kind: "retry", atMs });
  }
});

test("whatever happens in whatever order: closed is for ever, and closing only ends", () => {
  const event = fc.constantFrom(...Object.values(EVENTS));
  fc.assert(
    fc.property(fc.array(event, { maxLength: 30 }), (events) => {
      let state: ConnectionState = { kind: "idle" };
      for (const one of events) {
        const after = next(state, one);
        if (state.kind === "closed") expect(after.kind).toBe("closed");
        if (state.kind === "closing") expect(["closing", "closed"]).toContain(after.kind);
        state = after;
      }
    }),
  );
});

test("a start that waits for a place says why, and its time to be ready counts from when it has one", () => {
  const queued = next({ kind: "connecting", attempt: 1, sinceMs: 0 }, { kind: "queued", atMs: 1, cause });
  expect(queued).toMatchObject({ kind: "connecting", queued: cause });
  const admitted = next(queued, { kind: "queued", atMs: 9_000 });
  expect(admitted).toEqual({ kind: "connecting", attempt: 1, sinceMs: 9_000 });
  expect(next(admitted, { kind: "ready", atMs: 9_040, server, agreement })).toMatchObject({ connectMs: 40 });
});
