// One server of a session as the wrapped agent sees it: an MCP server that is always there, whatever the real one does.
import { createHash } from "node:crypto";
import { Cell } from "../base/async/cell.js";
import { handled } from "../base/async/scope.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import type { Deadline, World } from "../base/ports/world.js";
import { VERSION } from "../base/version.js";
import { HeldCalls, LEGACY_VERSIONS, type Link, type ProvidedAnswer, ServerProvider } from "../mcp/index.js";
import type { OpenServer } from "../session/index.js";
import { callArguments, shapedSchema, shaper, type ToolDefinition } from "../tools/index.js";
import type { BridgeClient } from "./endpoint.js";
import { WRAP_LIMITS } from "./limits.js";

const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;
const TOO_MANY = -32_000;

const TOOLS_CHANGED = "notifications/tools/list_changed";
const UPDATED = "notifications/resources/updated";
/** Passed on to the agent as the server sends them. */
const LISTS_CHANGED = ["notifications/prompts/list_changed", "notifications/resources/list_changed"];

/** What a server that is not connected has of these. */
const NOTHING: Readonly<Record<string, JsonObject>> = {
  "prompts/list": { prompts: [] },
  "resources/list": { resources: [] },
  "resources/templates/list": { resourceTemplates: [] },
};
const ASKED = ["prompts/get", "resources/read", "completion/complete"];

interface OfferedTool {
  readonly ownName: string;
  readonly wire: JsonObject;
  readonly pinned: JsonObject;
  readonly defaults: JsonObject;
}

export class OfferedServer {
  /** As the agent knows it. */
  readonly name: string;
  readonly #world: World;
  readonly #held: HeldCalls;
  /** Until then a first list is waited for. */
  readonly #first: Deadline;
  readonly #clients = new Set<AgentClient>();
  /** Clients that do not have tools that changed yet. */
  readonly #stale = new Cell(0);
  /** The real one, while there is one. */
  #open: OpenServer | undefined;
  #provider: ServerProvider | undefined;
  #link: Link | undefined;
  #tools: ReadonlyMap<string, OfferedTool> = new Map();
  #unsubscribe: () => void = () => {};

  constructor(name: string, world: World) {
    this.name = name;
    this.#world = world;
    this.#held = new HeldCalls(world);
    this.#first = world.deadline(WRAP_LIMITS.firstListMs);
  }

  /** The server that is behind it now; none while it is not trusted, or switched off. */
  follow(open: OpenServer | undefined): void {
    const before = this.#open;
    if (before?.connection === open?.connection) {
      this.#open = open;
      if (before?.wanted !== open?.wanted) this.#relist();
      return;
    }
    this.#unsubscribe();
    this.#provider = undefined;
    this.#link = undefined;
    this.#open = open;
    if (open) {
      const { connection } = open;
      // Its own peer answers what the server asks: nothing is ever held.
      this.#provider = new ServerProvider({
        world: this.#world,
        serverId: this.name,
        roots: () => [],
        held: this.#held,
        open: () => connection,
        onProblem: () => {},
      });
      const stops = [
        connection.tools.subscribe(() => this.#relist()),
        connection.state.subscribe(({ kind }) => kind === "ready" && this.#attach(open)),
      ];
      this.#unsubscribe = () => stops.forEach((stop) => stop());
      if (connection.link) this.#attach(open);
    }
    this.#relist();
  }

