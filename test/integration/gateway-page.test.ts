// What the page needs of a whole gateway, over real sockets: getting in, links, and the methods of its views.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { defined } from "../../src/base/json/defined.js";
import { type AccountStore, loadGateway, type RunningGateway, type Scope } from "../../src/gateway/index.js";
import type { Model } from "../../src/models/index.js";
import { createHost } from "../../src/session/index.js";
import { echoTool, scriptedAcpServer } from "../../src/testing/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { cleanEnv, TemporaryFolder } from "../scenarios/agent.js";
import { type Frame, type HttpAnswer, send, WireClient } from "../scenarios/gateway/wire-client.js";
import { scenario } from "../scenarios/scenario.js";
import { isOnPostgres, openTestStore, withTokens } from "../test-store.js";

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const model: Model = {
  id: "test/words",
  stream: async function* () {
    yield { kind: "text", text: "hello" };
    yield { kind: "finish", reason: "stop", usage: { inputTokens: 3, outputTokens: 2, costUsd: 0.5 } };
  },
};

interface Fields {
  readonly [key: string]: unknown;
}

class House implements AsyncDisposable {
  readonly home = new TemporaryFolder();
  readonly world = nodeWorld({ env: cleanEnv(this.home.path), log: QUIET });
  readonly stateDir = join(this.home.path, "state");
  readonly work = join(this.home.path, "work");
  readonly socketPath = join(this.stateDir, "gateway", "gateway.sock");
  readonly clients: WireClient[] = [];
  gateway: RunningGateway | undefined;

  static async open(): Promise<House> {
    const house = new House();
    mkdirSync(house.work);
    mkdirSync(join(house.home.path, "page"));
    writeFileSync(join(house.home.path, "page", "index.html"), "<!doctype html><title>Tenon</title>");
    await house.start();
    return house;
  }

  async start(): Promise<void> {
    const { RunningGateway: Runner } = await loadGateway();
    const { world, stateDir } = this;
    const store = await openTestStore(world, this.home.path);
    this.gateway = await Runner.start({
      ...{ world, stateDir, host: "here", onStop: () => {}, ...defined({ store }) },
      listen: [{ kind: "socket", path: this.socketPath }],
      pageFolder: join(this.home.path, "page"),
      openRuntime: async ({ stateDir: folder, kept }) => this.runtime(folder, kept),
    });
  }

  async stop(): Promise<void> {
    await this.gateway?.drain(0);
    await this.gateway?.[Symbol.asyncDispose]();
  }

  runtime(stateDir: string, { sessions, decisions }: Partial<AccountStore> = {}) {
    const rules = { unattended: "wait", maxQueuedPrompts: 8, openTurns: "continue" } as const;
    const stored = { stateDir, ...defined({ store: sessions, decisions }) };
    return createHost({ world: this.world, model, builtin: [], ...stored, ...rules });
  }

  /** At the unix socket. */
  async local(meta: object = {}): Promise<WireClient> {
    return await this.#introduced(await WireClient.open(`ws+unix:${this.socketPath}:/acp`), meta);
  }

  async remote(account: string, scopes: readonly Scope[]): Promise<WireClient> {
    await this.page();
    const name = `t${this.clients.length}`;
    const { token } = await withTokens(this.world, this.home.path, (tokens) =>
      tokens.create({ name, account, scopes }),
    );
    const headers = { authorization: `Bearer ${token}` };
    const opening = () => WireClient.open(`ws://127.0.0.1:${this.port}/acp`, headers);
    const isTaken = async () => (await send(this.at, { path: "/me", headers })).status === 200;
    while (!(await isTaken())) await new Promise((resolve) => setTimeout(resolve, 10)); // they are watched
    return await this.#introduced(await opening(), {});
  }

