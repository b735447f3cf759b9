// The server of a gateway: its routes, who gets in, and the connections that are open.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { contained, handled } from "../../base/async/scope.js";
import { orFail } from "../../base/errors.js";
import { isLoopbackHost } from "../../base/io/net-policy.js";
import { defined } from "../../base/json/defined.js";
import type { ServeHandlers, Timer, World } from "../../base/ports/world.js";
import { AuditLog } from "../access/audit.js";
import { addressOf, type Entrance, Guard, isRefusal, type Refusal } from "../access/guard.js";
import type { PairingCodes } from "../access/pairing.js";
import { ClientKeys, type Principal } from "../access/principal.js";
import { LiveTokens } from "../access/tokens.js";
import { GATEWAY_LIMITS } from "../limits.js";
import { fileGatewayStore } from "../nodes/file-store.js";
import type { GatewayStore } from "../nodes/nodes.js";
import { type ClientStream, type ConnectionAbout, SocketStream } from "./client-stream.js";
import { answer, headersOf, refuse, WORDS } from "./http-answers.js";
import { HttpClients } from "./http-clients.js";
import { type ListenAt, type ListeningPlace, preparePlace } from "./listen.js";
import { type GatewayFigures, GatewayMetrics } from "./metrics.js";
import { cookieOf, PageRoutes } from "./page-routes.js";
import { ConnectionRequests, RequestBudgets } from "./requests.js";

/** Who may come in, and what is written down about it. */
export interface GatewayAccess extends AsyncDisposable {
  readonly tokens: LiveTokens;
  readonly audit: AuditLog;
  readonly clientKeys: ClientKeys;
  readonly codes: PairingCodes;
}

export async function openAccess(
  world: World,
  stateDir: string,
  store: GatewayStore = fileGatewayStore(world, stateDir),
): Promise<GatewayAccess> {
  const tokens = new LiveTokens(world, store.tokens);
  try {
    const audit = await orFail("config.unreadable", "the audit file cannot be written", AuditLog.open(world, stateDir));
    const clientKeys = new ClientKeys(world, await store.clientSecret());
    await tokens.ready();
    const close = async () => {
      await tokens[Symbol.asyncDispose]();
      await audit[Symbol.asyncDispose]();
    };
    return { tokens, audit, clientKeys, codes: store.codes, [Symbol.asyncDispose]: close };
  } catch (error) {
    await tokens[Symbol.asyncDispose]();
    throw error;
  }
}

export interface GatewayServerOptions {
  readonly world: World;
  readonly listen: readonly ListenAt[];
  readonly access: GatewayAccess;
  /** Names by which the gateway is reached besides its addresses. */
  readonly hosts?: readonly string[];
  /** The folder with the files of the page; `/` says that there are none unless given. */
  readonly pageFolder?: string;
  /** Called for every connection that may send messages. It ends with the stream. */
  readonly connect: (principal: Principal, stream: ClientStream, about: ConnectionAbout) => void;
  readonly figures?: () => GatewayFigures;
  /** Why new work is not to be sent here, for `/readyz`. */
  readonly notReady?: () => string | undefined;
  /** False: clients are to connect elsewhere, or later. */
  readonly takesClients?: () => boolean;
  /** What clients that connect wait for; undefined: nothing. */
  readonly clientsWait?: () => Promise<void> | undefined;
}

export interface Gateway extends AsyncDisposable {
  /** `127.0.0.1:4711`, or the path of the socket. */
  readonly addresses: readonly string[];
  readonly connectionCount: number;
  /** From now on no connection is taken; those that are open stay. */
  drain(): void;
  /** The listeners at addresses, as the page is reached. */
  readonly entrances: readonly (Entrance & { readonly kind: "tcp" })[];
  /** Listens at one more place. */
  listen(at: ListenAt): Promise<void>;
}

export async function startGateway(options: GatewayServerOptions): Promise<Gateway> {
  const server = new GatewayServer(options);
  await server.start();
  return server;
}

