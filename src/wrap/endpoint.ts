// Where bridges connect: a private socket; each token leads to one server of one session.
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { BRIDGE_PROTOCOL } from "../base/bridge.js";
import { isJsonObject, type JsonObject, parseJson } from "../base/json/json.js";
import { LineSplitter } from "../base/json/ndjson.js";
import { LIMITS } from "../base/limits.js";
import type { ServedPlace, ServeHandlers, ServePlace, World } from "../base/ports/world.js";
import { WRAP_LIMITS } from "./limits.js";

/** One MCP client, behind a bridge. */
export interface BridgeClient {
  receive(message: JsonObject): void;
  close(): void;
}

/** Begins a conversation; `send` writes to the bridge. */
export type AcceptBridge = (send: (message: object) => void) => BridgeClient;

type Servers = Map<string, { readonly accept: AcceptBridge; readonly sockets: Set<Duplex> }>;

export class Endpoint implements AsyncDisposable {
  readonly #world: World;
  readonly #place: ServedPlace;
  readonly #servers: Servers;

  private constructor(world: World, place: ServedPlace, servers: Servers) {
    this.#world = world;
    this.#place = place;
    this.#servers = servers;
  }

  static async open(world: World): Promise<Endpoint> {
    const servers: Servers = new Map();
    const handlers: ServeHandlers = {
      onRequest: (_request, response) => response.writeHead(404, { connection: "close" }).end(),
      onUpgrade: (request, socket, head) => accept(servers, request, socket, head),
      onRefused: (reason) => world.log.warn("wrap.bridge_refused", { reason }),
    };
    const listen = (place: ServePlace) => world.serve({ ...WRAP_LIMITS.endpoint, place }, handlers);
    const loopback = { host: "127.0.0.1", port: 0 };
    if (world.platform === "win32") return new Endpoint(world, await listen(loopback), servers);
    // The path of a socket has about 100 bytes: a long TMPDIR leaves no room for it.
    const path = join(world.files.scratchFolder(), "wrap.sock");
    const place = await listen({ path }).catch(() => listen(loopback));
    return new Endpoint(world, place, servers);
  }

  /** A path, or `127.0.0.1:PORT`. */
  get address(): string {
    return this.#place.address;
  }

  /** Returns the token that leads there. */
  add(accepts: AcceptBridge): string {
    const token = Buffer.from(this.#world.randomBytes(24)).toString("base64url");
    this.#servers.set(token, { accept: accepts, sockets: new Set() });
    return token;
  }

  /** Bridges that use it end. */
  remove(token: string): void {
    const server = this.#servers.get(token);
    this.#servers.delete(token);
    for (const socket of server?.sockets ?? []) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const token of [...this.#servers.keys()]) this.remove(token);
    await this.#place[Symbol.asyncDispose]();
  }
}

function accept(servers: Servers, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { authorization = "", upgrade } = request.headers;
  const server = servers.get(authorization.replace(/^Bearer /u, ""));
  if (!server || upgrade !== BRIDGE_PROTOCOL) {
    socket.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n");
    return;
  }
  server.sockets.add(socket);
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${BRIDGE_PROTOCOL}\r\n\r\n`);
  const client = server.accept((message) => {
    if (socket.destroyed) return;
    socket.write(`${JSON.stringify(message)}\n`);
    if (socket.writableLength > WRAP_LIMITS.unreadBytes) socket.destroy();
  });
  const lines = new LineSplitter(LIMITS.acpMaxLineBytes);
  const take = (chunk: Buffer) => {
    for (const line of lines.push(chunk)) {
      const parsed = line.kind === "line" ? parseJson(line.text) : undefined;
      if (parsed?.ok && isJsonObject(parsed.value)) client.receive(parsed.value);
      else if (!socket.destroyed) socket.write(`${JSON.stringify(UNREADABLE)}\n`);
    }
  };
  socket.once("close", () => {
    server.sockets.delete(socket);
    client.close();
  });
  socket.once("end", () => socket.end());
  socket.on("data", take);
  take(head);
}

const UNREADABLE = { jsonrpc: "2.0", id: null, error: { code: -32_700, message: "Parse error: no message" } };
