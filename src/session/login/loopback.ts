// A log-in that returns to a loopback address: shows a page, and waits for one request to one path.
import { orAborted } from "../../base/async/deadline.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { LoopbackAnswer, LoopbackListener, LoopbackRequest, World } from "../../base/ports/world.js";
import type { LoginAttempt, LoginStart, RedirectWay } from "../../mcp/index.js";
import { addressWarnings, type LoginPage, webPage } from "./login-page.js";

export interface LoopbackOptions {
  readonly world: World;
  /** The registered port; any free one unless given. */
  readonly port?: number | undefined;
  /**
   * Shows the page to the person. Resolves with what they pasted, or with nothing once it is shown: the browser's request
   * is awaited in any case. Rejects when they decline.
   */
  show(page: LoginPage, signal: AbortSignal): Promise<URLSearchParams | undefined>;
}

const PATH = "/callback";

export function loopbackWay(options: LoopbackOptions): RedirectWay {
  return { kind: "redirect", start: (start) => openLoopback(options, start) };
}

async function openLoopback(options: LoopbackOptions, start: LoginStart): Promise<LoginAttempt> {
  const callback = new Callback();
  const listener = await listenAt(options, start, (request) => callback.answer(request));
  callback.port = listener.port;
  const redirectUri = `http://127.0.0.1:${listener.port}${PATH}`;
  return {
    redirectUri,
    finish: async (address, signal) => {
      const url = webPage(address);
      if (!url) {
        throw new TenonError("mcp.url_refused", `the log-in page is no web page: ${address.protocol}`, {
          hint: "Report it to the server's author: only http and https addresses are opened.",
        });
      }
      const returned = callback.expect(url.searchParams.get("state"));
      const { server, issuer, namesIssuer } = start;
      const over = new AbortController();
      const about = { server, issuer, ...defined({ namesIssuer }) };
      const page = { ...about, url, warnings: addressWarnings(url), redirectUri };
      const shown = options.show(page, AbortSignal.any([signal, over.signal]));
      try {
        const pasted = shown.then((query) => query ?? returned);
        return await orAborted(Promise.race([returned, pasted]), signal);
      } finally {
        over.abort(new DOMException("the log-in is over", "AbortError")); // withdraws the question
        await shown.catch(() => undefined); // the race has seen it, or it came too late
      }
    },
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}

/** Answers the browser. Only a request with the page's own `state` counts, and only once. */
class Callback {
  port = 0;
  #expected: { readonly state: string | null; readonly resolve: (query: URLSearchParams) => void } | undefined;

  expect(state: string | null): Promise<URLSearchParams> {
    return new Promise((resolve) => {
      this.#expected = { state, resolve };
    });
  }

  answer({ method, target, host }: LoopbackRequest): LoopbackAnswer {
    // Another host name resolves to this machine by DNS of others: it is refused.
    if (![`127.0.0.1:${this.port}`, `localhost:${this.port}`].includes(host.toLowerCase())) return PAGES.forbidden;
    const [path, ...rest] = target.split("?");
    if (method !== "GET" || path !== PATH || !this.#expected) return PAGES.notHere;
    const query = new URLSearchParams(rest.join("?"));
    const { state, resolve } = this.#expected;
    if (query.get("state") !== state) return PAGES.otherLogin;
    this.#expected = undefined;
    resolve(query);
    return query.has("error") ? PAGES.refused : PAGES.received;
  }
}

/** Tries ports that are registered already, which saves a registration. */
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
  for (const uri of redirectUris) {
    const [, known] = /^http:\/\/127\.0\.0\.1:(\d{1,5})\/callback$/u.exec(uri) ?? [];
    const listener = known === undefined ? undefined : await world.listen(Number(known), answer).catch(() => undefined);
    if (listener) return listener;
  }
  return await world.listen(0, answer);
}

/** What the browser shows afterwards. Static: nothing of its request is repeated. */
function callbackPage(status: number, title: string, text: string): LoopbackAnswer {
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  };
  const body = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Tenon: ${title}</title>
<style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}</style>
<h1>${title}</h1><p>${text}</p></html>
`;
  return { status, headers, body };
}

const CLOSE = "Close this window; Tenon says";
/** `received` does not promise success, which is known only after the code has been exchanged. */
const PAGES = {
  received: callbackPage(
    200,
    "Back to Tenon",
    `The answer of the log-in page has arrived. ${CLOSE} whether you are logged in.`,
  ),
  refused: callbackPage(200, "Not logged in", `The log-in page sent you back without a log-in. ${CLOSE} why.`),
  otherLogin: callbackPage(
    400,
    "Not this log-in",
    "Tenon waits for another log-in than this one. Begin again from Tenon, with the newest address.",
  ),
  notHere: callbackPage(404, "Nothing here", "Only a log-in page leads here."),
  forbidden: callbackPage(403, "Not here", "This address is for a browser on this machine."),
};