  async #introduced(client: WireClient, meta: object): Promise<WireClient> {
    this.clients.push(client);
    await client.initialize({ tenon: meta });
    return client;
  }

  get port(): number {
    return Number(this.gateway?.addresses.find((address) => address.startsWith("127."))?.split(":")[1]);
  }

  get at() {
    return { host: "127.0.0.1", port: this.port };
  }

  async page(params: object = {}): Promise<Fields> {
    const client = await this.local();
    const { result, error } = await client.request("_tenon/gateway/page", params);
    await client.close();
    if (!result) throw new Error(error?.message);
    return result;
  }

  async post(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
    const origin = `http://127.0.0.1:${this.port}`;
    const all = { origin, "content-type": "application/json", ...headers };
    return await send(this.at, { method: "POST", path, headers: all, body: JSON.stringify(body) });
  }

  audit(): string {
    return readFileSync(join(this.stateDir, "gateway", "audit.ndjson"), "utf8");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()));
    await this.gateway?.[Symbol.asyncDispose]();
    this.home[Symbol.dispose]();
  }
}

/** What a request answers; throws its error. */
async function ask(client: WireClient, method: string, params: object): Promise<Fields> {
  const { result, error } = await client.request(method, params);
  if (!result) throw new Error(`${method}: ${JSON.stringify(error)}`);
  return result;
}

function listIn(answer: Fields, name: string): readonly Fields[] {
  const list = answer[name];
  return Array.isArray(list) ? list : [];
}

function cookieIn({ headers }: HttpAnswer): string {
  return String(headers["set-cookie"]?.[0]).split(";", 1)[0] ?? "";
}

async function newSession(client: WireClient, house: House, servers: readonly object[] = []): Promise<string> {
  const made = await ask(client, "session/new", { cwd: house.work, mcpServers: servers });
  return String(made["sessionId"]);
}

scenario(
  ["G660", "G661", "G662", "G663", "G664", "G671"],
  "a browser follows a link, is let in once, and is gone when it is revoked; what is not from the page is refused",
  async () => {
    await using house = await House.open();
    expect(house.gateway?.addresses).toEqual([house.socketPath]);
    const [first, second] = await Promise.all([house.page({ name: "my phone" }), house.page()]);
    expect(house.gateway?.addresses).toHaveLength(2); // one port for both
    const [, code = ""] = /^http:\/\/127\.0\.0\.1:\d+\/#pair=([\w-]{22})$/u.exec(String(first["url"])) ?? [];
    expect(String(second["url"])).not.toContain(code);
    expect((await send(house.at, { path: "/" })).body).toContain("<title>Tenon</title>");
    expect((await send(undefined, { path: "/", socketPath: house.socketPath })).status).toBe(404);
    const answer = await house.post("/pair", { code });
    expect(JSON.parse(answer.body)).toEqual({ account: "me", scopes: ["read", "prompt", "approve"], name: "my phone" });
    expect((await house.post("/pair", { code })).status).toBe(401);
    const cookie = cookieIn(answer);
    const url = `ws://127.0.0.1:${house.port}/acp`;
    const origin = `http://127.0.0.1:${house.port}`;
    for (const headers of [{ cookie }, { cookie, origin: "http://127.0.0.1:1" }, { cookie, origin: "null" }])
      await expect(WireClient.open(url, headers)).rejects.toThrow("HTTP 403");
    const page = await WireClient.open(url, { cookie, origin });
    house.clients.push(page);
    await page.initialize({ tenon: { client: { name: "the page" }, env: undefined } });
    const admin = await house.local();
    const { connections } = await ask(admin, "_tenon/gateway/status", {});
    expect(connections).toMatchObject([
      {
        name: "the page",
        account: "me",
        role: "controller",
        transport: "websocket",
        address: "127.0.0.1",
        sessions: [],
      },
      { name: "this machine", address: "" },
    ]);
    expect((await ask(page, "_tenon/gateway/status", {}))["connections"]).toBeUndefined();
    const tokens = listIn(await ask(admin, "_tenon/gateway/tokens", { action: "list" }), "tokens");
    expect(tokens).toMatchObject([{ name: "my phone", isDevice: true, scopes: ["read", "prompt", "approve"] }]);
    const startedMs = performance.now();
    await ask(admin, "_tenon/gateway/tokens", { action: "revoke", id: String(tokens[0]?.["id"]) });
    expect(await page.ended).toMatchObject({ code: 1008 });
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    expect((await send(house.at, { path: "/me", headers: { cookie } })).status).toBe(401);
    for (const written of [
      '"reason":"used_code"',
      '"reason":"no_origin"',
      '"reason":"origin"',
      "logged_in",
      "code.created",
    ])
      expect(house.audit()).toContain(written);
    expect(house.audit()).not.toContain(code);
    for (const [params, words] of [
      [{ scopes: ["all"] }, "scopes must be among"],
      [{ name: "\u202e" }, "name of a device"],
      [{ from: "nowhere" }, "from must be"],
      [{ sessionId: "../etc" }, "there is no session"],
    ] as const)
      await expect(house.page(params)).rejects.toThrow(words);
  },
  { platform: "linux" },
);

