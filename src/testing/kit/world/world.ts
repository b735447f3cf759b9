// A World in which nothing is real: time stands until it is moved, processes are scripts, files are in memory.
import { type Duplex, duplexPair } from "node:stream";
import { setImmediate as realSetImmediate } from "node:timers";
import { createDeadline } from "../../../base/async/deadline.js";
import type { Telemetry, WireTrace } from "../../../base/ports/trace.js";
import {
  type Child,
  createLog,
  type Deadline,
  type Fetch,
  type HttpPool,
  type HttpPoolOptions,
  type Log,
  type LoopbackAnswer,
  type LoopbackListener,
  type LoopbackRequest,
  type Processes,
  type ResolvedAddress,
  type ServedPlace,
  type ServeHandlers,
  type ServeOptions,
  type SpawnRequest,
  shareLog,
  type Thread,
  type Timer,
  type Watch,
  type World,
} from "../../../base/ports/world.js";
import { type HttpServing, httpServing, httpPool as realHttpPool, thread as realThread } from "../../../world/index.js";
import type { Behaviour } from "../mcp-server/behaviour.js";
import { FakeChild, type FakeChildOptions, scriptedChild } from "./child.js";
import { FakeClock, settle } from "./clock.js";
import { FakeFiles } from "./files.js";

/** What a command does when it is spawned; return undefined for "no such command". */
export type SpawnScript = (request: SpawnRequest, world: FakeWorld) => FakeChild | undefined;

export interface FakeWorldOptions {
  /** Milliseconds since the epoch at the start. */
  readonly nowMs?: number;
  readonly seed?: number;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly platform?: NodeJS.Platform;
  /** Files that are there from the start, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** Folders that are there from the start, empty; a few usual places unless given. */
  readonly folders?: readonly string[];
  readonly fetch?: Fetch;
  /** Addresses of host names; a name that is not here does not exist. */
  readonly hosts?: Readonly<Record<string, readonly string[]>>;
  readonly spawn?: SpawnScript;
  readonly trace?: WireTrace;
  readonly telemetry?: Telemetry;
}

export interface LogEntry {
  readonly level: string;
  readonly event: string;
  readonly [field: string]: string | number | boolean | null | undefined;
}

const USUAL_FOLDERS: readonly string[] = ["/project", "/tmp"];
const OWN_PROCESS_ID = 4_242;
const MEMORY_BYTES = 8 * 2 ** 30;
const DEFAULT_START_MS = Date.UTC(2026, 10, 1);

/**
 * A world without time, processes and files of this machine.
 *
 * @example
 * const world = new FakeWorld();
 */
export class FakeWorld implements World {
  readonly clock: FakeClock;
  readonly files: FakeFiles;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly fetch: Fetch;
  readonly log: Log;
  readonly trace?: WireTrace;
  readonly telemetry?: Telemetry;
  /** Other processes of the machine: number and identity. */
  readonly otherProcesses: Map<number, string> = new Map();
  readonly processes: Processes = {
    ownId: OWN_PROCESS_ID,
    identityOf: (id) => (id === OWN_PROCESS_ID ? "this" : this.otherProcesses.get(id)),
    memoryBytes: MEMORY_BYTES,
    memoryOf: (ids) => new Map(ids.flatMap((id) => this.#memoryOf(id))),
  };
  /** Every child spawned, in order, also those that could not be started. */
  readonly children: FakeChild[] = [];
  /** Who listens on this machine; tests visit it. */
  readonly listeners: FakeListeners = new FakeListeners();
  /** The same for whole servers, without a network. */
  readonly servers: FakeServers = new FakeServers();
  /** Log lines so far, as they were written. */
  readonly logLines: string[] = [];
  /** Host names looked up, in order. */
  readonly lookups: string[] = [];
  readonly #hosts: Readonly<Record<string, readonly string[]>>;
  readonly #spawn: SpawnScript;
  #randomState: number;

  constructor(options: FakeWorldOptions = {}) {
    this.clock = new FakeClock(options.nowMs ?? DEFAULT_START_MS);
    this.files = new FakeFiles(options.files, options.folders ?? USUAL_FOLDERS);
    this.env = options.env ?? {};
    this.platform = options.platform ?? "linux";
    this.fetch = options.fetch ?? refuseFetch;
    this.log = createLog({ level: "debug", now: () => this.now(), write: (line) => this.logLines.push(line) });
    shareLog(this.log);
    if (options.trace) this.trace = options.trace;
    if (options.telemetry) this.telemetry = options.telemetry;
    this.#hosts = options.hosts ?? {};
    this.#spawn = options.spawn ?? (() => undefined);
    this.#randomState = options.seed ?? 1;
  }

  /** Moves the clock and runs what falls due. */
  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  /** Lets code under way run out while time stands. */
  async settle(): Promise<void> {
    await settle();
  }

  get logEntries(): readonly LogEntry[] {
    return this.logLines.map((line) => {
      const entry: LogEntry = JSON.parse(line);
      return entry;
    });
  }

  now(): number {
    return this.clock.nowMs;
  }

  monotonicMs(): number {
    return this.clock.elapsedMs;
  }

  after(delayMs: number, run: () => void): Timer {
    return this.clock.after(delayMs, run);
  }

  /** A real turn of the event loop: no time passes on any clock. */
  soon(run: () => void): void {
    realSetImmediate(run);
  }

  deadline(timeoutMs: number, parent?: AbortSignal): Deadline {
    return createDeadline((delayMs, run) => this.after(delayMs, run), timeoutMs, parent);
  }

  spawn(request: SpawnRequest): Child {
    const child = this.#spawn(request, this) ?? notFound(request);
    this.children.push(child);
    return child;
  }

  /** A real thread: what runs in it computes, and touches no clock. */
  thread(script: URL, data: unknown): Thread {
    return realThread(script, data);
  }

  watch(path: string, onChange: () => void): Watch {
    return this.files.watch(path, onChange);
  }

  /** Real connections, so that tests can have real HTTP servers of their own; names lead where `hosts` says. */
  httpPool(options: HttpPoolOptions): HttpPool {
    return realHttpPool(options);
  }

  async listen(port: number, answer: Answering): Promise<LoopbackListener> {
    return this.listeners.open(port, answer);
  }

  async serve(options: ServeOptions, handlers: ServeHandlers): Promise<ServedPlace> {
    return this.servers.open(options, handlers);
  }

  async lookup(host: string): Promise<readonly ResolvedAddress[]> {
    this.lookups.push(host);
    const addresses = Object.hasOwn(this.#hosts, host) ? this.#hosts[host] : undefined;
    if (!addresses) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: "ENOTFOUND" });
    return addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  }

  /** The same sequence in every run with the same seed. */
  random(): number {
    return this.#nextRandom() / 2 ** 32;
  }

  randomBytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.#nextRandom() >>> 24);
  }

