// What servers that speak OpenAI's chat protocol take: its documented rules, and the narrower ones of common servers.
//
// Sources, beside those of the checker for OpenAI:
// - Moonshot: "when using anyOf, type should be defined in anyOf items instead of the parent schema"
//   (MoonshotAI/kimi-code#2661, MFJS in its platform documentation).
// - llama.cpp, LM Studio: grammars/README.md "JSON Schemas → GBNF"; "Pattern must start with '^' and end with '$'", patterns
//   inside nested objects, and "number of repetitions exceeds sane defaults" (ggml-org/llama.cpp#25746, #17473).
// - Gemini behind the same protocol: every ARRAY needs items, a type cannot be a list (TokenRhythm/opensquilla#1263).
import { openaiFaults } from "./openai.js";
import { isData, schemasIn, typesOf } from "./walk.js";

const REPEATED = ["minLength", "maxLength", "minItems", "maxItems"];
const MAX_REPEAT = 2_000;

export function openaiCompatibleFaults(schema: unknown, options: { readonly strict?: boolean } = {}): string[] {
  const faults = openaiFaults(schema, options);
  if (options.strict === true) return faults;
  for (const [inner, { path }] of schemasIn(schema)) {
    if (inner === true || inner === false || !isData(inner)) continue;
    if (Array.isArray(inner["type"])) faults.push(`${path}: type cannot be a list`);
    if ("anyOf" in inner && "type" in inner) faults.push(`${path}: type beside anyOf`);
    if (!("anyOf" in inner) && typesOf(inner).length === 0) faults.push(`${path}: no type`);
    for (const keyword of ["pattern", "$ref", "oneOf", "allOf", "not", "if", "patternProperties", "const"]) {
      if (keyword in inner) faults.push(`${path}: ${keyword} is refused by some servers`);
    }
    for (const keyword of REPEATED) {
      if (Number(inner[keyword] ?? 0) > MAX_REPEAT) faults.push(`${path}: ${keyword} exceeds sane defaults`);
    }
  }
  return faults;
}
