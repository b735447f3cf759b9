// Decides about a request by its head alone: Host, Origin and token. What is refused here has had nothing read of its body.
import type { IncomingMessage } from "node:http";
import { isLoopbackHost } from "../../base/io/net-policy.js";
import type { World } from "../../base/ports/world.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { AuditLog } from "./audit.js";
import { LOCAL_PRINCIPAL, type Principal } from "./principal.js";
import type { LiveTokens } from "./tokens.js";

/** Where a request came in. */
export type Entrance =
  | { readonly kind: "socket" }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly isTls: boolean };

/** Why a request was refused; the client is told the status only. */
export type RefusalReason =
  | "host"
  | "origin"
  | "no_origin"
  | "cross_site"
  | "no_token"
  | "token_in_query"
  | "unknown_token"
  | "expired_token"
  | "revoked_token"
  | "unknown_code"
  | "used_code"
  | "expired_code"
  | "void_code"
  | "too_many_failures"
  | "foreign_connection_id"
  | "too_many_connections"
  | "body_too_large"
  | "unknown_path"
  | "closing"
  | "head_too_large"
  | "too_slow"
  | "malformed"
  | "too_many";

export interface Refusal {
  readonly status: number;
  readonly reason: RefusalReason;
  readonly retryAfterSeconds?: number;
}

export interface GuardOptions {
  readonly world: Pick<World, "now" | "monotonicMs" | "log">;
  readonly tokens: LiveTokens;
  readonly audit: Pick<AuditLog, "write">;
  /** Names by which the gateway is reached besides its addresses: `box.example` or `box.example:443`. */
  readonly hosts: readonly string[];
  readonly onRefused: (reason: RefusalReason) => void;
}

const MINUTE_MS = 60_000;

interface Failures {
  readonly sinceMs: number;
  count: number;
  /** Of them, for a pairing code. */
  codes: number;
}

export class Guard {
  readonly #options: GuardOptions;
  readonly #hosts: ReadonlySet<string>;
  /** Refusals by address in the minute since `sinceMs`. */
  readonly #failures = new Map<string, Failures>();

  constructor(options: GuardOptions) {
    this.#options = options;
    this.#hosts = new Set(options.hosts.map((host) => host.toLowerCase()));
  }

  /**
   * The principal of a request, or why it is refused. Written to the audit file when it is. `cookie`: of the page, where one is
   * taken at all; a browser sends it by itself, so the request must be shown to come from the page.
   */
  admit(request: IncomingMessage, entrance: Entrance, cookie?: string): Principal | Refusal {
    const remote = addressOf(request);
    const reason = this.#placeProblem(request, entrance);
    if (reason !== undefined) return this.refuse(reason, remote);
    if (entrance.kind === "socket") return LOCAL_PRINCIPAL;
    const token = bearerToken(request);
    if (token === undefined && cookie !== undefined) {
      const refusal = this.checkPage(request, entrance);
      if (refusal) return refusal;
      const verdict = this.#options.tokens.verifyCookie(cookie);
      return typeof verdict === "string" ? this.refuse(`${verdict}_token`, remote) : verdict;
    }
    if (token === undefined) {
      return this.refuse(request.url?.includes("tng_") === true ? "token_in_query" : "no_token", remote);
    }
    const verdict = this.#options.tokens.verify(token);
    return typeof verdict === "string" ? this.refuse(`${verdict}_token`, remote) : verdict;
  }

  /** Where other nodes make tokens, one that is not known here is looked for first. Undefined: there is nothing to wait for. */
  lookFor(request: IncomingMessage, entrance: Entrance, cookie?: string): Promise<void> | undefined {
    const secret = entrance.kind === "socket" ? undefined : (bearerToken(request) ?? cookie);
    return secret === undefined ? undefined : this.#options.tokens.lookFor(secret);
  }

  /** For paths that need no token: health, and figures at the loopback address. */
  checkPlace(request: IncomingMessage, entrance: Entrance): Refusal | undefined {
    const reason = this.#placeProblem(request, entrance);
    return reason === undefined ? undefined : this.refuse(reason, addressOf(request));
  }

  /** For requests that only the page may make: they name our own Origin. To read, none is needed, and a foreign site is refused. */
  checkPage(request: IncomingMessage, entrance: Entrance): Refusal | undefined {
    const { headers, method } = request;
    const refusal = this.checkPlace(request, entrance);
    if (refusal) return refusal;
    const isRead = method === "GET" && headers.upgrade === undefined;
    if (headers.origin === undefined && !isRead) return this.refuse("no_origin", addressOf(request));
    // A name of `hosts` is ours at any port, and so is any address where all are listened at: other servers may have those.
    if (headers.origin !== undefined && !isOfHost(headers.origin, headers.host, entrance)) {
      return this.refuse("origin", addressOf(request));
    }
    const site = headers["sec-fetch-site"];
    const isOwn = site === undefined || site === "same-origin" || (isRead && site === "none");
    return isOwn ? undefined : this.refuse("cross_site", addressOf(request));
  }

