// The tasks of a scripted server. A task's state follows from the clock, so that it outlives connections and processes.
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { sleep } from "../../../base/async/deadline.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import { type Answer, errorAnswer, TASK_EXTENSION, textAnswer } from "./answers.js";
import type { TaskScript } from "./behaviour.js";
import type { ScriptedPeer } from "./peer.js";
import type { Flow } from "./steps.js";

export type TaskEra = "legacy" | "modern";

/** Plain JSON: it may lie in a file. */
interface KeptTask {
  readonly id: string;
  readonly startedMs: number;
  readonly script: TaskScript;
  /** How it ends; missing while a test holds it. */
  answer?: Answer;
  /** When the test answered; otherwise it ends by its script. */
  answeredMs?: number;
  cancelledMs?: number;
  given?: JsonValue;
}

type Status = "working" | "input_required" | "completed" | "failed" | "cancelled";

export class TaskStore {
  readonly #file: string | undefined;
  #tasks: KeptTask[] = [];

  /** `file`: kept there too, for the next process that is given the same one. */
  constructor(file?: string) {
    this.#file = file;
    if (file === undefined || !existsSync(file)) return;
    const parsed = parseJson(readFileSync(file, "utf8"));
    if (parsed.ok && Array.isArray(parsed.value)) this.#tasks = parsed.value.filter(isKept);
  }

  create(script: TaskScript, answer: Answer | undefined): string {
    const id = randomUUID();
    this.#tasks.push({ id, startedMs: Date.now(), script, ...defined({ answer }) });
    this.#save();
    return id;
  }

  /** Undefined for a task that is unknown, forgotten, or past its time to live. */
  state(id: JsonValue | undefined, era: TaskEra): JsonObject | undefined {
    const task = this.#find(id);
    if (!task) return undefined;
    const { script, startedMs } = task;
    const status = statusOf(task);
    const ageMs = Date.now() - startedMs;
    const said = (script.says ?? []).findLast(({ atMs }) => atMs <= ageMs)?.message;
    const isModern = era === "modern";
    const { ttlMs = null, pollMs } = script;
    return {
      taskId: task.id,
      status,
      createdAt: new Date(startedMs).toISOString(),
      lastUpdatedAt: new Date().toISOString(),
      [isModern ? "ttlMs" : "ttl"]: ttlMs,
      ...defined({ statusMessage: said, [isModern ? "pollIntervalMs" : "pollInterval"]: pollMs }),
      ...(isModern ? detailOf(task, status) : {}),
    };
  }

  /** What `tasks/result` gives once it is over; undefined before. */
  end(id: JsonValue | undefined): Answer | undefined {
    const task = this.#find(id);
    if (!task) return undefined;
    const status = statusOf(task);
    if (status === "cancelled") return errorAnswer(-32_800, "the task was cancelled");
    return status === "completed" || status === "failed" ? endOf(task) : undefined;
  }

  /** What it wants to know now. */
  question(id: JsonValue | undefined): TaskScript["asks"] {
    const task = this.#find(id);
    return task && statusOf(task) === "input_required" ? task.script.asks : undefined;
  }

  give(id: JsonValue | undefined, given: JsonValue): void {
    this.#change(id, (task) => {
      task.given ??= given;
    });
  }

  answer(id: string, answer: Answer): void {
    this.#change(id, (task) => {
      task.answer = answer;
      task.answeredMs = Date.now();
    });
  }

  cancel(id: JsonValue | undefined): void {
    this.#change(id, (task) => {
      if (["working", "input_required"].includes(statusOf(task))) task.cancelledMs = Date.now();
    });
  }

  /** As after a restart that lost everything. */
  forget(): void {
    this.#tasks = [];
    this.#save();
  }

  get ids(): readonly string[] {
    return this.#tasks.map(({ id }) => id);
  }

  #find(id: JsonValue | undefined): KeptTask | undefined {
    const task = this.#tasks.find((one) => one.id === id);
    const ttlMs = task?.script.ttlMs ?? Number.POSITIVE_INFINITY;
    return task && Date.now() - task.startedMs <= ttlMs ? task : undefined;
  }

  #change(id: JsonValue | undefined, change: (task: KeptTask) => void): void {
    const task = this.#find(id);
    if (!task) return;
    change(task);
    this.#save();
  }

  #save(): void {
    if (this.#file !== undefined) writeFileSync(this.#file, JSON.stringify(this.#tasks));
  }
}

function statusOf(task: KeptTask): Status {
  const { script, startedMs, answeredMs, answer, cancelledMs } = task;
  if (cancelledMs !== undefined) return "cancelled";
  const ageMs = Date.now() - startedMs;
  const { asks, takesMs = 0, isGivenUp = false } = script;
  if (asks && task.given === undefined) return ageMs >= (asks.atMs ?? 0) ? "input_required" : "working";
  if (!answer || (answeredMs === undefined && ageMs < takesMs)) return "working";
  if (isGivenUp) return "cancelled";
  return "error" in endOf(task) ? "failed" : "completed";
}

