// What the browser shows when it comes back. Static: nothing of what it sent is shown again.
import type { LoopbackAnswer } from "../../base/ports/world.js";

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
} as const;

function callbackPage(status: number, title: string, words: string): LoopbackAnswer {
  const body = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Tenon: ${title}</title>
<style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}</style>
<h1>${title}</h1><p>${words}</p></html>
`;
  return { status, headers: HEADERS, body };
}

/** Whether it worked is only known once the code has been exchanged: the page does not promise it. */
export const RECEIVED: LoopbackAnswer = callbackPage(
  200,
  "Back to Tenon",
  "The answer of the log-in page has arrived. Close this window; Tenon says whether you are logged in.",
);
export const REFUSED: LoopbackAnswer = callbackPage(
  200,
  "Not logged in",
  "The log-in page sent you back without a log-in. Close this window; Tenon says why.",
);
export const STRANGE: LoopbackAnswer = callbackPage(
  400,
  "Not this log-in",
  "Tenon waits for another log-in than this one. Begin again from Tenon, with the newest address.",
);
export const NOT_HERE: LoopbackAnswer = callbackPage(404, "Nothing here", "Only a log-in page leads here.");
export const FORBIDDEN: LoopbackAnswer = callbackPage(
  403,
  "Not here",
  "This address is for a browser on this machine.",
);