  /**
   * Counts a refusal and writes it down. The eleventh of an address in a minute is 429, and the last that is written: a good token
   * still gets in from there, since nobody guesses 256 bits and others may share the address.
   */
  refuse(reason: RefusalReason, remote: string): Refusal {
    const { world, audit, onRefused } = this.#options;
    onRefused(reason);
    const nowMs = world.monotonicMs();
    const failures = this.#failuresOf(remote, nowMs);
    failures.count += 1;
    if (reason.endsWith("_code")) failures.codes += 1;
    const over = failures.count - GATEWAY_LIMITS.failedLogins.perMinute;
    if (over <= 0) audit.write("refused", { reason, remote });
    else if (over === 1) audit.write("refused", { reason: "too_many_failures", remote });
    if (over > 0 && STATUS[reason] < 429) {
      const retryAfterSeconds = Math.max(1, Math.ceil((failures.sinceMs + MINUTE_MS - nowMs) / 1_000));
      return { status: 429, reason: "too_many_failures", retryAfterSeconds };
    }
    return { status: STATUS[reason], reason };
  }

  /**
   * A wrong code counts for the codes of others too: an address that gave too many tries no more of them. What a foreign site let
   * the browser of a person send does not count here: it came to no code.
   */
  checkCodes(remote: string): Refusal | undefined {
    const { codes } = this.#failuresOf(remote, this.#options.world.monotonicMs());
    return codes < GATEWAY_LIMITS.failedLogins.perMinute ? undefined : this.refuse("unknown_code", remote);
  }

  #failuresOf(remote: string, nowMs: number): Failures {
    const known = this.#failures.get(remote);
    if (known && nowMs - known.sinceMs < MINUTE_MS) return known;
    this.#failures.delete(remote);
    if (this.#failures.size >= GATEWAY_LIMITS.failedLogins.addresses) {
      const [oldest] = this.#failures.keys();
      if (oldest !== undefined) this.#failures.delete(oldest);
    }
    const fresh = { sinceMs: nowMs, count: 0, codes: 0 };
    this.#failures.set(remote, fresh);
    return fresh;
  }

  /** A page of another site can send requests here, by its own name made to lead here too: both show in these headers. */
  #placeProblem({ headers }: IncomingMessage, entrance: Entrance): "host" | "origin" | undefined {
    if (entrance.kind === "socket") return headers.origin === undefined ? undefined : "origin";
    if (!this.#isOurs(headers.host ?? "", entrance)) return "host";
    if (headers.origin === undefined) return undefined;
    const prefix = entrance.isTls ? "https://" : "http://";
    const isOurs = headers.origin.startsWith(prefix) && this.#isOurs(headers.origin.slice(prefix.length), entrance);
    return isOurs ? undefined : "origin";
  }

  #isOurs(given: string, { host, port, isTls }: Entrance & { readonly kind: "tcp" }): boolean {
    const [, name = "", givenPort] = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/u.exec(given.toLowerCase()) ?? [];
    if (name === "") return false;
    if (this.#hosts.has(name) || this.#hosts.has(given.toLowerCase())) return true;
    if (Number(givenPort ?? (isTls ? 443 : 80)) !== port) return false;
    const bare = name.replace(/^\[|\]$/gu, "");
    if (bare === host.toLowerCase()) return true;
    // Names can be made to lead here, addresses cannot.
    const isAnyAddress = host === "0.0.0.0" || host === "::";
    if (name.startsWith("[") || /^[\d.]+$/u.test(bare))
      return isAnyAddress || (isLoopbackHost(host) && isLoopbackHost(bare));
    return bare === "localhost" && (isAnyAddress || isLoopbackHost(host));
  }
}

const STATUS: Readonly<Record<RefusalReason, number>> = {
  host: 403,
  origin: 403,
  no_origin: 403,
  cross_site: 403,
  no_token: 401,
  token_in_query: 401,
  unknown_token: 401,
  expired_token: 401,
  revoked_token: 401,
  unknown_code: 401,
  used_code: 401,
  expired_code: 401,
  void_code: 401,
  foreign_connection_id: 404,
  too_many_failures: 429,
  too_many_connections: 429,
  body_too_large: 413,
  unknown_path: 404,
  closing: 503,
  head_too_large: 431,
  too_slow: 408,
  malformed: 400,
  too_many: 503,
};

export function addressOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? "";
}

function isOfHost(origin: string, host = "", entrance: Entrance): boolean {
  const [scheme, usual] = entrance.kind === "tcp" && entrance.isTls ? ["https", ":443"] : ["http", ":80"];
  const normal = (address: string) => {
    const lower = address.toLowerCase();
    return lower.endsWith(usual) ? lower.slice(0, -usual.length) : lower;
  };
  return normal(origin) === `${scheme}://${normal(host)}`;
}

/** Several `Authorization` headers are joined by Node's parser, or the first is kept: neither is a token then. */
function bearerToken({ headers }: IncomingMessage): string | undefined {
  const [, token] = /^Bearer +([A-Za-z0-9._~+/=-]{1,512})$/iu.exec(headers.authorization ?? "") ?? [];
  return token;
}

export function isRefusal(verdict: Principal | Refusal): verdict is Refusal {
  return "reason" in verdict;
}
