// What became of a request that got no result, as the one error people read.

import { TenonError } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import type { RpcOutcome } from "../rpc/rpc.js";

const MAX_CHARS = 2_000;

export function outcomeError(outcome: Exclude<RpcOutcome, { kind: "result" }>, what: string): TenonError {
  switch (outcome.kind) {
    case "error": {
      const { code, message } = outcome.error;
      const text = `${what}: the server answered with error ${code}: ${clipped(message)}`;
      return new TenonError("mcp.call_failed", text, { cause: outcome.error });
    }
    case "cancelled":
      return new TenonError("cancelled", `${what}: cancelled`);
    case "timed_out":
      return new TenonError("mcp.call_timeout", `${what}: no answer within ${inSeconds(outcome.afterMs)}`);
    case "lost": {
      const { error } = outcome.loss;
      const { code, message, hint, retryAfterMs } = error;
      const patience = retryAfterMs === undefined ? {} : { retryAfterMs };
      return new TenonError(code, `${what}: ${message}`, { cause: error, hint, ...patience });
    }
    default:
      return unreachable(outcome);
  }
}

/** A server's own words, bounded: they end up in errors, logs and prompts. */
function clipped(text: string): string {
  return text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)}… (${text.length} characters)`;
}

export function inSeconds(ms: number): string {
  return `${Number((ms / 1000).toFixed(1))} s`;
}