  /** One MCP client of the agent. */
  accept(send: (message: object) => void): BridgeClient {
    const client = new AgentClient(this, { send, world: this.#world, onStale: (by) => this.#changeStale(by) });
    this.#clients.add(client);
    return {
      receive: (message) => client.receive(message),
      close: () => {
        this.#clients.delete(client);
        client.close();
      },
    };
  }

  /** Resolves when the agent has all tools as they are now, or its time is up. */
  async listed(signal: AbortSignal): Promise<void> {
    using deadline = this.#world.deadline(WRAP_LIMITS.listAgainMs, signal);
    await this.#stale.until((count) => count === 0, deadline.signal).catch(() => undefined);
  }

  close(): void {
    this.follow(undefined);
    this.#first.clear();
    for (const client of this.#clients) client.close();
    this.#clients.clear();
  }

  /** Resolves when the server is ready, has failed, or the time for a first list is up. Never rejects. */
  async settled(signal: AbortSignal): Promise<void> {
    const connection = this.#open?.connection;
    // One without a connection has to be approved first; of one that was here before the tools are known.
    if (!connection || connection.tools.value.length > 0 || this.#first.signal.aborted) return;
    const either = AbortSignal.any([signal, this.#first.signal]);
    const isStarting = (kind: string) => kind === "idle" || kind === "connecting";
    await connection.state.until(({ kind }) => !isStarting(kind), either).catch(() => undefined);
  }

  /** The answer to `initialize`. Before the server is connected it may have anything. */
  introduction(requested: JsonValue | undefined): JsonObject {
    const isKnown = typeof requested === "string" && LEGACY_VERSIONS.includes(requested);
    const { capabilities, server, instructions } = this.#open?.connection.link ?? {};
    const has = (name: string) => !capabilities || isJsonObject(capabilities[name]);
    return {
      protocolVersion: isKnown ? requested : (LEGACY_VERSIONS[0] ?? ""),
      capabilities: {
        tools: { listChanged: true },
        ...defined({
          prompts: has("prompts") ? { listChanged: true } : undefined,
          resources: has("resources") ? { listChanged: true, subscribe: true } : undefined,
          completions: capabilities && has("completions") ? {} : undefined,
        }),
      },
      serverInfo: server ? { ...server } : { name: this.name, version: VERSION },
      ...defined({ instructions }),
    };
  }

  get tools(): readonly JsonObject[] {
    return [...this.#tools.values()].map(({ wire }) => wire);
  }

  async call(params: JsonObject, signal: AbortSignal, notify: Notify): Promise<ProvidedAnswer> {
    const { name, arguments: given } = params;
    const tool = typeof name === "string" ? this.#tools.get(name) : undefined;
    if (!tool || !this.#provider) {
      const text = `there is no tool ${JSON.stringify(name)?.slice(0, 100)} at the server "${this.name}" now`;
      return { kind: "error", error: { code: INVALID_PARAMS, message: text } };
    }
    const args = callArguments(tool, isJsonObject(given) ? given : {});
    const request = { ...params, name: tool.ownName, arguments: args };
    return await this.#provider.request({ method: "tools/call", params: request, signal, notify });
  }

  /** Anything but tools. */
  async ask(method: string, params: JsonObject, signal: AbortSignal, notify: Notify): Promise<ProvidedAnswer> {
    const none = NOTHING[method];
    if (!none && !ASKED.includes(method)) {
      return { kind: "error", error: { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` } };
    }
    const capability = method.slice(0, method.indexOf("/"));
    const isOffered = isJsonObject(this.#open?.connection.link?.capabilities[capability]);
    if (none && !isOffered) return { kind: "result", result: none };
    if (this.#provider) return await this.#provider.request({ method, params, signal, notify });
    return { kind: "error", error: { code: TOO_MANY, message: `the server "${this.name}" is not connected` } };
  }

  /** Until the signal aborts. */
  followResource(uri: string, signal: AbortSignal, notify: Notify): void {
    const params = { notifications: { resourceSubscriptions: [uri] } };
    const told: Notify = (method, about) => {
      if (method === UPDATED) notify(method, about);
    };
    const following = this.#provider?.request({ method: "subscriptions/listen", params, signal, notify: told });
    if (following) handled(following, this.#world.log, "follow a resource");
  }

  #attach({ connection }: OpenServer): void {
    const { link } = connection;
    if (!link || link === this.#link) return;
    this.#link = link;
    link.onNotification((method, params) => {
      if (link === this.#link && LISTS_CHANGED.includes(method)) this.#broadcast(method, params);
    });
    for (const method of LISTS_CHANGED) this.#broadcast(method, {});
  }

  #relist(): void {
    const before = this.#tools;
    this.#tools = offeredTools(this.name, this.#open);
    if (before.size === 0 && this.#tools.size === 0) return;
    for (const client of this.#clients) client.toolsChanged();
  }

  #broadcast(method: string, params: JsonObject): void {
    for (const client of this.#clients) client.notify(method, params);
  }

  #changeStale(by: 1 | -1): void {
    this.#stale.set(this.#stale.value + by);
  }
}

type Notify = (method: string, params: JsonObject) => void;

/** By the name that the agent calls them by: allowed, renamed and pinned as the entry of their server says. */
function offeredTools(server: string, open: OpenServer | undefined): ReadonlyMap<string, OfferedTool> {
  const offered = new Map<string, OfferedTool>();
  if (!open) return offered;
  const { wanted, source } = open;
  const shape = shaper(source, wanted.catalog ?? {}, []);
  for (const tool of open.connection.tools.value) {
    const shaped = shape(tool);
    if (shaped.kind !== "kept") continue;
    const { definition, pinned, defaults } = shaped;
    const name = toolName(server, definition.name, offered);
    offered.set(name, { ownName: tool.name, wire: wireOf(name, definition, { pinned, defaults }), pinned, defaults });
  }
  return offered;
}

function wireOf(
  name: string,
  { title, description, inputSchema, outputSchema, annotations }: ToolDefinition,
  { pinned, defaults }: Pick<OfferedTool, "pinned" | "defaults">,
): JsonObject {
  return {
    name,
    description,
    inputSchema: shapedSchema(inputSchema, pinned, defaults),
    ...defined({ title, outputSchema, annotations: annotations && { ...annotations } }),
  };
}

/** Agents put the server's name before it, and providers refuse a whole request because of one name. */
function toolName(server: string, own: string, taken: ReadonlyMap<string, unknown>): string {
  const most = WRAP_LIMITS.names.togetherChars - server.length;
  const clean = own.replaceAll(/[^A-Za-z0-9_-]+/gu, "_");
  if (clean === own && own.length <= most && !taken.has(own)) return own;
  const hash = createHash("sha256").update(own).digest("hex").slice(0, 8);
  return `${clean.slice(0, most - hash.length - 1)}_${hash}`;
}

interface AgentClientOptions {
  readonly world: World;
  readonly send: (message: object) => void;
  readonly onStale: (by: 1 | -1) => void;
}

/** One MCP client of the agent, of the legacy era: every client speaks that, and one of the modern era falls back to it. */
class AgentClient {
  readonly #server: OfferedServer;
  readonly #options: AgentClientOptions;
  readonly #running = new Map<JsonValue, AbortController>();
  readonly #followed = new Map<string, AbortController>();
  #isInitialized = false;
  #isStale = false;
  /** Its answer shows that the agent has the list that was sent before. */
  #ping: string | undefined;
  #pings = 0;
  #isClosed = false;

  constructor(server: OfferedServer, options: AgentClientOptions) {
    this.#server = server;
    this.#options = options;
  }

  receive(message: JsonObject): void {
    const { id, method, params: given } = message;
    const params = isJsonObject(given) ? given : {};
    if (typeof method !== "string") {
      if (id !== undefined && id === this.#ping) this.#fresh();
      return;
    }
    if (typeof id !== "string" && typeof id !== "number") {
      if (method === "notifications/cancelled") this.#running.get(params["requestId"] ?? null)?.abort();
      return;
    }
    if (this.#running.size >= WRAP_LIMITS.requestsAtOnce) {
      this.#options.send({ jsonrpc: "2.0", id, error: { code: TOO_MANY, message: "too many requests are under way" } });
      return;
    }
    const controller = new AbortController();
    this.#running.set(id, controller);
    handled(this.#answer(id, method, params, controller.signal), this.#options.world.log, "answer a wrapped agent");
  }

  toolsChanged(): void {
    if (!this.#isInitialized) return;
    if (!this.#isStale) this.#options.onStale(1);
    this.#isStale = true;
    this.#ping = undefined;
    this.notify(TOOLS_CHANGED, {});
  }

  notify(method: string, params: JsonObject): void {
    if (this.#isInitialized && !this.#isClosed) this.#options.send({ jsonrpc: "2.0", method, params });
  }

  close(): void {
    this.#isClosed = true;
    this.#fresh();
    for (const controller of [...this.#running.values(), ...this.#followed.values()]) controller.abort();
  }

  async #answer(id: string | number, method: string, params: JsonObject, signal: AbortSignal): Promise<void> {
    const answer = await this.#serve(method, params, signal);
    this.#running.delete(id);
    if (signal.aborted || this.#isClosed) return; // a request that was taken back is not answered
    if (answer.kind === "result") {
      const { resultType: _, ...result } = answer.result;
      this.#options.send({ jsonrpc: "2.0", id, result });
      if (method === "tools/list" && this.#isStale) this.#sendPing();
    } else {
      const { code, message, data } = answer.kind === "error" ? answer.error : { ...answer, data: undefined };
      this.#options.send({ jsonrpc: "2.0", id, error: { code, message, ...defined({ data }) } });
    }
  }

  async #serve(method: string, params: JsonObject, signal: AbortSignal): Promise<ProvidedAnswer> {
    const notify: Notify = (about, told) => this.notify(about, told);
    const done = (result: JsonObject): ProvidedAnswer => ({ kind: "result", result });
    switch (method) {
      case "initialize":
        await this.#server.settled(signal);
        this.#isInitialized = true;
        return done(this.#server.introduction(params["protocolVersion"]));
      case "ping":
      case "logging/setLevel":
        return done({});
      case "tools/list":
        await this.#server.settled(signal);
        return done({ tools: [...this.#server.tools] });
      case "tools/call":
        return await this.#server.call(params, signal, notify);
      case "resources/subscribe":
        return this.#follow(params["uri"], notify) ?? done({});
      case "resources/unsubscribe":
        if (typeof params["uri"] === "string") this.#unfollow(params["uri"]);
        return done({});
      default:
        return await this.#server.ask(method, params, signal, notify);
    }
  }

  #follow(uri: JsonValue | undefined, notify: Notify): ProvidedAnswer | undefined {
    if (typeof uri !== "string" || this.#followed.size >= WRAP_LIMITS.followedResources) {
      return { kind: "error", error: { code: INVALID_PARAMS, message: "it needs a uri, and not too many of them" } };
    }
    this.#unfollow(uri);
    const controller = new AbortController();
    this.#followed.set(uri, controller);
    this.#server.followResource(uri, controller.signal, notify);
    return undefined;
  }

  #unfollow(uri: string): void {
    this.#followed.get(uri)?.abort();
    this.#followed.delete(uri);
  }

  /** A prompt goes another way than the list, and must not overtake it. */
  #sendPing(): void {
    this.#pings += 1;
    this.#ping = `tenon-ping-${this.#pings}`;
    this.#options.send({ jsonrpc: "2.0", id: this.#ping, method: "ping" });
  }

  #fresh(): void {
    if (this.#isStale) this.#options.onStale(-1);
    this.#isStale = false;
  }
}