scenario(
  ["G667", "G671"],
  "a session is shown from its journal where nobody has it in memory, and while another process has it",
  async () => {
    await using house = await House.open();
    const watcher = await house.local();
    await ask(watcher, "_tenon/gateway/watch", {});
    const client = await house.local({ client: { name: "an editor" } });
    const sessionId = await newSession(client, house);
    const prompt = [{ type: "text", text: "say hello" }];
    await ask(client, "session/prompt", { sessionId, prompt });
    const isOver = ({ params }: Frame) => params?.["state"] === "idle" && JSON.stringify(params).includes("costUsd");
    const change = await watcher.next((frame) => frame.method === "_tenon/gateway/changed" && isOver(frame));
    expect(change.params).toMatchObject({
      ...{ sessionId, state: "idle", title: "say hello", cwd: house.work, questions: [] },
      clients: [{ name: "an editor", role: "controller" }],
      usage: { inputTokens: 3, outputTokens: 2, costUsd: 0.5 },
    });
    const inMemory = await ask(client, "_tenon/session/view", { sessionId });
    expect(inMemory).toMatchObject({ state: "idle", title: "say hello", usage: { costUsd: 0.5 } });
    await house.stop();
    rmSync(house.work, { recursive: true }); // not even its directory is left
    await house.start();
    const later = await house.local();
    const loading = await later.request("session/load", { sessionId, cwd: house.work, mcpServers: [] });
    expect(loading.error?.message).toContain("is not there");
    const closedRecords = isOnPostgres ? 0 : 1; // nodes hand a session over without closing it
    const stored = await ask(later, "_tenon/session/view", { sessionId });
    expect(stored).toMatchObject({
      ...{ sessionId, state: "resting", title: "say hello", cwd: house.work, clients: [], questions: [], servers: [] },
      ...{ usage: { inputTokens: 3, costUsd: 0.5 }, seq: Number(inMemory["seq"]) + closedRecords },
    });
    expect(stored["owner"]).toBeUndefined();
    const kinds: unknown[] = [];
    for (let after: unknown = 0; after !== undefined; ) {
      const read = await ask(later, "_tenon/session/records", { sessionId, after, limit: 2 });
      expect(listIn(read, "records").length).toBeLessThanOrEqual(2);
      kinds.push(...listIn(read, "records").map(({ kind }) => kind));
      after = read["next"];
    }
    expect(kinds).toEqual(expect.arrayContaining(["title", "prompt", "text", "usage", "end"]));
    const only = await ask(later, "_tenon/session/records", { sessionId, kinds: ["usage"] });
    expect(listIn(only, "records")).toMatchObject([{ kind: "usage", session: { costUsd: 0.5 } }]);
    for (const method of ["_tenon/mcp/status", "_tenon/session/tools"])
      expect((await later.request(method, { sessionId })).error).toMatchObject({ code: -32002 });
    if (isOnPostgres) return; // what another node has is reached there
    const other = house.runtime(house.stateDir);
    mkdirSync(house.work);
    await other.loadSession({ id: sessionId, cwd: house.work });
    expect((await later.request("session/load", { sessionId, cwd: house.work, mcpServers: [] })).error).toBeDefined();
    const held = await ask(later, "_tenon/session/view", { sessionId });
    expect(held).toMatchObject({ state: "resting", owner: `process ${process.pid}` });
    await ask(later, "_tenon/session/records", { sessionId });
    await other.close();
  },
  { platform: "linux" },
);

