// One server of one session: connects in the background, is supervised, lists its tools, runs its calls, ends for good.
import { Cell, type ReadonlyCell } from "../base/cell.js";
import { orAborted, sleep } from "../base/deadline.js";
import { messageOf, TenonError, toTenonError } from "../base/errors.js";
import type { JsonObject } from "../base/json.js";
import { LIMITS } from "../base/limits.js";
import type { EndGrace } from "../base/process.js";
import { Scope } from "../base/scope.js";
import type { World } from "../base/world.js";
import { type CallOptions, type CallOutcome, callTool } from "./call/call.js";
import { CallGate } from "./call/call-gate.js";
import { establish } from "./era/establish.js";
import type { Link } from "./era/link.js";
import { launchFingerprint } from "./fingerprint.js";
import { SpillShelf } from "./large/spill-shelf.js";
import { type DiscoveredTools, ToolList } from "./lists/discovery.js";
import type { McpTool } from "./lists/tolerate.js";
import { hasLogin, watchForLogin } from "./oauth/wake.js";
import { type ConnectionOptions, type ProcessSlot, type ServerLimits, serverLimits } from "./options.js";
import { retryDelayMs } from "./retry.js";
import { isRemote, type ServerSpec } from "./spec.js";
import { type ConnectionEvent, type ConnectionState, failuresInARow, next } from "./state.js";
import { ServerTasks } from "./tasks/server-tasks.js";
import type { TaskHandle } from "./tasks/task.js";

/** When a broken connection is tried again; only by `wake` where there is no such time. */
interface Broken {
  readonly retryAtMs?: number;
  readonly wake: AbortSignal;
}

export class McpConnection implements AsyncDisposable {
  readonly spec: ServerSpec;
  readonly #options: ConnectionOptions;
  readonly #limits: ServerLimits;
  readonly #world: World;
  readonly #scope: Scope;
  readonly #gate: CallGate;
  readonly #tasks: ServerTasks;
  /** Long results, kept across reconnects: whoever holds one may still read it. */
  readonly #shelf: SpillShelf;
  readonly #state = new Cell<ConnectionState>({ kind: "idle" });
  readonly #tools = new Cell<readonly McpTool[]>([]);
  #index: { readonly list: readonly McpTool[]; readonly byName: ReadonlyMap<string, McpTool> } | undefined;
  #problems: readonly string[] = [];
  #lastError: TenonError | undefined;
  #link: Link | undefined;
  #hasListed = false;
  #wasReady = false;
  #wake = new AbortController();
  #endGrace: EndGrace = LIMITS.closeGrace;
  #closing: Promise<void> | undefined;

