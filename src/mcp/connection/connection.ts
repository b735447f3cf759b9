// One server of one session: connected in the background and kept so, asked through calls that each end once, closed for good.
import type { ReadonlyCell } from "../../base/async/cell.js";
import { abortListeners, Scope } from "../../base/async/scope.js";
import { type ErrorCode, TenonError } from "../../base/errors.js";
import type { EndGrace } from "../../base/io/process.js";
import type { JsonObject } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { Timer, World } from "../../base/ports/world.js";
import { POOL_LIMITS } from "../limits.js";
import { type CallOptions, type CallOutcome, type CallRequest, callTool, ProgressPace } from "../protocol/call.js";
import { inSeconds, type Link } from "../protocol/link.js";
import type { LeftOut } from "../protocol/lists.js";
import type { TaskHandle } from "../protocol/task.js";
import { ServerTasks } from "../protocol/tasks.js";
import type { McpTool } from "../protocol/tools.js";
import { isRemote, type ServerSpec } from "../spec.js";
import { SpillDirectory } from "../transport/large/spilled.js";
import { type CallLimits, type ConnectionOptions, type ServerLimits, serverLimits } from "./options.js";
import type { ConnectionState } from "./state.js";
import { CurrentTools, Supervisor } from "./supervisor.js";

export class McpConnection implements AsyncDisposable {
  readonly spec: ServerSpec;
  readonly #options: ConnectionOptions;
  readonly #limits: ServerLimits;
  readonly #world: World;
  readonly #scope: Scope;
  readonly #gate: CallGate;
  readonly #tasks: ServerTasks;
  /** Long results, kept across reconnects: they may still be read. */
  readonly #spill: SpillDirectory;
  readonly #tools: CurrentTools;
  readonly #supervisor: Supervisor;
  #closing: Promise<void> | undefined;

