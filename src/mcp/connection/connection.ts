// One server of one session: connected in the background and kept so, asked through calls that each end once, closed for good.
import type { ReadonlyCell } from "../../base/async/cell.js";
import type { Eventual } from "../../base/async/eventual.js";
import { Scope } from "../../base/async/scope.js";
import { type ErrorCode, TenonError } from "../../base/errors.js";
import type { EndGrace } from "../../base/io/process.js";
import type { JsonObject } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import {
  type CallEnd,
  type CallOptions,
  type CallOutcome,
  type CallProgress,
  type CallRequest,
  callTool,
  ProgressPace,
} from "../protocol/call.js";
import { inSeconds, type Link } from "../protocol/link.js";
import type { LeftOut } from "../protocol/lists.js";
import type { TaskHandle } from "../protocol/task.js";
import { ServerTasks } from "../protocol/tasks.js";
import type { McpTool } from "../protocol/tools.js";
import { isRemote, type ServerSpec } from "../spec.js";
import { SpillDirectory } from "../transport/large/spilled.js";
import { CallGate, type GatedCall } from "./call-gate.js";
import { type ConnectionOptions, type ServerLimits, serverLimits } from "./options.js";
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
  call(tool: string, args: JsonObject, options: CallOptions): Promise<CallOutcome> {
    if (options.signal.aborted) return Promise.resolve({ kind: "cancelled" });
    const { link } = this;
    const request = this.#requestOf(tool, args, options);
    const turn = link && this.#gate.enter(request);
    if (!link || turn) return this.#callLater(request, link, turn);
    request.link = link;
    // Nearly all calls go at once, and not as an `async` function goes: that costs each of them a promise more.
    try {
      return callTool(request.view?.(link) ?? link, request, request);
    } catch (error) {
      return request.broken(error);
    }
  }

  /** One object for all calls. */
  readonly #callPort: CallPort = {
    left: (request, outcome) => this.#left(request, outcome),
    again: (link, request, outcome) => this.#orAgain(link, request, outcome),
  };

  async #callLater(
    request: ConnectionCall,
    link: Link | undefined,
    turn: Promise<CallOutcome | undefined> | undefined,
  ): Promise<CallOutcome> {
    try {
      if (!link) return await this.#callOnceReady(request);
      const outcome = (await turn) ?? (await this.#callLetIn(link, request));
      return isFinal(outcome) ? outcome : await this.#orAgain(link, request, outcome);
    } finally {
      request.end();
    }
  }

  #requestOf(tool: string, args: JsonObject, options: CallOptions): ConnectionCall {
    const { timeoutMs = this.#limits.callTimeoutMs } = this.#options.tools?.[tool] ?? {};
    return new ConnectionCall(options, this.#callPort, {
      world: this.#world,
      server: this.spec.name,
      tool,
      args,
      timeoutMs,
      maxTotalMs: Math.max(this.#limits.callMaxMs, timeoutMs),
      definition: this.#tools.find(tool),
      tasks: this.#tasks,
    });
  }

  async #callOnceReady(request: ConnectionCall): Promise<CallOutcome> {
    const { signal, limitMs, tool } = request;
    const { wasReady } = this;
    const link = await this.#supervisor.ready(signal, { restartWaitMs: limitMs });
    if (signal.aborted) return { kind: "cancelled" };
    if (link instanceof TenonError) return { kind: "failed", error: link };
    // A first start has a limit of its own.
    if (!wasReady) request.beganMs = this.#world.monotonicMs();
    request.timeoutMs = this.#leftMs(request);
    if (request.timeoutMs <= 0) return { kind: "failed", error: tooLate(this.spec.name, limitMs) };
    request.maxTotalMs = Math.max(this.#limits.callMaxMs, request.timeoutMs);
    request.definition = this.#tools.find(tool);
    const outcome = await this.#callOver(link, request);
    return isFinal(outcome) ? outcome : await this.#orAgain(link, request, outcome);
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
    request.timeoutMs = this.#leftMs(request);
    return again && request.timeoutMs > 0 ? await this.#callOver(again, request) : outcome;
  }

  async #callOver(link: Link, request: ConnectionCall): Promise<CallOutcome> {
    return (await this.#gate.enter(request)) ?? (await this.#callLetIn(link, request));
  }

  async #callLetIn(link: Link, request: ConnectionCall): Promise<CallOutcome> {
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

interface CallFacts
  extends Pick<CallRequest, "world" | "server" | "tool" | "args" | "timeoutMs" | "maxTotalMs" | "definition"> {
  readonly tasks: ServerTasks;
}

interface CallPort {
  left(call: ConnectionCall, outcome: CallOutcome | undefined): void;
  /** The outcome of another try, where that may be made. */
  again(link: Link, call: ConnectionCall, outcome: Exclude<CallOutcome, FinalOutcome>): Promise<CallOutcome>;
}

/** One call, also where it is sent again. */
class ConnectionCall implements CallRequest, CallEnd, GatedCall {
  readonly world: World;
  readonly server: string;
  readonly tool: string;
  readonly args: JsonObject;
  readonly signal: AbortSignal;
  readonly onTask: CallOptions["onTask"];
  readonly tasks: ServerTasks;
  readonly view: CallRequest["view"];
  readonly sharingSession: object | undefined;
  /** Where it was sent at once. */
  link: Link | undefined;
  definition: McpTool | undefined;
  beganMs: number;
  /** All the time it has; `timeoutMs` is what is left of it. */
  readonly limitMs: number;
  timeoutMs: number;
  maxTotalMs: number;
  readonly #port: CallPort;
  readonly #tell: CallOptions["onProgress"];
  /** Most calls have none. */
  #progress: ProgressPace | undefined;
  #isOver = false;

  constructor({ signal, onTask, onProgress, sharingSession }: CallOptions, port: CallPort, facts: CallFacts) {
    this.#port = port;
    this.world = facts.world;
    this.server = facts.server;
    this.tool = facts.tool;
    this.args = facts.args;
    this.signal = signal;
    this.onTask = onTask;
    this.tasks = facts.tasks;
    this.view = sharingSession && ((link) => sharingSession.view(link));
    this.sharingSession = sharingSession?.id;
    this.definition = facts.definition;
    this.beganMs = facts.world.monotonicMs();
    this.limitMs = facts.timeoutMs;
    this.timeoutMs = facts.timeoutMs;
    this.maxTotalMs = facts.maxTotalMs;
    this.#tell = onProgress;
  }

  onProgress(note: CallProgress): void {
    if (!this.#isOver) this.#progress ??= new ProgressPace(this.world, this.#tell);
    this.#progress?.take(note);
  }

  ended(outcome: CallOutcome): Eventual<CallOutcome> {
    this.#port.left(this, outcome);
    if (!isFinal(outcome) && this.link) return this.#port.again(this.link, this, outcome).finally(() => this.end());
    this.end();
    return outcome;
  }

  broken(error: unknown): Promise<never> {
    this.#port.left(this, undefined);
    this.end();
    return Promise.reject(error);
  }

  end(): void {
    this.#isOver = true;
    this.#progress?.[Symbol.dispose]();
  }
}

function tooLate(server: string, limitMs: number): TenonError {
  const words = `server "${server}" was ready again only when the ${inSeconds(limitMs)} of the call were over: it was not sent`;
  return new TenonError("mcp.not_ready", words);
}

/** Of calls that failed: the server has not looked at them. */
const UNTOUCHED: ReadonlySet<ErrorCode> = new Set(["mcp.session_lost", "mcp.connection_lost"]);
