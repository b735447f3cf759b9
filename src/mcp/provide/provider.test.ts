// A server on the client's machine as a gateway has it: an ordinary connection there, over a channel, whatever the era here.
import { expect, test } from "vitest";
import { FakeLink, type FakeLinkOptions } from "../../../test/fake-link.js";
import { Cell } from "../../base/async/cell.js";
import type { TenonError } from "../../base/errors.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import { type Behaviour, echoTool, type FakeWorld, fakeWorld, spawnsServer } from "../../testing/index.js";
import { McpConnection, type ServerConnection } from "../connection/connection.js";
import { PROVIDE_LIMITS } from "../limits.js";
import type { ElicitRequest, Peer } from "../protocol/peer.js";
import type { ChannelAnswer, McpChannel } from "../transport/acp.js";
import { HELD } from "../versions.js";
import { HeldCalls, type ProvidedAnswer } from "./held-calls.js";
import { ServerProvider } from "./provider.js";

const never = new AbortController().signal;
const client = { name: "t", version: "1" };

const FORM = {
  message: "Who are you?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } } },
};
const SAMPLE = { maxTokens: 5, messages: [{ role: "user", content: { type: "text", text: "hi" } }] };

const asks = (method: string, params: JsonObject) => ({ kind: "ask_client", method, params }) as const;
const CRASH = { name: "crash", steps: [{ do: "crash" }], reply: { kind: "echo" } } as const;
const LEGACY: Behaviour = {
  tools: [
    echoTool(),
    { name: "ask", reply: asks("elicitation/create", FORM) },
    { name: "sample", reply: asks("sampling/createMessage", SAMPLE) },
    { name: "roots", reply: asks("roots/list", {}) },
    { name: "slow", steps: [{ do: "progress", progress: 1, total: 2 }, { do: "never" }], reply: { kind: "echo" } },
    CRASH,
    { name: "wrong", reply: { kind: "protocol_error", code: -32_001, message: "not like that" } },
    {
      name: "grow",
      steps: [{ do: "set_tools", tools: [echoTool("other"), CRASH] }, { do: "list_changed" }],
      reply: { kind: "text", text: "grown" },
    },
  ],
};
const input = (method: string, params: JsonObject) =>
  ({ kind: "ask_input", inputRequests: { q: { method, params } }, requestState: "mine" }) as const;
const MODERN: Behaviour = {
  era: "modern",
  tools: [
    ...(LEGACY.tools?.filter(({ reply }) => reply.kind !== "ask_client") ?? []),
    { name: "ask", reply: input("elicitation/create", { mode: "form", ...FORM }) },
    { name: "sample", reply: input("sampling/createMessage", SAMPLE) },
    { name: "roots", reply: input("roots/list", {}) },
  ],
};

function channelTo(provider: ServerProvider): McpChannel {
  return {
    request: async ({ method, params, signal, onNotification }): Promise<ChannelAnswer> => {
      const answer = await provider.request({ method, params, signal, notify: onNotification });
      return JSON.parse(JSON.stringify(answer));
    },
  };
}

class Stage implements AsyncDisposable {
  readonly world: FakeWorld;
  readonly held: HeldCalls;
  readonly problems: TenonError[] = [];
  readonly provider: ServerProvider;
  readonly gateway: McpConnection;

  constructor(behaviour: Behaviour, peer: Peer = {}) {
    const world = fakeWorld({ spawn: spawnsServer(behaviour) });
    this.world = world;
    this.held = new HeldCalls(world);
    this.provider = new ServerProvider({
      world,
      serverId: "id",
      held: this.held,
      roots: () => [{ uri: "file:///laptop" }],
      open: (given) =>
        new McpConnection(
          { kind: "stdio", name: "s", command: "/bin/server", args: [], env: {} },
          { world, cwd: "/laptop", client, ...given },
        ),
      onProblem: (error) => this.problems.push(error),
    });
    this.gateway = new McpConnection(
      { kind: "acp", name: "s", serverId: "id" },
      { world, cwd: "/there", client: { name: "gateway", version: "2" }, peer, channel: channelTo(this.provider) },
    );
    this.gateway.start();
  }

  /** Lets time pass until it is there. */
  async within<T>(work: Promise<T>): Promise<T> {
    const over = new AbortController();
    const done = work.finally(() => over.abort());
    for (let passed = 0; !over.signal.aborted && passed < 700_000; passed += 100) await this.world.advance(100);
    return await done;
  }

  async ready(): Promise<this> {
    const problem = await this.within(this.gateway.ready(never));
    if (problem) throw problem;
    return this;
  }

