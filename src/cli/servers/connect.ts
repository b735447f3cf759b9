// Connects to configured servers for a moment: exactly as a session here would, and never to what is not trusted.
import { join } from "node:path";
import type { World } from "../../base/ports/world.js";
import { VERSION } from "../../base/version.js";
import { type EffectiveConfig, type EffectiveServer, loadConfig, tenonPaths } from "../../config/index.js";
import { diskCache } from "../../mcp/index.js";
import { LoneServer, type LoneServerOptions } from "../../session/index.js";
import type { CommandContext } from "../configuration/context.js";
import { notThere } from "../configuration/mcp.js";
import { CLI_LIMITS } from "../limits.js";
import { personalGrants } from "../login/grants.js";
import { secretResolver } from "../secrets.js";
import { misused } from "../table/parse.js";
import { progress } from "../terminal/progress.js";
import { hidingSecrets } from "../trace.js";
import { outputFiles, redactorFor } from "./output-files.js";

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

export interface VisitOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The context's own unless given. */
  readonly world?: World;
  readonly output?: LoneServerOptions["serverOutput"];
}

export interface Visited {
  readonly lone: LoneServer;
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
  await using lone = new LoneServer(server, config.project, {
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
export async function someAtOnce<T, U>(
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