  #memoryOf(id: number): [number, number][] {
    const child = this.children.find(({ pid }) => pid === id);
    return child?.isGroupAlive() ? [[id, child.memoryBytes]] : [];
  }

  /** mulberry32: small, and good enough for jitter and ids. */
  #nextRandom(): number {
    this.#randomState = (this.#randomState + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#randomState ^ (this.#randomState >>> 15), this.#randomState | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }
}

/**
 * Makes a fake world.
 *
 * @example
 * const world = fakeWorld({ env: { HOME: "/home/me" } });
 */
export function fakeWorld(options?: FakeWorldOptions): FakeWorld {
  return new FakeWorld(options);
}

/** A spawn script: every command is a scripted MCP server. */
export function spawnsServer(behaviour: Behaviour): SpawnScript {
  return (request, world) => scriptedChild(request, behaviour, (delayMs, run) => world.after(delayMs, run));
}

/** A spawn script: every command is a child whose streams the test reads and writes itself. */
export function spawnsChild(options?: FakeChildOptions): SpawnScript {
  return (request) => new FakeChild(request, options);
}

function notFound(request: SpawnRequest): FakeChild {
  const error = Object.assign(new Error(`spawn ${request.command} ENOENT`), { code: "ENOENT" });
  return new FakeChild(request, {}, error);
}

const refuseFetch: Fetch = async (input) => {
  throw new Error(`the fake world has no network: ${input instanceof Request ? input.url : String(input)}`);
};

type Answering = Parameters<World["listen"]>[1];

const FIRST_PORT = 49_152;

export class FakeListeners {
  readonly #open = new Map<number, Answering>();
  #nextPort = FIRST_PORT;

  /** None should be left when what opened them is done. */
  get ports(): readonly number[] {
    return [...this.#open.keys()];
  }

  open(wanted: number, answer: Answering): LoopbackListener {
    const port = wanted === 0 ? this.#nextPort++ : wanted;
    if (this.#open.has(port))
      throw Object.assign(new Error(`listen EADDRINUSE 127.0.0.1:${port}`), { code: "EADDRINUSE" });
    this.#open.set(port, answer);
    return {
      port,
      [Symbol.asyncDispose]: async () => {
        this.#open.delete(port);
      },
    };
  }

  /** What a browser on this machine gets. Throws when nobody listens there. */
  visit(address: string, other: Partial<LoopbackRequest> = {}): LoopbackAnswer {
    const { port, host, pathname, search } = new URL(address);
    const answer = this.#open.get(Number(port));
    if (!answer) throw new Error(`connect ECONNREFUSED ${host}`);
    return answer({ method: "GET", target: `${pathname}${search}`, host, ...other });
  }
}

/** Servers that are reached in memory. TLS is left out; the deadlines of a request are those of no clock. */
export class FakeServers {
  readonly #open = new Map<string, { readonly serving: HttpServing; readonly maxConnections: number }>();
  #nextPort = FIRST_PORT;

  /** None should be left when what opened them is done. */
  get addresses(): readonly string[] {
    return [...this.#open.keys()];
  }

  open(options: ServeOptions, handlers: ServeHandlers): ServedPlace {
    const { place, maxConnections } = options;
    const port = "path" in place ? 0 : place.port || this.#nextPort++;
    const address = "path" in place ? place.path : `${place.host}:${port}`;
    if (this.#open.has(address)) {
      throw Object.assign(new Error(`listen EADDRINUSE ${address}`), { code: "EADDRINUSE" });
    }
    const serving = httpServing(options, handlers);
    this.#open.set(address, { serving, maxConnections });
    return {
      address,
      port,
      [Symbol.asyncDispose]: async () => {
        this.#open.delete(address);
        for (const socket of serving.sockets) socket.destroy();
      },
    };
  }

  /** The client's end of a connection. Throws when nobody listens there; destroyed at once where there are too many. */
  connect(address: string): Duplex {
    const found = this.#open.get(address);
    if (!found) throw Object.assign(new Error(`connect ECONNREFUSED ${address}`), { code: "ECONNREFUSED" });
    const [here, there] = duplexPair();
    const isFull = found.serving.sockets.size >= found.maxConnections;
    found.serving.server.emit(isFull ? "drop" : "connection", isFull ? {} : there);
    if (isFull) here.destroy();
    return here;
  }
}