  async call(tool: string, args: JsonObject = {}, signal = never, onProgress: (note: object) => void = () => {}) {
    return await this.within(this.gateway.call(tool, args, { signal, onProgress }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.within(Promise.all([this.gateway.close(), this.provider.close()]));
    if (this.held.count > 0) throw new Error("calls are held after the end");
  }
}

const text = (value: unknown) => JSON.stringify(value);

for (const [era, behaviour] of [
  ["legacy", LEGACY],
  ["modern", MODERN],
] as const) {
  test(`${era}: it is discovered from the handshake, listed and called, with progress, errors and cancellation`, async () => {
    await using stage = await new Stage(behaviour).ready();
    const { gateway } = stage;
    expect(gateway.state.value).toMatchObject({ agreement: { era: "modern" }, server: { name: "scripted" } });
    expect(gateway.tools.value.map(({ name }) => name)).toContain("echo");
    expect(await stage.call("echo", { text: "hello" })).toMatchObject({ kind: "answered", isError: false });
    expect(await stage.call("wrong")).toMatchObject({
      kind: "failed",
      error: { message: expect.stringContaining("-32001: not like that") },
    });
    const cancel = new AbortController();
    const notes: object[] = [];
    const slow = stage.call("slow", {}, cancel.signal, (note) => {
      notes.push(note);
      cancel.abort();
    });
    expect(await slow).toEqual({ kind: "cancelled" });
    expect(notes).toEqual([{ progress: 1, total: 2 }]);
  });

  test(`${era}: questions of the server are asked of the gateway while the call is held; roots are answered here`, async () => {
    const asked: (ElicitRequest | JsonObject)[] = [];
    await using stage = await new Stage(behaviour, {
      roots: () => [{ uri: "file:///never" }],
      elicit: async (request) => {
        asked.push(request);
        expect(stage.held.count).toBe(1);
        return { action: "accept", content: { name: "Ada" } };
      },
      sample: async (params) => {
        asked.push(params);
        return { role: "assistant", content: { type: "text", text: "Ahoy" }, model: "m" };
      },
    }).ready();
    expect(text(await stage.call("ask"))).toContain("Ada");
    expect(text(await stage.call("sample"))).toContain("Ahoy");
    expect(text(await stage.call("roots"))).toContain("file:///laptop");
    expect(asked).toMatchObject([FORM, SAMPLE]);
    expect(stage.held.count).toBe(0);
  });

  test(`${era}: what nobody would answer is refused to the server, and the call ends`, async () => {
    const sample = () => Promise.reject(new Error("the person said no"));
    await using stage = await new Stage(behaviour, { sample }).ready();
    const outcome = await stage.call("sample");
    expect(outcome.kind === "failed" ? outcome.error.message : text(outcome)).toContain("the person said no");
    expect(text(await stage.call("ask"))).not.toContain("Ada");
  });

  test(`${era}: a call that is cancelled while a person is asked is released at once`, async () => {
    const cancel = new AbortController();
    const elicit = (_: ElicitRequest, signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        cancel.abort();
      });
    await using stage = await new Stage(behaviour, { elicit }).ready();
    expect(await stage.call("ask", {}, cancel.signal)).toEqual({ kind: "cancelled" });
    await stage.world.advance(10);
    expect(stage.held.count).toBe(0);
  });

  test(`${era}: changed tools are announced; one that crashes is restarted, and the call is unknown`, async () => {
    await using stage = await new Stage(behaviour).ready();
    expect(text(await stage.call("grow"))).toContain("grown");
    await stage.within(stage.gateway.tools.until((tools) => tools.some(({ name }) => name === "other"), never));
    expect(await stage.call("crash")).toMatchObject({ kind: "unknown" });
    await stage.within(stage.gateway.tools.until((tools) => tools.some(({ name }) => name === "echo"), never));
    expect(await stage.call("echo", { text: "again" })).toMatchObject({ kind: "answered" });
    expect(stage.gateway.state.value).toMatchObject({ kind: "ready", attempt: 1 });
  });
}

test("one that does not start: the gateway hears that, the reason stays here, and it is tried again when asked", async () => {
  await using stage = new Stage({ steps: { initialize: [{ do: "crash", stderr: "SECRET-WORDS" }] } });
  await stage.within(stage.gateway.ready(never));
  expect(stage.gateway.state.value).toMatchObject({
    kind: "failed",
    cause: { message: expect.stringContaining("it is failed on the client's machine (mcp.connect_failed)") },
  });
  expect(text(stage.gateway.lastError?.message)).not.toContain("SECRET");
  expect(stage.problems[0]?.message).toContain("SECRET-WORDS");
  stage.gateway.restart();
  await stage.world.advance(60_000);
  expect(stage.problems.length).toBeGreaterThan(1);
});

/** A provider over a scripted link, asked as the wire would. */
function scripted(options: FakeLinkOptions & { readonly call?: ServerConnection["call"] }) {
  const world = fakeWorld();
  const held = new HeldCalls(world);
  const state = new Cell<McpConnection["state"]["value"]>({ kind: "idle" });
  let link = new FakeLink(world, options);
  let ours: Peer = {};
  const ready = () => {
    const { server, agreement } = link;
    state.set({ kind: "ready", attempt: 1, sinceMs: 0, connectMs: 0, server, agreement });
  };
  const provider = new ServerProvider({
    world,
    serverId: "id",
    held,
    roots: () => [],
    onProblem: () => {},
    open: ({ peer = {} }) => {
      ours = peer;
      const connection = {
        ...{ state, tools: new Cell([]), start: ready, restart: () => {}, close: async () => {} },
        ...{ ready: async () => undefined, call: options.call ?? (async () => ({ kind: "cancelled" })) },
        get link() {
          return state.value.kind === "ready" ? link : undefined;
        },
      };
      // Only what a provider uses.
      return connection as unknown as ServerConnection;
    },
  });
  const notices: [string, JsonObject][] = [];
  const ask = (method: string, params: JsonObject = {}, signal = never): Promise<ProvidedAnswer> =>
    provider.request({ method, params, signal, notify: (...notice) => notices.push(notice) });
  return {
    ...{ world, held, provider, ask, notices },
    peer: () => ours,
    link: () => link,
    restart: () => {
      state.set({ kind: "connecting", attempt: 1, sinceMs: 0 });
      link = new FakeLink(world, options);
      ready();
    },
  };
}

const CAPABILITIES = {
  tools: {},
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  tasks: {},
};
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "gateway", version: "2" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
  progressToken: 7,
  traceparent: "00-1-2-01",
};

