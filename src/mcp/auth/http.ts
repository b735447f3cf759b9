// HTTP requests of a log-in, also as `fetch` of oauth4webapi: only to allowed addresses, bounded in time and size.
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import * as protocol from "oauth4webapi";
import { messageOf, TenonError } from "../../base/errors.js";
import { isLoopbackHost } from "../../base/io/net-policy.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import { KnownSecrets } from "../../base/text/secrets.js";
import { isUrl } from "../../base/text/url.js";
import { VERSION } from "../../base/version.js";
import type { RemoteSpec } from "../spec.js";
import { Dialler, type Place } from "../transport/http/dial.js";
import { Exchange, type HttpRequest } from "../transport/http/exchange.js";
import { HeaderWriter, userHeaders } from "../transport/http/headers.js";
import { readBody } from "../transport/http/incoming.js";
import { type Challenge, readChallenge } from "../transport/http/request-access.js";
import { META, MODERN_VERSION } from "../versions.js";
import { visible } from "./messages.js";

/** Which addresses the requests of a log-in may reach. */
export interface AddressRules {
  readonly world: World;
  /** URLs that this server names may be on this machine only if it is itself. */
  readonly serverUrl: string;
  readonly allowHosts?: readonly string[];
  readonly urlSource?: "typed" | "project";
}

/** How a server answered a request without credentials. */
export interface ServerRefusal {
  readonly status: number;
  readonly challenge?: Challenge | undefined;
}

interface FetchOptions {
  readonly headers: Record<string, string>;
  // oxlint-disable-next-line typescript/no-deprecated -- deprecated only to stand out: our address rules decide about http
  readonly [protocol.allowInsecureRequests]: true;
  readonly [protocol.customFetch]: (
    url: string,
    request: { readonly headers: Readonly<Record<string, string>>; readonly body: URLSearchParams | string },
  ) => Promise<Response>;
}

/** One request of oauth4webapi and the check of its response. */
export interface OAuthRequest<T> {
  readonly endpoint: string;
  /** Names the request in messages. */
  readonly what: string;
  /** The success status that oauth4webapi expects; 200 unless given. */
  readonly okStatus?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Removed from the server's error texts, should it repeat them. */
  readonly secrets?: readonly (string | undefined)[];
  /** Completes answers of servers in use that oauth4webapi would reject: docs/decisions/0021-oauth4webapi.md. */
  readonly repair?: (json: JsonObject) => JsonObject;
  readonly send: (options: FetchOptions) => Promise<Response>;
  readonly read: (response: Response) => Promise<T>;
}

/** An error answer of an authorization server (RFC 6749, section 5.2), or its status if it gave no error code. */
export class OAuthRefusal {
  readonly error: string | undefined;
  readonly words: string;
  /** The nonce for the next DPoP proof. */
  readonly dpopNonce: string | undefined;

  constructor(error: string | undefined, words: string, dpopNonce: string | undefined) {
    this.error = error;
    this.words = words;
    this.dpopNonce = dpopNonce;
  }
}

/** The smallest request of the current protocol version. */
const PROBE = {
  jsonrpc: "2.0",
  id: 1,
  method: "server/discover",
  params: { _meta: { [META.protocolVersion]: MODERN_VERSION } },
} as const;

/** The requests of one log-in, renewal or log-out: all end with `signal`. */
export class OAuthHttp implements Disposable {
  readonly world: World;
  readonly signal: AbortSignal;
  readonly #dialler: Dialler;
  readonly #server: Place;
  readonly #isTyped: boolean;

  constructor({ world, serverUrl, allowHosts, urlSource = "typed" }: AddressRules, signal: AbortSignal) {
    this.world = world;
    this.signal = signal;
    this.#dialler = new Dialler(world, allowHosts);
    this.#server = this.#dialler.check(serverUrl, urlSource);
    this.#isTyped = urlSource === "typed";
  }

  /** Checks a URL from metadata; throws `mcp.url_refused`. Host names are checked again when they are resolved. */
  check(url: string, what: string): URL {
    return this.#addressOf(url, what).url;
  }

