// One client that is served: a session of its own, whose tools it lists and calls, and whose questions it is asked.
import { messageOf } from "../base/errors.js";
import type { EndGrace } from "../base/io/process.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { LIMITS } from "../base/limits.js";
import type { Timer, World } from "../base/ports/world.js";
import { type ElicitAnswer, type ProvidedAnswer, RpcRefusal, refusal, toElicitAnswer } from "../mcp/index.js";
import type {
  DirectTools,
  ElicitQuestion,
  PermissionAnswer,
  PermissionQuestion,
  Session,
  SessionPorts,
} from "../session/index.js";
import { CALL_TOOL, type CatalogTool, SEARCH_TOOLS, type ToolDefinition, type ToolProgress } from "../tools/index.js";
import { SERVE_LIMITS } from "./limits.js";
import { SharedLists, servedName } from "./shared-lists.js";
import { callAnswer, failure, permissionAnswer, permissionForm, toolEntry, unaskedWords } from "./words.js";

export interface ServeSettings {
  /** Only the two tools by which all others are found and called. */
  readonly isSearch: boolean;
  /** Tools and prompts have their servers' own names, as far as these differ. */
  readonly hasOwnNames: boolean;
  /** What policy asks about is allowed. */
  readonly allowsAsked: boolean;
}

/** One request of a client, whatever its era and transport. */
export interface ClientRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal;
  /** The least level of log messages that the client wants with it; none unless given. */
  readonly logLevel?: string | undefined;
  /** Tells the client something about this request. */
  readonly notify: (method: string, params: JsonObject) => void;
  /** Asks the client something on account of this request. Rejects when it refuses, or the request is over. */
  readonly ask: (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
}

export interface ServedClientOptions {
  readonly world: World;
  readonly session: Session;
  readonly settings: ServeSettings;
  readonly isModern: boolean;
  /** As the client declared them. */
  readonly capabilities: JsonObject;
  /** For the log: what the client calls itself. */
  readonly name: string;
}

type Notice = (method: string, params: JsonObject) => void;

const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;
const INTERNAL_ERROR = -32_603;
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** `--yes` is consent to ordinary calls of tools as they were approved: protected files and changed definitions are for a person. */
function isOrdinary({ protects, lock, change, isReview }: PermissionQuestion): boolean {
  return protects === undefined && lock === undefined && change === undefined && isReview !== true;
}

export class ServedClient {
  readonly #options: ServedClientOptions;
  readonly #direct: DirectTools;
  readonly #lists: SharedLists;
  readonly #modes: readonly ElicitQuestion["request"]["mode"][];
  /** The requests under way, by which questions name them; the latest last. */
  readonly #requests = new Map<string, ClientRequest>();
  /** Calls whose question could not be asked, with the words for it. */
  readonly #unasked = new Map<string, string>();
  readonly #listeners = new Set<Notice>();
  readonly #stops: (() => void)[];
  #tools: ReadonlyMap<string, CatalogTool> = new Map();
  /** What the client was given last, to see whether it changed. */
  #listed: readonly ToolDefinition[] | undefined;
  #changing: Timer | undefined;
  #count = 0;
  #isClosed = false;

