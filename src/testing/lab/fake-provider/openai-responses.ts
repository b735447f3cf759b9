// The wire format of OpenAI's Responses API (docs: "Streaming API responses", reference "Streaming events").
import { z } from "zod";
import { unreachable } from "../../../base/id.js";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import {
  bearerOf,
  blocksOf,
  COMMENT,
  type Fault,
  Issued,
  invalid,
  namedEvent,
  newId,
  type OfferedTool,
  type ProviderFormat,
  readBody,
  type StreamWriter,
  unmarkedBlocks,
} from "./format.js";
import { type Dialect, functionName, maxTools, openAiErrorBody, openAiFault, openAiMisfit } from "./openai-chat.js";
import { type AnswerUsage, argumentsText, type ContentPart, type Finish, type Incident, inPieces } from "./reply.js";

const CREATED_S = 1_790_000_000;

const DIALECT: Dialect = {
  toolPlace: (index) => `tools[${index}].parameters`,
  overflow: () => "Your input exceeds the context window of this model. Please adjust your input and try again.",
};

export function openAiResponses(): ProviderFormat {
  const issued = new Issued();
  return {
    name: "openai-responses",
    isFor: (path) => path.endsWith("/responses"),
    key: bearerOf,
    needsKey: true,
    read: ({ body }) => {
      const result = readBody(body, request, openAiMisfit, (read) => inputFaults(read, issued));
      if ("kind" in result) return result;
      const { read } = result;
      const found = read.input.flatMap(({ type, tools = [] }) => (type === "tool_search_output" ? tools : []));
      // A tool that is no function keeps its place, by which the others are named.
      const tools = [...read.tools, ...found].map(({ name = "", parameters: schema, strict }) => {
        return { name, schema, strict: strict === true };
      });
      return {
        tools,
        cacheBlocks: () => unmarkedBlocks(...read.tools, ...read.input),
        stream: (usage) => new ResponseStream(read, tools, usage, issued),
      };
    },
    fault: (fault, tools) => openAiFault(fault, tools, DIALECT),
    error: (message, code) => openAiErrorBody(message, code),
  };
}

const tool = z.looseObject({
  type: z.string().optional(),
  name: functionName.optional(),
  execution: z.string().optional(),
  parameters: z.custom<JsonObject>(isJsonObject).optional(),
  strict: z.boolean().nullish(),
});

const part = z.looseObject({ type: z.string(), text: z.string().regex(/\S/, "empty string.").optional() });

const item = z.looseObject({
  id: z.string().optional(),
  type: z.string().default("message"),
  role: z.string().optional(),
  name: functionName.optional(),
  call_id: z.string().default(""),
  encrypted_content: z.string().nullish(),
  content: z.preprocess((content) => blocksOf(content, "input_text"), z.array(part).optional()),
  output: z.preprocess((output) => blocksOf(output, "input_text"), z.array(part).optional()),
  tools: z.array(tool).optional(),
});
type Item = z.infer<typeof item>;

const request = z.looseObject({
  model: z.string("Missing required parameter: 'model'."),
  store: z.boolean().default(true),
  include: z.array(z.string()).default([]),
  reasoning: z.object({ effort: z.string().nullish(), summary: z.string().nullish() }).optional(),
  tools: z
    .array(tool)
    .max(...maxTools)
    .default([]),
  input: z.preprocess(
    (input) => (typeof input === "string" ? [{ role: "user", content: input }] : input),
    z.array(item).min(1, "Missing required parameter: 'input'."),
  ),
});
type Request = z.infer<typeof request>;

type OutputItem = JsonObject & { readonly id: string };

class ResponseStream implements StreamWriter {
  readonly ping: string = COMMENT;
  readonly #request: Request;
  readonly #tools: readonly OfferedTool[];
  readonly #usage: AnswerUsage;
  readonly #issued: Issued;
  readonly #id = newId("resp_");
  readonly #output: OutputItem[] = [];
  #sequence = -1;
  #signature: string | undefined;

  constructor(request: Request, tools: readonly OfferedTool[], usage: AnswerUsage, issued: Issued) {
    this.#request = request;
    this.#tools = tools;
    this.#usage = usage;
    this.#issued = issued;
  }

  start(): string[] {
    return [
      this.#response("response.created", { status: "in_progress" }),
      this.#response("response.in_progress", { status: "in_progress" }),
    ];
  }

  *part(part: ContentPart): Iterable<string | Incident> {
    switch (part.kind) {
      case "text":
        yield* this.#message(part);
        break;
      case "thought":
        yield* this.#thought(part);
        break;
      case "tool_call":
        yield* part.isSearch === true && this.#hasSearch() ? this.#search(part) : this.#call(part);
        break;
      case "file":
        throw new Error("this fake of the Responses API has no pictures in answers");
      default:
        unreachable(part);
    }
  }

