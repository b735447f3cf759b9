// What servers say of a long-running call (a task), in the formats of both eras, as one shape.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { TASK_LIMITS } from "../limits.js";
import { type RpcErrorBody, readError } from "../transport/transport.js";
import type { Link } from "./link.js";
import type { McpTool } from "./tools.js";

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

const STATUSES: readonly TaskStatus[] = ["working", "input_required", "completed", "failed", "cancelled"];

export interface TaskState {
  readonly id: string;
  readonly status: TaskStatus;
  readonly message?: string;
  /** From its creation; unlimited, or not said, when left out. */
  readonly ttlMs?: number;
  readonly pollMs?: number;
  /** Modern only: a legacy server keeps them for `tasks/result`, and sends requests of its own. */
  readonly result?: JsonObject;
  readonly error?: RpcErrorBody;
  readonly inputRequests?: JsonObject;
}

/** What is enough to ask for a task again, over another connection and from another process. */
export interface TaskHandle {
  readonly id: string;
  /** When it was created, by our own clock: milliseconds since the epoch. */
  readonly startedMs: number;
  readonly ttlMs?: number;
}

/** Undefined for what is no task: without an id and a status there is nothing to follow. */
export function readTask(raw: JsonValue | undefined): TaskState | undefined {
  if (!isJsonObject(raw)) return undefined;
  const { taskId, statusMessage, result, error, inputRequests } = raw;
  const status = STATUSES.find((known) => known === raw["status"]);
  if (typeof taskId !== "string" || taskId === "" || taskId.length > TASK_LIMITS.idMaxChars || !status)
    return undefined;
  const ttlMs = duration(raw["ttlMs"] ?? raw["ttl"]);
  const pollMs = duration(raw["pollIntervalMs"] ?? raw["pollInterval"]);
  return {
    id: taskId,
    status,
    ...defined({
      message: typeof statusMessage === "string" && statusMessage !== "" ? oneLine(statusMessage) : undefined,
      ttlMs,
      pollMs,
      result: isJsonObject(result) ? result : undefined,
      error: isJsonObject(error) ? readError(error) : undefined,
      inputRequests: isJsonObject(inputRequests) ? inputRequests : undefined,
    }),
  };
}

/** The task a server answered a call with, instead of a result. */
export function startedTask(result: JsonObject, era: Link["agreement"]["era"]): TaskState | undefined {
  if (era === "modern") return result["resultType"] === "task" ? readTask(result) : undefined;
  return readTask(result["task"]);
}

export function isOver({ status }: TaskState): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/**
 * Whether a call is sent as a task. Only legacy servers are asked for one; a modern server decides by itself. Where a tool
 * leaves the choice to us, it is one if the server is remote: a task outlives a connection there, and a process nowhere.
 */
export function isSentAsTask(link: Link, tool: McpTool | undefined, isRemote: boolean): boolean {
  const support = tool?.taskSupport;
  if (support === undefined || link.agreement.era !== "legacy" || !takesTasks(link.capabilities)) return false;
  return support === "required" || isRemote;
}

function takesTasks({ tasks }: JsonObject): boolean {
  const requests = isJsonObject(tasks) ? tasks["requests"] : undefined;
  const tools = isJsonObject(requests) ? requests["tools"] : undefined;
  return isJsonObject(tools) && isJsonObject(tools["call"]);
}

/** Modern servers take it always; a legacy one says whether. */
export function takesCancel({ agreement, capabilities: { tasks } }: Link): boolean {
  return agreement.era === "modern" || (isJsonObject(tasks) && isJsonObject(tasks["cancel"]));
}

function duration(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function oneLine(message: string): string {
  const { messageMaxChars } = TASK_LIMITS;
  const line = message
    .slice(0, messageMaxChars + 1)
    .replaceAll(/\s+/gu, " ")
    .trim();
  return line.length <= messageMaxChars ? line : `${line.slice(0, messageMaxChars)}…`;
}
