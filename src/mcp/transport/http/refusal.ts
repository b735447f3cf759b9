// Reads a response that is no success: a JSON-RPC error for the request, the end of the session, or a loss with its reason.
import type { IncomingMessage as HttpResponse } from "node:http";
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { type JsonValue, parseObject } from "../../../base/json/json.js";
import type { KnownSecrets } from "../../../base/text/secrets.js";
import { MCP_LIMITS } from "../../limits.js";
import type { IncomingMessage, RequestLoss, RpcId } from "../transport.js";
import { mediaType, readBody, readErrorFor } from "./incoming.js";
import { readChallenge } from "./request-access.js";

export type Refused =
  | { readonly kind: "answer"; readonly message: IncomingMessage }
  | { readonly kind: "session_lost"; readonly error: TenonError }
  | { readonly kind: "loss"; readonly loss: RequestLoss };

export interface RefusalContext {
  /** The request that was refused; undefined for notifications, answers and streams. */
  readonly id?: RpcId;
  readonly hadSession: boolean;
  readonly hadCredentials: boolean;
  /** Some servers repeat them: they are removed before the text is cut. */
  readonly secrets: KnownSecrets;
  readonly nowMs: number;
}

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

export function readRefusal(response: HttpResponse, context: RefusalContext, done: (refused: Refused) => void): void {
  readBody(response, MCP_LIMITS.httpMaxErrorBytes, (body) => {
    const bytes = body.kind === "whole" ? body.bytes : Buffer.alloc(0);
    done(judge(response, bytes, context));
  });
}

function judge(response: HttpResponse, body: Buffer, context: RefusalContext): Refused {
  const { id } = context;
  const status = response.statusCode ?? 0;
  const text = body.toString("utf8");
  const message = readErrorFor(body, id ?? 0);
  const error = message?.kind === "error" ? message.error : undefined;
  const isOwn = message !== undefined && idOf(text) === id;
  if (context.hadSession && isSessionLoss(status, text, { code: error?.code, isOwn })) {
    const words = `the server no longer knows the session (${statusLine(status)})`;
    return { kind: "session_lost", error: new TenonError("mcp.session_lost", words) };
  }
  // Those say more as a status: who may call, when to come back, that no POST is accepted here.
  const isAboutHttp = [401, 403, 405, 429].includes(status) || response.headers["retry-after"] !== undefined;
  if (message && id !== undefined && !isAboutHttp) return { kind: "answer", message };
  return { kind: "loss", loss: lossOf(response, { text, ...defined({ said: error?.message }) }, context) };
}

/**
 * 404 by the protocol; SDK servers also answer 400 with words of their own. An unknown method is neither, and an error under
 * the request's own id is about the request (no such tool, a bad argument) unless its words are about the session.
 */
function isSessionLoss(
  status: number,
  text: string,
  { code, isOwn }: { readonly code: number | undefined; readonly isOwn: boolean },
): boolean {
  if (code === METHOD_NOT_FOUND || (isOwn && code === INVALID_PARAMS)) return false;
  const isAboutSession = /session|not initialized/iu.test(text);
  return status === 404 ? !isOwn || isAboutSession : status === 400 && isAboutSession;
}

function idOf(text: string): JsonValue | undefined {
  return parseObject(text)?.["id"];
}

/** Those that servers and proxies really answer with. */
const STATUS_NAMES: ReadonlyMap<string, string> = new Map(
  [
    "200 OK,202 Accepted,204 No Content,400 Bad Request,401 Unauthorized,403 Forbidden,404 Not Found",
    "405 Method Not Allowed,406 Not Acceptable,408 Request Timeout,409 Conflict,410 Gone,413 Payload Too Large",
    "415 Unsupported Media Type,429 Too Many Requests,431 Request Header Fields Too Large",
    "500 Internal Server Error,501 Not Implemented,502 Bad Gateway,503 Service Unavailable,504 Gateway Timeout",
  ].flatMap((line) => line.split(",").map((entry) => [entry.slice(0, 3), entry])),
);

function statusLine(status: number): string {
  return STATUS_NAMES.get(String(status)) ?? `status ${status}`;
}

