// What crosses a transport is told in its order and its form, with the connection it belongs to, and nothing else changes.
import { expect, test } from "vitest";
import type { WireEntry, WireTrace } from "../../base/ports/trace.js";
import { type Behaviour, echoTool, type FakeWorld, fakeWorld, spawnsServer } from "../../testing/index.js";
import { McpConnection } from "../connection/connection.js";

const spec = { kind: "stdio", name: "s", command: "/bin/server", args: ["-x"], env: { A: "b" } } as const;
const never = new AbortController().signal;

function heard(): { trace: WireTrace; entries: WireEntry[] } {
  const entries: WireEntry[] = [];
  let connections = 0;
  const trace: WireTrace = {
    record: (entry) => {
      entries.push(entry);
    },
    hide: () => {},
    nextConnection: () => ++connections,
    nextQuestion: () => 1,
    modelFetch: (fetch) => fetch,
    within: (_session, run) => run(),
  };
  return { trace, entries };
}

async function connected(
  behaviour: Behaviour,
): Promise<{ world: FakeWorld; connection: McpConnection; entries: WireEntry[] }> {
  const { trace, entries } = heard();
  const world = fakeWorld({ spawn: spawnsServer(behaviour), trace });
  const client = { name: "t", version: "1" };
  const connection = new McpConnection(spec, { world, cwd: "/project", client, session: "s-1" });
  connection.start();
  await connection.state.until(({ kind }) => kind === "ready", never);
  return { world, connection, entries };
}

async function close({ world, connection }: { world: FakeWorld; connection: McpConnection }): Promise<void> {
  const closing = connection.close();
  await world.advance(10_000);
  await closing;
}

const sketch = ({ dir, message }: WireEntry) => {
  const { method, id, result, error } = {
    ...message,
    method: "",
    id: "",
    result: undefined,
    error: undefined,
    ...message,
  };
  const what = method || (result ? "result" : error ? "error" : Object.keys(message)[0]);
  return `${dir} ${what}${id === "" ? "" : ` #${id}`}`;
};

test("a connection is told from its opening to its end, with every request beside its answer", async () => {
  const one = await connected({ tools: [echoTool()] });
  await one.connection.call("echo", { text: "hi" }, { signal: never, onProgress: () => {} });
  await close(one);
  expect(one.entries.map(sketch)).toEqual([
    "out open",
    "out server/discover #1",
    "in error #1",
    "out initialize #2",
    "in result #2",
    "out notifications/initialized",
    "out tools/list #3",
    "in result #3",
    "out tools/call #4",
    "in result #4",
    "out closed",
  ]);
  expect(
    one.entries.every(({ server, session, connection }) => server === "s" && session === "s-1" && connection === 1),
  ).toBe(true);
  expect(one.entries[0]?.message).toEqual({ open: spec });
  expect(one.entries[9]?.message).toMatchObject({ jsonrpc: "2.0", id: 4, result: { content: expect.any(Array) } });
});

test("a cancel, a lost request and the end of the server are told too, and the next life is another connection", async () => {
  const slow = { name: "slow", steps: [{ do: "await_cancel" }], reply: { kind: "echo" } } as const;
  const dying = { name: "die", steps: [{ do: "crash", exitCode: 3 }], reply: { kind: "echo" } } as const;
  const one = await connected({ tools: [slow, dying] });
  const controller = new AbortController();
  const calling = one.connection.call("slow", {}, { signal: controller.signal, onProgress: () => {} });
  await one.world.settle();
  controller.abort();
  await calling;
  await one.connection.call("die", {}, { signal: never, onProgress: () => {} });
  await one.world.advance(5_000);
  await one.connection.state.until(({ kind }) => kind === "ready", never);
  await close(one);
  const told = one.entries.map(sketch);
  expect(told).toContain("out notifications/cancelled");
  expect(told).toContain("in closed");
  expect(new Set(one.entries.map(({ connection }) => connection))).toEqual(new Set([1, 2]));
});
