// Servers of the client's own: ordinary connections over a channel, in the modern era only, with honest losses.
import { expect, test } from "vitest";
import type { JsonObject } from "../../base/json/json.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import { McpConnection } from "../connection/connection.js";
import type { ChannelAnswer, ChannelRequest, McpChannel } from "./acp.js";

const never = new AbortController().signal;
const spec = { kind: "acp", name: "editor", serverId: "id-1" } as const;

type Script = (request: ChannelRequest) => ChannelAnswer | Promise<ChannelAnswer>;

class ScriptedChannel implements McpChannel {
  readonly asked: ChannelRequest[] = [];
  answers: Partial<Record<string, Script>>;

  constructor(answers: Partial<Record<string, Script>> = {}) {
    this.answers = answers;
  }

  async request(request: ChannelRequest): Promise<ChannelAnswer> {
    this.asked.push(request);
    const script = this.answers[request.method];
    if (script) return await script(request);
    switch (request.method) {
      case "server/discover":
        return result({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} } });
      case "tools/list":
        return result({ tools: [{ name: "echo", inputSchema: { type: "object" } }] });
      case "tools/call":
        return result({ content: [{ type: "text", text: "hello" }] });
      default:
        return { kind: "error", error: { code: -32601, message: "Method not found" } };
    }
  }
}

function result(value: JsonObject): ChannelAnswer {
  return { kind: "result", result: value };
}

function connect(channel?: McpChannel, world: FakeWorld = fakeWorld()) {
  const connection = new McpConnection(spec, {
    world,
    cwd: "/project",
    client: { name: "t", version: "1" },
    ...(channel ? { channel } : {}),
  });
  connection.start();
  return connection;
}

const ended = (connection: McpConnection) =>
  connection.state.until(({ kind }) => kind === "ready" || kind === "failed" || kind === "waiting", never);

const call = (connection: McpConnection, signal = never, onProgress: (note: object) => void = () => {}) =>
  connection.call("echo", {}, { signal, onProgress });

