// What the fake provider needs to know of one provider's wire format. A new format is one more implementation.
import type { JsonObject, JsonSchema } from "../../base/json/json.js";
import type { Fault } from "./fault.js";
import type { CacheBlock } from "./prefix-cache.js";
import type { AnswerUsage, ContentPart, Finish, Incident } from "./reply.js";

export type FormatName = "anthropic" | "openai-chat" | "openai-responses" | "gemini";

/** A request as far as a format needs it to judge and to answer it. */
export interface Asked {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: JsonObject;
}

/** A tool as the request offers it. */
export interface OfferedTool {
  readonly name: string;
  readonly schema: JsonSchema | undefined;
  readonly strict: boolean;
}

/** Writes one answer as a stream; each string is one server-sent event, ready to write. */
export interface StreamWriter {
  start(): string[];
  part(part: ContentPart): Iterable<string | Incident>;
  ping(): string;
  fault(fault: Fault): string[];
  end(finish: Finish): string[];
}

export interface WholeAnswer {
  readonly parts: readonly ContentPart[];
  readonly finish: Finish;
  readonly usage: AnswerUsage;
}

/** A failure as HTTP: a JSON body, or events where the provider reports it in a stream that succeeds. */
export interface FaultResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: JsonObject | readonly string[];
}

export interface ProviderFormat {
  readonly name: FormatName;
  /** Whether a POST to this path is for this format. */
  isFor(path: string): boolean;
  wantsStream(asked: Asked): boolean;
  /** The key it was sent, if any. */
  key(asked: Asked): string | undefined;
  /** False where servers without keys speak the format too. */
  readonly needsKey: boolean;
  /** Why the real provider would refuse the request; tools' schemas are checked elsewhere. */
  check(asked: Asked): Fault | undefined;
  tools(body: JsonObject): readonly OfferedTool[];
  /** The request in the order in which prefixes of it are cached. */
  cacheBlocks(body: JsonObject): readonly CacheBlock[];
  stream(asked: Asked, usage: AnswerUsage): StreamWriter;
  /** The same answer in one piece. */
  whole(asked: Asked, answer: WholeAnswer): JsonObject;
  fault(fault: Fault, asked: Asked): FaultResponse;
  /** For failures that no rule makes. */
  error(message: string, code: string): JsonObject;
}
