// Sets a model provider up: its key goes into the keyring, and the user's configuration says that it is there.
import { TenonError } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import { setProviderKey, tenonPaths } from "../../config/index.js";
import { EXIT } from "../exit.js";
import { visibleLine } from "../terminal/visible.js";
import { print } from "./context.js";
import type { SecretContext } from "./secret.js";

const PROVIDERS = [
  { id: "anthropic", name: "Anthropic", variable: "ANTHROPIC_API_KEY" },
  { id: "openai", name: "OpenAI", variable: "OPENAI_API_KEY" },
  { id: "google", name: "Google Gemini", variable: "GEMINI_API_KEY" },
] as const;

type Provider = (typeof PROVIDERS)[number];

/** Resolves with the exit code: zero is what editors take for success. */
export async function runSetup(context: SecretContext): Promise<number> {
  const { world, keyring, palette } = context;
  const path = tenonPaths(world.env).configFile;
  if (path === undefined) throw refusal("no home directory is known to keep the configuration in", "Set TENON_HOME.");
  const provider = await chooseProvider(context);
  const key = (await context.readValue(`Key of ${provider.name} (not shown): `))?.trim();
  if (!key) throw refusal("no key was given, so nothing was changed", "Paste the key when asked for it.");
  const name = `${provider.id}-api-key`;
  using deadline = world.deadline(LIMITS.secretTimeoutMs);
  await keyring.set(name, key, deadline.signal);
  const file = await setProviderKey({ world, path, layer: "user" }, provider.id, `keyring:${name}`);
  print(context, [
    `The key is in the keyring as ${palette.bold(name)}, and ${visibleLine(file)} says so.`,
    ...(world.env[provider.variable] === undefined
      ? []
      : [`${provider.variable} is set in this environment and is stronger than that.`]),
  ]);
  return EXIT.done;
}

async function chooseProvider(context: SecretContext): Promise<Provider> {
  if (!context.ask) throw refusal("there is no terminal to ask in", "Run tenon acp --setup in a terminal.");
  print(context, ["Which provider answers?", ...PROVIDERS.map(({ name }, index) => `  ${index + 1}  ${name}`)]);
  const answer = (await context.ask("Number: "))?.trim() ?? "";
  const provider = PROVIDERS[Number(answer) - 1] ?? PROVIDERS.find(({ id }) => id === answer.toLowerCase());
  if (!provider) throw refusal(`${JSON.stringify(answer)} is none of them, so nothing was changed`, "Give its number.");
  return provider;
}

function refusal(message: string, hint: string): TenonError {
  return new TenonError("config.invalid", message, { hint });
}
