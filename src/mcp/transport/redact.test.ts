// What goes wrong at a server is told without the secrets of its entry, whichever way it is told; what a tool answers stays.
import { expect, test } from "vitest";
import { bench } from "../../../test/remote/bench.js";
import { type Behaviour, FakeWorld, fakeWorld, spawnsServer, type ToolReply } from "../../testing/index.js";
import { McpConnection } from "../connection/connection.js";
import { MCP_LIMITS } from "../limits.js";
import type { ServerLog } from "../protocol/peer.js";

const { own, serve } = bench();
const never = new AbortController().signal;
const SECRET = "hunter2-and-more";
const SAID = `refused: ${SECRET}, mode disabled`;
const CLEAN = "refused: [redacted], mode disabled";

const spec = {
  kind: "stdio",
  name: "s",
  command: "/bin/server",
  args: [],
  env: { API_TOKEN: SECRET, AUTH_MODE: "disabled", KEYS: "1" },
} as const;

async function calling(reply: ToolReply, behaviour: Behaviour = {}) {
  const world = fakeWorld({
    spawn: spawnsServer({ ...behaviour, tools: [{ name: "say", reply, ...behaviour.tools?.[0] }] }),
  });
  const logs: ServerLog[] = [];
  const peer = { log: (entry: ServerLog) => logs.push(entry) };
  const connection = new McpConnection(spec, { world, cwd: "/", client: { name: "t", version: "1" }, peer });
  connection.start();
  await connection.state.until(({ kind }) => kind === "ready", never);
  const progress: (string | undefined)[] = [];
  const outcome = await connection.call(
    "say",
    {},
    {
      signal: never,
      onProgress: ({ message }) => progress.push(message),
    },
  );
  const closing = connection.close();
  await world.advance(10_000);
  await closing;
  return { outcome, progress, logs };
}

test.each(["legacy", "modern"] as const)("a JSON-RPC error: %s", async (era) => {
  const { outcome } = await calling({ kind: "protocol_error", code: -32_000, message: SAID }, { era });
  expect(outcome).toMatchObject({ kind: "failed", error: { message: expect.stringContaining(CLEAN) } });
  expect(JSON.stringify(outcome)).not.toContain(SECRET);
});

test("a JSON-RPC error of megabytes is cut, and not in the middle of a secret", async () => {
  for (const before of [0, 5, SECRET.length - 1]) {
    const message = `${"x".repeat(MCP_LIMITS.errorMaxChars - before)}${SECRET}${" and more".repeat(500_000)}`;
    const { outcome } = await calling({ kind: "protocol_error", code: -32_000, message });
    expect(outcome).toMatchObject({ kind: "failed", error: { message: expect.stringMatching(/^s \/ say: .*x/) } });
    expect(JSON.stringify(outcome)).not.toContain(SECRET.slice(0, 5));
  }
});

test("a result that is an error", async () => {
  const { outcome } = await calling({ kind: "error", text: SAID });
  expect(outcome).toMatchObject({ kind: "answered", isError: true, content: [{ type: "text", text: CLEAN }] });
});

test("what a tool answers stays as it is: it is what was asked for", async () => {
  const { outcome } = await calling({ kind: "text", text: SAID });
  expect(outcome).toMatchObject({ kind: "answered", isError: false, content: [{ type: "text", text: SAID }] });
});

test("progress and log lines", async () => {
  const { progress, logs } = await calling(
    { kind: "text", text: "done" },
    {
      steps: {
        "tools/call": [
          { do: "progress", progress: 1, message: SAID },
          { do: "notify", method: "notifications/message", params: { level: "error", data: { why: SAID } } },
        ],
      },
    },
  );
  expect(progress).toEqual([CLEAN]);
  expect(JSON.stringify(logs)).toContain(CLEAN);
});

test("how a task stands, and how it ends", async () => {
  const { outcome, progress } = await calling(
    { kind: "protocol_error", code: -32_000, message: SAID },
    {
      era: "modern",
      tools: [{ name: "say", reply: { kind: "protocol_error", code: -32_000, message: SAID }, task: {} }],
    },
  );
  expect(outcome).toMatchObject({ kind: "failed", error: { message: expect.stringContaining(CLEAN) } });
  expect(JSON.stringify([outcome, progress])).not.toContain(SECRET);
});

test("the last words of a process", async () => {
  const crash = { do: "crash", exitCode: 3, stderr: SAID } as const;
  const world = fakeWorld({ spawn: spawnsServer({ steps: { start: [crash] } }) });
  const connection = new McpConnection(spec, { world, cwd: "/", client: { name: "t", version: "1" } });
  connection.start();
  await world.advance(5_000);
  const state = await connection.state.until(({ kind }) => kind === "failed" || kind === "waiting", never);
  expect(state).toMatchObject({ cause: { message: expect.stringContaining(CLEAN) } });
  expect(connection.lastError?.message).not.toContain(SECRET);
  const closing = connection.close();
  await world.advance(10_000);
  await closing;
});

test("the body of an HTTP error, a header said back, and what was fetched for the entry", async () => {
  const server = await serve({ tools: [{ name: "say", reply: { kind: "text", text: "hi" } }] });
  const remote = {
    kind: "http",
    name: "r",
    url: server.url,
    headers: { "X-Tenant": "tenant-7f3a-22" },
    auth: { type: "bearer", token: SECRET },
  } as const;
  const connection = new McpConnection(remote, {
    world: new FakeWorld({ hosts: {} }),
    cwd: "/",
    client: { name: "t", version: "1" },
    secrets: ["from-the-keyring"],
  });
  own(connection);
  connection.start();
  await connection.state.until(({ kind }) => kind === "ready", never);
  const body = `not for Bearer ${SECRET} of tenant-7f3a-22 with from-the-keyring at https://x.test/?code=1234`;
  server.misbehave({ method: "tools/call" }, { kind: "answer", status: 400, body }, 1);
  const outcome = await connection.call("say", {}, { signal: never, onProgress: () => {} });
  expect(outcome).toMatchObject({
    error: {
      message: expect.stringContaining(
        "not for Bearer [redacted] of [redacted] with [redacted] at https://x.test/?code=1234",
      ),
    },
  });
});
