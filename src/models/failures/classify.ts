// One failure, one code. Codes the provider gave decide first, then the status; words only where neither tells enough.
import type { ErrorCode } from "../../base/errors.js";
import { isJsonObject } from "../../base/json/json.js";
import type { FailureFacts } from "./facts.js";

/** `asking`: no answer has begun. `reading`: the answer had begun and broke off. */
export type FailurePhase = "asking" | "reading";

export type ModelErrorCode = Extract<ErrorCode, `model.${string}`>;

export interface Verdict {
  readonly code: ModelErrorCode;
  readonly refusedTools?: readonly string[];
}

/** Every word of the table, with the code in whose row it stands. */
function byWord(table: Readonly<Partial<Record<ModelErrorCode, string>>>): ReadonlyMap<string, ModelErrorCode> {
  const codes = Object.keys(table).filter((code): code is ModelErrorCode => code in table);
  return new Map(codes.flatMap((code) => (table[code] ?? "").split(/\s+/).map((word) => [word, code])));
}

/** Error classes of the AI SDK that need no look at the provider's words. */
const BY_CLASS = byWord({
  "model.unauthorized": "AI_LoadAPIKeyError",
  "model.unknown": "AI_NoSuchModelError",
  "model.invalid_request":
    "AI_LoadSettingError AI_UnsupportedFunctionalityError AI_InvalidPromptError AI_InvalidArgumentError",
  "model.broken_stream": `AI_JSONParseError AI_TypeValidationError AI_InvalidResponseDataError
    AI_EmptyResponseBodyError AI_NoContentGeneratedError`,
});

/** Words that mean one thing only: Anthropic's, then those of OpenAI and servers that speak like it, then Google's. */
const BY_WORD = byWord({
  "model.unauthorized": `authentication_error permission_error invalid_api_key
    API_KEY_INVALID API_KEY_SERVICE_BLOCKED PERMISSION_DENIED UNAUTHENTICATED`,
  "model.quota": "billing_error insufficient_quota billing_hard_limit_reached billing_not_active",
  "model.unknown": "not_found_error model_not_found NOT_FOUND",
  "model.context_overflow":
    "request_too_large context_length_exceeded exceed_context_size_error string_above_max_length",
  "model.content_filter": "content_filter content_policy_violation invalid_prompt",
  "model.overloaded": "overloaded_error server_is_overloaded slow_down UNAVAILABLE",
  "model.unavailable": "timeout_error api_error server_error vector_store_timeout DEADLINE_EXCEEDED INTERNAL",
});

const RATE_WORDS = new Set(["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED", "tokens", "requests"]);
const REQUEST_WORDS = new Set(["invalid_request_error", "INVALID_ARGUMENT", "BadRequestError", "invalid_value"]);

const OVERFLOW: readonly RegExp[] = [
  /prompt is too long|prompt too long|input is too long/i,
  /(?:exceed\w*|overflow\w*|(?:greater|larger|longer) than)[^.]{0,60}\bcontext\b/i,
  /\bcontext (?:window|length|size|limit)[^.]{0,40}exceed/i,
  /maximum (?:context|prompt) length|maximum number of tokens|exceeded model token limit|too many (?:input )?tokens/i,
  /tokens to keep from the initial prompt|reduce the length of the messages/i,
];
const NO_CREDIT: readonly RegExp[] = [/credit balance is too low|insufficient (?:balance|credits|funds|quota)/i];
const USED_UP: readonly RegExp[] = [
  /reached your specified (?:API|workspace) usage limits|exceeded your current quota|billing hard limit/i,
];
const FILTERED: readonly RegExp[] = [
  /blocked by (?:our |the )?content filter|content (?:management|filtering) policy/i,
  /flagged (?:as potentially|for)|prohibited content|responsible ai policy/i,
];
const BAD_KEY: readonly RegExp[] = [
  /api[ _-]?key (?:not valid|is invalid|expired|not found)|invalid (?:x-)?api[ _-]?key/i,
];

