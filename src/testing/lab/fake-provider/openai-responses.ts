// The wire format of OpenAI's Responses API (docs: "Streaming API responses", reference "Streaming events").
import { unreachable } from "../../../base/id.js";
import { type JsonObject, parseJson } from "../../../base/json/json.js";
import {
  bearerOf,
  type CacheBlock,
  COMMENT,
  type Fault,
  Issued,
  invalid,
  listField,
  namedEvent,
  newId,
  type OfferedTool,
  objectField,
  objectsIn,
  type ProviderFormat,
  type StreamWriter,
  textField,
} from "./format.js";
import { functionsFault } from "./openai-chat.js";
import { type Dialect, openAiErrorBody, openAiFault } from "./openai-faults.js";
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
    key: ({ headers }) => bearerOf(headers),
    needsKey: true,
    check: ({ body }) => checkResponses(body, issued),
    tools: offeredTools,
    cacheBlocks,
    stream: ({ body }, usage) => new ResponseStream(body, usage, issued),
    fault: (fault, { body }) => openAiFault(fault, offeredTools(body), DIALECT),
    error: (message, code) => openAiErrorBody(message, code),
  };
}

function offeredTools(body: JsonObject): readonly OfferedTool[] {
  const found = objectsIn(body, "input").flatMap((item) =>
    item["type"] === "tool_search_output" ? objectsIn(item, "tools") : [],
  );
  // A tool that is no function keeps its place, by which the others are named.
  return [...objectsIn(body, "tools"), ...found].map((tool) => ({
    name: textField(tool, "name") ?? "",
    schema: objectField(tool, "parameters"),
    strict: tool["strict"] === true,
  }));
}

function cacheBlocks(body: JsonObject): readonly CacheBlock[] {
  return [...objectsIn(body, "tools"), ...objectsIn(body, "input")].map((block) => ({
    text: JSON.stringify(block),
    isMarked: false,
  }));
}

/** Summaries come only when asked for. */
function showsThoughts(body: JsonObject): boolean {
  return textField(objectField(body, "reasoning") ?? {}, "summary") !== undefined;
}

function wantsEncrypted(body: JsonObject): boolean {
  return listField(body, "include").includes("reasoning.encrypted_content");
}

type Item = JsonObject & { readonly id: string };

function hasToolSearch(body: JsonObject): boolean {
  return objectsIn(body, "tools").some(({ type, execution }) => type === "tool_search" && execution === "client");
}

class ResponseStream implements StreamWriter {
  readonly ping: string = COMMENT;
  readonly #body: JsonObject;
  readonly #usage: AnswerUsage;
  readonly #issued: Issued;
  readonly #id = newId("resp_");
  readonly #output: Item[] = [];
  #sequence = -1;
  #signature: string | undefined;

  constructor(body: JsonObject, usage: AnswerUsage, issued: Issued) {
    this.#body = body;
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
        yield* part.isSearch === true && hasToolSearch(this.#body) ? this.#search(part) : this.#call(part);
        break;
      case "file":
        throw new Error("this fake of the Responses API has no pictures in answers");
      default:
        unreachable(part);
    }
  }

