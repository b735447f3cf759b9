// Where a connection stands, as a closed union, and the one pure function that moves it.
import { backoffDelayMs } from "../../base/async/deadline.js";
import type { ErrorCode, TenonError } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { MCP_LIMITS } from "../limits.js";
import type { ServerIdentity } from "../protocol/link.js";
import type { Agreement } from "../transport/transport.js";

export type ConnectionState =
  | { readonly kind: "idle" }
  /** Its tools are remembered, so nothing runs until one of them is used. */
  | { readonly kind: "resting" }
  /**
   * `attempt` counts from 1 and starts anew once a connection has proved itself. `queued`: it waits for a place among the
   * server processes, and why.
   */
  | {
      readonly kind: "connecting";
      readonly attempt: number;
      readonly sinceMs: number;
      readonly queued?: TenonError;
    }
  | {
      readonly kind: "ready";
      readonly attempt: number;
      readonly sinceMs: number;
      /** From the start of the attempt until it was ready. */
      readonly connectMs: number;
      readonly server: ServerIdentity;
      readonly agreement: Agreement;
    }
  /** Broken, and to be tried again at `untilMs`. */
  | { readonly kind: "waiting"; readonly attempt: number; readonly untilMs: number; readonly cause: TenonError }
  /** Broken for good: only a person's `restart` leads out. */
  | { readonly kind: "failed"; readonly cause: TenonError; readonly sinceMs: number }
  | { readonly kind: "closing" }
  | { readonly kind: "closed" };

export type ConnectionEvent =
  | { readonly kind: "rest" }
  | { readonly kind: "start"; readonly atMs: number }
  /** It has to wait for a place; without a cause it has got one. */
  | { readonly kind: "queued"; readonly atMs: number; readonly cause?: TenonError }
  | { readonly kind: "ready"; readonly atMs: number; readonly server: ServerIdentity; readonly agreement: Agreement }
  /** The attempt failed or the connection broke. `retryInMs` is absent when trying again is no use. */
  | {
      readonly kind: "broken";
      readonly atMs: number;
      readonly cause: TenonError;
      readonly failuresInARow: number;
      readonly retryInMs?: number;
    }
  | { readonly kind: "retry"; readonly atMs: number }
  | { readonly kind: "close" }
  | { readonly kind: "closed" };

/** Events that make no sense in a state change nothing: they come late from work that state has already left. */
export function next(state: ConnectionState, event: ConnectionEvent): ConnectionState {
  if (state.kind === "closed") return state;
  if (event.kind === "closed") return { kind: "closed" };
  if (state.kind === "closing") return state;
  switch (event.kind) {
    case "close":
      return { kind: "closing" };
    case "rest":
      return state.kind === "idle" ? { kind: "resting" } : state;
    case "start":
      return state.kind === "idle" || state.kind === "resting" || state.kind === "failed"
        ? { kind: "connecting", attempt: 1, sinceMs: event.atMs }
        : state;
    case "queued": {
      if (state.kind !== "connecting") return state;
      const { attempt } = state;
      return { kind: "connecting", attempt, sinceMs: event.atMs, ...defined({ queued: event.cause }) };
    }
    case "retry":
      return state.kind === "waiting" ? { kind: "connecting", attempt: state.attempt + 1, sinceMs: event.atMs } : state;
    case "ready": {
      if (state.kind !== "connecting") return state;
      const { server, agreement, atMs } = event;
      const connectMs = Math.round(atMs - state.sinceMs);
      return { kind: "ready", attempt: state.attempt, sinceMs: atMs, connectMs, server, agreement };
    }
    case "broken":
      return broken(state, event);
    default:
      return unreachable(event);
  }
}

function broken(state: ConnectionState, event: Extract<ConnectionEvent, { kind: "broken" }>): ConnectionState {
  if (state.kind !== "connecting" && state.kind !== "ready") return state;
  const { cause, atMs, retryInMs, failuresInARow: attempt } = event;
  if (retryInMs === undefined) return { kind: "failed", cause, sinceMs: atMs };
  return { kind: "waiting", attempt, untilMs: atMs + retryInMs, cause };
}

/** How many attempts in a row have come to nothing if it breaks now. Being ready for long enough wipes the slate. */
export function failuresInARow(state: ConnectionState, atMs: number): number {
  if (state.kind === "connecting") return state.attempt;
  if (state.kind !== "ready") return 0;
  return atMs - state.sinceMs >= MCP_LIMITS.reconnectProvenMs ? 0 : state.attempt;
}

/** Trying again would only fail again: the configuration has to change first. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  "mcp.spawn_failed",
  "mcp.sandbox_unavailable",
  "mcp.launch_refused",
  "mcp.invalid_spec",
  "mcp.url_refused",
  "mcp.unauthorized",
  "mcp.unsupported_version",
  "mcp.client_gone",
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

/** Undefined when it is over. A local server that fails its very first start is a mistake in its entry, reported at once. */
export function retryDelayMs({ cause, failuresInARow, wasReady, isRemote }: Break, dice: number): number | undefined {
  if (FINAL.has(cause.code)) return undefined;
  if (!wasReady && !isRemote) return undefined;
  const mayPass = isRemote && wasReady && PASSING.has(cause.code);
  if (failuresInARow >= MCP_LIMITS.reconnectAttempts && !mayPass) return undefined;
  // Servers forget sessions in the course of things (a deployment, an idle limit): once it is opened anew without delay.
  if (cause.code === "mcp.session_lost" && failuresInARow <= 1) return 0;
  // A process that worked is brought back without delay, so that a call need not wait; services are not all asked at once.
  const delayMs = failuresInARow === 0 && !isRemote ? 0 : backoffDelayMs(MCP_LIMITS.reconnect, failuresInARow, dice);
  return Math.max(delayMs, Math.min(cause.retryAfterMs ?? 0, MCP_LIMITS.retryAfterMaxMs));
}
