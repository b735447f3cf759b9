// An ACP agent as careless about servers as real ones are, for `tenon wrap`: it waits for every server, shares them by
// directory and name, hands them its whole environment, never ends one, and says nothing of what fails.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/base/json/json.js";

const objectIn = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});
const objectsIn = (value: JsonValue | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter((one) => isJsonObject(one)) : [];
const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

const send = (message: JsonObject) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

/** One JSON-RPC side: what it asked, by id. */
class Asked {
  readonly #waiting = new Map<JsonValue, (answer: JsonObject) => void>();
  #count = 0;

  ask(write: (message: JsonObject) => void, method: string, params: JsonObject): Promise<JsonObject> & { id?: number } {
    const id = this.#count;
    this.#count += 1;
    const answered = new Promise<JsonObject>((resolve) => this.#waiting.set(id, resolve));
    write({ id, method, params });
    return Object.assign(answered, { id });
  }

  settle(message: JsonObject): void {
    this.#waiting.get(message["id"] ?? null)?.(message);
  }
}

class Server {
  readonly name: string;
  readonly ready: Promise<void>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #gone: Promise<void>;
  readonly #asked = new Asked();
  tools: JsonObject[] = [];

  constructor({ name, command, args, env }: JsonObject) {
    this.name = textOf(name);
    const given = objectsIn(env).map((one) => [textOf(one["name"]), textOf(one["value"])]);
    const words = Array.isArray(args) ? args.map((word) => textOf(word)) : [];
    this.#child = spawn(textOf(command), words, { env: { ...process.env, ...Object.fromEntries(given) } });
    this.#child.on("error", () => {});
    this.#child.stdin.on("error", () => {});
    this.#child.stderr.resume();
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#hear(JSON.parse(line)));
    this.#gone = new Promise<void>((resolve) => {
      this.#child.once("close", () => resolve());
      this.#child.once("error", () => resolve());
    });
    this.ready = Promise.race([this.#connect(), this.#gone]);
  }

  call(name: string, args: JsonObject, onId: (id: number) => void): Promise<JsonObject> {
    const answer = this.#asked.ask((message) => this.#write(message), "tools/call", { name, arguments: args });
    onId(answer.id ?? -1);
    return Promise.race([answer, this.#gone.then(() => ({ error: { code: 1, message: "it is gone" } }))]);
  }

  cancel(requestId: number): void {
    this.#write({ method: "notifications/cancelled", params: { requestId } });
  }

  #write(message: JsonObject): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  async #connect(): Promise<void> {
    const clientInfo = { name: "careless", version: "1" };
    const write = (message: JsonObject) => this.#write(message);
    await this.#asked.ask(write, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
    this.#write({ method: "notifications/initialized" });
    await this.#list();
  }

  async #list(): Promise<void> {
    const listed = await this.#asked.ask((message) => this.#write(message), "tools/list", {});
    this.tools = objectsIn(objectIn(listed["result"])["tools"]);
  }

  #hear(message: JsonObject): void {
    if (message["method"] === "notifications/tools/list_changed") this.#list().catch(() => {});
    else if (message["method"] === "ping") this.#write({ id: message["id"], result: {} });
    else if (message["method"] === undefined) this.#asked.settle(message);
  }
}

/** By directory and name: the sessions of one directory have them in common, and one of the same name takes its place. */
const directories = new Map<string, Map<string, Server>>();
const sessions = new Map<string, string>();
const editor = new Asked();
const cancelled = new Map<string, () => void>();
/**
 * `login`: sessions need it. `early`: an update comes before the answer that opens its session. `no-close`: as said. `counts`:
 * the ids of its sessions are those of every process of it.
 */
const modes = new Set(process.argv.slice(2));
let isLoggedIn = false;
let count = 0;

async function open({ cwd, mcpServers }: JsonObject): Promise<JsonObject> {
  const servers = directories.get(textOf(cwd)) ?? new Map<string, Server>();
  directories.set(textOf(cwd), servers);
  const fresh = objectsIn(mcpServers).map((entry) => new Server(entry));
  for (const server of fresh) servers.set(server.name, server);
  await Promise.all(fresh.map(({ ready }) => ready));
  count += 1;
  const sessionId = modes.has("counts") ? `careless-${count}` : `careless-${process.pid}-${count}`;
  sessions.set(sessionId, textOf(cwd));
  if (modes.has("early")) say(sessionId, "too early");
  return { sessionId };
}

function say(sessionId: string, text: string): void {
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  send({ method: "session/update", params: { sessionId, update } });
}

const DEEDS: Readonly<Record<string, (sessionId: string, about: string) => Promise<void> | void>> = {
  crash: () => process.exit(7),
  garbage: () => void process.stdout.write('a line for people\n{"neither": "request nor answer"}\n'),
  tools: (sessionId) => {
    const servers = [...(directories.get(sessions.get(sessionId) ?? "")?.values() ?? [])];
    say(sessionId, JSON.stringify(servers.map(({ name, tools }) => [name, tools.map((tool) => tool["name"])])));
  },
  /** In the name of another session: what it says, and what it is answered when it asks. */
  forge: async (sessionId, other) => {
    say(other, "forged");
    const answer = await editor.ask(send, "session/request_permission", {
      sessionId: other,
      options: [],
      toolCall: {},
    });
    say(sessionId, JSON.stringify(answer));
  },
  ask: async (sessionId) => {
    const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
    const toolCall = { toolCallId: "call-1", title: "may it?" };
    const params = { sessionId, toolCall, options, ofAnotherVersion: 1 };
    const answer = await editor.ask(send, "session/request_permission", params);
    say(sessionId, JSON.stringify(answer["result"] ?? answer["error"] ?? null));
  },
};

/** A turn of the model of `acp-check`, over Chat Completions; or one of the deeds. */
async function prompt({ sessionId: id, prompt: blocks }: JsonObject): Promise<JsonObject> {
  const sessionId = textOf(id);
  const text = objectsIn(blocks)
    .map((block) => textOf(block["text"]))
    .join("");
  const [word = "", ...rest] = text.split(" ");
  const deed = DEEDS[word];
  if (deed) {
    await deed(sessionId, rest.join(" "));
    return { stopReason: "end_turn" };
  }
  if (word === "call") {
    const answer = await call(sessionId, rest[0] ?? "", { message: rest[1] ?? "" }, () => {});
    say(sessionId, JSON.stringify(answer["result"] ?? answer["error"] ?? null));
    return { stopReason: "end_turn" };
  }
  let stop = () => {};
  const stopped = new Promise<"cancelled">((resolve) => {
    cancelled.set(sessionId, () => {
      stop();
      resolve("cancelled");
    });
  });
  const messages: JsonObject[] = [{ role: "user", content: text }];
  for (;;) {
    const asked = { model: process.env["OPENAI_MODEL"] ?? "", messages, tools: functionsOf(sessionId) };
    const answer = await fetch(`${process.env["OPENAI_BASE_URL"] ?? ""}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(asked),
    });
    const body: JsonObject = JSON.parse(await answer.text());
    const message = objectIn(objectIn(objectsIn(body["choices"])[0])["message"]);
    const [made] = objectsIn(message["tool_calls"]);
    if (!made) {
      say(sessionId, textOf(message["content"]));
      return { stopReason: "end_turn" };
    }
    const { name, arguments: given } = objectIn(made["function"]);
    const args: JsonObject = JSON.parse(textOf(given));
    const called = call(sessionId, textOf(name), args, (undo) => {
      stop = undo;
    });
    const result = await Promise.race([called, stopped]);
    if (result === "cancelled") return { stopReason: "cancelled" };
    messages.push(message, { role: "tool", tool_call_id: made["id"] ?? "", content: JSON.stringify(result) });
  }
}

function functionsOf(sessionId: string): JsonObject[] {
  const servers = [...(directories.get(sessions.get(sessionId) ?? "")?.values() ?? [])];
  return servers.flatMap(({ name, tools }) =>
    tools.map((tool) => ({
      type: "function",
      function: { name: `${name}_${textOf(tool["name"])}`, parameters: tool["inputSchema"] ?? {} },
    })),
  );
}

async function call(
  sessionId: string,
  name: string,
  args: JsonObject,
  onCalled: (undo: () => void) => void,
): Promise<JsonObject> {
  for (const server of directories.get(sessions.get(sessionId) ?? "")?.values() ?? []) {
    const tool = server.tools.find((one) => `${server.name}_${textOf(one["name"])}` === name);
    if (!tool) continue;
    const toolCallId = `${name}-${performance.now()}`;
    const update = { sessionUpdate: "tool_call", toolCallId, title: name, status: "in_progress" };
    send({ method: "session/update", params: { sessionId, update } });
    const end = (status: string) => {
      const ended = { sessionUpdate: "tool_call_update", toolCallId, status };
      send({ method: "session/update", params: { sessionId, update: ended } });
    };
    const answer = await server.call(textOf(tool["name"]), args, (id) => {
      onCalled(() => {
        server.cancel(id);
        end("failed");
      });
    });
    const isFailed = answer["error"] !== undefined || objectIn(answer["result"])["isError"] === true;
    end(isFailed ? "failed" : "completed");
    return answer;
  }
  return { error: { code: 1, message: `no tool ${name}` } };
}

const NOT_FOUND = { code: -32002, message: "Resource not found" };

async function answer(method: string, params: JsonObject): Promise<JsonObject> {
  switch (method) {
    case "initialize": {
      const agentInfo = { name: "careless", version: "1" };
      const sessionCapabilities = modes.has("no-close") ? {} : { close: {} };
      const agentCapabilities = { loadSession: false, sessionCapabilities, ofAnotherVersion: true };
      return { result: { protocolVersion: 1, agentInfo, agentCapabilities, authMethods: [] } };
    }
    case "authenticate":
      isLoggedIn = true;
      return { result: {} };
    case "session/new":
      if (modes.has("login") && !isLoggedIn) return { error: { code: -32000, message: "Authentication required" } };
      return { result: await open(params) };
    case "session/fork": // only this process knows its sessions
      return sessions.has(textOf(params["sessionId"])) ? { result: await open(params) } : { error: NOT_FOUND };
    case "session/prompt":
      return sessions.has(textOf(params["sessionId"])) ? { result: await prompt(params) } : { error: NOT_FOUND };
    case "session/close": {
      if (modes.has("no-close")) return { error: { code: -32601, message: "Method not found" } };
      sessions.delete(textOf(params["sessionId"])); // its servers stay
      return { result: {} };
    }
    case "_careless/echo":
      return { result: { params, pid: process.pid } };
    default:
      return { error: { code: -32601, message: `Method not found: ${method}`, data: { of: "careless" } } };
  }
}

function hear(message: JsonObject): void {
  const { id, method } = message;
  const params = objectIn(message["params"]);
  if (typeof method !== "string") return editor.settle(message);
  if (method === "session/cancel") return cancelled.get(textOf(params["sessionId"]))?.();
  if (method === "_careless/note") return void send({ method: "_careless/noted", params });
  if (id === undefined) return;
  answer(method, params)
    .then((outcome) => send({ id, ...outcome }))
    .catch((error: unknown) => send({ id, error: { code: -32603, message: String(error) } }));
}

createInterface({ input: process.stdin })
  .on("line", (line) => hear(JSON.parse(line)))
  .on("close", () => process.exit(0));
