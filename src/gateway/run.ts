// A whole gateway: its access, its sessions and its server, from the start to the end.
import type { AnyMessage } from "@agentclientprotocol/sdk";
import { loadAgent, messageSink } from "../acp/index.js";
import type { ReadonlyCell } from "../base/async/cell.js";
import { contained, handled } from "../base/async/scope.js";
import { TenonError } from "../base/errors.js";
import { isLoopbackHost } from "../base/io/net-policy.js";
import { defined } from "../base/json/defined.js";
import type { Log, World } from "../base/ports/world.js";
import type { AskedQuestion } from "../session/index.js";
import { OWN_ACCOUNT, type Principal } from "./access/principal.js";
import { GATEWAY_LIMITS } from "./limits.js";
import { ClientLinks } from "./links/client-links.js";
import { SERVICE_RESTART } from "./links/link.js";
import { NodeLinks, type NodeLinksOptions } from "./links/node-links.js";
import { fileGatewayStore } from "./nodes/file-store.js";
import type { GatewayStore, Nodes } from "./nodes/nodes.js";
import { Takeover, tellWhileAway } from "./nodes/takeover.js";
import { Notifier, type NotifierOptions } from "./notify.js";
import type { ConnectedClient, OpenQuestion } from "./protocol.js";
import type { ClientStream, ConnectionAbout } from "./server/client-stream.js";
import { type Gateway, type GatewayAccess, openAccess, startGateway } from "./server/gateway.js";
import type { ListenAt } from "./server/listen.js";
import type { GatewayFigures } from "./server/metrics.js";
import { ClientAccess } from "./sessions/client-access.js";
import {
  countByState,
  GatewayMethods,
  type GatewayMethodsOptions,
  type PageAddress,
} from "./sessions/gateway-methods.js";
import type { OpenRuntime } from "./sessions/runtimes.js";
import { type SessionChange, SharedSessions } from "./sessions/shared-sessions.js";

export interface RunGatewayOptions {
  readonly world: World;
  readonly stateDir: string;
  /** Closed with the gateway. In files of the state folder unless given. */
  readonly store?: GatewayStore;
  readonly listen: readonly ListenAt[];
  /** Names by which the gateway is reached besides its addresses. */
  readonly hosts?: readonly string[];
  /** The directories that sessions may be in; all unless given. */
  readonly roots?: readonly string[];
  /** Of this machine: two gateways with the same have the same files. */
  readonly host: string;
  /** What the gateway is called, for people; as its machine unless given. */
  readonly node?: string;
  readonly openRuntime: OpenRuntime;
  /** The files of the page. */
  readonly pageFolder?: string;
  /** The addresses of this machine in its networks, for links that other machines follow. */
  readonly ownAddresses?: () => readonly string[];
  /** Where questions and ends of turns are told; nowhere unless given. */
  readonly notify?: NotifierOptions["settings"];
  /** Hears every message of every client. */
  readonly onTraffic?: (dir: "in" | "out", message: object) => void;
  /** A client asked for the end of the gateway; turns that run get this long. */
  onStop(drainMs?: number): void;
}

interface ConnectedAs {
  readonly principal: Principal;
  readonly about: ConnectionAbout;
  readonly since: number;
}

type Agent = Awaited<ReturnType<typeof loadAgent>>;

export class RunningGateway implements AsyncDisposable {
  readonly #options: RunGatewayOptions;
  readonly #store: GatewayStore;
  readonly #access: GatewayAccess;
  readonly #sessions: SharedSessions;
  readonly #startedMs: number;
  readonly #agent: Agent;
  /** To other nodes; undefined where this one is alone. */
  readonly #links: NodeLinks | undefined;
  readonly #notifier: Notifier | undefined;
  readonly #clients = new Map<ClientAccess, ConnectedAs>();
  #server: Gateway | undefined;
  #takeover: Takeover | undefined;
  #stopTelling: (() => void) | undefined;
  /** Where no address was given, and a browser of this machine is to be let in. */
  #listening: Promise<void> | undefined;

  private constructor(
    options: RunGatewayOptions & { readonly store: GatewayStore },
    access: GatewayAccess,
    agent: Agent,
  ) {
    this.#agent = agent;
    const { world, stateDir, store, openRuntime, notify } = options;
    this.#options = options;
    this.#store = store;
    this.#access = access;
    this.#startedMs = world.now();
    this.#sessions = new SharedSessions({ world, stateDir, store, openRuntime, audit: access.audit });
    this.#notifier = notify && new Notifier({ world, settings: notify });
    const accept: NodeLinksOptions["accept"] = (principal, stream, { id, node }) =>
      this.#connect(principal, stream, { id, transport: "node", remoteAddress: node });
    this.#links = store.nodes && new NodeLinks({ world, nodes: store.nodes, accept });
    this.#sessions.watch((change) => this.#notify(change));
  }

