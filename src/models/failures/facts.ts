// What a failure says about itself, read out of whatever an AI SDK provider throws or streams. Decides nothing.
import { messageOf } from "../../base/errors.js";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json/json.js";
import { MODEL_LIMITS } from "../limits.js";

export interface FailureFacts {
  /** The class of the error, by the name the AI SDK gives it: it asks not to rely on `instanceof` across its packages. */
  readonly name: string | undefined;
  readonly status: number | undefined;
  /** Codes, types and reasons the provider gave, the most telling first. */
  readonly words: readonly string[];
  /** Which part of the request it is about. */
  readonly param: string | undefined;
  readonly message: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** A code of the operating system, of TLS or of the HTTP client. */
  readonly network: string | undefined;
  /** Google's `details`. */
  readonly details: readonly JsonObject[];
}

/** Causes inside causes; more is a circle. */
const MAX_DEPTH = 8;

export function readFailure(thrown: unknown): FailureFacts {
  const body = bodyOf(thrown);
  const error = errorIn(body);
  const inner = upstream(error);
  const sources = [inner, error, isObject(thrown) ? thrown : undefined];
  const details = detailsOf(error);
  const words = [
    ...sources.flatMap((source) => wordsOf(source)),
    ...details.flatMap((detail) => stringAt(detail, "reason") ?? []),
  ];
  const status = field(thrown, "statusCode");
  const said = error === thrown ? undefined : messageIn(error);
  const message = messageIn(inner) ?? said ?? stringAt(body, "detail") ?? textOf(thrown);
  return {
    name: stringAt(thrown, "name"),
    status: typeof status === "number" ? status : statusIn(error),
    words: [...new Set(words)],
    param: sources.flatMap((source) => stringAt(source, "param") ?? [])[0],
    message,
    headers: headersOf(thrown),
    network: networkCode(thrown),
    details,
  };
}

/** The body of the answer where it is known; else what was thrown is the provider's own object. */
function bodyOf(thrown: unknown): unknown {
  const text = stringAt(thrown, "responseBody");
  if (text === undefined || text.length > MODEL_LIMITS.model.errorMaxBodyChars) return field(thrown, "data") ?? thrown;
  const parsed = parseJson(text);
  if (!parsed.ok) return undefined;
  // Gemini answers with a list of one where a stream was asked for.
  return Array.isArray(parsed.value) ? parsed.value[0] : parsed.value;
}

/** `{error: {…}}`, `{response: {error: {…}}}` of a stream that failed, or the object itself. */
function errorIn(body: unknown): unknown {
  const inner = field(body, "error") ?? field(field(body, "response"), "error");
  return inner ?? body;
}

/** OpenRouter and gateways pack the provider's error into a text. */
function upstream(error: unknown): unknown {
  const raw = stringAt(field(error, "metadata"), "raw") ?? nestedJson(error);
  const parsed = raw === undefined ? undefined : parseJson(raw);
  return parsed?.ok === true ? errorIn(parsed.value) : undefined;
}

function nestedJson(error: unknown): string | undefined {
  const text = messageIn(error)?.trim();
  return text?.startsWith("{") === true ? text : undefined;
}

function wordsOf(source: unknown): string[] {
  return ["code", "type", "status"].flatMap((key) => stringAt(source, key) || []);
}

function messageIn(error: unknown): string | undefined {
  const said = typeof error === "string" ? error : stringAt(error, "message");
  return said === undefined || said.trim() === "" ? undefined : said;
}

function statusIn(error: unknown): number | undefined {
  const code = field(error, "code");
  const status = typeof code === "string" ? Number(code) : code;
  return typeof status === "number" && status >= 400 && status < 600 ? status : undefined;
}

function detailsOf(error: unknown): readonly JsonObject[] {
  const details = field(error, "details");
  const list: readonly unknown[] = Array.isArray(details) ? details : [];
  return list.filter(isJsonObject);
}

function headersOf(thrown: unknown): Readonly<Record<string, string>> {
  const headers = field(thrown, "responseHeaders");
  const texts = Object.entries(isObject(headers) ? headers : {}).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(texts.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

const NETWORK_CODE =
  /^(?:E[A-Z_]{3,}|UND_ERR_\w+|ERR_(?:TLS|SSL|HTTP2|SOCKET)\w*|CERT_\w+|\w*CERT\w*|UNABLE_TO_\w+|HPE_\w+)$/;

function networkCode(thrown: unknown): string | undefined {
  let current = thrown;
  for (let depth = 0; depth < MAX_DEPTH && isObject(current); depth++) {
    const code = stringAt(current, "code");
    if (current instanceof Error && code !== undefined && NETWORK_CODE.test(code)) return code;
    const several = field(current, "errors");
    current = field(current, "cause") ?? (Array.isArray(several) ? several[0] : undefined);
  }
  return undefined;
}

function textOf(thrown: unknown): string {
  if (thrown instanceof Error) {
    const cause = thrown.cause instanceof Error ? messageOf(thrown.cause) : "";
    return cause === "" || thrown.message.includes(cause) ? thrown.message : `${thrown.message} (${cause})`;
  }
  return stringAt(thrown, "message") ?? (isObject(thrown) ? jsonOf(thrown) : String(thrown));
}

function jsonOf(value: object): string {
  try {
    return JSON.stringify(value);
  } catch {
    // Cyclic values come from bugs in a provider only, and the message must not fail for them.
    return "an error without a message";
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function field(value: unknown, key: string): unknown {
  return isObject(value) ? Reflect.get(value, key) : undefined;
}

function stringAt(value: unknown, key: string): string | undefined {
  const found = field(value, key);
  return typeof found === "string" ? found : undefined;
}