test("a server on the client's side becomes an ordinary connection: discovered, listed, called with the envelope", async () => {
  const channel = new ScriptedChannel();
  await using connection = connect(channel);
  expect(await ended(connection)).toMatchObject({ kind: "ready", agreement: { era: "modern" } });
  expect(connection.tools.value.map(({ name }) => name)).toEqual(["echo"]);
  expect(await call(connection)).toMatchObject({ kind: "answered", content: [{ type: "text", text: "hello" }] });
  expect(channel.asked.map(({ method }) => method)).toEqual(["server/discover", "tools/list", "tools/call"]);
  for (const { serverId, params } of channel.asked) {
    expect(serverId).toBe("id-1");
    expect(params["_meta"]).toMatchObject({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
  }
});

test("progress of a call is heard while it runs, and nothing after its answer", async () => {
  let late: () => void = () => {};
  const channel = new ScriptedChannel({
    "tools/call": ({ params, onNotification }) => {
      const meta: unknown = params["_meta"];
      const progressToken =
        typeof meta === "object" && meta !== null && "progressToken" in meta ? meta.progressToken : 0;
      const token = typeof progressToken === "number" ? progressToken : 0;
      const tell = (progress: number) => onNotification("notifications/progress", { progressToken: token, progress });
      tell(1);
      late = () => tell(2);
      return result({ content: [] });
    },
  });
  await using connection = connect(channel);
  await ended(connection);
  const notes: object[] = [];
  await call(connection, never, (note) => notes.push(note));
  late();
  expect(notes).toEqual([{ progress: 1 }]);
});

test("cancelling a call aborts its message on the channel", async () => {
  let signal: AbortSignal | undefined;
  const channel = new ScriptedChannel({
    "tools/call": (request) => {
      signal = request.signal;
      return new Promise(() => {});
    },
  });
  await using connection = connect(channel);
  await ended(connection);
  const controller = new AbortController();
  const outcome = call(connection, controller.signal);
  await Promise.resolve();
  controller.abort();
  expect(await outcome).toEqual({ kind: "cancelled" });
  expect(signal?.aborted).toBe(true);
});

test.each([
  [-33_000, "failed", "mcp.rate_limited"],
  [-33_002, "unknown", "mcp.unavailable"],
  [-32_800, "unknown", "mcp.connection_lost"],
  [-32_602, "failed", "mcp.protocol"],
  [-31_000, "unknown", "mcp.protocol"],
] as const)(
  "the carrier's error %i ends the call as %s and leaves the connection as it is",
  async (code, kind, error) => {
    const channel = new ScriptedChannel({ "tools/call": () => ({ kind: "failed", code, message: "no" }) });
    await using connection = connect(channel);
    await ended(connection);
    expect(await call(connection)).toMatchObject({ kind, error: { code: error } });
    expect(connection.state.value.kind).toBe("ready");
  },
);

test("an error of the server itself is the server's, not the carrier's", async () => {
  const refusal = { kind: "error", error: { code: -33_001, message: "mine" } } as const;
  await using connection = connect(new ScriptedChannel({ "tools/call": () => refusal }));
  await ended(connection);
  expect(await call(connection)).toMatchObject({ kind: "failed", error: { code: "mcp.call_failed" } });
  expect(connection.state.value.kind).toBe("ready");
});

test("a server the client takes back breaks the connection, and is not taken for one that comes back at once", async () => {
  const channel = new ScriptedChannel({ "tools/call": () => ({ kind: "failed", code: -33_001, message: "gone" }) });
  await using connection = connect(channel);
  await ended(connection);
  expect(await call(connection)).toMatchObject({ kind: "failed", error: { code: "mcp.unavailable" } });
  expect(connection.state.value).toMatchObject({ kind: "waiting", cause: { code: "mcp.unavailable" } });
});

test("a client that declares such a server and cannot speak to it is told so, once and for all", async () => {
  const channel = new ScriptedChannel({
    "server/discover": () => ({ kind: "failed", code: -32_601, message: "Method not found" }),
  });
  await using connection = connect(channel);
  expect(await ended(connection)).toMatchObject({ kind: "failed", cause: { code: "mcp.unsupported_version" } });
  expect(channel.asked).toHaveLength(1);
});

test("without a channel it fails at once and says why", async () => {
  await using connection = connect();
  const state = await ended(connection);
  expect(state).toMatchObject({ kind: "failed", cause: { message: expect.stringContaining("no client is attached") } });
});

test("one that is slow to answer the probe is waited for: there is no older era to fall back to", async () => {
  const world = fakeWorld();
  let answer: (value: ChannelAnswer) => void = () => {};
  const channel = new ScriptedChannel({
    "server/discover": () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  });
  await using connection = connect(channel, world);
  await world.advance(20_000);
  expect(channel.asked.map(({ method }) => method)).toEqual(["server/discover"]);
  answer(result({ supportedVersions: ["2026-07-28"], capabilities: {} }));
  expect(await ended(connection)).toMatchObject({ kind: "ready" });
});

test("a result that is no object, and a channel that throws, lose the one request", async () => {
  const channel = new ScriptedChannel({ "tools/call": () => ({ kind: "result", result: null }) });
  await using connection = connect(channel);
  await ended(connection);
  expect(await call(connection)).toMatchObject({ kind: "unknown", error: { code: "mcp.protocol" } });
  channel.answers = { "tools/call": () => Promise.reject(new Error("a bug")) };
  expect(await call(connection)).toMatchObject({ kind: "unknown", error: { code: "internal" } });
  channel.answers = {};
  expect(await call(connection)).toMatchObject({ kind: "answered" });
});

test("closing ends what is under way", async () => {
  const channel = new ScriptedChannel({ "tools/call": () => new Promise(() => {}) });
  const connection = connect(channel);
  await ended(connection);
  const outcome = call(connection);
  await Promise.resolve();
  await connection.close();
  expect(await outcome).toMatchObject({ kind: "unknown" });
  expect(channel.asked.at(-1)?.signal.aborted).toBe(true);
});

test("a client that is away is waited for as long as it is said, also when it is asked meanwhile; then it is over", async () => {
  const world = fakeWorld();
  const channel = new ScriptedChannel();
  await using connection = connect(channel, world);
  await ended(connection);
  const away = (returnsWithinMs: number, wasSent: boolean): ChannelAnswer => {
    return { kind: "away", message: "zed is gone", returnsWithinMs, wasSent };
  };
  channel.answers = { "tools/call": () => away(60_000, true), "server/discover": () => away(40_000, false) };
  expect(await call(connection)).toMatchObject({ kind: "unknown", error: { code: "mcp.connection_lost" } });
  expect(connection.state.value).toMatchObject({ kind: "waiting", untilMs: 60_000 });
  await world.advance(20_000);
  connection.restart();
  await world.advance(1_000);
  expect(connection.state.value).toMatchObject({ kind: "waiting", untilMs: 60_000, cause: { message: "zed is gone" } });
  channel.answers = { "server/discover": () => away(0, false) };
  await world.advance(40_000);
  expect(connection.state.value).toMatchObject({ kind: "failed", cause: { code: "mcp.client_gone" } });
  channel.answers = {};
  connection.restart();
  await connection.state.until(({ kind }) => kind === "ready", never);
});
