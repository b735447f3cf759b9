// The model that acp-check brings: a real HTTP server that keeps what it was offered and calls what a prompt wishes for.
import type { IncomingMessage, ServerResponse } from "node:http";
import { isJsonObject, parseJson } from "../../../base/json/json.js";
import { type Listening, listen, readBody } from "../http.js";
import { IMAGE_DATA } from "../server/script.js";
import { anthropicFormat } from "./anthropic.js";
import { chatFormat } from "./chat.js";
import { latestWish, nextMove } from "./conversation.js";
import type { ModelFormat } from "./format.js";
import { geminiFormat } from "./gemini.js";
import { responsesFormat } from "./responses.js";

export const MODEL_NAME = "check";

const FORMATS: readonly ModelFormat[] = [chatFormat, responsesFormat, anthropicFormat, geminiFormat];

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
  readonly #listening: Listening;
  readonly #requests: ModelRequest[] = [];
  #count = 0;

  private constructor(listening: Listening) {
    this.#listening = listening;
  }

  static async open(): Promise<ModelServer> {
    let serve: (request: IncomingMessage, response: ServerResponse) => Promise<void> = async () => {};
    const model = new ModelServer(await listen((request, response) => serve(request, response)));
    serve = (request, response) => model.#serve(request, response);
    return model;
  }

  get origin(): string {
    return this.#listening.origin;
  }

  /** As OpenAI's clients want it. */
  get url(): string {
    return `${this.origin}/v1`;
  }

  requestsOf(turn: string): readonly ModelRequest[] {
    return this.#requests.filter((request) => request.turn === turn);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listening.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", this.origin).pathname;
    const text = await readBody(request);
    const parsed = parseJson(text);
    const format = FORMATS.find((one) => one.takes(path));
    if (request.method !== "POST" || !format || !parsed.ok || !isJsonObject(parsed.value)) {
      this.#serveRest(request, path, response);
      return;
    }
    const body = parsed.value;
    const conversation = format.read(body);
    const wish = latestWish(conversation.messages)?.wish;
    const move = nextMove(conversation);
    if (wish) {
      const tools = conversation.tools.map(({ name }) => name);
      const request = { format: format.name, turn: wish.turn, tools, hasImage: text.includes(IMAGE_DATA) };
      this.#requests.push(move.kind === "call" ? { ...request, called: move.name } : request);
    }
    this.#count += 1;
    const id = `${this.#count}`;
    const written = format.write(move, { body, path, id });
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
