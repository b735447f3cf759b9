// What each provider's protocol has to bring: how a request is read and how a move is written.
import type { JsonObject, JsonValue } from "../../../base/json/json.js";
import { objectsIn, wordOf } from "../fields.js";
import type { Conversation, Move } from "./conversation.js";

export interface Written {
  readonly type: "application/json" | "text/event-stream";
  readonly body: string;
}

export interface ModelFormat {
  readonly name: string;
  /** Whether a POST to this path is for it. */
  takes(path: string): boolean;
  read(body: JsonObject): Conversation;
  /** `id` is unique for the request. */
  write(move: Move, request: { readonly body: JsonObject; readonly path: string; readonly id: string }): Written;
}

export function asJson(value: JsonValue): Written {
  return { type: "application/json", body: JSON.stringify(value) };
}

/** Server-sent events, each a JSON value; with `named`, its `type` is also the event's name. */
export function asEvents(events: readonly JsonObject[], options: { named?: boolean; last?: string } = {}): Written {
  const lines = events.map((event) => {
    const name = options.named ? `event: ${wordOf(event["type"])}\n` : "";
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  });
  return { type: "text/event-stream", body: lines.join("") + (options.last ?? "") };
}

/** Text of a content field: a string, or a list of parts that have one. What else is in it is kept as JSON. */
export function textIn(content: JsonValue | undefined): string {
  if (typeof content === "string") return content;
  return objectsIn(content)
    .map((part) => (typeof part["text"] === "string" ? part["text"] : JSON.stringify(part)))
    .join("\n");
}
