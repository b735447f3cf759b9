// The scripted server itself: one connection's requests, answered as the behaviour says. Knows no transport.
import { Cell } from "../../../base/async/cell.js";
import { orAborted, sleep } from "../../../base/async/deadline.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import { Feed, type WaitOptions } from "../feed.js";
import {
  type Answer,
  answerOf,
  errorAnswer,
  HeldCall,
  initializeAnswer,
  isDeferred,
  pageAnswer,
  textAnswer,
} from "./answers.js";
import { type Behaviour, echoTool, type ToolScript } from "./behaviour.js";
import { type Host, type RequestId, realAfter } from "./host.js";
import {
  discoverAnswer,
  EraSelector,
  inputAnswer,
  isChangeNotice,
  modernAnswer,
  Subscriptions,
  streamEnd,
} from "./modern.js";
import { Flow, notification, runSteps, sendProgress } from "./steps.js";
import { TaskRequests, TaskStore } from "./tasks.js";

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INVALID_REQUEST = -32600;
const INTERNAL_ERROR = -32603;

export class ScriptedPeer {
  readonly host: Host;
  readonly #behaviour: Behaviour;
  readonly #closing = new AbortController();
  readonly #flows = new Map<RequestId, Flow>();
  readonly #work = new Set<Promise<void>>();
  readonly #backlog: unknown[] = [];
  readonly #notified = new Cell<{ method: string; count: number }>({ method: "", count: 0 });
  readonly #released = new Cell<ReadonlySet<string>>(new Set());
  readonly #eras: EraSelector;
  readonly #subscriptions: Subscriptions;
  readonly #modernFlows = new WeakSet<Flow>();
  readonly #asked = new Map<JsonValue | undefined, (response: JsonObject) => void>();
  readonly #taskRequests: TaskRequests;
  #tools: readonly ToolScript[];
  #isStarted = false;
  #requestCount = 0;

  /** `store`: the tasks of the whole server, where it has more than one connection. */
  constructor(behaviour: Behaviour, host: Host, store: TaskStore = new TaskStore(behaviour.taskFile)) {
    this.#behaviour = behaviour;
    this.#taskRequests = new TaskRequests(store, this);
    this.#eras = new EraSelector(behaviour);
    this.#subscriptions = new Subscriptions(behaviour);
    this.host = host;
    this.#tools = [
      ...(behaviour.tools ?? []),
      ...Array.from({ length: behaviour.fillerTools ?? 0 }, (_, n) => echoTool(`filler_${n}`)),
    ];
    this.#run(async () => {
      await runSteps(behaviour.steps?.start, new Flow(this.#closing.signal), this);
      this.#isStarted = true;
      for (const message of this.#backlog.splice(0)) this.receive(message);
    });
  }

