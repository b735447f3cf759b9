// `tenon login` and `tenon acp --setup`: the key or address of a model provider, kept in the keyring or, without one, in a private file.
import { join } from "node:path";
import { messageOf, toTenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import { LIMITS } from "../../../base/limits.js";
import { isUrl } from "../../../base/text/url.js";
import {
  type ConfigFile,
  IMPORT_NAMES,
  type ProviderName,
  providerEnvironment,
  readImports,
  setConfigValues,
  tenonPaths,
} from "../../../config/index.js";
import { resolveModelId } from "../../../models/index.js";
import { misused, type Run, refused, type Values } from "../../command.js";
import { type CommandContext, print, readConfig, report } from "../../context.js";
import { CLI_LIMITS } from "../../limits.js";
import { unaskedSecrets } from "../../secrets.js";
import { visibleLine } from "../../terminal/text.js";
import { readSecret } from "../secret/secret.js";

interface LoginChoice {
  /** As it is typed behind `tenon login`. */
  readonly id: string;
  readonly name: string;
  /** Whose entry of the configuration it is. */
  readonly provider: ProviderName;
  /** The variable that takes precedence. */
  readonly variable: string;
  /** Where it is, for those that speak OpenAI's protocol at another address; asked for where it is empty. */
  readonly url?: string;
  /** A program on this machine mostly wants none. */
  readonly isKeyOptional?: true;
}

const COMPATIBLE = { provider: "openai-compatible", variable: "TENON_API_KEY" } as const;

const CHOICES: readonly LoginChoice[] = [
  { id: "anthropic", name: "Anthropic", provider: "anthropic", variable: "ANTHROPIC_API_KEY" },
  { id: "openai", name: "OpenAI", provider: "openai", variable: "OPENAI_API_KEY" },
  { id: "google", name: "Google Gemini", provider: "google", variable: "GEMINI_API_KEY" },
  { id: "openrouter", name: "OpenRouter", ...COMPATIBLE, url: "https://openrouter.ai/api/v1" },
  {
    id: "ollama",
    name: "Ollama on this machine",
    ...COMPATIBLE,
    url: "http://localhost:11434/v1",
    isKeyOptional: true,
  },
  {
    id: "lmstudio",
    name: "LM Studio on this machine",
    ...COMPATIBLE,
    url: "http://localhost:1234/v1",
    isKeyOptional: true,
  },
  { id: "other", name: "another address that speaks OpenAI's protocol", ...COMPATIBLE, url: "", isKeyOptional: true },
];

const LOGIN_NAMES: readonly string[] = CHOICES.map(({ id }) => id);

type LoginValues = Values<"json", "url" | "model">;

export const runProviderLogin: Run<LoginValues> = async ({ values, words: [named] }, context) => {
  const place = await keyPlace(context);
  const choice = CHOICES.find(({ id }) => id === named) ?? (await choose(context, "tenon login PROVIDER"));
  await logIn(choice, place, values, context);
};

/** Editors offer it as a log-in, and take exit code 0 for success. `path`: the configuration of the agent they start. */
export async function setUpProvider(context: CommandContext, path: string | undefined): Promise<void> {
  const place = await keyPlace(context, path);
  await logIn(await choose(context, "tenon acp --setup in a terminal"), place, {}, context);
}

/** Known before anything is asked for. */
interface KeyPlace {
  readonly file: ConfigFile;
  /** Undefined: the keyring is used. */
  readonly folder?: string;
  readonly reason?: string;
}

async function keyPlace({ world, keyring }: CommandContext, given?: string): Promise<KeyPlace> {
  const { configFile, stateDir } = tenonPaths(world.env);
  const path = given ?? configFile;
  if (path === undefined) throw refused("no home directory is known to keep the configuration in", "Set TENON_HOME.");
  const file: ConfigFile = { world, path, layer: "user" };
  const folder = join(stateDir, "keys");
  if (world.env["TENON_KEYRING"] === "off") return { file, folder, reason: "TENON_KEYRING=off" };
  using deadline = world.deadline(CLI_LIMITS.keyringMs);
  try {
    await keyring.get("tenon-login", deadline.signal);
    return { file };
  } catch (error) {
    const reason = deadline.expired ? "the keyring did not answer" : toTenonError(error).message;
    return { file, folder, reason };
  }
}

async function choose(context: CommandContext, instead: string): Promise<LoginChoice> {
  if (!context.ask) throw refused("there is no terminal to ask in", `Run ${instead}: ${LOGIN_NAMES.join(", ")}.`);
  print(context, ["Which provider?", ...choiceLines()]);
  const answer = (await context.ask("Number: "))?.trim() ?? "";
  const chosen = choiceOf(answer);
  if (!chosen) throw refused(`${JSON.stringify(answer)} is none of them, so nothing was changed`, "Give its number.");
  return chosen;
}

function choiceLines(): readonly string[] {
  return CHOICES.map(({ name }, at) => `  ${at + 1}  ${name}`);
}

function choiceOf(answer: string): LoginChoice | undefined {
  return CHOICES[Number(answer) - 1] ?? CHOICES.find(({ id }) => id === answer.toLowerCase());
}

async function logIn(
  choice: LoginChoice,
  place: KeyPlace,
  values: LoginValues,
  context: CommandContext,
): Promise<void> {
  const url = await addressOf(choice, values.url, context);
  const key = (await readSecret(keyQuestion(choice, place), context))?.trim() ?? "";
  if (key === "" && !choice.isKeyOptional) {
    throw refused("no key was given, so nothing was changed", "Paste the key when asked for it, or pipe it in.");
  }
  const kept = key === "" ? undefined : await keepKey(choice, key, place, context);
  const model = url === undefined ? values.model : await modelAt(url, key, values.model, context);
  const id = model === undefined ? undefined : `${choice.provider}/${model}`;
  const file = await setConfigValues(place.file, [
    // The key of another address must not be sent to this one.
    [["providers", choice.provider, "apiKey"], kept?.reference],
    ...(url === undefined ? [] : [[["providers", choice.provider, "baseUrl"], url] as const]),
    ...(id === undefined ? [] : [[["model"], id] as const]),
  ]);
  const isOverridden = context.world.env[choice.variable] !== undefined;
  const answer = { provider: choice.provider, file, ...defined({ keptIn: kept?.where, url, model: id }) };
  report(context, values.json, answer, [
    kept === undefined
      ? `No key is needed; ${visibleLine(file)} has the address.`
      : `${kept.text}, and ${visibleLine(file)} refers to it.`,
    ...(id === undefined ? [] : [`The model is ${visibleLine(id)}; tenon models lists others.`]),
    ...(isOverridden ? [`${choice.variable} is set in this environment and takes precedence.`] : []),
  ]);
}

function keyQuestion({ name, isKeyOptional }: LoginChoice, { folder, reason }: KeyPlace): string {
  const where =
    folder === undefined ? "it goes into your keyring" : `it goes into a private file: ${reason ?? "no keyring"}`;
  return `Key of ${name} (not shown; ${where}${isKeyOptional ? "; Enter for none" : ""}): `;
}

async function addressOf(
  { url }: LoginChoice,
  given: string | undefined,
  { ask }: CommandContext,
): Promise<string | undefined> {
  if (url === undefined) {
    if (given !== undefined) throw misused("--url is for ollama, lmstudio, openrouter and other");
    return undefined;
  }
  const typed = given ?? (url === "" ? await ask?.("Address, for example http://localhost:8080/v1: ") : url);
  const address = typed?.trim() ?? "";
  if (!/^https?:\/\//iu.test(address) || !isUrl(address)) {
    throw refused(
      "that is no address, so nothing was changed",
      "Give one that begins with http:// or https://, by --url too.",
    );
  }
  const { username, password } = new URL(address);
  if (username !== "" || password !== "") {
    throw refused(
      "a name or password in the address would be in the file as plain text",
      "Give it as the key instead.",
    );
  }
  return address.replace(/\/+$/u, "");
}

interface KeptKey {
  readonly where: "keyring" | "file";
  /** What the configuration says instead of it. */
  readonly reference: string;
  readonly text: string;
}

async function keepKey(
  { id }: LoginChoice,
  key: string,
  { folder }: KeyPlace,
  context: CommandContext,
): Promise<KeptKey> {
  const { world, keyring, palette } = context;
  const name = `${id}-api-key`;
  if (folder === undefined) {
    using deadline = world.deadline(LIMITS.secretTimeoutMs);
    await keyring.set(name, key, deadline.signal);
    return {
      where: "keyring",
      reference: `keyring:${name}`,
      text: `The key is in the keyring as ${palette.bold(name)}`,
    };
  }
  const path = join(folder, name);
  await world.files.writeAtomic(path, key).catch((error: unknown) => {
    throw refused(
      `${path} cannot be written: ${messageOf(error)}`,
      "Make room there, or set TENON_HOME to another folder.",
    );
  });
  const text = `The key is in ${visibleLine(path)}, which only you can read`;
  return { where: "file", reference: `{file:${path}}`, text };
}

/** The model that is named, the only one there, or the one a person chooses. Undefined where nothing answers: it may run later. */
async function modelAt(
  url: string,
  key: string,
  named: string | undefined,
  context: CommandContext,
): Promise<string | undefined> {
  if (named !== undefined) return named;
  const models = await modelsAt(url, key, context);
  if (models.length < 2 || !context.ask) return models[0];
  const shown = models.slice(0, MOST_MODELS);
  print(context, ["Which model?", ...shown.map((id, at) => `  ${at + 1}  ${visibleLine(id)}`)]);
  const answer = (await context.ask(`Number or name [1]: `))?.trim() ?? "";
  return answer === "" ? shown[0] : (shown[Number(answer) - 1] ?? answer);
}

const MOST_MODELS = 20;
const LIST_CHARACTERS = 1_000_000;

async function modelsAt(url: string, key: string, context: CommandContext): Promise<readonly string[]> {
  const { world } = context;
  using deadline = world.deadline(CLI_LIMITS.keyringMs);
  try {
    const headers: Record<string, string> = key === "" ? {} : { authorization: `Bearer ${key}` };
    const answer = await world.fetch(`${url}/models`, { headers, signal: deadline.signal });
    const text = await answer.text();
    const parsed = text.length > LIST_CHARACTERS ? undefined : parseJson(text);
    const data: JsonValue | undefined = parsed?.ok && isJsonObject(parsed.value) ? parsed.value["data"] : undefined;
    const list: readonly JsonValue[] = Array.isArray(data) ? data : [];
    return list.flatMap((one) => (isJsonObject(one) && typeof one["id"] === "string" ? [one["id"]] : []));
  } catch (error) {
    print(context, [`Nothing answers at ${visibleLine(url)} yet (${visibleLine(messageOf(error))}).`]);
    return [];
  }
}

// The first start of the chat without a model: one screen, one answer.

/** Whether a person has to be asked which model to use: none is named, and there is no key. */
export async function lacksModel(context: CommandContext): Promise<boolean> {
  const config = await readConfig(context);
  const { env } = await providerEnvironment(config, { world: context.world, resolveSecret: unaskedSecrets });
  return config.model === undefined && resolveModelId({ env }).startsWith("offline/");
}

/** The offline model is written down, so that it is not asked about again. */
export async function firstRun(context: CommandContext): Promise<void> {
  if (!context.ask) return;
  const { palette } = context;
  const offline = CHOICES.length + 1;
  print(context, [
    palette.bold("Tenon has no model yet. Which one shall answer?"),
    ...choiceLines(),
    `  ${offline}  none: the offline model matches your words to tools and does not reason`,
    ...(await otherClients(context)),
  ]);
  const answer = (await context.ask(`Number [${offline}]: `))?.trim() ?? "";
  const choice = choiceOf(answer);
  if (choice) return await logIn(choice, await keyPlace(context), {}, context);
  if (answer !== "" && answer !== String(offline))
    print(context, ["That is none of them: the offline model answers. tenon login asks again."]);
  else await setConfigValues((await keyPlace(context)).file, [[["model"], "offline/operator"]]);
}

/** Servers that other clients have, counted; reading their files changes nothing. */
async function otherClients(context: CommandContext): Promise<readonly string[]> {
  const { world, cwd, palette } = context;
  const request = { world, env: world.env, cwd, projectPath: cwd, hasProject: false, layer: "user" as const };
  const { reads } = await readImports(IMPORT_NAMES, request).catch(() => ({ reads: [] }));
  const counts = reads.flatMap(({ client, servers }) =>
    servers.length === 0 ? [] : [`${servers.length} in ${client}`],
  );
  return counts.length === 0
    ? []
    : ["", palette.dim(`MCP servers of your other clients: ${counts.join(", ")}. tenon mcp import copies them.`)];
}
