// What a server may ask of us, as a port. Only what the peer can answer is declared to the server.
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { Log } from "../../base/ports/world.js";
import { isUrl } from "../../base/text/url.js";
import { MCP_LIMITS } from "../limits.js";
import { RpcRefusal } from "../rpc/rpc.js";
import { elicitModes } from "./envelope.js";

export interface Root {
  readonly uri: string;
  readonly name?: string;
}

export interface ElicitRequest {
  readonly mode: "form" | "url";
  readonly message: string;
  /** Form mode: the flat JSON Schema of what is asked for. */
  readonly requestedSchema?: JsonObject;
  /** URL mode. */
  readonly url?: string;
  readonly elicitationId?: string;
}

export type ElicitAnswer =
  | { readonly action: "accept"; readonly content?: JsonObject }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

export interface ServerLog {
  readonly level: string;
  readonly logger?: string;
  readonly text: string;
}

/**
 * Every member is optional: what is missing is not declared, and declined at once should a server ask all the same. What
 * is declared is looked up when a connection opens, so a peer may say more or less from one connection to the next.
 */
export interface Peer {
  readonly roots?: (() => readonly Root[]) | undefined;
  /** Asked instead where it must first be found out whose roots are meant. Declared only by `roots`. */
  readonly findRoots?: ((signal: AbortSignal) => Promise<readonly Root[]>) | undefined;
  readonly elicit?: ((request: ElicitRequest, signal: AbortSignal) => Promise<ElicitAnswer>) | undefined;
  /** Which modes of elicitation the peer can show; both unless given. */
  readonly elicitModes?: readonly ("form" | "url")[] | undefined;
  /** Raw `sampling/createMessage` params to raw result: the models room knows their shape. */
  readonly sample?: ((params: JsonObject, signal: AbortSignal) => Promise<JsonObject>) | undefined;
  log?(entry: ServerLog): void;
  /** A line that may be about the call of another session: only recorded, never shown. */
  overheard?(entry: ServerLog): void;
  /** What was asked for behind a URL is done: the person need not be kept waiting for it. */
  elicitationCompleted?(elicitationId: string): void;
  /** A request of the server was declined without asking the person, and why. */
  unanswered?(method: string, reason: string): void;
}

const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

export class PeerAnswers {
  readonly #peer: Peer;
  readonly #log: Log;
  #asking = 0;

  constructor(peer: Peer | undefined, log: Log) {
    this.#peer = peer ?? {};
    this.#log = log;
  }

  /** Rejects with an `RpcRefusal` for what has no polite refusal of its own. */
  async answer(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    switch (method) {
      case "ping":
        return {};
      case "roots/list": {
        const peer = this.#peer;
        if (!peer.findRoots && !peer.roots) throw new RpcRefusal(METHOD_NOT_FOUND, "this client has no roots");
        const found = peer.findRoots ? await peer.findRoots(signal) : (peer.roots?.() ?? []);
        return { roots: found.map(({ uri, name }) => ({ uri, ...defined({ name }) })) };
      }
      case "elicitation/create":
        return await this.#oneOfFew(async () => ({ ...(await this.#elicit(params, signal)) }));
      case "sampling/createMessage":
        return await this.#oneOfFew(() => this.#sample(params, signal));
      default:
        throw new RpcRefusal(METHOD_NOT_FOUND, `Method not found: ${method}`);
    }
  }

