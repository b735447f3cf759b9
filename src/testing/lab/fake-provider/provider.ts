// A model provider over HTTP on a loopback port: refuses requests that the real one would, answers by script, records requests.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import { Feed, type WaitOptions } from "../../kit/feed.js";
import { closeListener, listenOnLoopback, readBody } from "../../kit/loopback.js";
import { anthropicMessages } from "./anthropic.js";
import {
  type Accepted,
  type Asked,
  type Fault,
  type FormatName,
  headerOf,
  type OfferedTool,
  PrefixCache,
  type ProviderFormat,
  tokensOf,
} from "./format.js";
import { geminiGenerate } from "./gemini.js";
import { openAiChat } from "./openai-chat.js";
import { openAiResponses } from "./openai-responses.js";
import { type Answer, type AnswerUsage, argumentsText, type ProviderReply, type ProviderRequest } from "./reply.js";
import { sendFault, sendJson, sendReply } from "./send.js";

export type ReplyScript = (request: ProviderRequest) => ProviderReply;

/** What is wrong with a tool's schema; nothing when the list is empty. */
export type SchemaFaults = (tool: OfferedTool, format: FormatName) => readonly string[];

export interface FakeProviderOptions {
  /** The only key it takes. Any when left out; but the providers that need one refuse requests without. */
  readonly apiKey?: string;
  /** The models it lists; it has no list when left out. */
  readonly models?: readonly FakeModel[];
  /** Requests of more tokens are refused as too long. */
  readonly contextTokens?: number;
  /** Requests that offer a tool with such faults are refused. Schemas are not looked at when left out. */
  readonly schemaFaults?: SchemaFaults;
  /** Whether such a refusal says which tool it is. True when left out. */
  readonly namesRefusedTools?: boolean;
  /** Each event leaves in pieces of that many bytes, as a network may tear it. */
  readonly tearBytes?: number;
}

export interface Refusal {
  readonly request: ProviderRequest;
  readonly fault: Fault;
}

export class FakeProvider implements AsyncDisposable {
  /** `http://127.0.0.1:<port>`, for clients that add the version themselves. */
  readonly origin: string;
  /** The base URL to configure: `http://127.0.0.1:<port>/v1`. */
  readonly url: string;
  readonly #options: FakeProviderOptions;
  readonly #formats: readonly ProviderFormat[];
  readonly #caches = new Map<ProviderFormat, PrefixCache>();
  readonly #server: Server;
  readonly #requests = new Feed<ProviderRequest>("request to the provider");
  /** Requests that broke a rule of the provider's, however they were answered later. */
  readonly refusals: Refusal[] = [];
  readonly #queue: ProviderReply[] = [];
  readonly #closing = new AbortController();
  #script: ReplyScript | undefined;

  constructor(server: Server, origin: string, options: FakeProviderOptions) {
    this.#server = server;
    this.#options = options;
    this.#formats = [anthropicMessages(), openAiChat(), openAiResponses(), geminiGenerate()];
    this.origin = origin;
    this.url = `${origin}/v1`;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
  }