const SHOUTER = {
  tools: [{ ...echoTool(), name: "shout", description: "Says words loudly" }],
  rawTools: [{ name: "broken", inputSchema: "none" }],
  steps: { initialized: [{ do: "stderr", text: "warming up\nready to shout\n" }] },
} as const;

scenario(
  ["G668", "G669", "G670"],
  "tools say why they are there, a person calls one as the model would, and a server is looked after",
  async () => {
    await using house = await House.open();
    const client = await house.local({ client: { name: "the page" } });
    const server = scriptedAcpServer("loud", SHOUTER);
    const sessionId = await newSession(client, house, [server]);
    const status = async () => listIn(await ask(client, "_tenon/mcp/status", { sessionId }), "servers")[0] ?? {};
    await expect.poll(async () => (await status())["state"]).toBe("ready");
    const tools = listIn(await ask(client, "_tenon/session/tools", { sessionId }), "tools");
    const shout = tools.find(({ name }) => name === "mcp__loud__shout");
    expect(shout).toMatchObject({ server: "loud", offered: true, why: "offered", inputSchema: { type: "object" } });
    expect(String(shout?.["reason"])).toContain("is offered to the model");
    const broken = tools.find(({ name }) => name === "broken");
    expect(broken).toMatchObject({ server: "loud", offered: false, why: "quarantined" });
    const found = listIn(await ask(client, "_tenon/session/tools", { sessionId, query: "words loudly" }), "tools");
    expect(found).toMatchObject([{ name: "mcp__loud__shout", offered: true, score: expect.any(Number) }]);

    const call = { sessionId, name: "mcp__loud__shout", arguments: { text: "hi" } };
    const calling = client.request("_tenon/session/call_tool", call);
    const question = await client.next(({ method }) => method === "session/request_permission");
    const [option] = listIn(question.params ?? {}, "options");
    const outcome = { outcome: "selected", optionId: option?.["optionId"] };
    client.web.send(JSON.stringify({ jsonrpc: "2.0", id: question.id, result: { outcome } }));
    const { result } = await calling;
    expect(result).toMatchObject({ toolCallId: "1-1", isError: false });
    expect(JSON.stringify(result?.["content"])).toContain("hi");
    const records = listIn(await ask(client, "_tenon/session/records", { sessionId }), "records");
    const kinds = records.map(({ kind }) => kind);
    for (const kind of ["prompt", "call", "question", "answered", "intent", "outcome", "end"])
      expect(kinds).toContain(kind);
    expect(records.find(({ kind }) => kind === "prompt")).toMatchObject({ isCommand: true, by: { name: "the page" } });
    // Refused, unknown and malformed: an answer each, and the session goes on.
    const refusing = client.request("_tenon/session/call_tool", call);
    const asked = ({ id, method }: { id?: unknown; method?: string }) =>
      method === "session/request_permission" && id !== question.id;
    const second = await client.next(asked);
    const no = { outcome: { outcome: "cancelled" } };
    client.web.send(JSON.stringify({ jsonrpc: "2.0", id: second.id, result: no }));
    expect((await refusing).result).toMatchObject({ isError: true });
    expect(await ask(client, "_tenon/session/call_tool", { sessionId, name: "none" })).toMatchObject({ isError: true });
    for (const params of [
      { name: "a b" },
      { name: "x", arguments: [] },
      {},
      { name: "x", arguments: { a: "x".repeat(300_000) } },
    ])
      expect((await client.request("_tenon/session/call_tool", { sessionId, ...params })).error?.code).toBe(-32602);

    expect(await status()).toMatchObject({ latencyMs: expect.any(Number), stderr: ["warming up", "ready to shout"] });
    expect(await ask(client, "_tenon/mcp/restart", { sessionId, server: "loud" })).toMatchObject({
      text: expect.stringContaining("started anew"),
    });
    await expect.poll(async () => (await status())["state"]).toBe("ready");
    for (const [method, server, words] of [
      ["_tenon/mcp/restart", "none", "no connected server"],
      ["_tenon/mcp/login", "none", "no connected server"],
      ["_tenon/mcp/login", "loud", "is not reached over the network"],
    ] as const)
      expect((await client.request(method, { sessionId, server })).error?.message).toContain(words);
  },
  { platform: "linux" },
);

