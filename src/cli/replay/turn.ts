// What a client was shown of one turn, without how it was cut into updates: what two runs can be compared by.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";

/** `<turn>-<n>`: the calls of a model. Others are news of servers, which come when they come. */
const CALL_ID = /^\d+-\d+$/u;

/** Of a call, what stays. */
const SHOWN = ["title", "kind", "status", "content", "locations", "rawInput", "rawOutput"] as const;

export function shownIn(updates: readonly JsonObject[]): JsonValue {
  let text = "";
  let thoughts = "";
  const calls = new Map<string, JsonObject>();
  for (const update of updates) {
    const { sessionUpdate, content, toolCallId } = update;
    const words = isJsonObject(content) && typeof content["text"] === "string" ? content["text"] : "";
    if (sessionUpdate === "agent_message_chunk") text += words;
    else if (sessionUpdate === "agent_thought_chunk") thoughts += words;
    else if (typeof toolCallId === "string" && CALL_ID.test(toolCallId)) {
      calls.set(toolCallId, { ...calls.get(toolCallId), ...shownOf(update) });
    }
  }
  const inOrder = [...calls].sort(([one], [other]) => one.localeCompare(other, "en", { numeric: true }));
  return { text, thoughts, calls: Object.fromEntries(inOrder) };
}

function shownOf(update: JsonObject): JsonObject {
  return Object.fromEntries(SHOWN.flatMap((key) => (update[key] === undefined ? [] : [[key, update[key]]])));
}
