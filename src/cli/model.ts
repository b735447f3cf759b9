// Which model the commands run: named by any layer, else that of the first provider with a key; loaded when first used.
import { TenonError } from "../base/errors.js";
import type { World } from "../base/world.js";
import {
  type EffectiveConfig,
  type ProviderName,
  problemText,
  providerEnvironment,
  type ResolveSecret,
} from "../config/index.js";
import { lazyModel, loadModel, type Model, resolveModelId } from "../models/index.js";

type Configured = Pick<EffectiveConfig, "model" | "providers">;

const PROVIDERS = ["anthropic", "openai", "google", "openai-compatible"] as const satisfies readonly ProviderName[];

/** No command of the configuration runs, and no keyring is opened, before the model is asked for something. */
export async function configuredModel(config: Configured, world: World, resolveSecret: ResolveSecret): Promise<Model> {
  const hasKey: ResolveSecret = async () => "fetched when it is needed";
  const { env } = await providerEnvironment(config, { world, resolveSecret: hasKey });
  const id = resolveModelId({ env, flag: config.model?.value });
  return lazyModel(id, async () => {
    const own = PROVIDERS.filter((name) => id.startsWith(`${name}/`));
    const provider = await providerEnvironment(config, { world, resolveSecret }, own);
    const [problem] = provider.problems;
    if (problem) throw new TenonError("model.unauthorized", problemText(problem));
    return await loadModel(id, { env: provider.env, fetch: world.fetch });
  });
}
