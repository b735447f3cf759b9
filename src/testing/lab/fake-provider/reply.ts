// The one script language of every fake provider: what it answers, free of any provider's wire format.
import { defined } from "../../../base/json/defined.js";
import type { JsonObject, JsonValue } from "../../../base/json/json.js";
import type { Fault } from "./format.js";

/** Something that happens to the stream itself, between two events or between two pieces of one part. */
export type Incident =
  /** The stream stands still until the promise resolves. */
  | { readonly kind: "pause"; readonly until: Promise<void> }
  /** The connection breaks. */
  | { readonly kind: "cut" }
  /** The stream ends in good order, but without the end of the answer. */
  | { readonly kind: "end_early" }
  /** An event whose data is no JSON; `text` goes out as it is. */
  | { readonly kind: "malformed"; readonly text?: string }
  /** What the provider sends to keep a connection alive. */
  | { readonly kind: "ping" }
  /** The provider reports a failure inside the stream, whose status was 200, and ends it. */
  | { readonly kind: "fault_inside"; readonly fault: Fault };

/** How a part is cut on the wire. */
export interface Piecewise {
  /** Into that many pieces of about the same length. */
  readonly chunks?: number;
  /** Before these characters, counted from 0. */
  readonly splitAt?: readonly number[];
  /** What happens when that many of its pieces are out. */
  readonly after?: { readonly pieces: number; readonly happens: Incident };
}

export type ContentPart =
  | ({ readonly kind: "text"; readonly text: string } & Piecewise)
  /** Shown only where the request asked for thoughts, as providers do; `hidden` is never shown, only signed. */
  | ({ readonly kind: "thought"; readonly text: string; readonly hidden?: boolean } & Piecewise)
  | ({
      readonly kind: "tool_call";
      readonly name: string;
      /** A string goes out as it is, so that it can be no JSON at all. */
      readonly arguments: JsonObject | string;
      readonly id?: string;
      /** The search for tools: it goes out in the provider's own form where the request has one, else like any call. */
      readonly isSearch?: boolean;
    } & Piecewise)
  /** A picture in the answer. Gemini only: the others have no such thing in a stream. */
  | { readonly kind: "file"; readonly mimeType: string; readonly data: string };

export type AnswerPart = ContentPart | Incident;

export interface AnswerUsage {
  /** All of them, cached ones included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  /** Written to the cache by this request; Anthropic only. */
  readonly cacheWriteTokens?: number;
  readonly thoughtTokens?: number;
}

export type Finish = "stop" | "tool_calls" | "length" | "refusal";

export interface Answer {
  readonly kind: "answer";
  readonly parts: readonly AnswerPart[];
  /** Derived from the parts when left out. */
  readonly finish?: Finish;
  /** Measured when left out: what the request really repeats of earlier ones counts as cached. */
  readonly usage?: AnswerUsage;
}

export type ProviderReply =
  | Answer
  /** A failure as this provider reports it. */
  | { readonly kind: "fault"; readonly fault: Fault }
  | {
      readonly kind: "error";
      readonly status: number;
      readonly message: string;
      readonly code?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Sends the parts and then breaks the connection. */
  | { readonly kind: "cut"; readonly parts: readonly AnswerPart[] }
  /** Any bytes at all. */
  | { readonly kind: "raw"; readonly status: number; readonly contentType: string; readonly body: string };

export interface ProviderRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: JsonObject;
  /** Aborts when the client goes away before the answer is complete. */
  readonly aborted: AbortSignal;
}

export function answerText(text: string, chunks?: number): Answer {
  return { kind: "answer", parts: [{ kind: "text", text, ...defined({ chunks }) }] };
}

export function answerToolCall(name: string, args: JsonObject | string, chunks?: number): Answer {
  return { kind: "answer", parts: [{ kind: "tool_call", name, arguments: args, ...defined({ chunks }) }] };
}

export function failWith(fault: Fault): ProviderReply {
  return { kind: "fault", fault };
}

export function finishOf(answer: Pick<Answer, "parts" | "finish">): Finish {
  return answer.finish ?? (answer.parts.some(({ kind }) => kind === "tool_call") ? "tool_calls" : "stop");
}

export function isIncident(part: AnswerPart): part is Incident {
  return part.kind !== "text" && part.kind !== "thought" && part.kind !== "tool_call" && part.kind !== "file";
}

/** A promise and the way to resolve it, for a `pause`. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** Whole characters only: a stream never splits one, since each piece is JSON. */
export function pieces(text: string, cut: Piecewise = {}): string[] {
  const characters = Array.from(text);
  const size = Math.max(1, Math.ceil(characters.length / Math.max(1, cut.chunks ?? 1)));
  const even = Array.from({ length: Math.ceil(characters.length / size) }, (_, index) => index * size);
  const starts = cut.splitAt ? [0, ...cut.splitAt.filter((at) => at > 0 && at < characters.length)] : even;
  const sorted = [...new Set(starts)].sort((one, other) => one - other);
  const parts = sorted.map((start, index) => characters.slice(start, sorted[index + 1]).join(""));
  return parts.length === 0 ? [""] : parts;
}

/** The events of a part's pieces, with what is to happen among them put in its place. */
export function* inPieces(
  text: string,
  cut: Piecewise,
  event: (piece: string) => string,
): Generator<string | Incident, void, void> {
  const { after } = cut;
  const parts = pieces(text, cut);
  for (const [index, piece] of parts.entries()) {
    if (after?.pieces === index) yield after.happens;
    yield event(piece);
  }
  if (after !== undefined && after.pieces >= parts.length) yield after.happens;
}

export function argumentsText(args: JsonObject | string): string {
  return typeof args === "string" ? args : JSON.stringify(args satisfies JsonValue);
}