  constructor(spec: ServerSpec, options: ConnectionOptions) {
    this.spec = spec;
    this.#options = options;
    this.#limits = serverLimits(options.limits);
    this.#world = options.world;
    this.#scope = new Scope(options.world.log);
    this.#gate = new CallGate(options.world, this.#limits);
    this.#shelf = new SpillShelf(options.world);
    this.#tasks = new ServerTasks({
      world: options.world,
      isRemote: isRemote(spec),
      current: () => this.link,
      next: (signal) => this.#readyLink(signal, { isPatient: true }),
    });
  }

  /** Starts connecting and returns at once; what comes of it shows in `state`. Starting again changes nothing. */
  start(): void {
    const { kind } = this.#state.value;
    if (kind !== "idle" && kind !== "resting") return;
    this.#dispatch({ kind: "start", atMs: this.#world.monotonicMs() });
    if (kind === "idle") this.#scope.run(`recall ${this.spec.name}`, () => this.#recall());
    this.#scope.run(`supervise ${this.spec.name}`, (signal) => this.#supervise(signal));
  }

  /** With tools in the cache it rests until the first call; without, nobody could call any, so it is started. */
  startWhenUsed(): void {
    this.#scope.run(`rest ${this.spec.name}`, async (signal) => {
      await this.#recall().catch(() => undefined); // a cache that fails is no cache
      if (signal.aborted) return;
      if (this.#tools.value.length === 0) return this.start();
      this.#dispatch({ kind: "rest" });
    });
  }

  get state(): ReadonlyCell<ConnectionState> {
    return this.#state;
  }

  /** The live list once there is one; before that, what the cache remembers of the same server. */
  get tools(): ReadonlyCell<readonly McpTool[]> {
    return this.#tools;
  }

  /** What was left out of the lists or changed in them, each in one sentence. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Why it last broke, also after it has come back. */
  get lastError(): TenonError | undefined {
    return this.#lastError;
  }

  /** The live conversation, for what is not a tool call (resources, prompts); undefined unless ready. */
  get link(): Link | undefined {
    return this.#state.value.kind === "ready" ? this.#link : undefined;
  }

  /** More calls than this at the same time wait in line, and not for long. */
  get callsAtOnce(): number {
    return this.#limits.callsAtOnce;
  }

  /** Aborts when the connection is closed. */
  get signal(): AbortSignal {
    return this.#scope.signal;
  }

  /** Resolves once everything it started is gone. */
  get closed(): Promise<void> {
    return this.#state.until((state) => state.kind === "closed", new AbortController().signal).then(() => undefined);
  }

  /** Exactly one outcome, whatever happens. It starts a server that rests, and waits while one is connecting. */
  async call(tool: string, args: JsonObject, options: CallOptions): Promise<CallOutcome> {
    const link = this.link ?? (await this.#readyLink(options.signal));
    if (options.signal.aborted) return { kind: "cancelled" };
    if (link instanceof TenonError) return { kind: "failed", error: link };
    const { timeoutMs = this.#limits.callTimeoutMs, isIdempotent = false } = this.#options.tools?.[tool] ?? {};
    const { signal, onProgress, onTask, lessee } = options;
    const seen = (one: Link) => lessee?.view(one) ?? one;
    const request = {
      world: this.#world,
      server: this.spec.name,
      tool,
      args,
      timeoutMs,
      maxTotalMs: Math.max(this.#limits.callMaxMs, timeoutMs),
      definition: this.#definition(tool),
      signal,
      onProgress,
      onTask,
      tasks: this.#tasks,
      view: seen,
      ...(lessee ? { lessee: lessee.id } : {}),
    };
    const outcome = await this.#gate.run(request, () => callTool(seen(link), request));
    // A server that has forgotten the session has not looked at the call: that is no replay.
    const isUntouched = outcome.kind === "failed" && outcome.error.code === "mcp.session_lost";
    if (!isUntouched && !(outcome.kind === "unknown" && isIdempotent)) return outcome;
    const again = await this.#nextLink(link, timeoutMs, options.signal);
    return again ? await this.#gate.run(request, () => callTool(seen(again), request)) : outcome;
  }

  /** How many sessions use it: while there are several, none may have all of its calls. */
  setLessees(count: number): void {
    this.#gate.setLessees(count);
  }

  /** Goes on following what the server does as a task; the call that began it may have been another process's. */
  async resume(tool: string, task: TaskHandle, { lessee, signal, onProgress }: CallOptions): Promise<CallOutcome> {
    const { timeoutMs = 0 } = this.#options.tools?.[tool] ?? {};
    return await this.#tasks.resume(task, {
      world: this.#world,
      server: this.spec.name,
      tool,
      maxTotalMs: Math.max(this.#limits.callMaxMs, timeoutMs),
      definition: this.#definition(tool),
      signal,
      onProgress,
      view: (link) => lessee?.view(link) ?? link,
    });
  }

  /** Servers have up to 12,000 tools: those of the current list are looked up by name from the first call on. */
  #definition(tool: string): McpTool | undefined {
    const list = this.#tools.value;
    if (this.#index?.list !== list) {
      this.#index = { list, byName: new Map(list.map((known) => [known.name, known])) };
    }
    return this.#index.byName.get(tool);
  }

  /** Tries anew after a failure, or now instead of later. A ready or connecting server is left alone. */
  restart(): void {
    this.#wake.abort();
  }

  /** Ends calls, reconnection and every process. Safe in any state, any number of times. */
  close(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    this.#endGrace = grace;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const told = this.#tasks.close();
    this.#dispatch({ kind: "close" });
    await told;
    await this.#scope.close();
    await this.#shelf.dispose();
    this.#dispatch({ kind: "closed" });
  }

  /** One attempt after another. Each owns its wire: the next one starts when the last one's processes are gone. */
  async #supervise(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const broken = await this.#live(signal);
      if (!broken || signal.aborted) return;
      await this.#rest(broken, signal);
      const kind = broken.retryAtMs === undefined ? "start" : "retry";
      this.#dispatch({ kind, atMs: this.#world.monotonicMs() });
    }
  }

  /** Waits for the next attempt: the backoff, or a person's `restart` when nothing else will help. */
  async #rest({ retryAtMs, wake }: Broken, signal: AbortSignal): Promise<void> {
    const woken = AbortSignal.any([wake, signal]);
    const login = { cause: this.#lastError, onChange: () => this.restart() };
    using _ = retryAtMs === undefined ? watchForLogin(this.spec, this.#options, login) : undefined;
    const after = (delayMs: number, run: () => void) => this.#world.after(delayMs, run);
    const leftMs = Math.max(0, (retryAtMs ?? 0) - this.#world.monotonicMs());
    const waiting = retryAtMs === undefined ? new Promise<never>(() => {}) : sleep(after, leftMs, woken);
    await orAborted(waiting, woken).catch(() => undefined);
  }

  /** Connects and stays until it breaks: returns when to try again, or nothing when the connection is being closed. */
  async #live(signal: AbortSignal): Promise<Broken | undefined> {
    const place = this.#takePlace();
    if (place instanceof TenonError) return this.#break(place);
    using slot = place;
    const link = await this.#connect(slot, signal);
    if (link instanceof TenonError) return this.#break(link);
    const list = new ToolList(link, this.#world, (discovered) => this.#listed(discovered, link.server.version));
    try {
      const failure = await this.#loadTools(list, link, signal);
      if (failure || signal.aborted) return failure && this.#break(failure);
      this.#becomeReady(link);
      const cause = await orAborted(link.broken, signal).catch(() => undefined);
      // Told at once: to take down what is left of it may need its time, and it is not ready any more.
      return cause && this.#break(cause);
    } finally {
      this.#link = undefined;
      await list.close();
      await link.wire.close(signal.aborted ? this.#endGrace : LIMITS.closeGrace);
    }
  }

  #break(cause: TenonError): Broken {
    this.#link = undefined;
    this.#lastError = cause;
    const atMs = this.#world.monotonicMs();
    const failures = failuresInARow(this.#state.value, atMs);
    const facts = { cause, failuresInARow: failures, wasReady: this.#wasReady, isRemote: isRemote(this.spec) };
    const retryInMs = retryDelayMs(facts, this.#world.random());
    this.#wake = new AbortController();
    this.#dispatch({ kind: "broken", atMs, cause, ...(retryInMs === undefined ? {} : { retryInMs }) });
    const wake = this.#wake.signal;
    return retryInMs === undefined ? { wake } : { wake, retryAtMs: atMs + retryInMs };
  }

  /** Only processes need one. */
  #takePlace(): ProcessSlot | TenonError | undefined {
    if (this.spec.kind !== "stdio") return undefined;
    try {
      return this.#options.admit?.(this.spec.name);
    } catch (thrown) {
      return toTenonError(thrown, "mcp.over_budget");
    }
  }

  async #connect(slot: ProcessSlot | undefined, signal: AbortSignal): Promise<Link | TenonError> {
    using deadline = this.#world.deadline(this.#limits.connectTimeoutMs, signal);
    const onSpawned = (id: number | undefined) => slot?.started(id);
    try {
      const life = { signal: deadline.signal, grace: () => this.#endGrace, shelf: this.#shelf, onSpawned };
      return await establish(this.spec, this.#options, life);
    } catch (thrown) {
      return deadline.expired ? this.#late(thrown, messageOf(thrown)) : toTenonError(thrown, "mcp.connect_failed");
    }
  }

  async #loadTools(list: ToolList, link: Link, signal: AbortSignal): Promise<TenonError | undefined> {
    using deadline = this.#world.deadline(this.#limits.connectTimeoutMs, signal);
    try {
      await list.load(deadline.signal);
      return undefined;
    } catch (thrown) {
      const said = `its tools were not listed; its stderr ends: ${link.wire.stderrTail}`;
      return deadline.expired ? this.#late(thrown, said) : toTenonError(thrown, "mcp.connect_failed");
    }
  }

  #late(thrown: unknown, detail: string): TenonError {
    const seconds = this.#limits.connectTimeoutMs / 1000;
    return new TenonError("mcp.connect_timeout", `not ready within ${seconds} s: ${detail}`, { cause: thrown });
  }

  #becomeReady(link: Link): void {
    this.#link = link;
    this.#tasks.attach(link);
    this.#wasReady = true;
    const { server, agreement } = link;
    this.#dispatch({ kind: "ready", atMs: this.#world.monotonicMs(), server, agreement });
  }

  /** The live link; waits while the server is connecting (patient: or broken), and says why when there is none to wait for. */
  async #readyLink(signal: AbortSignal, { isPatient = false } = {}): Promise<Link | TenonError> {
    if (this.link) return this.link;
    const over = AbortSignal.any([signal, this.#scope.signal]);
    const begun = await this.#state.until(({ kind }) => kind !== "idle", over).catch(() => this.#state.value);
    if (begun.kind === "resting") this.start();
    const isSettled = ({ kind }: ConnectionState) =>
      kind !== "connecting" && kind !== "idle" && !(isPatient && kind === "waiting");
    let state = await this.#state.until(isSettled, over).catch(() => this.#state.value);
    if (state.kind === "failed" && (await hasLogin(this.spec, this.#options, state.cause))) {
      this.restart();
      await this.#state.until(({ kind }) => kind !== "failed", over).catch(() => undefined);
      state = await this.#state.until(isSettled, over).catch(() => this.#state.value);
    }
    if (state.kind === "ready" && this.#link) return this.#link;
    return new TenonError("mcp.not_ready", `server "${this.spec.name}" is not connected: ${reason(state)}`);
  }

  /** By the user's own word a tool may run twice: once more, over the link that follows the one that broke. */
  async #nextLink(last: Link, withinMs: number, signal: AbortSignal): Promise<Link | undefined> {
    using deadline = this.#world.deadline(withinMs, AbortSignal.any([signal, this.#scope.signal]));
    const isDecided = ({ kind }: ConnectionState) => (kind === "ready" && this.#link !== last) || kind === "failed";
    await this.#state.until(isDecided, deadline.signal).catch(() => undefined);
    return this.#link === last ? undefined : this.link;
  }

  #listed({ tools, problems }: DiscoveredTools, serverVersion: string): void {
    for (const problem of problems) this.#world.log.warn("mcp.tool_set_aside", { server: this.spec.name, problem });
    this.#hasListed = true;
    this.#problems = problems;
    this.#tools.set(tools);
    this.#scope.run(`remember ${this.spec.name}`, async () => {
      await this.#options.cache?.writeTools(launchFingerprint(this.spec), { serverVersion, tools });
    });
  }

  /** A warm session has its tools before the server has started; the live list replaces them. */
  async #recall(): Promise<void> {
    const cached = await this.#options.cache?.readTools(launchFingerprint(this.spec));
    if (cached && !this.#hasListed) this.#tools.set(cached.tools);
  }

  #dispatch(event: ConnectionEvent): void {
    this.#state.set(next(this.#state.value, event));
  }
}

function reason(state: ConnectionState): string {
  switch (state.kind) {
    case "failed":
      return state.cause.message;
    case "waiting":
      return `it broke (${state.cause.message}) and is being restarted`;
    case "idle":
    case "resting":
    case "connecting":
    case "ready":
    case "closing":
    case "closed":
      return `it is ${state.kind}`;
  }
}
