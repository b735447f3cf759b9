// Where servers stand, for programs: on the answer that opens a session, and on every update about one.
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { NO_USAGE } from "../engine/index.js";
import type { SessionEvent } from "../session/index.js";
import { abilitiesOf, type ClientAbilities } from "./capabilities.js";
import { readClientServers } from "./from-client.js";
import { givenMeta } from "./options.js";
import { RepeatedFailures, toUpdates } from "./to-client.js";

test("the answer that opens a session names every server of the client and what cannot be used, and no secret", () => {
  const given = readClientServers([
    { name: "a", command: "x", env: { TOKEN: "secret" } },
    { name: "b", type: "carrier-pigeon" },
  ]);
  const meta = givenMeta(given);
  expect(meta.tenon.mcp?.servers).toEqual([
    { name: "a", origin: "client", toolCount: 0, state: "connecting" },
    { name: "b", origin: "client", toolCount: 0, state: "failed", error: expect.stringContaining("carrier-pigeon") },
  ]);
  expect(JSON.stringify(meta)).not.toContain("secret");
});

test.each([{ session: { notices: {} } }, {}])(
  "an update about a server carries its status, for a client with %j",
  (can) => {
    const status = { name: "s", origin: "user", state: "failed", toolCount: 0, error: "exit 1" } as const;
    const [update] = toUpdates({ kind: "server", status }, abilitiesOf(can));
    expect(update?._meta).toEqual({ tenon: { mcp: { servers: [status] } } });
  },
);

test("without notices a warning is a call that is over, an error one that failed, and neither hides its words", () => {
  const cardOf = (level: "info" | "warning" | "error", text: string) =>
    toUpdates({ kind: "notice", level, text }, abilitiesOf())[0];
  expect(cardOf("info", "all is well")).toBeUndefined();
  expect(cardOf("warning", "a\nb")).toMatchObject({ status: "completed", title: "a b" });
  expect(cardOf("error", "x".repeat(500))).toMatchObject({ status: "failed", title: `${"x".repeat(160)}…` });
});

const failed = { name: "s", origin: "user", state: "failed", toolCount: 0, error: "exit 1" } as const;
const server: SessionEvent = { kind: "server", status: failed };
const ready: SessionEvent = { kind: "server", status: { ...failed, state: "ready" } };
const user: SessionEvent = { kind: "user", content: [] };
const thought: SessionEvent = { kind: "turn", event: { kind: "thought", text: "hm" } };
const words: SessionEvent = { kind: "turn", event: { kind: "text", text: "word" } };
const usage: SessionEvent = { kind: "turn", event: { kind: "usage", usage: NO_USAGE, turn: NO_USAGE } };
const ended: SessionEvent = { kind: "turn_ended", turn: 1, stopReason: "end_turn" };

/** How many failed calls are sent with each event. */
function failuresWith(events: readonly SessionEvent[], client: ClientAbilities = abilitiesOf()): readonly number[] {
  const isFailure = (update: SessionUpdate) => update.sessionUpdate === "tool_call" && update.status === "failed";
  const failures = new RepeatedFailures();
  return events.map((event) => failures.with(event, toUpdates(event, client)).filter(isFailure).length);
}

test.each<[string, readonly SessionEvent[], readonly number[]]>([
  ["after the first words", [server, user, thought, words, usage, ended], [1, 0, 0, 0, 1, 0]],
  ["at the end of a turn without words", [server, user, ended], [1, 0, 1]],
  ["once", [server, user, words, ended, user, words, ended], [1, 0, 0, 1, 0, 0, 0]],
  ["not when it was told in the turn", [user, server, words, ended], [0, 1, 0, 0]],
  ["not when the server is ready by then", [server, ready, user, words, ended], [1, 0, 0, 0, 0]],
  ["between later turns too", [user, ended, server, user, ended], [0, 0, 1, 0, 1]],
])("a failure is told again %s", (_, events, counts) => {
  expect(failuresWith(events)).toEqual(counts);
});

test("a client with notices is told by a notice, once", () => {
  expect(failuresWith([server, user, ended], abilitiesOf({ session: { notices: {} } }))).toEqual([0, 0, 0]);
});

test("log lines of a running call are shown above its progress, and marked", () => {
  const progress = (more: object) =>
    ({ kind: "call_progress", toolCallId: "1-1", elapsedMs: 1, progress: { progress: 0, ...more } }) as const;
  const shown = (more: object) => {
    const [update] = toUpdates({ kind: "turn", event: progress(more) }, abilitiesOf());
    return JSON.stringify(update);
  };
  expect(shown({ log: ["[info] one", "[error] t\u202ewo"] })).toContain("[info] one\\n[error] t");
  expect(shown({ log: ["[error] t\u202ewo"] })).not.toContain("\u202e");
  expect(shown({ log: ["[info] one"], total: 5 })).toContain("[info] one\\n0/5");
  expect(shown({ message: "half" })).toContain('"half"');
});
