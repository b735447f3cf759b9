// What an HTTP answer that is no message means for the request it answers, in words for people.
import type { IncomingMessage } from "node:http";
import { TenonError } from "../../../base/errors.js";
import type { KnownSecrets } from "../../../base/text/secrets.js";
import type { RequestLoss } from "../transport.js";
import { mediaType } from "./body.js";

/** Those that servers and what stands before them really answer with. */
const NAMES: Readonly<Record<number, string>> = {
  200: "OK",
  202: "Accepted",
  204: "No Content",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  406: "Not Acceptable",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  413: "Payload Too Large",
  415: "Unsupported Media Type",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

const EXCERPT_LENGTH = 200;

export interface Refusal {
  readonly response: IncomingMessage;
  /** The body, or as much of it as is worth reading. */
  readonly text: string;
  /** What the body says when it is a JSON-RPC error. */
  readonly said?: string;
  readonly nowMs: number;
  readonly hadCredentials: boolean;
  /** Some servers say them back: they are taken out before the words are cut. */
  readonly secrets: KnownSecrets;
}

/** For every status but success. */
export function lossOf(refusal: Refusal): RequestLoss {
  const { response, nowMs } = refusal;
  const status = response.statusCode ?? 0;
  if (status === 401 || status === 403) return { error: unauthorized(refusal), wasSent: false, httpStatus: status };
  const retryAfterMs = retryAfter(response, nowMs);
  if (status === 429 || status === 503 || (status >= 500 && retryAfterMs !== undefined)) {
    const wait = retryAfterMs === undefined ? "" : `; it asks to wait ${Math.ceil(retryAfterMs / 1000)} s`;
    const text = `the server is not available: ${statusLine(status)}${wait}${words(refusal)}`;
    const error = new TenonError("mcp.unavailable", text, retryAfterMs === undefined ? {} : { retryAfterMs });
    // 429 says nothing about what the server can do, so it must not pass for an answer to the question what it can do.
    return status === 429 ? { error, wasSent: false } : { error, wasSent: true, httpStatus: status };
  }
  const code = status >= 500 ? "mcp.unavailable" : "mcp.protocol";
  const text = `the server answered ${statusLine(status)}${words(refusal)}`;
  // With a 4xx the server says that the request was not for it; after a 5xx anything may have happened.
  return { error: new TenonError(code, text), wasSent: status >= 500, httpStatus: status };
}

/** For success that brings no message. */
export function emptyLoss(response: IncomingMessage, what: string): RequestLoss {
  const status = response.statusCode ?? 0;
  const error = new TenonError("mcp.protocol", `the server took the request (${statusLine(status)}) but ${what}`);
  return { error, wasSent: true, httpStatus: status };
}

export function statusLine(status: number): string {
  const name = NAMES[status];
  return name === undefined ? `status ${status}` : `${status} ${name}`;
}

function unauthorized(refusal: Refusal): TenonError {
  const { response, hadCredentials } = refusal;
  const challenge = response.headers["www-authenticate"] ?? "";
  const scheme = /^\s*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)/u.exec(challenge)?.[1];
  const details = [
    scheme === undefined ? undefined : `scheme ${scheme}`,
    named(challenge, "error", "error"),
    named(challenge, "scope", "scope needed"),
    named(challenge, "resource_metadata", "how to log in is described at"),
  ].filter((detail) => detail !== undefined);
  const isForbidden = response.statusCode === 403;
  const what = isForbidden
    ? "the server refused access"
    : hadCredentials
      ? "the server refused the credentials it was given"
      : "the server wants credentials and was given none";
  const told = details.length === 0 ? "" : ` (${details.join("; ")})`;
  return new TenonError("mcp.unauthorized", `${what}: ${statusLine(response.statusCode ?? 0)}${told}${words(refusal)}`);
}

/** One parameter of the challenge, as text: nothing it names is ever fetched. */
function named(challenge: string, parameter: string, label: string): string | undefined {
  const found = new RegExp(`(?:^|[\\s,])${parameter}\\s*=\\s*(?:"([^"]{0,500})"|([^\\s,"]{1,500}))`, "iu").exec(
    challenge,
  );
  const value = found?.[1] ?? found?.[2];
  return value === undefined || value === "" ? undefined : `${label} ${visible(value)}`;
}

function words({ response, text: whole, said, secrets }: Refusal): string {
  const text = secrets.clean(whole);
  if (said !== undefined) return `: ${visible(secrets.clean(said))}`;
  if (mediaType(response) === "text/html" || /^\s*</u.test(text)) return " (a web page)";
  const excerpt = visible(text);
  return excerpt === "" ? "" : `: ${excerpt}`;
}

/** A server's words must not steer a terminal, nor fill a screen. */
function visible(text: string): string {
  const plain = text
    .slice(0, EXCERPT_LENGTH * 4)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  return plain.length <= EXCERPT_LENGTH ? plain : `${plain.slice(0, EXCERPT_LENGTH)}…`;
}

/** Seconds or a date; undefined when the server said nothing we could use. */
function retryAfter(response: IncomingMessage, nowMs: number): number | undefined {
  const value = response.headers["retry-after"]?.trim();
  if (value === undefined || value === "") return undefined;
  if (/^\d{1,9}$/u.test(value)) return Number(value) * 1_000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
