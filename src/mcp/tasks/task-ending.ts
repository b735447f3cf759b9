// The ways a followed task ends, and the outcome of its call each of them is.

import { TenonError } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import type { JsonObject } from "../../base/json/json.js";
import type { CallOutcome } from "../call/call.js";
import { inSeconds, outcomeError } from "../call/outcome-error.js";
import type { RpcErrorBody } from "../transport/json-rpc.js";
import type { TaskStatus } from "./task.js";

export type TaskEnding =
  | { readonly kind: "result"; readonly result: JsonObject }
  /** The call itself failed, as the server says. */
  | { readonly kind: "error"; readonly error: RpcErrorBody }
  /** The server gave it up. */
  | { readonly kind: "stopped"; readonly message: string | undefined }
  /** It wanted something that nobody gives it. */
  | { readonly kind: "refused"; readonly reason: string }
  /** By us. */
  | { readonly kind: "cancelled" }
  /** The server does not know it (any more). */
  | { readonly kind: "forgotten"; readonly said: string; readonly isExpired: boolean; readonly wasReconnected: boolean }
  /** It has ended, and how cannot be learnt. */
  | { readonly kind: "result_lost"; readonly status: TaskStatus; readonly said: string }
  | { readonly kind: "unreachable"; readonly error: TenonError }
  | { readonly kind: "too_long"; readonly afterMs: number };

const NOBODY_KNOWS = "whether it took effect is unknown";

export function endingOutcome(
  ending: TaskEnding,
  where: string,
  answer: (result: JsonObject) => CallOutcome | Promise<CallOutcome>,
): CallOutcome | Promise<CallOutcome> {
  const unknown = (code: TenonError["code"], words: string, cause?: unknown): CallOutcome => ({
    kind: "unknown",
    error: new TenonError(code, `${where}: ${words}; ${NOBODY_KNOWS}`, { cause }),
  });
  switch (ending.kind) {
    case "result":
      return answer(ending.result);
    case "error":
      return { kind: "failed", error: outcomeError({ kind: "error", error: ending.error }, where) };
    case "stopped": {
      const why = ending.message === undefined ? "" : `: ${ending.message}`;
      return { kind: "failed", error: new TenonError("mcp.call_failed", `${where}: the server cancelled it${why}`) };
    }
    case "refused":
      return { kind: "failed", error: new TenonError("mcp.call_failed", `${where}: ${ending.reason}`) };
    case "cancelled":
      return { kind: "cancelled" };
    case "forgotten":
      return unknown("mcp.task_lost", `${forgottenWords(ending)} (${ending.said})`);
    case "result_lost":
      return unknown(
        "mcp.task_lost",
        `it ended as ${ending.status}, and its result cannot be fetched (${ending.said})`,
      );
    case "unreachable":
      return unknown("mcp.task_lost", `it ran at the server, which cannot be asked any more: ${ending.error.message}`);
    case "too_long": {
      const spent = inSeconds(ending.afterMs);
      return unknown("mcp.call_timeout", `still under way after ${spent}, the most a call may take; it was cancelled`);
    }
    default:
      return unreachable(ending);
  }
}

function forgottenWords({ isExpired, wasReconnected }: Extract<TaskEnding, { kind: "forgotten" }>): string {
  if (isExpired) return "its time to live is over, and the server has forgotten it";
  return wasReconnected ? "the server was connected to anew and has forgotten it" : "the server has forgotten it";
}
