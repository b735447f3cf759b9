// One HTTP request and its response: redirects followed within the rules, failures reported as losses of the request.
import type { ClientRequest, IncomingMessage } from "node:http";
import { handled } from "../../../base/async/scope.js";
import { messageOf, TenonError, toTenonError } from "../../../base/errors.js";
import { LIMITS, OAUTH_LIMITS } from "../../../base/limits.js";
import { type HttpPool, sharedLog } from "../../../base/ports/world.js";
import type { RequestLoss } from "../transport.js";
import type { Dialler, Place } from "./dial.js";
import { drain } from "./incoming.js";
import { type RequestAccess, readChallenge } from "./request-access.js";

export interface HttpRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly place: Place;
  /** Names and values in turn, `host` not among them. */
  readonly headers: readonly string[];
  readonly body: string | undefined;
  /** Something in the headers is meant for this server alone: then no other origin may see the request. */
  readonly isConfidential: boolean;
}

export interface HttpHandler {
  /** The head of the answer, and whose it is after redirects; its body is the handler's to read. */
  onHead(response: IncomingMessage, place: Place): void;
  onFailed(loss: RequestLoss): void;
}

/**
 * Exactly one of the handler's methods is called, once, unless it is aborted first. With an `access` the request carries the
 * token of a log-in: it waits for the token, and is sent again after a refusal that a new token can resolve. A final refusal
 * is a failure of its own, since the server did nothing.
 */
export class Exchange {
  readonly #dialler: Dialler;
  readonly #given: HttpRequest;
  readonly #handler: HttpHandler;
  readonly #access: RequestAccess | undefined;
  /** As it is sent, with its token. */
  #request: HttpRequest;
  #token: string | undefined;
  #rounds = 0;
  #current: ClientRequest | undefined;
  #pool: HttpPool | undefined;
  #dialled: Place | undefined;
  #isAnswered = false;
  #hops = 0;
  #isOver = false;

  constructor(dialler: Dialler, request: HttpRequest, handler: HttpHandler, access?: RequestAccess) {
    this.#dialler = dialler;
    this.#given = request;
    this.#request = request;
    this.#handler = handler;
    this.#access = access;
    if (access) this.#authorize(access);
    else this.#go(request.place);
  }

