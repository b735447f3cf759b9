// `tenon acp` with options: serves, or keeps a provider's key in the keyring.
import { defined } from "../../../base/json/defined.js";
import { LIMITS } from "../../../base/limits.js";
import { setProviderKey, tenonPaths } from "../../../config/index.js";
import { type Run, refused, type Values } from "../../command.js";
import { type CommandContext, optionPath, print, useAgentDirectory } from "../../context.js";
import { visibleLine } from "../../terminal/text.js";
import { readSecret } from "../secret/secret.js";

const PROVIDERS = [
  { id: "anthropic", name: "Anthropic", variable: "ANTHROPIC_API_KEY" },
  { id: "openai", name: "OpenAI", variable: "OPENAI_API_KEY" },
  { id: "google", name: "Google Gemini", variable: "GEMINI_API_KEY" },
] as const;

export const runAcpWithOptions: Run<Values<"setup", "config" | "mcp-config" | "model" | "trace">> = async (
  { values },
  context,
) => {
  const { model, trace, setup, config, "mcp-config": servers } = values;
  const { world } = context;
  const directory = config === undefined ? undefined : optionPath("--config", config, { world });
  const mcpConfig = servers === undefined ? undefined : optionPath("--mcp-config", servers, { world });
  if (directory !== undefined) useAgentDirectory(directory);
  const env = { ...world.env, ...defined({ TENON_HOME: directory }) };
  if (setup === true) await setUpProvider(context, tenonPaths(env).configFile);
  else await context.serve?.(defined({ model, trace, config: directory, mcpConfig }));
};

/** Editors offer this as a log-in; they take exit code 0 for success. */
async function setUpProvider(context: CommandContext, path: string | undefined): Promise<void> {
  const { world, keyring, palette } = context;
  if (path === undefined) throw refused("no home directory is known to keep the configuration in", "Set TENON_HOME.");
  const provider = await chooseProvider(context);
  const key = (await readSecret(`Key of ${provider.name} (not shown): `, context))?.trim();
  if (!key) throw refused("no key was given, so nothing was changed", "Paste the key when asked for it.");
  const name = `${provider.id}-api-key`;
  using deadline = world.deadline(LIMITS.secretTimeoutMs);
  await keyring.set(name, key, deadline.signal);
  const file = await setProviderKey({ world, path, layer: "user" }, provider.id, `keyring:${name}`);
  const isOverridden = world.env[provider.variable] !== undefined;
  print(context, [
    `The key is in the keyring as ${palette.bold(name)}, and ${visibleLine(file)} refers to it.`,
    ...(isOverridden ? [`${provider.variable} is set in this environment and takes precedence.`] : []),
  ]);
}

async function chooseProvider(context: CommandContext): Promise<(typeof PROVIDERS)[number]> {
  if (!context.ask) throw refused("there is no terminal to ask in", "Run tenon acp --setup in a terminal.");
  print(context, ["Which provider?", ...PROVIDERS.map(({ name }, index) => `  ${index + 1}  ${name}`)]);
  const answer = (await context.ask("Number: "))?.trim() ?? "";
  const provider = PROVIDERS[Number(answer) - 1] ?? PROVIDERS.find(({ id }) => id === answer.toLowerCase());
  if (!provider) throw refused(`${JSON.stringify(answer)} is none of them, so nothing was changed`, "Give its number.");
  return provider;
}
