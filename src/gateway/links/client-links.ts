// One connection of a client: what is about sessions of other nodes goes over links to them, everything else to the agent here.
import type { AnyMessage } from "@agentclientprotocol/sdk";
import { abilitiesOf, messageSink, type NumberedRelay, tenonMeta } from "../../acp/index.js";
import { contained, handled } from "../../base/async/scope.js";
import { TenonError, toTenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { Log } from "../../base/ports/world.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { NodeInfo } from "../nodes/nodes.js";
import type { ClientStream } from "../server/client-stream.js";
import type { ClientAccess } from "../sessions/client-access.js";
import { FollowedSession, type FollowedSessionOptions } from "./followed-session.js";
import {
  isAnswer,
  isRpc,
  type LinkEnd,
  type LinkedMessage,
  methodOf,
  SERVICE_RESTART,
  sessionOf,
  tooLong,
} from "./link.js";
import type { NodeLinks } from "./node-links.js";

export interface ClientLinksOptions {
  readonly stream: ClientStream;
  readonly access: ClientAccess;
  readonly links: NodeLinks;
  readonly log: Log;
  readonly Relay: typeof NumberedRelay;
  /** The JSON-RPC error that an error is. */
  readonly toWire: (error: unknown) => { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** To one node. */
interface Link {
  readonly end: LinkEnd;
  /** Part of what the client is given to name requests of that node by. */
  readonly number: number;
  /** By the client's ids, requests that the other node has not answered. */
  readonly pending: Map<JsonValue, Pending>;
  /** Sessions there that a client who watches all of them was told of, and that are not at rest; undefined: it does not watch. */
  watched: Set<string> | undefined;
}

interface Pending {
  readonly request: JsonObject;
  readonly session?: string;
  /** How the client is shown the session that the answer opens. */
  readonly opens?: "load" | "resume" | "new" | "attach" | "fork";
  readonly isAgain?: boolean;
  /** The client follows the session already: goes on with that. */
  readonly resume?: () => void;
  /** Not a request of the client. */
  readonly onAnswer?: (answer: JsonObject) => void;
}

/** Where a message goes, and as what. */
type Place =
  | { readonly here: true }
  | { readonly link: Link; readonly as?: JsonObject; readonly opens?: Pending["opens"] };

const HERE: Place = { here: true };
/** Of other nodes' requests, at the client: the agent here counts from 0. */
const FIRST_ID = 1_000_000_000;
/** These read the store, or are about the node that the client is connected to. */
const ALWAYS_HERE = /^(?:session\/list|_tenon\/session\/records|_tenon\/gateway\/.*)$/u;
const OPENING: ReadonlySet<unknown> = new Set(["session/new", "session/load", "session/resume", "session/fork"]);
const ENDING: ReadonlySet<unknown> = new Set(["session/close", "session/delete"]);
const CANCEL_REQUEST = "$/cancel_request";
const MCP_MESSAGE = "mcp/message";
const WATCH = "_tenon/gateway/watch";
const CHANGED = "_tenon/gateway/changed";

export class ClientLinks {
  /** For the agent of this node. */
  readonly stream: ClientStream;
  readonly #options: ClientLinksOptions;
  /** By node. */
  readonly #links = new Map<string, Link>();
  /** Sessions that the client has open at other nodes, or is about to. */
  readonly #sessions = new Map<string, { readonly link: Link; readonly followed?: FollowedSession }>();
  /** Messages of sessions whose owner is being looked up, in order. */
  readonly #lines = new Map<string, JsonObject[]>();
  /** Requests of other nodes, by the ids that the client has of them. */
  readonly #asked = new Map<number, { readonly link: Link; readonly id: JsonValue; readonly session?: string }>();
  /** By id, requests to the agent here that open a session. */
  readonly #openings = new Map<JsonValue, JsonObject>();
  #introducing: JsonValue | undefined;
  /** As other nodes are told. */
  #introduction: JsonObject | undefined;
  #initialize: JsonObject = {};
  #watching: JsonValue | undefined;
  #unwatch: (() => void) | undefined;
  #count = 0;
  #toAgent: (message: AnyMessage) => void = () => {};

  constructor(options: ClientLinksOptions) {
    this.#options = options;
    const { stream: client, log } = options;
    let closeReadable = () => {};
    const reader = client.readable.getReader();
    const readable = new ReadableStream<AnyMessage>({
      start: (controller) => {
        this.#toAgent = (message) => controller.enqueue(message);
        closeReadable = () => {
          this.#toAgent = () => {}; // what is still looked up is for nobody
          controller.close();
        };
      },
      cancel: (reason) => {
        this.#toAgent = () => {};
        return reader.cancel(reason);
      },
    });
    const read = async () => {
      for (let next = await reader.read(); !next.done; next = await reader.read()) this.#fromClient(next.value);
      contained(log, "end of a client", closeReadable);
    };
    handled(read(), log, "messages of a client");
    handled(
      client.closed.then(() => this.#end()),
      log,
      "end of a client",
    );
    this.stream = {
      readable,
      writable: messageSink((message) =>
        handled(Promise.resolve(this.#fromAgent(message)), log, "message to a client"),
      ),
      send: (message) => this.#fromAgent(message),
      sendShared: (shared) => client.sendShared(shared),
      closed: client.closed,
      close: (reason, code) => client.close(reason, code),
    };
  }

  // From the client.

  #fromClient(message: AnyMessage): void {
    if (!isJsonObject(message)) return this.#toAgent(message);
    const { id, method, params } = message;
    if (isAnswer(message)) return this.#answeredByClient(message);
    if (id === undefined) return this.#notified(message);
    const session = sessionOf(message);
    if (method === "initialize") {
      this.#introducing = id;
      this.#initialize = isJsonObject(params) ? params : {};
    } else if (method === WATCH) this.#watching = id;
    else if (method === "session/new") return this.#inLine(idOfNew(params), message);
    else if (session !== undefined && !ALWAYS_HERE.test(methodOf(message))) return this.#inLine(session, message);
    this.#here(message);
  }

  #notified(message: JsonObject): void {
    const { method } = message;
    const params = isJsonObject(message["params"]) ? message["params"] : {};
    const session = sessionOf(message);
    if (session !== undefined) return this.#inLine(session, message);
    if (method === CANCEL_REQUEST) return this.#cancel(message, params["requestId"] ?? null);
    const named = method === MCP_MESSAGE ? params["requestId"] : undefined;
    const [, number, requestId = ""] = (typeof named === "string" && LINKED_REQUEST.exec(named)) || [];
    const link = [...this.#links.values()].find((one) => String(one.number) === number);
    if (link) this.#forward({ ...message, params: { ...params, requestId } }, { link });
    else this.#here(message);
  }

  #cancel(message: JsonObject, requestId: JsonValue): void {
    const line = [...this.#lines.values()].find((one) => one.some(({ id }) => id === requestId));
    const link = [...this.#links.values()].find(({ pending }) => pending.has(requestId));
    if (line) line.push(message);
    else if (link) this.#forward(message, { link });
    else this.#here(message);
  }

  #answeredByClient(message: JsonObject): void {
    const { id } = message;
    const asked = typeof id === "number" ? this.#asked.get(id) : undefined;
    if (!asked || typeof id !== "number") return this.#here(message);
    this.#asked.delete(id);
    const bytes = asked.link.end.send({ message: { ...message, id: asked.id } });
    if (bytes !== undefined) asked.link.end.send({ message: tooLong(asked.id, bytes, "the client's answer") });
  }

  #here(message: JsonObject): void {
    const { id, method } = message;
    if (id !== undefined && OPENING.has(method)) this.#openings.set(id, message);
    if (isRpc(message)) this.#toAgent(message);
  }

  /** In the order in which they came, also while the owner of their session is looked up. */
  #inLine(session: string, message: JsonObject): void {
    const line = this.#lines.get(session);
    if (line && line.length >= GATEWAY_LIMITS.links.waiting.messages) {
      return this.#options.stream.close("too many messages wait for a session", SERVICE_RESTART);
    }
    const place = line ? undefined : this.#placeNow(message);
    if (place) return this.#forward(message, place);
    if (line) {
      line.push(message);
      return;
    }
    const opened = [message];
    this.#lines.set(session, opened);
    handled(this.#sendLine(session, opened), this.#options.log, "look up a session's node");
  }

  async #sendLine(session: string, line: JsonObject[]): Promise<void> {
    for (let message = line[0]; message; message = line[0]) {
      const place =
        this.#placeNow(message) ?? (await this.#placeOf(message).catch((error: unknown) => toTenonError(error)));
      line.shift();
      if (line.length === 0) this.#lines.delete(session);
      if (place instanceof TenonError) this.#fail(message, place);
      else this.#forward(message, place);
    }
  }

  /** As far as it is known without a look into the database. */
  #placeNow(message: JsonObject): Place | undefined {
    const { method } = message;
    const session = sessionOf(message);
    const known = session === undefined ? undefined : this.#sessions.get(session);
    if (method === "session/new" || method === "session/fork" || session === undefined) return undefined;
    if (known) return { link: known.link, ...defined({ opens: opensOf(method) }) };
    return this.#options.access.isOpen(session) ? HERE : undefined;
  }

  async #placeOf(message: JsonObject): Promise<Place> {
    const { access, links } = this.#options;
    const { method } = message;
    const params = isJsonObject(message["params"]) ? message["params"] : {};
    if (method === CANCEL_REQUEST) return HERE; // what it is about went here, or it would have a link
    const isNew = method === "session/new";
    const isMade = isNew || method === "session/fork";
    const id = isNew ? await access.meant(params).catch(() => undefined) : sessionOf(message);
    if (id !== undefined && method !== "session/fork") {
      const owner = await links.nodes.ownerOf(access.account, id);
      if (owner && owner.id === links.nodes.self.value) return HERE;
      const opens: Pending["opens"] = isNew ? "attach" : opensOf(method);
      if (owner && !isNew) return { link: this.#linkTo(owner), ...defined({ opens }) };
      const begun = await this.#begun(id);
      if (begun) {
        const load = { ...message, method: "session/load", params: { ...params, sessionId: id, cwd: begun.cwd } };
        const as = isNew ? load : undefined;
        if (owner) return { link: this.#linkTo(owner), ...defined({ as, opens }) };
        if (opens === undefined) return HERE;
        const other = await this.#nodeFor([begun.cwd, ...begun.additionalDirectories]);
        return other ? { link: this.#linkTo(other), ...defined({ as, opens }) } : HERE;
      }
    }
    const other = isMade && typeof params["cwd"] === "string" ? await this.#nodeFor([params["cwd"]]) : undefined;
    return other ? { link: this.#linkTo(other), opens: isNew ? "new" : "fork" } : HERE;
  }

  /** Undefined: there is no such session. */
  async #begun(
    id: string,
  ): Promise<{ readonly cwd: string; readonly additionalDirectories: readonly string[] } | undefined> {
    try {
      return (await this.#options.access.store.place(id)) ?? { cwd: "", additionalDirectories: [] };
    } catch (error) {
      if (error instanceof TenonError && error.code === "session.not_found") return undefined;
      throw error;
    }
  }

  /** Undefined: this node may open a session there. Throws where no node may. */
  async #nodeFor(directories: readonly string[]): Promise<NodeInfo | undefined> {
    const { access, links } = this.#options;
    const problem = await access.problemIn(directories);
    if (!problem) return undefined;
    const { nodes } = links;
    const others = (await nodes.list()).filter(({ id, leaseLeftMs, isDraining }) => {
      return id !== nodes.self.value && leaseLeftMs > 0 && !isDraining;
    });
    const fitting = others.filter(({ roots }) =>
      directories.every((path) => roots.length === 0 || roots.some((root) => isBelow(path, root))),
    );
    const [first] = [...fitting].sort((one, other) => one.sessions - other.sessions);
    if (first) return first;
    throw new TenonError(problem.code, `${problem.message}; no other node that runs may have sessions there`, {
      cause: problem,
      hint: "Start a node whose --root has this directory, or give another directory.",
    });
  }

  // Over links.

  #linkTo({ id }: Pick<NodeInfo, "id">): Link {
    const known = this.#links.get(id);
    if (known) return known;
    if (this.#links.size >= GATEWAY_LIMITS.links.perConnection) {
      throw new TenonError(
        "access.limited",
        `this connection uses sessions of ${GATEWAY_LIMITS.links.perConnection} other nodes`,
        {
          hint: "Close some of them, or connect again.",
        },
      );
    }
    if (!this.#introduction) throw new TenonError("session.invalid_request", "initialize must come first");
    this.#count += 1;
    const { links, access } = this.#options;
    const end = links.open(id, access.principal, {
      onMessage: (linked) => this.#fromNode(link, linked),
      onEnd: (reason, code) => this.#linkEnded(id, reason, code),
    });
    const link: Link = { end, number: this.#count, pending: new Map(), watched: undefined };
    this.#links.set(id, link);
    this.#introduceTo(link);
    return link;
  }

  #introduceTo(link: Link): void {
    if (this.#introduction) this.#ask(link, "initialize", this.#introduction, () => {});
  }

  /** A request of this node. */
  #ask({ end, pending }: Link, method: string, params: JsonObject, onAnswer: (answer: JsonObject) => void): void {
    this.#count += 1;
    const request = { jsonrpc: "2.0", id: `tenon/${this.#count}`, method, params };
    pending.set(request.id, { request, onAnswer });
    end.send({ message: request });
  }

  #forward(message: JsonObject, place: Place, isAgain = false): void {
    if ("here" in place) return this.#here(message);
    const { link, as = message, opens } = place;
    const { id } = message;
    const session = sessionOf(as);
    if (opens !== undefined && session !== undefined && !this.#sessions.has(session)) {
      const { sessionsPerConnection: most } = GATEWAY_LIMITS.links;
      if (this.#sessions.size >= most) {
        const words = `this connection has ${most} sessions of other nodes open, which is the most it may have`;
        return this.#fail(message, new TenonError("access.limited", words, { hint: "Close some of them." }));
      }
      this.#sessions.set(session, { link });
    }
    const resume = opens === undefined ? undefined : this.#sessions.get(session ?? "")?.followed?.hold();
    if (id !== undefined) link.pending.set(id, { request: message, isAgain, ...defined({ session, opens, resume }) });
    const bytes = link.end.send({ message: as });
    if (bytes === undefined) return;
    resume?.();
    this.#options.log.warn("links.message_too_long", { method: methodOf(message), bytes });
    if (id === undefined) return;
    link.pending.delete(id);
    this.#send(tooLong(id, bytes, `the request ${methodOf(message)}`));
  }

  #fromNode(link: Link, { message, after }: LinkedMessage): void {
    const { id, method } = message;
    const params = isJsonObject(message["params"]) ? message["params"] : {};
    if (isAnswer(message)) return this.#answeredByNode(link, message, after);
    if (method === CANCEL_REQUEST) {
      const [given, asked] =
        [...this.#asked].find(([, one]) => one.link === link && one.id === params["requestId"]) ?? [];
      if (given === undefined) return;
      return this.#deliver({ ...message, params: { ...params, requestId: given } }, asked?.session, after);
    }
    if (method === CHANGED) this.#noteChange(link, params);
    const session = sessionOf(message);
    if (id === undefined) return this.#deliver(message, session, after);
    this.#count += 1;
    const given = FIRST_ID + this.#count;
    this.#asked.set(given, { link, id, ...defined({ session }) });
    const [oldest] = this.#asked.keys();
    if (this.#asked.size > GATEWAY_LIMITS.links.waiting.messages && oldest !== undefined) this.#asked.delete(oldest);
    const { requestId: named } = params;
    const requestId = method === MCP_MESSAGE && typeof named === "string" ? `${link.number}/${named}` : undefined;
    this.#deliver({ ...message, id: given, params: { ...params, ...defined({ requestId }) } }, session, after);
  }

  /** To the client, once it has the record before it. */
  #deliver(message: JsonObject, session: string | undefined, after: LinkedMessage["after"]): void {
    const followed = session === undefined ? undefined : this.#sessions.get(session)?.followed;
    if (followed) followed.deliver(message, after?.[1] ?? 0);
    else this.#send(message);
  }

  #answeredByNode(link: Link, message: JsonObject, after: LinkedMessage["after"]): void {
    const { id = null } = message;
    const pending = link.pending.get(id);
    link.pending.delete(id);
    if (!pending) return;
    const { onAnswer, opens, request } = pending;
    if (onAnswer) return onAnswer(message);
    const { result } = message;
    const session = pending.session ?? after?.[0];
    if (opens === undefined || session === undefined) {
      this.#deliver(message, session, after);
      if (session !== undefined && result !== undefined && ENDING.has(request["method"])) this.#leave(session);
      return;
    }
    if (isJsonObject(result)) return this.#follow(session, { link, opens, request, answer: message, result });
    pending.resume?.();
    if (this.#sessions.get(session)?.followed === undefined) this.#sessions.delete(session);
    if (this.#goesElsewhere(request, message, pending.isAgain === true)) return;
    this.#deliver(message, session, after);
  }

  /** The client has the session open from now on. */
  #follow(
    id: string,
    about: Pick<Pending, "request"> & {
      link: Link;
      opens: NonNullable<Pending["opens"]>;
      answer: JsonObject;
      result: JsonObject;
    },
  ): void {
    const { link, opens, request, answer, result } = about;
    const { seq: given } = tenonMeta(result);
    const seq = typeof given === "number" ? given : 0;
    const { after: wanted = seq } = tenonMeta(request["params"]);
    const isWhole = opens === "load" || opens === "new" || opens === "attach";
    const after = opens === "resume" && typeof wanted === "number" ? Math.min(wanted, seq) : seq;
    const waiting = this.#sessions.get(id)?.followed?.replaced(); // of a client that loads it once more
    const { access, links, log, Relay, stream } = this.#options;
    const options: FollowedSessionOptions = {
      ...{ id, log, Relay },
      shown: {
        after: isWhole ? 0 : after,
        showsOwn: isWhole,
        abilities: abilitiesOf(readCapabilities(this.#initialize)),
        client: access.client.client,
      },
      open: () => links.follow(access.store, id, { seq, after: isWhole ? 0 : after }),
      advance: (until) => links.advance(id, until),
      send: (message) => stream.send(message),
      sendShared: (update) => stream.sendShared(update),
      onLost: (reason) => stream.close(reason, SERVICE_RESTART),
    };
    const followed = new FollowedSession(options);
    this.#sessions.set(id, { link, followed });
    const isLast = opens === "load";
    if (!isLast) this.#send(opens === "attach" ? { ...answer, result: { sessionId: id, ...result } } : answer);
    followed.begin(waiting);
    if (isLast) followed.deliver(answer, seq);
  }

  #leave(session: string): void {
    this.#sessions.get(session)?.followed?.end();
    this.#sessions.delete(session);
  }

  /**
   * A session that another node acquired a moment before this request came to open it: the request goes there, once.
   */
  #goesElsewhere(request: JsonObject, answer: JsonObject, isAgain: boolean): boolean {
    const { error } = answer;
    const data = isJsonObject(error) ? error["data"] : undefined;
    if (isAgain || !isJsonObject(data) || data["code"] !== "session.busy") return false;
    const again = this.#placeOf(request)
      .catch(() => HERE)
      .then((place) => ("here" in place ? this.#send(answer) : this.#forward(request, place, true)));
    handled(again, this.#options.log, "look up a session's node again");
    return true;
  }

  #linkEnded(node: string, reason: string, code: number | undefined): void {
    const link = this.#links.get(node);
    if (!link) return;
    this.#links.delete(node);
    for (const [given, { link: of }] of [...this.#asked]) if (of === link) this.#asked.delete(given);
    const isUsed = [...this.#sessions.values()].some((one) => one.link === link);
    const isAsked = [...link.pending.values()].some(({ onAnswer }) => onAnswer === undefined);
    if (isUsed || isAsked) return this.#options.stream.close(reason, code ?? SERVICE_RESTART);
    for (const sessionId of link.watched ?? []) {
      this.#send({ jsonrpc: "2.0", method: CHANGED, params: { sessionId, state: "resting" } });
    }
  }

  // From the agent of this node.

  #fromAgent(message: object): Promise<void> | undefined {
    if (!isJsonObject(message) || !isAnswer(message)) return this.#options.stream.send(message);
    const { id = null } = message;
    const opening = this.#openings.get(id);
    this.#openings.delete(id);
    if (opening && this.#goesElsewhere(opening, message, false)) return undefined;
    const sent = this.#options.stream.send(message);
    if (id === this.#introducing) this.#introduced(message["result"]);
    if (id === this.#watching && isJsonObject(message["result"])) this.#watch();
    return sent;
  }

  /** Other nodes know the client by the id it has here. They are told no environment: it is of this machine. */
  #introduced(result: JsonValue | undefined): void {
    this.#introducing = undefined;
    if (!isJsonObject(result)) return;
    const { _meta: meta, ...params } = this.#initialize;
    const { env: _, client: given, ...tenon } = tenonMeta(this.#initialize);
    const { client: issued } = tenonMeta(result);
    const client = { ...(isJsonObject(given) ? given : {}), ...(isJsonObject(issued) ? issued : {}) };
    this.#introduction = { ...params, _meta: { ...(isJsonObject(meta) ? meta : {}), tenon: { ...tenon, client } } };
    for (const link of this.#links.values()) this.#introduceTo(link);
  }

  /** The sessions of other nodes are told as changes. */
  #watch(): void {
    this.#watching = undefined;
    this.#unwatch?.();
    const { links, log } = this.#options;
    for (const link of this.#links.values()) link.watched = undefined; // again: from the beginning
    this.#unwatch = links.watch((living) => {
      for (const node of living) {
        if (node.id === links.nodes.self.value || this.#links.get(node.id)?.watched) continue;
        contained(log, "watch another node", () => this.#watchAt(this.#linkTo(node)));
      }
    });
  }

  #watchAt(link: Link): void {
    link.watched = new Set();
    this.#ask(link, WATCH, {}, ({ result }) => {
      const sessions = isJsonObject(result) ? result["sessions"] : undefined;
      for (const change of Array.isArray(sessions) ? sessions : []) {
        if (!isJsonObject(change)) continue;
        this.#noteChange(link, change);
        this.#send({ jsonrpc: "2.0", method: CHANGED, params: change });
      }
    });
  }

  #noteChange({ watched }: Link, { sessionId, state }: JsonObject): void {
    if (typeof sessionId !== "string") return;
    if (state === undefined || state === "resting") watched?.delete(sessionId);
    else watched?.add(sessionId);
  }

  // Both.

  #fail(failed: JsonObject, error: TenonError): void {
    const { id } = failed;
    if (id === undefined) {
      return this.#options.log.warn("links.lost", { method: methodOf(failed), error: error.message });
    }
    const { code, message, data } = this.#options.toWire(error);
    this.#send({ jsonrpc: "2.0", id, error: { code, message, ...(isJsonObject(data) ? { data } : {}) } });
  }

  #send(message: JsonObject): void {
    const held = this.#options.stream.send(message);
    if (held) handled(held, this.#options.log, "message to a client");
  }

  #end(): void {
    this.#unwatch?.();
    for (const { followed } of this.#sessions.values()) followed?.end();
    this.#sessions.clear();
    const links = [...this.#links.values()];
    this.#links.clear();
    for (const { end } of links) end.end("the client is gone");
  }
}

const LINKED_REQUEST = /^(\d+)\/(.*)$/su;

function opensOf(method: unknown): "load" | "resume" | undefined {
  return method === "session/load" ? "load" : method === "session/resume" ? "resume" : undefined;
}

/** With an id of the client's choice its later messages wait for it. */
function idOfNew(params: unknown): string {
  const { id } = tenonMeta(params);
  return typeof id === "string" ? id : "new";
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`);
}

function readCapabilities({ clientCapabilities }: JsonObject): Parameters<typeof abilitiesOf>[0] {
  return isJsonObject(clientCapabilities) ? clientCapabilities : undefined;
}
