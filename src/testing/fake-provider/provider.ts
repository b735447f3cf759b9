// A model provider over HTTP on a loopback port that answers what the test says, and keeps what it was asked.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { unreachable } from "../../base/brand.js";
import { isJsonObject, parseJson } from "../../base/json.js";
import { Feed, type WaitOptions } from "../feed.js";
import { closeListener, listenOnLoopback, readBody } from "../loopback.js";
import type { ProviderFormat, StreamWriter } from "./format.js";
import { openAiChat } from "./openai-chat.js";
import type { AnswerPart, ProviderReply, ProviderRequest } from "./reply.js";

const FORMATS: readonly ProviderFormat[] = [openAiChat];

export type ReplyScript = (request: ProviderRequest) => ProviderReply;

interface Exchange {
  readonly format: ProviderFormat;
  readonly request: ProviderRequest;
  readonly response: ServerResponse;
}

export class FakeProvider implements AsyncDisposable {
  /** The base URL to configure: `http://127.0.0.1:<port>/v1`. */
  readonly url: string;
  readonly #server: Server;
  readonly #requests = new Feed<ProviderRequest>("request to the provider");
  readonly #queue: ProviderReply[] = [];
  readonly #closing = new AbortController();
  #script: ReplyScript | undefined;

  private constructor(server: Server, origin: string) {
    this.#server = server;
    this.url = `${origin}/v1`;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
  }

  static async start(): Promise<FakeProvider> {
    const server = createServer();
    return new FakeProvider(server, await listenOnLoopback(server));
  }

  /** Answers for the next requests, one each, in order. */
  reply(...replies: ProviderReply[]): void {
    this.#queue.push(...replies);
  }

  /** Answers every request for which no reply is queued. */
  replyWith(script: ReplyScript): void {
    this.#script = script;
  }

  /** Replies queued and not asked for. */
  get unusedReplies(): number {
    return this.#queue.length;
  }

  get requests(): readonly ProviderRequest[] {
    return this.#requests.items;
  }

  /** The request of that number, counted from 0, waiting for it if need be. */
  async awaitRequest(index = 0, options: Pick<WaitOptions, "timeoutMs"> = {}): Promise<ProviderRequest> {
    return await this.#requests.find(() => true, { ...options, from: index });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await closeListener(this.#server);
    this.#requests.end(new Error("the fake provider is closed"));
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(incoming.url ?? "/", this.url).pathname;
    const format = incoming.method === "POST" ? FORMATS.find((candidate) => candidate.isFor(path)) : undefined;
    if (!format) return sendJson(response, 404, { error: `the fake provider has no ${incoming.method} ${path}` });
    const body = parseJson(await readBody(incoming));
    if (!body.ok || !isJsonObject(body.value)) {
      return sendJson(response, 400, format.error("the body is no JSON object", "invalid_request_error"));
    }
    const aborted = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished) aborted.abort(new DOMException("the client went away", "AbortError"));
    });
    const request = { path, headers: incoming.headers, body: body.value, aborted: aborted.signal };
    const reply = this.#replyFor(request);
    this.#requests.push(request);
    await this.#send(reply, { format, request, response });
  }

  #replyFor(request: ProviderRequest): ProviderReply {
    const scripted = this.#queue.shift() ?? this.#script?.(request);
    const message = "the fake provider has no reply left for this request";
    return scripted ?? { kind: "error", status: 500, message, code: "no_reply" };
  }

  async #send(reply: ProviderReply, exchange: Exchange): Promise<void> {
    const { format, request, response } = exchange;
    switch (reply.kind) {
      case "answer": {
        if (format.wantsStream(request.body)) {
          const writer = await this.#stream(reply.parts, exchange);
          for (const event of writer.end(reply)) response.write(event);
          response.end();
          return;
        }
        for (const part of reply.parts) if (part.kind === "pause") await this.#pause(part.until, request);
        return sendJson(response, 200, format.whole(reply, request.body));
      }
      case "cut":
        await this.#stream(reply.parts, exchange);
        response.destroy();
        return;
      case "error": {
        for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
        return sendJson(response, reply.status, format.error(reply.message, reply.code ?? "server_error"));
      }
      case "raw":
        response.writeHead(reply.status, { "content-type": reply.contentType }).end(reply.body);
        return;
      default:
        return unreachable(reply);
    }
  }

  async #stream(parts: readonly AnswerPart[], { format, request, response }: Exchange): Promise<StreamWriter> {
    const writer = format.stream(request.body);
    const [first] = parts;
    if (first?.kind === "pause") await this.#pause(first.until, request); // not even the status comes before it
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    for (const event of writer.start()) response.write(event);
    for (const part of parts) {
      if (part.kind === "pause") await this.#pause(part.until, request);
      else for (const event of writer.part(part)) await written(response, event);
    }
    return writer;
  }

  /** Rejects when the client goes away or the provider is closed meanwhile: there is nobody to go on for. */
  async #pause(until: Promise<void>, request: ProviderRequest): Promise<void> {
    const stop = AbortSignal.any([request.aborted, this.#closing.signal]);
    stop.throwIfAborted();
    await Promise.race([
      until,
      new Promise<never>((_, reject) => stop.addEventListener("abort", () => reject(stop.reason), { once: true })),
    ]);
  }
}

export async function fakeProvider(): Promise<FakeProvider> {
  return await FakeProvider.start();
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** Each event leaves by itself before the next is made: a cut then comes after what was sent, not instead of it. */
async function written(response: ServerResponse, text: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    response.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
