// A gateway over TCP and a translator with the editor's servers, each in a world of its own in this process: real sockets, real processes.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { defined } from "../../src/base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/base/json/json.js";
import type { WebSocketLink } from "../../src/base/ports/web-socket.js";
import { loadGateway } from "../../src/gateway/index.js";
import type { Model } from "../../src/models/index.js";
import { createHost } from "../../src/session/index.js";
import { type Behaviour, echoTool, listLiving, scriptedHttpServer, scriptedServer } from "../../src/testing/index.js";
import { ownServers, remoteLink, Translator } from "../../src/translator/index.js";
import { nodeWorld, openWebSocket } from "../../src/world/index.js";
import { cleanEnv, TemporaryFolder } from "../scenarios/agent.js";
import { send } from "../scenarios/gateway/wire-client.js";
import { scenario } from "../scenarios/scenario.js";
import { openTestStore, textInDatabase, withTokens } from "../test-store.js";

/** Calls the tool that the prompt names (`NAME {…}`), then says what it answered. */
const caller: Model = {
  id: "test/caller",
  stream: async function* ({ messages }) {
    const last = messages.at(-1);
    if (last?.role === "user") {
      const said = last.content.map((one) => ("text" in one ? one.text : "")).join("");
      const [, name = "", given = "{}"] = /(mcp__\w+) ?(\{.*\})?/u.exec(said) ?? [];
      if (name === "") {
        yield { kind: "text", text: "Ahoy" };
        yield { kind: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1 } };
        return;
      }
      yield { kind: "tool_call", call: { callId: "c", name, argumentsJson: given } };
      yield { kind: "finish", reason: "tool_calls" };
      return;
    }
    yield { kind: "text", text: `it said ${JSON.stringify(last)}` };
    yield { kind: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1 } };
  },
};

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string };
}

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const ANSWERS: Record<string, JsonObject> = {
  "elicitation/create": { action: "accept", content: { name: "Ada" } },
  "session/request_permission": { outcome: { outcome: "selected", optionId: "once" } },
};

/** What an editor does, over one translator. */
class Editor implements AsyncDisposable {
  readonly received: Message[] = [];
  readonly translator: Translator;
  /** The connections there were, the latest last. */
  readonly links: WebSocketLink[] = [];
  readonly #waiting = new Map<string, (message: Message) => void>();
  #count = 0;

  constructor(house: House, tokenFile: string, log = QUIET) {
    const world = nodeWorld({ env: cleanEnv(house.laptop.path), log });
    const open = remoteLink({ urls: [house.url], tokenFile }, { world, openWebSocket });
    this.translator = new Translator({
      world,
      gatewayName: "of the test",
      isLocal: false,
      initialize: { protocolVersion: 1, clientCapabilities: { elicitation: { form: {} }, session: { notices: {} } } },
      open: async (listener, signal) => {
        const link = await open(listener, signal);
        this.links.push(link);
        return link;
      },
      ownServers: ownServers(world),
      notice: (_level, text) => [{ sessionUpdate: "notice", text }],
      send: (raw) => this.#hear(JSON.parse(JSON.stringify(raw))),
    });
    this.translator.run();
  }

