// Model providers from the user's own file, as the variables the models room reads. Filled when a model is first needed.
import { dirname } from "node:path";
import { defined } from "../base/json/defined.js";
import { LIMITS } from "../base/limits.js";
import type { World } from "../base/ports/world.js";
import type { EffectiveConfig, ProviderValues } from "./effective.js";
import { PROVIDERS, type ProviderName } from "./layers/entry.js";
import { configOf, emptyLayer, type Layer, type Merged, type Problem, sourced } from "./layers/layer.js";
import type { LoadRequest } from "./load-config.js";
import { interpolate, isMissing } from "./secrets/interpolate.js";
import { Secrets } from "./secrets/secrets.js";

const FIELDS = ["apiKey", "baseUrl"] as const;

export function providerValues(merged: Merged): Readonly<Partial<Record<ProviderName, ProviderValues>>> {
  const { providers = {} } = configOf(merged);
  const given = PROVIDERS.filter((name) => providers[name]);
  const at = (name: ProviderName, field: (typeof FIELDS)[number]) =>
    sourced(merged, ["providers", name, field], providers[name]?.[field]);
  return Object.fromEntries(
    given.map((name) => [name, defined({ apiKey: at(name, "apiKey"), baseUrl: at(name, "baseUrl") })]),
  );
}

export interface ProviderEnvironment {
  /** The environment with what the user's file adds; what is set in the environment itself is stronger. */
  readonly env: World["env"];
  /** What came from elsewhere, for masking. */
  readonly secrets: readonly string[];
  readonly problems: readonly Problem[];
}

/** For `loadModel`. Never rejects; a value that cannot be had is left out, with a problem. */
export async function providerEnvironment(
  config: Pick<EffectiveConfig, "providers">,
  request: Pick<LoadRequest, "world" | "env" | "resolveSecret">,
  only: readonly ProviderName[] = PROVIDERS,
): Promise<ProviderEnvironment> {
  const { world } = request;
  const env = request.env ?? world.env;
  const secrets = new Secrets(world, request.resolveSecret);
  using deadline = world.deadline(LIMITS.secretTimeoutMs * 2);
  const added: Record<string, string> = {};
  const masked: string[] = [];
  const problems: Problem[] = [];
  for (const [name, field] of only.flatMap((one) => FIELDS.map((key) => [one, key] as const))) {
    const given = config.providers[name]?.[field];
    const variables = PROVIDER_VARIABLES[name][field];
    const [variable] = variables;
    if (!given || variable === undefined || variables.some((set) => env[set]?.trim())) continue;
    const { place } = given;
    const path = ["providers", name, field];
    const source = { world, env, folder: dirname(place.file ?? ""), secrets, patience: deadline.signal };
    const filled = await interpolate({ text: given.value, path, mayBeSecret: field === "apiKey" }, () => place, source);
    if (isMissing(filled)) problems.push({ severity: "error", place, message: filled.reason });
    else {
      added[variable] = filled.text;
      masked.push(...(field === "apiKey" ? [filled.text] : filled.secrets));
    }
  }
  world.trace?.hide(masked);
  return { env: { ...env, ...added }, secrets: masked, problems };
}

// The layer of the environment, and the variables model providers are configured by.

/** The same variables as the models room reads: the first that is set counts, and it is stronger than the user's file. */
const PROVIDER_VARIABLES: Readonly<Record<ProviderName, Record<(typeof FIELDS)[number], readonly string[]>>> = {
  anthropic: { apiKey: ["ANTHROPIC_API_KEY"], baseUrl: ["ANTHROPIC_BASE_URL"] },
  openai: { apiKey: ["OPENAI_API_KEY"], baseUrl: ["OPENAI_BASE_URL"] },
  google: { apiKey: ["GEMINI_API_KEY"], baseUrl: ["GOOGLE_GEMINI_BASE_URL"] },
  "openai-compatible": { apiKey: ["TENON_API_KEY"], baseUrl: ["TENON_BASE_URL", "OPENAI_BASE_URL"] },
};

/** `TENON_MODEL`. Keys and addresses of providers stay in the environment, where the models room finds them. */
export function environmentLayer(env: World["env"]): Layer {
  const model = env["TENON_MODEL"]?.trim();
  const place = { layer: "environment", name: "TENON_MODEL" } as const;
  return { ...emptyLayer("environment"), values: model ? [{ path: ["model"], value: model, place }] : [] };
}
