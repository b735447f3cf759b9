// The log-in page as a person sees it: warnings about its address, the texts around it, and the pasted address.
import { defined } from "../../base/json/defined.js";
import { LOGIN_LIMITS } from "../../base/limits.js";
import { markForeign } from "../../base/text/marking.js";
import { isUrl } from "../../base/text/url.js";

/** A page for a person, who sees all of it before it is opened. */
export interface LoginPage {
  /** The name of the MCP server in the configuration. */
  readonly server: string;
  /** The authorization server. */
  readonly issuer: string;
  readonly url: URL;
  readonly warnings: readonly string[];
  readonly redirectUri: string;
  /** Its answers say whose they are: one that does not is none. */
  readonly namesIssuer?: true;
}

/** Undefined for anything but a web page: no other address is shown as a link or opened. */
export function webPage(address: URL | string): URL | undefined {
  if (!isUrl(String(address))) return undefined;
  const url = new URL(String(address));
  return url.protocol === "https:" || url.protocol === "http:" ? url : undefined;
}

/** A sentence for everything in the address that may deceive the reader. */
export function addressWarnings(url: URL): readonly string[] {
  const warnings: string[] = [];
  if (url.username !== "" || url.password !== "") {
    warnings.push(`The text before the @ is not the server: the server is ${url.host}.`);
  }
  if (url.hostname.split(".").some((label) => label.startsWith("xn--"))) {
    warnings.push(`The name of the server has letters beyond a to z, which may look like others: it is ${url.host}.`);
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    warnings.push("It is not encrypted (http): others on the way can read and change it.");
  }
  return warnings;
}

function isLoopback(hostname: string): boolean {
  return /^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])$/u.test(hostname);
}

/** For a client that shows the address itself. */
export function pageMessage({ server, issuer, warnings }: LoginPage): string {
  const text = `Log in to the MCP server "${markForeign(server)}" at ${hostOf(issuer)}. Tenon continues when you have.`;
  return [text, ...warnings.map((warning) => `Careful: ${warning}`)].join("\n");
}

/** For a conversation, as Markdown: the full address is the text of its link. */
export function pageMarkdown(page: LoginPage, command: string): string {
  const elsewhere =
    `If your browser is on another machine it cannot come back to this one: cancel, then run ` +
    `\`${command}\` in a terminal here and paste the address it ends at.`;
  return [
    `Log in to **${markForeign(page.server)}** at ${hostOf(page.issuer)}:`,
    `<${page.url.href}>`,
    ...page.warnings.map((warning) => `**Careful:** ${warning}`),
    `Waiting for you to come back from that page. ${elsewhere}`,
    "",
  ].join("\n\n");
}

function hostOf(issuer: string): string {
  return isUrl(issuer) ? new URL(issuer).host : markForeign(issuer);
}

export type Pasted =
  | { readonly ok: true; readonly query: URLSearchParams }
  | { readonly ok: false; readonly reason: string };

/** No server gives codes that are so easily guessed: a shorter word was typed or pasted by mistake. */
const CODE_MIN_CHARS = 6;

type Expected = Pick<LoginPage, "redirectUri" | "url" | "issuer" | "namesIssuer">;

/**
 * Reads what a person pastes after a log-in on another machine: the address their browser ended at, or only the code. A
 * code has no `state`; it gets the one of the page, since the person who was asked typed it.
 */
export function readPasted(typed: string, expected: Expected): Pasted {
  const { redirectUri, url: page } = expected;
  const text = typed.trim().replace(/^<(.*)>$/u, "$1");
  const begins = `it should begin with ${redirectUri}`;
  if (text === "") return unusable("nothing was pasted");
  if (text.length > LOGIN_LIMITS.pastedMaxChars) return unusable("that is too long for an address with a code in it");
  if (/^[a-z][a-z0-9+.-]*:/iu.test(text)) {
    if (!isUrl(text)) return unusable(`that is no address; ${begins}`);
    const url = new URL(text);
    const reason = addressProblem(url, new URL(redirectUri), page);
    return reason === undefined ? answerOf(url.searchParams, expected) : unusable(reason);
  }
  const query = new URLSearchParams(text.replace(/^.*\?/u, ""));
  if (query.has("code") || query.has("error")) return answerOf(query, expected);
  if (/[\s?&=]/u.test(text)) return unusable(`that is no address; ${begins}`);
  // This would fail at the end, and the log-in with it.
  if (expected.namesIssuer) return unusable(`the code alone does not do here; paste the whole address: ${begins}`);
  if (text.length < CODE_MIN_CHARS) return unusable(`that is no code, and no address; ${begins}`);
  const state = page.searchParams.get("state") ?? undefined;
  return { ok: true, query: new URLSearchParams({ code: text, ...defined({ state }) }) };
}

/** What the log-in would end with is said while it can be pasted once more. */
function answerOf(query: URLSearchParams, { url, issuer, namesIssuer, redirectUri }: Expected): Pasted {
  if (query.get("state") !== url.searchParams.get("state")) {
    return unusable(
      `that is the answer to another log-in, or not all of the address; it should begin with ${redirectUri}`,
    );
  }
  if (namesIssuer && query.get("iss") !== issuer) {
    return unusable("that address does not say that it comes from this log-in page, as it should; copy all of it");
  }
  return { ok: true, query };
}

function addressProblem(url: URL, wanted: URL, page: URL): string | undefined {
  const begins = `it should begin with ${wanted.href}`;
  if (url.origin === page.origin && url.pathname === page.pathname && url.origin !== wanted.origin) {
    return `that is the log-in page itself; paste where it sends you afterwards: ${begins}`;
  }
  const isLocal = /^(?:127\.0\.0\.1|localhost|\[::1\])$/u.test(url.hostname) && url.port === wanted.port;
  if ((url.origin !== wanted.origin && !isLocal) || url.pathname !== wanted.pathname) {
    return `that is another address; ${begins}`;
  }
  if (url.searchParams.has("code") || url.searchParams.has("error")) return undefined;
  return "there is neither a code nor an error in that address; copy all of it";
}

function unusable(reason: string): Pasted {
  return { ok: false, reason };
}