  constructor(spec: ServerSpec, options: ConnectionOptions) {
    this.spec = spec;
    this.#options = options;
    this.#limits = serverLimits(options.limits);
    this.#world = options.world;
    this.#scope = new Scope(options.world.log);
    this.#gate = new CallGate(options.world, this.#limits);
    this.#spill = new SpillDirectory(options.world);
    this.#tasks = new ServerTasks({
      world: options.world,
      isRemote: isRemote(spec),
      current: () => this.link,
      next: (signal) => this.#supervisor.ready(signal, { isPatient: true }),
    });
    this.#tools = new CurrentTools(spec, options);
    this.#supervisor = new Supervisor(spec, {
      connection: options,
      scope: this.#scope,
      spill: this.#spill,
      tools: this.#tools,
      onLink: (link) => this.#tasks.attach(link),
    });
  }

  /** Starts connecting and returns at once; what comes of it shows in `state`. Starting again changes nothing. */
  start(): void {
    this.#supervisor.start();
  }

  /** With tools in the cache it rests until the first call; without, nobody could call any, so it is started. */
  startWhenUsed(): void {
    this.#supervisor.startWhenUsed();
  }

  get state(): ReadonlyCell<ConnectionState> {
    return this.#supervisor.state;
  }

  /** The live list once there is one; before that, what the cache remembers of the same server. */
  get tools(): ReadonlyCell<readonly McpTool[]> {
    return this.#tools.list;
  }

  /** What was left out of the lists or changed in them, each in one sentence. */
  get problems(): readonly string[] {
    return this.#tools.problems;
  }

  /** The tools among them that cannot be used. */
  get leftOut(): readonly LeftOut[] {
    return this.#tools.leftOut;
  }

  /** Why it last broke, also after it has come back. */
  get lastError(): TenonError | undefined {
    return this.#supervisor.lastError;
  }

  /** The live conversation, for what is not a tool call (resources, prompts); undefined unless ready. */
  get link(): Link | undefined {
    return this.#supervisor.link;
  }

  /** Whether other sessions use the same server now. */
  get isShared(): boolean {
    return false;
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
    return this.state.until((state) => state.kind === "closed", new AbortController().signal).then(() => undefined);
  }

  /** Whether it has been ready: from then on it is restarted, not started. */
  get wasReady(): boolean {
    return this.#supervisor.wasReady;
  }

  /** Starts a server that rests, and waits as a call would. Why it is not ready; undefined when it is. */
  async ready(signal: AbortSignal): Promise<TenonError | undefined> {
    const link = await this.#supervisor.ready(signal);
    return link instanceof TenonError ? link : undefined;
  }

  /** Exactly one outcome, whatever happens. It starts a server that rests, and waits while one starts or restarts. */
  async call(tool: string, args: JsonObject, options: CallOptions): Promise<CallOutcome> {
    if (options.signal.aborted) return { kind: "cancelled" };
    let progress: ProgressPace | undefined; // most calls have none
    let isOver = false;
    const request = this.#requestOf(tool, args, options, (note) => {
      if (!isOver) progress ??= new ProgressPace(this.#world, options.onProgress);
      progress?.take(note);
    });
    let isIn = false;
    try {
      const { link } = this;
      if (!link) return await this.#callOnceReady(request);
      const turn = this.#gate.enter(request);
      const refused = turn && (await turn); // nearly all calls go at once
      if (refused) return refused;
      // As `#callOver`, in the same promise: nearly all calls come through here.
      isIn = true;
      const outcome = await callTool(request.view?.(link) ?? link, request);
      isIn = false;
      this.#left(request, outcome);
      return isFinal(outcome) ? outcome : await this.#orAgain(link, request, outcome);
    } finally {
      if (isIn) this.#left(request, undefined);
      isOver = true;
      progress?.[Symbol.dispose]();
    }
  }

  #requestOf(
    tool: string,
    args: JsonObject,
    options: CallOptions,
    onProgress: CallOptions["onProgress"],
  ): ConnectionCall {
    const { signal, onTask, sharingSession } = options;
    const { timeoutMs = this.#limits.callTimeoutMs } = this.#options.tools?.[tool] ?? {};
    return {
      world: this.#world,
      server: this.spec.name,
      tool,
      args,
      beganMs: this.#world.monotonicMs(),
      limitMs: timeoutMs,
      timeoutMs,
      maxTotalMs: Math.max(this.#limits.callMaxMs, timeoutMs),
      definition: this.#tools.find(tool),
      signal,
      onProgress,
      onTask,
      tasks: this.#tasks,
      view: sharingSession && ((one: Link) => sharingSession.view(one)),
      sharingSession: sharingSession?.id,
    };
  }

  async #callOnceReady(request: ConnectionCall): Promise<CallOutcome> {
    const { signal, limitMs, tool } = request;
    const { wasReady } = this;
    const link = await this.#supervisor.ready(signal, { restartWaitMs: limitMs });
    if (signal.aborted) return { kind: "cancelled" };
    if (link instanceof TenonError) return { kind: "failed", error: link };
    // A first start has a limit of its own.
    const beganMs = wasReady ? request.beganMs : this.#world.monotonicMs();
    const timeoutMs = this.#leftMs({ beganMs, limitMs });
    if (timeoutMs <= 0) return { kind: "failed", error: tooLate(this.spec.name, limitMs) };
    const maxTotalMs = Math.max(this.#limits.callMaxMs, timeoutMs);
    const ready = { ...request, definition: this.#tools.find(tool), beganMs, timeoutMs, maxTotalMs };
    const outcome = await this.#callOver(link, ready);
    return isFinal(outcome) ? outcome : await this.#orAgain(link, ready, outcome);
  }

  #leftMs({ beganMs, limitMs }: Pick<ConnectionCall, "beganMs" | "limitMs">): number {
    return limitMs - (this.#world.monotonicMs() - beganMs);
  }

  /** A server that has forgotten the session has not looked at the call, one that ended has not got it: that is no replay. */
  async #orAgain(
    link: Link,
    request: ConnectionCall,
    outcome: Exclude<CallOutcome, FinalOutcome>,
  ): Promise<CallOutcome> {
    const { code } = outcome.error;
    const { isIdempotent = false } = this.#options.tools?.[request.tool] ?? {};
    const isUntouched = outcome.kind === "failed" && UNTOUCHED.has(code);
    if (!isUntouched && !(outcome.kind === "unknown" && isIdempotent)) return outcome;
    if (code === "mcp.call_timeout") return outcome; // its time is up
    const { signal } = request;
    const again = await this.#supervisor.again(link, code, { timeoutMs: this.#leftMs(request), signal, isUntouched });
    const timeoutMs = this.#leftMs(request);
    return again && timeoutMs > 0 ? await this.#callOver(again, { ...request, timeoutMs }) : outcome;
  }

  async #callOver(link: Link, request: ConnectionCall): Promise<CallOutcome> {
    const refused = await this.#gate.enter(request);
    if (refused) return refused;
    let outcome: CallOutcome | undefined;
    try {
      outcome = await callTool(request.view?.(link) ?? link, request);
      return outcome;
    } finally {
      this.#left(request, outcome);
    }
  }

  #left(request: ConnectionCall, outcome: CallOutcome | undefined): void {
    this.#gate.leave(request);
    if (outcome?.kind === "answered") this.#supervisor.hasAnswered = true;
  }

  /** How many sessions use it: while there are several, none may have all of its calls. */
  setSharingSessions(count: number): void {
    this.#gate.setSharingSessions(count);
  }

  /** Goes on following what the server does as a task; the call that began it may have been another process's. */
  async resume(
    tool: string,
    task: TaskHandle,
    { sharingSession, signal, onProgress }: CallOptions,
  ): Promise<CallOutcome> {
    const { timeoutMs = 0 } = this.#options.tools?.[tool] ?? {};
    using progress = new ProgressPace(this.#world, onProgress);
    return await this.#tasks.resume(task, {
      world: this.#world,
      server: this.spec.name,
      tool,
      maxTotalMs: Math.max(this.#limits.callMaxMs, timeoutMs),
      definition: this.#tools.find(tool),
      signal,
      onProgress: progress.take,
      view: (link) => sharingSession?.view(link) ?? link,
    });
  }

  /** Tries anew after a failure, or now instead of later. A ready or connecting server is left alone. */
  restart(): void {
    this.#supervisor.restart();
  }

  /** Ends calls, reconnection and every process. Safe in any state, any number of times. */
  close(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    this.#supervisor.endGrace = grace;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The session ends. A shared server may stay for the next session; this one ends too. */
  leave(grace?: EndGrace): Promise<void> {
    return this.close(grace);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const tasks = this.#tasks.close();
    this.#supervisor.dispatch({ kind: "close" });
    await tasks;
    await this.#scope.close();
    await this.#spill.dispose();
    this.#supervisor.dispatch({ kind: "closed" });
  }
}

