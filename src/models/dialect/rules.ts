// The forms of JSON Schema that providers take, by name, and what compiling a tool's schema into one of them gives.
import type { JsonSchema, JsonValue } from "../../base/json/json.js";
import type { DialectName } from "../model.js";
import { BOUND_NAMES, type Bound } from "./shape.js";

export interface DialectOptions {
  /**
   * `true`: the provider's strict form, where the schema has one, else the ordinary form.
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
      /** Arguments written to this form, as the tool itself wants them. Left out when they are the same. */
      readonly restore?: (args: JsonValue) => JsonValue;
    }
  | { readonly ok: false; readonly reason: string };

/** The name under which each adapter of the AI SDK looks for its options. */
export const OPTION_KEYS: Readonly<Record<DialectName, string>> = {
  anthropic: "anthropic",
  "openai-chat": "openai",
  "openai-responses": "openai",
  gemini: "google",
  "openai-compatible": "openaiCompatible",
  plain: "plain",
};

const DIALECTS: Readonly<Record<string, DialectName>> = {
  anthropic: "anthropic",
  openai: "openai-responses",
  google: "gemini",
  "openai-compatible": "openai-compatible",
  offline: "plain",
};

/** Which dialect the model of an id speaks; undefined for providers that Tenon does not know. */
export function dialectOf(modelId: string): DialectName | undefined {
  const provider = modelId.slice(0, Math.max(0, modelId.indexOf("/")));
  return Object.hasOwn(DIALECTS, provider) ? DIALECTS[provider] : undefined;
}

// What each provider's form of JSON Schema takes. Where these come from is written beside the checkers in test/dialect-checkers.

/** Keywords that are written where the form has them, and described in words elsewhere. */
export type Keyword = Bound | "title" | "default" | "pattern" | "uniqueItems";

export interface Rules {
  readonly keywords: ReadonlySet<Keyword>;
  /** Left out: any. Others are described in words. */
  readonly formats?: ReadonlySet<string>;
  /** Several kinds, `null` among them: in one list of types, or as alternatives. */
  readonly kinds: "listed" | "apart";
  /** A value of any kind: an empty schema, alternatives of every kind, or no such thing. */
  readonly any: "empty" | "forms" | "never";
  /** Whether anything may stand beside `anyOf`. */
  readonly besideForms: boolean;
  readonly options: "all" | "primitives" | "texts";
  /** `open`: as the schema says; `unsaid`: the form has no word for further keys; `closed`: there must be none. */
  readonly objects: "open" | "unsaid" | "closed";
  /** Optional properties: left out of `required`, or required and nullable. */
  readonly optional: "omitted" | "nullable";
  /** Lengths above this are described in words: some servers unroll them into a grammar. */
  readonly maxRepeat?: number;
  /** Names of properties that others are renamed to. */
  readonly names: RegExp;
  /** Objects and lists inside each other; deeper ones are described in words. */
  readonly maxDepth: number;
}

/** Thrown when a shape has no form under the rules; the message is the reason shown to the person. */
export class NoForm extends Error {}

/** Assigning to the first would change an object's prototype wherever a library copies properties one by one. */
const ANY_NAME = /^(?!__proto__$)./s;

const EVERY_KEYWORD: ReadonlySet<Keyword> = new Set([...BOUND_NAMES, "title", "default", "pattern", "uniqueItems"]);

const open: Omit<Rules, "names" | "maxDepth"> = {
  keywords: EVERY_KEYWORD,
  kinds: "listed",
  any: "empty",
  besideForms: true,
  options: "all",
  objects: "open",
  optional: "omitted",
};

const openai: Rules = { ...open, names: ANY_NAME, maxDepth: 32 };

const openaiStrict: Rules = {
  ...openai,
  keywords: new Set<Keyword>([
    "pattern",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
  ]),
  formats: new Set(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]),
  any: "never",
  options: "primitives",
  objects: "closed",
  optional: "nullable",
};

const anthropic: Rules = { ...open, names: /^(?!__proto__$)[a-zA-Z0-9_.-]{1,64}$/, maxDepth: 32 };

const anthropicStrict: Rules = {
  ...anthropic,
  keywords: new Set<Keyword>(["default"]),
  formats: new Set(["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]),
  any: "never",
  options: "primitives",
  objects: "closed",
};

export const RULES: Readonly<Record<DialectName, { readonly loose: Rules; readonly strict?: Rules }>> = {
  anthropic: { loose: anthropic, strict: anthropicStrict },
  "openai-chat": { loose: openai, strict: openaiStrict },
  "openai-responses": { loose: openai, strict: openaiStrict },
  gemini: {
    loose: {
      // Its schema has more keywords, but the adapter passes none of them on: in words they arrive.
      keywords: new Set<Keyword>(),
      formats: new Set(["date-time", "int32", "int64", "float", "double"]),
      kinds: "apart",
      any: "forms",
      besideForms: false,
      options: "texts",
      objects: "unsaid",
      optional: "omitted",
      names: ANY_NAME,
      maxDepth: 10,
    },
  },
  "openai-compatible": {
    loose: {
      ...openai,
      // Servers that turn a schema into a grammar fail on most patterns, and each on other ones.
      keywords: new Set([...EVERY_KEYWORD].filter((keyword) => keyword !== "pattern")),
      kinds: "apart",
      any: "forms",
      besideForms: false,
      maxRepeat: 100,
      maxDepth: 16,
    },
    strict: openaiStrict,
  },
  plain: { loose: { ...open, names: /^/, maxDepth: 64 } },
};
