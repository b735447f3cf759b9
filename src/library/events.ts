// The events of a session as programs see them: one flat union, translated from what happens inside.
import { type ErrorCode, messageOf } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject, JsonValue } from "../base/json/json.js";
import { type ContentBlock, plainText } from "../base/text/content.js";
import type { SessionEvent as InnerEvent, NoticeLevel, ServerStatus } from "../session/index.js";
import type { ToolOutcome } from "../tools/index.js";
import type { ToolResult } from "./tool-set.js";

/**
 * How a turn ended, and what it used.
 *
 * @example
 * const { text, stopReason, usage }: PromptResult = await session.prompt("hello");
 */
export interface PromptResult {
  /** The model's last answer: what it said after its last tool call, or all it said where that is nothing. */
  readonly text: string;
  /** `end_turn` when the model was done; `cancelled`, `max_tokens`, `refusal` and `max_turn_requests` otherwise. */
  readonly stopReason: string;
  /** Of this turn: `inputTokens`, `outputTokens` and, where they are known, cached tokens and the cost in US dollars. */
  readonly usage: TokenUsage;
}

/**
 * Tokens of one turn.
 *
 * @example
 * const { inputTokens, outputTokens, costUsd }: TokenUsage = (await session.prompt("hello")).usage;
 */
export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly costUsd?: number;
}

/**
 * Everything that happens in a session, by `type`. Those of a turn come from `stream()` and `onEvent`, the others (servers, tools,
 * notices) whenever they happen.
 *
 * @example
 * for await (const event of session.stream("hello")) {
 *   if (event.type === "text") process.stdout.write(event.text);
 *   if (event.type === "tool_result" && event.status !== "done") console.error(event.name, event.text);
 * }
 */
export type SessionEvent =
  /** A piece of the model's answer. */
  | { readonly type: "text"; readonly text: string }
  /** A piece of what the model thinks, where its provider shows that. */
  | { readonly type: "thought"; readonly text: string }
  | {
      readonly type: "tool_call";
      readonly id: string;
      readonly name: string;
      /** The server's name; missing when no tool has the name. */
      readonly source?: string;
      readonly arguments: JsonObject;
    }
  /** The call waits until `approve` has answered. */
  | { readonly type: "approval_requested"; readonly id: string; readonly name: string }
  | {
      readonly type: "tool_progress";
      readonly id: string;
      readonly name: string;
      readonly progress: number;
      readonly total?: number;
      readonly message?: string;
    }
  | ({
      readonly type: "tool_result";
      readonly id: string;
      readonly name: string;
      /** Since the call was sent; 0 when it never was. */
      readonly durationMs: number;
    } & ToolResult)
  /** The whole plan, each time it changes. */
  | { readonly type: "plan"; readonly steps: readonly { readonly text: string; readonly status: string }[] }
  /** The provider cannot answer now, and is asked again. */
  | { readonly type: "retry"; readonly code: ErrorCode; readonly reason: string; readonly attempt: number }
  /** The conversation is made shorter, so that it fits the model. */
  | { readonly type: "compaction"; readonly phase: string }
  /** Of one model call. */
  | { readonly type: "usage"; readonly usage: TokenUsage }
  /** The last event of a turn. */
  | ({ readonly type: "done" } & PromptResult)
  | { readonly type: "server_connected"; readonly server: string; readonly status: ServerStatus }
  /** `willReconnect`: Tenon connects it again by itself. */
  | {
      readonly type: "server_disconnected";
      readonly server: string;
      readonly willReconnect: boolean;
      readonly status: ServerStatus;
    }
  /** It cannot be used: its entry is malformed, or it does not start. `status.error` says why. */
  | { readonly type: "server_failed"; readonly server: string; readonly status: ServerStatus }
  /** Tools of one source came, went or changed; names are those the model calls them by. Not part of `stream()`. */
  | {
      readonly type: "tools_changed";
      readonly source: string;
      readonly added: readonly string[];
      readonly removed: readonly string[];
      readonly changed: readonly string[];
    }
  /** Something people should hear of: a tool that was left out, an option that a provider does not have. */
  | { readonly type: "notice"; readonly level: NoticeLevel; readonly text: string };

/**
 * A listener of events, with the session they are of.
 *
 * @example
 * const listener: EventListener = (event, { sessionId }) => console.log(sessionId, event.type);
 */
export type EventListener = (event: SessionEvent, about: { readonly sessionId: string }) => void;

