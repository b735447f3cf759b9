// The peers of a log-in in tests: a person's browser, and a listener that no client may contact.
import { createServer, type Server } from "node:http";
import { closeListener, listenOnLoopback } from "../../kit/loopback.js";

/** Where the page sends the browser: the redirect URI with code and state. Nothing is sent there. */
export async function visit(url: string | URL): Promise<string> {
  let here = new URL(url);
  for (let hops = 0; hops < 10; hops++) {
    const response = await fetch(here, { redirect: "manual" });
    const text = await response.text();
    const location = response.headers.get("location");
    if (location === null)
      throw new Error(`the page answered ${response.status} and sends nobody back: ${text.slice(0, 300)}`);
    const next = new URL(location, here);
    // A page of the server itself, not yet the way back.
    if (!next.searchParams.has("code") && !next.searchParams.has("error")) here = next;
    else return next.href;
  }
  throw new Error("the pages lead in a circle");
}

/** Follows the redirect to the redirect URI too. Resolves with the page shown there. */
export async function logIn(url: string | URL): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(await visit(url));
  return { status: response.status, text: await response.text() };
}

/** Counts connections and requests. Tests point a client at it to prove that the client does not follow. */
export class Canary implements AsyncDisposable {
  /** `http://127.0.0.1:<port>`, or at the address it was given. */
  readonly origin: string;
  readonly requests: string[] = [];
  /** Connections, also those that never became a request. */
  connections = 0;
  readonly #server: Server;

  constructor(server: Server, origin: string) {
    this.#server = server;
    this.origin = origin;
    server.on("connection", () => (this.connections += 1));
    server.on("request", (request, response) => {
      this.requests.push(`${request.method ?? ""} ${request.url ?? ""}`);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await closeListener(this.#server);
  }
}

/** A client that tries https gets no answer but is counted. */
export async function canary(address?: string): Promise<Canary> {
  const server = createServer();
  server.on("error", () => {}); // no file descriptors left: the test sees no connection
  return new Canary(server, await listenOnLoopback(server, address));
}