  /** Ends it and the rest of its response; the handler is not called any more. */
  abort(): void {
    if (!this.#wasSent()) this.#suspect(); // given up while it still tried to connect
    this.#isOver = true;
    this.#current?.destroy();
  }

  /** The loss to report when the request is given up at this moment. */
  lossNow(why: string): RequestLoss {
    return { error: new TenonError("mcp.unavailable", why), wasSent: this.#wasSent() };
  }

  #authorize(access: RequestAccess): void {
    const token = access.token();
    if (!(token instanceof Promise)) return this.#sendWith(access, token);
    const sent = token
      .then((known) => this.#sendWith(access, known))
      .catch((thrown: unknown) => this.#fail({ error: toTenonError(thrown, "mcp.unavailable"), wasSent: false }));
    handled(sent, sharedLog(), "send an authorized request");
  }

  #sendWith(access: RequestAccess, token: string | undefined): void {
    if (this.#isOver) return;
    const { headers, method, place } = this.#given;
    this.#token = token;
    this.#hops = 0;
    if (token === undefined) this.#request = this.#given;
    else {
      const more = access.headers(token, { method, url: place.url.href });
      this.#request = { ...this.#given, headers: [...headers, ...more], isConfidential: true };
    }
    this.#go(place);
  }

  #go(place: Place): void {
    const pool = this.#dialler.known(place);
    if (pool) return this.#dispatch(place, pool);
    const dispatched = this.#dialler
      .resolve(place)
      .then((resolved) => this.#dispatch(place, resolved))
      .catch((thrown: unknown) => this.#fail({ error: toTenonError(thrown, "mcp.unavailable"), wasSent: false }));
    handled(dispatched, sharedLog(), "send a request");
  }

  #dispatch(place: Place, pool: HttpPool): void {
    if (this.#isOver) return;
    const { hostname, port, path, host, servername } = place.target;
    const { method, headers, body } = this.#request;
    let outgoing: ClientRequest;
    try {
      outgoing = pool.request({ method, hostname, port, path, servername, headers: ["Host", host, ...headers] });
    } catch (thrown) {
      // A header that cannot be sent. Node's message names it and not its value.
      const error = new TenonError("mcp.protocol", `the request cannot be sent: ${messageOf(thrown)}`);
      return queueMicrotask(() => this.#fail({ error, wasSent: false })); // the caller does not have this exchange in hand yet
    }
    this.#current = outgoing;
    this.#isAnswered = false;
    this.#pool = pool;
    this.#dialled = place;
    outgoing.on("error", (error) => {
      if (this.#current === outgoing) this.#broken(error);
    });
    outgoing.on("response", (response) => this.#answered(response, place));
    outgoing.on("upgrade", (response, socket) => {
      socket.destroy();
      const text = `the server wants to go on in another protocol (status ${response.statusCode ?? 101}), which nobody asked for`;
      this.#fail({ error: new TenonError("mcp.protocol", text), wasSent: true });
    });
    // Every other end of a request without a response.
    outgoing.on("close", () => {
      if (this.#current === outgoing && !this.#isAnswered) this.#broken(new Error("the connection was closed"));
    });
    outgoing.end(body);
  }

  /** Once the connection stood, what was written may have arrived. */
  #wasSent(): boolean {
    return this.#current !== undefined && this.#pool?.wasConnected(this.#current) === true;
  }

  #broken(cause: Error): void {
    const wasSent = this.#wasSent();
    if (!wasSent) this.#suspect();
    const what = wasSent ? "the connection broke before the answer" : "the server cannot be reached";
    const code = wasSent ? "mcp.connection_lost" : "mcp.unavailable";
    this.#fail({ error: new TenonError(code, `${what}: ${messageOf(cause)}`, { cause }), wasSent });
  }

  #suspect(): void {
    if (!this.#isOver && this.#dialled) this.#dialler.suspect(this.#dialled);
  }

  #answered(response: IncomingMessage, place: Place): void {
    this.#isAnswered = true;
    response.on("error", () => {}); // reported again to the reader of the body; unheard it would end the process
    const status = response.statusCode ?? 0;
    if (this.#isOver) response.destroy();
    else if (status < 300 || status > 308 || status === 304) this.#onHead(response, place);
    else {
      drain(response);
      try {
        this.#go(this.#nextPlace(response, place));
      } catch (thrown) {
        this.#fail({ error: toTenonError(thrown, "mcp.protocol"), wasSent: false });
      }
    }
  }

  #onHead(response: IncomingMessage, place: Place): void {
    const access = this.#access;
    const verdict = access && this.#refusal(access, response);
    if (!access || !verdict) {
      this.#isOver = true;
      return this.#handler.onHead(response, place);
    }
    const httpStatus = response.statusCode ?? 0;
    this.#rounds += 1;
    drain(response);
    this.#current = undefined;
    this.#dialled = undefined;
    const judged = verdict
      .then((next) => {
        if (next !== "again") this.#fail({ error: next, wasSent: false, httpStatus });
        else if (!this.#isOver) this.#authorize(access);
      })
      .catch((thrown: unknown) => this.#fail({ error: toTenonError(thrown), wasSent: false, httpStatus }));
    handled(judged, sharedLog(), "answer a refusal");
  }

  /** Undefined when the answer is not about the token, or enough was tried. */
  #refusal(access: RequestAccess, response: IncomingMessage): ReturnType<RequestAccess["refused"]> | undefined {
    const status = response.statusCode ?? 0;
    const token = this.#token;
    const isRefused = status === 401 || status === 403;
    const challenge = isRefused ? readChallenge(response.headers["www-authenticate"]) : undefined;
    const isAboutToken = status === 401 || challenge?.error === "insufficient_scope";
    const nonce = response.headers["dpop-nonce"];
    const isNewNonce = typeof nonce === "string" && access.takeNonce(nonce);
    const isWorthIt = isAboutToken && this.#given.method !== "DELETE"; // the end of a session is worth no log-in
    if (!isWorthIt || this.#rounds >= OAUTH_LIMITS.roundsPerCall) {
      if (status !== 401) access.worked(token);
      return undefined;
    }
    const isNonce = isNewNonce && challenge?.error === "use_dpop_nonce";
    return isNonce ? Promise.resolve("again" as const) : access.refused({ status, challenge, token });
  }

  #nextPlace(response: IncomingMessage, place: Place): Place {
    const { method, isConfidential } = this.#request;
    const status = response.statusCode ?? 0;
    const { location } = response.headers;
    this.#hops += 1;
    if (this.#hops > LIMITS.httpMaxRedirects) {
      throw new TenonError("mcp.protocol", `the server redirects more than ${LIMITS.httpMaxRedirects} times`);
    }
    const keepsMethod = status === 307 || status === 308;
    if (location === undefined || (method !== "GET" && !keepsMethod)) {
      const why = location === undefined ? "without saying where to" : `a ${method}, which would lose its body`;
      throw new TenonError("mcp.protocol", `the server redirects (${status}) ${why}`);
    }
    const next = this.#dialler.check(location, "redirect", place);
    if (place.url.protocol === "https:" && next.url.protocol === "http:") {
      throw new TenonError("mcp.url_refused", `the server redirects to http on "${next.url.host}"`);
    }
    if (isConfidential && !isSameServer(this.#request.place.url, next.url)) {
      const text = `the server redirects to "${next.url.host}", which must not see what is sent to this one`;
      throw new TenonError("mcp.url_refused", text, { hint: "If that is right, use its URL instead." });
    }
    return next;
  }

  #fail(loss: RequestLoss): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#current?.destroy();
    this.#handler.onFailed(loss);
  }
}

/** The same origin, or the same host with TLS where there was none. */
function isSameServer(from: URL, to: URL): boolean {
  if (from.origin === to.origin) return true;
  return from.hostname === to.hostname && from.port === "" && to.port === "" && to.protocol === "https:";
}
