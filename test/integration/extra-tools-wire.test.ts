// Tools that programs bring, over the wire of a real gateway in this process, over HTTP, and over stdio; and sessions by their label.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { client, methods } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { expect } from "vitest";
import { HostAccess, loadAgent } from "../../src/acp/index.js";
import { connectGateway, type ProgramTool, type RunContext } from "../../src/client/index.js";
import { gatewaySocketPath, loadGateway, type RunningGateway, type Scope } from "../../src/gateway/index.js";
import type { Model } from "../../src/models/index.js";
import { createHost, type SessionHost } from "../../src/session/index.js";
import { connectAgent } from "../../src/testing/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { cleanEnv, TemporaryFolder } from "../scenarios/agent.js";
import { type Frame, WireClient } from "../scenarios/gateway/wire-client.js";
import { scenario } from "../scenarios/scenario.js";

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const SCHEMA = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } };

/** Calls the tool that the prompt names (`call NAME {…}`), then says what it answered. */
const caller: Model = {
  id: "test/caller",
  stream: async function* ({ messages }) {
    const last = messages.at(-1);
    const said = last?.role === "user" ? last.content.map((one) => ("text" in one ? one.text : "")).join("") : "";
    const [, name, given = "{}"] = /call (\S+) ?(\{.*\})?/u.exec(said) ?? [];
    if (last?.role === "user" && name !== undefined) {
      yield { kind: "tool_call", call: { callId: "c", name, argumentsJson: given } };
      yield { kind: "finish", reason: "tool_calls" };
      return;
    }
    const results = last?.role === "tool" ? last.results.map(({ content }) => JSON.stringify(content)).join(" ") : said;
    yield { kind: "text", text: `it said ${results}` };
    yield { kind: "finish", reason: "stop" };
  },
};

class House implements AsyncDisposable {
  readonly home = new TemporaryFolder();
  readonly world = nodeWorld({ env: cleanEnv(this.home.path), log: QUIET });
  readonly stateDir = join(this.home.path, "state");
  #gateway: RunningGateway | undefined;
  #port = 0;
  #tokens = 0;

  static async open(): Promise<House> {
    const house = new House();
    await house.start();
    return house;
  }