/** The text of a body, and the message in it where it is a JSON-RPC error. */
interface RefusalBody {
  readonly text: string;
  readonly said?: string;
}

type LossContext = Pick<RefusalContext, "hadCredentials" | "secrets" | "nowMs">;

/** For every status but success. */
export function lossOf(response: HttpResponse, body: RefusalBody, context: LossContext): RequestLoss {
  const status = response.statusCode ?? 0;
  const words = wordsOf(response, body, context.secrets);
  if (status === 401 || status === 403) {
    const text = `${unauthorized(response, context)}${words}`;
    return { error: new TenonError("mcp.unauthorized", text), wasSent: false, httpStatus: status };
  }
  const retryAfterMs = retryAfter(response, context.nowMs);
  if (status === 429 || status === 503 || (status >= 500 && retryAfterMs !== undefined)) {
    const wait = retryAfterMs === undefined ? "" : `; it asks to wait ${Math.ceil(retryAfterMs / 1000)} s`;
    const text = `the server is not available: ${statusLine(status)}${wait}${words}`;
    const error = new TenonError("mcp.unavailable", text, defined({ retryAfterMs }));
    // 429 says nothing about what the server can do, so it must not pass for an answer to the question what it can do.
    return status === 429 ? { error, wasSent: false } : { error, wasSent: true, httpStatus: status };
  }
  const code = status >= 500 ? "mcp.unavailable" : "mcp.protocol";
  const text = `the server answered ${statusLine(status)}${words}`;
  // With a 4xx the server says that the request was not for it; after a 5xx anything may have happened.
  return { error: new TenonError(code, text), wasSent: status >= 500, httpStatus: status };
}

/** For success that brings no message. */
export function emptyLoss(response: HttpResponse, what: string): RequestLoss {
  const status = response.statusCode ?? 0;
  const error = new TenonError("mcp.protocol", `the server took the request (${statusLine(status)}) but ${what}`);
  return { error, wasSent: true, httpStatus: status };
}

/** Parameters of the challenge appear as text: nothing they name is ever fetched. */
function unauthorized(response: HttpResponse, { hadCredentials }: LossContext): string {
  const status = response.statusCode ?? 0;
  const challenge = response.headers["www-authenticate"] ?? "";
  const scheme = /^\s*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)/u.exec(challenge)?.[1];
  const { error, scope, resourceMetadata } = readChallenge(challenge) ?? {};
  const details = Object.entries({
    scheme,
    error,
    "scope needed": scope,
    "how to log in is described at": resourceMetadata,
  }).flatMap(([label, value]) => (value === undefined ? [] : [`${label} ${visibleText(value)}`]));
  const given = hadCredentials
    ? "the server refused the credentials it was given"
    : "the server wants credentials and was given none";
  const what = status === 403 ? "the server refused access" : given;
  return `${what}: ${statusLine(status)}${details.length === 0 ? "" : ` (${details.join("; ")})`}`;
}

function wordsOf(response: HttpResponse, { text, said }: RefusalBody, secrets: KnownSecrets): string {
  if (said !== undefined) return `: ${visibleText(secrets.clean(said))}`;
  const clean = secrets.clean(text);
  if (mediaType(response) === "text/html" || /^\s*</u.test(clean)) return " (a web page)";
  const excerpt = visibleText(clean);
  return excerpt === "" ? "" : `: ${excerpt}`;
}

const EXCERPT_LENGTH = 200;

/** Text of a server on one line, bounded, without control characters: it must not steer a terminal, nor fill a screen. */
export function visibleText(text: string, maxChars: number = EXCERPT_LENGTH): string {
  const plain = text
    .slice(0, maxChars * 4)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  return plain.length <= maxChars ? plain : `${plain.slice(0, maxChars)}…`;
}

/** Seconds or a date; undefined when the server sent nothing usable. */
function retryAfter(response: HttpResponse, nowMs: number): number | undefined {
  const value = response.headers["retry-after"]?.trim();
  if (value === undefined || value === "") return undefined;
  if (/^\d{1,9}$/u.test(value)) return Number(value) * 1_000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
