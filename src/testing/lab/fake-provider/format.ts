// What the fake provider needs to know of one provider's wire format. A new format is one more implementation.
import { createHash } from "node:crypto";
import type { z } from "zod";
import { defined } from "../../../base/json/defined.js";
import type { JsonObject, JsonSchema } from "../../../base/json/json.js";
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
  readonly ping: string;
  fault(fault: Fault): string[];
  end(finish: Finish): string[];
}

/** A failure as HTTP: a JSON body, or events where the provider reports it in a stream that succeeds. */
export interface FaultResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: JsonObject | readonly string[];
}

/** A request that the real provider would take. */
export interface Accepted {
  readonly tools: readonly OfferedTool[];
  /** The request in the order in which prefixes of it are cached. */
  cacheBlocks(): readonly CacheBlock[];
  stream(usage: AnswerUsage): StreamWriter;
}

export interface ProviderFormat {
  readonly name: FormatName;
  /** Whether a POST to this path is for this format. */
  isFor(path: string): boolean;
  /** The key it was sent, if any. */
  key(headers: Asked["headers"]): string | undefined;
  /** False where servers without keys speak the format too. */
  readonly needsKey: boolean;
  /** Why the real provider would refuse the request, or what it would see; tools' schemas are checked elsewhere. */
  read(asked: Asked): Fault | Accepted;
  fault(fault: Fault, tools: readonly OfferedTool[]): FaultResponse;
  /** For failures that no rule makes. */
  error(message: string, code: string): JsonObject;
}

export type Fault =
  | { readonly kind: "unauthorized" }
  /** The account has no credit, or a limit that waiting does not lift. */
  | { readonly kind: "quota" }
  | { readonly kind: "rate_limited"; readonly retryAfterS?: number }
  | { readonly kind: "overloaded" }
  | { readonly kind: "server_error" }
  | { readonly kind: "context_overflow"; readonly tokens: number; readonly limit: number }
  /** The prompt is blocked; for an answer that is blocked see `finish: "refusal"`. */
  | { readonly kind: "content_filter" }
  | { readonly kind: "unknown_model" }
  /** A tool's schema is refused. With `tool` the message names it in the provider's own way, by name or by place. */
  | { readonly kind: "tool_schema"; readonly tool?: string; readonly detail?: string }
  /** The request breaks a rule of the API. */
  | { readonly kind: "invalid"; readonly message: string; readonly param?: string; readonly code?: string };

export function invalid(message: string, param?: string, code?: string): Fault {
  return { kind: "invalid", message, ...defined({ param, code }) };
}

/** The body as `shape` reads it; or a fault: of the first place that does not fit, or the first that `rules` find. */
export function readBody<T extends object>(
  body: JsonObject,
  shape: z.ZodType<T>,
  misfit: (path: readonly PropertyKey[], message: string) => Fault,
  rules: (read: T) => Iterable<Fault | string>,
): { readonly read: T } | Fault {
  const { data, error } = shape.safeParse(body);
  const [issue] = error?.issues ?? [];
  if (data === undefined) return misfit(issue?.path ?? [], issue?.message ?? "");
  const [fault] = rules(data);
  return typeof fault === "string" ? invalid(fault) : (fault ?? { read: data });
}

/** `messages[0].content`, as OpenAI and Google write places. */
export function placeOf(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .slice(1);
}

/** The text where there is only one, as the list of blocks that stands for it; none where it is blank. */
export function blocksOf(content: unknown, type: string): unknown {
  if (typeof content !== "string") return content;
  return content.trim() === "" ? [] : [{ type, text: content }];
}

export function unmarkedBlocks(...blocks: readonly unknown[]): readonly CacheBlock[] {
  return blocks.map((block) => ({ text: JSON.stringify(block), isMarked: false }));
}

export class Issued {
  /** The text that was shown with a signature. */
  readonly #shown = new Map<string, string>();
  /** The signature that came with a call. */
  readonly #ofCall = new Map<string, string>();
  #count = 0;

  /** A signature for a thought, of which `shown` is what the client got to see. */
  sign(thought: string, shown: string): string {
    this.#count += 1;
    const signature = createHash("sha256").update(`${this.#count}:${thought}`).digest("base64");
    this.#shown.set(signature, shown);
    return signature;
  }

  bind(callId: string, signature: string): void {
    this.#ofCall.set(callId, signature);
  }

  /** What was shown with it; undefined when it was never given out. */
  shownWith(signature: string): string | undefined {
    return this.#shown.get(signature);
  }

  signatureOf(callId: string): string | undefined {
    return this.#ofCall.get(callId);
  }
}

/** Ids that are unique in the process, so that no two answers share one. */
let lastId = 0;

export function newId(prefix: string): string {
  lastId += 1;
  return `${prefix}${String(lastId).padStart(8, "0")}`;
}

export function headerOf(headers: Asked["headers"], name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function bearerOf(headers: Asked["headers"]): string | undefined {
  return /^Bearer (.+)$/.exec(headerOf(headers, "authorization") ?? "")?.[1];
}

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

export interface CacheBlock {
  readonly text: string;
  /** Where the client asked for a cache entry to end. */
  readonly isMarked: boolean;
}

const CHARS_PER_TOKEN = 4;

/** From a marker Anthropic looks this many blocks back for an entry (docs: "Prompt caching", 20-block lookback). */
const LOOKBACK_BLOCKS = 20;

export function tokensOf(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

export class PrefixCache {
  readonly #entries = new Set<string>();

  /** `explicit`: only what is marked is kept. Else every prefix is, as with providers that cache by themselves. */
  measure(blocks: readonly CacheBlock[], explicit: boolean): { total: number; read: number; written: number } {
    const hash = createHash("sha256");
    let total = 0;
    const prefixes = blocks.map(({ text, isMarked }) => {
      hash.update(`${text.length}:`).update(text);
      total += tokensOf(text);
      return { id: hash.copy().digest("hex"), tokens: total, isMarked: isMarked || !explicit };
    });
    const marks = prefixes.flatMap(({ isMarked }, index) => (isMarked ? [index] : []));
    const near = marks.flatMap((mark) => prefixes.slice(Math.max(0, mark - LOOKBACK_BLOCKS), mark + 1));
    const read = Math.max(0, ...near.flatMap(({ id, tokens }) => (this.#entries.has(id) ? tokens : [])));
    const last = prefixes[marks.at(-1) ?? -1]?.tokens ?? 0;
    for (const { id, isMarked } of prefixes) if (isMarked) this.#entries.add(id);
    return { total, read, written: explicit ? last - read : 0 };
  }
}