  /** Throws before anything listens when an address, a file or the socket cannot be used. */
  static async start(options: RunGatewayOptions): Promise<RunningGateway> {
    const { world, stateDir, listen, hosts, pageFolder } = options;
    const store = options.store ?? fileGatewayStore(world, stateDir);
    const access = await openAccess(world, stateDir, store).catch(async (error: unknown) => {
      await store[Symbol.asyncDispose]();
      throw error;
    });
    const gateway = new RunningGateway({ ...options, store }, access, await loadAgent());
    try {
      gateway.#server = await startGateway({
        ...{ world, listen, access },
        ...defined({ hosts, pageFolder }),
        connect: (principal, stream, about) => gateway.#connect(principal, stream, about),
        figures: () => gateway.#figures(),
        notReady: () => gateway.#problem(),
        clientsWait: () => gateway.#takeover?.calm(),
        takesClients: () => store.nodes?.self.value !== undefined || !store.nodes,
      });
    } catch (error) {
      await gateway[Symbol.asyncDispose]();
      throw error;
    }
    if (store.nodes) gateway.#join(store.nodes);
    else gateway.#sessions.continueOpenTurns((await access.tokens.kept.list()).map(({ account }) => account));
    return gateway;
  }

  get addresses(): readonly string[] {
    return this.#server?.addresses ?? [];
  }

  /** No client is connected, and no session has work. */
  get isIdle(): ReadonlyCell<boolean> {
    return this.#sessions.isIdle;
  }

  /** No prompt and no connection is taken any more; turns get this long, and the next gateway goes on with the rest. */
  async drain(graceMs: number = GATEWAY_LIMITS.sessions.drainMs): Promise<void> {
    this.#server?.drain();
    // Those that it opens now find that they may not go on.
    await Promise.all([this.#takeover?.[Symbol.asyncDispose](), this.#sessions.drain(graceMs)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopTelling?.();
    await this.#takeover?.[Symbol.asyncDispose]();
    await this.#server?.[Symbol.asyncDispose]();
    await this.#links?.[Symbol.asyncDispose]();
    await this.#notifier?.[Symbol.asyncDispose]();
    await this.#sessions[Symbol.asyncDispose]();
    await this.#access[Symbol.asyncDispose]();
    await this.#store[Symbol.asyncDispose]();
  }

  /** One of several nodes. */
  #join(nodes: Nodes): void {
    const { world, roots = [] } = this.#options;
    const sessions = this.#sessions;
    this.#takeover = new Takeover({
      ...{ world, nodes, roots },
      hasRoom: (account) => sessions.hasRoom(account),
      open: (session) => sessions.takeUp(session),
    });
    this.#stopTelling = tellWhileAway(nodes, (level, text) => {
      for (const client of this.#clients.keys()) client.tell(level, text);
    });
  }

  #connect(principal: Principal, connected: ClientStream, about: ConnectionAbout): void {
    const { world, roots = [], host, node = host, onTraffic } = this.#options;
    const client = onTraffic ? heardStream(connected, onTraffic, world.log) : connected;
    const { audit, clientKeys: keys, tokens, codes } = this.#access;
    const sessions = this.#sessions;
    contained(world.log, "connect a client", () => {
      const methods = new GatewayMethods({
        ...{ sessions, principal, audit, node, codes },
        tokens: tokens.kept,
        pageAddress: (from) => this.#pageAddress(from),
        details: () => this.#details(),
        ...defined({ nodes: this.#store.nodes }),
        stop: (drainMs) => this.#options.onStop(drainMs),
      });
      const isLinked = about.transport === "node";
      const reconnect = () => client.close("a session moved: connect again", SERVICE_RESTART);
      const access = new ClientAccess({
        ...{ sessions, principal, keys, audit, roots, node, host, methods, isLinked, reconnect },
        hasNodes: this.#links !== undefined,
      });
      const stream = this.#links && !isLinked ? this.#forwarding(this.#links, client, access) : client;
      const agent = this.#agent.createAgent({
        access,
        send: (message) => stream.send(message),
        sendShared: (shared) => stream.sendShared(shared),
      });
      agent.connect(stream);
      this.#clients.set(access, { principal, about, since: world.now() });
      handled(
        stream.closed.then(() => this.#clients.delete(access)),
        world.log,
        "end of a client",
      );
    });
  }

  /** The client may use sessions of other nodes. */
  #forwarding(links: NodeLinks, stream: ClientStream, access: ClientAccess): ClientStream {
    const { NumberedRelay: Relay, toRequestError: toWire } = this.#agent;
    return new ClientLinks({ links, stream, access, Relay, toWire, log: this.#options.world.log }).stream;
  }

  /** Listens at the loopback address first where there is no address yet: a browser cannot reach the unix socket. */
  async #pageAddress(from: "here" | "elsewhere"): Promise<PageAddress> {
    const server = this.#server;
    if (!server) throw new TenonError("session.closed", "the gateway stops");
    if (server.entrances.length === 0) {
      this.#listening ??= server.listen({ kind: "tcp", host: "127.0.0.1", port: 0 }).finally(() => {
        this.#listening = undefined;
      });
      await this.#listening;
    }
    const { hosts = [], ownAddresses = () => [] } = this.#options;
    return pageAddress(server.entrances, from, { hosts, own: ownAddresses() });
  }

  /** Of the user whose gateway this is: the addresses are theirs. */
  #notify({ account, id, session, info }: SessionChange): void {
    if (!this.#notifier || account !== OWN_ACCOUNT) return;
    const about = { sessionId: id, cwd: session?.cwd ?? "" };
    this.#notifier.questions(about, (session?.questions.open ?? []).map(notifiedQuestion));
    if (info?.ended) this.#notifier.turnEnded(about, info.ended, info.clients.length);
  }

  #details(): ReturnType<GatewayMethodsOptions["details"]> {
    const { world, roots = [] } = this.#options;
    const { ownId } = world.processes;
    const rssBytes = world.processes.memoryOf([ownId])?.get(ownId);
    const connections = [...this.#clients].map(([{ client }, connection]) => this.#connected(client, connection));
    const about = { pid: ownId, startedAt: this.#startedMs, listen: this.addresses, roots, connections };
    return { ...about, ...defined({ rssBytes }) };
  }

  #connected(
    { client, name, role }: ClientAccess["client"],
    { principal: { account, tokenId }, about: { transport, remoteAddress }, since }: ConnectedAs,
  ): ConnectedClient {
    const open = this.#sessions
      .open(account)
      .filter(({ members }) => [...members].some((one) => one.client === client));
    const sessions = open.map(({ id }) => id);
    const about = { client, name, role, account, transport, address: remoteAddress, since, sessions };
    return { ...about, ...defined({ token: tokenId }) };
  }

  /** For whoever decides where new work goes. */
  #problem(): string | undefined {
    if (this.#sessions.isDraining) return "draining";
    const problem = this.#store.problem();
    if (problem !== undefined) return problem;
    const { nodes } = this.#store;
    if (nodes && nodes.self.value === undefined) return "the node has no lease";
    if (!this.#access.audit.isWritten()) return "the state folder cannot be written";
    const isFull = this.#sessions.open().length >= GATEWAY_LIMITS.sessions.inAll;
    return isFull ? `there are ${GATEWAY_LIMITS.sessions.inAll} sessions` : undefined;
  }

  #figures(): GatewayFigures {
    const open = this.#sessions.open().map(({ session }) => session);
    const questions = open.flatMap((session) => session.questions.open);
    const oldest = Math.min(...questions.map(({ askedMs }) => askedMs));
    const { turns, records } = this.#sessions.totals;
    const { nodes } = this.#store;
    const node = nodes && { ...nodes.figures(), takeovers: this.#takeover?.count ?? 0 };
    return {
      sessions: countByState(open),
      clients: open.reduce((sum, session) => sum + session.view().clients.length, 0),
      questions: questions.length,
      oldestQuestionMs: Number.isFinite(oldest) ? this.#options.world.now() - oldest : 0,
      turns,
      records,
      ...defined({ node }),
    };
  }
}

