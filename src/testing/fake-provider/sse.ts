// Server-sent events as providers frame them.
import type { JsonObject } from "../../base/json/json.js";

export function dataEvent(data: JsonObject | string): string {
  return `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

/** Anthropic and OpenAI's Responses name each event after the type of its data. */
export function namedEvent(data: JsonObject & { readonly type: string }): string {
  return `event: ${data.type}\n${dataEvent(data)}`;
}

/** Google ends lines the way HTTP does. */
export function crlfEvent(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\r\n\r\n`;
}

/** A line that clients are to skip: what keeps a connection alive where the format has no event for it. */
export const COMMENT = ": keep-alive\n\n";
