// The lists of models that providers publish, each in its maker's form.
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import { headerOf } from "./read-json.js";

export interface FakeModel {
  readonly id: string;
  readonly contextTokens?: number;
  readonly maxOutputTokens?: number;
}

const CREATED_S = 1_790_000_000;

/** What a GET of this path is answered with; undefined when it is for no list of models. */
export function modelList(
  path: string,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  models: readonly FakeModel[],
): JsonObject | undefined {
  if (path === "/v1beta/models") return { models: models.map(geminiModel) };
  if (path !== "/v1/models") return undefined;
  if (headerOf(headers, "anthropic-version") === undefined) return { object: "list", data: models.map(openAiModel) };
  const ids = models.map(({ id }) => id);
  return {
    data: models.map(anthropicModel),
    has_more: false,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  };
}

function anthropicModel({ id, contextTokens, maxOutputTokens }: FakeModel): JsonObject {
  return {
    type: "model",
    id,
    display_name: id,
    created_at: new Date(CREATED_S * 1000).toISOString(),
    ...defined({ max_input_tokens: contextTokens, max_tokens: maxOutputTokens }),
  };
}

/** OpenAI's own list has no sizes; vLLM's has, under this name. */
function openAiModel({ id, contextTokens }: FakeModel): JsonObject {
  const size = contextTokens === undefined ? {} : { max_model_len: contextTokens };
  return { id, object: "model", created: CREATED_S, owned_by: "fake", ...size };
}

function geminiModel({ id, contextTokens, maxOutputTokens }: FakeModel): JsonObject {
  return {
    name: `models/${id}`,
    displayName: id,
    supportedGenerationMethods: ["generateContent", "countTokens"],
    ...defined({ inputTokenLimit: contextTokens, outputTokenLimit: maxOutputTokens }),
  };
}
