// HTTP servers of this machine, at an address or a unix socket, with bounds on heads, time and connections.
import { chmodSync, readFileSync, readlinkSync } from "node:fs";
import type * as http from "node:http";
import type * as https from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { hasErrorCode } from "../base/message.js";
import type { ServedPlace, ServeHandlers, ServeOptions, ServeRefusal } from "../base/ports/world.js";
import { listed, processIds } from "./processes.js";

/** How often Node looks for requests that take too long. */
const CHECK_MS = 1_000;
/** Between two requests of one connection. */
const IDLE_MS = 5_000;
/** For answers under way when the server closes. */
const FLUSH_MS = 500;

// Loaded when they are needed: with TLS they take Node a millisecond or two, and most programs speak to no server over HTTP.

export function builtinHttp(): typeof http {
  return process.getBuiltinModule("node:http");
}

export function builtinHttps(): typeof https {
  return process.getBuiltinModule("node:https");
}

/** A server that does not listen yet, and its open connections, those that were upgraded among them. */
export interface HttpServing {
  readonly server: http.Server;
  readonly sockets: ReadonlySet<Duplex>;
}

export function httpServing(options: ServeOptions, handlers: ServeHandlers): HttpServing {
  const { tls, headMs, requestMs, maxHeadBytes, maxConnections } = options;
  const bounds: http.ServerOptions = {
    maxHeaderSize: maxHeadBytes,
    headersTimeout: headMs,
    requestTimeout: requestMs,
    keepAliveTimeout: IDLE_MS,
    connectionsCheckingInterval: Math.min(CHECK_MS, headMs),
  };
  const server: http.Server = tls
    ? builtinHttps().createServer({
        ...bounds,
        cert: tls.certificate,
        key: tls.key,
        handshakeTimeout: headMs,
        minVersion: "TLSv1.2",
      })
    : builtinHttp().createServer(bounds);
  server.on("error", () => {}); // no file descriptor may be left for a connection; listening has a listener of its own
  server.maxConnections = maxConnections;
  server.maxRequestsPerSocket = 0;
  const sockets = new Set<Duplex>();
  server.on("connection", (socket: Duplex) => {
    sockets.add(socket);
    socket.on("error", () => {}); // the other side is gone; `close` follows
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("drop", (data) => handlers.onRefused("too_many", data?.remoteAddress ?? ""));
  server.on("request", (request, response) => handlers.onRequest(request, response));
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => {});
    handlers.onUpgrade(request, socket, head);
  });
  server.on("checkContinue", (request, response) => handlers.onRequest(request, response));
  server.on("clientError", (error: Error, socket) => {
    const reason = refusalOf(error);
    if (reason !== undefined) handlers.onRefused(reason, addressOf(socket));
    if (socket.writable && reason !== undefined) socket.end(`HTTP/1.1 ${STATUS[reason]}\r\nConnection: close\r\n\r\n`);
    else socket.destroy();
  });
  server.on("tlsClientError", (error: Error, socket: Socket) => {
    const reason = hasErrorCode(error, "ERR_TLS_HANDSHAKE_TIMEOUT") ? "too_slow" : refusalOf(error);
    if (reason !== undefined) handlers.onRefused(reason, socket.remoteAddress ?? "");
    socket.destroy();
  });
  return { server, sockets };
}

const STATUS: Readonly<Record<ServeRefusal, string>> = {
  too_many: "503 Service Unavailable",
  head_too_large: "431 Request Header Fields Too Large",
  too_slow: "408 Request Timeout",
  malformed: "400 Bad Request",
};

/** Undefined for a connection that just broke. */
function refusalOf(error: Error): ServeRefusal | undefined {
  if (hasErrorCode(error, "ECONNRESET", "EPIPE")) return undefined;
  if (hasErrorCode(error, "HPE_HEADER_OVERFLOW", "HPE_CHUNK_EXTENSIONS_OVERFLOW")) return "head_too_large";
  return hasErrorCode(error, "ERR_HTTP_REQUEST_TIMEOUT") ? "too_slow" : "malformed";
}

function addressOf(socket: Duplex): string {
  return "remoteAddress" in socket && typeof socket.remoteAddress === "string" ? socket.remoteAddress : "";
}

export async function serve(options: ServeOptions, handlers: ServeHandlers): Promise<ServedPlace> {
  const { place } = options;
  const { server, sockets } = httpServing(options, handlers);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen("path" in place ? { path: place.path } : { ...place, exclusive: true }, () => {
      server.off("error", reject);
      resolve();
    });
  }).catch((error: unknown) => {
    throw "path" in place ? error : named(error, place.port);
  });
  if ("path" in place) chmodSync(place.path, 0o600); // its folder is closed to others: nobody was earlier
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    address: "path" in place ? place.path : `${place.host.includes(":") ? `[${place.host}]` : place.host}:${port}`,
    port,
    [Symbol.asyncDispose]: () => close(server, sockets),
  };
}

async function close(server: http.Server, sockets: ReadonlySet<Duplex>): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, FLUSH_MS);
  await closed;
  clearTimeout(timer);
}

/** The same error, with the process that listens at the port where the system shows it. */
function named(error: unknown, port: number): unknown {
  if (!(error instanceof Error) || !hasErrorCode(error, "EADDRINUSE")) return error;
  const owner = listenerAt(port);
  if (owner !== undefined) error.message += ` (process ${owner.id}, ${owner.name})`;
  return error;
}

/** Linux: the sockets in state LISTEN (0A) at the port, then the process that has one of them open. */
function listenerAt(port: number): { readonly id: string; readonly name: string } | undefined {
  const wanted = new Set<string>();
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    for (const line of textAt(table).split("\n")) {
      const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/u);
      const isThere = Number.parseInt(local.split(":")[1] ?? "", 16) === port;
      if (isThere && state === "0A") wanted.add(`socket:[${inode}]`);
    }
  }
  if (wanted.size === 0) return undefined;
  for (const id of processIds() ?? []) {
    const isOwner = (listed(`/proc/${id}/fd`) ?? []).some((fd) => wanted.has(linkAt(`/proc/${id}/fd/${fd}`)));
    if (isOwner) return { id, name: textAt(`/proc/${id}/comm`).trim() };
  }
  return undefined;
}

function textAt(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
