// Whether a broken connection is tried again, and after how long. Pure: the dice are passed in.
import { backoffDelayMs } from "../base/async/deadline.js";
import type { ErrorCode, TenonError } from "../base/errors.js";
import { MCP_LIMITS } from "./limits.js";

/** Trying again would only fail again: somebody has to change something first. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  "mcp.spawn_failed",
  "mcp.sandbox_unavailable",
  "mcp.launch_refused",
  "mcp.invalid_spec",
  "mcp.url_refused",
  "mcp.unauthorized",
  "mcp.unsupported_version",
]);

/** Networks and services come back by themselves: one that was reached before is tried on, out of its way. */
const PASSING: ReadonlySet<ErrorCode> = new Set(["mcp.unavailable", "mcp.connect_timeout"]);

export interface Break {
  readonly cause: TenonError;
  readonly failuresInARow: number;
  /** It has worked before in this session: then it is worth waiting for. */
  readonly wasReady: boolean;
  readonly isRemote: boolean;
}

/** Undefined when it is over. A local server that fails its very first start is a mistake in its entry, told at once. */
export function retryDelayMs({ cause, failuresInARow, wasReady, isRemote }: Break, dice: number): number | undefined {
  if (FINAL.has(cause.code)) return undefined;
  if (!wasReady && !isRemote) return undefined;
  const mayPass = isRemote && wasReady && PASSING.has(cause.code);
  if (failuresInARow >= MCP_LIMITS.reconnectAttempts && !mayPass) return undefined;
  // Servers forget sessions in the course of things (a deployment, an idle limit): once it is opened anew without delay.
  if (cause.code === "mcp.session_lost" && failuresInARow <= 1) return 0;
  const delayMs = backoffDelayMs(MCP_LIMITS.reconnect, failuresInARow, dice);
  return Math.max(delayMs, Math.min(cause.retryAfterMs ?? 0, MCP_LIMITS.retryAfterMaxMs));
}
