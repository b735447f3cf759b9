// Supervises one server: connects, watches, and reconnects with backoff.
import { Cell } from "../../base/async/cell.js";
import { backoffDelayMs, orAborted, sleep } from "../../base/async/deadline.js";
import { Pace } from "../../base/async/pace.js";
import { handled, type Scope } from "../../base/async/scope.js";
import { type ErrorCode, messageOf, TenonError, toTenonError } from "../../base/errors.js";
import type { EndGrace } from "../../base/io/process.js";
import { defined } from "../../base/json/defined.js";
import { LIMITS } from "../../base/limits.js";
import type { Timer, World } from "../../base/ports/world.js";
import { resourceOf } from "../auth/port.js";
import { MCP_LIMITS } from "../limits.js";
import { inSeconds, type Link } from "../protocol/link.js";
import type { LeftOut, Listing } from "../protocol/lists.js";
import { internTools, listTools, type McpTool, sameTool, sameTools } from "../protocol/tools.js";
import type { RequestOptions } from "../rpc/rpc.js";
import { isRemote, launchFingerprint, type ServerSpec } from "../spec.js";
import type { SpillDirectory } from "../transport/large/spilled.js";
import { withLastWords } from "../transport/stdio/launch.js";
import { connect } from "./connect.js";
import { type ConnectionOptions, type ProcessSlot, serverLimits } from "./options.js";
import { type ConnectionEvent, type ConnectionState, failuresInARow, next, retryDelayMs } from "./state.js";

export interface SupervisorOptions {
  readonly connection: ConnectionOptions;
  /** Where long results are kept: across reconnects, until the connection is closed. */
  readonly spill: SpillDirectory;
  /** Owns everything that runs for the server: the attempts end with it. */
  readonly scope: Scope;
  readonly tools: CurrentTools;
  /** Called with each link before it may be used. */
  onLink(link: Link): void;
}

export interface ReadyOptions {
  readonly isPatient?: boolean;
  readonly restartWaitMs?: number;
}

/** When a broken connection is tried again; only by `wake` where there is no such time. */
interface Broken {
  readonly retryAtMs?: number;
  readonly wake: AbortSignal;
}

export class Supervisor {
  readonly #spec: ServerSpec;
  readonly #options: SupervisorOptions;
  readonly #world: World;
  /** For the handshake, and once more for the tools. */
  readonly #connectTimeoutMs: number;
  readonly state: Cell<ConnectionState> = new Cell<ConnectionState>({ kind: "idle" });
  /** Why it last broke, also after it has come back. */
  lastError: TenonError | undefined;
  /** How long the server's process is given when its scope closes. */
  endGrace: EndGrace = LIMITS.closeGrace;
  /** It has answered a call since it was last ready: it works, so the next break counts as the first. */
  hasAnswered = false;
  #link: Link | undefined;
  #wasReady = false;
  /** Kept across reconnects: one that is restarted does not queue again. */
  #slot: ProcessSlot | undefined;
  #wake = new AbortController();

  constructor(spec: ServerSpec, options: SupervisorOptions) {
    this.#spec = spec;
    this.#options = options;
    this.#world = options.connection.world;
    this.#connectTimeoutMs = serverLimits(options.connection.limits).connectTimeoutMs;
  }

  /** Undefined unless ready. */
  get link(): Link | undefined {
    return this.state.value.kind === "ready" ? this.#link : undefined;
  }

  /** Whether it has been ready: from then on it is restarted, not started. */
  get wasReady(): boolean {
    return this.#wasReady;
  }

