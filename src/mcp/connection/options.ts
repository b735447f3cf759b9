// What a connection is given besides its spec: the world, the session's place, the peer, caches and limits.
import type { TenonError } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import type { OAuthOptions } from "../auth/port.js";
import type { LinkOptions } from "../protocol/link.js";
import type { McpChannel } from "../transport/acp.js";
import type { ServerCache } from "./cache.js";

export interface CallLimits {
  /** Without progress a call ends after this. */
  readonly callTimeoutMs: number;
  /** However much progress there is, it ends after this. */
  readonly callMaxMs: number;
  readonly callsPerMinute: number;
  readonly callsAtOnce: number;
  /** How long a call over a limit waits for its turn before it fails. */
  readonly limitWaitMs: number;
}

export interface ServerLimits extends CallLimits {
  /** From the start of the process (or the first request) until tools are listed. */
  readonly connectTimeoutMs: number;
  /** How long `server/discover` may go unanswered before the server is taken for a legacy one. */
  readonly probeTimeoutMs: number;
}

export interface ToolOverrides {
  readonly timeoutMs?: number;
  /** The user's own word that calling twice does no harm: only such calls are ever sent again. */
  readonly isIdempotent?: boolean;
}

/** A place among the processes that may run, taken before a server is started and given back when it is gone. */
export interface ProcessSlot extends Disposable {
  /** Called for each process that is started in it. */
  started(id: number | undefined): void;
}

/** How a start waits for a place. */
export interface ProcessQueue {
  /** Leaves the queue. */
  readonly signal: AbortSignal;
  /** There is no place now, and why. Not called when there is one. */
  readonly onQueued: (cause: TenonError) => void;
}

export interface ConnectionOptions extends LinkOptions {
  /** The session's directory: the server's cwd, and the base of relative paths. */
  readonly cwd: string;
  /** Whose connection it is, for the trace. */
  readonly session?: string;
  /** Leads to the servers of the client's own; without it those of kind `acp` cannot be reached. */
  readonly channel?: McpChannel;
  readonly cache?: ServerCache;
  /** Gets what the server writes to its stderr, as it comes; must neither throw nor wait. */
  readonly onStderr?: (chunk: Uint8Array) => void;
  /** Asked before a process is started; a start for which there is no room waits. Rejects only when the signal aborts. */
  readonly admit?: (server: string, queue: ProcessQueue) => ProcessSlot | Promise<ProcessSlot>;
  readonly limits?: Partial<ServerLimits>;
  readonly tools?: Readonly<Record<string, ToolOverrides>>;
  /** Hosts reachable over plain http besides loopback, by the user's own word. */
  readonly allowHosts?: readonly string[];
  /** Who named the URL: one from a project's files must not lead to private addresses. `typed` unless given. */
  readonly urlSource?: "typed" | "project";
  /** Values that were fetched for its spec (references, the keyring): with what is a secret in it, no error says them. */
  readonly secrets?: readonly string[];
  /** Remote servers: where log-ins are kept and how one is made. Absent, a server that asks for one is refused it. */
  readonly oauth?: OAuthOptions;
}

export function serverLimits(given: Partial<ServerLimits> = {}): ServerLimits {
  return { ...LIMITS, ...given };
}
