// Calls that a server continues as a task: followed by id to one outcome, through reconnections.
import { backoffDelayMs, sleep } from "../../base/async/deadline.js";
import { abortListeners, contained, Scope } from "../../base/async/scope.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { MCP_LIMITS, TASK_LIMITS } from "../limits.js";
import type { ProgressNote, RequestOptions, RpcOutcome } from "../rpc/rpc.js";
import type { RpcErrorBody, RpcId } from "../transport/transport.js";
import { answerOf, type CallOutcome, type CallRequest, NOBODY_KNOWS } from "./call.js";
import { INPUT_KINDS, type InputRequest, readInput } from "./input-rounds.js";
import { FOREVER_MS, inSeconds, type Link, outcomeError } from "./link.js";
import { isOver, isSentAsTask, readTask, type TaskHandle, type TaskState, takesCancel } from "./task.js";
import type { McpTool } from "./tools.js";

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

/** The announcements of a legacy and of a modern server. */
const ANNOUNCEMENTS: readonly string[] = ["notifications/tasks/status", "notifications/tasks"];

export interface TasksPort {
  readonly world: World;
  readonly isRemote: boolean;
  /** The live connection, if there is one now. */
  current(): Link | undefined;
  /** Waits for a connection through reconnections; the error says why there will be none. */
  next(signal: AbortSignal): Promise<Link | TenonError>;
}

type Following = Pick<
  CallRequest,
  "world" | "server" | "tool" | "definition" | "signal" | "onProgress" | "maxTotalMs" | "view"
>;

