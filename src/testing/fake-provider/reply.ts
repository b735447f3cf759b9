// What a fake provider answers, free of any provider's wire format.
import type { JsonObject, JsonValue } from "../../base/json.js";

export type AnswerPart =
  /** `chunks`: into how many pieces it is cut on the wire. */
  | { readonly kind: "text"; readonly text: string; readonly chunks?: number }
  | { readonly kind: "thought"; readonly text: string; readonly chunks?: number }
  | {
      readonly kind: "tool_call";
      readonly name: string;
      /** A string goes out as it is, so that it can be no JSON at all. */
      readonly arguments: JsonObject | string;
      readonly id?: string;
      readonly chunks?: number;
    }
  /** The stream stands still until the promise resolves. */
  | { readonly kind: "pause"; readonly until: Promise<void> };

export interface AnswerUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
}

export interface Answer {
  readonly kind: "answer";
  readonly parts: readonly AnswerPart[];
  /** Derived from the parts when left out. */
  readonly finish?: "stop" | "tool_calls" | "length" | "refusal";
  readonly usage?: AnswerUsage;
}

export type ProviderReply =
  | Answer
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
  return { kind: "answer", parts: [{ kind: "text", text, ...(chunks !== undefined && { chunks }) }] };
}

export function answerToolCall(name: string, args: JsonObject | string, chunks?: number): Answer {
  return {
    kind: "answer",
    parts: [{ kind: "tool_call", name, arguments: args, ...(chunks !== undefined && { chunks }) }],
  };
}

export function finishOf(answer: Answer): NonNullable<Answer["finish"]> {
  return answer.finish ?? (answer.parts.some(({ kind }) => kind === "tool_call") ? "tool_calls" : "stop");
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
export function pieces(text: string, count = 1): string[] {
  const characters = Array.from(text);
  const size = Math.max(1, Math.ceil(characters.length / Math.max(1, count)));
  const cut = Array.from({ length: Math.ceil(characters.length / size) }, (_, index) =>
    characters.slice(index * size, (index + 1) * size).join(""),
  );
  return cut.length === 0 ? [""] : cut;
}

export function argumentsText(args: JsonObject | string): string {
  return typeof args === "string" ? args : JSON.stringify(args satisfies JsonValue);
}
