// The real World on Node: the only place besides the CLI where the process, the clock and the disk are touched.
import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import type {
  ClientRequest,
  ClientRequestArgs,
  Agent as HttpAgent,
  IncomingMessage,
  Server,
  ServerResponse,
} from "node:http";
import { type LookupFunction, Socket } from "node:net";
import { userInfo } from "node:os";
import { isAbsolute } from "node:path";
import type { Duplex } from "node:stream";
import { Bag } from "../base/async/bag.js";
import { createDeadline } from "../base/async/deadline.js";
import { contained } from "../base/async/scope.js";
import { defined } from "../base/json/defined.js";
import type { WireTrace } from "../base/ports/trace.js";
import {
  createLog,
  type HttpHead,
  type HttpPool,
  type HttpPoolOptions,
  type Log,
  type LogLevel,
  type LoopbackAnswer,
  type LoopbackListener,
  type LoopbackRequest,
  type ResolvedAddress,
  sharedLog,
  shareLog,
  type Timer,
  type World,
} from "../base/ports/world.js";
import { files, watch } from "./files.js";
import { processes } from "./processes.js";
import { builtinHttp, builtinHttps, serve } from "./serve.js";
import { spawn } from "./spawn.js";
import { thread } from "./thread.js";
import { openTelemetry } from "./trace.js";

export interface NodeWorldOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly log?: Log;
  /** Records the messages that cross a wire. */
  readonly trace?: WireTrace;
}

export function nodeWorld(options: NodeWorldOptions = {}): World {
  const log = options.log ?? stderrLog("warn");
  shareLog(log);
  return {
    now: () => Date.now(),
    monotonicMs: () => performance.now(),
    after,
    soon: (run) => {
      setImmediate(runTimer, run);
    },
    deadline: (timeoutMs, parent) => createDeadline(after, timeoutMs, parent),
    spawn,
    thread,
    fetch: (input, init) => fetch(input, init),
    lookup: async (host) =>
      (await lookup(host, { all: true })).map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 })),
    httpPool,
    listen,
    serve,
    files,
    processes,
    watch,
    randomBytes: (count) => new Uint8Array(randomBytes(count)),
    random: () => Math.random(),
    env: options.env ?? machineEnv(),
    platform: process.platform,
    log,
    telemetry: openTelemetry,
    ...defined({ trace: options.trace }),
  };
}

/** The directory this process runs in. */
export function currentFolder(): string {
  return process.cwd();
}

export function stderrLog(level: LogLevel): Log {
  return createLog({ level, now: () => Date.now(), write: (line) => process.stderr.write(line) });
}

// The environment of this process, with the home directory of the user database where HOME is not set.

type Variables = Readonly<Record<string, string | undefined>>;

/** A `HOME` that is empty or relative is no home: it would lie in whatever project is open. */
export function machineEnv(given: Variables = process.env, ask: () => string | undefined = systemHome): Variables {
  if (given["HOME"] !== undefined && isAbsolute(given["HOME"])) return { ...given };
  const home = ask();
  const { HOME: _unusable, ...rest } = given;
  return home === undefined ? rest : { ...rest, HOME: home };
}

/** By the user database; undefined for a user it does not know, as containers have them. */
function systemHome(): string | undefined {
  try {
    const { homedir } = userInfo();
    return isAbsolute(homedir) ? homedir : undefined;
  } catch {
    return undefined;
  }
}

// HTTP at this machine's own address, for what a browser here brings back. One small answer to each request.

/** A browser asks at once, and with little. */
const REQUEST_TIMEOUT_MS = 5_000;
const MAX_HEADER_BYTES = 32_768;
/** For the last answer to go out before its connection is ended. */
const FLUSH_MS = 500;

export async function listen(
  port: number,
  answer: (request: LoopbackRequest) => LoopbackAnswer,
): Promise<LoopbackListener> {
  const underWay = new Set<ServerResponse>();
  const server = builtinHttp().createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) => {
    underWay.add(response);
    response.once("close", () => underWay.delete(response));
    const { status, headers, body } = answerTo(request, answer);
    response.writeHead(status, { ...headers, connection: "close" });
    response.end(body);
    request.resume();
  });
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.headersTimeout = REQUEST_TIMEOUT_MS;
  await new Promise<void>((resolve, reject) => {
    server.on("error", reject); // for as long as it lives: no file descriptor may be left for a connection
    server.listen({ port, host: "127.0.0.1", exclusive: true }, resolve);
  });
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  return { port: bound, [Symbol.asyncDispose]: () => close(server, underWay) };
}

function answerTo(
  { method, url, headers }: IncomingMessage,
  answer: (request: LoopbackRequest) => LoopbackAnswer,
): LoopbackAnswer {
  try {
    return answer({ method: method ?? "GET", target: url ?? "/", host: headers.host ?? "" });
  } catch {
    return { status: 500, headers: {}, body: "" };
  }
}

/** Browsers open connections they never use: those would hold a plain `close` open. */
async function close(server: Server, underWay: ReadonlySet<ServerResponse>): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const answered = Promise.all(
    [...underWay].map((response) => new Promise<void>((resolve) => response.once("close", resolve))),
  );
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, FLUSH_MS);
  });
  await Promise.race([answered, patience]);
  clearTimeout(timer);
  server.closeAllConnections();
  await closed;
}

// Long waits that mostly end early (deadlines): one real timer for all of them, instead of one set and cleared for each.

/** What a timer throws has no caller: it would end the process with every session in it. */
function runTimer(run: () => void): void {
  contained(sharedLog(), "timer", run);
}

/** The longest delay a Node timer takes. */
const MAX_DELAY_MS = 2_147_483_647;

