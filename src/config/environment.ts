// The layer of the environment, and the variables model providers are configured by.
import type { World } from "../base/ports/world.js";
import type { ProviderName } from "./entry.js";
import { emptyLayer, type Layer } from "./layer.js";

type Environment = World["env"];

/** The same variables as the models room reads: the first that is set counts, and it is stronger than the user's file. */
export const PROVIDER_VARIABLES: Readonly<
  Record<ProviderName, { readonly apiKey: readonly string[]; readonly baseUrl: readonly string[] }>
> = {
  anthropic: { apiKey: ["ANTHROPIC_API_KEY"], baseUrl: ["ANTHROPIC_BASE_URL"] },
  openai: { apiKey: ["OPENAI_API_KEY"], baseUrl: ["OPENAI_BASE_URL"] },
  google: { apiKey: ["GEMINI_API_KEY"], baseUrl: ["GOOGLE_GEMINI_BASE_URL"] },
  "openai-compatible": { apiKey: ["TENON_API_KEY"], baseUrl: ["TENON_BASE_URL", "OPENAI_BASE_URL"] },
};

/** `TENON_MODEL`. Keys and addresses of providers stay in the environment, where the models room finds them. */
export function environmentLayer(env: Environment): Layer {
  const model = env["TENON_MODEL"]?.trim();
  const place = { layer: "environment", name: "TENON_MODEL" } as const;
  return { ...emptyLayer("environment"), values: model ? [{ path: ["model"], value: model, place }] : [] };
}
