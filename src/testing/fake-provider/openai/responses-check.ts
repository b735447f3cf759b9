// Why OpenAI's Responses API would refuse a request, in its words.
import type { JsonObject } from "../../../base/json/json.js";
import { type Fault, invalid } from "../fault.js";
import type { Issued } from "../issued.js";
import { objectsIn, textField } from "../read-json.js";
import { functionsFault } from "./chat-check.js";

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const INPUT_PARTS = ["input_text", "input_image", "input_file", "input_audio"];
const ITEM_PREFIXES: Readonly<Record<string, string>> = { function_call: "fc", reasoning: "rs", message: "msg" };

export function checkResponses(body: JsonObject, issued: Issued): Fault | undefined {
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