  /** Starts connecting and returns at once. Starting again changes nothing. */
  start(): void {
    const { scope, tools } = this.#options;
    const { kind } = this.state.value;
    if (kind !== "idle" && kind !== "resting") return;
    this.dispatch({ kind: "start", atMs: this.#world.monotonicMs() });
    if (kind === "idle") scope.run(`recall ${this.#spec.name}`, () => tools.recall());
    scope.run(`supervise ${this.#spec.name}`, (signal) => this.#supervise(signal));
  }

  /** With tools in the cache it rests until the first call; without, nobody could call any, so it is started. */
  startWhenUsed(): void {
    const { scope, tools } = this.#options;
    scope.run(`rest ${this.#spec.name}`, async (signal) => {
      await tools.recall().catch(() => undefined); // a cache that fails is no cache
      if (signal.aborted) return;
      if (tools.list.value.length === 0) return this.start();
      this.dispatch({ kind: "rest" });
    });
  }

  /**
   * The live link, or why there is none. Waits while the server starts, up to the connect limit; while it restarts, up to
   * `restartWaitMs`; patient: for as long as it may come back.
   */
  async ready(
    signal: AbortSignal,
    { isPatient = false, restartWaitMs = Number.POSITIVE_INFINITY }: ReadyOptions = {},
  ): Promise<Link | TenonError> {
    if (this.link) return this.link;
    const over = AbortSignal.any([signal, this.#options.scope.signal]);
    const begun = await this.state.until(({ kind }) => kind !== "idle", over).catch(() => this.state.value);
    if (begun.kind === "resting") this.start();
    const restartMs = Math.min(restartWaitMs, MCP_LIMITS.restartWaitMs);
    const limitMs = this.#wasReady ? restartMs : this.#connectTimeoutMs;
    using deadline = this.#world.deadline(isPatient ? Number.POSITIVE_INFINITY : limitMs, over);
    let state = await this.state.until(isSettled, deadline.signal).catch(() => this.state.value);
    if (state.kind === "failed" && (await this.#hasLogin(state.cause))) {
      this.restart();
      await this.state.until(({ kind }) => kind !== "failed", deadline.signal).catch(() => undefined);
      state = await this.state.until(isSettled, deadline.signal).catch(() => this.state.value);
    } else if (!this.#wasReady && state.kind === "connecting" && !state.queued) {
      // The attempt ends at the same limit, and knows the cause.
      state = await this.state.until(({ kind }) => kind !== "connecting", over).catch(() => this.state.value);
    }
    if (state.kind === "ready" && this.#link) return this.#link;
    return this.#notReady(state, limitMs);
  }

  #notReady(state: ConnectionState, waitedMs: number): TenonError {
    const head = `server "${this.#spec.name}" is not connected: `;
    if (state.kind === "connecting" && state.queued) {
      return new TenonError("mcp.over_budget", head + state.queued.message, { hint: state.queued.hint });
    }
    return new TenonError("mcp.not_ready", head + reason(state, waitedMs));
  }

  /**
   * Once more, over the link that follows the one that broke: the server has not looked at the call, or by the user's own
   * word it may run twice. Where only the answer was cut off and the link lives on, over the same link.
   */
  async again(
    last: Link,
    code: ErrorCode,
    { timeoutMs, signal, isUntouched }: RequestOptions & { readonly isUntouched: boolean },
  ): Promise<Link | undefined> {
    // The link of an untouched call is over, also where that is reported a moment later.
    const isBroken = isUntouched || (await Promise.race([last.broken, Promise.resolve(undefined)])) !== undefined;
    if (!isBroken) return code === "mcp.connection_lost" && this.link === last ? last : undefined;
    const waitMs = Math.max(0, Math.min(timeoutMs, MCP_LIMITS.restartWaitMs));
    using deadline = this.#world.deadline(waitMs, AbortSignal.any([signal, this.#options.scope.signal]));
    const isDecided = ({ kind }: ConnectionState) => (kind === "ready" && this.#link !== last) || kind === "failed";
    await this.state.until(isDecided, deadline.signal).catch(() => undefined);
    return this.#link === last ? undefined : this.link;
  }

  /** Tries anew after a failure, or now instead of later. A ready or connecting server is left alone. */
  restart(): void {
    this.#wake.abort();
  }

  /** One attempt after another. Each owns its wire: the next one starts when the last one's processes are gone. */
  async #supervise(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const broken = await this.#live(signal);
        if (!broken || signal.aborted) return;
        if (broken.retryAtMs === undefined) this.#leaveSlot();
        await this.#rest(broken, signal);
        const kind = broken.retryAtMs === undefined ? "start" : "retry";
        this.dispatch({ kind, atMs: this.#world.monotonicMs() });
      }
    } finally {
      this.#leaveSlot();
    }
  }

  #leaveSlot(): void {
    this.#slot?.[Symbol.dispose]();
    this.#slot = undefined;
  }

  /** Waits for a place among the processes. Rejects when the signal aborts. */
  async #takeSlot(signal: AbortSignal): Promise<void> {
    if (this.#spec.kind !== "stdio" || this.#slot) return;
    const queued = (cause?: TenonError) =>
      this.dispatch({ kind: "queued", atMs: this.#world.monotonicMs(), ...defined({ cause }) });
    let hasQueued = false;
    const onQueued = (cause: TenonError) => {
      hasQueued = true;
      queued(cause);
    };
    this.#slot = await this.#options.connection.admit?.(this.#spec.name, { signal, onQueued });
    if (hasQueued) queued();
  }

  /** Waits for the next attempt: the backoff, or a person's `restart` or log-in when nothing else will help. */
  async #rest({ retryAtMs, wake }: Broken, signal: AbortSignal): Promise<void> {
    const woken = AbortSignal.any([wake, signal]);
    if (retryAtMs !== undefined) {
      const leftMs = Math.max(0, retryAtMs - this.#world.monotonicMs());
      return await sleep(this.#world, leftMs, woken).catch(() => undefined);
    }
    const { oauth } = this.#options.connection;
    const resource = this.#loginResource(this.lastError);
    const watch =
      resource === undefined ? undefined : oauth?.store.watch?.(resource, oauth.account, () => this.restart());
    await orAborted(new Promise<never>(() => {}), woken).catch(() => undefined);
    watch?.close();
  }

  /** The resource a log-in would help for; undefined when the failure has another cause. */
  #loginResource(cause: TenonError | undefined): string | undefined {
    const isHelped = this.#options.connection.oauth !== undefined && cause?.code === "mcp.unauthorized";
    return isHelped && isRemote(this.#spec) ? resourceOf(this.#spec.url) : undefined;
  }

  /** Whether there is a log-in by now for a server that refused us. Never rejects. */
  async #hasLogin(cause: TenonError): Promise<boolean> {
    const { oauth } = this.#options.connection;
    const resource = this.#loginResource(cause);
    if (!oauth || resource === undefined) return false;
    try {
      return (await oauth.store.find(resource, oauth.account)).length > 0;
    } catch (thrown) {
      this.#world.log.warn("oauth.unread", { server: this.#spec.name, error: messageOf(thrown) });
      return false;
    }
  }

  /** Connects and stays until it breaks: returns when to try again, or nothing when the connection is being closed. */
  async #live(signal: AbortSignal): Promise<Broken | undefined> {
    const { scope, tools } = this.#options;
    try {
      await this.#takeSlot(signal);
    } catch (thrown) {
      return signal.aborted ? undefined : this.#break(toTenonError(thrown, "mcp.connect_failed"));
    }
    const link = await this.#connect(signal);
    if (link instanceof TenonError) return this.#break(link);
    const list = new ToolList(link, this.#world, (listed) => tools.listed(listed, link.server.version, scope));
    try {
      const failure = await this.#loadTools(list, link, signal);
      if (failure || signal.aborted) return failure && this.#break(failure);
      this.#becomeReady(link);
      const cause = await orAborted(link.broken, signal).catch(() => undefined);
      // Before the transport is closed, which may take its time: the server is not ready any more.
      return cause && this.#break(cause);
    } finally {
      this.#link = undefined;
      await list.close();
      await link.wire.close(signal.aborted ? this.endGrace : LIMITS.closeGrace);
    }
  }

  async #connect(signal: AbortSignal): Promise<Link | TenonError> {
    const { connection, spill } = this.#options;
    using deadline = this.#world.deadline(this.#connectTimeoutMs, signal);
    try {
      return await connect(this.#spec, connection, {
        signal: deadline.signal,
        grace: () => this.endGrace,
        spill,
        onSpawned: (id) => this.#slot?.started(id),
      });
    } catch (thrown) {
      if (deadline.expired) return this.#late(thrown, messageOf(thrown));
      return toTenonError(thrown, "mcp.connect_failed");
    }
  }

  /** Undefined when they are listed. */
  async #loadTools(list: ToolList, link: Link, signal: AbortSignal): Promise<TenonError | undefined> {
    using deadline = this.#world.deadline(this.#connectTimeoutMs, signal);
    try {
      await list.load(deadline.signal);
      return undefined;
    } catch (thrown) {
      const error = deadline.expired
        ? this.#late(thrown, "its tools were not listed")
        : toTenonError(thrown, "mcp.connect_failed");
      return withLastWords(error, link.wire.stderrTail);
    }
  }

  #late(cause: unknown, detail: string): TenonError {
    const text = `not ready within ${this.#connectTimeoutMs / 1000} s: ${detail}`;
    return new TenonError("mcp.connect_timeout", text, { cause });
  }

  #break(cause: TenonError): Broken {
    this.#link = undefined;
    this.lastError = cause;
    const atMs = this.#world.monotonicMs();
    const failures = this.hasAnswered ? 0 : failuresInARow(this.state.value, atMs);
    this.hasAnswered = false;
    const facts = { cause, failuresInARow: failures, wasReady: this.#wasReady, isRemote: isRemote(this.#spec) };
    const retryInMs = retryDelayMs(facts, this.#world.random());
    this.#wake = new AbortController();
    this.dispatch({ kind: "broken", atMs, cause, failuresInARow: failures, ...defined({ retryInMs }) });
    if (!this.#wasReady) this.#options.tools.forget(this.#options.scope);
    const wake = this.#wake.signal;
    return retryInMs === undefined ? { wake } : { wake, retryAtMs: atMs + retryInMs };
  }

  #becomeReady(link: Link): void {
    this.#link = link;
    this.#options.onLink(link);
    this.#wasReady = true;
    const { server, agreement } = link;
    this.dispatch({ kind: "ready", atMs: this.#world.monotonicMs(), server, agreement });
  }

  dispatch(event: ConnectionEvent): void {
    this.state.set(next(this.state.value, event));
  }
}

/** There is nothing to wait for any more: it is ready, or it will not become so by itself. */
function isSettled({ kind }: ConnectionState): boolean {
  return kind !== "connecting" && kind !== "idle" && kind !== "waiting";
}

function reason(state: ConnectionState, waitedMs: number): string {
  if (state.kind === "failed") return state.cause.message;
  const late = `was not ready within ${inSeconds(waitedMs)}`;
  if (state.kind === "waiting") return `it broke (${state.cause.message}), is being restarted, and ${late}`;
  return state.kind === "connecting" ? `it is connecting, and ${late}` : `it is ${state.kind}`;
}

const CHANGED = "notifications/tools/list_changed";

/**
 * `load` lists everything once. From then on each `list_changed` is followed: a burst is waited for, but never longer than
 * a fixed time after its first notice, so a storm cannot starve the list; one request at a time, and none sooner than a
 * fixed time after the last, so a storm cannot make us ask for ever. A notice costs a comparison or two.
 */
export class ToolList {
  readonly #link: Link;
  readonly #world: World;
  readonly #pace: Pace;
  readonly #onListed: (discovered: Listing<McpTool>) => void;
  readonly #over = new AbortController();
  #current: Listing<McpTool> | undefined;
  #isStale = false;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #lastStartMs = 0;
  #failures = 0;

  constructor(link: Link, world: World, onListed: (discovered: Listing<McpTool>) => void) {
    this.#link = link;
    this.#world = world;
    this.#pace = Pace.of(world);
    this.#onListed = onListed;
    link.onNotification((method) => {
      if (method === CHANGED) this.#hear();
    });
    handled(
      link.broken.finally(() => this.#stop()),
      world.log,
      "stop listing with the connection",
    );
  }

  /** Throws a TenonError when the server gave no list, or the reason of the signal. */
  async load(signal: AbortSignal): Promise<void> {
    this.#lastStartMs = this.#world.monotonicMs();
    const listed = await listTools(this.#link, this.#world, AbortSignal.any([signal, this.#over.signal]));
    await this.#take(listed);
    if (listed.brokenOff) {
      this.#failures = 1; // half of them is better than none, and the rest is asked for again
      this.#isStale = true;
    }
    this.#schedule();
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#running;
  }

  #stop(): void {
    this.#over.abort();
    this.#timer?.clear();
    this.#timer = undefined;
  }

  #hear(): void {
    if (this.#isStale) return;
    this.#isStale = true;
    this.#failures = 0;
    this.#schedule();
  }

  /** Before the first list there is nothing to renew: `load` looks again when it is done. */
  #schedule(): void {
    if (!this.#isStale || !this.#current || this.#timer || this.#running || this.#over.signal.aborted) return;
    const { quietMs, everyMs } = MCP_LIMITS.relist;
    const sinceMs = this.#world.monotonicMs() - this.#lastStartMs;
    const backoffMs =
      this.#failures === 0 ? 0 : backoffDelayMs(MCP_LIMITS.reconnect, this.#failures, this.#world.random());
    this.#timer = this.#world.after(Math.max(quietMs, everyMs - sinceMs, backoffMs), () => {
      this.#timer = undefined;
      this.#running = this.#renew().finally(() => {
        this.#running = undefined;
        this.#schedule();
      });
      handled(this.#running, this.#world.log, "renew a list of tools");
    });
  }

  /** Never rejects: a list that cannot be renewed stays as it is. */
  async #renew(): Promise<void> {
    this.#isStale = false;
    this.#lastStartMs = this.#world.monotonicMs();
    try {
      using deadline = this.#world.deadline(LIMITS.connectTimeoutMs, this.#over.signal);
      const listed = await listTools(this.#link, this.#world, deadline.signal);
      if (listed.brokenOff) throw listed.brokenOff; // half a list would take tools away that are still there
      await this.#take(listed);
      this.#failures = 0;
    } catch (thrown) {
      if (this.#over.signal.aborted) return;
      this.#failures += 1;
      const willRetry = this.#failures < MCP_LIMITS.relist.attempts;
      this.#world.log.warn("mcp.relist_failed", { error: messageOf(thrown), willRetry });
      if (willRetry) this.#isStale = true;
    }
  }

  async #take(listed: Listing<McpTool>): Promise<void> {
    const before = this.#current;
    const isSame = before !== undefined && (await sameTools(before.items, listed.items, this.#pace));
    const items = isSame
      ? before.items
      : await internTools(await kept(before?.items ?? [], listed.items, this.#pace), this.#pace);
    if (this.#over.signal.aborted) return;
    const discovered = { ...listed, items };
    this.#current = discovered;
    const hasSameProblems = before?.problems.join("\n") === listed.problems.join("\n");
    if (!isSame || !hasSameProblems) this.#onListed(discovered);
  }
}

const CHUNK = 200;

/** Tools that did not change stay the same objects: what is remembered about them stays valid. */
async function kept(before: readonly McpTool[], after: readonly McpTool[], pace: Pace): Promise<readonly McpTool[]> {
  if (before.length === 0) return after;
  const known = new Map(before.map((tool) => [tool.name, tool]));
  const tools: McpTool[] = [];
  for (let start = 0; start < after.length; start += CHUNK) {
    await pace.run(() => {
      for (const tool of after.slice(start, start + CHUNK)) {
        const old = known.get(tool.name);
        tools.push(old && sameTool(old, tool) ? old : tool);
      }
    });
  }
  return tools;
}

export class CurrentTools {
  readonly #spec: ServerSpec;
  readonly #options: Pick<ConnectionOptions, "world" | "cache">;
  readonly list: Cell<readonly McpTool[]> = new Cell<readonly McpTool[]>([]);
  /** What was left out of the list or changed in it, each in one sentence. */
  problems: readonly string[] = [];
  leftOut: readonly LeftOut[] = [];
  #index: { readonly list: readonly McpTool[]; readonly byName: ReadonlyMap<string, McpTool> } | undefined;
  #hasListed = false;

  constructor(spec: ServerSpec, options: Pick<ConnectionOptions, "world" | "cache">) {
    this.#spec = spec;
    this.#options = options;
  }

  /** Servers have up to 12,000 tools: those of the current list are looked up by name from the first call on. */
  find(name: string): McpTool | undefined {
    const list = this.list.value;
    if (this.#index?.list !== list) {
      this.#index = { list, byName: new Map(list.map((known) => [known.name, known])) };
    }
    return this.#index.byName.get(name);
  }

  /** A warm session has its tools before the server has started; the live list replaces them. */
  async recall(): Promise<void> {
    const cached = await this.#options.cache?.readTools(launchFingerprint(this.#spec));
    if (cached && !this.#hasListed) this.list.set(cached.tools);
  }

  /** The server did not become ready: sessions to come are not offered what it had before. */
  forget(scope: Scope): void {
    if (scope.isClosed) return;
    scope.run(`forget ${this.#spec.name}`, async () => {
      const { cache } = this.#options;
      const fingerprint = launchFingerprint(this.#spec);
      const cached = await cache?.readTools(fingerprint);
      if (cached && cached.tools.length > 0) await cache?.writeTools(fingerprint, { serverVersion: "", tools: [] });
    });
  }

  /** The server listed them; they are remembered in the background. */
  listed({ items, problems, leftOut = [], brokenOff }: Listing<McpTool>, serverVersion: string, scope: Scope): void {
    const { world, cache } = this.#options;
    const { name } = this.#spec;
    for (const problem of problems) world.log.warn("mcp.tool_set_aside", { server: name, problem });
    this.#hasListed = true;
    this.problems = problems;
    this.leftOut = leftOut;
    this.list.set(items);
    if (brokenOff) return; // half a list is no memory to start from
    scope.run(`remember ${name}`, async () => {
      await cache?.writeTools(launchFingerprint(this.#spec), { serverVersion, tools: items });
    });
  }
}
