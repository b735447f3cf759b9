// The requests of a log-in: every one goes where the address rules allow, is followed only there, and ends in time and size.
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { TenonError } from "../../base/errors.js";
import { isLoopbackHost } from "../../base/io/net-policy.js";
import { type JsonValue, parseJson } from "../../base/json/json.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import { VERSION } from "../../base/version.js";
import { type Body, readBody } from "../transport/http/body.js";
import { Dialler, type Place } from "../transport/http/dial.js";
import { Exchange, type HttpRequest } from "../transport/http/exchange.js";

export interface OAuthPlaces {
  readonly world: World;
  /** The server's own URL: what it leads to may be on this machine only if it is itself. */
  readonly serverUrl: string;
  readonly allowHosts?: readonly string[];
  readonly urlSource?: "typed" | "project";
}

export interface HttpReply {
  readonly status: number;
  readonly text: string;
  /** Undefined when it is no JSON. */
  readonly json: JsonValue | undefined;
  /** What the next proof has to repeat (DPoP). */
  readonly dpopNonce?: string;
}

export interface FormRequest {
  readonly url: string;
  readonly params: URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
}

export class OAuthHttp implements Disposable {
  readonly world: World;
  readonly #dialler: Dialler;
  readonly #server: Place;
  readonly #isTyped: boolean;

  constructor({ world, serverUrl, allowHosts, urlSource = "typed" }: OAuthPlaces) {
    this.world = world;
    this.#dialler = new Dialler(world, allowHosts);
    this.#server = this.#dialler.check(serverUrl, urlSource);
    this.#isTyped = urlSource === "typed";
  }

  /** A URL some metadata named, or throws `mcp.url_refused`. Names are judged again when they are resolved. */
  check(url: string, what: string): URL {
    return this.#placeOf(url, what).url;
  }

  get(url: string, what: string, signal: AbortSignal): Promise<HttpReply> {
    const headers = ["accept", "application/json"];
    return this.#send({ method: "GET", place: this.#placeOf(url, what), headers, body: undefined }, what, signal);
  }

  /** What is posted is for that server alone: it may not pass it on. */
  postForm({ url, params, headers = {} }: FormRequest, what: string, signal: AbortSignal): Promise<HttpReply> {
    const more = ["content-type", "application/x-www-form-urlencoded", ...Object.entries(headers).flat()];
    return this.#post(url, { headers: more, body: params.toString() }, what, signal);
  }

  postJson(url: string, value: JsonValue, what: string, signal: AbortSignal): Promise<HttpReply> {
    const body = JSON.stringify(value);
    return this.#post(url, { headers: ["content-type", "application/json"], body }, what, signal);
  }

  [Symbol.dispose](): void {
    this.#dialler.close();
  }

  #post(
    url: string,
    { headers, body }: { readonly headers: readonly string[]; readonly body: string },
    what: string,
    signal: AbortSignal,
  ): Promise<HttpReply> {
    const length = ["accept", "application/json", "content-length", String(Buffer.byteLength(body))];
    const request = {
      method: "POST",
      place: this.#placeOf(url, what),
      headers: [...headers, ...length],
      body,
    } as const;
    return this.#send(request, what, signal);
  }

  #placeOf(url: string, what: string): Place {
    try {
      if (!URL.canParse(url)) throw new TenonError("mcp.url_refused", "the URL cannot be used: it is not a valid URL");
      const isHere = this.#isTyped && isSameMachine(this.#server.url.hostname, new URL(url).hostname);
      return this.#dialler.check(url, isHere ? "typed" : "discovery", this.#server);
    } catch (thrown) {
      if (!(thrown instanceof TenonError)) throw thrown;
      const hint = "If the address is right, name its host in allowHosts of your own configuration.";
      throw new TenonError(thrown.code, `${what}: ${thrown.message}`, { cause: thrown, hint });
    }
  }

  async #send(request: Omit<HttpRequest, "isConfidential">, what: string, signal: AbortSignal): Promise<HttpReply> {
    using deadline = this.world.deadline(OAUTH_LIMITS.requestMs, signal);
    const headers = ["user-agent", `tenon/${VERSION}`, ...request.headers];
    const isConfidential = request.method === "POST";
    let abort = () => {};
    try {
      return await new Promise<HttpReply>((resolve, reject) => {
        const exchange = new Exchange(
          this.#dialler,
          { ...request, headers, isConfidential },
          {
            onFailed: ({ error }) => reject(new TenonError(error.code, `${what}: ${error.message}`, { cause: error })),
            onHead: (response) =>
              readBody(response, OAUTH_LIMITS.maxBytes, (body) => {
                const reply = replyOf(response, body);
                if (reply instanceof TenonError) reject(new TenonError(reply.code, `${what}: ${reply.message}`));
                else resolve(reply);
              }),
          },
        );
        abort = () => {
          exchange.abort();
          reject(deadline.expired ? late(what) : signal.reason);
        };
        if (deadline.signal.aborted) abort();
        else deadline.signal.addEventListener("abort", abort, { once: true });
      });
    } finally {
      deadline.signal.removeEventListener("abort", abort);
    }
  }
}

/** Whoever tries a server on their own machine has its authorization server there too, on another port. */
function isSameMachine(one: string, other: string): boolean {
  const usual = ["localhost", "127.0.0.1", "[::1]"];
  return isLoopbackHost(one) && (one === other || (usual.includes(one) && usual.includes(other)));
}

function replyOf(response: IncomingMessage, body: Body): HttpReply | TenonError {
  const status = response.statusCode ?? 0;
  if (body.kind === "too_large") return new TenonError("mcp.too_large", `over ${OAUTH_LIMITS.maxBytes} bytes`);
  if (body.kind === "broken") return new TenonError("mcp.unavailable", `the answer broke off: ${body.error.message}`);
  const text = body.bytes.toString("utf8");
  const parsed = parseJson(text);
  const nonce = response.headers["dpop-nonce"];
  const told = typeof nonce === "string" && nonce !== "" ? { dpopNonce: nonce } : {};
  return { status, text, json: parsed.ok ? parsed.value : undefined, ...told };
}

function late(what: string): TenonError {
  return new TenonError("mcp.unavailable", `${what}: no answer within ${OAUTH_LIMITS.requestMs / 1000} s`);
}
