// `tenon acp` with options: serves, or keeps a provider's key in the keyring.
import { defined } from "../../../base/json/defined.js";
import { LIMITS } from "../../../base/limits.js";
import type { World } from "../../../base/ports/world.js";
import { setProviderKey, tenonPaths } from "../../../config/index.js";
import { checkGatewayUrls } from "../../../translator/index.js";
import { misused, type Run, refused, type Values } from "../../command.js";
import { type CommandContext, type GatewayChoice, optionPath, print, useAgentDirectory } from "../../context.js";
import { visibleLine } from "../../terminal/text.js";
import { readSecret } from "../secret/secret.js";

const PROVIDERS = [
  { id: "anthropic", name: "Anthropic", variable: "ANTHROPIC_API_KEY" },
  { id: "openai", name: "OpenAI", variable: "OPENAI_API_KEY" },
  { id: "google", name: "Google Gemini", variable: "GEMINI_API_KEY" },
] as const;

type AcpFlags = "setup" | "gateway" | "insecure";
type AcpTexts = "config" | "mcp-config" | "model" | "trace" | "token-file";

export const runAcpWithOptions: Run<Values<AcpFlags, AcpTexts>> = async ({ values, words: [url] }, context) => {
  const { model, trace, setup, config, "mcp-config": servers } = values;
  const { world } = context;
  const directory = config === undefined ? undefined : optionPath("--config", config, { world });
  const mcpConfig = servers === undefined ? undefined : optionPath("--mcp-config", servers, { world });
  if (directory !== undefined) useAgentDirectory(directory);
  const env = { ...world.env, ...defined({ TENON_HOME: directory }) };
  const gateway = gatewayChoice({ ...values, ...defined({ url }) }, world);
  if (setup === true) await setUpProvider(context, tenonPaths(env).configFile);
  else await context.serve?.(defined({ model, trace, config: directory, mcpConfig, gateway }));
};

type GatewayWords = Values<AcpFlags, AcpTexts> & { readonly url?: string };

/** Throws `usage.invalid` for what does not go together. */
function gatewayChoice(given: GatewayWords, world: World): GatewayChoice | undefined {
  const { gateway, url, insecure = false, "token-file": tokenFile } = given;
  if (gateway !== true) {
    const needs = (what: string) => misused(`${what} is for --gateway`);
    if (url !== undefined) throw needs("an address");
    if (tokenFile !== undefined) throw needs("--token-file");
    if (insecure) throw needs("--insecure");
    return undefined;
  }
  // The agent runs in the gateway, which reads the configuration of the session's directory.
  if (given["mcp-config"] !== undefined) throw misused("--mcp-config does not go with --gateway: use tenon mcp add");
  if (given.model !== undefined)
    throw misused("--model does not go with --gateway: set TENON_MODEL, or model in config.json");
  if (url === undefined) {
    if (tokenFile !== undefined || insecure) throw misused("--token-file and --insecure need the address of a gateway");
    return {};
  }
  const path = tokenFile === undefined ? undefined : optionPath("--token-file", tokenFile, { world });
  return { urls: checkGatewayUrls(url, { isInsecure: insecure }), ...defined({ tokenFile: path }) };
}

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
