// What a person pastes after logging in on another machine: the address their browser ended at, or the code alone.
import { defined } from "../../base/json/defined.js";
import { LOGIN_LIMITS } from "../../base/limits.js";

export type Pasted =
  | { readonly ok: true; readonly query: URLSearchParams }
  | { readonly ok: false; readonly reason: string };

export interface Expected {
  readonly redirectUri: string;
  /** The page the person was sent to. */
  readonly page: URL;
}

/** A code by itself has no `state`: whoever typed it is whoever was asked, so it gets the one that was sent. */
export function readPasted(typed: string, { redirectUri, page }: Expected): Pasted {
  const text = typed.trim().replace(/^<(.*)>$/u, "$1");
  if (text === "") return refused("nothing was pasted");
  if (text.length > LOGIN_LIMITS.pastedMaxChars) return refused("that is too long for an address with a code in it");
  if (/^[a-z][a-z0-9+.-]*:/iu.test(text)) return fromAddress(text, { redirectUri, page });
  const query = new URLSearchParams(text.replace(/^.*\?/u, ""));
  if (query.has("code") || query.has("error")) return { ok: true, query };
  if (/[\s?&=]/u.test(text)) return refused(`that is no address; it should begin with ${redirectUri}`);
  const state = page.searchParams.get("state");
  return {
    ok: true,
    query: new URLSearchParams({ code: text, ...defined({ state: state === null ? undefined : state }) }),
  };
}

function fromAddress(text: string, { redirectUri, page }: Expected): Pasted {
  const begins = `it should begin with ${redirectUri}`;
  if (!URL.canParse(text)) return refused(`that is no address; ${begins}`);
  const url = new URL(text);
  const wanted = new URL(redirectUri);
  if (url.origin === page.origin && url.pathname === page.pathname && url.origin !== wanted.origin) {
    return refused(`that is the log-in page itself; paste where it sends you afterwards: ${begins}`);
  }
  const isLoopback = /^(?:127\.0\.0\.1|localhost|\[::1\])$/u.test(url.hostname) && url.port === wanted.port;
  if ((url.origin !== wanted.origin && !isLoopback) || url.pathname !== wanted.pathname) {
    return refused(`that is another address; ${begins}`);
  }
  if (!url.searchParams.has("code") && !url.searchParams.has("error")) {
    return refused("there is neither a code nor an error in that address; copy all of it");
  }
  return { ok: true, query: url.searchParams };
}

function refused(reason: string): Pasted {
  return { ok: false, reason };
}