test("lists, resources, prompts and completions pass through; the gateway's envelope does not", async () => {
  const results: Record<string, JsonObject> = {
    "resources/list": { resources: [{ uri: "a:1", name: "one" }], nextCursor: "2" },
    "resources/read": { contents: [{ uri: "a:1", text: "words", mimeType: "text/plain" }] },
    "prompts/get": { messages: [{ role: "user", content: { type: "text", text: "do" } }] },
    "completion/complete": { completion: { values: ["x"] } },
  };
  const { ask, link } = scripted({
    capabilities: CAPABILITIES,
    answer: ({ method }) => ({ result: results[method] ?? {} }),
  });
  expect(await ask("server/discover", { _meta: META })).toMatchObject({
    kind: "result",
    result: {
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true }, completions: {} },
    },
  });
  const list = await ask("resources/list", { cursor: "1", _meta: META });
  expect(list).toMatchObject({ kind: "result", result: { nextCursor: "2" } });
  expect(link().asked.at(-1)?.params).toEqual({ cursor: "1", _meta: { traceparent: "00-1-2-01" } });
  const read = await ask("resources/read", { uri: "a:1" });
  expect(read).toMatchObject({ result: { contents: [{ uri: "a:1", text: "words", mimeType: "text/plain" }] } });
  expect(await ask("prompts/get", { name: "p" })).toMatchObject({ result: results["prompts/get"] });
  expect(await ask("completion/complete", {})).toMatchObject({ result: results["completion/complete"] });
});

test("requests that make no sense get an error that says so", async () => {
  const { ask, provider } = scripted({ answer: () => ({ result: {} }) });
  await ask("server/discover");
  expect(await ask("initialize")).toMatchObject({ kind: "error", error: { code: -32_601 } });
  expect(await ask("tasks/get")).toMatchObject({ kind: "error", error: { code: -32_601 } });
  expect(await ask("tools/call", {})).toMatchObject({ error: { code: -32_602, message: "tools/call needs a name" } });
  expect(await ask("tools/call", { name: "t", arguments: [] })).toMatchObject({ error: { code: -32_602 } });
  expect(await ask("ping")).toMatchObject({ kind: "result" });
  await provider.close();
});

test("more requests at once than there may be are turned away", async () => {
  const { ask } = scripted({ answer: () => undefined });
  await ask("server/discover");
  const stop = new AbortController();
  const many = Array.from({ length: PROVIDE_LIMITS.requestsAtOnce }, () => ask("tools/list", {}, stop.signal));
  expect(await ask("tools/list")).toMatchObject({ kind: "failed", code: -33_000 });
  stop.abort();
  expect(await Promise.all(many)).toContainEqual({ kind: "failed", code: -32_800, message: "cancelled" });
});