scenario(
  ["G669", "G724"],
  "a call by a person goes on when the connection of its caller breaks, and lists beyond their limits are refused whole",
  async () => {
    await using house = await House.open();
    const [client, caller] = [await house.local(), await house.local()];
    const sessionId = await newSession(client, house, [scriptedAcpServer("loud", SHOUTER)]);
    await ask(caller, "session/load", { sessionId, cwd: house.work, mcpServers: [] });
    const view = () => ask(client, "_tenon/session/view", { sessionId });
    const call = { sessionId, name: "mcp__loud__shout", arguments: { text: "hi" } };
    const calling = caller.request("_tenon/session/call_tool", call).catch(() => "broken");
    await expect.poll(async () => listIn(await view(), "questions")).toHaveLength(1);
    caller.web.terminate();
    expect(await calling).toBe("broken");
    await expect.poll(async () => listIn(await view(), "clients")).toHaveLength(1);
    const [question] = listIn(await view(), "questions");
    await ask(client, "_tenon/question/answer", { sessionId, questionId: question?.["id"], answer: "once" });
    const outcomes = async () => {
      const { records } = await ask(client, "_tenon/session/records", { sessionId, kinds: ["outcome"] });
      return records;
    };
    await expect.poll(outcomes).toMatchObject([{ outcome: { kind: "done" } }]);

    const mcpServers = Array.from({ length: 129 }, (_, at) => ({ type: "acp", name: `s${at}`, serverId: `i${at}` }));
    const message = "mcpServers has 129 servers: a request may have at most 128";
    const data = { code: "session.invalid_request" };
    for (const method of ["session/new", "session/load", "session/fork", "_tenon/session/set_mcp_servers"]) {
      const { error } = await client.request(method, { sessionId, cwd: house.work, mcpServers });
      expect(error, method).toMatchObject({ code: -32602, message, data });
    }
    expect(listIn(await ask(client, "_tenon/mcp/status", { sessionId }), "servers")).toHaveLength(1);
    const scopes = Array.from({ length: 100 }, () => "read");
    for (const [method, params] of [
      ["_tenon/gateway/page", { scopes }],
      ["_tenon/gateway/tokens", { action: "create", name: "many", scopes }],
      ["_tenon/session/records", { sessionId, kinds: scopes }],
    ] as const)
      expect((await client.request(method, params)).error, method).toMatchObject({ code: -32602, data });
  },
  { platform: "linux" },
);

