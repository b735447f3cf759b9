// Where servers stand, for programs: on the answer that opens a session, and on every update about one.
import { expect, test } from "vitest";
import { abilitiesOf } from "./capabilities.js";
import { readClientServers } from "./from-client.js";
import { givenMeta } from "./options.js";
import { toUpdates } from "./to-client.js";

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
