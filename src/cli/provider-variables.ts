// The variables that decide which models there are; apart from all code of models, so that a look at them costs nothing.
import type { World } from "../base/ports/world.js";

export const PROVIDER_VARIABLES: readonly string[] = [
  ...["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"],
  ...["GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "TENON_API_KEY", "TENON_BASE_URL"],
];

/** The names, never the values, of the variables that decide which models there are. */
export function providerVariables(env: World["env"]): string[] {
  return PROVIDER_VARIABLES.filter((name) => (env[name] ?? "") !== "");
}
