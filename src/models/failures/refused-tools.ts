// Which tools a provider refused: by name, or by their place in the request. Names that were not sent are never reported.
import { isJsonObject, type JsonValue } from "../../base/json/json.js";
import type { FailureFacts } from "./facts.js";

/** OpenAI's own word for it. */
const WORDS = new Set(["invalid_function_parameters", "invalid_tool_schema"]);

/** `Invalid schema for function 'x': …` (OpenAI, DeepSeek), `` `x` functionDeclaration … `` (Google). */
const NAMES: readonly RegExp[] = [
  /schema for (?:function|tool) ['"`]([^'"`]+)['"`]/gi,
  /['"`]([^'"`\s]+)['"`] function_?declaration/gi,
];

/** Gemini has one tool that holds all functions; the others have one tool each. A path inside the conversation is not meant. */
const GEMINI_PLACE = /function_?declarations\[(\d+)\]/gi;
const PLACE = /(?:^|[^\w.\]])(?:body\.|request\.)?tools(?:\.(\d+)|\[(\d+)\])\.?(\w+)?/gi;

/** Words of servers that say what went wrong, and not with which tool. */
const UNNAMED: readonly RegExp[] = [
  /\btools\b[^.]{0,80}\bschema\b/i,
  /\bschema\b[^.]{0,80}\b(?:tools?|functions?)\b/i,
  /compiled grammar is too large|schemas? (?:is|are|contains?) too (?:complex|many)/i,
  /JSON schema conversion failed|failed to parse (?:the )?tools/i,
  /struct field [\w.]*\.tools\.function\.parameters/i,
];

/** Undefined when the failure is about something else; empty when it is about a tool that is not named. */
export function refusedTools(facts: FailureFacts, sent: readonly string[]): readonly string[] | undefined {
  if (sent.length === 0) return undefined;
  const texts = [facts.param ?? "", facts.message, ...violations(facts)];
  const named = texts.flatMap((text) => NAMES.flatMap((pattern) => captures(text, pattern)));
  const placed = texts.flatMap((text) => places(text)).flatMap((place) => sent[place] ?? []);
  const found = [...named.filter((name) => sent.includes(name)), ...placed];
  if (found.length > 0) return [...new Set(found)];
  const isAboutTool =
    named.length > 0 ||
    facts.words.some((word) => WORDS.has(word)) ||
    UNNAMED.some((pattern) => pattern.test(facts.message));
  return isAboutTool ? [] : undefined;
}

function places(text: string): number[] {
  const inGemini = captures(text, GEMINI_PLACE).map(Number);
  return inGemini.length > 0 ? inGemini : captures(text, PLACE).map(Number);
}

function captures(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].flatMap((match) => match[1] ?? match[2] ?? []);
}

/** `google.rpc.BadRequest` says in a field of its own where the fault is. */
function violations({ details }: FailureFacts): string[] {
  return details.flatMap((detail) => {
    const found: JsonValue | undefined = detail["fieldViolations"];
    if (!Array.isArray(found)) return [];
    const list: readonly JsonValue[] = found;
    return list.flatMap((violation) => {
      const place = isJsonObject(violation) ? violation["field"] : undefined;
      return typeof place === "string" ? [place] : [];
    });
  });
}
