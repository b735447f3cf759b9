// `tenon models`: the models there are keys for, with window and price, and which one sessions begin with.
import { messageOf } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { type EffectiveConfig, type ProviderName, placeText, providerEnvironment } from "../../../config/index.js";
import { type AvailableModel, knownAbilities, ModelLists, type ModelPrice, PROVIDERS } from "../../../models/index.js";
import type { Run, Values } from "../../command.js";
import { type CommandContext, readConfig, report, tableLines, warn } from "../../context.js";
import { configuredModels } from "../../model.js";
import { secretResolver } from "../../secrets.js";
import { progress } from "../../terminal/screen.js";
import { visibleLine } from "../../terminal/text.js";

/** By the word before the slash; `openai-chat` is the same account as `openai`. */
const LISTED = ["anthropic", "openai", "google", "openai-compatible"] as const satisfies readonly ProviderName[];

export const runModels: Run<Values<"json">> = async ({ values }, context) => {
  const config = await readConfig(context);
  const looked = await lookAtProviders(config, context);
  const { first } = await configuredModels(config, context.world, secretResolver(context.world));
  const providers = looked.map(modelJson);
  report(context, values.json, { default: first.id, providers }, modelLines(looked, first.id, context));
  for (const { name, problem } of looked) if (problem !== undefined) warn(context, `${name}: ${problem}`);
};

/** Asks every provider that has a key, all at once. */
export async function lookAtProviders(
  config: EffectiveConfig,
  context: CommandContext,
): Promise<readonly ProviderLook[]> {
  const { world } = context;
  using _shown = progress(context, "Asking the providers…");
  const { env, problems } = await providerEnvironment(config, { world, resolveSecret: secretResolver(world) });
  const lists = new ModelLists(world);
  return await Promise.all(
    LISTED.map(async (name): Promise<ProviderLook> => {
      const key = keySource(name, config, context);
      const provider = PROVIDERS[name];
      const isReachable =
        provider?.url === undefined ? provider?.urlVariables.some((one) => env[one]) : key !== undefined;
      const base = { name, keyVariable: provider?.keyVariable ?? "", ...defined({ key }), models: [] };
      const problem = problems.find(({ place }) => place === config.providers[name]?.apiKey?.place);
      if (problem) return { ...base, problem: problem.message };
      if (!isReachable) return base;
      try {
        const models = await lists.list(name, env);
        return { ...base, models: models.map((model) => withSettings(model, config, env)) };
      } catch (error) {
        return { ...base, problem: messageOf(error) };
      }
    }),
  );
}

/** What the person says about a model is stronger than what its maker does. */
function withSettings(
  model: AvailableModel,
  { models }: EffectiveConfig,
  env: CommandContext["world"]["env"],
): AvailableModel {
  const settings = Object.hasOwn(models, model.id) ? models[model.id] : undefined;
  const known = Object.entries(knownAbilities(model.id, { env, settings })).filter(([, value]) => value !== undefined);
  return { ...model, abilities: { ...model.abilities, ...Object.fromEntries(known) } };
}

/** Where the key is, never what it is. */
function keySource(
  name: (typeof LISTED)[number],
  config: EffectiveConfig,
  { world }: CommandContext,
): string | undefined {
  const variable = PROVIDERS[name]?.keyVariable ?? "";
  if (world.env[variable]?.trim()) return variable;
  const given = config.providers[name]?.apiKey;
  return given ? placeText(given.place) : undefined;
}

// Models and their providers, for people and for programs.

interface ProviderLook {
  readonly name: string;
  /** The variable its key is looked for in. */
  readonly keyVariable: string;
  /** Where its key is; undefined when there is none. */
  readonly key?: string;
  readonly models: readonly AvailableModel[];
  /** Why it could not be asked. */
  readonly problem?: string;
}

function modelLines(looked: readonly ProviderLook[], used: string, style: CommandContext): readonly string[] {
  const { palette } = style;
  const models = looked.flatMap((provider) => provider.models);
  const rows = models.map(({ id, title = "", abilities }) => [
    `${id === used ? "*" : " "} ${visibleLine(id)}`,
    tokensText(abilities.contextTokens),
    abilities.maxOutputTokens === undefined ? "–" : tokensText(abilities.maxOutputTokens),
    priceText(abilities.price),
    visibleLine(title),
  ]);
  const head = ["  model", "window", "output", "$ per M in/out", "title"];
  const isListed = models.some(({ id }) => id === used);
  return [
    ...(rows.length === 0 ? [] : tableLines(head, rows, style)),
    ...(isListed ? [] : [`* ${visibleLine(used)}`]),
    palette.dim("* is what sessions begin with."),
    ...looked.map(({ name, key, keyVariable, problem }) => {
      if (problem !== undefined) return `${name}: could not be asked`;
      if (key !== undefined) return `${name}: key from ${visibleLine(key)}`;
      return palette.dim(
        `${name}: no key; set ${keyVariable}${name === "openai-compatible" ? " and TENON_BASE_URL" : ""} or run tenon login`,
      );
    }),
  ];
}

function tokensText(tokens: number): string {
  if (tokens >= 1_000_000) return `${Math.round(tokens / 100_000) / 10}M`;
  return tokens >= 1_000 ? `${Math.round(tokens / 1_000)}k` : String(tokens);
}

function priceText(price: ModelPrice | undefined): string {
  return price ? `${price.inputPerMTok} / ${price.outputPerMTok}` : "–";
}

function modelJson({ name, key, keyVariable, models, problem }: ProviderLook): object {
  return {
    name,
    keyVariable,
    hasKey: key !== undefined,
    ...defined({ keyFrom: key, problem }),
    models: models.map(({ id, title, abilities }) => ({ id, ...defined({ title }), ...abilities })),
  };
}
