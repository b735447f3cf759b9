// Follows one task to its one end: asks for it at the server's pace, through broken connections, and puts its questions.
import { messageOf, TenonError } from "../../base/errors.js";
import type { JsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import type { CallProgress } from "../call/call.js";
import { outcomeError } from "../call/outcome-error.js";
import { FOREVER_MS } from "../era/line.js";
import type { Link } from "../era/link.js";
import { TASK_LIMITS } from "../limits.js";
import type { ProgressNote, RpcOutcome } from "../rpc/rpc.js";
import type { RpcErrorBody } from "../transport/json-rpc.js";
import { pollDelayMs } from "./poll-pace.js";
import { isOver, readTask, type TaskHandle, type TaskState } from "./task.js";
import type { TaskEnding } from "./task-ending.js";
import { TaskInput } from "./task-input.js";
import { TaskReport } from "./task-report.js";
import { TaskTime } from "./task-time.js";
import { WakeablePause } from "./wakeable-pause.js";

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

export interface FollowOptions {
  readonly world: World;
  readonly handle: TaskHandle;
  /** As the server told it when it was created; left out, it is asked for at once. */
  readonly seed?: TaskState;
  /** The live connection, waited for through reconnections; the error says why there will be none. */
  link(signal: AbortSignal): Promise<Link | TenonError>;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: CallProgress) => void;
  /** Since it was created, however much it tells of itself. */
  readonly maxTotalMs: number;
}

