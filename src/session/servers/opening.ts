// Opens one server for a session: what its connection is given, whom it may ask, what the session hears of it.

import type { TenonError } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { markForeign } from "../../base/text/marking.js";
import {
  type ConnectionOptions,
  type ConnectionState,
  foreignOwner,
  type McpChannel,
  type McpConnection,
  type Peer,
  type ServerConnection,
  type ServerLog,
  type ServerPool,
  type ServerSpec,
  sharingKey,
} from "../../mcp/index.js";
import { mcpSource, type SourceSettings, type ToolOrigin, usedTools } from "../../tools/index.js";
import type { Notify, ServerStatus } from "../events.js";
import { SESSION_LIMITS } from "../limits.js";
import type { OutputSink, SessionOptions } from "../options.js";
import type { SessionPorts } from "../ports.js";
import type { OpenServer, WantedServer } from "./entry.js";
import { RunningCalls, ServerPeer } from "./peer.js";
import { isLogInable, loginCommand, type ServerLogin, serverLogin } from "./server-login.js";

export interface OpeningOptions
  extends Pick<
    SessionOptions,
    "world" | "cwd" | "additionalDirectories" | "client" | "cache" | "grants" | "serverOutput"
  > {
  /** The session's id, for the trace and for the budget of processes. */
  readonly session?: string;
  /** Who is attached now, and answers what servers ask. */
  ports?(): SessionPorts | undefined;
  /** By name and by whose it is, how a server may use the model. */
  readonly sampling?: (server: string, owner: string) => { readonly sample: NonNullable<Peer["sample"]> };
  onStatus(status: ServerStatus): void;
  /** A call was refused for want of a log-in, or of more than the log-in has. */
  onRefused?(server: string): void;
  readonly onNotice?: Notify;
  /** A server that may write the session's directories, in a sandbox, is about to be started. */
  onSandboxed?(): void;
}

/** An open server with what the set it is in has to know of it. */
export interface RunningServer extends OpenServer {
  /** `settings` are those in force now, which may have changed since it was opened. */
  readonly status: (settings?: SourceSettings) => ServerStatus;
  /** What is of use to those who look after it. */
  readonly details: () => Pick<ServerStatus, "latencyMs" | "restarts" | "stderr">;
  /** Covers everything that decides what is run and how: a change of it means another connection. Hashed when it is compared. */
  readonly key: () => string;
}

/** Covers everything that decides what is run and how: a change of it means another connection. */
export function keyOf(wanted: WantedServer, options: OpeningOptions): string {
  const { spec, origin, isLazy = false } = wanted;
  const key = sharingKey(spec, plainOptions(wanted, serverLogin(wanted, options.grants), options));
  return [key, origin, isLazy, mayShare(wanted)].join(" ");
}

export function openServer(
  wanted: WantedServer,
  options: OpeningOptions,
  pool: ServerPool,
): Omit<RunningServer, "key"> {
  const { spec, origin } = wanted;
  const { world, cwd, additionalDirectories = [], sampling } = options;
  if (spec.kind === "stdio" && spec.sandbox?.mode === "workspace") options.onSandboxed?.();
  const calls = new RunningCalls(world);
  // Of the client's servers nothing is written to disk.
  const output = origin === "client" ? undefined : options.serverOutput?.open(wanted);
  const peer = new ServerPeer({
    world,
    server: spec.name,
    directories: [cwd, ...additionalDirectories],
    calls,
    ports: () => options.ports?.(),
    ...defined({ onLog: output && ((entry: ServerLog) => output.log(entry)) }),
    ...sampling?.(spec.name, JSON.stringify([origin, foreignOwner(spec) ?? ""])),
    onNotice: (level, text) => options.onNotice?.(level, text),
  });
  const login = serverLogin(wanted, options.grants);
  const connection = pool.open({
    spec,
    options: {
      ...plainOptions(wanted, login, options),
      peer,
      channel: channelOf(options),
      ...defined({ onStderr: output && into(output) }),
    },
    mayShare: mayShare(wanted),
    ...defined({ settings: wanted.pool }),
  });
  const onFailed = ({ code }: TenonError) => {
    if (code === "mcp.unauthorized") options.onRefused?.(spec.name);
  };
  const mayRepeat = (tool: string) => wanted.settings?.tools?.[tool]?.isIdempotent ?? false;
  const source = mcpSource(connection, origin, { onFailed, follow: (call) => calls.begin(call) });
  const status = followStatus(connection, wanted, options);
  const details = () => {
    const { latencyMs } = calls;
    return defined({ latencyMs, stderr: lastLines(connection), restarts: status.restarts() });
  };
  return { wanted, connection, source: { ...source, mayRepeat }, login, status: status.now, details };
}