/** One that asked for something tells what it was given. */
function endOf({ answer, given }: KeptTask): Answer {
  if (given !== undefined) return textAnswer(JSON.stringify(given));
  return answer ?? errorAnswer(-32_603, "it has no answer");
}

function detailOf(task: KeptTask, status: Status): JsonObject {
  const { asks } = task.script;
  if (status === "input_required" && asks) {
    const { method, params = {} } = asks;
    return { inputRequests: { question: { method, params } } };
  }
  if (status !== "completed" && status !== "failed") return {};
  const end = endOf(task);
  return "error" in end ? { error: { ...end.error } } : { result: end.result };
}

function isKept(value: unknown): value is KeptTask {
  return isJsonObject(value) && typeof value["id"] === "string" && isJsonObject(value["script"]);
}

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const LOOK_MS = 10;

const NOT_FOUND = errorAnswer(INVALID_PARAMS, "Failed to retrieve task: Task not found");

export class TaskRequests {
  readonly store: TaskStore;
  readonly #server: ScriptedPeer;
  /** Legacy questions that have been put: one is enough. */
  readonly #put = new Set<JsonValue | undefined>();

  constructor(store: TaskStore, server: ScriptedPeer) {
    this.store = store;
    this.#server = server;
  }

  /** Whether this call becomes a task, or the answer that refuses it as it is. */
  judge(script: TaskScript, era: TaskEra, params: JsonObject): boolean | Answer {
    if (era === "modern") return declares(params);
    if (params["task"] !== undefined) return true;
    if (script.support === "optional") return false;
    return errorAnswer(METHOD_NOT_FOUND, "Task augmentation is required for this tool");
  }

  /** The answer to the call; the work goes on without it. */
  begin(
    script: TaskScript,
    era: TaskEra,
    answer: Answer | undefined,
  ): { readonly id: string; readonly answer: Answer } {
    const id = this.store.create(script, answer);
    const state = this.store.state(id, era) ?? {};
    this.#schedule(id, script, era);
    return { id, answer: { result: era === "modern" ? { resultType: "task", ...state } : { task: state } } };
  }

  async answer(method: string, era: TaskEra, flow: Flow): Promise<Answer | undefined> {
    const { params } = flow;
    const id = params["taskId"];
    if (method === "tasks/list" && era === "legacy") {
      const tasks = this.store.ids.map((one) => this.store.state(one, era)).filter((state) => state !== undefined);
      return { result: { tasks } };
    }
    if (!["tasks/get", "tasks/cancel", era === "modern" ? "tasks/update" : "tasks/result"].includes(method)) {
      return undefined;
    }
    const state = this.store.state(id, era);
    if (!state) return NOT_FOUND;
    switch (method) {
      case "tasks/get":
        return { result: state };
      case "tasks/cancel":
        this.store.cancel(id);
        return { result: era === "modern" ? {} : (this.store.state(id, era) ?? {}) };
      case "tasks/update": {
        const responses = isJsonObject(params["inputResponses"]) ? params["inputResponses"] : {};
        this.store.give(id, responses["question"] ?? null);
        return { result: {} };
      }
      default:
        return await this.#result(id, flow);
    }
  }

  /** Blocks until it is over, and puts on the way what the task wants to know. */
  async #result(id: JsonValue | undefined, flow: Flow): Promise<Answer> {
    for (;;) {
      const end = this.store.end(id);
      if (end) return end;
      if (!this.store.state(id, "legacy")) return NOT_FOUND;
      const asks = this.store.question(id);
      if (asks && !this.#put.has(id)) {
        this.#put.add(id);
        const meta = { "io.modelcontextprotocol/related-task": { taskId: id } };
        const response = await this.#server.request(asks.method, { ...asks.params, _meta: meta }, flow.waits, flow);
        this.store.give(id, response["result"] ?? response["error"] ?? null);
      }
      await sleep(this.#server.host, LOOK_MS, flow.waits);
    }
  }

  #schedule(id: string, script: TaskScript, era: TaskEra): void {
    const { says = [], takesMs, announces = false, crashMs } = script;
    const { host } = this.#server;
    const tell = () => {
      const state = this.store.state(id, era);
      if (state) this.#server.announceTask(state);
    };
    const times = announces ? [...says.map(({ atMs }) => atMs), ...(takesMs === undefined ? [] : [takesMs])] : [];
    for (const atMs of times) this.#server.later(atMs + 1, tell);
    if (crashMs !== undefined) this.#server.later(crashMs, () => host.crash({ do: "crash" }));
  }
}

function declares(params: JsonObject): boolean {
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const capabilities = meta["io.modelcontextprotocol/clientCapabilities"];
  const extensions = isJsonObject(capabilities) ? capabilities["extensions"] : undefined;
  return isJsonObject(extensions) && extensions[TASK_EXTENSION] !== undefined;
}
