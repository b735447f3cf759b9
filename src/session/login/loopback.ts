// A log-in that comes back over this machine's own address: a page is shown, and one request to one path is waited for.
import { orAborted } from "../../base/async/deadline.js";
import { messageOf, TenonError } from "../../base/errors.js";
import type { LoopbackAnswer, LoopbackListener, LoopbackRequest, World } from "../../base/ports/world.js";
import type { LoginAttempt, LoginStart, RedirectWay } from "../../mcp/index.js";
import { addressWarnings, webPage } from "./address.js";
import { FORBIDDEN, NOT_HERE, RECEIVED, REFUSED, STRANGE } from "./callback-page.js";

/** A page for a person, who is shown all of it before it is opened. */
export interface LoginPage {
  /** The MCP server, as the person calls it. */
  readonly server: string;
  /** The authorization server. */
  readonly issuer: string;
  readonly url: URL;
  readonly warnings: readonly string[];
  readonly redirectUri: string;
}

export interface LoopbackOptions {
  readonly world: World;
  /** Where only one is registered; any free one unless given. */
  readonly port?: number | undefined;
  /**
   * Brings the page to the person. Resolves with what they pasted, or with nothing once it is shown: the browser's own
   * answer is waited for in any case. Rejects when they do not want it.
   */
  show(page: LoginPage, signal: AbortSignal): Promise<URLSearchParams | undefined>;
}

const PATH = "/callback";

export function loopbackWay(options: LoopbackOptions): RedirectWay {
  return { kind: "redirect", start: (start) => LoopbackAttempt.open(options, start) };
}

class LoopbackAttempt implements LoginAttempt {
  readonly redirectUri: string;
  readonly #options: LoopbackOptions;
  readonly #start: LoginStart;
  readonly #listener: LoopbackListener;
  readonly #callback: Callback;

  private constructor(
    options: LoopbackOptions,
    start: LoginStart,
    open: { listener: LoopbackListener; callback: Callback },
  ) {
    this.#options = options;
    this.#start = start;
    this.#listener = open.listener;
    this.#callback = open.callback;
    this.redirectUri = `http://127.0.0.1:${open.listener.port}${PATH}`;
  }

  static async open(options: LoopbackOptions, start: LoginStart): Promise<LoopbackAttempt> {
    const callback = new Callback();
    const listener = await listenAt(options, start, (request) => callback.answer(request));
    callback.port = listener.port;
    return new LoopbackAttempt(options, start, { listener, callback });
  }

  async finish(url: URL, signal: AbortSignal): Promise<URLSearchParams> {
    const page = webPage(url);
    if (!page) {
      throw new TenonError("mcp.url_refused", `the log-in page is no web page: ${url.protocol}`, {
        hint: "Report it to the server's author: only http and https addresses are opened.",
      });
    }
    const returned = this.#callback.expect(page.searchParams.get("state"));
    const { server, issuer } = this.#start;
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    const shown = this.#options.show(
      { server, issuer, url: page, warnings: addressWarnings(page), redirectUri: this.redirectUri },
      until,
    );
    try {
      const pasted = shown.then((query) => query ?? returned);
      return await orAborted(Promise.race([returned, pasted]), signal);
    } finally {
      over.abort(new DOMException("the log-in is over", "AbortError")); // takes the question back
      await shown.catch(() => undefined); // it was heard by the race, or came too late
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listener[Symbol.asyncDispose]();
  }
}

/** What the browser asks of the listener. Only the answer that carries the page's own `state` counts, and only once. */
class Callback {
  port = 0;
  #expected: { readonly state: string | null; readonly resolve: (query: URLSearchParams) => void } | undefined;

  expect(state: string | null): Promise<URLSearchParams> {
    return new Promise((resolve) => {
      this.#expected = { state, resolve };
    });
  }

  answer({ method, target, host }: LoopbackRequest): LoopbackAnswer {
    // A name that leads here by somebody else's DNS is no name of ours.
    if (![`127.0.0.1:${this.port}`, `localhost:${this.port}`].includes(host.toLowerCase())) return FORBIDDEN;
    const [path, ...rest] = target.split("?");
    if (method !== "GET" || path !== PATH || !this.#expected) return NOT_HERE;
    const query = new URLSearchParams(rest.join("?"));
    const { state, resolve } = this.#expected;
    if (query.get("state") !== state) return STRANGE;
    this.#expected = undefined;
    resolve(query);
    return query.has("error") ? REFUSED : RECEIVED;
  }
}

/** A port that the authorization server knows from before spares a new registration, if it is free. */
async function listenAt(
  { world, port }: LoopbackOptions,
  { redirectUris }: LoginStart,
  answer: (request: LoopbackRequest) => LoopbackAnswer,
): Promise<LoopbackListener> {
  if (port !== undefined) {
    return await world.listen(port, answer).catch((error: unknown) => {
      throw new TenonError("config.invalid", `port ${port} (callbackPort) cannot be listened on: ${messageOf(error)}`, {
        hint: "End whatever uses it, or register another one and set it as callbackPort.",
        cause: error,
      });
    });
  }
  for (const known of redirectUris.flatMap((uri) => portOf(uri) ?? [])) {
    const listener = await world.listen(known, answer).catch(() => undefined); // taken by somebody else
    if (listener) return listener;
  }
  return await world.listen(0, answer);
}

function portOf(redirectUri: string): number | undefined {
  const [, port] = /^http:\/\/127\.0\.0\.1:(\d{1,5})\/callback$/u.exec(redirectUri) ?? [];
  return port === undefined ? undefined : Number(port);
}