  async request(method: string, params: JsonObject): Promise<JsonObject> {
    this.#count += 1;
    const id = `e${this.#count}`;
    const answered = new Promise<Message>((resolve) => this.#waiting.set(id, resolve));
    this.translator.hear({ jsonrpc: "2.0", id, method, params });
    const { result, error } = await answered;
    if (error) throw new Error(`${error.code} ${error.message}`);
    return result ?? {};
  }

  async open(house: House, mcpServers: readonly object[]): Promise<string> {
    const servers: JsonObject[] = JSON.parse(JSON.stringify(mcpServers));
    const { sessionId } = await this.request("session/new", { cwd: house.project.path, mcpServers: servers });
    return String(sessionId);
  }

  /** All that was shown for it. */
  async prompt(sessionId: string, text: string): Promise<string> {
    const from = this.received.length;
    await this.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    return JSON.stringify(this.received.slice(from));
  }

  async servers(sessionId: string): Promise<JsonObject[]> {
    const { servers } = await this.request("_tenon/mcp/status", { sessionId });
    return Array.isArray(servers) ? servers.filter(isJsonObject) : [];
  }

  async until(sessionId: string, name: string, state: string): Promise<JsonObject> {
    return await vi.waitFor(
      async () => {
        const found = (await this.servers(sessionId)).find((server) => server["name"] === name);
        if (found?.["state"] === state) return found;
        throw new Error(`${name} is not ${state}: ${JSON.stringify(found)}`);
      },
      { timeout: 15_000, interval: 150 },
    );
  }

  shows(words: string): boolean {
    return JSON.stringify(this.received).includes(words);
  }

  /** The connection breaks, without a word. */
  async cut(): Promise<void> {
    await this.links.at(-1)?.close();
  }

  #hear(message: Message): undefined {
    this.received.push(message);
    const { id, method } = message;
    if (id === undefined) return;
    if (method === undefined) this.#waiting.get(String(id))?.(message);
    else this.translator.hear({ jsonrpc: "2.0", id, result: ANSWERS[method] ?? {} });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.translator.leave();
  }
}

class House implements AsyncDisposable {
  readonly laptop = new TemporaryFolder();
  readonly home = new TemporaryFolder();
  readonly project = new TemporaryFolder();
  readonly logged: string[] = [];
  url = "";
  #close: () => Promise<void> = async () => {};
  #tokens = 0;
  #token: (name: string) => Promise<string> = async () => "";