  /** Takes one parsed message of the client. What comes before the start steps are over waits for them. */
  receive(message: unknown): void {
    if (this.#closing.signal.aborted) return;
    if (!this.#isStarted) this.#backlog.push(message);
    else if (!isJsonObject(message)) this.#refuse("not a JSON-RPC message");
    else if (typeof message["method"] !== "string") this.#asked.get(message["id"])?.(message);
    else if (message["id"] === undefined) this.#receiveNotification(message["method"], paramsOf(message));
    else this.#receiveRequest(message["id"], message["method"], paramsOf(message));
  }

  send(message: JsonObject, flow?: Flow): void {
    if (this.#closing.signal.aborted) return;
    const { method } = message;
    const isLegacy = (this.#behaviour.era ?? "legacy") === "legacy";
    if (isLegacy || !isChangeNotice(method)) return this.#put(message, flow);
    for (const notice of this.#subscriptions.notices(method)) this.#put(notice.message, notice.flow);
    // A modern client hears only what it listens for; a legacy one of a server of both eras hears everything.
    if (this.#eras.era !== "modern") this.#put(message, flow);
  }

  #put(message: JsonObject, flow?: Flow): void {
    const { garbageBetween } = this.#behaviour;
    if (garbageBetween !== undefined) this.host.garbage(garbageBetween, flow?.request?.id);
    this.host.send(message, flow?.request?.id);
  }

  notify(method: string, params?: JsonObject): void {
    this.send(notification(method, params));
  }

  later(ms: number, run: () => void): void {
    this.#run(async () => {
      await sleep(this.host, ms, this.#closing.signal);
      run();
    });
  }

  /** A legacy client hears of every task, a modern one of those it listens for. */
  announceTask(state: JsonObject): void {
    if (this.#eras.era !== "modern") return this.notify("notifications/tasks/status", state);
    for (const { message, flow } of this.#subscriptions.notices("notifications/tasks", state)) this.#put(message, flow);
  }

  /** Sends a request to the client; resolves with its whole response, result or error. */
  async request(method: string, params: JsonObject | undefined, signal: AbortSignal, flow?: Flow): Promise<JsonObject> {
    const id = `scripted-${++this.#requestCount}`;
    const response = new Promise<JsonObject>((resolve) => this.#asked.set(id, resolve));
    this.send({ id, ...notification(method, params) }, flow);
    try {
      return await orAborted(response, AbortSignal.any([signal, this.#closing.signal]));
    } finally {
      this.#asked.delete(id);
    }
  }

  setTools(tools: readonly ToolScript[]): void {
    this.#tools = tools;
  }

  release(name: string): void {
    this.#released.set(new Set([...this.#released.value, name]));
  }

  async untilReleased(name: string, signal: AbortSignal): Promise<void> {
    await this.#released.until((names) => names.has(name), signal);
  }

  async untilNotified(method: string, signal: AbortSignal): Promise<void> {
    const { count } = this.#notified.value;
    await this.#notified.until((last) => last.count > count && last.method === method, signal);
  }

  /** Stops everything under way; nothing is sent any more. */
  async close(): Promise<void> {
    this.#closing.abort(new DOMException("the scripted server is closed", "AbortError"));
    while (this.#work.size > 0) await Promise.all(this.#work);
  }

  #receiveNotification(method: string, params: JsonObject): void {
    const { requestId } = params;
    if (method === "notifications/cancelled" && isRequestId(requestId)) this.#flows.get(requestId)?.cancel();
    this.#notified.set({ method, count: this.#notified.value.count + 1 });
    if (method !== "notifications/initialized") return;
    this.#run(() => runSteps(this.#behaviour.steps?.initialized, new Flow(this.#closing.signal), this));
  }

  #receiveRequest(id: JsonValue, method: string, params: JsonObject): void {
    if (!isRequestId(id)) return this.#refuse("the id is neither a string nor a number");
    const meta = params["_meta"];
    const token = isJsonObject(meta) ? meta["progressToken"] : undefined;
    const flow = new Flow(this.#closing.signal, { id, params, progressToken: isRequestId(token) ? token : undefined });
    this.#flows.set(id, flow);
    this.#run(async () => {
      try {
        await this.#answer(method, flow);
      } catch (error) {
        if (flow.isStopped) return;
        this.#reply(flow, errorAnswer(INTERNAL_ERROR, String(error)));
        throw error;
      } finally {
        if (this.#flows.get(id) === flow) this.#flows.delete(id);
      }
    });
  }

  async #answer(method: string, flow: Flow): Promise<void> {
    const { params } = flow;
    const { steps } = this.#behaviour;
    const era = this.#eras.judge(method, params);
    if (typeof era !== "string") return this.#reply(flow, era);
    if (era === "modern") this.#modernFlows.add(flow);
    if (method === "server/discover") await runSteps(steps?.["server/discover"], flow, this);
    if (era === "modern") {
      if (method === "server/discover") return this.#reply(flow, discoverAnswer(this.#behaviour));
      if (method === "subscriptions/listen") return await this.#listen(flow);
      if (method === "initialize" || method === "ping") return this.#refuseMethod(flow, method);
    }
    switch (method) {
      case "initialize":
        await runSteps(steps?.initialize, flow, this);
        return this.#reply(flow, initializeAnswer(this.#behaviour, params));
      case "ping":
        return this.#reply(flow, { result: {} });
      case "tools/list":
        await runSteps(steps?.["tools/list"], flow, this);
        return this.#reply(flow, pageAnswer(this.#behaviour, this.#tools, params["cursor"]));
      case "tools/call":
        await runSteps(steps?.["tools/call"], flow, this);
        return await this.#call(flow);
      default: {
        const answer = await this.#taskRequests.answer(method, era, flow);
        return answer ? this.#reply(flow, answer) : this.#refuseMethod(flow, method);
      }
    }
  }

  #refuseMethod(flow: Flow, method: string): void {
    this.#reply(flow, errorAnswer(METHOD_NOT_FOUND, `Method not found: ${method}`));
  }

  /** Stays open until the client leaves, unless the script says otherwise. */
  async #listen(flow: Flow): Promise<void> {
    await runSteps(this.#behaviour.steps?.["subscriptions/listen"], flow, this);
    const { listen } = this.#behaviour;
    if (listen === "refuse") return this.#reply(flow, errorAnswer(INTERNAL_ERROR, "Subscription limit reached"));
    this.#put(this.#subscriptions.open(flow), flow);
    if (listen === "end") this.#reply(flow, streamEnd(flow));
    else await orAborted(new Promise<never>(() => {}), flow.waits).catch(() => undefined);
    this.#subscriptions.close(flow);
  }

  async #call(flow: Flow): Promise<void> {
    const { params } = flow;
    const tool = this.#tools.find(({ name }) => name === params["name"]);
    if (!tool) return this.#reply(flow, errorAnswer(INVALID_PARAMS, `Unknown tool: ${JSON.stringify(params["name"])}`));
    if (tool.ignoresCancel) flow.ignoreCancel();
    const args = isJsonObject(params["arguments"]) ? params["arguments"] : {};
    if (this.#answeredByTask(tool, args, flow)) return;
    await runSteps(tool.steps, flow, this);
    const { reply } = tool;
    if (!isDeferred(reply)) return this.#reply(flow, answerOf(reply, args, this.host), tool.replies);
    if (reply.kind === "held") return await this.#hold(tool, args, flow);
    if (reply.kind === "ask_input") {
      const { inputResponses = null, requestState = null } = params;
      const given = textAnswer(JSON.stringify({ inputResponses, requestState }));
      return this.#reply(flow, inputAnswer(reply, params) ?? given, tool.replies);
    }
    const response = await this.request(reply.method, reply.params, flow.waits, flow);
    this.#reply(flow, textAnswer(JSON.stringify(response["result"] ?? response["error"] ?? null)), tool.replies);
  }

  #answeredByTask(tool: ToolScript, args: JsonObject, flow: Flow): boolean {
    const { task, reply } = tool;
    const era = this.#modernFlows.has(flow) ? "modern" : "legacy";
    const verdict = task ? this.#taskRequests.judge(task, era, flow.params) : false;
    if (!task || verdict === false) return false;
    if (verdict !== true) {
      this.#reply(flow, verdict);
      return true;
    }
    const isHeld = reply.kind === "held";
    const end = isDeferred(reply) ? textAnswer(JSON.stringify(args)) : answerOf(reply, args, this.host);
    const { id, answer } = this.#taskRequests.begin(task, era, isHeld ? undefined : end);
    this.#reply(flow, answer);
    if (isHeld) this.#holdTask(tool, args, id);
    return true;
  }

  /** The test ends it when it likes. */
  #holdTask(tool: ToolScript, args: JsonObject, id: string): void {
    const { store } = this.#taskRequests;
    const wire = {
      signal: new AbortController().signal,
      reply: (answer: Answer) => store.answer(id, answer),
      progress: () => {},
      done: () => this.announceTask(store.state(id, this.#eras.era ?? "legacy") ?? {}),
    };
    this.host.hold(new HeldCall(tool.name, args, wire));
  }

  /** The call stays in flight, so that a cancellation finds it, until the test has replied. */
  async #hold(tool: ToolScript, args: JsonObject, flow: Flow): Promise<void> {
    flow.ignoreCancel();
    const ended = new Promise<void>((resolve) => {
      const wire = {
        signal: flow.cancelled,
        reply: (answer: Answer) => this.#reply(flow, answer, tool.replies),
        progress: (progress: { progress: number }) => sendProgress(progress, flow, this),
        done: resolve,
      };
      this.host.hold(new HeldCall(tool.name, args, wire));
    });
    await orAborted(ended, flow.closed);
  }

  #reply(flow: Flow, answer: Answer, times = 1): void {
    const id = flow.request?.id;
    if (id === undefined || flow.isStopped) return;
    const whole = this.#modernFlows.has(flow) ? modernAnswer(this.#behaviour, answer) : answer;
    for (let sent = 0; sent < times; sent++) this.send({ jsonrpc: "2.0", id, ...whole }, flow);
  }

  #refuse(message: string): void {
    this.send({ jsonrpc: "2.0", id: null, ...errorAnswer(INVALID_REQUEST, message) });
  }

  #run(work: () => Promise<void>): void {
    const running = work()
      .catch((error: unknown) => {
        if (!this.#closing.signal.aborted) this.host.bug(error);
      })
      .finally(() => this.#work.delete(running));
    this.#work.add(running);
  }
}

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" || typeof value === "number";
}

export function paramsOf(message: JsonObject): JsonObject {
  return isJsonObject(message["params"]) ? message["params"] : {};
}

// The common part of scripted servers inside the test's own process: held calls, tasks, bugs of the script.

/** A server inside the test's own process: the test answers its held calls, and hears of bugs in the script. */
export class InProcessServer {
  readonly #behaviour: Behaviour;
  readonly #calls = new Feed<HeldCall>("call of a held tool");
  readonly #taken = new Set<HeldCall>();
  readonly #bugs: unknown[] = [];
  readonly #host: Omit<Host, "send" | "garbage" | "crash">;
  readonly tasks: TaskStore = new TaskStore();

  constructor(behaviour: Behaviour, after: Host["after"] = realAfter) {
    this.#behaviour = behaviour;
    this.#host = {
      after,
      // `assertPossible` has refused these two.
      stderr: () => this.bug(new Error("a server inside the test's process has no stderr of its own")),
      spawnChildren: async () => this.bug(new Error("a server inside the test's process has no children of its own")),
      facts: () => ({ envNames: Object.keys(process.env), cwd: process.cwd(), pid: process.pid, children: [] }),
      hold: (call) => this.#calls.push(call),
      bug: (error) => this.bug(error),
    };
  }

  openPeer(host: Pick<Host, "send" | "garbage" | "crash">, era: Behaviour["era"] = this.#behaviour.era): ScriptedPeer {
    return new ScriptedPeer({ ...this.#behaviour, ...defined({ era }) }, { ...this.#host, ...host }, this.tasks);
  }

  bug(error: unknown): void {
    this.#bugs.push(error);
  }

  /** The next call of a `held` tool (of that name) that has not been taken yet. */
  async awaitCall(toolName?: string, options?: WaitOptions): Promise<HeldCall> {
    const isNext = (call: HeldCall) => !this.#taken.has(call) && (toolName === undefined || call.name === toolName);
    const call = await this.#calls.find(isNext, options);
    this.#taken.add(call);
    return call;
  }

  /** Throws when the script itself failed, so that no test passes over it. */
  end(feed: { end(reason: Error): void }): void {
    const ended = new Error("the scripted server is closed");
    for (const one of [feed, this.#calls]) one.end(ended);
    if (this.#bugs.length > 0) throw new AggregateError(this.#bugs, "the scripted server failed");
  }
}
