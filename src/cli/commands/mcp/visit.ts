// Connects to configured servers for a moment: exactly as a session here would, and never to what is not trusted.
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
  type ReadyServer,
  tenonPaths,
} from "../../../config/index.js";
import { toolTokens } from "../../../engine/index.js";
import { diskCache, type McpTool } from "../../../mcp/index.js";
import { compileSchema } from "../../../models/index.js";
import { type ServerStatus, SingleServer, type SingleServerOptions } from "../../../session/index.js";
import { misused } from "../../command.js";
import type { CommandContext } from "../../context.js";
import { stoppable } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { personalGrants } from "../../login/grants.js";
import { secretResolver } from "../../secrets.js";
import { outputFiles, redactorFor } from "../../server-output.js";
import { progress } from "../../terminal/screen.js";
import { hidingSecrets } from "../../trace.js";

/** With the secrets servers need: `!command` and the keyring are asked, which may ask the person in turn. */
export async function liveConfig(context: CommandContext): Promise<EffectiveConfig> {
  const { world, cwd } = context;
  using _shown = progress(context, "Fetching secrets…");
  return await loadConfig({ world, cwd, resolveSecret: hidingSecrets(secretResolver(world), world.trace) });
}

/** The one that counts: where several layers have it, the one that is not replaced. Throws `config.invalid` for none. */
export function serverNamed({ servers }: EffectiveConfig, name: string): EffectiveServer {
  const named = servers.filter((server) => server.name === name);
  const found = named.find(({ status }) => status === "ready") ?? named.find(({ status }) => status !== "shadowed");
  if (!found)
    throw notThere(
      name,
      servers.map((server) => server.name),
    );
  return found;
}

