// The tasks of one connection: who follows which, what the server announces of them, and taking them back.

import { abortListeners } from "../../base/async/scope.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { answerOf, type CallOutcome, type CallRequest } from "../call/call.js";
import type { Link } from "../era/link.js";
import { TASK_LIMITS } from "../limits.js";
import type { McpTool } from "../lists/tolerate.js";
import type { RpcId } from "../transport/json-rpc.js";
import { TaskFollower } from "./follow-task.js";
import { isSentAsTask, readTask, type TaskHandle, type TaskState, takesCancel } from "./task.js";
import { endingOutcome } from "./task-ending.js";

export interface TasksPort {
  readonly world: World;
  readonly isRemote: boolean;
  /** The live connection, if it is there now. */
  current(): Link | undefined;
  /** Waits for it through reconnections; the error says why there will be none. */
  next(signal: AbortSignal): Promise<Link | TenonError>;
}

/** A task as a call was answered with it. */
export interface StartedTask {
  readonly task: TaskState;
  readonly link: Link;
  /** Under which its progress comes, if it comes. */
  readonly requestId: RpcId | undefined;
}

type Following = Pick<
  CallRequest,
  "world" | "server" | "tool" | "definition" | "signal" | "onProgress" | "maxTotalMs" | "view"
>;

/** The announcements of a legacy and of a modern server. */
const ANNOUNCEMENTS: readonly string[] = ["notifications/tasks/status", "notifications/tasks"];

export class ServerTasks {
  readonly #port: TasksPort;
  readonly #followers = new Map<string, TaskFollower>();
  readonly #cancelling = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(port: TasksPort) {
    this.#port = port;
  }

  /** Hears what the server says of its tasks over this connection. */
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

  /** What a call that was answered with a task comes to. Never rejects. */
  async finish({ task, link, requestId }: StartedTask, request: CallRequest): Promise<CallOutcome> {
    const { world } = this.#port;
    const { id, ttlMs } = task;
    const handle = { id, startedMs: world.now(), ...defined({ ttlMs }) };
    request.onTask?.(handle);
    return await this.#follow(request, { handle, seed: task }, (follower) => {
      if (requestId === undefined) return () => {};
      return link.followProgress?.(requestId, (note) => follower.progress(note)) ?? (() => {});
    });
  }

  /** Of a task that another connection or another process began. Never rejects. */
  async resume(handle: TaskHandle, request: Following): Promise<CallOutcome> {
    return await this.#follow(request, { handle }, () => () => {});
  }

  /** Gives what is being taken back a moment to go out. */
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
    about: { readonly handle: TaskHandle; readonly seed?: TaskState },
    begin: (follower: TaskFollower) => () => void,
  ): Promise<CallOutcome> {
    const { signal, onProgress, maxTotalMs } = request;
    const { id } = about.handle;
    const { world } = this.#port;
    const link = this.#seen(request);
    const follower = new TaskFollower({ world, ...about, link, signal, onProgress, maxTotalMs });
    // At once, while there is a connection: whoever closes it next waits for this.
    const onAbort = () => {
      if (!isLeft(signal)) this.#cancel(id);
    };
    if (signal.aborted) onAbort();
    else abortListeners(signal).add(onAbort);
    this.#followers.set(id, follower);
    const end = begin(follower);
    try {
      const ending = await follower.run();
      if (ending.kind === "too_long" || ending.kind === "refused") this.#cancel(id);
      return await endingOutcome(ending, `${request.server} / ${request.tool}`, (result) => answerOf(result, request));
    } finally {
      end();
      abortListeners(signal).delete(onAbort);
      if (this.#followers.get(id) === follower) this.#followers.delete(id);
    }
  }

  /** The connection as the call may use it, and the same for as long as it is the same. */
  #seen({ view = (link) => link }: Following): (signal: AbortSignal) => Promise<Link | TenonError> {
    let last: { readonly link: Link; readonly seen: Link } | undefined;
    return async (signal) => {
      const link = await this.#port.next(signal);
      if (link instanceof TenonError) return link;
      if (last?.link !== link) last = { link, seen: view(link) };
      return last.seen;
    };
  }

  /** Nobody waits for it: whether the server heeds it is its own affair. */
  #cancel(taskId: string): void {
    const working = this.#tellCancel({ taskId })
      .catch((error: unknown) => this.#port.world.log.debug("mcp.task_cancel_lost", { error: messageOf(error) }))
      .finally(() => this.#cancelling.delete(working));
    this.#cancelling.add(working);
  }

  async #tellCancel(params: JsonObject): Promise<void> {
    using deadline = this.#port.world.deadline(TASK_LIMITS.cancelMs, this.#closing.signal);
    const { signal } = deadline;
    const link = this.#port.current() ?? (await this.#port.next(signal));
    if (link instanceof TenonError || !takesCancel(link)) return;
    await link.request("tasks/cancel", params, { signal, timeoutMs: TASK_LIMITS.cancelMs });
  }
}

/** The session is closing, and nobody cancelled: the task goes on at the server, for whoever loads the session next. */
function isLeft({ reason }: AbortSignal): boolean {
  return reason instanceof TenonError && reason.code === "session.closed";
}
