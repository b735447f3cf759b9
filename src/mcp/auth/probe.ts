// Asks a server without credentials, only to hear what it wants.

import { Buffer } from "node:buffer";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import { META, MODERN_VERSION } from "../era/envelope.js";
import type { RemoteSpec } from "../spec.js";
import { Dialler } from "../transport/http/dial.js";
import { Exchange } from "../transport/http/exchange.js";
import { HeaderWriter, userHeaders } from "../transport/http/headers.js";
import { type Challenge, readChallenge } from "../transport/http/request-access.js";
import type { OAuthPlaces } from "./http.js";

export interface Probed {
  readonly status: number;
  readonly challenge?: Challenge;
}

const QUESTION = {
  jsonrpc: "2.0",
  id: 1,
  method: "server/discover",
  params: { _meta: { [META.protocolVersion]: MODERN_VERSION } },
} as const;

/** Rejects with what a request to the server would be lost for. */
export async function probe(
  spec: RemoteSpec,
  { world, allowHosts, urlSource = "typed" }: Omit<OAuthPlaces, "serverUrl">,
  signal: AbortSignal,
): Promise<Probed> {
  const dialler = new Dialler(world, allowHosts);
  using deadline = world.deadline(OAUTH_LIMITS.requestMs, signal);
  let abort = () => {};
  try {
    const place = dialler.check(spec.url, urlSource);
    const writer = new HeaderWriter(userHeaders(spec));
    const body = spec.kind === "sse" ? undefined : JSON.stringify(QUESTION);
    const headers =
      body === undefined ? writer.plain("text/event-stream") : writer.post(QUESTION, Buffer.byteLength(body));
    const method = body === undefined ? "GET" : "POST";
    return await new Promise<Probed>((resolve, reject) => {
      const request = { method, place, headers, body, isConfidential: true } as const;
      const exchange = new Exchange(dialler, request, {
        onFailed: ({ error }) => reject(error),
        onHead: (response) => {
          response.destroy();
          const challenge = readChallenge(response.headers["www-authenticate"]);
          resolve({ status: response.statusCode ?? 0, ...defined({ challenge }) });
        },
      });
      abort = () => {
        exchange.abort();
        reject(deadline.expired ? new TenonError("mcp.unavailable", "the server does not answer") : signal.reason);
      };
      if (deadline.signal.aborted) abort();
      else deadline.signal.addEventListener("abort", abort, { once: true });
    });
  } finally {
    deadline.signal.removeEventListener("abort", abort);
    dialler.close();
  }
}