  /** Answers for the next requests, one each, in order. A request that is refused uses none. */
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
    const { method, headers } = incoming;
    const path = new URL(incoming.url ?? "/", this.url).pathname;
    const { models } = this.#options;
    const list = method === "GET" && models ? modelList(path, headers, models) : undefined;
    if (list) return sendJson(response, 200, list);
    const format = method === "POST" ? this.#formats.find((candidate) => candidate.isFor(path)) : undefined;
    if (!format) return sendJson(response, 404, { error: `the fake provider has no ${method} ${path}` });
    const body = parseJson(await readBody(incoming));
    if (!body.ok || !isJsonObject(body.value))
      return sendJson(response, 400, format.error("the body is no JSON object", "invalid_request_error"));
    const aborted = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished) aborted.abort(new DOMException("the client went away", "AbortError"));
    });
    const request = { path, headers, body: body.value, aborted: aborted.signal };
    const read = this.#judge(format, request);
    if ("fault" in read) this.refusals.push({ request, fault: read.fault });
    this.#requests.push(request);
    if ("fault" in read) return sendFault(format.fault(read.fault, read.tools), response);
    await sendReply(this.#replyFor(request), {
      format,
      accepted: read,
      response,
      stop: AbortSignal.any([aborted.signal, this.#closing.signal]),
      tearBytes: this.#options.tearBytes,
      usageOf: (answer) => answer.usage ?? this.#measure(format, read, answer),
    });
  }

  #judge(format: ProviderFormat, request: ProviderRequest): Accepted | Pick<Refusal & Accepted, "fault" | "tools"> {
    const { apiKey, schemaFaults, namesRefusedTools = true } = this.#options;
    const { contextTokens: limit = Number.POSITIVE_INFINITY } = this.#options;
    const key = format.key(request.headers);
    const mayUse = apiKey === undefined ? !format.needsKey || key !== undefined : key === apiKey;
    const read = mayUse ? format.read(request) : ({ kind: "unauthorized" } as const);
    if ("kind" in read) return { fault: read, tools: [] };
    const { tools } = read;
    for (const tool of schemaFaults ? tools : []) {
      const [detail] = schemaFaults?.(tool, format.name) ?? [];
      const named = namesRefusedTools ? { tool: tool.name } : {};
      if (detail !== undefined) return { fault: { kind: "tool_schema", detail, ...named }, tools };
    }
    const tokens = tokensOf(JSON.stringify(request.body));
    return tokens > limit ? { fault: { kind: "context_overflow", tokens, limit }, tools } : read;
  }

  #replyFor(request: ProviderRequest): ProviderReply {
    const scripted = this.#queue.shift() ?? this.#script?.(request);
    const message = "the fake provider has no reply left for this request";
    return scripted ?? { kind: "error", status: 500, message, code: "no_reply" };
  }

  #measure(format: ProviderFormat, read: Accepted, { parts }: Pick<Answer, "parts">): AnswerUsage {
    const isExplicit = format.name === "anthropic";
    const cache = this.#caches.get(format) ?? new PrefixCache();
    this.#caches.set(format, cache);
    const measured = cache.measure(read.cacheBlocks(), isExplicit);
    const outputTokens = parts.reduce((sum, part) => {
      if (part.kind === "tool_call") return sum + tokensOf(argumentsText(part.arguments));
      return part.kind === "text" || part.kind === "thought" ? sum + tokensOf(part.text) : sum;
    }, 1);
    const { total: inputTokens, read: cachedInputTokens, written: cacheWriteTokens } = measured;
    return { inputTokens, outputTokens, cachedInputTokens, ...(isExplicit && { cacheWriteTokens }) };
  }
}

export async function fakeProvider(options: FakeProviderOptions = {}): Promise<FakeProvider> {
  const server = createServer();
  server.on("error", () => {}); // for lack of file descriptors: listening rejects with it
  return new FakeProvider(server, await listenOnLoopback(server), options);
}

export interface FakeModel {
  readonly id: string;
  readonly contextTokens?: number;
  readonly maxOutputTokens?: number;
}

const CREATED_S = 1_790_000_000;

/** What a GET of this path is answered with; undefined when it is for no list of models. */
function modelList(path: string, headers: Asked["headers"], models: readonly FakeModel[]): JsonObject | undefined {
  if (path === "/v1beta/models") {
    const supportedGenerationMethods = ["generateContent", "countTokens"];
    const listed = models.map(({ id, contextTokens: inputTokenLimit, maxOutputTokens: outputTokenLimit }) => {
      const sizes = defined({ inputTokenLimit, outputTokenLimit });
      return { name: `models/${id}`, displayName: id, supportedGenerationMethods, ...sizes };
    });
    return { models: listed };
  }
  if (path !== "/v1/models") return undefined;
  if (headerOf(headers, "anthropic-version") === undefined) {
    // OpenAI's own list has no sizes; vLLM's has, under this name.
    const data = models.map(({ id, contextTokens: max_model_len }) => {
      return { id, object: "model", created: CREATED_S, owned_by: "fake", ...defined({ max_model_len }) };
    });
    return { object: "list", data };
  }
  const created_at = new Date(CREATED_S * 1000).toISOString();
  const data = models.map(({ id, contextTokens: max_input_tokens, maxOutputTokens: max_tokens }) => {
    return { type: "model", id, display_name: id, created_at, ...defined({ max_input_tokens, max_tokens }) };
  });
  return { data, has_more: false, first_id: models[0]?.id ?? null, last_id: models.at(-1)?.id ?? null };
}
