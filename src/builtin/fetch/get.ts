// One GET to one checked address, its body unpacked and capped.
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { LIMITS } from "../../base/limits.js";
import type { HttpPool, ResolvedAddress, World } from "../../base/ports/world.js";
import { VERSION } from "../../base/version.js";
import { BUILTIN_LIMITS } from "../limits.js";

export interface GetRequest {
  readonly url: URL;
  readonly addresses: readonly ResolvedAddress[];
  readonly signal: AbortSignal;
}

export interface Got {
  readonly status: number;
  readonly contentType: string;
  /** Of a redirect. */
  readonly location: string | undefined;
  readonly body: Uint8Array;
  /** The body is longer than the cap, and ends there. */
  readonly isCut: boolean;
}

export async function get(world: World, { url, addresses, signal }: GetRequest): Promise<Got> {
  const isTls = url.protocol === "https:";
  const pool = world.httpPool({ isTls, addresses, maxIdleMs: LIMITS.httpIdleSocketMs });
  try {
    const response = await answerTo(send(pool, url, isTls), signal);
    const { body, isCut } = await readBody(response, signal);
    return {
      status: response.statusCode ?? 0,
      contentType: response.headers["content-type"] ?? "",
      location: response.headers.location,
      body,
      isCut,
    };
  } finally {
    pool.close();
  }
}

function send(pool: HttpPool, url: URL, isTls: boolean): ClientRequest {
  const hostname = url.hostname.replace(/^\[(.*)\]$/u, "$1");
  const isName = !/^[\d.]+$|:/u.test(hostname);
  const headers = [
    ["host", url.host],
    ["user-agent", `tenon/${VERSION}`],
    ["accept", "text/html, text/markdown, text/plain, application/json;q=0.9, */*;q=0.5"],
    ["accept-encoding", "gzip, deflate, br"],
  ].flat();
  return pool.request({
    method: "GET",
    hostname,
    port: url.port,
    path: `${url.pathname}${url.search}`,
    servername: isTls && isName ? hostname : "",
    headers,
  });
}

function answerTo(request: ClientRequest, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      request.destroy();
      reject(signal.reason);
    };
    request.on("error", reject); // stays: also what comes after the answer must be heard by someone
    request.once("response", resolve);
    request.once("upgrade", (_, socket) => {
      socket.destroy();
      reject(new Error("the server wants to go on in another protocol, which nobody asked for"));
    });
    request.once("close", () => {
      signal.removeEventListener("abort", onAbort);
      reject(new Error("the connection was closed before the answer")); // nothing where there was one
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    request.end();
  });
}

async function readBody(response: IncomingMessage, signal: AbortSignal): Promise<Pick<Got, "body" | "isCut">> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of unpacked(response)) {
    signal.throwIfAborted();
    if (!(chunk instanceof Uint8Array)) continue;
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > BUILTIN_LIMITS.fetchMaxBytes) break; // leaving the loop destroys the stream
  }
  const whole = Buffer.concat(chunks);
  response.destroy();
  return { body: whole.subarray(0, BUILTIN_LIMITS.fetchMaxBytes), isCut: whole.length > BUILTIN_LIMITS.fetchMaxBytes };
}

/** Bounded by whoever reads it: a few bytes may unpack to very many. */
function unpacked(response: IncomingMessage): Readable {
  const unpack = UNPACKERS.get(response.headers["content-encoding"]?.trim().toLowerCase() ?? "")?.();
  if (!unpack) return response;
  response.on("error", (error) => unpack.destroy(error));
  response.on("close", () => {
    if (!response.complete) unpack.destroy(new Error("the answer broke off"));
  });
  return response.pipe(unpack);
}

const UNPACKERS: ReadonlyMap<string, () => ReturnType<typeof createGunzip>> = new Map([
  ["gzip", () => createGunzip()],
  ["x-gzip", () => createGunzip()],
  ["deflate", () => createInflate()],
  ["br", () => createBrotliDecompress()],
]);
