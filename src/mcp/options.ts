// What a connection is given besides its spec: the world, the session's place, the peer, caches and limits.
import { LIMITS } from "../base/limits.js";
import type { World } from "../base/world.js";
import type { McpChannel } from "./acp/channel.js";
import type { McpTool } from "./lists/tolerate.js";
import type { Peer } from "./peer.js";

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

/** What survives the process, keyed by the launch fingerprint. Both sides may fail silently: it is only a cache. */
export interface ServerCache {
  readEra(fingerprint: string): Promise<"legacy" | "modern" | undefined>;
  writeEra(fingerprint: string, era: "legacy" | "modern"): Promise<void>;
  readTools(fingerprint: string): Promise<CachedTools | undefined>;
  writeTools(fingerprint: string, tools: CachedTools): Promise<void>;
}

export interface CachedTools {
  readonly serverVersion: string;
  readonly tools: readonly McpTool[];
}

export interface ConnectionOptions {
  readonly world: World;
  /** The session's directory: the server's cwd, and the base of relative paths. */
  readonly cwd: string;
  /** Named to the server in the handshake. */
  readonly client: { readonly name: string; readonly version: string };
  /** Whose connection it is, for the trace. */
  readonly session?: string;
  readonly peer?: Peer;
  /** Leads to the servers of the client's own; without it those of kind `acp` cannot be reached. */
  readonly channel?: McpChannel;
  readonly cache?: ServerCache;
  readonly limits?: Partial<ServerLimits>;
  readonly tools?: Readonly<Record<string, ToolOverrides>>;
  /** Hosts reachable over plain http besides loopback, by the user's own word. */
  readonly allowHosts?: readonly string[];
  /** Who named the URL: one from a project's files must not lead to private addresses. `typed` unless given. */
  readonly urlSource?: "typed" | "project";
}

export function serverLimits(given: Partial<ServerLimits> = {}): ServerLimits {
  const { connectTimeoutMs, probeTimeoutMs, callTimeoutMs, callMaxMs, callsPerMinute, callsAtOnce, limitWaitMs } =
    LIMITS;
  return {
    connectTimeoutMs,
    probeTimeoutMs,
    callTimeoutMs,
    callMaxMs,
    callsPerMinute,
    callsAtOnce,
    limitWaitMs,
    ...given,
  };
}
