// Connects to configured servers for a moment, as a session here would, and reports their state, tools and costs.
import { join } from "node:path";
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import type { World } from "../../../base/ports/world.js";
import { nearest } from "../../../base/text/nearest.js";
import { VERSION } from "../../../base/version.js";
import {
  type EffectiveConfig,
  type EffectiveServer,
  loadConfig,
  sourceSettings,
  tenonPaths,
} from "../../../config/index.js";
import { toolTokens } from "../../../engine/index.js";
import { diskCache, type McpTool, startText } from "../../../mcp/index.js";
import { compileSchema } from "../../../models/index.js";
import { type ServerStatus, SingleServer, type SingleServerOptions } from "../../../session/index.js";
import { type SourceSettings, usedTools } from "../../../tools/index.js";
import { misused, refused } from "../../command.js";
import type { CommandContext } from "../../context.js";
import { stoppable } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { personalGrants, secretResolver } from "../../secrets.js";
import { outputFiles, redactorFor } from "../../server-output.js";
import { liveRows } from "../../terminal/live-rows.js";
import { progress } from "../../terminal/screen.js";
import { hidingSecrets } from "../../trace.js";

/** With the secrets of servers: `!command` and the keyring are asked, which may ask the person in turn. */
export async function liveConfig(context: CommandContext): Promise<EffectiveConfig> {
  const { world, cwd } = context;
  using _shown = progress(context, "Fetching secrets…");
  return await loadConfig({ world, cwd, resolveSecret: hidingSecrets(secretResolver(world), world.trace) });
}

/** The ready one, else one that no other layer replaces. Throws `config.invalid` for none. */
export function serverNamed({ servers }: EffectiveConfig, name: string): EffectiveServer {
  const named = servers.filter((server) => server.name === name);
  const found = named.find(({ status }) => status === "ready") ?? named.find(({ status }) => status !== "shadowed");
  if (!found) throw noServer(name, servers);
  return found;
}

