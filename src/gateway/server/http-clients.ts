// Clients over Streamable HTTP: the SDK's handler, behind our own checks of bodies, limits and whose connection it is.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { messageSink, type SharedMessage } from "../../acp/index.js";
import { handled } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { Timer, World } from "../../base/ports/world.js";
import { addressOf } from "../access/guard.js";
import type { Principal } from "../access/principal.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { ClientStream, ConnectionAbout } from "./client-stream.js";
import { answer, answerJson, readBody } from "./http-answers.js";
import type { ConnectionRequests } from "./requests.js";

const CONNECTION_ID = "acp-connection-id";

export interface HttpClientsOptions {
  readonly world: World;
  readonly connect: (principal: Principal, stream: ClientStream, about: ConnectionAbout) => void;
  readonly requestsOf: (principal: Principal) => ConnectionRequests;
  /** Takes a place for a connection; undefined when its token has none left. `end` gives it back. */
  readonly register: (principal: Principal, remote: string, close: () => void) => { end(): void } | undefined;
  /** Another principal's connection id, or a body that is too long, was sent. */
  readonly onRefused: (reason: "foreign_connection_id" | "body_too_large", remote: string) => void;
}

/** One ACP connection; any number of HTTP requests belong to it. */
interface HttpConnection {
  readonly principal: Principal;
  readonly requests: ConnectionRequests;
  readonly place: { end(): void };
  readonly open: Set<ServerResponse>;
  id: string | undefined;
  idle: Timer | undefined;
  isOver: boolean;
}

export class HttpClients {
  readonly #options: HttpClientsOptions;
  readonly #server: AcpServer;
  readonly #connections = new Map<string, HttpConnection>();

