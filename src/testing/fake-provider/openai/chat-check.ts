// Why a Chat Completions server would refuse a request: OpenAI's rules in its words, and what stricter servers add.
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import { type Fault, invalid } from "../fault.js";
import { objectField, objectsIn, textField } from "../read-json.js";

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const MAX_TOOLS = 128;
const ROLES = ["system", "developer", "user", "assistant", "tool"];
const USER_PARTS = ["text", "image_url", "input_audio", "file"];

export function checkChat(body: JsonObject): Fault | undefined {
  if (textField(body, "model") === undefined) return invalid("you must provide a model parameter");
  return toolsFault(body) ?? messagesFault(objectsIn(body, "messages"));
}

/** The names and the number of functions, wherever the protocol puts the name. */
export function functionsFault(names: readonly string[], place: (index: number) => string): Fault | undefined {
  if (names.length > MAX_TOOLS)
    return invalid(
      `Invalid 'tools': array too long. Expected an array with maximum length ${MAX_TOOLS}, but got an array with length ${names.length} instead.`,
      "tools",
      "array_above_max_length",
    );
  const wrong = names.findIndex((name) => !NAME.test(name));
  if (wrong < 0) return undefined;
  return invalid(
    `Invalid '${place(wrong)}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
    place(wrong),
    "invalid_value",
  );
}

function toolsFault(body: JsonObject): Fault | undefined {
  const names = objectsIn(body, "tools").map((tool) => textField(objectField(tool, "function") ?? {}, "name") ?? "");
  return functionsFault(names, (index) => `tools[${index}].function.name`);
}

function messagesFault(messages: readonly JsonObject[]): Fault | undefined {
  if (messages.length === 0) return invalid("Invalid 'messages': empty array.", "messages", "empty_array");
  /** Calls of the latest assistant message that have no result yet. */
  let open: string[] = [];
  const seen = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    const role = textField(message, "role") ?? "";
    if (!ROLES.includes(role)) return invalid(`Invalid value: '${role}'.`, `${at}.role`, "invalid_value");
    if (role !== "tool" && open.length > 0) return unanswered(open, at);
    if (role === "user" && messages[index - 1]?.["role"] === "user") return inARow(at);
    const said = contentFault(message, role, at);
    if (said) return said;
    if (role === "tool") {
      const id = textField(message, "tool_call_id") ?? "";
      if (!open.includes(id))
        return invalid(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          `${at}.role`,
        );
      open = open.filter((other) => other !== id);
    }
    if (role !== "assistant") continue;
    const calls = callsOf(message, at, seen);
    if (!Array.isArray(calls)) return calls;
    open = calls;
  }
  return open.length > 0 ? unanswered(open, `messages[${messages.length}]`) : lastFault(messages);
}

/** Servers that apply a chat template take no conversation that ends with the assistant's own words. */
function lastFault(messages: readonly JsonObject[]): Fault | undefined {
  return messages.at(-1)?.["role"] === "assistant"
    ? invalid("Cannot have 2 or more assistant messages at the end of the list.")
    : undefined;
}

/** OpenAI takes them; the chat templates of several open models do not. */
function inARow(at: string): Fault {
  return invalid("Conversation roles must alternate user/assistant/user/assistant/...", `${at}.role`);
}

function unanswered(open: readonly string[], at: string): Fault {
  return invalid(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`,
    `${at}.role`,
  );
}

function callsOf(message: JsonObject, at: string, seen: Set<string>): string[] | Fault {
  const ids: string[] = [];
  for (const [index, call] of objectsIn(message, "tool_calls").entries()) {
    const place = `${at}.tool_calls[${index}]`;
    const id = textField(call, "id") ?? "";
    const definition = objectField(call, "function") ?? {};
    const args = parseJson(textField(definition, "arguments") ?? "");
    if (id === "" || seen.has(id)) return invalid(`Duplicate value for 'tool_call_id' of '${id}'.`, `${place}.id`);
    if (!NAME.test(textField(definition, "name") ?? ""))
      return invalid(`Invalid '${place}.function.name': string does not match pattern.`, `${place}.function.name`);
    // OpenAI takes any text here; servers that fill a chat template with it do not.
    if (!args.ok || !isJsonObject(args.value))
      return invalid(`Invalid '${place}.function.arguments': not a JSON object.`, `${place}.function.arguments`);
    seen.add(id);
    ids.push(id);
  }
  return ids;
}

function contentFault(message: JsonObject, role: string, at: string): Fault | undefined {
  const text = textField(message, "content");
  const parts = objectsIn(message, "content");
  if (text === undefined && parts.length === 0) {
    const mayBeNull = role === "assistant" && objectsIn(message, "tool_calls").length > 0;
    return mayBeNull
      ? undefined
      : invalid("Invalid value for 'content': expected a string, got null.", `${at}.content`);
  }
  const isEmpty = text !== undefined && text.trim() === "" && objectsIn(message, "tool_calls").length === 0;
  if (isEmpty) return invalid("Message content must be a non-empty string.", `${at}.content`);
  for (const [index, part] of parts.entries()) {
    const type = textField(part, "type") ?? "";
    const place = `${at}.content[${index}]`;
    if (role !== "user" && type === "image_url")
      return invalid(
        `Invalid '${at}'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`,
        at,
      );
    if (!(role === "user" ? USER_PARTS : ["text", "refusal"]).includes(type))
      return invalid(`Invalid value: '${type}'.`, `${place}.type`, "invalid_value");
    if (type === "text" && (textField(part, "text") ?? "").trim() === "")
      return invalid("Message content must be a non-empty string.", place);
  }
  return undefined;
}