  /** Undefined for 4xx and for answers that are no JSON. Rejects with `mcp.unavailable` for a server in trouble. */
  async getJson(url: string, what: string): Promise<JsonValue | undefined> {
    const headers = ["user-agent", `tenon/${VERSION}`, "accept", "application/json"];
    const request = { method: "GET", place: this.#addressOf(url, what), headers, body: undefined } as const;
    const { status, json } = await this.#send({ ...request, isConfidential: false }, what);
    if (isUnavailable(status)) throw unavailable(what, status);
    return isSuccess(status) ? json : undefined;
  }

  /**
   * Rejects with `mcp.unavailable` if a later attempt may succeed, and `mcp.protocol` for an answer that makes no sense.
   * Redirects to other servers are not followed: the request is meant for this one.
   */
  async perform<T>(request: OAuthRequest<T>): Promise<T | OAuthRefusal> {
    const { endpoint, what, headers = {}, secrets = [] } = request;
    this.check(endpoint, what); // before oauth4webapi, whose errors do not tell a forbidden URL from others
    const response = await request.send({
      headers: { "user-agent": `tenon/${VERSION}`, ...headers },
      // oxlint-disable-next-line typescript/no-deprecated -- as above
      [protocol.allowInsecureRequests]: true,
      [protocol.customFetch]: async (url, { headers: sent, body }) => {
        const text = body.toString();
        const all = [...Object.entries(sent).flat(), "content-length", String(Buffer.byteLength(text))];
        const posted = { method: "POST", place: this.#addressOf(url, what), headers: all, body: text } as const;
        return responseOf(await this.#send({ ...posted, isConfidential: true }, what), request);
      },
    });
    const { status } = response;
    try {
      return await request.read(response);
    } catch (thrown) {
      if (thrown instanceof TenonError) throw thrown;
      const dpopNonce = response.headers.get("dpop-nonce") ?? undefined;
      if (thrown instanceof protocol.ResponseBodyError) {
        const { error, error_description: description } = thrown;
        const words = typeof description === "string" ? `${error}: ${description}` : error;
        const known = new KnownSecrets();
        known.learn(secrets.filter((secret) => secret !== undefined));
        return new OAuthRefusal(error, visible(known.takenFrom(words)), dpopNonce);
      }
      if (isUnavailable(status)) throw unavailable(what, status);
      if (status >= 400) return new OAuthRefusal(undefined, `status ${status}`, dpopNonce);
      // Without the cause: it holds the answer, and with it tokens.
      throw new TenonError("mcp.protocol", `${what}: ${messageOf(thrown)}`);
    }
  }

  /** Sends the server a request without credentials, to learn which log-in it wants. */
  async probe(spec: RemoteSpec): Promise<ServerRefusal> {
    const writer = new HeaderWriter(userHeaders(spec));
    const body = spec.kind === "sse" ? undefined : JSON.stringify(PROBE);
    const headers =
      body === undefined ? writer.plain("text/event-stream") : writer.post(PROBE, Buffer.byteLength(body));
    const method = body === undefined ? "GET" : "POST";
    const request = { method, place: this.#server, headers, body, isConfidential: true } as const;
    return await this.#exchange<ServerRefusal>(request, "the first request to the server", (response, settle) => {
      response.destroy();
      const challenge = readChallenge(response.headers["www-authenticate"]);
      settle({ status: response.statusCode ?? 0, challenge });
    });
  }

  [Symbol.dispose](): void {
    this.#dialler.close();
  }

  #addressOf(url: string, what: string): Place {
    try {
      if (!isUrl(url)) throw new TenonError("mcp.url_refused", "the URL cannot be used: it is not a valid URL");
      const isHere = this.#isTyped && isSameMachine(this.#server.url.hostname, new URL(url).hostname);
      return this.#dialler.check(url, isHere ? "typed" : "discovery", this.#server);
    } catch (thrown) {
      if (!(thrown instanceof TenonError)) throw thrown;
      const hint = "If the address is right, name its host in allowHosts of your own configuration.";
      throw new TenonError(thrown.code, `${what}: ${thrown.message}`, { cause: thrown, hint });
    }
  }

  async #send(request: HttpRequest, what: string): Promise<HttpReply> {
    return await this.#exchange<HttpReply>(request, what, (response, settle) =>
      readBody(response, OAUTH_LIMITS.maxBytes, (body) => {
        if (body.kind === "too_large")
          return settle(new TenonError("mcp.too_large", `over ${OAUTH_LIMITS.maxBytes} bytes`));
        if (body.kind === "broken")
          return settle(new TenonError("mcp.unavailable", `the answer broke off: ${body.error.message}`));
        const text = body.bytes.toString("utf8");
        const parsed = parseJson(text);
        const nonce = response.headers["dpop-nonce"];
        settle({
          status: response.statusCode ?? 0,
          text,
          json: parsed.ok ? parsed.value : undefined,
          ...defined({ dpopNonce: typeof nonce === "string" && nonce !== "" ? nonce : undefined }),
        });
      }),
    );
  }

  async #exchange<T>(
    request: HttpRequest,
    what: string,
    read: (response: IncomingMessage, settle: (result: T | TenonError) => void) => void,
  ): Promise<T> {
    using deadline = this.world.deadline(OAUTH_LIMITS.requestMs, this.signal);
    let abort = () => {};
    try {
      return await new Promise<T>((resolve, reject) => {
        const fail = (error: TenonError) =>
          reject(new TenonError(error.code, `${what}: ${error.message}`, { cause: error, hint: error.hint }));
        const exchange = new Exchange(this.#dialler, request, {
          onFailed: ({ error }) => fail(error),
          onHead: (response) =>
            read(response, (result) => (result instanceof TenonError ? fail(result) : resolve(result))),
        });
        abort = () => {
          exchange.abort();
          const lateText = `no answer within ${OAUTH_LIMITS.requestMs / 1000} s`;
          if (deadline.expired) fail(new TenonError("mcp.unavailable", lateText));
          else reject(this.signal.reason);
        };
        if (deadline.signal.aborted) abort();
        else deadline.signal.addEventListener("abort", abort, { once: true });
      });
    } finally {
      deadline.signal.removeEventListener("abort", abort);
    }
  }
}

