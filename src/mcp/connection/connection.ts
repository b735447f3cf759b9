// One server of one session: connected in the background and kept so, asked through calls that each end once, closed for good.
import type { ReadonlyCell } from "../../base/async/cell.js";
import { Scope } from "../../base/async/scope.js";
import { TenonError } from "../../base/errors.js";
import type { EndGrace } from "../../base/io/process.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import { type CallOptions, type CallOutcome, type CallRequest, callTool, ProgressPace } from "../protocol/call.js";
import type { Link } from "../protocol/link.js";
import type { LeftOut } from "../protocol/lists.js";
import type { TaskHandle } from "../protocol/task.js";
import { ServerTasks } from "../protocol/tasks.js";
import type { McpTool } from "../protocol/tools.js";
import { isRemote, type ServerSpec } from "../spec.js";
import { SpillDirectory } from "../transport/large/spilled.js";
import { CallGate, type GatedCall } from "./call-gate.js";
import { type ConnectionOptions, type ServerLimits, serverLimits } from "./options.js";
import type { ConnectionState } from "./state.js";
import { Supervisor } from "./supervisor.js";
import { CurrentTools } from "./tool-list.js";

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

  /** Exactly one outcome, whatever happens. It starts a server that rests, and waits while one is connecting. */
  async call(tool: string, args: JsonObject, options: CallOptions): Promise<CallOutcome> {
    const link = this.link ?? (await this.#supervisor.ready(options.signal));
    if (options.signal.aborted) return { kind: "cancelled" };
    if (link instanceof TenonError) return { kind: "failed", error: link };
    const { timeoutMs = this.#limits.callTimeoutMs, isIdempotent = false } = this.#options.tools?.[tool] ?? {};
    const { signal, onTask, sharingSession } = options;
    using progress = new ProgressPace(this.#world, options.onProgress);
    const request = {
      world: this.#world,
      server: this.spec.name,
      tool,
      args,
      timeoutMs,
      maxTotalMs: Math.max(this.#limits.callMaxMs, timeoutMs),
      definition: this.#tools.find(tool),
      signal,
      onProgress: progress.take,
      onTask,
      tasks: this.#tasks,
      view: (one: Link) => sharingSession?.view(one) ?? one,
      ...defined({ sharingSession: sharingSession?.id }),
    };
    const outcome = await this.#callOver(link, request);
    // A server that has forgotten the session has not looked at the call: that is no replay.
    const isUntouched = outcome.kind === "failed" && outcome.error.code === "mcp.session_lost";
    if (!isUntouched && !(outcome.kind === "unknown" && isIdempotent)) return outcome;
    const { code } = outcome.error;
    if (code === "mcp.call_timeout") return outcome; // its time is up
    const again = await this.#supervisor.again(link, { code, timeoutMs, signal });
    return again ? await this.#callOver(again, request) : outcome;
  }

  async #callOver(link: Link, request: CallRequest & GatedCall): Promise<CallOutcome> {
    const turn = this.#gate.enter(request);
    const refused = turn && (await turn); // nearly all calls go at once
    if (refused) return refused;
    try {
      return await callTool(request.view?.(link) ?? link, request);
    } finally {
      this.#gate.leave(request);
    }
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
    this.#supervisor.endWithin(grace);
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
    this.#supervisor.closing();
    await tasks;
    await this.#scope.close();
    await this.#spill.dispose();
    this.#supervisor.closed();
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
  | "link"
  | "callsAtOnce"
  | "closed"
  | "call"
  | "resume"
  | "restart"
  | "close"
>;