test("a subscription has the lists and resources it asked for, also after a restart, until it is cancelled", async () => {
  const { ask, link, restart, notices } = scripted({ capabilities: CAPABILITIES, answer: () => ({ result: {} }) });
  await ask("server/discover");
  const stop = new AbortController();
  const filter = { promptsListChanged: true, toolsListChanged: true, resourceSubscriptions: ["a:1"] };
  const listening = ask("subscriptions/listen", { notifications: filter }, stop.signal);
  await Promise.resolve();
  expect(notices[0]).toMatchObject(["notifications/subscriptions/acknowledged", { notifications: filter }]);
  const first = link();
  expect(first.asked.map(({ method }) => method)).toContain("resources/subscribe");
  first.announce("notifications/resources/updated", { uri: "a:1" });
  first.announce("notifications/resources/updated", { uri: "a:2" });
  first.announce("notifications/resources/list_changed");
  first.announce("notifications/prompts/list_changed");
  restart();
  expect(link().asked.map(({ method }) => method)).toEqual(["resources/subscribe"]);
  stop.abort();
  expect(await listening).toMatchObject({ kind: "result" });
  link().announce("notifications/prompts/list_changed");
  expect(notices.slice(1).map(([method]) => method)).toEqual([
    "notifications/resources/updated",
    "notifications/prompts/list_changed",
    "notifications/prompts/list_changed",
  ]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(link().asked.map(({ method }) => method)).toEqual(["resources/subscribe", "resources/unsubscribe"]);
});

/** Calls that ask a question at once, and end with its answer. */
function asking() {
  let peer: () => Peer = () => ({});
  const stage = scripted({
    answer: () => ({ result: {} }),
    call: async (_tool, _args, { signal }) => {
      const answer = await peer()
        .elicit?.({ mode: "form", message: "?" }, signal)
        .catch((thrown: unknown) => String(thrown));
      return signal.aborted
        ? { kind: "cancelled" }
        : { kind: "answered", isError: false, content: [{ type: "text", text: text(answer) }] };
    },
  });
  peer = stage.peer;
  const begin = async () => {
    const answer = await stage.ask("tools/call", { name: "t", _meta: META });
    const result = answer.kind === "result" ? answer.result : {};
    const key = Object.keys(isJsonObject(result["inputRequests"]) ? result["inputRequests"] : {})[0] ?? "";
    return { answer, state: result["requestState"] ?? null, key };
  };
  const goOn = (requestState: unknown, inputResponses?: unknown, name = "t") =>
    stage.ask("tools/call", JSON.parse(text({ name, requestState, inputResponses })));
  return { ...stage, begin, goOn };
}

test("wrong answers, a state nobody knows, and one of another call get an error; the right answer still counts", async () => {
  const { begin, goOn, held } = asking();
  const { answer, state, key } = await begin();
  expect(answer).toMatchObject({ result: { resultType: "input_required", _meta: { [HELD]: true } } });
  const wrong: [unknown, string][] = [
    [undefined, "is missing"],
    [{}, "is missing"],
    ["yes", "must be an object"],
    [{ [key]: "yes" }, "must be an object"],
    [{ [key]: { action: "maybe" } }, 'has the action "maybe"'],
    [{ [key]: { action: "accept", content: 5 } }, "no object"],
  ];
  for (const [responses, words] of wrong) {
    expect(await goOn(state, responses)).toMatchObject({
      error: { code: -32_602, message: expect.stringContaining(words) },
    });
  }
  const right = { [key]: { action: "accept", content: { a: 1 } } };
  for (const unknown of ["guess", 5, null]) {
    expect(await goOn(unknown, right)).toMatchObject({ error: { code: -32_602 } });
  }
  expect(await goOn(state, right, "another")).toMatchObject({ error: { code: -32_602 } });
  expect(held.count).toBe(1);
  expect(text(await goOn(state, right))).toContain("accept");
  expect(await goOn(state, right)).toMatchObject({ error: { code: -32_602 } });
});

test("a call that nobody answers ends after 10 minutes, and its state is unknown then", async () => {
  const { begin, goOn, held, world } = asking();
  const { state, key } = await begin();
  await world.advance(PROVIDE_LIMITS.heldMs - 1);
  expect(held.count).toBe(1);
  await world.advance(1);
  expect(held.count).toBe(0);
  expect(await goOn(state, { [key]: { action: "decline" } })).toMatchObject({
    error: { message: expect.stringContaining("10 minutes") },
  });
});

test("the 33rd call that asks is ended with the reason, and the others still wait", async () => {
  const { begin, goOn, held } = asking();
  const first = await begin();
  for (let count = 1; count < PROVIDE_LIMITS.heldCalls; count++) await begin();
  expect((await begin()).answer).toMatchObject({ error: { message: expect.stringContaining("32 calls wait") } });
  expect(held.count).toBe(PROVIDE_LIMITS.heldCalls);
  expect(text(await goOn(first.state, { [first.key]: { action: "decline" } }))).toContain("decline");
  held.releaseAll("the test is over");
});
