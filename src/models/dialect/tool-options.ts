// Options of a tool for one provider: its own shapes are brought to the adapter's, and those that are not known are named.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";

type ToolOptions = Readonly<Record<string, JsonObject>>;

/** Other names that people have for the adapters. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  "openai-compatible": "openaiCompatible",
  "openai-chat": "openai",
  gemini: "google",
};

/** By provider, each option under its own name and under those of the provider's API: `function.strict` is OpenAI's `strict`. */
const KNOWN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  openai: {
    strict: "strict",
    "function.strict": "strict",
    deferLoading: "deferLoading",
    defer_loading: "deferLoading",
    async: "async",
    namespace: "namespace",
  },
  openaiCompatible: { strict: "strict", "function.strict": "strict" },
  anthropic: {
    strict: "strict",
    cacheControl: "cacheControl",
    cache_control: "cacheControl",
    deferLoading: "deferLoading",
    defer_loading: "deferLoading",
    eagerInputStreaming: "eagerInputStreaming",
    eager_input_streaming: "eagerInputStreaming",
    allowedCallers: "allowedCallers",
    allowed_callers: "allowedCallers",
  },
  google: { strict: "strict" },
};

/** Options in the form of the adapters; those that Tenon does not know are passed on as they are. */
export function adaptedOptions(options: ToolOptions): ToolOptions {
  const adapted: Record<string, JsonObject> = {};
  for (const [name, given] of Object.entries(options)) {
    const provider = PROVIDER_NAMES[name] ?? name;
    const known = KNOWN[provider] ?? {};
    const entries = flattened(given).map(([path, value]) => {
      const [top = path] = path.split(".");
      return known[path] === undefined ? ([top, given[top] ?? value] as const) : ([known[path], value] as const);
    });
    adapted[provider] = { ...adapted[provider], ...Object.fromEntries(entries) };
  }
  return adapted;
}

/** `google.grounding`, for each option that is not known: its adapter may drop it. */
export function unknownOptions(options: ToolOptions): readonly string[] {
  return Object.entries(options).flatMap(([name, given]) => {
    const known = KNOWN[PROVIDER_NAMES[name] ?? name];
    const paths = flattened(given).flatMap(([path]) => (known?.[path] === undefined ? [`${name}.${path}`] : []));
    return known || paths.length > 0 ? paths : [name];
  });
}

/** What stands in `function` is one level down in OpenAI's own form. */
function flattened(given: JsonValue): readonly (readonly [string, JsonValue])[] {
  if (!isJsonObject(given)) return [];
  return Object.entries(given).flatMap(([key, value]) => {
    if (value === undefined) return [];
    if (key !== "function" || !isJsonObject(value)) return [[key, value] as const];
    return Object.entries(value).flatMap(([inner, one]) =>
      one === undefined ? [] : [[`${key}.${inner}`, one] as const],
    );
  });
}