/** `known` are the names there are, for what was probably meant. */
export function notThere(name: string, known: readonly string[] = []): TenonError {
  const near = nearest(name, known);
  const meant = near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`;
  return new TenonError("config.invalid", `there is no server ${JSON.stringify(name)}${meant}`, {
    hint: "See tenon mcp list.",
  });
}

export interface VisitOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The context's own unless given. */
  readonly world?: World;
  readonly output?: SingleServerOptions["serverOutput"];
}

export interface Visited {
  readonly lone: SingleServer;
  /** It was not ready when the time was up. */
  readonly isLate: boolean;
  /** Its words without its secrets: errors quote its stderr. */
  readonly redact: (text: string) => string;
}

/** Connects, waits until that has come to something, and ends it after `use`, whatever happens. */
export async function visit<T>(
  server: EffectiveServer,
  { config, context }: { readonly config: EffectiveConfig; readonly context: CommandContext },
  options: VisitOptions,
  use: (visited: Visited) => Promise<T>,
): Promise<T> {
  const { world = context.world } = options;
  await using lone = new SingleServer(server, config.project, {
    world,
    cwd: context.cwd,
    client: { name: "tenon", version: VERSION },
    cache: diskCache({ world, dir: join(tenonPaths(world.env).cacheDir, "servers") }),
    grants: personalGrants(world, context.keyring),
    serverOutput: options.output ?? outputFiles(world),
  });
  using deadline = world.deadline(options.timeoutMs, options.signal);
  await lone.settled(deadline.signal);
  const redactor = server.status === "ready" ? redactorFor(server, world) : undefined;
  return await use({ lone, isLate: deadline.expired, redact: (text) => redactor?.text(text) ?? text });
}

/** The results in the order of the items; no more than so many under way at a time. */
async function someAtOnce<T, U>(
  items: readonly T[],
  run: (item: T) => Promise<U>,
  count: number = CLI_LIMITS.serversAtOnce,
): Promise<readonly U[]> {
  const results = new Map<number, U>();
  const queue = items.entries();
  const work = async () => {
    for (const [at, item] of queue) results.set(at, await run(item));
  };
  await Promise.all(Array.from({ length: Math.min(count, items.length) }, work));
  return items.flatMap((_, at) => {
    const result = results.get(at);
    return result === undefined ? [] : [result];
  });
}

/** Throws `usage.invalid` for what is no positive number. */
export function secondsToMs(text: string | undefined, fallbackMs: number): number {
  if (text === undefined) return fallbackMs;
  const seconds = Number(text);
  if (!(seconds > 0) || !Number.isFinite(seconds)) throw misused("--timeout takes a number of seconds");
  return seconds * 1_000;
}

// Connects to every server that is ready, several at a time, and tells of each what was found.

export interface LookedServer {
  readonly server: EffectiveServer;
  /** Undefined for one that was not connected to. */
  readonly look?: Look;
}

/** In the order of the configuration; `only` leaves the others out of it. */
export async function visitAll(
  config: EffectiveConfig,
  context: CommandContext,
  { timeoutMs, only }: { readonly timeoutMs: number; readonly only?: string },
): Promise<readonly LookedServer[]> {
  const servers = config.servers.filter(({ name }) => only === undefined || name === only);
  const ready = servers.filter((server) => server.status === "ready");
  if (ready.length === 0) return servers.map((server) => ({ server }));
  using shown = progress(context, waitingFor(ready));
  const open = new Set(ready);
  const looks = await stoppable((signal) =>
    someAtOnce(ready, async (server): Promise<readonly [EffectiveServer, Look]> => {
      const look = await visit(server, { config, context }, { timeoutMs, signal }, async (visited) =>
        lookAt(visited, timeoutMs),
      );
      open.delete(server);
      shown.update(waitingFor([...open]));
      return [server, look];
    }),
  );
  const found = new Map(looks);
  return servers.map((server) => {
    const look = found.get(server);
    return { server, ...defined({ look }) };
  });
}

function waitingFor(servers: readonly ReadyServer[]): string {
  return `Connecting to ${servers.map(({ name }) => name).join(", ")}…`;
}

// What can be told of a server once it was connected to: how it stands, what it offers, what that costs a model.

export interface LookedTool {
  readonly tool: McpTool;
  /** About so many in every model call it is offered in. */
  readonly tokens: number;
}

export interface Look {
  /** Undefined for one that is not to be started: switched off, not trusted, replaced. */
  readonly status?: ServerStatus;
  readonly tools: readonly LookedTool[];
  readonly tokens: number;
  /** Left out of its list, or of no use to a model: each in one sentence that names the tool. */
  readonly quarantined: readonly string[];
  /** What else people should hear of. */
  readonly warnings: readonly string[];
  readonly error?: TenonError;
}

/** Definitions of more tokens crowd out what they are for. */
const COSTLY_TOKENS = 1_500;

export function lookAt({ lone, isLate, redact }: Visited, timeoutMs: number): Look {
  const { status, connection } = lone;
  const state = connection?.state.value;
  const isReady = state?.kind === "ready";
  const tools = isReady ? (connection?.tools.value ?? []) : [];
  const looked = tools.map((tool) => ({ tool, tokens: tokensOf(tool) }));
  const told = isReady ? [...(status?.problems ?? []), ...(status?.note === undefined ? [] : [status.note])] : [];
  const problems = told.map(redact);
  const forms = tools.flatMap(formless);
  const cause = isReady ? undefined : errorOf(state, status, isLate ? timeoutMs : undefined);
  const error = cause && redacted(cause, redact);
  return {
    ...defined({ status }),
    tools: looked,
    tokens: looked.reduce((sum, { tokens }) => sum + tokens, 0),
    quarantined: [
      ...problems.filter(isLeftOut),
      ...forms.filter(({ isEverywhere }) => isEverywhere).map(({ text }) => text),
    ],
    warnings: [
      ...problems.filter((problem) => !isLeftOut(problem)),
      ...forms.filter(({ isEverywhere }) => !isEverywhere).map(({ text }) => text),
      ...looked.flatMap(doubts),
    ],
    ...defined({ error }),
  };
}

function redacted({ code, message, hint }: TenonError, redact: (text: string) => string): TenonError {
  return new TenonError(code, redact(message), { hint: redact(hint) });
}

type State = NonNullable<Visited["lone"]["connection"]>["state"]["value"];

function errorOf(
  state: State | undefined,
  status: ServerStatus | undefined,
  lateMs: number | undefined,
): TenonError | undefined {
  if (state?.kind === "failed" || state?.kind === "waiting") return state.cause;
  if (lateMs !== undefined) return new TenonError("mcp.connect_timeout", `not ready within ${lateMs / 1_000} s`);
  if (status?.error === undefined) return undefined;
  return new TenonError("mcp.not_ready", status.error, status.hint === undefined ? {} : { hint: status.hint });
}

function tokensOf({ name, description, inputSchema }: McpTool): number {
  return toolTokens({ name, description, inputSchema });
}

function isLeftOut(problem: string): boolean {
  return problem.startsWith("tool ");
}

const DIALECTS = ["anthropic", "openai-responses", "gemini", "openai-compatible"] as const;

/** Where a provider has no form for its schema, a session sets it aside. */
function formless({
  name,
  inputSchema,
}: McpTool): readonly { readonly isEverywhere: boolean; readonly text: string }[] {
  const reasons = DIALECTS.flatMap((dialect) => {
    const form = compileSchema(inputSchema, dialect);
    return form.ok ? [] : [{ dialect, reason: form.reason }];
  });
  const [first] = reasons;
  if (!first) return [];
  const isEverywhere = reasons.length === DIALECTS.length;
  const whom = isEverywhere ? "any model" : `models of ${reasons.map(({ dialect }) => dialect).join(", ")}`;
  return [{ isEverywhere, text: `tool ${JSON.stringify(name)} cannot be offered to ${whom}: ${first.reason}` }];
}

function doubts({ tool, tokens }: LookedTool): readonly string[] {
  const name = JSON.stringify(tool.name);
  return [
    ...(tool.description.trim() === "" ? [`tool ${name} has no description: a model can only guess what it does`] : []),
    ...(tokens > COSTLY_TOKENS ? [`tool ${name} costs about ${tokens} tokens in every model call`] : []),
  ];
}