scenario(
  ["G669"],
  "a call by a person is there after a restart; one that was waiting when the gateway stopped was not made, and the session goes on",
  async () => {
    await using house = await House.open();
    const record = join(house.home.path, "received.ndjson");
    const server = scriptedAcpServer("loud", { ...SHOUTER, recordFile: record });
    const client = await house.local();
    const sessionId = await newSession(client, house, [server]);
    const call = { sessionId, name: "mcp__loud__shout", arguments: { text: "hi" } };
    const calling = client.request("_tenon/session/call_tool", call);
    const { id, params } = await client.next(({ method }) => method === "session/request_permission");
    const outcome = { outcome: "selected", optionId: listIn(params ?? {}, "options")[0]?.["optionId"] };
    client.web.send(JSON.stringify({ jsonrpc: "2.0", id, result: { outcome } }));
    expect((await calling).result).toMatchObject({ isError: false });
    const second = client.request("_tenon/session/call_tool", call).catch(() => undefined);
    await client.next((frame) => frame.method === "session/request_permission" && frame.id !== id);
    await house.stop();
    await second;
    await house.start();
    const later = await house.local();
    await ask(later, "session/load", { sessionId, cwd: house.work, mcpServers: [] });
    const shown = later.received.filter(({ params: update }) => JSON.stringify(update ?? {}).includes("tool_call"));
    expect(JSON.stringify(shown)).toContain('"toolCallId":"1-1"');
    await ask(later, "session/prompt", { sessionId, prompt: [{ type: "text", text: "go on" }] });
    const sent = readFileSync(record, "utf8").split("\n");
    expect(sent.filter((line) => line.includes("tools/call"))).toHaveLength(1);
    const records = listIn(await ask(later, "_tenon/session/records", { sessionId }), "records");
    const outcomes = records.filter(({ kind }) => kind === "outcome").map(({ outcome: end }) => end);
    expect(outcomes[0]).toMatchObject({ kind: "done" });
    const ends = records.filter(({ kind }) => kind === "end" || kind === "error").map(({ turn }) => turn);
    expect(ends).toEqual([1, 2, 3]);
  },
  { platform: "linux" },
);

scenario(
  ["G672"],
  "the methods of the page: each with each scope, and with the session of another account",
  async () => {
    await using house = await House.open();
    const owner = await house.local();
    const sessionId = await newSession(owner, house);
    const params = { sessionId, server: "s", name: "t", arguments: {}, after: 0 };
    const needed: Readonly<Record<string, readonly Scope[]>> = {
      "_tenon/session/view": [],
      "_tenon/session/records": [],
      "_tenon/session/tools": [],
      "_tenon/mcp/status": [],
      // Without `prompt` or `approve` a client is an observer, and observers change nothing.
      "_tenon/mcp/restart": ["tools", "prompt"],
      "_tenon/mcp/login": ["tools", "approve"],
      "_tenon/session/call_tool": ["tools", "prompt"],
      "_tenon/gateway/page": ["admin"],
    };
    const thief = await house.remote("thief", ["read", "prompt", "approve", "tools", "admin"]);
    for (const method of Object.keys(needed))
      expect((await thief.request(method, params)).error, method).toMatchObject({ code: -32002 });
    for (const scopes of [["read"], ["prompt"], ["approve"], ["tools"], ["admin"], ["tools", "prompt"]] as const) {
      const client = await house.remote("me", scopes);
      for (const [method, wanted] of Object.entries(needed)) {
        const { error } = await client.request(method, params);
        const isMissing = wanted.some((scope) => !scopes.some((one) => one === scope));
        expect(error?.code === -32003, `${method} with ${scopes.join()}: ${JSON.stringify(error)}`).toBe(isMissing);
      }
      if (scopes[0] === "admin") {
        // Nobody gives away more than they have.
        const more = await client.request("_tenon/gateway/page", { scopes: ["tools"] });
        expect(more.error).toMatchObject({ code: -32003, message: expect.stringContaining('"tools"') });
      }
    }
    expect(house.audit()).toMatch(/"event":"denied".*"method":"_tenon\/session\/call_tool"/u);
  },
  { platform: "linux" },
);
