// The forms of JSON Schema that providers take, by name, and what compiling a tool's schema into one of them gives.
import type { JsonSchema, JsonValue } from "../../base/json/json.js";

export type DialectName =
  | "anthropic"
  | "openai-chat"
  | "openai-responses"
  | "gemini"
  | "openai-compatible"
  /** For models that read the schema as it was meant: the offline one, and an embedder's own. */
  | "plain";

export interface DialectOptions {
  /**
   * `true`: the provider's strict form, where the schema has one, else the ordinary form and a note.
   * `"required"`: the strict form or nothing. Dialects that know no strict form ignore it.
   */
  readonly strict?: boolean | "required";
}

export type CompiledSchema =
  | {
      readonly ok: true;
      readonly schema: JsonSchema;
      /** What to send as the tool's `strict`; left out where the provider has no such word. */
      readonly strict?: boolean;
      /** What the form could not keep, in words; the same is said in the descriptions the model reads. */
      readonly notes: readonly string[];
      /** Arguments written to this form, as the tool itself wants them. Left out when they are the same. */
      readonly restore?: (args: JsonValue) => JsonValue;
    }
  | { readonly ok: false; readonly reason: string };

/** Which dialect the model of an id speaks; nothing for providers this product does not know. */
export function dialectOf(modelId: string): DialectName | undefined {
  const provider = modelId.slice(0, Math.max(0, modelId.indexOf("/")));
  switch (provider) {
    case "anthropic":
      return "anthropic";
    case "openai":
      return "openai-responses";
    case "google":
      return "gemini";
    case "openai-compatible":
      return "openai-compatible";
    case "offline":
      return "plain";
    default:
      return undefined;
  }
}