  constructor(options: ServedClientOptions) {
    this.#options = options;
    const { world, session, settings, isModern, capabilities } = options;
    this.#modes = elicitModes(capabilities["elicitation"]);
    const stop = session.attach(this.#ports());
    this.#direct = session.direct;
    this.#lists = new SharedLists({
      world,
      isModern,
      hasOwnNames: settings.hasOwnNames,
      connections: () => this.#direct.connections,
      started: (signal) => this.#started(signal),
      onNotice: (method, params) => this.#notice(method, params),
    });
    this.#stops = [stop, this.#direct.onChange(() => this.#changed())];
  }

  /** Calls back for changes of lists and resources, and for log messages outside of calls. Returns the way to stop. */
  onNotice(listener: Notice): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Never rejects. */
  async request(request: ClientRequest): Promise<ProvidedAnswer> {
    this.#count += 1;
    const id = `served-${this.#count}`;
    this.#requests.set(id, request);
    try {
      return await this.#answer(id, request);
    } catch (error) {
      if (!request.signal.aborted)
        this.#options.world.log.error("serve.request_failed", { method: request.method, error: messageOf(error) });
      return refusal(INTERNAL_ERROR, messageOf(error));
    } finally {
      this.#requests.delete(id);
    }
  }

  async close(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    this.#isClosed = true;
    this.#changing?.clear();
    this.#lists.close();
    for (const stop of this.#stops) stop();
    await this.#options.session.close(grace);
  }

  async #answer(id: string, request: ClientRequest): Promise<ProvidedAnswer> {
    const { method, params, signal } = request;
    const uri = params["uri"];
    switch (method) {
      case "tools/list":
        return await this.#page("tools", params, async () => await this.#toolEntries(signal));
      case "tools/call":
        return await this.#call(id, request);
      case "resources/list":
        return await this.#page("resources", params, () => this.#ready(signal, () => this.#lists.resources(signal)));
      case "resources/templates/list": {
        const all = () => this.#ready(signal, () => this.#lists.templates(signal));
        return await this.#page("resourceTemplates", params, all);
      }
      case "prompts/list":
        return await this.#page("prompts", params, () => this.#ready(signal, () => this.#lists.prompts(signal)));
      case "prompts/get":
        return await this.#ready(signal, () => this.#lists.get(params, signal));
      case "completion/complete":
        return await this.#ready(signal, () => this.#lists.complete(params, signal));
      case "resources/read":
      case "resources/subscribe":
      case "resources/unsubscribe":
        if (typeof uri !== "string") return refusal(INVALID_PARAMS, `${method} needs a uri`);
        if (method === "resources/unsubscribe") return this.#lists.unsubscribe(uri);
        return await this.#ready(signal, () =>
          method === "resources/read" ? this.#lists.read(uri, signal) : this.#lists.subscribe(uri, signal),
        );
      default:
        return refusal(METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 200)}`);
    }
  }

  async #ready<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#direct.ready(signal);
    signal.throwIfAborted();
    this.#lists.follow();
    return await work();
  }

  async #page(
    field: string,
    { cursor }: JsonObject,
    list: () => Promise<readonly JsonObject[]>,
  ): Promise<ProvidedAnswer> {
    const start = cursor === undefined ? 0 : Number(cursor);
    if (!Number.isSafeInteger(start) || start < 0 || typeof cursor === "number") {
      return refusal(INVALID_PARAMS, "there is no page with this cursor");
    }
    const all = await list();
    const end = start + SERVE_LIMITS.pageEntries;
    const next = end < all.length ? { nextCursor: String(end) } : {};
    return { kind: "result", result: { [field]: all.slice(start, end), ...next } };
  }

  async #toolEntries(signal: AbortSignal): Promise<readonly JsonObject[]> {
    const entries = await this.#ready(signal, () => this.#refresh());
    this.#listed = entries.map(([, definition]) => definition);
    return entries.map(([name, definition]) => toolEntry(name, definition));
  }

  /** What is to be listed, by its served name; the table of all that may be called is made with it. */
  async #refresh(): Promise<readonly (readonly [string, ToolDefinition])[]> {
    const { isSearch, hasOwnNames } = this.#options.settings;
    const { always, search } = await this.#direct.list();
    const tools = new Map<string, CatalogTool>();
    const nameOf = (tool: CatalogTool) => {
      const own = tool.definition.name;
      const name = hasOwnNames && !tools.has(own) ? own : servedName(tool.id);
      tools.set(name, tool);
      return name;
    };
    const listed = always.map((tool): [string, ToolDefinition] => [nameOf(tool), tool.definition]);
    for (const tool of search) nameOf(tool);
    this.#tools = tools;
    const meta = this.#direct.searchTools.map((definition): [string, ToolDefinition] => [definition.name, definition]);
    if (isSearch) return meta;
    return search.length > 0 ? [...listed, ...meta] : listed;
  }

  async #call(id: string, request: ClientRequest): Promise<ProvidedAnswer> {
    const { params, signal } = request;
    const { name, arguments: given = {} } = params;
    if (typeof name !== "string" || !isJsonObject(given)) {
      return refusal(INVALID_PARAMS, "tools/call needs a name, and arguments that are an object");
    }
    const tool = await this.#idOf(name, signal);
    if (tool === undefined) return refusal(INVALID_PARAMS, `Unknown tool: ${name.slice(0, 200)}`);
    const { world, name: client } = this.#options;
    const beganMs = world.monotonicMs();
    const onProgress = progressTo(request);
    const asked = tool === CALL_TOOL ? await this.#unwrapped(given, signal) : given;
    const outcome = await this.#direct.call({ toolCallId: id, name: tool, arguments: asked, signal, onProgress });
    const unasked = this.#unasked.get(id);
    this.#unasked.delete(id);
    const ms = Math.round(world.monotonicMs() - beganMs);
    world.log.info("serve.call", { client, tool, outcome: outcome.kind, ms });
    return unasked !== undefined && outcome.kind === "refused" ? failure(unasked) : callAnswer(outcome);
  }

  /** `tenon_call_tool` takes the names that are listed too. */
  async #unwrapped(given: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const { name } = given;
    if (typeof name !== "string") return given;
    const inner = await this.#idOf(name, signal);
    return inner === undefined ? given : { ...given, name: inner };
  }

  /** The catalog's own name of a tool; a name that is not known may be of a server that has just started. */
  async #idOf(name: string, signal: AbortSignal): Promise<string | undefined> {
    if (name === SEARCH_TOOLS || name === CALL_TOOL) return name;
    // Also by the catalog's own name, but only what is listed or found by search: others are not offered, so not called.
    const known = () => (this.#tools.get(name) ?? [...this.#tools.values()].find(({ id }) => id === name))?.id;
    const found = known();
    if (found !== undefined) return found;
    await this.#ready(signal, () => this.#refresh());
    const ready = known();
    if (ready !== undefined) return ready;
    const inCatalog = name.startsWith("mcp__") ? name : `mcp__${name}`;
    if (!(await this.#started(signal, this.#options.settings.hasOwnNames ? undefined : inCatalog))) return undefined;
    await this.#refresh();
    return known();
  }

  /** Of a server that is slow, or starts again for a client that was away, the client may know tools from before. */
  async #started(signal: AbortSignal, name?: string): Promise<boolean> {
    using deadline = this.#options.world.deadline(SERVE_LIMITS.startMs, signal);
    const isThere = await this.#direct.started(deadline.signal, name);
    signal.throwIfAborted();
    return isThere;
  }

  #ports(): SessionPorts {
    const modes = this.#modes;
    const elicit: NonNullable<SessionPorts["elicit"]> = (question, signal) => this.#elicit(question, signal);
    const forwardSampling: NonNullable<SessionPorts["forwardSampling"]> = async (params, signal) => {
      const carrier = [...this.#requests.values()].at(-1);
      if (!carrier) throw new RpcRefusal(INTERNAL_ERROR, "nothing is asked of the client unless a request of its runs");
      return await carrier.ask("sampling/createMessage", params, signal);
    };
    const canSample = isJsonObject(this.#options.capabilities["sampling"]);
    return {
      ...defined({ forwardSampling: canSample ? forwardSampling : undefined }),
      ask: (question, signal) => this.#askPermission(question, signal),
      elicitModes: modes,
      ...(modes.length > 0 ? { elicit } : {}),
    };
  }

  async #askPermission(question: PermissionQuestion, signal: AbortSignal): Promise<PermissionAnswer> {
    const { settings, session } = this.#options;
    if (settings.allowsAsked && isOrdinary(question)) return "once";
    const request = this.#requests.get(question.toolCallId);
    if (!request || !this.#modes.includes("form")) {
      this.#unasked.set(question.toolCallId, unaskedWords(question, session.cwd));
      return "no";
    }
    const answer = await request.ask("elicitation/create", permissionForm(question), signal);
    return permissionAnswer(question, answer);
  }

  /** Where nobody can say which call a server asks for, the latest one carries the question. */
  async #elicit({ toolCallId = "", server, request }: ElicitQuestion, signal: AbortSignal): Promise<ElicitAnswer> {
    const carrier = this.#requests.get(toolCallId) ?? [...this.#requests.values()].at(-1);
    if (!carrier) return { action: "decline" };
    const params = { ...request, message: `${server}: ${request.message}` };
    return toElicitAnswer(await carrier.ask("elicitation/create", params, signal));
  }

  /** Log messages go with the latest request that wants them. */
  #notice(method: string, params: JsonObject): void {
    if (method === "notifications/message") {
      const level = LEVELS.findIndex((name) => name === params["level"]);
      const isWanted = ({ logLevel }: ClientRequest) => logLevel !== undefined && LEVELS.indexOf(logLevel) <= level;
      const carrier = [...this.#requests.values()].findLast(isWanted);
      if (carrier) return carrier.notify(method, params);
    }
    for (const listener of [...this.#listeners]) listener(method, params);
  }

  #changed(): void {
    if (this.#isClosed) return;
    this.#lists.follow();
    this.#changing ??= this.#options.world.after(SERVE_LIMITS.changeMs, () => {
      this.#changing = undefined;
      this.#tellTools().catch((error: unknown) => {
        this.#options.world.log.error("serve.list_failed", { error: messageOf(error) });
      });
    });
  }

  /** Only to a client that has a list, and only when it would get another one now. */
  async #tellTools(): Promise<void> {
    const before = this.#listed;
    if (!before || this.#isClosed) return;
    const now = (await this.#refresh()).map(([, definition]) => definition);
    const isSame = now.length === before.length && now.every((one, at) => one === before[at]);
    if (isSame || this.#listed !== before) return;
    this.#listed = now;
    this.#notice("notifications/tools/list_changed", {});
  }
}

/** A client without modes of its own has forms: so it was in the first version with elicitation. */
export function elicitModes(declared: JsonValue | undefined): readonly ("form" | "url")[] {
  if (!isJsonObject(declared)) return [];
  const named = (["form", "url"] as const).filter((mode) => declared[mode] !== undefined);
  return named.length > 0 ? named : ["form"];
}

/** Progress must grow: what only says that something goes on is left out. */
function progressTo({ params, notify }: ClientRequest): (progress: ToolProgress) => void {
  const meta = params["_meta"];
  const token = isJsonObject(meta) ? meta["progressToken"] : undefined;
  if (typeof token !== "string" && typeof token !== "number") return () => {};
  let last = Number.NEGATIVE_INFINITY;
  return ({ progress, total, message }) => {
    if (progress <= last) return;
    last = progress;
    notify("notifications/progress", { progressToken: token, progress, ...defined({ total, message }) });
  };
}
