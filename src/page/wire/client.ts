// An ACP client over a WebSocket of the page's own origin: requests, notifications, and coming back by itself.
import { defined } from "../../base/json/defined.js";
import {
  isObject,
  type JsonObject,
  type JsonValue,
  numberAt,
  objectAt,
  parse,
  tenonMeta,
  textAt,
  withVisibleText,
} from "./json.js";
import { type LinkEvent, type LinkState, nextLink } from "./link.js";

/** What a browser's `WebSocket` is used for. */
export interface Socket {
  send(text: string): void;
  /** Nothing is heard of it afterwards. */
  close(): void;
}

export interface SocketEvents {
  readonly onOpen: () => void;
  readonly onText: (text: string) => void;
  /** Once: it is over, or never was open. */
  readonly onEnd: () => void;
}

/** The browser, or a test. */
export interface Surroundings {
  connect(events: SocketEvents): Socket;
  after(ms: number, run: () => void): () => void;
  random(): number;
  /** Of this tab: the same client again after a reload. */
  readonly identity: { get(): string | null; set(value: string): void };
  /** What other clients are told: "answered by phone". */
  readonly name: () => string;
  /** Whether the gateway knows the cookie: a refused WebSocket does not say why it was refused. */
  isKnown(): Promise<boolean>;
}

interface WireErrorDetails {
  readonly hint?: string;
  readonly isLost?: true;
  readonly retryAfterMs?: number;
}

/** `isLost`: the connection broke, and nobody knows whether the request had an effect. */
export class WireError extends Error {
  readonly hint: string | undefined;
  readonly isLost: boolean;
  /** A limit was reached: how long to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, about: WireErrorDetails = {}) {
    super(message);
    this.hint = about.hint;
    this.isLost = about.isLost === true;
    this.retryAfterMs = about.retryAfterMs;
  }
}

interface Pending {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: WireError) => void;
}

export interface Introduction {
  readonly account: string;
  readonly scopes: readonly string[];
  readonly clientId: string;
  readonly version: string;
  readonly node: string;
  readonly host: string;
}

export interface ClientEvents {
  /** With every change; `introduction` of the connection that is online now. */
  onState(state: LinkState, introduction?: Introduction): void;
  onNotification(method: string, params: JsonObject): void;
}

/** An editor has its own way; the page answers questions by `_tenon/question/answer`, so requests for them are left open. */
const CANCELLED = { code: -32800, message: "cancelled" };
const INTRODUCE_MS = 10_000;

export class GatewayClient {
  readonly #around: Surroundings;
  readonly #events: ClientEvents;
  readonly #pending = new Map<number, Pending>();
  /** Questions of the gateway that are open at this client. */
  readonly #asked = new Set<JsonValue>();
  #state: LinkState = { kind: "out" };
  #socket: Socket | undefined;
  #stopWait: (() => void) | undefined;
  #id = 0;

  constructor(around: Surroundings, events: ClientEvents) {
    this.#around = around;
    this.#events = events;
  }

  get state(): LinkState {
    return this.#state;
  }

  start(): void {
    this.#happened({ kind: "log_in" });
  }

  /** Does not wait for its time. */
  retry(): void {
    this.#happened({ kind: "retry" });
  }

  stop(reason?: string): void {
    this.#happened(reason === undefined ? { kind: "refused" } : { kind: "refused", reason });
  }

