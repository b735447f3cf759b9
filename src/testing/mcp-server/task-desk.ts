// How a scripted server deals with tasks on the wire, in both eras.
import { sleep } from "../../base/async/deadline.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { TaskScript } from "./behaviour.js";
import type { Flow } from "./flow.js";
import type { Host } from "./host.js";
import type { Answer } from "./replies.js";
import type { TaskEra, TaskStore } from "./task-store.js";

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const LOOK_MS = 10;
const EXTENSION = "io.modelcontextprotocol/tasks";

/** What the desk asks of its server. */
export interface TaskServer {
  readonly host: Host;
  request(method: string, params: JsonObject | undefined, signal: AbortSignal, flow?: Flow): Promise<JsonObject>;
  /** Unless the connection is closed by then. */
  later(ms: number, run: () => void): void;
  /** To whoever hears of this task. */
  announceTask(state: JsonObject): void;
}

export class TaskDesk {
  readonly store: TaskStore;
  readonly #server: TaskServer;
  /** Legacy questions that have been put: one is enough. */
  readonly #put = new Set<JsonValue | undefined>();

  constructor(store: TaskStore, server: TaskServer) {
    this.store = store;
    this.#server = server;
  }

  /** Whether this call becomes a task, or the answer that refuses it as it is. */
  judge(script: TaskScript, era: TaskEra, params: JsonObject): boolean | Answer {
    if (era === "modern") return declares(params);
    if (params["task"] !== undefined) return true;
    if (script.support === "optional") return false;
    return { error: { code: METHOD_NOT_FOUND, message: "Task augmentation is required for this tool" } };
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
    if (!state) return { error: { code: INVALID_PARAMS, message: "Failed to retrieve task: Task not found" } };
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
      if (!this.store.state(id, "legacy")) {
        return { error: { code: INVALID_PARAMS, message: "Failed to retrieve task: Task not found" } };
      }
      const asks = this.store.question(id);
      if (asks && !this.#put.has(id)) {
        this.#put.add(id);
        const meta = { "io.modelcontextprotocol/related-task": { taskId: id } };
        const response = await this.#server.request(asks.method, { ...asks.params, _meta: meta }, flow.waits, flow);
        this.store.give(id, response["result"] ?? response["error"] ?? null);
      }
      await sleep((ms, run) => this.#server.host.after(ms, run), LOOK_MS, flow.waits);
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
  return isJsonObject(extensions) && extensions[EXTENSION] !== undefined;
}

/** What such a server says it can do, to clients of either era. */
export const TASK_CAPABILITIES: JsonObject = {
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  extensions: { [EXTENSION]: {} },
};
