// Whatever an AI SDK provider throws or streams as an error, as a TenonError with a `model.*` code.
import { type ErrorCode, messageOf, TenonError } from "../base/errors.js";
import { isJsonObject } from "../base/json.js";

/** `asking`: no answer has begun. `reading`: the answer had begun and broke off. */
export type FailurePhase = "asking" | "reading";

/** Providers echo whole requests and HTML pages in their messages; people need the beginning only. */
const MESSAGE_MAX_CHARS = 500;

/** Error classes of the AI SDK, by the name it gives them: it asks not to rely on `instanceof` across its packages. */
const CODES_BY_NAME = new Map<string, ErrorCode>([
  ["AI_LoadAPIKeyError", "model.unauthorized"],
  ["AI_LoadSettingError", "model.invalid_request"],
  ["AI_NoSuchModelError", "model.unknown"],
  ["AI_UnsupportedFunctionalityError", "model.invalid_request"],
  ["AI_InvalidPromptError", "model.invalid_request"],
  ["AI_InvalidArgumentError", "model.invalid_request"],
  ["AI_JSONParseError", "model.broken_stream"],
  ["AI_TypeValidationError", "model.broken_stream"],
  ["AI_InvalidResponseDataError", "model.broken_stream"],
  ["AI_EmptyResponseBodyError", "model.broken_stream"],
  ["AI_NoContentGeneratedError", "model.broken_stream"],
]);

/** Error types that providers send inside a stream whose HTTP status was 200. */
const CODES_BY_TYPE = new Map<string, ErrorCode>([
  ["authentication_error", "model.unauthorized"],
  ["permission_error", "model.unauthorized"],
  ["not_found_error", "model.unknown"],
  ["rate_limit_error", "model.rate_limited"],
  ["rate_limit_exceeded", "model.rate_limited"],
  ["insufficient_quota", "model.rate_limited"],
  ["invalid_request_error", "model.invalid_request"],
  ["request_too_large", "model.invalid_request"],
  ["overloaded_error", "model.unavailable"],
  ["api_error", "model.unavailable"],
  ["server_error", "model.unavailable"],
  ["timeout_error", "model.unavailable"],
]);

export function toModelError(modelId: string, thrown: unknown, phase: FailurePhase): TenonError {
  if (thrown instanceof TenonError) return thrown;
  const status = numberField(thrown, "statusCode");
  const code = codeOf(thrown, status, phase);
  const said = clip(textOf(thrown));
  const text = `${modelId} ${SENTENCES[code] ?? "failed"}${status === undefined ? "" : ` (${status})`}: ${said}`;
  const hint = hintOf(thrown, code);
  return new TenonError(code, text, hint === undefined ? { cause: thrown } : { cause: thrown, hint });
}

const SENTENCES: Partial<Record<ErrorCode, string>> = {
  "model.unauthorized": "refused the key",
  "model.rate_limited": "limits requests",
  "model.unavailable": "could not be reached or is overloaded",
  "model.invalid_request": "refused the request",
  "model.unknown": "is not known to the provider",
  "model.broken_stream": "sent an answer that broke off or was malformed",
};

function codeOf(thrown: unknown, status: number | undefined, phase: FailurePhase): ErrorCode {
  if (status !== undefined && status >= 400) return codeOfStatus(status, thrown);
  const name = stringField(thrown, "name");
  const byName = name === undefined ? undefined : CODES_BY_NAME.get(name);
  if (byName !== undefined) return byName;
  // A status below 400 comes with an answer that could not be processed; none at all with a failed connection.
  if (name === "AI_APICallError") return status === undefined ? "model.unavailable" : "model.broken_stream";
  for (const key of ["code", "type"]) {
    const said = stringField(thrown, key);
    const byType = said === undefined ? undefined : CODES_BY_TYPE.get(said);
    if (byType !== undefined) return byType;
  }
  return phase === "asking" ? "model.unavailable" : "model.broken_stream";
}

function codeOfStatus(status: number, thrown: unknown): ErrorCode {
  if (status === 401 || status === 403) return "model.unauthorized";
  if (status === 404) return "model.unknown";
  if (status === 429) return "model.rate_limited";
  if (status === 408 || status >= 500) return "model.unavailable";
  // Gemini answers a wrong key with 400; the machine-readable reason is in the body only.
  if (stringField(thrown, "responseBody")?.includes('"API_KEY_INVALID"') === true) return "model.unauthorized";
  return "model.invalid_request";
}

function hintOf(thrown: unknown, code: ErrorCode): string | undefined {
  if (code === "model.rate_limited") {
    const headers = field(thrown, "responseHeaders");
    const seconds = Number(stringField(headers, "retry-after"));
    return seconds > 0 ? `Wait ${Math.ceil(seconds)} s, then send the prompt again.` : undefined;
  }
  if (code === "model.unknown") return "Check the model's name, and the base URL where one is set.";
  return undefined;
}

function textOf(thrown: unknown): string {
  if (thrown instanceof Error) {
    const cause = thrown.cause instanceof Error ? messageOf(thrown.cause) : "";
    return cause === "" || thrown.message.includes(cause) ? thrown.message : `${thrown.message} (${cause})`;
  }
  return stringField(thrown, "message") ?? (isJsonObject(thrown) ? jsonOf(thrown) : String(thrown));
}

function jsonOf(value: object): string {
  try {
    return JSON.stringify(value);
  } catch {
    // Cyclic values come from bugs in a provider only, and the message must not fail for them.
    return "an error without a message";
  }
}

function clip(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  if (line === "") return "no message was given";
  return line.length > MESSAGE_MAX_CHARS ? `${line.slice(0, MESSAGE_MAX_CHARS)}…` : line;
}

function field(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

function stringField(value: unknown, key: string): string | undefined {
  const found = field(value, key);
  return typeof found === "string" ? found : undefined;
}

function numberField(value: unknown, key: string): number | undefined {
  const found = field(value, key);
  return typeof found === "number" ? found : undefined;
}
