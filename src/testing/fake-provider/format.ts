// What the fake provider needs to know of one provider's wire format. A new format is one more implementation.
import type { JsonObject } from "../../base/json.js";
import type { Answer, AnswerPart } from "./reply.js";

/** Writes one answer as a stream; each string is one server-sent event, ready to write. */
export interface StreamWriter {
  start(): string[];
  part(part: Exclude<AnswerPart, { readonly kind: "pause" }>): string[];
  end(answer: Answer): string[];
}

export interface ProviderFormat {
  /** Whether a POST to this path is for this format. */
  isFor(path: string): boolean;
  wantsStream(body: JsonObject): boolean;
  stream(body: JsonObject): StreamWriter;
  /** The same answer in one piece. */
  whole(answer: Answer, body: JsonObject): JsonObject;
  error(message: string, code: string): JsonObject;
}