/** A server as a session uses it, whether it is the session's own or shared with others. */
export type ServerConnection = Pick<
  McpConnection,
  | "start"
  | "startWhenUsed"
  | "isShared"
  | "leave"
  | "spec"
  | "state"
  | "tools"
  | "problems"
  | "leftOut"
  | "lastError"
  | "wasReady"
  | "ready"
  | "link"
  | "callsAtOnce"
  | "closed"
  | "call"
  | "resume"
  | "restart"
  | "close"
>;

type FinalOutcome = Extract<CallOutcome, { readonly kind: "answered" | "cancelled" }>;

/** Of all others some may be tried once more. */
function isFinal(outcome: CallOutcome): outcome is FinalOutcome {
  return outcome.kind === "answered" || outcome.kind === "cancelled";
}

interface ConnectionCall extends CallRequest, Pick<GatedCall, "sharingSession"> {
  readonly beganMs: number;
  /** All the time it has; `timeoutMs` is what is left of it. */
  readonly limitMs: number;
}

const MINUTE_MS = 60_000;

function tooLate(server: string, limitMs: number): TenonError {
  const words = `server "${server}" was ready again only when the ${inSeconds(limitMs)} of the call were over: it was not sent`;
  return new TenonError("mcp.not_ready", words);
}

/** Of calls that failed: the server has not looked at them. */
const UNTOUCHED: ReadonlySet<ErrorCode> = new Set(["mcp.session_lost", "mcp.connection_lost"]);

export interface GatedCall {
  readonly signal: AbortSignal;
  readonly server: string;
  readonly tool: string;
  /** Which of the sessions that use the server makes it; absent where it has one. */
  readonly sharingSession?: object | undefined;
}

interface Waiter {
  readonly sharingSession: object | undefined;
  readonly timer: Timer;
  /** Without an outcome the call is let in. */
  readonly settle: (outcome?: CallOutcome) => void;
}