  fault(fault: Fault): string[] {
    const { code, message } = openAiFault(fault, offeredTools(this.#body), DIALECT).body.error;
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
    const text = showsThoughts(this.#body) && part.hidden !== true ? part.text : "";
    const signature = this.#issued.sign(part.text, text);
    this.#signature = signature;
    const item = { id, type: "reasoning", ...(wantsEncrypted(this.#body) && { encrypted_content: signature }) };
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

  #added(item: Item): string {
    return this.#event("response.output_item.added", { output_index: this.#output.length, item });
  }

  #done(item: Item): string {
    this.#output.push(item);
    return this.#event("response.output_item.done", { output_index: this.#output.length - 1, item });
  }

  #response(type: string, rest: JsonObject): string {
    const { model = "fake", reasoning = { effort: null, summary: null }, store = true } = this.#body;
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

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const INPUT_PARTS = ["input_text", "input_image", "input_file", "input_audio"];
const ITEM_PREFIXES: Readonly<Record<string, string>> = { function_call: "fc", reasoning: "rs", message: "msg" };

function checkResponses(body: JsonObject, issued: Issued): Fault | undefined {
  if (textField(body, "model") === undefined)
    return invalid("Missing required parameter: 'model'.", "model", "missing_required_parameter");
  const functions = objectsIn(body, "tools").filter(({ type }) => type === "function");
  return (
    functionsFault(
      functions.map((tool) => textField(tool, "name") ?? ""),
      (index) => `tools[${index}].name`,
    ) ?? inputFault(body, issued)
  );
}

function inputFault(body: JsonObject, issued: Issued): Fault | undefined {
  if (typeof body["input"] === "string") return undefined;
  const items = objectsIn(body, "input");
  if (items.length === 0) return invalid("Missing required parameter: 'input'.", "input", "missing_required_parameter");
  const ids = new Set<string>();
  for (const [index, item] of items.entries()) {
    const said =
      idFault(item, index, ids) ??
      contentFault(item, index) ??
      referenceFault(item, body) ??
      callFault(item, index) ??
      reasoningFault(item, items[index + 1], issued);
    if (said) return said;
  }
  return pairsFault(items, issued);
}

function idFault(item: JsonObject, index: number, ids: Set<string>): Fault | undefined {
  const id = textField(item, "id");
  if (id === undefined || item["type"] === "item_reference") return undefined;
  const type = textField(item, "type") ?? "message";
  const prefix = ITEM_PREFIXES[type];
  if (prefix !== undefined && !id.startsWith(prefix))
    return invalid(
      `Invalid 'input[${index}].id': '${id}'. Expected an ID that begins with '${prefix}'.`,
      `input[${index}].id`,
      "invalid_value",
    );
  if (ids.has(id))
    return invalid(
      `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
      "input",
    );
  ids.add(id);
  return undefined;
}

/** Items are not kept where `store` is false, so nothing can refer to them. */
function referenceFault(item: JsonObject, body: JsonObject): Fault | undefined {
  if (item["type"] !== "item_reference" || body["store"] !== false) return undefined;
  return invalid(
    `Item with id '${textField(item, "id") ?? ""}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
    "input",
  );
}

function contentFault(item: JsonObject, index: number): Fault | undefined {
  const role = textField(item, "role");
  if (role === undefined) return undefined;
  const place = `input[${index}].content`;
  const text = textField(item, "content");
  const parts = objectsIn(item, "content");
  if (text === undefined ? parts.length === 0 : text.trim() === "")
    return invalid(`Invalid '${place}': empty array. Expected a non-empty array.`, place, "empty_array");
  const allowed = role === "assistant" ? ["output_text", "refusal"] : INPUT_PARTS;
  const wrong = parts.findIndex((part) => !allowed.includes(textField(part, "type") ?? ""));
  if (wrong >= 0)
    return invalid(
      `Invalid value: '${textField(parts[wrong] ?? {}, "type") ?? ""}'. Supported values are: ${allowed.map((type) => `'${type}'`).join(", ")}.`,
      `${place}[${wrong}]`,
      "invalid_value",
    );
  const empty = parts.findIndex((part) => textField(part, "text")?.trim() === "");
  return empty < 0 ? undefined : invalid(`Invalid '${place}[${empty}].text': empty string.`, `${place}[${empty}].text`);
}

function callFault(item: JsonObject, index: number): Fault | undefined {
  if (item["type"] === "function_call") {
    const place = `input[${index}].name`;
    const message = `Invalid '${place}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
    return NAME.test(textField(item, "name") ?? "") ? undefined : invalid(message, place, "invalid_value");
  }
  if (item["type"] !== "function_call_output" || typeof item["output"] === "string") return undefined;
  const place = `input[${index}].output`;
  const parts = objectsIn(item, "output");
  if (parts.length === 0)
    return invalid(`Invalid type for '${place}': expected one of a string or array.`, place, "invalid_type");
  const wrong = parts.findIndex((part) => !INPUT_PARTS.includes(textField(part, "type") ?? ""));
  return wrong < 0
    ? undefined
    : invalid(`Invalid value: '${textField(parts[wrong] ?? {}, "type") ?? ""}'.`, `${place}[${wrong}]`);
}

function reasoningFault(item: JsonObject, next: JsonObject | undefined, issued: Issued): Fault | undefined {
  if (item["type"] !== "reasoning") return undefined;
  const id = textField(item, "id") ?? "";
  const encrypted = textField(item, "encrypted_content");
  if (encrypted !== undefined && issued.shownWith(encrypted) === undefined)
    return invalid(
      `The encrypted content for item ${id} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
      "input",
      "invalid_encrypted_content",
    );
  const isFollowed = next !== undefined && next["role"] !== "user" && next["type"] !== "function_call_output";
  if (isFollowed) return undefined;
  return invalid(`Item '${id}' of type 'reasoning' was provided without its required following item.`, "input");
}

/** Each call has one output after it, and each output a call before it. */
function pairsFault(items: readonly JsonObject[], issued: Issued): Fault | undefined {
  const open = new Set<string>();
  const answered = new Set<string>();
  const signatures = new Set(items.flatMap((item) => textField(item, "encrypted_content") ?? []));
  const turn = items.findLastIndex(({ role }) => role === "user");
  for (const [index, item] of items.entries()) {
    const callId = textField(item, "call_id") ?? "";
    if (item["type"] === "tool_search_call") open.add(callId);
    else if (item["type"] === "tool_search_output") {
      if (!open.delete(callId))
        return invalid(`No tool search call found for tool search output with call_id ${callId}.`, "input");
    } else if (item["type"] === "function_call") {
      // Thoughts of turns that are over may be left out.
      const signature = index > turn ? issued.signatureOf(callId) : undefined;
      if (signature !== undefined && !signatures.has(signature))
        return invalid(
          `Item '${textField(item, "id") ?? callId}' of type 'function_call' was provided without its required 'reasoning' item.`,
          "input",
        );
      open.add(callId);
    } else if (item["type"] === "function_call_output") {
      if (!open.delete(callId) || answered.has(callId))
        return invalid(`No tool call found for function call output with call_id ${callId}.`, "input");
      answered.add(callId);
    }
    if (item["role"] === "user" && open.size > 0) break; // what comes later is too late
  }
  const [lost] = open;
  return lost === undefined ? undefined : invalid(`No tool output found for function call ${lost}.`, "input");
}
