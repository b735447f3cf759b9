// An MCP connection as a source of tools.
import { mappedCell } from "../base/async/cell.js";
import type { ErrorCode, TenonError } from "../base/errors.js";
import { unreachable } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import { text } from "../base/text/content.js";
import { type CallOutcome, type ConnectionState, isErrorBody, type ServerConnection, startText } from "../mcp/index.js";
import { definitionHash } from "./policy/lock.js";
import {
  failed,
  type SourceCall,
  type SourceState,
  type ToolOrigin,
  type ToolOutcome,
  type ToolProgress,
  type ToolSource,
} from "./tool.js";

/** Who follows a call while it runs. */
export interface CallFollower {
  readonly progress: (progress: ToolProgress) => void;
  /** Without an outcome when it threw. */
  end(outcome?: ToolOutcome): void;
}

export interface McpSourceOptions {
  /** Hears why calls fail: their outcomes have only words for it. */
  readonly onFailed?: (error: TenonError) => void;
  /** Called as each call begins. */
  readonly follow?: (call: Pick<SourceCall, "toolCallId" | "signal" | "onProgress">) => CallFollower;
}

export function mcpSource(
  connection: ServerConnection,
  origin: ToolOrigin,
  { onFailed, follow }: McpSourceOptions = {},
): ToolSource {
  const ended = (outcome: CallOutcome, follower: CallFollower | undefined): ToolOutcome => {
    let toolOutcome: ToolOutcome | undefined;
    try {
      if (outcome.kind === "failed") onFailed?.(outcome.error);
      toolOutcome = toOutcome(outcome);
      return toolOutcome;
    } finally {
      follower?.end(toolOutcome);
    }
  };
  const broken = (error: unknown, follower: CallFollower | undefined): Promise<never> => {
    follower?.end();
    return Promise.reject(error);
  };
  /** Not `async`: every call comes through here. */
  const callNow = (call: SourceCall, follower: CallFollower | undefined): Promise<ToolOutcome> => {
    const { tool, arguments: args, signal, onProgress, onLasting } = call;
    const options = { signal, onProgress: follower?.progress ?? onProgress, onTask: onLasting };
    let calling: Promise<CallOutcome>;
    try {
      calling = connection.call(tool, args, options);
    } catch (error) {
      return broken(error, follower);
    }
    return calling.then(
      (outcome) => ended(outcome, follower),
      (error: unknown) => broken(error, follower),
    );
  };
  const callOnceStarted = async (call: SourceCall, follower: CallFollower | undefined): Promise<ToolOutcome> => {
    let early: ToolOutcome | undefined;
    try {
      early = await whileStarting(connection, call, follower?.progress ?? call.onProgress);
    } catch (error) {
      return await broken(error, follower);
    }
    if (!early) return await callNow(call, follower);
    follower?.end(early);
    return early;
  };
  return {
    name: connection.spec.name,
    origin,
    isProcess: connection.spec.kind === "stdio",
    state: mappedCell(connection.state, (state): SourceState => {
      const kind = STATES[state.kind];
      if (kind === "connecting" || (kind === "broken" && !connection.wasReady)) return startingState(connection, state);
      if (kind !== "broken" && kind !== "failed") return { kind };
      return { kind, reason: "cause" in state ? state.cause.message : "" };
    }),
    ready: async (signal) => (await connection.ready(signal))?.message,
    about: () => defined({ title: connection.link?.server.title, instructions: connection.link?.instructions }),
    leftOut: () => connection.leftOut,
    tools: connection.tools,
    callsAtOnce: connection.callsAtOnce,
    call: (call) => {
      const follower = follow?.(call);
      return connection.link === undefined ? callOnceStarted(call, follower) : callNow(call, follower);
    },
    resume: async (call, lasting) => {
      const { tool, signal, onProgress } = call;
      const follower = follow?.(call);
      try {
        const progress = follower?.progress ?? onProgress;
        return ended(await connection.resume(tool, lasting, { signal, onProgress: progress }), undefined);
      } finally {
        follower?.end(); // how long it took says nothing of the server: nobody knows when it began
      }
    },
  };
}

/** Before it is ready. What the call comes to, if nothing is to be called. */
async function whileStarting(
  connection: ServerConnection,
  { tool, definition, signal }: SourceCall,
  onProgress: SourceCall["onProgress"],
): Promise<ToolOutcome | undefined> {
  const kind = STATES[connection.state.value.kind];
  if (kind === "connecting" || kind === "broken") onProgress({ progress: 0, message: waitText(connection) });
  if (!definition) return undefined;
  // What was remembered of it was approved; what the server says now may be something else.
  const error = await connection.ready(signal);
  const now = error ? undefined : connection.tools.value.find(({ name }) => name === tool);
  if (!now || now === definition || definitionHash(now) === definitionHash(definition)) return undefined;
  return failed(
    `The definition of ${tool} changed while its server started, so nothing was called. Read it again, then call it.`,
  );
}

/** A server that was ready before is being brought back. */
function startingState({ spec, wasReady, lastError }: ServerConnection, state: ConnectionState): SourceState {
  if (wasReady) return { kind: "broken", reason: lastError?.message ?? "" };
  if (state.kind === "waiting") return { kind: "connecting", doing: `it is tried again: ${state.cause.message}` };
  const queued = state.kind === "connecting" ? state.queued?.message : undefined;
  return { kind: "connecting", doing: queued ?? startText(spec) };
}

function waitText({ spec, wasReady }: ServerConnection): string {
  return wasReady
    ? `waiting for "${spec.name}", which is being restarted`
    : `waiting for "${spec.name}": ${startText(spec)}`;
}

/** A `resting` server has its tools, and its first call starts it. */
const STATES = {
  idle: "connecting",
  connecting: "connecting",
  resting: "ready",
  ready: "ready",
  waiting: "broken",
  failed: "failed",
  closing: "closed",
  closed: "closed",
} as const satisfies Record<ConnectionState["kind"], SourceState["kind"]>;

/** Errors whose message is mostly the server's words. All others say why Tenon could not get an answer. */
const SERVER_WORDS: ReadonlySet<ErrorCode> = new Set(["mcp.call_failed", "mcp.protocol"]);

function toOutcome(outcome: CallOutcome): ToolOutcome {
  switch (outcome.kind) {
    case "answered": {
      const { content, structured, warnings, isError } = outcome;
      const kind = isError ? "failed" : "done";
      if (warnings === undefined) return structured === undefined ? { kind, content } : { kind, content, structured };
      return { kind, content, ...defined({ structured, warnings }) };
    }
    case "cancelled":
      return { kind: "cancelled" };
    case "failed": {
      const { code, message, cause } = outcome.error;
      if (!SERVER_WORDS.has(code)) return failed(message, code);
      const protocolError = isErrorBody(cause) ? cause : undefined;
      return { kind: "failed", code, content: [text(message)], ...defined({ protocolError }) };
    }
    case "unknown":
      return { kind: "unknown", reason: outcome.error.message, code: outcome.error.code };
    default:
      return unreachable(outcome);
  }
}