  static async open(): Promise<House> {
    const house = new House();
    const note = (event: string, fields?: object) => house.logged.push(JSON.stringify([event, fields]));
    const log = { debug: note, info: note, warn: note, error: note };
    const world = nodeWorld({ env: cleanEnv(house.home.path), log });
    const stateDir = join(house.home.path, "state");
    const { RunningGateway } = await loadGateway();
    const rules = { unattended: "wait", maxQueuedPrompts: 8, openTurns: "continue" } as const;
    const store = await openTestStore(world, house.home.path);
    const gateway = await RunningGateway.start({
      ...{ world, stateDir, host: "elsewhere", onStop: () => {}, ...defined({ store }) },
      listen: [{ kind: "tcp", host: "127.0.0.1", port: 0 }],
      openRuntime: async ({ kept: { sessions, decisions } }) => {
        const stored = { stateDir, store: sessions, ...defined({ decisions }) };
        return createHost({ world, model: caller, builtin: [], ...stored, ...rules });
      },
    });
    house.url = `ws://${gateway.addresses[0]}/acp`;
    const at = { host: "127.0.0.1", port: Number(gateway.addresses[0]?.split(":")[1]) };
    house.#token = async (name) => {
      const scopes = ["read", "prompt", "approve", "tools"] as const;
      const { token } = await withTokens(world, house.home.path, (tokens) => tokens.create({ name, scopes }));
      const isTaken = async () =>
        (await send(at, { path: "/me", headers: { authorization: `Bearer ${token}` } })).status;
      while ((await isTaken()) !== 200) await new Promise((resolve) => setTimeout(resolve, 10)); // they are watched
      return token;
    };
    house.#close = async () => {
      await gateway[Symbol.asyncDispose]();
    };
    return house;
  }

  async editor(): Promise<Editor> {
    this.#tokens += 1;
    const path = join(this.laptop.path, `token-${this.#tokens}`);
    writeFileSync(path, await this.#token(`t${this.#tokens}`), { mode: 0o600 });
    return new Editor(this, path);
  }

  /** Everything the gateway wrote. */
  get stored(): string {
    const files = readdirSync(this.home.path, { recursive: true, withFileTypes: true });
    const texts = files
      .filter((file) => file.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8"));
    return [...texts, ...this.logged, textInDatabase(this.home.path)].join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    for (const folder of [this.laptop, this.home, this.project]) folder[Symbol.dispose]();
  }
}

const FORM = { message: "Who?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } };
const SAMPLE = { maxTokens: 5, messages: [{ role: "user", content: { type: "text", text: "hi" } }] };
const PLAIN = [
  echoTool(),
  {
    name: "steps",
    steps: [
      { do: "progress", progress: 1, total: 3, message: "one" },
      { do: "delay", ms: 50 },
    ],
    reply: { kind: "text", text: "done" },
  },
  {
    name: "slow",
    steps: [{ do: "progress", progress: 1, message: "begun" }, { do: "never" }],
    reply: { kind: "echo" },
  },
  { name: "where", reply: { kind: "env" } },
] as const;
const ask = (method: string, params: JsonObject) => ({ kind: "ask_client", method, params }) as const;
const input = (method: string, params: JsonObject) =>
  ({ kind: "ask_input", inputRequests: { q: { method, params } }, requestState: "s" }) as const;

const ERAS: Readonly<Record<"legacy" | "modern", Behaviour>> = {
  legacy: {
    tools: [
      ...PLAIN,
      { name: "ask", reply: ask("elicitation/create", FORM) },
      { name: "sample", reply: ask("sampling/createMessage", SAMPLE) },
    ],
  },
  modern: {
    era: "modern",
    tools: [
      ...PLAIN,
      { name: "ask", reply: input("elicitation/create", { mode: "form", ...FORM }) },
      { name: "sample", reply: input("sampling/createMessage", SAMPLE) },
    ],
  },
};

/** As an editor hands it over, with words that must stay on its machine. */
function handed(name: string, behaviour: Behaviour, marker = "gateway-client-servers") {
  const { command, args, env } = scriptedServer({ ...behaviour, recordEnv: ["canary-of-args"] }, { marker });
  const variables = Object.entries({ ...env, CANARY: "canary-of-env" }).map(([key, value]) => ({ name: key, value }));
  return { name, command, args, env: variables };
}

/** Messages of this method that the server got. */
function heard(file: string, method: string): number {
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  return lines.filter((line) => line.includes(`"${method}"`)).length;
}

for (const era of ["legacy", "modern"] as const) {
  scenario(
    ["G600", "G601", "G602", "G603"],
    `${era}: a program that the editor hands over runs beside the translator, with its tools, progress and questions`,
    async () => {
      await using house = await House.open();
      await using editor = await house.editor();
      const id = await editor.open(house, [handed("s", ERAS[era])]);
      expect(await editor.until(id, "s", "ready")).toMatchObject({ era: "modern", toolCount: 6 });
      expect(await editor.prompt(id, 'mcp__s__echo {"text":"hello"}')).toContain("hello");
      expect(await editor.prompt(id, "mcp__s__steps")).toContain("1/3 one");
      expect(await editor.prompt(id, "mcp__s__ask")).toContain("Ada");
      expect(editor.received.filter(({ method }) => method === "elicitation/create")).toHaveLength(1);
      expect(await editor.prompt(id, "mcp__s__sample")).toContain("Ahoy");
      expect(await editor.prompt(id, "mcp__s__where")).toContain("CANARY");
      const stored = house.stored;
      expect(stored).toContain("mcp__s__echo");
      for (const canary of ["canary-of-env", "canary-of-args", "scripted-server"]) expect(stored).not.toContain(canary);
    },
  );
}

scenario(
  ["G604", "G605"],
  "a lost connection ends the running call as unknown; back within the grace the same server goes on, without a new handshake",
  async () => {
    await using house = await House.open();
    await using editor = await house.editor();
    const recordFile = join(house.laptop.path, "server.ndjson");
    const id = await editor.open(house, [handed("s", { ...ERAS.legacy, recordFile })]);
    await editor.until(id, "s", "ready");
    const ended = editor.prompt(id, "mcp__s__slow");
    await expect.poll(() => editor.shows("begun")).toBe(true);
    await editor.cut();
    expect(await ended).toContain("whether it took effect is unknown");
    await editor.until(id, "s", "ready");
    expect(await editor.prompt(id, 'mcp__s__echo {"text":"again"}')).toContain("again");
    expect(heard(recordFile, "initialize")).toBe(1);
    expect(heard(recordFile, "notifications/cancelled")).toBe(1);
    expect(editor.links).toHaveLength(2);
  },
);

scenario(
  ["G606"],
  "the translator goes: the call is unknown, the session says so, and no process is left",
  async () => {
    await using house = await House.open();
    const watcher = await house.editor();
    await using _ = watcher;
    const editor = await house.editor();
    const server = handed("s", ERAS.modern, "gateway-client-servers-gone");
    const marker = "gateway-client-servers-gone";
    const id = await editor.open(house, [server]);
    await editor.until(id, "s", "ready");
    expect(listLiving({ marker })).toHaveLength(1);
    await watcher.request("session/load", { sessionId: id, cwd: house.project.path, mcpServers: [] });
    const ended = editor.request("session/prompt", { sessionId: id, prompt: [{ type: "text", text: "mcp__s__slow" }] });
    ended.catch(() => {}); // nobody hears its answer
    await expect.poll(() => watcher.shows("begun")).toBe(true);
    await editor.translator.close();
    await expect.poll(() => watcher.shows("whether it took effect is unknown")).toBe(true);
    expect(watcher.shows("is gone; it is waited for 60 s")).toBe(true);
    expect(await watcher.until(id, "s", "reconnecting")).toMatchObject({
      error: expect.stringContaining("is gone; it is waited for 60 s"),
    });
    expect(listLiving({ marker })).toEqual([]);
  },
);

scenario(["G607"], "an address that only this machine can reach is dialled here; its header stays here", async () => {
  await using http = await scriptedHttpServer({ tools: [echoTool()] });
  await using house = await House.open();
  await using editor = await house.editor();
  const headers = [{ name: "x-canary", value: "canary-of-header" }];
  const id = await editor.open(house, [{ type: "http", name: "h", url: http.url, headers }]);
  await editor.until(id, "h", "ready");
  expect(await editor.prompt(id, 'mcp__h__echo {"text":"hello"}')).toContain("hello");
  for (const canary of ["canary-of-header", "x-canary", http.url]) expect(house.stored).not.toContain(canary);
});

scenario(
  ["G608"],
  "one that cannot be started costs the others nothing: the gateway hears that, and the person why",
  async () => {
    await using house = await House.open();
    await using editor = await house.editor();
    writeFileSync(join(house.project.path, "own.sh"), "#!/bin/sh\n", { mode: 0o755 });
    const id = await editor.open(house, [
      { name: "absent", command: "/nowhere/canary-program", args: [], env: [] },
      { name: "own", command: "./own.sh", args: [], env: [] },
      { name: "odd", command: "", env: [{ name: "A", value: "canary-of-env" }] },
      handed("s", ERAS.legacy),
    ]);
    await editor.until(id, "s", "ready");
    expect(await editor.until(id, "absent", "failed")).toMatchObject({
      error: expect.stringContaining("it is failed on the client's machine (mcp.spawn_failed)"),
    });
    expect(await editor.until(id, "own", "failed")).toMatchObject({
      error: expect.stringContaining("it may not be started on the client's machine"),
    });
    expect(await editor.until(id, "odd", "failed")).toMatchObject({ error: "a stdio server needs a command" });
    expect(editor.shows("canary-program")).toBe(true);
    expect(editor.shows("./own.sh")).toBe(true);
    for (const canary of ["canary-program", "canary-of-env", "own.sh"]) expect(house.stored).not.toContain(canary);
  },
);

scenario(
  ["G611"],
  "a gateway that asks or answers nonsense gets an error, and the call that waits goes on",
  async () => {
    using laptop = new TemporaryFolder();
    const world = nodeWorld({ env: cleanEnv(laptop.path), log: QUIET });
    await using own = await ownServers(world)(() => {});
    const about = { sessionId: "s", directories: [laptop.path] };
    const placed = await own.place(about, JSON.parse(JSON.stringify([handed("s", ERAS.legacy)])));
    const [entry] = Array.isArray(placed) ? placed.filter(isJsonObject) : [];
    const serverId = entry?.["serverId"] ?? "";
    const ask = async (method: string, params: JsonObject = {}) => {
      const message = { serverId, requestId: "1", method, params };
      const outcome = await own.request(message, { signal: new AbortController().signal, notify: () => {} });
      return isJsonObject(outcome.result) ? outcome.result : { failed: outcome.error?.code ?? 0 };
    };
    const capabilities = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };
    expect(await ask("server/discover", { _meta: capabilities })).toMatchObject({ result: { resultType: "complete" } });
    const { result: first } = await ask("tools/call", { name: "ask", arguments: {} });
    const { requestState, inputRequests } = isJsonObject(first) ? first : {};
    const [key = ""] = Object.keys(isJsonObject(inputRequests) ? inputRequests : {});
    const goOn = async (state: JsonValue, inputResponses: JsonValue, name = "ask") =>
      await ask("tools/call", { name, arguments: {}, requestState: state, inputResponses });
    const refused = (words: string) => ({ error: { code: -32_602, message: expect.stringContaining(words) } });
    const state = requestState ?? null;
    expect(await goOn("guessed", {})).toMatchObject(refused("no call waits under this requestState"));
    expect(await goOn(state, {}, "echo")).toMatchObject(refused("no call waits under this requestState"));
    expect(await goOn(state, {})).toMatchObject(refused("is missing"));
    expect(await goOn(state, { [key]: { action: "perhaps" } })).toMatchObject(refused('"perhaps"'));
    expect(await ask("tools/call", { arguments: {} })).toMatchObject(refused("needs a name"));
    expect(await ask("initialize")).toMatchObject({ error: { code: -32_601 } });
    const right = { [key]: { action: "accept", content: { name: "Ada" } } };
    expect(JSON.stringify(await goOn(state, right))).toContain("Ada");
    expect(await goOn(state, right)).toMatchObject(refused("it is over"));
    // Nobody goes on with a call that waits over a connection that is gone.
    const { result: second } = await ask("tools/call", { name: "ask", arguments: {} });
    own.disconnected();
    const gone = isJsonObject(second) ? (second["requestState"] ?? null) : null;
    expect(await goOn(gone, right)).toMatchObject(refused("no call waits"));
  },
);

scenario(["G609"], "servers follow the session: changed, copied, and ended when the editor leaves it", async () => {
  await using house = await House.open();
  await using editor = await house.editor();
  const one = handed("s", ERAS.legacy, "gateway-client-servers-followed");
  const marker = "gateway-client-servers-followed";
  const living = () => listLiving({ marker }).length;
  const id = await editor.open(house, [one]);
  await editor.until(id, "s", "ready");
  expect(living()).toBe(1);
  const params: JsonObject = JSON.parse(JSON.stringify({ mcpServers: [one] }));
  await editor.request("_tenon/session/set_mcp_servers", { sessionId: id, ...params });
  expect(living()).toBe(1);
  const fork = await editor.request("session/fork", { sessionId: id, cwd: house.project.path, ...params });
  const copy = String(fork["sessionId"]);
  await editor.until(copy, "s", "ready");
  expect(living()).toBe(2);
  expect(await editor.prompt(copy, 'mcp__s__echo {"text":"copied"}')).toContain("copied");
  await editor.request("session/close", { sessionId: copy });
  await expect.poll(living).toBe(1);
  await editor.request("_tenon/session/set_mcp_servers", { sessionId: id, mcpServers: [] });
  await expect.poll(living).toBe(0);
  expect(await editor.servers(id)).toEqual([]);
});