  constructor(options: HttpClientsOptions) {
    this.#options = options;
    this.#server = new AcpServer({
      createAgent: () => {
        throw new Error("every connection brings its own agent");
      },
      maxBufferedBytes: GATEWAY_LIMITS.unsent.waitBytes,
      maxOutputStallMs: GATEWAY_LIMITS.httpIdleMs,
    });
  }

  /** The principal is known; nothing of the body has been read. */
  async handle(request: IncomingMessage, response: ServerResponse, principal: Principal): Promise<void> {
    const { method = "" } = request;
    if (!["POST", "GET", "DELETE"].includes(method)) return answer(response, 405, "Method Not Allowed");
    const id = request.headers[CONNECTION_ID];
    const found = typeof id === "string" ? this.#connections.get(id) : undefined;
    if (id !== undefined && !isSame(found?.principal, principal)) {
      if (found) this.#options.onRefused("foreign_connection_id", addressOf(request));
      return answer(response, 404, "Unknown Acp-Connection-Id");
    }
    if (method === "POST") return await this.#post(request, response, found ?? principal);
    if (!found) return answer(response, 400, "Missing Acp-Connection-Id");
    await this.#forward(request, response, found, undefined);
    if (method === "DELETE") this.#end(found);
  }

  async #post(request: IncomingMessage, response: ServerResponse, from: HttpConnection | Principal): Promise<void> {
    const remote = addressOf(request); // it is lost with the connection
    const isAnnounced = Number(request.headers["content-length"] ?? 0) > GATEWAY_LIMITS.body.maxBytes;
    if (request.headers.expect !== undefined && !isAnnounced) response.writeContinue();
    const body = isAnnounced ? undefined : await readBody(request, GATEWAY_LIMITS.body.maxBytes);
    if (body === undefined) {
      this.#options.onRefused("body_too_large", remote);
      return answer(response, 413, `A body has at most ${GATEWAY_LIMITS.body.maxBytes} bytes`);
    }
    const known = "principal" in from ? from : undefined;
    const requests = known?.requests ?? this.#options.requestsOf("principal" in from ? from.principal : from);
    const checked = requests.check(body);
    const after = checked.waitMs > 0 ? String(Math.ceil(checked.waitMs / 1_000)) : undefined;
    if (checked.kind === "refused") {
      const isOver = checked.why === "malformed" && requests.countMalformed();
      answerJson(response, STATUSES[checked.why], { value: checked.answer, after });
      if (isOver && known) this.#end(known);
      return;
    }
    if (after !== undefined) return answer(response, 429, "Too Many Requests", { "retry-after": after });
    if (checked.kind === "dropped") return answer(response, 403, "Forbidden");
    if (known) return await this.#forward(request, response, known, body);
    if (checked.message["method"] !== "initialize") return answer(response, 400, "Missing Acp-Connection-Id");
    if (!("principal" in from)) await this.#begin(request, response, { principal: from, requests, body });
  }

  async #begin(
    request: IncomingMessage,
    response: ServerResponse,
    { principal, requests, body }: { principal: Principal; requests: ConnectionRequests; body: string },
  ): Promise<void> {
    const place = this.#options.register(principal, addressOf(request), () => this.#end(connection));
    if (!place) return answer(response, 429, "Too many connections of this token");
    const open = new Set<ServerResponse>();
    const connection: HttpConnection = {
      principal,
      requests,
      place,
      open,
      id: undefined,
      idle: undefined,
      isOver: false,
    };
    await this.#forward(request, response, connection, body);
    if (connection.id === undefined) this.#end(connection);
  }

  /** Hands a request to the SDK and its answer to the client. */
  async #forward(
    request: IncomingMessage,
    response: ServerResponse,
    connection: HttpConnection,
    body: string | undefined,
  ): Promise<void> {
    connection.idle?.clear();
    connection.open.add(response);
    const gone = new AbortController();
    response.once("close", () => {
      gone.abort();
      connection.open.delete(response);
      if (connection.open.size === 0 && !connection.isOver) this.#rest(connection);
    });
    try {
      const web = new Request("http://gateway/acp", {
        method: request.method ?? "GET",
        headers: plainHeaders(request),
        signal: gone.signal,
        ...defined({ body }),
      });
      const result = await this.#server.handleRequest(web, { createAgent: () => this.#agentOf(connection, request) });
      const id = connection.id === undefined ? result.headers.get(CONNECTION_ID) : null;
      if (id !== null && !connection.isOver) {
        connection.id = id;
        this.#connections.set(id, connection);
      }
      await writeResponse(response, result);
    } catch (error) {
      this.#options.world.log.warn("gateway.http_failed", { error: messageOf(error) });
      if (response.headersSent) response.destroy();
      else answer(response, 500, "Internal Server Error");
    }
  }

  /** The SDK calls `connect` once, for a connection that begins. */
  #agentOf({ principal, requests }: HttpConnection, request: IncomingMessage): { connect(stream: Stream): void } {
    const { world, connect } = this.#options;
    return {
      connect: (stream) => {
        const id = Buffer.from(world.randomBytes(6)).toString("hex");
        const about = { id, transport: "http", remoteAddress: addressOf(request) } as const;
        connect(principal, new HttpStream(world, stream, requests), about);
      },
    };
  }

  #rest(connection: HttpConnection): void {
    connection.idle?.clear();
    connection.idle = this.#options.world.after(GATEWAY_LIMITS.httpIdleMs, () => this.#end(connection));
  }

  #end(connection: HttpConnection): void {
    if (connection.isOver) return;
    connection.isOver = true;
    connection.idle?.clear();
    connection.place.end();
    for (const response of connection.open) response.destroy();
    if (connection.id === undefined) return;
    this.#connections.delete(connection.id);
    const remove = new Request("http://gateway/acp", { method: "DELETE", headers: { [CONNECTION_ID]: connection.id } });
    handled(this.#server.handleRequest(remove), this.#options.world.log, "end of a connection over HTTP");
  }

  async close(): Promise<void> {
    for (const connection of [...this.#connections.values()]) this.#end(connection);
    await this.#server.close();
  }
}

/** The SDK's own stream, as the WebSocket's looks to the agent. */
class HttpStream implements ClientStream {
  readonly readable: Stream["readable"];
  readonly writable: Stream["writable"];
  readonly closed: Promise<void>;
  readonly #writer: ReturnType<Stream["writable"]["getWriter"]>;
  readonly #requests: ConnectionRequests;
  readonly #stop: AbortController = new AbortController();

  constructor(world: Pick<World, "log">, stream: Stream, requests: ConnectionRequests) {
    const reader = stream.readable.getReader();
    this.#writer = stream.writable.getWriter();
    this.#requests = requests;
    this.closed = reader.closed.then(ignore).catch(ignore);
    this.readable = new ReadableStream<AnyMessage>({
      pull: async (controller) => {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    });
    this.writable = messageSink((message) => handled(this.send(message), world.log, "message to a client over HTTP"));
    this.#stop.signal.addEventListener("abort", () => {
      handled(reader.cancel(), world.log, "end of a client over HTTP");
    });
  }

  /** Waits while the client does not read: the SDK holds 1 MB for it. */
  send(message: object): Promise<void> {
    this.#requests.sent(message);
    return isMessage(message) ? this.#writer.write(message).catch(ignore) : Promise.resolve();
  }

  sendShared({ message }: SharedMessage): Promise<void> {
    return this.send(message);
  }

  close(): void {
    this.#stop.abort();
  }
}

function ignore(): void {}

function isMessage(message: object): message is AnyMessage {
  return "jsonrpc" in message && message.jsonrpc === "2.0";
}

/** The same token, or both the user of this machine: another token of the account may have fewer scopes. */
function isSame(one: Principal | undefined, other: Principal): boolean {
  return one !== undefined && one.tokenId === other.tokenId && one.account === other.account;
}

/** What the SDK reads; the token is not among it. */
function plainHeaders({ headers }: IncomingMessage): Record<string, string> {
  const names = ["accept", "content-type", CONNECTION_ID, "acp-session-id"];
  const found = names.map((name) => [name, headers[name]] as const);
  return Object.fromEntries(found.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

async function writeResponse(response: ServerResponse, result: Response): Promise<void> {
  response.writeHead(result.status, Object.fromEntries(result.headers));
  response.flushHeaders();
  const reader = result.body?.getReader();
  if (!reader) {
    response.end();
    return;
  }
  response.once("close", () => {
    reader.cancel().catch(ignore);
  });
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (response.destroyed) return;
    if (!response.write(part.value)) {
      await new Promise<void>((resolve) => {
        response.once("drain", resolve);
        response.once("close", resolve);
      });
    }
  }
  response.end();
}

const STATUSES = { malformed: 400, denied: 403, limited: 429 } as const;
