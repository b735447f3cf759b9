// The wire format of OpenAI's Responses API (docs: "Streaming API responses", reference "Streaming events").
import { unreachable } from "../../../base/id.js";
import { type JsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
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
  type WholeAnswer,
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
    wantsStream: ({ body }) => body["stream"] === true,
    key: ({ headers }) => bearerOf(headers),
    needsKey: true,
    check: ({ body }) => checkResponses(body, issued),
    tools: offeredTools,
    cacheBlocks,
    stream: ({ body }, usage) => new ResponseStream(body, usage, issued),
    whole: ({ body }, answer) => wholeResponse(body, answer, issued),
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

function reasoningItem(body: JsonObject, id: string, summary: string, signature: string): Item {
  return {
    id,
    type: "reasoning",
    summary: summary === "" ? [] : [{ type: "summary_text", text: summary }],
    ...(wantsEncrypted(body) && { encrypted_content: signature }),
  };
}

function messageItem(id: string, text: string | undefined): Item {
  const content = text === undefined ? [] : [{ type: "output_text", annotations: [], logprobs: [], text }];
  const status = text === undefined ? "in_progress" : "completed";
  return { id, type: "message", status, content, role: "assistant" };
}

function callItem(ids: { id: string; callId: string }, name: string, json: string | undefined): Item {
  const status = json === undefined ? "in_progress" : "completed";
  return { id: ids.id, type: "function_call", status, arguments: json ?? "", call_id: ids.callId, name };
}

function searchItem(ids: { id: string; callId: string }, args: JsonValue, status: string): Item {
  return { id: ids.id, type: "tool_search_call", execution: "client", call_id: ids.callId, status, arguments: args };
}

function hasToolSearch(body: JsonObject): boolean {
  return objectsIn(body, "tools").some(({ type, execution }) => type === "tool_search" && execution === "client");
}

class ResponseStream implements StreamWriter {
  readonly #body: JsonObject;
  readonly #usage: AnswerUsage;
  readonly #issued: Issued;
  readonly #id = newId("resp_");
  readonly #output: Item[] = [];
  #sequence = -1;
  #reasoning: { readonly id: string; readonly signature: string } | undefined;

  constructor(body: JsonObject, usage: AnswerUsage, issued: Issued) {
    this.#body = body;
    this.#usage = usage;
    this.#issued = issued;
  }

  start(): string[] {
    const response = responseOf(this.#body, this.#id, { status: "in_progress" });
    return [this.#event("response.created", { response }), this.#event("response.in_progress", { response })];
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
        yield* this.#call(part);
        break;
      case "file":
        throw new Error("this fake of the Responses API has no pictures in answers");
      default:
        unreachable(part);
    }
  }

  ping(): string {
    return COMMENT;
  }

  fault(fault: Fault): string[] {
    const { code, message } = openAiFault(fault, offeredTools(this.#body), DIALECT).body.error;
    const error = { code: code ?? "server_error", message };
    const response = responseOf(this.#body, this.#id, { status: "failed", error, output: this.#output });
    return [this.#event("response.failed", { response })];
  }

  end(finish: Finish): string[] {
    const rest = { output: this.#output, usage: usageOf(this.#usage), ...ending(finish) };
    const response = responseOf(this.#body, this.#id, rest);
    return [this.#event(isComplete(finish) ? "response.completed" : "response.incomplete", { response })];
  }

  *#message(part: Extract<ContentPart, { kind: "text" }>): Iterable<string | Incident> {
    const id = newId("msg_");
    const place = { item_id: id, output_index: this.#output.length, content_index: 0 };
    yield this.#added(messageItem(id, undefined));
    const empty = { type: "output_text", annotations: [], logprobs: [], text: "" };
    yield this.#event("response.content_part.added", { ...place, part: empty });
    yield* inPieces(part.text, part, (delta) =>
      this.#event("response.output_text.delta", { ...place, delta, logprobs: [] }),
    );
    yield this.#event("response.output_text.done", { ...place, text: part.text, logprobs: [] });
    yield this.#event("response.content_part.done", { ...place, part: { ...empty, text: part.text } });
    yield this.#done(messageItem(id, part.text));
  }

  *#thought(part: Extract<ContentPart, { kind: "thought" }>): Iterable<string | Incident> {
    const id = newId("rs_");
    const summary = showsThoughts(this.#body) && part.hidden !== true ? part.text : "";
    const signature = this.#issued.sign(part.text, summary);
    this.#reasoning = { id, signature };
    const place = { item_id: id, output_index: this.#output.length, summary_index: 0 };
    yield this.#added(reasoningItem(this.#body, id, "", signature));
    if (summary !== "") {
      yield this.#event("response.reasoning_summary_part.added", {
        ...place,
        part: { type: "summary_text", text: "" },
      });
      yield* inPieces(summary, part, (delta) =>
        this.#event("response.reasoning_summary_text.delta", { ...place, delta }),
      );
      yield this.#event("response.reasoning_summary_text.done", { ...place, text: summary });
      yield this.#event("response.reasoning_summary_part.done", {
        ...place,
        part: { type: "summary_text", text: summary },
      });
    } else if (part.after) yield part.after.happens;
    yield this.#done(reasoningItem(this.#body, id, summary, signature));
  }

  *#call(part: Extract<ContentPart, { kind: "tool_call" }>): Iterable<string | Incident> {
    if (part.isSearch === true && hasToolSearch(this.#body)) {
      yield* this.#search(part);
      return;
    }
    const ids = { id: newId("fc_"), callId: part.id ?? newId("call_") };
    if (this.#reasoning) this.#issued.bind(ids.callId, this.#reasoning.signature);
    const json = argumentsText(part.arguments);
    const place = { item_id: ids.id, output_index: this.#output.length };
    yield this.#added(callItem(ids, part.name, undefined));
    yield* inPieces(json, part, (delta) => this.#event("response.function_call_arguments.delta", { ...place, delta }));
    yield this.#event("response.function_call_arguments.done", { ...place, arguments: json });
    yield this.#done(callItem(ids, part.name, json));
  }

  /** A search that the client runs: its arguments come whole. */
  *#search(part: Extract<ContentPart, { kind: "tool_call" }>): Iterable<string | Incident> {
    const ids = { id: newId("tsc_"), callId: part.id ?? newId("call_") };
    yield this.#added(searchItem(ids, {}, "in_progress"));
    if (part.after) yield part.after.happens;
    const args = parseJson(argumentsText(part.arguments));
    yield this.#done(searchItem(ids, args.ok ? args.value : {}, "completed"));
  }

  #added(item: Item): string {
    return this.#event("response.output_item.added", { output_index: this.#output.length, item });
  }

  #done(item: Item): string {
    this.#output.push(item);
    return this.#event("response.output_item.done", { output_index: this.#output.length - 1, item });
  }

  #event(type: string, data: JsonObject): string {
    this.#sequence += 1;
    return namedEvent({ type, sequence_number: this.#sequence, ...data });
  }
}

function isComplete(finish: Finish): boolean {
  return finish === "stop" || finish === "tool_calls";
}

function ending(finish: Finish): JsonObject {
  if (isComplete(finish)) return { status: "completed" };
  const reason = finish === "length" ? "max_output_tokens" : "content_filter";
  return { status: "incomplete", incomplete_details: { reason } };
}

function responseOf(body: JsonObject, id: string, rest: JsonObject): JsonObject {
  return {
    id,
    object: "response",
    created_at: CREATED_S,
    error: null,
    incomplete_details: null,
    model: body["model"] ?? "fake",
    output: [],
    parallel_tool_calls: true,
    reasoning: body["reasoning"] ?? { effort: null, summary: null },
    store: body["store"] ?? true,
    tools: [],
    usage: null,
    ...rest,
  };
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

function wholeResponse(body: JsonObject, answer: WholeAnswer, issued: Issued): JsonObject {
  let signature: string | undefined;
  const output = answer.parts.map((part): JsonValue => {
    switch (part.kind) {
      case "text":
        return messageItem(newId("msg_"), part.text);
      case "thought": {
        const summary = showsThoughts(body) && part.hidden !== true ? part.text : "";
        signature = issued.sign(part.text, summary);
        return reasoningItem(body, newId("rs_"), summary, signature);
      }
      case "tool_call": {
        const ids = { id: newId("fc_"), callId: part.id ?? newId("call_") };
        if (signature !== undefined) issued.bind(ids.callId, signature);
        return callItem(ids, part.name, argumentsText(part.arguments));
      }
      case "file":
        throw new Error("this fake of the Responses API has no pictures in answers");
      default:
        return unreachable(part);
    }
  });
  return responseOf(body, newId("resp_"), { output, usage: usageOf(answer.usage), ...ending(answer.finish) });
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