/** Calls that run, and when those of the last minute began: of the server, or of one of several sessions that use it. */
class Use {
  running = 0;
  readonly #world: World;
  /** Oldest first; of those that are a minute old some are left. */
  readonly #starts: number[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  start(perMinute: number): void {
    this.running += 1;
    if (perMinute === Number.POSITIVE_INFINITY) return;
    this.#starts.push(this.#world.monotonicMs());
    if (this.#starts.length % FORGET_EVERY === 0) this.#forget();
  }

  /** Until one more call may start: 0 for now, infinite when one that runs has to end first. */
  waitMs(atOnce: number, perMinute: number): number {
    return this.running >= atOnce ? Number.POSITIVE_INFINITY : this.rateWaitMs(perMinute);
  }

  /** Until one more call keeps to the calls per minute: 0 when it may go now. */
  rateWaitMs(perMinute: number): number {
    if (perMinute < 1) return MINUTE_MS;
    const at = this.#starts.length - Math.ceil(perMinute);
    const over = at < 0 ? undefined : this.#starts[at]; // a place before the first is looked up slowly
    return over === undefined ? 0 : Math.max(0, over + MINUTE_MS - this.#world.monotonicMs());
  }

  isOver(): boolean {
    const last = this.#starts.at(-1);
    return this.running === 0 && (last === undefined || last + MINUTE_MS <= this.#world.monotonicMs());
  }

  #forget(): void {
    const endedMs = this.#world.monotonicMs() - MINUTE_MS;
    const recent = this.#starts.findIndex((startedMs) => startedMs > endedMs);
    this.#starts.splice(0, recent);
  }
}

/** Starts between two looks for those that are a minute old: taking each out by itself would move all others. */
const FORGET_EVERY = 1_024;

export class CallGate {
  readonly #world: World;
  readonly #limits: CallLimits;
  /** First come, first served, among sessions that have as many running; a Set keeps the order and forgets anyone in one step. */
  readonly #line = new Set<Waiter>();
  readonly #all: Use;
  readonly #uses = new Map<object, Use>();
  #sharingSessions = 1;
  #timer: Timer | undefined;

  constructor(world: World, limits: CallLimits) {
    this.#world = world;
    this.#limits = limits;
    this.#all = new Use(world);
  }

