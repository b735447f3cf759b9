// The headers of our requests: the protocol's own by era, and the user's beside them, never instead of them.
import { TenonError } from "../../../base/errors.js";
import { isLoopbackHost } from "../../../base/io/net-policy.js";
import { isJsonObject } from "../../../base/json/json.js";
import { SERVING_HEADER } from "../../../base/serving.js";
import { isUrl } from "../../../base/text/url.js";
import { VERSION } from "../../../base/version.js";
import type { RemoteSpec } from "../../spec.js";
import { META } from "../../versions.js";
import type { Agreement, OutgoingMessage, SendHint } from "../transport.js";
import { encodeHeaderValue } from "./param-headers.js";

/** Ours alone, or the connection's: a user's header of that name is left out. */
const RESERVED: ReadonlySet<string> = new Set([
  ...["accept", "accept-encoding", "content-type", "content-length", "content-encoding", "transfer-encoding", "te"],
  ...["host", "connection", "keep-alive", "upgrade", "trailer", "expect", "proxy-connection", "last-event-id"],
  ...["mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name"],
]);

/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/u;
/** Characters that no HTTP implementation takes in a value: control characters, and all outside of Latin-1. */
const NOT_SENDABLE = /[^\t\x20-\x7e\x80-\xff]/u;

export interface UserHeaders {
  readonly headers: Readonly<Record<string, string>>;
  /** Names that were left out because they are not the user's to set. */
  readonly ignored: readonly string[];
  readonly hasAuthorization: boolean;
  /** They say something that is meant for this server alone. */
  readonly isConfidential: boolean;
}

/**
 * Throws `mcp.invalid_spec` for what cannot be sent; a message names the header, never its value. `serving`: of the `tenon mcp
 * serve` whose server it is, if any; only servers of this machine are told.
 */
export function userHeaders(spec: RemoteSpec, serving?: string): UserHeaders {
  const headers: Record<string, string> = { "user-agent": `tenon/${VERSION}` };
  const own: Record<string, string> = {};
  const isHere = isUrl(spec.url) && isLoopbackHost(new URL(spec.url).hostname);
  if (serving !== undefined && isHere) own[SERVING_HEADER] = serving;
  const ignored: string[] = [];
  const given = Object.entries(spec.headers);
  if (spec.auth) given.push(["authorization", `Bearer ${spec.auth.token}`]);
  for (const [name, value] of given) {
    const key = name.toLowerCase();
    if (RESERVED.has(key) || key === SERVING_HEADER || key.startsWith("mcp-param-")) {
      ignored.push(name);
      continue;
    }
    if (!TOKEN.test(key) || NOT_SENDABLE.test(value)) {
      throw new TenonError("mcp.invalid_spec", `the header "${name}" cannot be sent: check its characters`);
    }
    headers[key] = value;
  }
  const isConfidential = Object.keys(headers).some((name) => name !== "user-agent");
  return {
    headers: { ...headers, ...own },
    ignored,
    hasAuthorization: Object.hasOwn(headers, "authorization"),
    isConfidential,
  };
}

/** The headers of one conversation, as names and values in turn: those that do not change are built once. */
export class HeaderWriter {
  agreement: Agreement | undefined;
  sessionId: string | undefined;
  readonly #always: readonly string[];
  readonly #posting: readonly string[];
  #session: readonly string[] = [];

  constructor(user: UserHeaders) {
    this.#always = Object.entries(user.headers).flat();
    this.#posting = [
      ...this.#always,
      ...["content-type", "application/json", "accept", "application/json, text/event-stream"],
    ];
  }

  /** From now on requests carry the agreed version and the session id. */
  converse(agreement: Agreement | undefined, sessionId: string | undefined): void {
    this.agreement = agreement;
    this.sessionId = sessionId;
    this.#session = [
      ...(agreement ? ["mcp-protocol-version", agreement.protocolVersion] : []),
      ...(sessionId === undefined ? [] : ["mcp-session-id", sessionId]),
    ];
  }

  /** For a message of that many bytes. */
  post(message: OutgoingMessage, bytes: number, hint?: SendHint): string[] {
    const isModern = this.agreement?.era === "modern";
    const length = ["content-length", String(bytes)];
    if (!("method" in message)) return [...this.#posting, ...(isModern ? [] : this.#session), ...length];
    const version = envelopeVersion(message) ?? (isModern ? this.agreement?.protocolVersion : undefined);
    if (version !== undefined) {
      const named = ["mcp-protocol-version", version, "mcp-method", message.method];
      return [...this.#posting, ...named, ...nameHeaders(message, hint), ...length];
    }
    const session = message.method === "initialize" ? [] : this.#session;
    return [...this.#posting, ...session, ...length];
  }

  /** For GET and DELETE, which only the legacy era has. */
  plain(accept?: string): string[] {
    return [...this.#always, ...(accept === undefined ? [] : ["accept", accept]), ...this.#session];
  }
}

function nameHeaders(message: OutgoingMessage, hint: SendHint | undefined): string[] {
  const headers: string[] = [];
  const name = hint?.name ?? nameIn(message);
  if (name !== undefined) headers.push("mcp-name", encodeHeaderValue(name));
  for (const [header, value] of Object.entries(hint?.headers ?? {})) {
    const key = header.toLowerCase();
    if (key.startsWith("mcp-param-")) headers.push(key, value);
  }
  return headers;
}

/** A request of the modern era says its version itself, also before anything has been agreed. */
function envelopeVersion(message: OutgoingMessage): string | undefined {
  const meta = "params" in message ? message.params?.["_meta"] : undefined;
  const version = isJsonObject(meta) ? meta[META.protocolVersion] : undefined;
  return typeof version === "string" ? version : undefined;
}

function nameIn(message: OutgoingMessage): string | undefined {
  if (!("method" in message)) return undefined;
  const { method, params } = message;
  const key = method.startsWith("tasks/") ? "taskId" : NAMED_BY[method];
  const name = key === undefined ? undefined : params?.[key];
  return typeof name === "string" ? name : undefined;
}

const NAMED_BY: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};

/** Visible ASCII, as the protocol wants it: anything else is not sent back. */
export function isSessionId(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]{1,1024}$/u.test(value);
}