  /** Notifications meant for people; an exception of the peer must not break the connection. */
  hear(method: string, params: JsonObject): void {
    this.#tell(method, () => {
      if (method === "notifications/message") this.#peer.log?.(readServerLog(params));
      const { elicitationId } = params;
      if (method === "notifications/elicitation/complete" && typeof elicitationId === "string") {
        this.#peer.elicitationCompleted?.(elicitationId);
      }
    });
  }

  #tell(method: string, tell: () => void): void {
    try {
      tell();
    } catch (thrown) {
      this.#log.warn("mcp.peer_failed", { method, error: messageOf(thrown) });
    }
  }

  async #sample(params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    if (this.#peer.sample) return await this.#peer.sample(params, signal);
    this.#tell("sampling/createMessage", () =>
      this.#peer.unanswered?.("sampling/createMessage", "nobody here can approve it"),
    );
    throw new RpcRefusal(METHOD_NOT_FOUND, "this client does no sampling");
  }

  async #elicit(params: JsonObject, signal: AbortSignal): Promise<ElicitAnswer> {
    const request = readElicitation(params);
    const peer = this.#peer;
    if (typeof request === "string" || !peer.elicit || !elicitModes(peer).includes(request.mode)) {
      const reason = typeof request === "string" ? request : "nobody here can be shown it";
      this.#tell("elicitation/create", () => peer.unanswered?.("elicitation/create", reason));
      return { action: "decline" };
    }
    try {
      const answer = await peer.elicit(request, signal);
      if (answer.action !== "accept") return { action: answer.action };
      if (request.mode === "url") return { action: "accept" };
      return { action: "accept", content: withDefaults(answer.content ?? {}, request.requestedSchema) };
    } catch (thrown) {
      if (!signal.aborted) this.#log.warn("mcp.elicit_failed", { error: messageOf(thrown) });
      return { action: "cancel" };
    }
  }

  /** A server gone wild must not open a hundred dialogues. */
  async #oneOfFew(ask: () => Promise<JsonObject>): Promise<JsonObject> {
    if (this.#asking >= MCP_LIMITS.peerAsksAtOnce) throw new RpcRefusal(INTERNAL_ERROR, "too many requests at once");
    this.#asking += 1;
    try {
      return await ask();
    } finally {
      this.#asking -= 1;
    }
  }
}

/** The reason, as text, for what must not be shown: an unknown mode, a URL that is no web page. */
function readElicitation(params: JsonObject): ElicitRequest | string {
  const { mode = "form", message, requestedSchema, url, elicitationId } = params;
  const words = typeof message === "string" ? message : "";
  if (mode === "form") {
    const schema = isJsonObject(requestedSchema) ? requestedSchema : undefined;
    return { mode, message: words, ...defined({ requestedSchema: schema }) };
  }
  if (mode !== "url") return `it is of an unknown kind (${JSON.stringify(mode)?.slice(0, 100)})`;
  if (typeof url !== "string" || !isWebUrl(url)) return "the address it wants opened is no web page";
  const id = typeof elicitationId === "string" ? elicitationId : undefined;
  return { mode, message: words, url, ...defined({ elicitationId: id }) };
}

/** Anything else could start a program of the person's. */
function isWebUrl(url: string): boolean {
  if (!isUrl(url)) return false;
  const { protocol } = new URL(url);
  return protocol === "https:" || protocol === "http:";
}

/** What the person left out takes the default the schema names for it (SEP-1034), also `false`, `0` and "". */
function withDefaults(content: JsonObject, schema: JsonObject | undefined): JsonObject {
  const properties = schema?.["properties"];
  if (!isJsonObject(properties)) return content;
  const entries: [string, JsonValue | undefined][] = Object.entries(content);
  for (const [name, property] of Object.entries(properties)) {
    const isGiven = Object.hasOwn(content, name) && content[name] !== undefined;
    if (isGiven || !isJsonObject(property) || !Object.hasOwn(property, "default")) continue;
    entries.push([name, property["default"]]);
  }
  return Object.fromEntries(entries);
}

/** Enough for a stack trace; nobody reads more. */
const MAX_CHARS = 4_096;
/** Values looked at before giving up: a log entry may be any JSON, however large. */
const MAX_VALUES = 1_000;

export function readServerLog(params: JsonObject): ServerLog {
  const { level, logger, data } = params;
  return {
    level: typeof level === "string" ? level : "info",
    ...defined({ logger: typeof logger === "string" ? logger : undefined }),
    text: typeof data === "string" ? clip(data) : clip(JSON.stringify(pruned(data ?? null, { left: MAX_VALUES }, 0))),
  };
}

function clip(text: string): string {
  return text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)}…`;
}

/** The beginning of a value: long texts cut, the rest left out once the budget is used up. */
function pruned(value: JsonValue, budget: { left: number }, depth: number): JsonValue {
  budget.left -= 1;
  if (typeof value === "string") return clip(value);
  if (typeof value !== "object" || value === null) return value;
  if (budget.left <= 0 || depth > 20) return "…";
  if (!isJsonObject(value)) {
    const items: JsonValue[] = [];
    for (const item of value) {
      if (budget.left <= 0) break;
      items.push(pruned(item, budget, depth + 1));
    }
    return items;
  }
  const entries: [string, JsonValue][] = [];
  for (const key in value) {
    if (budget.left <= 0) break;
    const field = value[key];
    if (Object.hasOwn(value, key) && field !== undefined) entries.push([clip(key), pruned(field, budget, depth + 1)]);
  }
  return Object.fromEntries(entries);
}
