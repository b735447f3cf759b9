// Answers over plain HTTP: bodies within bounds, short texts, refusals that say nothing of why.
import type { IncomingMessage, ServerResponse } from "node:http";
import { defined } from "../../base/json/defined.js";
import type { Refusal } from "../access/guard.js";

/** Undefined when it is longer than allowed; what there is of it when the client is gone, which nobody answers any more. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    // Ending the loop must not end the connection: the answer still has to go out.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      if (!(chunk instanceof Uint8Array)) continue;
      bytes += chunk.length;
      if (bytes > maxBytes) return undefined;
      chunks.push(chunk);
    }
  } catch {
    return "";
  }
  return Buffer.concat(chunks).toString("utf8");
}

export function answer(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const usual = { "content-type": "text/plain", "cache-control": "no-store", connection: "close" };
  response.writeHead(status, { ...usual, ...headers });
  response.end(`${text}\n`);
}

/** `after`: the seconds until the client may come again. */
export function answerJson(
  response: ServerResponse,
  status: number,
  { value, after }: { readonly value: object; readonly after: string | undefined },
): void {
  response.writeHead(status, { "content-type": "application/json", ...defined({ "retry-after": after }) });
  response.end(JSON.stringify(value));
}

export const WORDS: Readonly<Record<number, string>> = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  429: "Too Many Requests",
  503: "Service Unavailable",
};

export function headersOf({ status, retryAfterSeconds }: Refusal): Record<string, string> {
  return {
    connection: "close",
    ...defined({
      "www-authenticate": status === 401 ? "Bearer" : undefined,
      "retry-after": retryAfterSeconds?.toString(),
    }),
  };
}

/** No detail: whoever has no token learns nothing of why. */
export function refuse(response: ServerResponse, refusal: Refusal): void {
  response.writeHead(refusal.status, { "content-type": "text/plain", ...headersOf(refusal) });
  response.end(`${WORDS[refusal.status] ?? "Refused"}\n`);
}