export class TaskFollower {
  readonly #options: FollowOptions;
  readonly #world: World;
  readonly #input: TaskInput;
  readonly #time: TaskTime;
  readonly #report: TaskReport;
  readonly #pause: WakeablePause;
  readonly #over = new AbortController();
  /** Nobody waits any more, or it is over. */
  readonly #waits: AbortSignal;
  readonly #background = new Set<Promise<void>>();
  #task: TaskState | undefined;
  #lastLink: Link | undefined;
  #wasReconnected = false;
  #polls = 0;
  #failures = 0;
  #refusals = 0;
  #refusedInput: string | undefined;
  /** Legacy: `tasks/result` under way, and what came of it. */
  #isFetching = false;
  #fetched: RpcOutcome | undefined;
  #listeningOn: Link | undefined;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#world = options.world;
    this.#waits = AbortSignal.any([options.signal, this.#over.signal]);
    this.#time = new TaskTime(options.world, options.handle, options.maxTotalMs);
    this.#report = new TaskReport(options.world.log, options.onProgress);
    this.#pause = new WakeablePause(options.world, this.#waits);
    this.#input = new TaskInput(options.handle.id, (reason) => {
      this.#refusedInput = reason;
      this.#pause.wake();
    });
  }

  /** Exactly one end. Never rejects. */
  async run(): Promise<TaskEnding> {
    const { seed } = this.#options;
    if (seed) this.#see(seed);
    try {
      if (seed && !isOver(seed)) await this.#begin();
      for (;;) {
        const ending = await this.#look();
        if (ending) return ending;
        await this.#rest();
      }
    } finally {
      this.#over.abort(new DOMException("the task is over", "AbortError"));
      await Promise.all([this.#input.close(), ...this.#background]);
    }
  }

  async #begin(): Promise<void> {
    const link = await this.#link();
    if (!(link instanceof TenonError)) this.#listen(link);
    await this.#rest();
  }

  /** The server announced it: told at once, and looked at where that may end it. */
  hear(task: TaskState): void {
    if (this.#over.signal.aborted || this.#options.signal.aborted) return;
    this.#see(task);
    if (task.status !== "working") this.#pause.wake();
  }

  progress(note: ProgressNote): void {
    this.#report.setProgress(note);
    this.#report.tell(note.message ?? this.#task?.message);
  }

  /** One look at the task, and its end if that is it. */
  async #look(): Promise<TaskEnding | undefined> {
    const { signal } = this.#options;
    if (signal.aborted) return { kind: "cancelled" };
    if (this.#refusedInput !== undefined) return { kind: "refused", reason: this.#refusedInput };
    if (this.#fetched?.kind === "result") return { kind: "result", result: this.#fetched.result };
    const link = await this.#link();
    if (signal.aborted) return { kind: "cancelled" };
    if (link instanceof TenonError)
      return this.#time.isOverdue ? this.#tooLong() : { kind: "unreachable", error: link };
    this.#polls += 1;
    const outcome = await this.#request(link, "tasks/get");
    const ending = await this.#judge(outcome, link);
    if (ending) return ending;
    if (signal.aborted) return { kind: "cancelled" };
    return this.#time.isOverdue ? this.#tooLong() : undefined;
  }

  async #judge(outcome: RpcOutcome, link: Link): Promise<TaskEnding | undefined> {
    switch (outcome.kind) {
      case "result": {
        const task = readTask(outcome.result);
        if (!task) return this.#refused({ code: 0, message: "it answered with something that is no task" });
        this.#failures = 0;
        this.#refusals = 0;
        this.#see(task);
        return isOver(task) ? await this.#ending(task, link) : this.#attend(task, link);
      }
      case "error":
        return this.#refused(outcome.error);
      case "cancelled":
        return undefined;
      case "timed_out":
      case "lost":
        return this.#unheard(outcome);
    }
  }

  /** It could not be asked: not its end, as long as there is a chance that it can be later. */
  #unheard(outcome: Extract<RpcOutcome, { kind: "timed_out" | "lost" }>): TaskEnding | undefined {
    this.#failures += 1;
    const error = outcomeError(outcome, "asking for it");
    if (this.#time.isExpired && this.#failures > TASK_LIMITS.refusals) return { kind: "unreachable", error };
    this.#report.tell(`still running at the server, which cannot be asked now: ${error.message}`);
    return undefined;
  }

  /** An answer that tells nothing of the task. Only some say that it is gone. */
  #refused(error: RpcErrorBody): TaskEnding | undefined {
    this.#failures += 1;
    this.#refusals += 1;
    const isGone = error.code === INVALID_PARAMS || error.code === METHOD_NOT_FOUND;
    if (!isGone && this.#refusals < TASK_LIMITS.refusals) return undefined;
    return {
      kind: "forgotten",
      said: error.message,
      isExpired: this.#time.isExpired,
      wasReconnected: this.#wasReconnected,
    };
  }

  async #ending(task: TaskState, link: Link): Promise<TaskEnding | undefined> {
    if (task.status === "cancelled") return { kind: "stopped", message: task.message };
    if (link.agreement.era === "legacy") return await this.#fetchResult(task, link);
    if (task.status === "completed") {
      if (task.result) return { kind: "result", result: task.result };
      return { kind: "result_lost", status: task.status, said: "the server left it out" };
    }
    return { kind: "error", error: task.error ?? { code: 0, message: task.message ?? "no reason given" } };
  }

  /** Undefined when it could not be asked for: the next look tries again. */
  async #fetchResult({ status, message }: TaskState, link: Link): Promise<TaskEnding | undefined> {
    const outcome = this.#fetched ?? (await this.#request(link, "tasks/result"));
    this.#fetched = undefined;
    switch (outcome.kind) {
      case "result":
        return { kind: "result", result: outcome.result };
      case "error":
        if (status === "completed") return { kind: "result_lost", status, said: outcome.error.message };
        return { kind: "error", error: message === undefined ? outcome.error : { ...outcome.error, message } };
      case "cancelled":
        return undefined;
      case "timed_out":
      case "lost":
        return this.#unheard(outcome);
    }
  }

  #attend(task: TaskState, link: Link): undefined {
    this.#listen(link);
    this.#fetched = undefined; // an answer to `tasks/result` that came too early says nothing
    if (task.status !== "input_required") return undefined;
    if (link.agreement.era === "modern") this.#input.attend(task.inputRequests ?? {}, link);
    else this.#invite(link);
    return undefined;
  }

  /** A legacy server sends its questions as requests of its own, while `tasks/result` is open. */
  #invite(link: Link): void {
    if (this.#isFetching) return;
    this.#isFetching = true;
    this.#run(async () => {
      const params = { taskId: this.#options.handle.id };
      const outcome = await link.request("tasks/result", params, { signal: this.#waits, timeoutMs: FOREVER_MS });
      this.#isFetching = false;
      this.#fetched = outcome.kind === "result" || outcome.kind === "error" ? outcome : undefined;
      this.#pause.wake();
    });
  }

  /** Modern servers announce a task to whoever listens for it. They need not, so it is asked for all the same. */
  #listen(link: Link): void {
    if (!link.listen || this.#listeningOn === link) return;
    this.#listeningOn = link;
    this.#run(async () => link.listen?.({ taskIds: [this.#options.handle.id] }, this.#waits));
  }

  #run(work: () => Promise<void>): void {
    const running = work()
      .catch((thrown: unknown) => this.#world.log.error("mcp.task_work_failed", { error: messageOf(thrown) }))
      .finally(() => this.#background.delete(running));
    this.#background.add(running);
  }

  /** The same connection, or the next one: bounded by what is left of the task's time, and never less than one try. */
  async #link(): Promise<Link | TenonError> {
    const { signal } = this.#options;
    const leftMs = Math.min(this.#time.leftMs, this.#time.ttlLeftMs ?? Number.POSITIVE_INFINITY);
    using deadline = this.#world.deadline(Math.max(leftMs, TASK_LIMITS.lastLookMs), signal);
    const link = await this.#options.link(deadline.signal);
    if (link instanceof TenonError) return link;
    this.#wasReconnected ||= this.#lastLink !== undefined && this.#lastLink !== link;
    this.#lastLink = link;
    return link;
  }

  #request(link: Link, method: string): Promise<RpcOutcome> {
    const params: JsonObject = { taskId: this.#options.handle.id };
    const { signal } = this.#options;
    return link.request(method, params, { signal, timeoutMs: TASK_LIMITS.pollTimeoutMs });
  }

  /** Until the next look is due, something woke it, or nobody waits any more. Woken, it still keeps the least distance. */
  async #rest(): Promise<void> {
    const facts = {
      suggestedMs: this.#task?.pollMs,
      polls: this.#polls,
      failures: this.#failures,
      ttlLeftMs: this.#time.ttlLeftMs,
    };
    const delayMs = Math.min(pollDelayMs(facts, this.#world.random()), Math.max(0, this.#time.leftMs));
    await this.#pause.wait(delayMs, Math.min(delayMs, TASK_LIMITS.minPollMs));
  }

  #see(task: TaskState): void {
    this.#task = task;
    this.#time.setTtl(task.ttlMs);
    this.#report.tell(task.message ?? (task.status === "input_required" ? "waiting for input" : undefined));
  }

  #tooLong(): TaskEnding {
    return { kind: "too_long", afterMs: this.#time.elapsedMs };
  }
}