  async start(): Promise<void> {
    const { world, stateDir } = this;
    const { RunningGateway: Gateway } = await loadGateway();
    const rules = { unattended: "wait", maxQueuedPrompts: 8, openTurns: "continue" } as const;
    const tcp = { kind: "tcp", host: "127.0.0.1", port: this.#port } as const;
    this.#gateway = await Gateway.start({
      world,
      stateDir,
      host: "h",
      listen: [{ kind: "socket", path: this.socket }, tcp],
      openRuntime: async (place) =>
        createHost({ world, model: caller, stateDir: place.stateDir, builtin: [], ...rules }),
      onStop: () => {},
    });
    this.#port = Number(
      this.#gateway.addresses
        .find((at) => at.includes("127.0.0.1"))
        ?.split(":")
        .at(-1),
    );
  }

  async stop(): Promise<void> {
    await this.#gateway?.[Symbol.asyncDispose]();
    this.#gateway = undefined;
  }

  get socket(): string {
    return gatewaySocketPath(this.world, this.stateDir);
  }

  get url(): string {
    return `ws://127.0.0.1:${this.#port}/acp`;
  }

  async token(scopes: readonly Scope[], account = "me"): Promise<string> {
    const admin = await this.wire();
    this.#tokens += 1;
    const about = { action: "create", name: `t${this.#tokens}`, account, scopes };
    const { result, error } = await admin.request("_tenon/gateway/tokens", about);
    if (error) throw new Error(error.message);
    await admin.close();
    const token = String(result?.["token"]);
    for (;;) {
      const web = await WireClient.open(this.url, { authorization: `Bearer ${token}` }).catch(() => undefined);
      if (!web) continue; // the gateway has not read the file of tokens again yet
      await web.close();
      return token;
    }
  }

  async wire(scopes?: readonly Scope[], account?: string): Promise<WireClient> {
    if (!scopes) return await opened(await WireClient.open(`ws+unix:${this.socket}:/acp`));
    const authorization = `Bearer ${await this.token(scopes, account)}`;
    return await opened(await WireClient.open(this.url, { authorization }));
  }

  /** An editor that allows what it is asked, with a session. */
  async editor(): Promise<Editor> {
    const web = await this.wire();
    const { result } = await web.request("session/new", { cwd: this.home.path, mcpServers: [] });
    return new Editor(web, String(result?.["sessionId"]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.home[Symbol.dispose]();
  }
}

async function opened(web: WireClient): Promise<WireClient> {
  await web.initialize({ tenon: { client: { name: "wire" } } });
  return web;
}

class Editor {
  readonly web: WireClient;
  readonly sessionId: string;

  constructor(web: WireClient, sessionId: string) {
    this.web = web;
    this.sessionId = sessionId;
    web.web.on("message", (data) => {
      const { id, method, params }: Frame = JSON.parse(String(data));
      if (method !== "session/request_permission") return;
      const options = Array.isArray(params?.["options"]) ? params["options"] : [];
      const optionId = options.find((one: { kind: string }) => one.kind === "allow_once")?.optionId;
      web.web.send(JSON.stringify({ jsonrpc: "2.0", id, result: { outcome: { outcome: "selected", optionId } } }));
    });
  }

  /** All that was said until the turn ended. */
  async say(text: string): Promise<string> {
    const from = this.web.received.length;
    const prompt = [{ type: "text", text }];
    await this.web.request("session/prompt", { sessionId: this.sessionId, prompt });
    return JSON.stringify(this.web.received.slice(from).map(({ params }) => params));
  }
}

const add: ProgramTool = {
  description: "Adds two numbers",
  inputSchema: SCHEMA,
  run: ({ a, b }) => `the sum is ${Number(a) + Number(b)}`,
};

scenario(
  ["G630", "G637"],
  "a program adds two tools to an editor's session by the helper: called, failing, with progress, cancelled, and gone when it leaves",
  async () => {
    await using house = await House.open();
    const editor = await house.editor();
    await using program = await connectGateway({ name: "calculator", world: house.world });
    const session = await program.join({ latest: true, cwd: house.home.path });
    expect(session.id).toBe(editor.sessionId);
    let running: RunContext | undefined;
    let started = () => {};
    const hasStarted = new Promise<void>((resolve) => {
      started = resolve;
    });
    const set = await session.setTools({
      add,
      slow: {
        description: "Takes long",
        run: async (_, context) => {
          running = context;
          context.progress(1, 2, "half way");
          started();
          await new Promise((_resolve, reject) => context.signal.addEventListener("abort", reject, { once: true }));
        },
      },
      __proto__: add,
      "odd name": { description: "Throws", run: () => Promise.reject(new Error("no such customer")) },
    });
    expect(set).toEqual({
      tools: [
        { name: "add", offeredAs: "mcp__program__add" },
        { name: "slow", offeredAs: "mcp__program__slow" },
        { name: "odd name", offeredAs: "mcp__program__odd_name" },
      ],
      rejected: [],
    });
    expect(await editor.say('call mcp__program__add {"a": 1, "b": 2}')).toContain("the sum is 3");
    expect(await editor.say("call mcp__program__odd_name")).toContain("no such customer");
    const turn = editor.say("call mcp__program__slow");
    await hasStarted;
    await editor.web.next(({ params }) => JSON.stringify(params ?? {}).includes("half way"));
    editor.web.web.send(
      JSON.stringify({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: editor.sessionId } }),
    );
    await turn;
    await new Promise<void>((resolve) => {
      if (running?.signal.aborted) resolve();
      else running?.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await program.close();
    expect(session.gone.aborted).toBe(true);
    expect(await editor.say("/why mcp__program__add")).toContain('the program \\"calculator\\" left this session');
    await editor.web.close();
  },
);

scenario(
  ["G630"],
  "the same by a token with the scopes read and tools, over WebSocket and over Streamable HTTP",
  async () => {
    await using house = await House.open();
    const editor = await house.editor();
    const token = await house.token(["read", "tools"]);
    await using program = await connectGateway({ name: "far", url: house.url, token, world: house.world });
    const session = await program.join({ id: editor.sessionId });
    expect((await session.setTools({ add }, "far")).tools).toHaveLength(1);
    expect(await editor.say('call mcp__far__add {"a": 2, "b": 2}')).toContain("the sum is 4");
    await expect(program.join({ label: "mine", cwd: house.home.path })).rejects.toMatchObject({
      code: "access.denied",
    });
    const calls: unknown[] = [];
    const web = client({ name: "http" })
      .onRequest(
        "_tenon/tool/call",
        (params: unknown) => params,
        ({ params }) => {
          calls.push(params);
          return { content: [{ type: "text", text: "by http" }] };
        },
      )
      .onNotification(methods.client.session.update, () => {})
      .connect(createHttpStream(house.url.replace("ws:", "http:"), { headers: { authorization: `Bearer ${token}` } }));
    await web.agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = editor;
    await web.agent.request(methods.agent.session.resume, { sessionId, cwd: house.home.path, mcpServers: [] });
    const tools = [{ name: "post", description: "By HTTP", inputSchema: { type: "object" } }];
    await web.agent.request("_tenon/session/set_tools", { sessionId, key: "http", tools });
    expect(await editor.say("call mcp__http__post")).toContain("by http");
    expect(calls).toMatchObject([{ sessionId, key: "http", name: "post", arguments: {} }]);
    web.close();
    await web.closed;
    await editor.web.close();
  },
);

scenario(["G630"], "over stdio the editor itself may bring tools", async () => {
  using home = new TemporaryFolder();
  const world = nodeWorld({ env: cleanEnv(home.path), log: QUIET });
  await using host: SessionHost = createHost({ world, model: caller, stateDir: home.path, builtin: [] });
  const { createAgent } = await loadAgent();
  await using editor = connectAgent(createAgent({ access: new HostAccess(host) }), {
    extend: (app) =>
      app.onRequest(
        "_tenon/tool/call",
        (params: unknown) => params,
        () => ({ structuredContent: { answer: 42 }, content: [] }),
      ),
  });
  await editor.initialize();
  const { sessionId } = await editor.newSession({ cwd: home.path });
  const tools = [{ name: "ask", description: "Asks", inputSchema: { type: "object" } }];
  const { agent } = editor.connection;
  const set = await agent.request("_tenon/session/set_tools", { sessionId, key: "own", mode: "add", tools });
  expect(set).toEqual({ tools: [{ name: "ask", offeredAs: "mcp__own__ask" }], rejected: [] });
  await editor.prompt(sessionId, "call mcp__own__ask");
  expect(JSON.stringify(editor.updates(sessionId))).toContain("42");
});

scenario(
  ["G633", "G638"],
  "a gateway that ends and comes back has the tools of a program that stays; with its identity a program is the same client",
  async () => {
    await using house = await House.open();
    const editor = await house.editor();
    await editor.say("hello"); // it is stored
    const program = await connectGateway({ name: "stays", world: house.world });
    const session = await program.join({ id: editor.sessionId });
    await session.setTools({ add });
    await house.stop();
    await house.start();
    const back = await house.wire();
    await back.request("session/load", { sessionId: session.id, cwd: house.home.path, mcpServers: [] });
    for (;;) {
      const { result } = await back.request("_tenon/session/tools", { sessionId: session.id });
      if (JSON.stringify(result).includes("mcp__program__add")) break;
    }
    const again = new Editor(back, session.id);
    expect(await again.say('call mcp__program__add {"a": 20, "b": 22}')).toContain("the sum is 42");
    const { identity } = program;
    await program.close();
    await using same = await connectGateway({ name: "stays", identity, world: house.world });
    expect(same.identity).toEqual(identity);
    await back.request("session/delete", { sessionId: session.id });
    await expect(same.join({ id: session.id })).rejects.toMatchObject({ code: "session.not_found" });
    await back.close();
  },
);

scenario(
  ["G638"],
  "what the helper cannot do is named: no gateway, no token, an address in the clear, a session that is gone",
  async () => {
    await using house = await House.open();
    const { world } = house;
    const url = house.url.replace("127.0.0.1", "box.example");
    await expect(connectGateway({ name: "p", url, world })).rejects.toThrow(
      "ws:// sends the token and the conversation",
    );
    await expect(connectGateway({ name: "p", url: "http://x", world })).rejects.toThrow("url takes an address");
    await expect(connectGateway({ name: "p", url: house.url, token: "tng_wrong", world })).rejects.toMatchObject({
      code: "gateway.unreachable",
      message: expect.stringContaining("401"),
    });
    const web = await house.wire();
    const cwd = house.home.path;
    await using program = await connectGateway({ name: "p", world });
    await expect(program.join({ id: "none" })).rejects.toMatchObject({ code: "session.not_found" });
    const session = await program.join({ label: "l", cwd });
    await expect(session.setTools({ add }, "__proto__")).rejects.toMatchObject({ code: "session.invalid_request" });
    const gone = new Promise<unknown>((resolve) => {
      session.gone.addEventListener("abort", () => resolve(session.gone.reason), { once: true });
    });
    await web.request("session/delete", { sessionId: session.id });
    await web.close();
    await house.stop();
    await expect(connectGateway({ name: "p", world })).rejects.toMatchObject({ code: "gateway.unreachable" });
    await house.start();
    expect(await gone).toMatchObject({ code: "session.not_found" });
    await expect(session.setTools({ add })).rejects.toMatchObject({ code: "session.not_found" });
  },
);

scenario(
  ["G639"],
  "a label is a key to a session: created or joined at once by several, listed, begun anew",
  async () => {
    await using house = await House.open();
    await using one = await connectGateway({ name: "one", world: house.world });
    await using two = await connectGateway({ name: "two", world: house.world });
    const cwd = house.home.path;
    const joined = await Promise.all([one, two, one, two].map((program) => program.join({ label: "deploy", cwd })));
    const [first] = joined;
    expect(new Set(joined.map(({ id }) => id)).size).toBe(1);
    const web = await house.wire();
    const meta = { tenon: { attach: { label: "deploy" } } };
    const { result } = await web.request("session/new", { cwd, mcpServers: [], _meta: meta });
    expect(result?.["sessionId"]).toBe(first?.id);
    const editor = new Editor(web, String(first?.id));
    await editor.say("remember this");
    const fresh = await two.reset({ label: "deploy", cwd });
    expect(fresh.id).not.toBe(first?.id);
    expect((await one.join({ label: "deploy", cwd })).id).toBe(fresh.id);
    await new Editor(web, fresh.id).say("unknown to it").catch(() => undefined);
    const listed = await one.sessions({ label: "deploy" });
    expect(listed).toMatchObject([{ id: first?.id, label: "deploy", title: "remember this", cwd }]);
    expect(await one.sessions({ label: "other" })).toEqual([]);
    // The one before is used later, and the label still leads to the newer one; also for the next gateway.
    await web.request("session/load", { sessionId: fresh.id, cwd, mcpServers: [] });
    await new Editor(web, fresh.id).say("the newer one");
    await editor.say("once more");
    expect((await one.join({ label: "deploy", cwd })).id).toBe(fresh.id);
    await web.close();
    await Promise.all([one.close(), two.close()]);
    await house.stop();
    await house.start();
    await using three = await connectGateway({ name: "three", world: house.world });
    expect((await three.join({ label: "deploy", cwd })).id).toBe(fresh.id);
    expect((await three.join({ id: first?.id ?? "" })).cwd).toBe(cwd);
    const ids = (await three.sessions({ label: "deploy" })).map(({ id }) => id);
    expect(new Set(ids)).toEqual(new Set([first?.id, fresh.id]));
  },
);

scenario(
  ["G640"],
  "set_tools without the scope, for a session of another account or one that was not joined; progress and answers that are none of a client's business: no effect",
  async () => {
    await using house = await House.open();
    const editor = await house.editor();
    const { sessionId } = editor;
    const tools = [{ name: "add", description: "Adds", inputSchema: { type: "object" } }];
    const set = { sessionId, key: "evil", tools };
    const open = { sessionId, cwd: house.home.path, mcpServers: [] };
    const reader = await house.wire(["read", "prompt", "approve"]);
    await reader.request("session/load", open);
    expect((await reader.request("_tenon/session/set_tools", set)).error).toMatchObject({
      code: -32003,
      message: expect.stringContaining('needs the scope "tools"'),
    });
    const stranger = await house.wire(["read", "prompt", "tools"], "other");
    expect((await stranger.request("_tenon/session/set_tools", set)).error).toMatchObject({ code: -32002 });
    expect((await stranger.request("session/load", open)).error).toMatchObject({ code: -32002 });
    const outside = await house.wire(["read", "tools"]);
    expect((await outside.request("_tenon/session/set_tools", set)).error).toMatchObject({ code: -32002 });
    const bot = await house.wire(["read", "tools"]);
    await bot.request("session/load", open);
    await outside.request("session/load", open);
    expect((await bot.request("_tenon/session/set_tools", set)).result).toMatchObject({ rejected: [] });
    const audit = readFileSync(join(house.stateDir, "gateway/audit.ndjson"), "utf8");
    expect(audit.match(/"event":"tools.set".*"key":"evil"/gu)).toHaveLength(1);
    expect(audit).toMatch(/"event":"denied".*set_tools/u);
    const turn = editor.say("call mcp__evil__add");
    const call = await bot.next(({ method }) => method === "_tenon/tool/call");
    const { toolCallId } = call.params ?? {};
    const progress = (message: string) =>
      JSON.stringify({
        jsonrpc: "2.0",
        method: "_tenon/tool/progress",
        params: { sessionId, toolCallId, progress: 1, message },
      });
    outside.web.send(progress("canary of another client"));
    for (const bad of [null, [], {}, { sessionId, toolCallId, progress: "1" }, { sessionId: {}, toolCallId: [] }]) {
      bot.web.send(JSON.stringify({ jsonrpc: "2.0", method: "_tenon/tool/progress", params: bad }));
    }
    const forged = {
      jsonrpc: "2.0",
      id: call.id,
      result: { content: [{ type: "text", text: "canary of an answer" }] },
    };
    outside.web.send(JSON.stringify(forged));
    await outside.request("session/list");
    bot.web.send(progress("real progress"));
    await editor.web.next(({ params }) => JSON.stringify(params ?? {}).includes("real progress"));
    const answer = (text: string) =>
      JSON.stringify({ jsonrpc: "2.0", id: call.id, result: { content: [{ type: "text", text }] } });
    bot.web.send(progress("last progress"));
    bot.web.send(answer("the answer")); // in the same moment
    const said = await turn;
    expect(said).toContain("last progress");
    expect(said).toContain("the answer");
    bot.web.send(answer("canary after the end"));
    bot.web.send(progress("canary after the end"));
    await bot.request("session/list");
    await editor.say("hello");
    expect(JSON.stringify(editor.web.received)).not.toContain("canary");
    for (const one of [reader, stranger, outside, bot, editor.web]) await one.close();
  },
);