interface HttpReply {
  readonly status: number;
  readonly text: string;
  /** Undefined when it is no JSON. */
  readonly json: JsonValue | undefined;
  readonly dpopNonce?: string;
}

/**
 * The answer for oauth4webapi. It rejects members that are null or empty, errors with a success status, other success
 * statuses than the one of the standard, and reads `WWW-Authenticate` instead of the error in the body.
 */
function responseOf(
  { status, text, json, dpopNonce }: HttpReply,
  { okStatus = 200, repair = (fields) => fields }: Pick<OAuthRequest<unknown>, "okStatus" | "repair">,
): Response {
  const given = isJsonObject(json) ? Object.entries(json) : [];
  const fields: JsonObject = Object.fromEntries(given.filter(([, value]) => value !== null && value !== ""));
  const isRefusal = typeof fields["error"] === "string";
  const isDone = isSuccess(status) && !isRefusal;
  const body = isJsonObject(json) ? JSON.stringify(isDone ? repair(fields) : fields) : text;
  const refusedStatus = isRefusal && (status < 400 || status > 499) ? 400 : Math.min(status, 599);
  return new Response(body === "" ? null : body, {
    status: isDone ? okStatus : refusedStatus,
    headers: { "content-type": "application/json", ...defined({ "dpop-nonce": dpopNonce }) },
  });
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

function isUnavailable(status: number): boolean {
  return status >= 500 || status === 429;
}

function unavailable(what: string, status: number): TenonError {
  return new TenonError("mcp.unavailable", `${what}: the server is not available (status ${status})`);
}

/** A server on this machine may have its authorization server here too, on another port. */
function isSameMachine(one: string, other: string): boolean {
  const usual = ["localhost", "127.0.0.1", "[::1]"];
  return isLoopbackHost(one) && (one === other || (usual.includes(one) && usual.includes(other)));
}
