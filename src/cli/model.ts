// Which models the commands run: the one named by any layer, else that of the first provider with a key, and those to change to.
import { TenonError } from "../base/errors.js";
import type { World } from "../base/ports/world.js";
import {
  type EffectiveConfig,
  type ProviderName,
  problemText,
  providerEnvironment,
  type ResolveSecret,
} from "../config/index.js";
import {
  type AvailableModels,
  availableModels,
  knownAbilities,
  loadModel,
  ModelLists,
  resolveModelId,
} from "../models/index.js";

type Configured = Pick<EffectiveConfig, "model" | "models" | "providers" | "thinking">;

/** Whose entry of the configuration a model's key and address are in, by what stands before its name. */
const CONFIGURED_AS: Readonly<Record<string, ProviderName>> = {
  anthropic: "anthropic",
  openai: "openai",
  "openai-chat": "openai",
  google: "google",
  gemini: "google",
  "openai-compatible": "openai-compatible",
};

/** No command of the configuration runs, and no keyring is opened, before a model is asked for something. */
export async function configuredModels(
  config: Configured,
  world: World,
  resolveSecret: ResolveSecret,
): Promise<AvailableModels> {
  const hasKey: ResolveSecret = async () => "fetched when it is needed";
  const { env } = await providerEnvironment(config, { world, resolveSecret: hasKey });
  const lists = new ModelLists(world);
  const settingsOf = (id: string) => (Object.hasOwn(config.models, id) ? config.models[id] : undefined);
  return availableModels({
    first: resolveModelId({ env, flag: config.model?.value }),
    named: Object.keys(config.models),
    env,
    fetch: world.fetch,
    lists,
    realEnv: async () => (await providerEnvironment(config, { world, resolveSecret })).env,
    known: (id) => knownAbilities(id, { env, settings: settingsOf(id) }),
    load: async (id) => {
      const name = CONFIGURED_AS[id.slice(0, Math.max(0, id.indexOf("/")))];
      const provider = await providerEnvironment(config, { world, resolveSecret }, name === undefined ? [] : [name]);
      const [problem] = provider.problems;
      if (problem) throw new TenonError("model.unauthorized", problemText(problem));
      return await loadModel(id, {
        env: provider.env,
        fetch: world.fetch,
        lists,
        settings: settingsOf(id),
        thinking: config.thinking?.value,
        now: () => world.now(),
        clock: world,
      });
    },
  });
}
