// A link carries a client's connection from its node to a node that owns sessions of it: one end of it, and its far side as a stream.
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { messageSink, type SharedMessage, tenonMeta } from "../../acp/index.js";
import { contained } from "../../base/async/scope.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import type { Log } from "../../base/ports/world.js";
import { type Principal, SCOPES } from "../access/principal.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { NodeMessage } from "../nodes/nodes.js";
import type { Scope } from "../protocol.js";
import type { ClientStream } from "../server/client-stream.js";

/** Of the end of a connection: connect again. */
export const SERVICE_RESTART = 1012;

/** The first thing that is said on a link: whose it is. The client's node vouches for it. */
export interface LinkOpening {
  readonly account: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly tokenId?: string;
}

/** `after`: of which session it is, and its last record before it. */
export interface LinkedMessage {
  readonly message: JsonObject;
  readonly after?: readonly [session: string, seq: number];
}

export interface LinkEndOptions {
  readonly id: string;
  /** The node at the other end. */
  readonly node: string;
  readonly send: (message: NodeMessage) => void;
  readonly onMessage: (message: LinkedMessage) => void;
  /** Once. `code`: what the client's connection ends with. */
  readonly onEnd: (reason: string, code: number | undefined) => void;
}

export class LinkEnd {
  readonly #options: LinkEndOptions;
  #sent = 0;
  #received = 0;
  #isOver = false;

  constructor(options: LinkEndOptions) {
    this.#options = options;
  }

  get id(): string {
    return this.#options.id;
  }

  get node(): string {
    return this.#options.node;
  }

  open(opening: LinkOpening): void {
    this.#send(JSON.stringify({ open: opening }));
  }

  /** Its length when that is too much: then it was not sent. */
  send(linked: LinkedMessage): number | undefined {
    const text = JSON.stringify(linked);
    const bytes = Buffer.byteLength(text);
    if (bytes > GATEWAY_LIMITS.links.messageMaxBytes) return bytes;
    this.#send(text);
    return undefined;
  }

