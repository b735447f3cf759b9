// A listener nobody has any business with: what a client is lured to, and must not touch.
import { createServer, type Server } from "node:http";
import { closeListener, listenOnLoopback } from "../kit/loopback.js";

export class Canary implements AsyncDisposable {
  /** `http://127.0.0.1:<port>`, or at the address it was given. */
  readonly origin: string;
  readonly #server: Server;
  readonly #requests: string[] = [];
  #connections = 0;

  private constructor(server: Server, origin: string) {
    this.#server = server;
    this.origin = origin;
    server.on("connection", () => (this.#connections += 1));
    server.on("request", (request, response) => {
      this.#requests.push(`${request.method ?? ""} ${request.url ?? ""}`);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  }

  static async start(address?: string): Promise<Canary> {
    const server = createServer();
    server.on("error", () => {}); // for lack of file descriptors: the test sees that nobody came
    return new Canary(server, await listenOnLoopback(server, address));
  }

  /** Connections, also those that never became a request. */
  get connections(): number {
    return this.#connections;
  }

  get requests(): readonly string[] {
    return this.#requests;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await closeListener(this.#server);
  }
}

/** Whoever asks for https gets no answer, but is counted: a connection is one too many already. */
export async function canary(address?: string): Promise<Canary> {
  return await Canary.start(address);
}