  fault(fault: Fault): string[] {
    const { code, message } = openAiFault(fault, this.#tools, DIALECT).body.error;
    const error = { code: code ?? "server_error", message };
    return [this.#response("response.failed", { status: "failed", error, output: this.#output })];
  }

  end(finish: Finish): string[] {
    const rest = { output: this.#output, usage: usageOf(this.#usage) };
    if (finish === "stop" || finish === "tool_calls") {
      return [this.#response("response.completed", { ...rest, status: "completed" })];
    }
    const reason = finish === "length" ? "max_output_tokens" : "content_filter";
    const ending = { status: "incomplete", incomplete_details: { reason } };
    return [this.#response("response.incomplete", { ...rest, ...ending })];
  }

  *#message(part: Extract<ContentPart, { kind: "text" }>): Iterable<string | Incident> {
    const item = { id: newId("msg_"), type: "message", role: "assistant" };
    const place = { item_id: item.id, output_index: this.#output.length, content_index: 0 };
    const empty = { type: "output_text", annotations: [], logprobs: [], text: "" };
    const whole = { ...empty, text: part.text };
    yield this.#added({ ...item, status: "in_progress", content: [] });
    yield this.#event("response.content_part.added", { ...place, part: empty });
    yield* inPieces(part.text, part, (delta) =>
      this.#event("response.output_text.delta", { ...place, delta, logprobs: [] }),
    );
    yield this.#event("response.output_text.done", { ...place, text: part.text, logprobs: [] });
    yield this.#event("response.content_part.done", { ...place, part: whole });
    yield this.#done({ ...item, status: "completed", content: [whole] });
  }

  *#thought(part: Extract<ContentPart, { kind: "thought" }>): Iterable<string | Incident> {
    const id = newId("rs_");
    const { reasoning, include } = this.#request;
    // Summaries come only when asked for.
    const text = reasoning?.summary && part.hidden !== true ? part.text : "";
    const signature = this.#issued.sign(part.text, text);
    this.#signature = signature;
    const isEncrypted = include.includes("reasoning.encrypted_content");
    const item = { id, type: "reasoning", ...(isEncrypted && { encrypted_content: signature }) };
    const place = { item_id: id, output_index: this.#output.length, summary_index: 0 };
    const summary = (shown: string) => ({ type: "summary_text", text: shown });
    yield this.#added({ ...item, summary: [] });
    if (text !== "") {
      yield this.#event("response.reasoning_summary_part.added", { ...place, part: summary("") });
      yield* inPieces(text, part, (delta) => this.#event("response.reasoning_summary_text.delta", { ...place, delta }));
      yield this.#event("response.reasoning_summary_text.done", { ...place, text });
      yield this.#event("response.reasoning_summary_part.done", { ...place, part: summary(text) });
    } else if (part.after) yield part.after.happens;
    yield this.#done({ ...item, summary: text === "" ? [] : [summary(text)] });
  }

  *#call(part: Extract<ContentPart, { kind: "tool_call" }>): Iterable<string | Incident> {
    const item = { id: newId("fc_"), type: "function_call", call_id: part.id ?? newId("call_"), name: part.name };
    if (this.#signature !== undefined) this.#issued.bind(item.call_id, this.#signature);
    const json = argumentsText(part.arguments);
    const place = { item_id: item.id, output_index: this.#output.length };
    yield this.#added({ ...item, status: "in_progress", arguments: "" });
    yield* inPieces(json, part, (delta) => this.#event("response.function_call_arguments.delta", { ...place, delta }));
    yield this.#event("response.function_call_arguments.done", { ...place, arguments: json });
    yield this.#done({ ...item, status: "completed", arguments: json });
  }

  /** A search that the client runs: its arguments come whole. */
  *#search(part: Extract<ContentPart, { kind: "tool_call" }>): Iterable<string | Incident> {
    const callId = part.id ?? newId("call_");
    const item = { id: newId("tsc_"), type: "tool_search_call", execution: "client", call_id: callId };
    yield this.#added({ ...item, status: "in_progress", arguments: {} });
    if (part.after) yield part.after.happens;
    const args = parseJson(argumentsText(part.arguments));
    yield this.#done({ ...item, status: "completed", arguments: args.ok ? args.value : {} });
  }

  #hasSearch(): boolean {
    return this.#request.tools.some(({ type, execution }) => type === "tool_search" && execution === "client");
  }

  #added(item: OutputItem): string {
    return this.#event("response.output_item.added", { output_index: this.#output.length, item });
  }

  #done(item: OutputItem): string {
    this.#output.push(item);
    return this.#event("response.output_item.done", { output_index: this.#output.length - 1, item });
  }

  #response(type: string, rest: JsonObject): string {
    const { model, reasoning = { effort: null, summary: null }, store } = this.#request;
    const head = { id: this.#id, object: "response", created_at: CREATED_S, model, reasoning, store };
    const unset = { error: null, incomplete_details: null, output: [], usage: null };
    return this.#event(type, { response: { ...head, ...unset, parallel_tool_calls: true, tools: [], ...rest } });
  }

  #event(type: string, data: JsonObject): string {
    this.#sequence += 1;
    return namedEvent({ type, sequence_number: this.#sequence, ...data });
  }
}

function usageOf(usage: AnswerUsage): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens = 0, thoughtTokens = 0 } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: thoughtTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

const INPUT_PARTS = ["input_text", "input_image", "input_file", "input_audio"];
const OUTPUT_PARTS = ["output_text", "refusal"];
const ITEM_PREFIXES: Readonly<Record<string, string>> = { function_call: "fc", reasoning: "rs", message: "msg" };

function* inputFaults({ input, store }: Request, issued: Issued): Iterable<Fault> {
  const ids = new Set<string>();
  for (const [index, one] of input.entries()) {
    const { id, type, role } = one;
    const at = `input[${index}]`;
    const prefix = ITEM_PREFIXES[type];
    if (type === "item_reference") {
      // Items are not kept where `store` is false, so nothing can refer to them.
      if (!store)
        yield invalid(
          `Item with id '${id ?? ""}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
          "input",
        );
    } else if (id !== undefined) {
      if (prefix !== undefined && !id.startsWith(prefix))
        yield invalid(`Invalid '${at}.id': '${id}'. Expected an ID that begins with '${prefix}'.`, `${at}.id`);
      if (ids.has(id))
        yield invalid(
          `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
          "input",
        );
      ids.add(id);
    }
    if (role !== undefined) yield* partFaults(one.content, role === "assistant" ? OUTPUT_PARTS : INPUT_PARTS, at);
    if (type === "function_call_output") yield* partFaults(one.output, INPUT_PARTS, at);
    if (type === "function_call" && one.name === undefined) yield invalid(`Invalid '${at}.name'.`, `${at}.name`);
    if (type === "reasoning") yield* reasoningFaults(one, input[index + 1], issued);
  }
  yield* pairFaults(input, issued);
}

function* partFaults(parts: Item["content"], allowed: readonly string[], at: string): Iterable<Fault> {
  if (!parts || parts.length === 0)
    yield invalid(`Invalid '${at}': empty string, or empty array. Expected a non-empty array.`, at, "empty_array");
  const wrong = parts?.find(({ type }) => !allowed.includes(type));
  const supported = allowed.map((type) => `'${type}'`).join(", ");
  if (wrong) yield invalid(`Invalid value: '${wrong.type}'. Supported values are: ${supported}.`, at, "invalid_value");
}

function* reasoningFaults(reasoning: Item, next: Item | undefined, issued: Issued): Iterable<Fault> {
  const { id = "", encrypted_content: encrypted } = reasoning;
  if (encrypted && issued.shownWith(encrypted) === undefined)
    yield invalid(
      `The encrypted content for item ${id} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
      "input",
      "invalid_encrypted_content",
    );
  if (!next || next.role === "user" || next.type === "function_call_output")
    yield invalid(`Item '${id}' of type 'reasoning' was provided without its required following item.`, "input");
}

/** Each call has one output after it, and each output a call before it. */
function* pairFaults(items: readonly Item[], issued: Issued): Iterable<Fault> {
  const open = new Set<string>();
  const signatures = new Set(items.map(({ encrypted_content: encrypted }) => encrypted));
  const turn = items.findLastIndex(({ role }) => role === "user");
  for (const [index, { type, role, id, call_id: callId }] of items.entries()) {
    // Thoughts of turns that are over may be left out.
    const signature = type === "function_call" && index > turn ? issued.signatureOf(callId) : undefined;
    if (signature !== undefined && !signatures.has(signature))
      yield invalid(
        `Item '${id ?? callId}' of type 'function_call' was provided without its required 'reasoning' item.`,
        "input",
      );
    if (type === "function_call" || type === "tool_search_call") open.add(callId);
    if (type === "tool_search_output" && !open.delete(callId))
      yield invalid(`No tool search call found for tool search output with call_id ${callId}.`, "input");
    if (type === "function_call_output" && !open.delete(callId))
      yield invalid(`No tool call found for function call output with call_id ${callId}.`, "input");
    if (role === "user" && open.size > 0) break; // what comes later is too late
  }
  for (const lost of open) yield invalid(`No tool output found for function call ${lost}.`, "input");
}
