// HTTP at this machine's own address, for what a browser here brings back. One small answer to each request.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { LoopbackAnswer, LoopbackListener, LoopbackRequest } from "../base/ports/world.js";

/** A browser asks at once, and with little. */
const REQUEST_TIMEOUT_MS = 5_000;
const MAX_HEADER_BYTES = 32_768;
/** For the last answer to go out before its connection is ended. */
const FLUSH_MS = 500;

export async function listen(
  port: number,
  answer: (request: LoopbackRequest) => LoopbackAnswer,
): Promise<LoopbackListener> {
  const underWay = new Set<ServerResponse>();
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) => {
    underWay.add(response);
    response.once("close", () => underWay.delete(response));
    const { status, headers, body } = answerTo(request, answer);
    response.writeHead(status, { ...headers, connection: "close" });
    response.end(body);
    request.resume();
  });
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.headersTimeout = REQUEST_TIMEOUT_MS;
  await new Promise<void>((resolve, reject) => {
    server.on("error", reject); // for as long as it lives: no file descriptor may be left for a connection
    server.listen({ port, host: "127.0.0.1", exclusive: true }, resolve);
  });
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  return { port: bound, [Symbol.asyncDispose]: () => close(server, underWay) };
}

function answerTo(
  { method, url, headers }: IncomingMessage,
  answer: (request: LoopbackRequest) => LoopbackAnswer,
): LoopbackAnswer {
  try {
    return answer({ method: method ?? "GET", target: url ?? "/", host: headers.host ?? "" });
  } catch {
    return { status: 500, headers: {}, body: "" };
  }
}

/** Browsers open connections they never use: those would hold a plain `close` open. */
async function close(server: Server, underWay: ReadonlySet<ServerResponse>): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const answered = Promise.all(
    [...underWay].map((response) => new Promise<void>((resolve) => response.once("close", resolve))),
  );
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, FLUSH_MS);
  });
  await Promise.race([answered, patience]);
  clearTimeout(timer);
  server.closeAllConnections();
  await closed;
}