/** Reports each change of state that people should see. Returns how to read the status now. */
function followStatus(
  connection: ServerConnection,
  { origin, isLazy = false, catalog }: WantedServer,
  options: OpeningOptions,
): { readonly now: RunningServer["status"]; readonly restarts: () => number | undefined } {
  let hasRested = false;
  let last = "connecting";
  let starts = 0;
  const status = (settings = catalog): ServerStatus => {
    const current = statusOf(connection, origin, settings);
    return isLazy && !hasRested && current.state === "ready" ? { ...current, note: NOT_LAZY_YET } : current;
  };
  connection.state.subscribe(({ kind }) => {
    hasRested ||= kind === "resting";
    if (kind === "ready") starts += 1;
    const current = status();
    const shown = kind === "connecting" && current.note !== undefined ? `queued: ${current.note}` : current.state;
    if (shown !== last) options.onStatus(current);
    last = shown;
  });
  return { now: status, restarts: () => (starts > 1 ? starts - 1 : undefined) };
}

/** Undefined where it wrote none, or is not a process of this machine. */
function lastLines({ link }: ServerConnection): readonly string[] | undefined {
  const lines = (link?.wire.stderrTail ?? "").split(/\r?\n/u).filter((line) => line.trim() !== "");
  if (lines.length === 0) return undefined;
  const { lines: most, lineChars } = SESSION_LIMITS.shownStderr;
  return lines.slice(-most).map((line) => markForeign(line.slice(0, lineChars)));
}

/** To the client that is attached when a message is sent. */
function channelOf(options: OpeningOptions): McpChannel {
  return {
    request: async (request) => {
      const channel = options.ports?.()?.mcpChannel;
      if (channel) return await channel.request(request);
      return { kind: "failed", message: "no client is attached that has such servers" };
    },
  };
}

/** The options that are data: the key is made of exactly these. */
function plainOptions(
  { settings = {} }: WantedServer,
  login: ServerLogin | undefined,
  { world, cwd, client, session, cache }: OpeningOptions,
): ConnectionOptions {
  return { world, cwd, client, ...defined({ session, cache }), ...settings, ...defined({ oauth: login?.oauth }) };
}

const NOT_LAZY_YET = "It is lazy, but was started: its tools were not known. From now on the first use starts it.";

/** Apart from everything else of a session: a shared server holds on to it for longer. */
function into(output: OutputSink): (chunk: Uint8Array) => void {
  return (chunk) => output.stderr(chunk);
}

function mayShare({ origin, mayShare: isAllowed = true }: WantedServer): boolean {
  return isAllowed && (origin === "user" || origin === "project");
}

/** What is looked at of a connection. */
export type StatusSource = Pick<McpConnection, "spec" | "state" | "tools" | "problems">;

export function statusOf(connection: StatusSource, origin: ToolOrigin, settings: SourceSettings = {}): ServerStatus {
  const state: ConnectionState = connection.state.value;
  const { spec } = connection;
  const note = "note" in spec && spec.note !== undefined ? [spec.note] : [];
  const told = [...note, ...connection.problems];
  const sandbox = spec.kind === "stdio" ? spec.sandbox : undefined;
  const base = {
    name: spec.name,
    origin,
    toolCount: usedTools(settings, connection.tools.value).length,
    ...defined({
      sandbox: sandbox && { mode: sandbox.mode, network: sandbox.network },
      problems: told.length === 0 ? undefined : told,
    }),
  };
  switch (state.kind) {
    case "resting":
      return { ...base, state: "idle" };
    case "idle":
      return { ...base, state: "connecting" };
    case "connecting":
      return { ...base, state: "connecting", ...defined({ note: state.queued?.message }) };
    case "ready":
      return { ...base, state: "ready", connectMs: state.connectMs, server: state.server, ...state.agreement };
    case "waiting":
      return { ...base, state: "reconnecting", ...troubleOf(state.cause, connection, origin) };
    case "failed":
      return { ...base, state: "failed", ...troubleOf(state.cause, connection, origin) };
    case "closing":
    case "closed":
      return { ...base, state: "closed" };
    default:
      return unreachable(state);
  }
}

function troubleOf(
  { code, message, hint }: TenonError,
  { spec }: StatusSource,
  origin: ToolOrigin,
): Pick<ServerStatus, "error" | "hint" | "needsLogin"> {
  if (code !== "mcp.unauthorized") return { error: message, hint };
  return { error: message, hint: loginHint(spec, origin), needsLogin: true };
}

/** A server that is given a token has no use for a log-in: the token is what is wrong. */
function loginHint(spec: ServerSpec, origin: ToolOrigin): string {
  const where = origin === "client" ? "in your editor's settings" : `in its entry (tenon mcp get ${spec.name})`;
  if (isLogInable(spec)) {
    const ways = `/mcp login ${spec.name} here, or ${loginCommand(spec, origin)} in a terminal`;
    return `It needs a log-in: ${ways}; or an Authorization header ${where}.`;
  }
  return `It needs a log-in, and refused the token it is given: correct that one ${where}.`;
}