  /** Rejects with a `WireError`. */
  request(method: string, params: object): Promise<JsonObject> {
    const socket = this.#socket;
    if (!socket || (this.#state.kind !== "online" && method !== "initialize")) {
      return Promise.reject(new WireError("not connected to the gateway", { isLost: true }));
    }
    this.#id += 1;
    const id = this.#id;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  notify(method: string, params: object): void {
    if (this.#state.kind === "online") this.#socket?.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  #happened(event: LinkEvent, introduction?: Introduction): void {
    const before = this.#state;
    const state = nextLink(before, event, this.#around.random());
    if (state === before) return;
    this.#state = state;
    this.#stopWait?.();
    this.#stopWait = undefined;
    if (state.kind !== "connecting" && state.kind !== "online") this.#dropSocket();
    if (state.kind === "waiting") this.#stopWait = this.#around.after(state.delayMs, () => this.retry());
    this.#events.onState(state, introduction);
    if (state.kind === "connecting") this.#connect();
  }

  #dropSocket(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
    this.#asked.clear();
    const lost = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of lost) reject(new WireError("the connection to the gateway broke", { isLost: true }));
  }

  #connect(): void {
    const onEnd = () => {
      stopWait();
      if (this.#socket !== socket) return;
      this.#happened({ kind: "closed" });
      this.#checkLogin();
    };
    const stopWait = this.#around.after(INTRODUCE_MS, () => {
      if (this.#socket === socket && this.#state.kind === "connecting") onEnd();
    });
    const onIntroduced = (introduction: Introduction) => {
      stopWait();
      if (this.#socket === socket) this.#happened({ kind: "introduced" }, introduction);
    };
    const socket = this.#around.connect({
      onOpen: () => {
        this.#introduce().then(onIntroduced, onEnd).catch(onEnd);
      },
      onText: (text) => {
        if (this.#socket === socket) this.#received(text);
      },
      onEnd,
    });
    this.#socket = socket;
  }

  #checkLogin(): void {
    const onKnown = (isKnown: boolean) => {
      if (!isKnown) this.#happened({ kind: "refused", reason: "You are logged out: log in again." });
    };
    // A gateway that does not answer at all is tried again.
    this.#around
      .isKnown()
      .then(onKnown)
      .catch(() => undefined);
  }

  async #introduce(): Promise<Introduction> {
    const identity = objectAt(parse(this.#around.identity.get() ?? ""));
    const { id, key } = identity;
    const name = this.#around.name();
    const client = typeof id === "string" && typeof key === "string" ? { name, id, key } : { name };
    const result = await this.request("initialize", {
      protocolVersion: 1,
      clientInfo: { name: "tenon-page", title: "Tenon page", version: "1" },
      clientCapabilities: { session: { notices: {}, compaction: {} }, elicitation: { form: {}, url: {} } },
      _meta: { tenon: { client, role: "controller" } },
    });
    const meta = tenonMeta(result);
    const given = objectAt(meta, "client");
    this.#around.identity.set(JSON.stringify(given));
    const scopes = Array.isArray(meta["scopes"]) ? meta["scopes"].filter((scope) => typeof scope === "string") : [];
    const capability = tenonMeta(objectAt(result, "agentCapabilities"));
    return {
      account: textAt(meta, "account") ?? "",
      scopes,
      clientId: textAt(given, "id") ?? "",
      version: textAt(meta, "version") ?? "",
      node: textAt(capability, "node") ?? "",
      host: textAt(meta, "host") ?? "",
    };
  }

  #received(data: string): void {
    const frame = parse(data);
    if (!isObject(frame)) return;
    const { id, method } = frame;
    if (typeof method !== "string") this.#answered(frame);
    else if (id !== undefined && id !== null) this.#questioned(id, method);
    else if (method === "$/cancel_request") this.#cancelled(objectAt(frame, "params")["requestId"]);
    else this.#events.onNotification(method, visible(frame["params"]));
  }

  #answered(frame: JsonObject): void {
    const id = numberAt(frame, "id");
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (!pending || id === undefined) return;
    this.#pending.delete(id);
    const { error } = frame;
    if (!isObject(error)) return pending.resolve(visible(frame["result"]));
    const shown = visible(error);
    const data = objectAt(shown, "data");
    const about = defined({ hint: textAt(data, "hint"), retryAfterMs: numberAt(data, "retryAfterMs") });
    pending.reject(new WireError(textAt(shown, "message") ?? "the gateway gave no reason", about));
  }

  #questioned(id: JsonValue, method: string): void {
    if (method === "session/request_permission" || method === "elicitation/create") this.#asked.add(id);
    else this.#reply(id, { code: -32601, message: `the page does not do ${method}` });
  }

  #cancelled(id: JsonValue | undefined): void {
    if (id !== undefined && this.#asked.delete(id)) this.#reply(id, CANCELLED);
  }

  #reply(id: JsonValue, error: object): void {
    this.#socket?.send(JSON.stringify({ jsonrpc: "2.0", id, error }));
  }
}

function visible(value: JsonValue | undefined): JsonObject {
  return objectAt(withVisibleText(value ?? null));
}
