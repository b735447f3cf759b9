// Builds what the agent's commands run on: the real World with its log, the configured model, and the runtime.
import { defined } from "../base/json/defined.js";
import { modelFetch, recorded, type WireTrace } from "../base/ports/trace.js";
import type { Log, LogLevel, World } from "../base/ports/world.js";
import { type EffectiveConfig, loadConfig } from "../config/index.js";
import type { SessionHost } from "../session/index.js";
import { createHost, type HostOptions } from "../session/index.js";
import { nodeWorld } from "../world/index.js";
import { chooseLog } from "./log.js";
import { configuredModels } from "./model.js";
import { providerVariables } from "./provider-variables.js";
import { personalGrants, secretResolver, unaskedSecrets } from "./secrets.js";
import { outputFiles } from "./server-output.js";
import { hidingSecrets } from "./trace.js";

export interface ComposeOptions {
  readonly model?: string;
  /** The file of `--mcp-config`. */
  readonly mcpConfig?: string;
  /** What reaches the log unless TENON_LOG says otherwise. */
  readonly logLevel?: LogLevel;
  /** Of `--trace`. */
  readonly trace?: WireTrace;
  /** Whose configuration and model they are; the directory of this process unless given. */
  readonly cwd?: string;
  /** In place of this process's environment. */
  readonly env?: World["env"];
  readonly log?: Log;
  /** What the host does in ways of its own. */
  readonly runtime?: Pick<HostOptions, "stateDir" | "store" | "decisions" | "builtin">;
}

interface Composed {
  readonly host: SessionHost;
  /** As it is in this directory now, secrets not fetched; sessions read it again for their own. */
  readonly config: EffectiveConfig;
}

export async function compose(options: ComposeOptions = {}): Promise<Composed> {
  const { model, mcpConfig, trace, env, cwd = process.cwd() } = options;
  const log = options.log ?? chooseLog(options.logLevel ?? "info");
  const world = nodeWorld({ log, ...defined({ trace, env }) });
  const commandLine = defined({ model, mcpConfig });
  const config = await loadConfig({ world, cwd, commandLine, resolveSecret: unaskedSecrets });
  const resolveSecret = hidingSecrets(secretResolver(world), trace);
  const models = await configuredModels(config, { ...world, fetch: modelFetch(world) }, resolveSecret);
  const given = { id: models.first.id, variables: providerVariables(world.env) };
  await recorded(world, { ask: "model", about: null, work: async () => given, read: () => undefined });
  const host = createHost({
    ...options.runtime,
    world,
    model: models.first,
    models,
    config: { commandLine, resolveSecret },
    grants: personalGrants(world),
    serverOutput: outputFiles(world),
  });
  return { host, config };
}
