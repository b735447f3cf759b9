// The model that acp-check brings: a real HTTP server that keeps what it was offered and calls what a prompt wishes for.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { parseObject } from "../../../base/json/json.js";
import { closeListener, listenOnLoopback, readBody } from "../../../testing/index.js";
import { IMAGE_DATA } from "../test-servers.js";
import { latestInstruction, nextMove } from "./conversation.js";
import { FORMATS } from "./formats.js";

export const MODEL_NAME = "check";

/** One request that an agent made of the model. */
export interface ModelRequest {
  readonly format: string;
  /** The turn of the checker it belongs to. */
  readonly turn: string;
  readonly tools: readonly string[];
  readonly hasImage: boolean;
  /** The tool the model called in its answer. */
  readonly called?: string;
}

export class ModelServer implements AsyncDisposable {
  readonly origin: string;
  readonly #server: Server;
  readonly #requests: ModelRequest[] = [];
  #count = 0;

  private constructor(server: Server, origin: string) {
    this.#server = server;
    this.origin = origin;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  static async open(): Promise<ModelServer> {
    const server = createServer();
    server.on("error", () => {}); // listening rejects with it
    return new ModelServer(server, await listenOnLoopback(server));
  }

  /** As OpenAI's clients want it. */
  get url(): string {
    return `${this.origin}/v1`;
  }

  requestsOf(turn: string): readonly ModelRequest[] {
    return this.#requests.filter((request) => request.turn === turn);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await closeListener(this.#server);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", this.origin).pathname;
    const text = await readBody(request);
    const body = parseObject(text);
    const format = FORMATS.find((one) => one.takes(path));
    if (request.method !== "POST" || !format || !body) return this.#serveRest(request, path, response);
    const conversation = format.read(body);
    const instruction = latestInstruction(conversation.messages)?.instruction;
    const move = nextMove(conversation);
    if (instruction) {
      const tools = conversation.tools.map(({ name }) => name);
      const request = { format: format.name, turn: instruction.turn, tools, hasImage: text.includes(IMAGE_DATA) };
      this.#requests.push(move.kind === "call" ? { ...request, called: move.name } : request);
    }
    const written = format.write(move, { body, path, id: String((this.#count += 1)) });
    response.writeHead(200, { "content-type": written.type }).end(written.body);
  }

  /** Some agents ask which models there are before they use one. */
  #serveRest(request: IncomingMessage, path: string, response: ServerResponse): void {
    const isList = request.method === "GET" && path.endsWith("/models");
    const body = isList
      ? { object: "list", data: [{ id: MODEL_NAME, object: "model", type: "model", display_name: MODEL_NAME }] }
      : { error: { type: "not_found_error", message: `acp-check's model does not know ${request.method} ${path}` } };
    response.writeHead(isList ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify(body));
  }
}