function heardStream(stream: ClientStream, hear: NonNullable<RunGatewayOptions["onTraffic"]>, log: Log): ClientStream {
  const send: ClientStream["send"] = (message) => {
    hear("out", message);
    return stream.send(message);
  };
  const incoming = new TransformStream<AnyMessage, AnyMessage>({
    transform: (message, controller) => {
      hear("in", message);
      controller.enqueue(message);
    },
  });
  return {
    readable: stream.readable.pipeThrough(incoming),
    writable: messageSink((message) => handled(Promise.resolve(send(message)), log, "message to a client")),
    send,
    sendShared: (shared) => {
      hear("out", shared.message);
      return stream.sendShared(shared);
    },
    closed: stream.closed,
    close: (reason, code) => stream.close(reason, code),
  };
}

/** By which of its addresses a browser reaches the page. */
export function pageAddress(
  entrances: Gateway["entrances"],
  from: "here" | "elsewhere",
  { hosts, own }: { readonly hosts: readonly string[]; readonly own: readonly string[] },
): PageAddress {
  const isAny = (host: string) => host === "0.0.0.0" || host === "::";
  const isNear = ({ host }: { readonly host: string }) => isLoopbackHost(host);
  const ranked = [...entrances].sort((one, other) => Number(isNear(other)) - Number(isNear(one)));
  const entrance = from === "here" ? ranked[0] : ranked.at(-1);
  if (!entrance) throw new TenonError("gateway.not_started", "the gateway listens at no address");
  const { host, port, isTls } = entrance;
  const [named] = hosts;
  const scheme = isTls ? "https" : "http";
  if (named !== undefined && !isNear(entrance) && (isTls || from === "elsewhere")) {
    return { url: `${scheme}://${named.includes(":") ? named : `${named}:${port}`}/`, isNear: false };
  }
  const reached = isAny(host) ? ((from === "elsewhere" ? own[0] : undefined) ?? "127.0.0.1") : host;
  const shown = reached.includes(":") ? `[${reached}]` : reached;
  return { url: `${scheme}://${shown}:${port}/`, isNear: isLoopbackHost(reached) };
}

/** What it shows is put together only where it is sent. */
function notifiedQuestion(asked: AskedQuestion): OpenQuestion {
  const { id, of, askedMs } = asked;
  return {
    id,
    of,
    askedAt: askedMs,
    get shown() {
      return asked.shown;
    },
  };
}
