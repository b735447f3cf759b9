// One HTTP request with the token of a log-in: it waits for one, and goes out again where a refusal can be cured.
import type { IncomingMessage } from "node:http";
import { handled } from "../../../base/async/scope.js";
import { TenonError, toTenonError } from "../../../base/errors.js";
import { OAUTH_LIMITS } from "../../../base/limits.js";
import { sharedLog } from "../../../base/ports/log.js";
import type { RequestLoss } from "../transport.js";
import { drain } from "./body.js";
import type { Dialler, Place } from "./dial.js";
import { Exchange, type HttpHandler, type HttpRequest, type OpenRequest } from "./exchange.js";
import { type RequestAccess, readChallenge } from "./request-access.js";

/** As `Exchange`; and what a refusal could not be cured for is told as a failure of its own, since the server did nothing. */
export class AuthorizedExchange implements OpenRequest {
  readonly #dialler: Dialler;
  readonly #request: HttpRequest;
  readonly #handler: HttpHandler;
  readonly #access: RequestAccess;
  #exchange: Exchange | undefined;
  #rounds = 0;
  #isOver = false;

  constructor(dialler: Dialler, request: HttpRequest, handler: HttpHandler, access: RequestAccess) {
    this.#dialler = dialler;
    this.#request = request;
    this.#handler = handler;
    this.#access = access;
    this.#go();
  }

  abort(): void {
    this.#isOver = true;
    this.#exchange?.abort();
  }

  lossNow(why: string): RequestLoss {
    return this.#exchange?.lossNow(why) ?? { error: new TenonError("mcp.unavailable", why), wasSent: false };
  }

  #go(): void {
    const token = this.#access.token();
    if (!(token instanceof Promise)) {
      this.#send(token);
      return;
    }
    const sent = token
      .then((known) => this.#send(known))
      .catch((thrown: unknown) => this.#fail({ error: toTenonError(thrown, "mcp.unavailable"), wasSent: false }));
    handled(sent, sharedLog(), "send an authorized request");
  }

  #send(token: string | undefined): void {
    if (this.#isOver) return;
    const request = token === undefined ? this.#request : this.#withToken(token);
    this.#exchange = new Exchange(this.#dialler, request, {
      onFailed: (loss) => this.#fail(loss),
      onHead: (response, place) => this.#onHead(response, place, token),
    });
  }

  #withToken(token: string): HttpRequest {
    const { headers, method, place } = this.#request;
    const more = this.#access.headers(token, { method, url: place.url.href });
    return { ...this.#request, headers: [...headers, ...more], isConfidential: true };
  }

  #onHead(response: IncomingMessage, place: Place, token: string | undefined): void {
    const status = response.statusCode ?? 0;
    const isRefused = status === 401 || status === 403;
    const challenge = isRefused ? readChallenge(response.headers["www-authenticate"]) : undefined;
    const isAboutToken = status === 401 || challenge?.error === "insufficient_scope";
    const nonce = response.headers["dpop-nonce"];
    const isNewNonce = typeof nonce === "string" && this.#access.takeNonce(nonce);
    const isWorthIt = isAboutToken && this.#request.method !== "DELETE"; // saying goodbye is worth no log-in
    if (!isWorthIt || this.#rounds >= OAUTH_LIMITS.roundsPerCall) {
      if (status !== 401) this.#access.worked(token);
      this.#isOver = true;
      this.#handler.onHead(response, place);
      return;
    }
    this.#rounds += 1;
    drain(response);
    this.#exchange = undefined;
    if (isNewNonce && challenge?.error === "use_dpop_nonce") {
      this.#again();
      return;
    }
    const judged = this.#access
      .refused({ status, challenge, token })
      .then((verdict) => {
        if (verdict === "again") this.#again();
        else this.#fail({ error: verdict, wasSent: false, httpStatus: status });
      })
      .catch((thrown: unknown) => this.#fail({ error: toTenonError(thrown), wasSent: false, httpStatus: status }));
    handled(judged, sharedLog(), "answer a refusal");
  }

  #again(): void {
    if (!this.#isOver) this.#go();
  }

  #fail(loss: RequestLoss): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.onFailed(loss);
  }
}
