// A client of a gateway that may do everything wrong: raw HTTP, raw WebSocket, any header.
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect, type Socket } from "node:net";
import { WebSocket } from "ws";

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Place {
  readonly host: string;
  readonly port: number;
}

export interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Of a unix socket, instead of the place. */
  readonly socketPath?: string;
  /** Of this machine, to send from. */
  readonly from?: string;
}

export async function send(place: Place | undefined, given: RawRequest): Promise<HttpAnswer> {
  const { method = "GET", path = "/acp", headers = {}, body, socketPath, from } = given;
  const where =
    socketPath === undefined ? { host: place?.host, port: place?.port, localAddress: from } : { socketPath };
  return await new Promise((resolve, reject) => {
    const request = httpRequest({ ...where, method, path, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.once("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
      response.once("error", reject);
    });
    request.once("error", reject);
    request.end(body);
  });
}

export interface Frame {
  readonly id?: unknown;
  readonly result?: { readonly [key: string]: unknown };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  readonly method?: string;
  readonly params?: { readonly [key: string]: unknown };
}

/** One WebSocket; requests are answered by id, everything received is kept. */
export class WireClient {
  readonly web: WebSocket;
  readonly received: Frame[] = [];
  readonly ended: Promise<{ readonly code: number; readonly reason: string }>;
  #id = 0;
  readonly #waiting = new Set<() => void>();

  private constructor(web: WebSocket) {
    this.web = web;
    this.ended = new Promise((resolve) => {
      web.once("close", (code, reason) => {
        resolve({ code, reason: String(reason) });
        for (const wake of this.#waiting) wake();
      });
    });
    web.on("error", () => {});
    web.on("message", (data) => {
      const frame: Frame = JSON.parse(String(data));
      this.received.push(frame);
      for (const wake of this.#waiting) wake();
    });
  }

  /** Rejects with the HTTP status when the upgrade is refused. */
  static async open(url: string, headers: Readonly<Record<string, string>> = {}, from?: string): Promise<WireClient> {
    const options = { headers, perMessageDeflate: false, rejectUnauthorized: false, maxPayload: 2 ** 30 };
    const web = new WebSocket(url, from === undefined ? options : { ...options, localAddress: from });
    const client = new WireClient(web);
    await new Promise<void>((resolve, reject) => {
      web.once("open", resolve);
      web.once("unexpected-response", (request, response) => {
        reject(new Error(`HTTP ${response.statusCode}`));
        request.destroy();
      });
      web.once("error", reject);
    });
    return client;
  }

  async request(method: string, params: unknown = {}): Promise<Frame> {
    this.#id += 1;
    const id = this.#id;
    this.web.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return await this.next((frame) => frame.id === id && frame.method === undefined);
  }

  async initialize(meta?: object): Promise<Frame> {
    return await this.request("initialize", { protocolVersion: 1, _meta: meta ?? {} });
  }

  /** The first frame that fits, of those received already or later. */
  async next(fits: (frame: Frame) => boolean): Promise<Frame> {
    for (;;) {
      const found = this.received.find(fits);
      if (found) return found;
      if (this.web.readyState === WebSocket.CLOSED) throw new Error("the connection is over");
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }

  async close(): Promise<void> {
    this.web.close();
    await this.ended;
  }
}

/** Bytes as they are, without any HTTP client in between. */
export async function dial({ host, port }: Place, from?: string): Promise<Socket> {
  const socket = connect(from === undefined ? { host, port } : { host, port, localAddress: from });
  socket.on("error", () => {});
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  return socket;
}

/** Everything the other side says until it ends the connection. */
export async function untilEnd(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk) => (text += String(chunk)));
  if (!socket.destroyed) await new Promise<void>((resolve) => socket.once("close", () => resolve()));
  return text;
}