  receive({ n, body }: NodeMessage): void {
    if (this.#isOver || n <= this.#received) return; // again
    if (n !== this.#received + 1) return this.end("messages between nodes were lost", SERVICE_RESTART);
    this.#received = n;
    const parsed = parseJson(body);
    const given = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
    const { message, after, end, code } = given;
    if (typeof end === "string") return this.#over(end, typeof code === "number" ? code : undefined);
    if (isJsonObject(message)) this.#options.onMessage({ message, ...defined({ after: readAfter(after) }) });
  }

  /** The other end is told, if it can be. */
  end(reason: string, code?: number): void {
    if (this.#isOver) return;
    this.#send(JSON.stringify({ end: reason, ...defined({ code }) }));
    this.#over(reason, code);
  }

  #send(body: string): void {
    if (this.#isOver) return;
    this.#sent += 1;
    const { id: link, node, send } = this.#options;
    send({ node, link, n: this.#sent, body });
  }

  #over(reason: string, code: number | undefined): void {
    this.#isOver = true;
    this.#options.onEnd(reason, code);
  }
}

function readAfter(after: JsonValue | undefined): LinkedMessage["after"] {
  const [session, seq] = Array.isArray(after) ? after : [];
  return typeof session === "string" && typeof seq === "number" ? [session, seq] : undefined;
}

/** What a link was opened with; undefined for what is no opening. */
export function readOpening({ n, body }: NodeMessage): Principal | undefined {
  const parsed = n === 1 ? parseJson(body) : undefined;
  const open = parsed?.ok && isJsonObject(parsed.value) ? parsed.value["open"] : undefined;
  if (!isJsonObject(open)) return undefined;
  const { account, name, scopes, tokenId } = open;
  if (typeof account !== "string" || typeof name !== "string" || !Array.isArray(scopes)) return undefined;
  return {
    ...{ account, name, isLocal: false, scopes: new Set(scopes.filter((scope) => isScope(scope))) },
    ...defined({ tokenId: typeof tokenId === "string" ? tokenId : undefined }),
  };
}

function isScope(one: unknown): one is Scope {
  return SCOPES.some((scope) => scope === one);
}

export function isRpc(message: JsonObject): message is JsonObject & AnyMessage {
  return message["jsonrpc"] === "2.0";
}

export function isAnswer(message: JsonObject): boolean {
  return message["method"] === undefined;
}

/** For people. */
export function methodOf({ method }: JsonObject): string {
  return typeof method === "string" ? method : "";
}

export function sessionOf(message: JsonObject): string | undefined {
  const { params } = message;
  const id = isJsonObject(params) ? params["sessionId"] : undefined;
  return typeof id === "string" ? id : undefined;
}

/** In place of what is too long for a link. */
export function tooLong(id: JsonValue, bytes: number, what: string): JsonObject {
  const most = GATEWAY_LIMITS.links.messageMaxBytes;
  const message = `${what} has ${bytes} bytes: a session at another node takes and gives at most ${most} in one message`;
  const hint = "Send less at once, or connect to the node that has the session.";
  return { jsonrpc: "2.0", id, error: { code: TOO_LONG, message, data: { code: "session.invalid_request", hint } } };
}

const TOO_LONG = -32602;

export interface LinkStreamOptions {
  readonly link: LinkEnd;
  readonly log: Log;
  /** A record of that number is there for those who follow the session. */
  readonly onRecord: (session: string, seq: number) => void;
}

/**
 * The client at the owner's node. Numbered updates end here: the client's node makes them from the store. Everything else says
 * after which record it comes.
 */
export class LinkStream implements ClientStream {
  readonly readable: Stream["readable"];
  readonly writable: Stream["writable"];
  readonly closed: Promise<void>;
  readonly #options: LinkStreamOptions;
  /** By session, the last record that the client was given. */
  readonly #numbers = new Map<string, number>();
  /** Of requests without an answer, by their ids, the session they are about. */
  readonly #asked = new Map<JsonValue, string>();
  /** Messages that came before the answer to `initialize`, which is the first request: the SDK takes none before it. */
  #early: AnyMessage[] | undefined;
  #enqueue: (message: AnyMessage) => void = () => {};
  #end: () => void = () => {};

  constructor(options: LinkStreamOptions) {
    this.#options = options;
    let closeReadable = () => {};
    this.readable = new ReadableStream<AnyMessage>({
      start: (controller) => {
        this.#enqueue = (message) => controller.enqueue(message);
        closeReadable = () => controller.close();
      },
    });
    this.closed = new Promise((resolve) => {
      this.#end = () => {
        this.#enqueue = () => {};
        contained(options.log, "end of a link", closeReadable);
        resolve();
      };
    });
    this.writable = messageSink((message) => this.send(message));
  }

  receive({ message }: LinkedMessage): void {
    const { id } = message;
    const session = sessionOf(message);
    if (id !== undefined && !isAnswer(message) && session !== undefined) this.#asked.set(id, session);
    if (!isRpc(message)) return;
    if (this.#early) this.#early.push(message);
    else this.#enqueue(message);
    if (message["method"] === "initialize") this.#early ??= [];
  }

  send(message: object): undefined {
    if (!isJsonObject(message)) return;
    const early = isAnswer(message) ? this.#early : undefined;
    if (early) this.#early = undefined;
    const answered = isAnswer(message) ? this.#answered(message) : sessionOf(message);
    const seq = answered === undefined ? undefined : this.#numbers.get(answered);
    const after = answered === undefined || seq === undefined ? undefined : ([answered, seq] as const);
    const bytes = this.#options.link.send({ message, ...defined({ after }) });
    if (bytes !== undefined) this.#refuse(message, bytes);
    for (const one of early ?? []) this.#enqueue(one);
  }

  sendShared({ message }: SharedMessage): undefined {
    const params = "params" in message ? message.params : undefined;
    const { seq, partOf } = tenonMeta(params);
    if (seq === undefined && partOf === undefined) return this.send(message);
    const session = isJsonObject(params) ? params["sessionId"] : undefined;
    if (typeof session !== "string" || typeof seq !== "number") return;
    this.#numbers.set(session, seq);
    this.#options.onRecord(session, seq);
  }

  close(reason: string, code?: number): void {
    this.#options.link.end(reason, code);
  }

  /** The link is over. */
  ended(): void {
    this.#end();
  }

  /** The answer to a client that joins tells how far the log is: what came before, its own node shows it. */
  #answered(message: JsonObject): string | undefined {
    const { id = null, result } = message;
    const session = this.#asked.get(id) ?? (isJsonObject(result) ? result["sessionId"] : undefined);
    this.#asked.delete(id);
    if (typeof session !== "string") return undefined;
    const { seq } = tenonMeta(result);
    if (typeof seq === "number") this.#numbers.set(session, Math.max(seq, this.#numbers.get(session) ?? 0));
    return session;
  }

  #refuse(message: JsonObject, bytes: number): void {
    const { id } = message;
    const method = methodOf(message);
    if (id === undefined) return this.#options.log.warn("link.message_too_long", { method, bytes });
    if (isAnswer(message)) this.#options.link.send({ message: tooLong(id, bytes, "the answer") });
    else {
      const answer = tooLong(id, bytes, `the request ${method}`);
      if (isRpc(answer)) this.#enqueue(answer);
    }
  }
}