export function noServer(name: string, servers: readonly EffectiveServer[]): TenonError {
  const known = servers.map((server) => server.name);
  const near = nearest(name, known);
  const meant = near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`;
  return refused(`there is no server ${JSON.stringify(name)}${meant}`, "See tenon mcp list.");
}

/** Throws `usage.invalid` for what is no positive number. */
export function secondsToMs(text: string | undefined, fallbackMs: number = CLI_LIMITS.connectMs): number {
  if (text === undefined) return fallbackMs;
  const seconds = Number(text);
  if (!(seconds > 0) || !Number.isFinite(seconds)) throw misused("--timeout takes a number of seconds");
  return seconds * 1_000;
}

interface ConnectOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The context's own unless given. */
  readonly world?: World;
  readonly output?: SingleServerOptions["serverOutput"];
  /** Who answers what the server asks; without them it is told that nobody does. */
  readonly ports?: SingleServerOptions["ports"];
}

interface Connected extends Pick<SingleServer, "connection"> {
  /** It was not ready when the time was up. */
  readonly isLate: boolean;
  /** Removes the server's secrets: errors quote its stderr. */
  readonly redact: (text: string) => string;
  /** What is known of it now. */
  readonly inspection: Inspection;
}

/** Connects, waits until it is ready or has failed, and ends it after `use`, whatever happens. */
export async function withServer<T>(
  server: EffectiveServer,
  { config, context }: { readonly config: EffectiveConfig; readonly context: CommandContext },
  options: ConnectOptions,
  use: (connected: Connected) => Promise<T>,
): Promise<T> {
  const { world = context.world, timeoutMs } = options;
  await using single = new SingleServer(server, config.project, {
    world,
    cwd: context.cwd,
    client: { name: "tenon", version: VERSION },
    cache: diskCache({ world, dir: join(tenonPaths(world.env).cacheDir, "servers") }),
    grants: personalGrants(world, context.keyring),
    serverOutput: options.output ?? outputFiles(world),
    ...defined({ ports: options.ports }),
  });
  using deadline = world.deadline(timeoutMs, options.signal);
  await single.settled(deadline.signal);
  const redactor = server.status === "ready" ? redactorFor(server, world) : undefined;
  const redact = (text: string) => redactor?.text(text) ?? text;
  const settings = server.status === "ready" ? sourceSettings(server.settings) : {};
  const inspection = inspect(single, { settings, lateMs: deadline.expired ? timeoutMs : undefined, redact });
  return await use({ connection: single.connection, isLate: deadline.expired, redact, inspection });
}

export interface InspectedServer {
  readonly server: EffectiveServer;
  /** Undefined for one that was not connected to. */
  readonly inspection?: Inspection;
}

/** In the order of the configuration, several at a time; `only` leaves the others out of it. */
export async function inspectAll(
  config: EffectiveConfig,
  context: CommandContext,
  { timeoutMs, only }: { readonly timeoutMs: number; readonly only?: string },
): Promise<readonly InspectedServer[]> {
  const servers = config.servers.filter(({ name }) => only === undefined || name === only);
  const open = new Set(servers.filter(({ status }) => status === "ready"));
  if (open.size === 0) return servers.map((server) => ({ server }));
  using shown = liveRows(new Map([...open].map((server) => [server.name, startingText(server)])), context);
  const inspected = new Map<EffectiveServer, Inspection>();
  const queue = [...open].values();
  const { palette } = context;
  await stoppable(async (signal) => {
    const work = async () => {
      for (const server of queue) {
        const options = { timeoutMs, signal };
        const found = await withServer(server, { config, context }, options, async ({ inspection }) => inspection);
        inspected.set(server, found);
        const { error, tools, status } = found;
        const isWaiting = status?.needsLogin === true;
        const sign = isWaiting ? palette.yellow("?") : error ? palette.red("✗") : palette.green("✓");
        const text = isWaiting ? "needs login" : (error?.message ?? `ready, ${countText(tools.length, "tool")}`);
        shown.done(server.name, sign, text);
      }
    };
    await Promise.all(Array.from({ length: Math.min(CLI_LIMITS.serversAtOnce, open.size) }, work));
  });
  return servers.map((server) => ({ server, ...defined({ inspection: inspected.get(server) }) }));
}

/** What goes on while a server starts: `npx is downloading or starting …`. */
export function startingText(server: EffectiveServer): string {
  return server.status === "ready" ? startText(server.spec) : "connecting";
}

function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

export interface InspectedTool {
  readonly tool: McpTool;
  /** About so many in every model call it is offered in. */
  readonly tokens: number;
}

export interface Inspection {
  /** Undefined for one that is not to be started: switched off, not trusted, replaced. */
  readonly status?: ServerStatus;
  /** Those that `allow` and `deny` of its entry leave. */
  readonly tools: readonly InspectedTool[];
  /** All it lists. */
  readonly listed: readonly McpTool[];
  /** Of `tools`. */
  readonly tokens: number;
  /** Tools left out of its list, or of no use to a model: each in one sentence that names the tool. */
  readonly quarantined: readonly string[];
  readonly warnings: readonly string[];
  readonly error?: TenonError;
}

/** Definitions of more tokens leave too little of the context window. */
const COSTLY_TOKENS = 1_500;

function inspect(
  { status, connection }: SingleServer,
  { settings, lateMs, redact }: { settings: SourceSettings; lateMs: number | undefined } & Pick<Connected, "redact">,
): Inspection {
  const isReady = connection?.state.value.kind === "ready";
  const listed = isReady ? connection.tools.value : [];
  const tools = usedTools(settings, listed).map((tool) => ({ tool, tokens: toolTokens(tool) }));
  const leftOut = isReady ? connection.leftOut.map(({ text }) => text) : [];
  const problems = isReady ? [...(status?.problems ?? []), ...(status?.note === undefined ? [] : [status.note])] : [];
  const unusable = listed.flatMap(unusableForms);
  const cause = isReady ? undefined : errorOf(connection?.state.value, status, lateMs);
  return {
    ...defined({ status }),
    tools,
    listed,
    tokens: tools.reduce((sum, { tokens }) => sum + tokens, 0),
    quarantined: [
      ...leftOut.map(redact),
      ...unusable.flatMap(({ text, isEverywhere }) => (isEverywhere ? [text] : [])),
    ],
    warnings: [
      ...problems.filter((problem) => !leftOut.includes(problem)).map(redact),
      ...unusable.flatMap(({ text, isEverywhere }) => (isEverywhere ? [] : [text])),
      ...tools.flatMap(doubts),
    ],
    ...defined({ error: cause && redactedError(cause, redact) }),
  };
}

export function redactedError(error: TenonError, redact: (text: string) => string): TenonError {
  const { code, message, hint, isDefaultHint } = error;
  return new TenonError(code, redact(message), isDefaultHint ? {} : { hint: redact(hint) });
}

function errorOf(
  state: NonNullable<SingleServer["connection"]>["state"]["value"] | undefined,
  status: ServerStatus | undefined,
  lateMs: number | undefined,
): TenonError | undefined {
  if (state?.kind === "failed" || state?.kind === "waiting") return state.cause;
  if (lateMs !== undefined) return new TenonError("mcp.connect_timeout", `not ready within ${lateMs / 1_000} s`);
  return status?.error === undefined
    ? undefined
    : new TenonError("mcp.not_ready", status.error, defined({ hint: status.hint }));
}

const DIALECTS = ["anthropic", "openai-responses", "gemini", "openai-compatible"] as const;

/** Where a provider's dialect cannot express its schema, a session sets the tool aside. */
function unusableForms({ name, inputSchema }: McpTool) {
  const reasons = DIALECTS.flatMap((dialect) => {
    const form = compileSchema(inputSchema, dialect);
    return form.ok ? [] : [{ dialect, reason: form.reason }];
  });
  const [first] = reasons;
  if (!first) return [];
  const isEverywhere = reasons.length === DIALECTS.length;
  const models = isEverywhere ? "any model" : `models of ${reasons.map(({ dialect }) => dialect).join(", ")}`;
  return [{ isEverywhere, text: `tool ${JSON.stringify(name)} cannot be offered to ${models}: ${first.reason}` }];
}

function doubts({ tool, tokens }: InspectedTool): readonly string[] {
  const name = JSON.stringify(tool.name);
  return [
    ...(tool.description.trim() === "" ? [`tool ${name} has no description: a model can only guess what it does`] : []),
    ...(tokens > COSTLY_TOKENS ? [`tool ${name} costs about ${tokens} tokens in every model call`] : []),
  ];
}