interface Connection {
  readonly principal: Principal;
  readonly about: Omit<ConnectionAbout, "id">;
  readonly close: (reason: string, code?: number) => void;
  readonly expiry: Timer | undefined;
}

const GOING_AWAY = 1001;

class GatewayServer implements Gateway {
  readonly #options: GatewayServerOptions;
  readonly #world: World;
  readonly #guard: Guard;
  readonly #metrics: GatewayMetrics;
  readonly #budgets: RequestBudgets;
  readonly #http: HttpClients;
  readonly #page: PageRoutes;
  readonly #webSockets: WebSocketServer;
  readonly #connections = new Set<Connection>();
  #places: ListeningPlace[] = [];
  #isDraining = false;

  constructor(options: GatewayServerOptions) {
    const { world, access, hosts = [], figures } = options;
    this.#options = options;
    this.#world = world;
    this.#budgets = new RequestBudgets(world);
    this.#metrics = new GatewayMetrics(world, { connections: () => this.#counts(), ...defined({ figures }) });
    this.#guard = new Guard({
      world,
      tokens: access.tokens,
      audit: access.audit,
      hosts,
      onRefused: (reason) => this.#metrics.refused(reason),
    });
    this.#webSockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false, // a compressor's memory for every connection
      maxPayload: GATEWAY_LIMITS.messageMaxBytes,
    });
    this.#webSockets.on("error", () => {}); // told to the client, by the status of its upgrade
    this.#http = new HttpClients({
      world,
      connect: options.connect,
      requestsOf: (principal) => this.#requestsOf(principal),
      register: (principal, remoteAddress, close) =>
        this.#register(principal, { transport: "http", remoteAddress }, close),
      onRefused: (reason, remote) => this.#guard.refuse(reason, remote),
    });
    const { pageFolder } = options;
    this.#page = new PageRoutes({
      world,
      access,
      guard: this.#guard,
      budgets: this.#budgets,
      ...defined({ pageFolder }),
    });
    access.tokens.onGone((tokenId) => this.#closeToken(tokenId, "the token was revoked"));
  }

  get addresses(): readonly string[] {
    return this.#places.map(({ address }) => address);
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  get entrances(): Gateway["entrances"] {
    return this.#places.map(({ entrance }) => entrance).filter((entrance) => entrance.kind === "tcp");
  }

  async listen(at: ListenAt): Promise<void> {
    const prepared = await preparePlace(this.#world, at);
    const place = await prepared.listen((entrance) => this.#handlers(entrance));
    this.#places.push(place);
    if (this.#isDraining) await place[Symbol.asyncDispose](); // those that were there are closed already
    this.#options.access.audit.write("gateway.started", { addresses: place.address });
    handled(this.#page.ready(), this.#world.log, "read the page");
  }

  /** Everything is checked before anything listens. */
  async start(): Promise<void> {
    const prepared = [];
    try {
      for (const at of this.#options.listen) prepared.push(await preparePlace(this.#world, at));
      for (let next = prepared[0]; next; next = prepared[0]) {
        this.#places.push(await next.listen((entrance) => this.#handlers(entrance)));
        prepared.shift();
      }
    } catch (error) {
      for (const place of prepared) await place.release();
      for (const place of this.#places) await place[Symbol.asyncDispose]();
      throw error;
    }
    this.#options.access.audit.write("gateway.started", { addresses: this.addresses.join(" ") });
  }

  drain(): void {
    this.#isDraining = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDraining = true;
    for (const { close } of this.#connections) close("the gateway stops", GOING_AWAY);
    await this.#http.close();
    for (const place of this.#places) await place[Symbol.asyncDispose]();
    this.#places = [];
    this.#webSockets.close();
    this.#options.access.audit.write("gateway.stopped", {});
  }

  #handlers(entrance: Entrance): ServeHandlers {
    const { log } = this.#world;
    return {
      onRequest: (request, response) =>
        contained(log, "request of a client", () => this.#answer(request, response, entrance)),
      onUpgrade: (request, socket, head) =>
        contained(log, "upgrade of a client", () => this.#upgrade(request, { socket, head, entrance })),
      onRefused: (reason, remote) => {
        this.#guard.refuse(reason, remote);
      },
    };
  }

  #answer(request: IncomingMessage, response: ServerResponse, entrance: Entrance): void {
    response.on("error", () => {}); // the client is gone
    request.on("error", () => {});
    const path = pathOf(request);
    if (entrance.kind === "tcp" && this.#page.has(path)) {
      const answered = this.#page.answer(request, response, { path, entrance });
      return handled(answered, this.#world.log, "request of the page");
    }
    const isOpen = path === "/healthz" || path === "/readyz" || (path === "/metrics" && isNear(entrance));
    if (isOpen || (path !== "/acp" && path !== "/metrics")) {
      const refusal = this.#guard.checkPlace(request, entrance);
      if (refusal) return refuse(response, refusal);
      if (isOpen) return this.#answerOpen(path, response);
      return refuse(response, this.#guard.refuse("unknown_path", addressOf(request)));
    }
    const look = this.#guard.lookFor(request, entrance);
    if (!look) return this.#admit(request, response, entrance);
    handled(
      look.then(() => this.#admit(request, response, entrance)),
      this.#world.log,
      "request of a client",
    );
  }

  #admit(request: IncomingMessage, response: ServerResponse, entrance: Entrance): void {
    const principal = this.#guard.admit(request, entrance);
    if (isRefusal(principal)) return refuse(response, principal);
    if (pathOf(request) === "/metrics") return this.#answerOpen("/metrics", response);
    const isNew = request.method === "POST" && request.headers["acp-connection-id"] === undefined;
    if (isNew && !this.#takesClients()) return refuse(response, this.#guard.refuse("closing", addressOf(request)));
    handled(this.#http.handle(request, response, principal), this.#world.log, "request over HTTP");
  }

  #takesClients(): boolean {
    return !this.#isDraining && this.#options.takesClients?.() !== false;
  }

  #answerOpen(path: string, response: ServerResponse): void {
    if (path === "/healthz") return answer(response, 200, "ok");
    if (path === "/readyz") {
      const problem = this.#isDraining ? "draining" : this.#options.notReady?.();
      return answer(response, problem === undefined ? 200 : 503, problem ?? "ready");
    }
    const page = this.#metrics.text().then((text) => {
      response.writeHead(200, { "content-type": this.#metrics.contentType });
      response.end(text);
    });
    handled(page, this.#world.log, "page of figures");
  }

  #upgrade(request: IncomingMessage, opened: { socket: Duplex; head: Buffer; entrance: Entrance }): void {
    const { socket, entrance } = opened;
    const cookie = entrance.kind === "tcp" ? cookieOf(request, entrance) : undefined;
    const look = this.#guard.lookFor(request, entrance, cookie);
    if (!look) return this.#admitUpgrade(request, { ...opened, cookie });
    socket.on("error", () => {}); // the client is gone
    handled(
      look.then(() => this.#admitUpgrade(request, { ...opened, cookie })),
      this.#world.log,
      "upgrade of a client",
    );
  }

  #admitUpgrade(
    request: IncomingMessage,
    {
      socket,
      head,
      entrance,
      cookie,
    }: { socket: Duplex; head: Buffer; entrance: Entrance; cookie: string | undefined },
  ): void {
    const remote = addressOf(request);
    const principal = this.#guard.admit(request, entrance, cookie);
    if (isRefusal(principal)) return refuseUpgrade(socket, principal);
    if (pathOf(request) !== "/acp") return refuseUpgrade(socket, this.#guard.refuse("unknown_path", remote));
    if (!this.#takesClients()) return refuseUpgrade(socket, this.#guard.refuse("closing", remote));
    if (!this.#hasRoom(principal)) return refuseUpgrade(socket, this.#guard.refuse("too_many_connections", remote));
    const accept = () =>
      this.#webSockets.handleUpgrade(request, socket, head, (web) => this.#accept(web, socket, { principal, remote }));
    const wait = this.#options.clientsWait?.();
    if (!wait) return accept();
    socket.on("error", () => {}); // the client is gone
    const waited = wait.then(() => {
      if (this.#takesClients()) accept();
      else refuseUpgrade(socket, this.#guard.refuse("closing", remote));
    });
    handled(waited, this.#world.log, "upgrade of a client");
  }

  #accept(web: WebSocket, socket: Duplex, { principal, remote }: { principal: Principal; remote: string }): void {
    const requests = this.#requestsOf(principal);
    const stream = new SocketStream(web, { world: this.#world, socket, requests });
    const about = { transport: "websocket", remoteAddress: remote } as const;
    const place = this.#register(principal, about, (reason, code) => stream.close(reason, code));
    if (!place) return stream.close("too many connections of this token");
    const closed = stream.closed.then(() => place.end(stream.endCode));
    handled(closed, this.#world.log, "end of a connection");
    const id = Buffer.from(this.#world.randomBytes(6)).toString("hex");
    this.#options.connect(principal, stream, { id, ...about });
  }

  #requestsOf(principal: Principal): ConnectionRequests {
    return new ConnectionRequests({
      world: this.#world,
      principal,
      budgets: this.#budgets,
      audit: this.#options.access.audit,
      onRequest: (outcome) => this.#metrics.request(outcome),
    });
  }

  #hasRoom(principal: Principal): boolean {
    const limited = ({ tokenId, parentId = tokenId }: Principal) => parentId;
    const token = limited(principal);
    if (token === undefined) return true;
    const own = [...this.#connections].filter((connection) => limited(connection.principal) === token);
    return own.length < GATEWAY_LIMITS.connections.perToken;
  }

  /** Undefined when the token has no place left. */
  #register(
    principal: Principal,
    about: Omit<ConnectionAbout, "id">,
    close: Connection["close"],
  ): { readonly end: (code?: number) => void } | undefined {
    if (!this.#hasRoom(principal)) return undefined;
    const { expiresAt, account, tokenId, name } = principal;
    const leftMs = expiresAt === undefined ? undefined : Math.max(0, expiresAt - this.#world.now());
    const expiry = leftMs === undefined ? undefined : this.#world.after(leftMs, () => close("the token expired"));
    const connection: Connection = { principal, about, close, expiry };
    this.#connections.add(connection);
    const { audit } = this.#options.access;
    const fields = { account, token: tokenId ?? null, name, transport: about.transport, remote: about.remoteAddress };
    audit.write("connected", fields);
    const end = (code?: number) => {
      if (!this.#connections.delete(connection)) return;
      expiry?.clear();
      audit.write("disconnected", { ...fields, ...defined({ code }) });
    };
    return { end };
  }

  #closeToken(tokenId: string, reason: string): void {
    this.#budgets.forget(tokenId);
    for (const { principal, close } of this.#connections) if (principal.tokenId === tokenId) close(reason);
  }

  #counts(): Record<string, number> {
    const counts: Record<string, number> = { websocket: 0, http: 0 };
    for (const { about } of this.#connections) counts[about.transport] = (counts[about.transport] ?? 0) + 1;
    return counts;
  }
}

function pathOf({ url = "/" }: IncomingMessage): string {
  return url.split("?", 1)[0] ?? "/";
}

/** Figures are counts: whoever may connect to the loopback address may see them. */
function isNear(entrance: Entrance): boolean {
  return entrance.kind === "socket" || isLoopbackHost(entrance.host);
}

function refuseUpgrade(socket: Duplex, refusal: Refusal): void {
  const headers = Object.entries({ ...headersOf(refusal), "content-length": "0" });
  const lines = [`HTTP/1.1 ${refusal.status} ${WORDS[refusal.status] ?? "Refused"}`].concat(
    headers.map(([name, value]) => `${name}: ${value}`),
  );
  socket.end(`${lines.join("\r\n")}\r\n\r\n`, () => socket.destroy());
}