  /** How many sessions use the server: while there are several, none may use up its limits alone. */
  setSharingSessions(count: number): void {
    this.#sharingSessions = count;
    if (this.#line.size > 0) this.#serve();
  }

  /** Undefined when the call may go at once, as nearly all do. Otherwise its turn, or the outcome of a call that gets none. */
  enter(call: GatedCall): Promise<CallOutcome | undefined> | undefined {
    if (call.signal.aborted) return Promise.resolve({ kind: "cancelled" });
    if (this.#line.size > 0 || !this.#mayStart(call.sharingSession)) return this.#wait(call);
    this.#start(call.sharingSession);
    return undefined;
  }

  /** Once for each call that was let in, when it has ended. */
  leave({ sharingSession }: GatedCall): void {
    if (sharingSession) this.#endUse(sharingSession);
    this.#all.running -= 1;
    if (this.#line.size > 0) this.#serve();
  }

  #wait(call: GatedCall): Promise<CallOutcome | undefined> {
    return new Promise((resolve) => {
      const listeners = abortListeners(call.signal);
      const onAbort = () => waiter.settle({ kind: "cancelled" });
      const onTimeout = () => waiter.settle({ kind: "failed", error: this.#refusal(call) });
      const waiter: Waiter = {
        sharingSession: call.sharingSession,
        timer: this.#world.after(this.#limits.limitWaitMs, onTimeout),
        settle: (outcome) => {
          if (!this.#line.delete(waiter)) return;
          waiter.timer.clear();
          listeners.delete(onAbort);
          if (this.#line.size === 0) {
            this.#timer?.clear();
            this.#timer = undefined;
          }
          resolve(outcome);
        },
      };
      listeners.add(onAbort);
      this.#line.add(waiter);
      this.#serve();
    });
  }

  /** Lets in the calls that may go, and sets a timer for the next time the rate allows one. */
  #serve(): void {
    for (let waiter = this.#next(); waiter; waiter = this.#next()) {
      this.#start(waiter.sharingSession);
      waiter.settle();
    }
    if (this.#line.size === 0 || this.#timer) return;
    const shares = Array.from(this.#line, ({ sharingSession }) => this.#shareWaitMs(sharingSession));
    const waitMs = this.#all.rateWaitMs(this.#limits.callsPerMinute) || Math.min(...shares);
    if (waitMs === 0 || waitMs === Number.POSITIVE_INFINITY) return; // the end of a call serves again
    this.#timer = this.#world.after(waitMs, () => {
      this.#timer = undefined;
      this.#serve();
    });
  }

  /** Of the calls that may go, the first one of the session with the fewest running. */
  #next(): Waiter | undefined {
    if (!this.#hasRoom()) return undefined;
    const [first] = this.#line;
    if (this.#sharingSessions < 2) return first;
    let chosen: Waiter | undefined;
    for (const waiter of this.#line) {
      if (!this.#mayStart(waiter.sharingSession)) continue;
      if (!chosen || this.#runningOf(waiter) < this.#runningOf(chosen)) chosen = waiter;
    }
    return chosen;
  }

  #hasRoom(): boolean {
    return this.#all.waitMs(this.#limits.callsAtOnce, this.#limits.callsPerMinute) === 0;
  }

  #mayStart(sharingSession: object | undefined): boolean {
    return this.#hasRoom() && (!sharingSession || this.#shareWaitMs(sharingSession) === 0);
  }

  #runningOf({ sharingSession }: Waiter): number {
    return (sharingSession && this.#uses.get(sharingSession)?.running) ?? 0;
  }

  #shareWaitMs(sharingSession: object | undefined): number {
    const use = sharingSession && this.#uses.get(sharingSession);
    if (!use || this.#sharingSessions < 2) return 0;
    return use.waitMs(shareOf(this.#limits.callsAtOnce), shareOf(this.#limits.callsPerMinute));
  }

  #endUse(sharingSession: object): void {
    const ended = this.#uses.get(sharingSession);
    if (ended) ended.running -= 1;
    for (const [id, use] of this.#uses) if (use.isOver()) this.#uses.delete(id);
  }

  #start(sharingSession: object | undefined): void {
    const { callsPerMinute } = this.#limits;
    this.#all.start(callsPerMinute);
    if (!sharingSession) return;
    const use = this.#uses.get(sharingSession) ?? new Use(this.#world);
    use.start(callsPerMinute);
    this.#uses.set(sharingSession, use);
  }

  #refusal({ server, tool, sharingSession }: GatedCall): TenonError {
    const { limitWaitMs } = this.#limits;
    const limit = this.#hasRoom() ? this.#shareReason(sharingSession) : this.#reason();
    const text = `${server} / ${tool}: not called, after waiting ${inSeconds(limitWaitMs)} for its turn: ${limit}`;
    return new TenonError("mcp.rate_limited", text);
  }

  #reason(): string {
    const { callsAtOnce, callsPerMinute } = this.#limits;
    const waitMs = this.#all.rateWaitMs(callsPerMinute);
    return waitMs > 0
      ? `it has had ${callsPerMinute} calls in the last minute, which is its limit; retry in ${inSeconds(waitMs)}`
      : `${this.#all.running} calls are running, and ${callsAtOnce} at once is its limit; retry when one has ended`;
  }

  #shareReason(sharingSession: object | undefined): string {
    const { callsAtOnce, callsPerMinute } = this.#limits;
    const waitMs = this.#shareWaitMs(sharingSession);
    return waitMs === Number.POSITIVE_INFINITY
      ? `other sessions use the server too, and one of them may have ${shareOf(callsAtOnce)} calls at once; retry when one has ended`
      : `other sessions use the server too, and one of them may have ${shareOf(callsPerMinute)} calls a minute; retry in ${inSeconds(waitMs)}`;
  }
}

/** At least one, and where there is more than one, never all. */
export function shareOf(limit: number): number {
  if (limit <= 1 || limit === Number.POSITIVE_INFINITY) return limit;
  return Math.min(limit - 1, Math.ceil(limit * POOL_LIMITS.sessionShare));
}