class Wait implements Timer {
  readonly atMs: number;
  /** Undefined once it is cleared: what waits no more must not keep a whole call, see `Bag`. */
  run: (() => void) | undefined;
  readonly #timers: LongTimers;

  constructor(atMs: number, run: () => void, timers: LongTimers) {
    this.atMs = atMs;
    this.run = run;
    this.#timers = timers;
  }

  clear(): void {
    this.run = undefined;
    this.#timers.forget(this);
  }
}

/**
 * Setting and clearing a lone timer of Node costs every small request some 5 %. Here the real one stays set when nobody
 * waits any more, without keeping the process alive, and finds that out when it fires.
 */
export class LongTimers {
  readonly #waits = new Bag<Wait>();
  #real: NodeJS.Timeout | undefined;
  #firesAtMs = Number.POSITIVE_INFINITY;

  after(delayMs: number, run: () => void): Timer {
    const nowMs = performance.now();
    const wait = new Wait(nowMs + delayMs, run, this);
    this.#waits.add(wait);
    if (wait.atMs < this.#firesAtMs) this.#arm(wait.atMs, nowMs);
    else if (this.#waits.size === 1) this.#real?.ref();
    return wait;
  }

  /** Of one that was cleared. */
  forget(wait: Wait): void {
    if (this.#waits.delete(wait)) this.#release();
  }

  #release(): void {
    if (this.#waits.size === 0) this.#real?.unref();
  }

  #arm(atMs: number, nowMs: number): void {
    clearTimeout(this.#real);
    this.#firesAtMs = atMs;
    // Rounded up: Node cuts fractions off, and no timer may fire early.
    const delayMs = Math.min(Math.max(0, Math.ceil(atMs - nowMs)), MAX_DELAY_MS);
    this.#real = setTimeout(() => this.#fire(), delayMs);
  }

  #fire(): void {
    this.#real = undefined;
    this.#firesAtMs = Number.POSITIVE_INFINITY;
    const nowMs = performance.now();
    for (const wait of this.#waits) {
      if (wait.atMs > nowMs) continue;
      this.#waits.delete(wait);
      if (wait.run) runTimer(wait.run);
    }
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const { atMs } of this.#waits) earliestMs = Math.min(earliestMs, atMs);
    if (earliestMs < this.#firesAtMs) this.#arm(earliestMs, performance.now());
    // One that was set meanwhile may have been cleared while others were still to have their turn.
    this.#release();
  }
}

const longTimers = new LongTimers();
/** What waits this long is a deadline: hardly ever reached, and a few milliseconds of it are nothing. */
const LONG_MS = 1_000;

function after(delayMs: number, run: () => void): Timer {
  if (delayMs >= LONG_MS) return longTimers.after(delayMs, run);
  const timer = setTimeout(runTimer, delayMs, run);
  return { clear: () => clearTimeout(timer) };
}

type Created = (error: Error | null, stream: Duplex) => void;

/** Connections that stood, if only for a moment: what was written to them may have arrived. */
const made = new WeakSet<Duplex>();

/** The newest idle connection first: the others then get old enough to be dropped. */
const KEPT = { keepAlive: true, scheduling: "lifo" } as const;

export function httpPool({ isTls, addresses, maxIdleMs }: HttpPoolOptions): HttpPool {
  const options = { ...KEPT, lookup: fixedLookup(addresses), rejectUnauthorized: true };
  const { Agent } = isTls ? builtinHttps() : builtinHttp();
  const agent: HttpAgent = new Agent(options);
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (request: ClientRequestArgs, callback?: Created) => {
    const socket = connect(request, callback);
    socket?.once(isTls ? "secureConnect" : "connect", () => made.add(socket));
    return socket;
  };
  let idleMs = maxIdleMs;
  let heard: string | undefined;
  agent.keepSocketAlive = (socket: Duplex) => {
    if (idleMs <= 0 || !(socket instanceof Socket)) return false;
    socket.unref();
    // Armed once and left so: the agent ends only idle connections.
    if (socket.timeout !== idleMs) socket.setTimeout(idleMs);
    return true;
  };
  // A server that says it drops idle connections even earlier (`Keep-Alive: timeout=2`) is believed.
  const hear = ({ headers }: IncomingMessage) => {
    const keepAlive = headers["keep-alive"];
    if (typeof keepAlive !== "string" || keepAlive === heard) return;
    heard = keepAlive;
    const seconds = /^timeout=(\d{1,9})/u.exec(keepAlive)?.[1];
    idleMs = seconds === undefined ? maxIdleMs : Math.min(maxIdleMs, Number(seconds) * 1_000 - 1_000);
  };
  return {
    request: (head) => {
      const request = send(isTls, agent, head);
      request.on("response", hear);
      return request;
    },
    wasConnected: ({ socket }) => socket !== null && made.has(socket),
    close: () => agent.destroy(),
  };
}

function ignore(): void {}

function send(isTls: boolean, agent: HttpAgent, head: HttpHead): ClientRequest {
  const { hostname, port, path, servername, method, headers } = head;
  const options = { agent, hostname, port, path, servername, method, headers };
  const request = isTls ? builtinHttps().request(options) : builtinHttp().request(options);
  request.on("error", ignore); // told to whoever sent it; unheard it would end the process
  return request;
}

/** Only what was resolved and checked before is ever dialled. */
function fixedLookup(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (hostname, options, callback) => {
    const wanted = addresses.filter(({ family }) => !options.family || family === options.family);
    const [first] = wanted;
    if (!first) callback(new Error(`no address of ${hostname} was checked`), "", 0);
    else if (options.all) callback(null, [...wanted]);
    else callback(null, first.address, first.family);
  };
}