/** The result of a call for programs: the source's own content, and the text a model would be given. */
export function toolResult(outcome: ToolOutcome, forModel?: readonly ContentBlock[]): ToolResult {
  switch (outcome.kind) {
    case "done":
    case "failed": {
      const { kind: status, content, structured } = outcome;
      const code = outcome.kind === "failed" ? outcome.code : undefined;
      const structuredValue: JsonValue | undefined = structured;
      const text = plainText(forModel ?? content);
      if (code !== undefined) return { status, text, content, code, ...defined({ structured: structuredValue }) };
      return structuredValue === undefined
        ? { status, text, content }
        : { status, text, content, structured: structuredValue };
    }
    case "refused":
      return said("refused", outcome.reason, "tool.refused");
    case "cancelled":
      return said("cancelled", "The call was cancelled.", "cancelled");
    case "unknown":
      return said("unknown", `Whether the call took effect is unknown: ${outcome.reason}`, outcome.code);
  }
}

function said(status: ToolResult["status"], text: string, code: ErrorCode | undefined): ToolResult {
  return { status, text, content: [], ...defined({ code }) };
}

/** Translates the events of one session; it remembers the names of calls under way. */
export class EventTranslator {
  readonly #names = new Map<string, string>();

  /** Undefined for what programs are not told. */
  of(event: InnerEvent): SessionEvent | undefined {
    switch (event.kind) {
      case "turn":
        return this.#ofTurn(event.event);
      case "plan":
        return { type: "plan", steps: event.entries.map(({ content, status }) => ({ text: content, status })) };
      case "server":
        return serverEvent(event.status);
      case "notice":
        return { type: "notice", level: event.level, text: event.text };
      default:
        return undefined;
    }
  }

  #ofTurn(event: Extract<InnerEvent, { readonly kind: "turn" }>["event"]): SessionEvent | undefined {
    switch (event.kind) {
      case "text":
      case "thought":
        return { type: event.kind, text: event.text };
      case "call_started": {
        const { toolCallId: id, subject, arguments: args } = event;
        this.#names.set(id, subject.name);
        return {
          type: "tool_call",
          id,
          name: subject.name,
          arguments: args,
          ...defined({ source: subject.tool?.source }),
        };
      }
      case "call_awaiting_approval":
        return { type: "approval_requested", id: event.toolCallId, name: this.#nameOf(event.toolCallId) };
      case "call_progress": {
        const { progress, total, message } = event.progress;
        const name = this.#nameOf(event.toolCallId);
        return { type: "tool_progress", id: event.toolCallId, name, progress, ...defined({ total, message }) };
      }
      case "call_ended": {
        const { toolCallId: id, outcome, elapsedMs } = event;
        const name = this.#nameOf(id);
        this.#names.delete(id);
        return { type: "tool_result", id, name, durationMs: Math.round(elapsedMs), ...toolResult(outcome) };
      }
      case "tool_quarantined":
        return { type: "notice", level: "warning", text: `${event.tool.label} is not offered: ${event.reason}` };
      case "waiting":
        return { type: "retry", code: event.code, reason: event.reason, attempt: event.attempt };
      case "compaction":
        return { type: "compaction", phase: event.phase };
      case "usage":
        return { type: "usage", usage: event.usage };
      case "stopped":
        return { type: "notice", level: "warning", text: event.reason };
      default:
        return undefined;
    }
  }

  #nameOf(id: string): string {
    return this.#names.get(id) ?? "";
  }
}

function serverEvent(status: ServerStatus): SessionEvent | undefined {
  const { name: server, state } = status;
  switch (state) {
    case "ready":
      return { type: "server_connected", server, status };
    case "reconnecting":
    case "closed":
      return { type: "server_disconnected", server, willReconnect: state === "reconnecting", status };
    case "failed":
      return { type: "server_failed", server, status };
    case "idle":
    case "connecting":
      return undefined;
  }
}

/** Collects the text of a turn: what comes after the last tool call counts. */
export class AnswerText {
  #last = "";
  readonly #parts: string[] = [];

  add(event: SessionEvent): void {
    if (event.type === "text") this.#last += event.text;
    if (event.type !== "tool_call") return;
    if (this.#last.trim() !== "") this.#parts.push(this.#last);
    this.#last = "";
  }

  get text(): string {
    return this.#last.trim() === "" ? this.#parts.join("\n\n") : this.#last;
  }
}

/** Calls each listener; one that throws or rejects costs nobody else anything. */
export function tell(
  listeners: Iterable<EventListener>,
  event: SessionEvent,
  { sessionId, onError }: { readonly sessionId: string; readonly onError: (reason: string) => void },
): void {
  const failed = (error: unknown) => onError(messageOf(error));
  for (const listener of listeners) {
    try {
      const returned: unknown = listener(event, { sessionId });
      if (returned instanceof Promise) returned.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}