export function classify(facts: FailureFacts, phase: FailurePhase, sentTools: readonly string[]): Verdict {
  const { status, name, network } = facts;
  const byClass = name === undefined ? undefined : BY_CLASS.get(name);
  if (byClass !== undefined) return { code: byClass };
  if (status !== undefined && status < 400) return { code: "model.broken_stream" };
  if (status === undefined && network !== undefined) {
    return { code: phase === "asking" ? "model.unavailable" : "model.broken_stream" };
  }
  const refused = mayBeAboutTool(facts) ? refusedTools(facts, sentTools) : undefined;
  if (refused !== undefined) return { code: "model.tool_refused", refusedTools: refused };
  return { code: byWords(facts) ?? byStatus(status) ?? unsaid(name, phase) };
}

/** llama.cpp reports a schema it cannot convert as a fault of its own. */
function mayBeAboutTool({ status, words }: FailureFacts): boolean {
  if (words.some((word) => BY_WORD.has(word) && word !== "server_error")) return false;
  if (status === undefined) return words.some((word) => REQUEST_WORDS.has(word));
  return status === 400 || status === 422 || status === 500;
}

function byWords(facts: FailureFacts): ModelErrorCode | undefined {
  const { words, status } = facts;
  const known = words.flatMap((word) => BY_WORD.get(word) ?? []);
  // `server_error` is what compatible servers call everything; the status knows better.
  const plain = known.find((code) => code !== "model.unavailable");
  if (plain !== undefined) return plain;
  if (status === 429 || words.some((word) => RATE_WORDS.has(word))) return limited(facts);
  const isRequest =
    status === undefined ? words.some((word) => REQUEST_WORDS.has(word)) : status >= 400 && status < 500;
  if (isRequest) return refusal(facts);
  if (status === 500 && says(facts, OVERFLOW)) return "model.context_overflow";
  return status === undefined ? known[0] : undefined;
}

/** A limit of a day is no matter of waiting; a request larger than a minute's tokens gets no smaller by it. */
function limited(facts: FailureFacts): ModelErrorCode {
  const isDaily = detailTexts(facts, "violations", "quotaId").some((id) => /PerDay/i.test(id));
  const hasNone = /\blimit: 0\b/.test(facts.message);
  if (isDaily || hasNone || says(facts, NO_CREDIT)) return "model.quota";
  return /^request too large\b/i.test(facts.message) ? "model.context_overflow" : "model.rate_limited";
}

function refusal(facts: FailureFacts): ModelErrorCode | undefined {
  if (says(facts, BAD_KEY)) return "model.unauthorized";
  if (says(facts, NO_CREDIT) || says(facts, USED_UP)) return "model.quota";
  if (says(facts, OVERFLOW)) return "model.context_overflow";
  if (says(facts, FILTERED)) return "model.content_filter";
  return facts.status === undefined ? "model.invalid_request" : undefined;
}

function byStatus(status: number | undefined): ModelErrorCode | undefined {
  if (status === undefined) return undefined;
  if (status === 401 || status === 403) return "model.unauthorized";
  if (status === 402) return "model.quota";
  if (status === 404) return "model.unknown";
  if (status === 408 || status === 409) return "model.unavailable";
  if (status === 413) return "model.context_overflow";
  if (status === 429) return "model.rate_limited";
  if (status === 503 || status === 529) return "model.overloaded";
  return status >= 500 ? "model.unavailable" : "model.invalid_request";
}

function unsaid(name: string | undefined, phase: FailurePhase): ModelErrorCode {
  if (name === "AI_APICallError") return "model.unavailable";
  return phase === "asking" ? "model.unavailable" : "model.broken_stream";
}

function says({ message }: FailureFacts, patterns: readonly RegExp[]): boolean {
  return patterns.some((pattern) => pattern.test(message));
}

/** One text of each entry in a list of Google's details. */
function detailTexts({ details }: FailureFacts, list: string, key: string): string[] {
  const entries = details.flatMap((detail) => detail[list]).filter(isJsonObject);
  return entries.map((entry) => entry[key]).filter((text) => typeof text === "string");
}

// Which tools a provider refused: by name, or by their place in the request. Names that were not sent are never reported.

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
function refusedTools(facts: FailureFacts, sent: readonly string[]): readonly string[] | undefined {
  if (sent.length === 0) return undefined;
  const texts = [facts.param ?? "", facts.message, ...detailTexts(facts, "fieldViolations", "field")];
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