/** The tasks of one connection. */
export class ServerTasks {
  readonly #port: TasksPort;
  readonly #followers = new Map<string, TaskFollower>();
  readonly #cancelling = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(port: TasksPort) {
    this.#port = port;
  }

  /** Passes what the server announces over this connection to the followers. */
  attach(link: Link): void {
    link.onNotification((method, params) => {
      if (!ANNOUNCEMENTS.includes(method)) return;
      const task = readTask(params);
      if (task) this.#followers.get(task.id)?.hear(task);
    });
  }

  isWanted(link: Link, tool: McpTool | undefined): boolean {
    return isSentAsTask(link, tool, this.#port.isRemote);
  }

  /** The outcome of a call that was answered with a task. Its progress comes under the id of its request. Never rejects. */
  async finish(task: TaskState, request: CallRequest, sent: { link: Link; id?: RpcId }): Promise<CallOutcome> {
    const { id, ttlMs } = task;
    const handle = { id, startedMs: this.#port.world.now(), ...defined({ ttlMs }) };
    request.onTask?.(handle);
    return await this.#follow(request, handle, (follower) => {
      const onProgress = (note: ProgressNote) => follower.setProgress(note);
      const end = sent.id === undefined ? undefined : sent.link.followProgress?.(sent.id, onProgress);
      return follower.run(task).finally(() => end?.());
    });
  }

  /** The outcome of a task that another connection or another process began. Never rejects. */
  async resume(handle: TaskHandle, request: Following): Promise<CallOutcome> {
    return await this.#follow(request, handle, (follower) => follower.run());
  }

  /** Gives cancellations a moment to be sent. */
  async close(): Promise<void> {
    if (this.#cancelling.size > 0) {
      using patience = this.#port.world.deadline(TASK_LIMITS.closeMs);
      const late = new Promise<void>((resolve) => abortListeners(patience.signal).add(resolve));
      await Promise.race([Promise.all(this.#cancelling), late]);
    }
    this.#closing.abort(new DOMException("the connection is closed", "AbortError"));
    await Promise.all(this.#cancelling);
  }

  async #follow(
    request: Following,
    handle: TaskHandle,
    run: (follower: TaskFollower) => Promise<CallOutcome>,
  ): Promise<CallOutcome> {
    const { signal } = request;
    const { id } = handle;
    const follower = new TaskFollower(this.#port, { handle, request, giveUp: () => this.#cancel(id) });
    // At once, while there is a connection: closing the connection waits for this.
    const onAbort = () => {
      if (!isLeft(signal)) this.#cancel(id);
    };
    if (signal.aborted) onAbort();
    else abortListeners(signal).add(onAbort);
    this.#followers.set(id, follower);
    try {
      return await run(follower);
    } finally {
      abortListeners(signal).delete(onAbort);
      if (this.#followers.get(id) === follower) this.#followers.delete(id);
    }
  }

  /** In the background: the outcome of the call does not depend on it. */
  #cancel(taskId: string): void {
    const working = this.#sendCancel({ taskId })
      .catch((error: unknown) => this.#port.world.log.debug("mcp.task_cancel_lost", { error: messageOf(error) }))
      .finally(() => this.#cancelling.delete(working));
    this.#cancelling.add(working);
  }

  async #sendCancel(params: JsonObject): Promise<void> {
    using deadline = this.#port.world.deadline(TASK_LIMITS.cancelMs, this.#closing.signal);
    const { signal } = deadline;
    const link = this.#port.current() ?? (await this.#port.next(signal));
    if (link instanceof TenonError || !takesCancel(link)) return;
    await link.request("tasks/cancel", params, { signal, timeoutMs: TASK_LIMITS.cancelMs });
  }
}

/** The session is closing and did not cancel: the task goes on at the server, and the session may be loaded again. */
function isLeft({ reason }: AbortSignal): boolean {
  return reason instanceof TenonError && reason.code === "session.closed";
}

interface FollowOptions {
  readonly handle: TaskHandle;
  readonly request: Following;
  /** Cancels the task at the server. */
  giveUp(): void;
}

/** Follows one task: asks for it at the server's pace, over whichever connection there is, and puts its questions. */
class TaskFollower {
  readonly #port: TasksPort;
  readonly #world: World;
  readonly #options: FollowOptions;
  readonly #scope: Scope;
  /** Aborts when the caller cancels, or the task is over. */
  readonly #signal: AbortSignal;
  readonly #questions: TaskQuestions;
  #wake = new AbortController();
  #task: TaskState | undefined;
  /** The last connection, the view of it that the call may use, and whether a stream for the task is open on it. */
  #connected: { readonly link: Link; readonly view: Link; isListening: boolean } | undefined;
  #wasReconnected = false;
  #polls = 0;
  #failures = 0;
  #refusals = 0;
  /** Legacy: `tasks/result` while the task wants input, and its outcome. */
  #fetched: RpcOutcome | "pending" | undefined;
  #progress: ProgressNote = { progress: 0 };
  #reported = "";

  constructor(port: TasksPort, options: FollowOptions) {
    this.#port = port;
    this.#world = port.world;
    this.#options = options;
    this.#scope = new Scope(port.world.log);
    this.#signal = AbortSignal.any([options.request.signal, this.#scope.signal]);
    this.#questions = new TaskQuestions(options.handle.id, this.#scope, () => this.#wake.abort());
  }

  /** Exactly one outcome. Never rejects. Without `seed` the task is asked for at once. */
  async run(seed?: TaskState): Promise<CallOutcome> {
    if (seed) this.#see(seed);
    try {
      if (seed && !isOver(seed)) {
        if (!((await this.#connect()) instanceof TenonError)) this.#listen();
        await this.#rest();
      }
      for (;;) {
        const outcome = await this.#look();
        if (outcome) return outcome;
        await this.#rest();
      }
    } finally {
      await this.#scope.close();
    }
  }

  /** The server announced a change: reported at once, and asked for where that may be its end. */
  hear(task: TaskState): void {
    if (this.#signal.aborted) return;
    this.#see(task);
    if (task.status !== "working") this.#wake.abort();
  }

  setProgress(note: ProgressNote): void {
    this.#progress = note;
    this.#report(note.message ?? this.#task?.message);
  }

  /** Asks for the task once. Undefined while it runs. */
  async #look(): Promise<CallOutcome | undefined> {
    const { signal } = this.#options.request;
    if (signal.aborted) return { kind: "cancelled" };
    const { refusal } = this.#questions;
    if (refusal !== undefined) {
      this.#options.giveUp();
      return this.#failed(refusal);
    }
    if (typeof this.#fetched === "object" && this.#fetched.kind === "result") return this.#answer(this.#fetched.result);
    const link = await this.#connect();
    if (signal.aborted) return { kind: "cancelled" };
    if (link instanceof TenonError) return this.#leftMs <= 0 ? this.#tooLong() : this.#unreachable(link);
    this.#polls += 1;
    const outcome = await this.#judge(await this.#request(link, "tasks/get"), link);
    if (outcome) return outcome;
    if (signal.aborted) return { kind: "cancelled" };
    return this.#leftMs <= 0 ? this.#tooLong() : undefined;
  }

  async #judge(outcome: RpcOutcome, link: Link): Promise<CallOutcome | undefined> {
    switch (outcome.kind) {
      case "result": {
        const task = readTask(outcome.result);
        if (!task) return this.#refused({ code: 0, message: "it answered with something that is no task" });
        this.#failures = 0;
        this.#refusals = 0;
        this.#see(task);
        if (isOver(task)) return await this.#end(task, link);
        this.#goOn(task, link);
        return undefined;
      }
      case "error":
        return this.#refused(outcome.error);
      default:
        return this.#unheard(outcome);
    }
  }

  /** The server could not be asked: not the end, as long as it may answer later. */
  #unheard(outcome: Exclude<RpcOutcome, { kind: "result" | "error" }>): CallOutcome | undefined {
    if (outcome.kind === "cancelled") return undefined;
    this.#failures += 1;
    const error = outcomeError(outcome, "asking for it");
    if (this.#isExpired && this.#failures > TASK_LIMITS.refusals) return this.#unreachable(error);
    this.#report(`still running at the server, which cannot be asked now: ${error.message}`);
    return undefined;
  }

  /** The answer says nothing of the task. Only some such answers say that it is gone. */
  #refused(error: RpcErrorBody): CallOutcome | undefined {
    this.#failures += 1;
    this.#refusals += 1;
    const isGone = error.code === INVALID_PARAMS || error.code === METHOD_NOT_FOUND;
    if (!isGone && this.#refusals < TASK_LIMITS.refusals) return undefined;
    let words = "the server has forgotten it";
    if (this.#isExpired) words = `its time to live is over, and ${words}`;
    else if (this.#wasReconnected) words = "the server was connected to anew and has forgotten it";
    return this.#unknown("mcp.task_lost", `${words} (${error.message})`);
  }

  async #end(task: TaskState, link: Link): Promise<CallOutcome | undefined> {
    const { status, message } = task;
    if (status === "cancelled") {
      return this.#failed(`the server cancelled it${message === undefined ? "" : `: ${message}`}`);
    }
    if (link.agreement.era === "legacy") return await this.#fetchResult(task, link);
    if (status !== "completed") return this.#error(task.error ?? { code: 0, message: message ?? "no reason given" });
    return task.result ? this.#answer(task.result) : this.#resultLost(status, "the server left it out");
  }

  /** Undefined when the result could not be asked for: the next look tries again. */
  async #fetchResult({ status, message }: TaskState, link: Link): Promise<CallOutcome | undefined> {
    const fetched = this.#fetched;
    this.#fetched = undefined;
    const outcome = typeof fetched === "object" ? fetched : await this.#request(link, "tasks/result");
    switch (outcome.kind) {
      case "result":
        return this.#answer(outcome.result);
      case "error":
        if (status === "completed") return this.#resultLost(status, outcome.error.message);
        return this.#error(message === undefined ? outcome.error : { ...outcome.error, message });
      default:
        return this.#unheard(outcome);
    }
  }

  /** The task still runs. */
  #goOn(task: TaskState, link: Link): void {
    this.#listen();
    if (this.#fetched !== "pending") this.#fetched = undefined; // a result that came before the end says nothing
    if (task.status !== "input_required") return;
    if (link.agreement.era === "modern") this.#questions.put(task.inputRequests ?? {}, link);
    else this.#invite(link);
  }

  /** A legacy server sends its questions as requests of its own, while `tasks/result` is open. */
  #invite(link: Link): void {
    if (this.#fetched === "pending") return;
    this.#fetched = "pending";
    this.#scope.run("fetch the result of a task", async () => {
      const outcome = await this.#request(link, "tasks/result", { signal: this.#signal, timeoutMs: FOREVER_MS });
      this.#fetched = outcome.kind === "result" || outcome.kind === "error" ? outcome : undefined;
      this.#wake.abort();
    });
  }

  /** Modern servers may announce a task on a stream of its own. They need not, so the task is asked for all the same. */
  #listen(): void {
    const connected = this.#connected;
    if (!connected?.view.listen || connected.isListening) return;
    connected.isListening = true;
    const { id } = this.#options.handle;
    this.#scope.run("listen for a task", async () => connected.view.listen?.({ taskIds: [id] }, this.#signal));
  }

  /** The same connection, or the next one: within the time left of the task, and at least for one try. */
  async #connect(): Promise<Link | TenonError> {
    const { signal, view = (link) => link } = this.#options.request;
    const leftMs = Math.min(this.#leftMs, this.#ttlLeftMs ?? Number.POSITIVE_INFINITY);
    using deadline = this.#world.deadline(Math.max(leftMs, TASK_LIMITS.lastLookMs), signal);
    const link = await this.#port.next(deadline.signal);
    if (link instanceof TenonError) return link;
    if (this.#connected?.link !== link) {
      this.#wasReconnected = this.#connected !== undefined;
      this.#connected = { link, view: view(link), isListening: false };
    }
    return this.#connected.view;
  }

  #request(
    link: Link,
    method: string,
    options: RequestOptions = { signal: this.#options.request.signal, timeoutMs: TASK_LIMITS.pollTimeoutMs },
  ): Promise<RpcOutcome> {
    return link.request(method, { taskId: this.#options.handle.id }, options);
  }

  /** Until the next look is due, something wakes it, or the call is cancelled; woken, it still keeps the least distance. */
  async #rest(): Promise<void> {
    const delayMs = Math.min(this.#pollDelayMs(this.#world.random()), Math.max(0, this.#leftMs));
    const leastMs = Math.min(delayMs, TASK_LIMITS.minPollMs);
    await this.#sleep(leastMs, this.#signal);
    await this.#sleep(delayMs - leastMs, AbortSignal.any([this.#signal, this.#wake.signal]));
    this.#wake = new AbortController();
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (ms > 0) await sleep(this.#world, ms, signal).catch(() => undefined);
  }

  /** Not before the server wants it, a little later by chance, and rather too early than after the task may be forgotten. */
  #pollDelayMs(random: number): number {
    const { poll, minPollMs, maxPollMs, pollJitter } = TASK_LIMITS;
    if (this.#failures > 0) {
      return Math.max(minPollMs, backoffDelayMs(MCP_LIMITS.reconnect, this.#failures - 1, random));
    }
    const wishedMs = this.#task?.pollMs ?? backoffDelayMs(poll, this.#polls, random);
    const delayMs = Math.min(maxPollMs, Math.max(minPollMs, wishedMs) * (1 + pollJitter * random));
    const ttlLeftMs = this.#ttlLeftMs ?? 0;
    if (ttlLeftMs <= 0 || delayMs < ttlLeftMs) return Math.round(delayMs);
    return Math.max(minPollMs, Math.round(ttlLeftMs * 0.9));
  }

  /** By the clock of the wall: the task may be older than the process. */
  get #leftMs(): number {
    return this.#options.handle.startedMs + this.#options.request.maxTotalMs - this.#world.now();
  }

  /** Undefined when the server sets no limit. What it said last counts, or else what it said first. */
  get #ttlLeftMs(): number | undefined {
    const { startedMs, ttlMs: firstMs } = this.#options.handle;
    const ttlMs = this.#task?.ttlMs ?? firstMs;
    return ttlMs === undefined ? undefined : startedMs + ttlMs - this.#world.now();
  }

  get #isExpired(): boolean {
    return (this.#ttlLeftMs ?? 1) <= 0;
  }

  #see(task: TaskState): void {
    this.#task = task;
    this.#report(task.message ?? (task.status === "input_required" ? "waiting for input" : undefined));
  }

  /** Nothing is reported twice. */
  #report(message = "running as a task"): void {
    const { progress, total } = this.#progress;
    const report = { progress, ...defined({ total }), message };
    const key = JSON.stringify(report);
    if (key === this.#reported) return;
    this.#reported = key;
    contained(this.#world.log, "progress of a task", () => this.#options.request.onProgress(report));
  }

  #answer(result: JsonObject): CallOutcome | Promise<CallOutcome> {
    return answerOf(result, this.#options.request);
  }

  get #where(): string {
    return `${this.#options.request.server} / ${this.#options.request.tool}`;
  }

  #error(error: RpcErrorBody): CallOutcome {
    return { kind: "failed", error: outcomeError({ kind: "error", error }, this.#where) };
  }

  #failed(words: string): CallOutcome {
    return { kind: "failed", error: new TenonError("mcp.call_failed", `${this.#where}: ${words}`) };
  }

  #unknown(code: TenonError["code"], words: string): CallOutcome {
    return { kind: "unknown", error: new TenonError(code, `${this.#where}: ${words}; ${NOBODY_KNOWS}`) };
  }

  #resultLost(status: string, why: string): CallOutcome {
    return this.#unknown("mcp.task_lost", `it ended as ${status}, and its result cannot be fetched (${why})`);
  }

  #unreachable({ message }: TenonError): CallOutcome {
    return this.#unknown("mcp.task_lost", `it ran at the server, which cannot be asked any more: ${message}`);
  }

  #tooLong(): CallOutcome {
    this.#options.giveUp();
    const spent = inSeconds(this.#world.now() - this.#options.handle.startedMs);
    const words = `still under way after ${spent}, the most a call may take; it was cancelled`;
    return this.#unknown("mcp.call_timeout", words);
  }
}

/** The questions of a modern task: each is put to the peer once, and answered until the server has the answer. */
class TaskQuestions {
  /** Why the task cannot go on: a question was refused, or must not be asked at all. */
  refusal: string | undefined;
  readonly #taskId: string;
  readonly #scope: Scope;
  readonly #onRefused: () => void;
  readonly #asked = new Set<string>();
  readonly #answers = new Map<string, JsonObject>();
  #isAsking = false;

  constructor(taskId: string, scope: Scope, onRefused: () => void) {
    this.#taskId = taskId;
    this.#scope = scope;
    this.#onRefused = onRefused;
  }

  /**
   * Takes what is outstanding now. Servers repeat a question until its answer has arrived: the person is asked the first
   * time only, and an answer that was lost on its way is sent again.
   */
  put(outstanding: JsonObject, link: Link): void {
    if (this.#isAsking || this.#scope.signal.aborted) return;
    const requests = Object.entries(outstanding).map(([key, raw]) => readInput(key, raw));
    const strange = requests.find(({ method }) => !INPUT_KINDS.includes(method));
    if (strange) return this.#refuse(`it asks for ${JSON.stringify(strange.method.slice(0, 100))}`);
    const fresh = requests.filter(({ key }) => !this.#asked.has(key));
    if (this.#asked.size + fresh.length > MCP_LIMITS.inputMaxRequests) {
      return this.#refuse(`it asks for more than ${MCP_LIMITS.inputMaxRequests} inputs`);
    }
    for (const { key } of fresh) this.#asked.add(key);
    this.#isAsking = true;
    this.#scope.run("answer what a task asks", async (signal) => {
      await this.#answer(requests, fresh, { link, signal });
      this.#isAsking = false;
    });
  }

  /** Never rejects. One after the other: a person reads one at a time. */
  async #answer(
    requests: readonly InputRequest[],
    fresh: readonly InputRequest[],
    { link, signal }: { readonly link: Link; readonly signal: AbortSignal },
  ): Promise<void> {
    try {
      for (const { key, method, params } of fresh) {
        if (!link.askPeer) throw new Error("nobody here can be asked");
        const answer = await link.askPeer(method, params, signal);
        if (signal.aborted) return;
        this.#answers.set(key, answer);
      }
    } catch (thrown) {
      if (!signal.aborted) this.#refuse(`what the server asked for was refused: ${messageOf(thrown)}`);
      return;
    }
    const inputResponses = defined(Object.fromEntries(requests.map(({ key }) => [key, this.#answers.get(key)])));
    if (Object.keys(inputResponses).length === 0) return;
    const params = { taskId: this.#taskId, inputResponses };
    // Its outcome does not matter: a question that is still outstanding at the next look is answered again.
    await link.request("tasks/update", params, { signal, timeoutMs: TASK_LIMITS.pollTimeoutMs });
  }

  #refuse(reason: string): void {
    this.refusal = reason;
    this.#onRefused();
  }
}
