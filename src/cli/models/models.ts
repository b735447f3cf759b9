// `tenon models`: the models there are keys for, with window and price, and which one sessions begin with.

import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { type EffectiveConfig, type ProviderName, placeText, providerEnvironment } from "../../config/index.js";
import { type AvailableModel, knownAbilities, ModelLists, PROVIDERS } from "../../models/index.js";
import { type CommandContext, print, printJson, readConfig, warn } from "../configuration/context.js";
import { EXIT } from "../exit.js";
import { configuredModels } from "../model.js";
import { secretResolver } from "../secrets.js";
import type { Given } from "../table/command.js";
import { progress } from "../terminal/progress.js";
import { modelJson, modelLines, type ProviderLook } from "./report.js";

interface Values {
  readonly json?: boolean | undefined;
}

/** By the word before the slash; `openai-chat` is the same account as `openai`. */
const LISTED = ["anthropic", "openai", "google", "openai-compatible"] as const satisfies readonly ProviderName[];

export async function runModels({ values }: Given<Values>, context: CommandContext): Promise<number> {
  const config = await readConfig(context);
  const looked = await lookAtProviders(config, context);
  const { first } = await configuredModels(config, context.world, secretResolver(context.world));
  if (values.json === true) printJson(context, { default: first.id, providers: looked.map(modelJson) });
  else print(context, modelLines(looked, first.id, context));
  for (const { name, problem } of looked) if (problem !== undefined) warn(context, `${name}: ${problem}`);
  return EXIT.done;
}

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
      const isReachable = provider?.needsUrl ? provider.urlVariables.some((one) => env[one]) : key !== undefined;
      const base = {
        name,
        keyVariable: provider?.keyVariable ?? "",
        ...defined({ key }),
        models: [],
      };
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
