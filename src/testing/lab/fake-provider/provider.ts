// A model provider over HTTP on a loopback port: refuses requests that the real one would, answers by script, records requests.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import { Feed, type WaitOptions } from "../../kit/feed.js";
import { closeListener, listenOnLoopback, readBody } from "../../kit/loopback.js";
import { anthropicMessages } from "./anthropic.js";
import {
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
import { type Exchange, sendFault, sendJson, sendReply } from "./send.js";

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
  readonly #refusals: Refusal[] = [];
  readonly #queue: ProviderReply[] = [];
  readonly #closing = new AbortController();
  #script: ReplyScript | undefined;

  private constructor(server: Server, origin: string, options: FakeProviderOptions) {
    this.#server = server;
    this.#options = options;
    this.#formats = [anthropicMessages(), openAiChat(), openAiResponses(), geminiGenerate()];
    this.origin = origin;
    this.url = `${origin}/v1`;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
  }

  static async start(options: FakeProviderOptions = {}): Promise<FakeProvider> {
    const server = createServer();
    server.on("error", () => {}); // for lack of file descriptors: listening rejects with it
    return new FakeProvider(server, await listenOnLoopback(server), options);
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

  /** Requests that broke a rule of the provider's, however they were answered later. */
  get refusals(): readonly Refusal[] {
    return this.#refusals;
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
    const exchange = this.#exchange(format, request, response);
    const fault = this.#judge(format, request);
    if (fault) this.#refusals.push({ request, fault });
    const reply = fault ? undefined : this.#replyFor(request);
    this.#requests.push(request);
    if (fault) sendFault(fault, exchange);
    else if (reply) await sendReply(reply, exchange);
  }

  #exchange(format: ProviderFormat, request: ProviderRequest, response: ServerResponse): Exchange {
    return {
      format,
      request,
      response,
      stop: AbortSignal.any([request.aborted, this.#closing.signal]),
      tearBytes: this.#options.tearBytes,
      usageOf: (answer) => answer.usage ?? this.#measure(format, request, answer),
    };
  }

  #judge(format: ProviderFormat, request: ProviderRequest): Fault | undefined {
    const { apiKey, contextTokens, schemaFaults, namesRefusedTools = true } = this.#options;
    const key = format.key(request);
    if (apiKey === undefined ? format.needsKey && key === undefined : key !== apiKey) return { kind: "unauthorized" };
    const said = format.check(request);
    if (said) return said;
    for (const tool of schemaFaults ? format.tools(request.body) : []) {
      const [detail] = schemaFaults?.(tool, format.name) ?? [];
      if (detail !== undefined) return { kind: "tool_schema", detail, ...(namesRefusedTools && { tool: tool.name }) };
    }
    const tokens = contextTokens === undefined ? 0 : tokensOf(JSON.stringify(request.body));
    return contextTokens !== undefined && tokens > contextTokens
      ? { kind: "context_overflow", tokens, limit: contextTokens }
      : undefined;
  }

  #replyFor(request: ProviderRequest): ProviderReply {
    const scripted = this.#queue.shift() ?? this.#script?.(request);
    const message = "the fake provider has no reply left for this request";
    return scripted ?? { kind: "error", status: 500, message, code: "no_reply" };
  }

  #measure(format: ProviderFormat, request: ProviderRequest, answer: Pick<Answer, "parts">): AnswerUsage {
    const isExplicit = format.name === "anthropic";
    const cache = this.#caches.get(format) ?? new PrefixCache();
    this.#caches.set(format, cache);
    const { total, read, written } = cache.measure(format.cacheBlocks(request.body), isExplicit);
    const texts = answer.parts.map((part) => {
      if (part.kind === "tool_call") return argumentsText(part.arguments);
      return part.kind === "text" || part.kind === "thought" ? part.text : "";
    });
    const outputTokens = texts.reduce((sum, text) => sum + tokensOf(text), 1);
    const inputTokens = total;
    return {
      inputTokens,
      outputTokens,
      cachedInputTokens: read,
      ...(isExplicit && { cacheWriteTokens: written }),
    };
  }
}

export async function fakeProvider(options?: FakeProviderOptions): Promise<FakeProvider> {
  return await FakeProvider.start(options);
}

export interface FakeModel {
  readonly id: string;
  readonly contextTokens?: number;
  readonly maxOutputTokens?: number;
}

const CREATED_S = 1_790_000_000;

/** What a GET of this path is answered with; undefined when it is for no list of models. */
function modelList(
  path: string,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  models: readonly FakeModel[],
): JsonObject | undefined {
  if (path === "/v1beta/models") return { models: models.map(geminiModel) };
  if (path !== "/v1/models") return undefined;
  if (headerOf(headers, "anthropic-version") === undefined) return { object: "list", data: models.map(openAiModel) };
  const ids = models.map(({ id }) => id);
  return {
    data: models.map(anthropicModel),
    has_more: false,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  };
}

function anthropicModel({ id, contextTokens, maxOutputTokens }: FakeModel): JsonObject {
  return {
    type: "model",
    id,
    display_name: id,
    created_at: new Date(CREATED_S * 1000).toISOString(),
    ...defined({ max_input_tokens: contextTokens, max_tokens: maxOutputTokens }),
  };
}

/** OpenAI's own list has no sizes; vLLM's has, under this name. */
function openAiModel({ id, contextTokens }: FakeModel): JsonObject {
  const size = contextTokens === undefined ? {} : { max_model_len: contextTokens };
  return { id, object: "model", created: CREATED_S, owned_by: "fake", ...size };
}

function geminiModel({ id, contextTokens, maxOutputTokens }: FakeModel): JsonObject {
  return {
    name: `models/${id}`,
    displayName: id,
    supportedGenerationMethods: ["generateContent", "countTokens"],
    ...defined({ inputTokenLimit: contextTokens, outputTokenLimit: maxOutputTokens }),
  };
}
