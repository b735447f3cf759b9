// The conversation as people saw it, put together again from its journal: one piece per answer, one card per call.

import { ERROR_CODES, type ErrorCode, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import type { BuiltinPresentation } from "../../builtin/index.js";
import { addUsage, type CallSubject, type CompactionEvent, NO_USAGE, type TurnEvent } from "../../engine/index.js";
import type { ModelMessage, ModelUsage } from "../../models/index.js";
import type { ToolOutcome } from "../../tools/index.js";
import type { SessionEvent } from "../events.js";
import type { JournalEntry, OpenTask, RecordedCompaction } from "./entry.js";

/** A call as far as it came. */
export interface ShownCall {
  readonly toolCallId: string;
  subject: CallSubject;
  /** Missing while the model was still writing them. */
  arguments?: JsonObject;
  look?: BuiltinPresentation;
  /** Whether it was sent to its tool. */
  isSent: boolean;
  /** It goes on at its server, whatever became of the turn. */
  task?: OpenTask;
  end?: { readonly outcome: ToolOutcome; readonly elapsedMs: number } | { readonly dropped: string };
}

type Item =
  | { readonly kind: "event"; readonly event: SessionEvent }
  | { readonly kind: "words"; readonly of: "text" | "thought"; text: string }
  | { readonly kind: "call"; readonly call: ShownCall };

/** What a compaction replaced, and by what. */
export interface Replacement {
  readonly before: readonly ModelMessage[];
  readonly after: readonly ModelMessage[];
}

export class ShownConversation {
  readonly #items: Item[] = [];
  readonly #calls = new Map<string, ShownCall>();
  readonly #lastReplacement: () => Replacement;
  #usage: ModelUsage = NO_USAGE;
  #openTurn: number | undefined;
  #openCompaction: string | undefined;

  constructor(lastReplacement: () => Replacement) {
    this.#lastReplacement = lastReplacement;
  }

  /** The turn that has begun and not ended. */
  get openTurn(): number | undefined {
    return this.#openTurn;
  }

  get openCompaction(): string | undefined {
    return this.#openCompaction;
  }

  get openCalls(): readonly ShownCall[] {
    return [...this.#calls.values()].filter(({ end }) => end === undefined);
  }

  add(entry: JournalEntry): void {
    switch (entry.kind) {
      case "prompt":
        this.#openTurn = entry.turn;
        this.#push({ kind: "user", content: entry.content });
        break;
      case "text":
      case "thought":
        this.#say(entry.kind, entry.text);
        break;
      case "announced":
      case "dropped":
      case "call":
      case "look":
      case "intent":
      case "task":
      case "outcome":
        this.#follow(entry);
        break;
      case "plan":
        this.#push({ kind: "plan", entries: entry.entries });
        break;
      case "usage":
        this.#usage = addUsage(this.#usage, entry.usage);
        this.#push({ kind: "turn", event: entry, sessionUsage: this.#usage });
        break;
      case "stopped":
        this.#pushTurn(entry);
        break;
      case "compaction":
        this.#openCompaction = entry.event.phase === "started" ? entry.event.compactionId : undefined;
        this.#pushTurn(this.#compaction(entry.event));
        break;
      case "end":
        this.#openTurn = undefined;
        this.#push({ kind: "turn_ended", turn: entry.turn, stopReason: entry.stopReason });
        break;
      case "error": {
        this.#openTurn = undefined;
        const error = new TenonError(isErrorCode(entry.code) ? entry.code : "internal", entry.message);
        this.#push({ kind: "turn_ended", turn: entry.turn, error });
        break;
      }
      default:
        break; // not shown
    }
  }

  *events(): Generator<SessionEvent, void, void> {
    for (const item of this.#items) {
      switch (item.kind) {
        case "event":
          yield item.event;
          break;
        case "words":
          yield { kind: "turn", event: { kind: item.of, text: item.text } };
          break;
        case "call":
          yield* callEvents(item.call);
          break;
      }
    }
  }

  #push(event: SessionEvent): void {
    this.#items.push({ kind: "event", event });
  }

  #pushTurn(event: TurnEvent): void {
    this.#push({ kind: "turn", event });
  }

  #say(of: "text" | "thought", text: string): void {
    const last = this.#items.at(-1);
    if (last?.kind === "words" && last.of === of) last.text += text;
    else this.#items.push({ kind: "words", of, text });
  }

  #follow(entry: Exclude<Extract<JournalEntry, { readonly toolCallId: string }>, { readonly kind: "note" }>): void {
    if (entry.kind === "announced" || entry.kind === "call") {
      const call = this.#call(entry.toolCallId, entry.subject);
      if (entry.kind === "announced") return;
      call.subject = entry.subject;
      call.arguments = entry.arguments;
      if (entry.look) call.look = entry.look;
      return;
    }
    const call = this.#calls.get(entry.toolCallId);
    if (!call) return;
    if (entry.kind === "look") call.look = entry.look;
    else if (entry.kind === "intent") call.isSent = true;
    else if (entry.kind === "task") call.task = entry;
    else if (entry.kind === "dropped") call.end = { dropped: entry.reason };
    else call.end = { outcome: entry.outcome, elapsedMs: entry.elapsedMs };
  }

  #call(toolCallId: string, subject: CallSubject): ShownCall {
    const known = this.#calls.get(toolCallId);
    if (known) return known;
    const call: ShownCall = { toolCallId, subject, isSent: false };
    this.#calls.set(toolCallId, call);
    this.#items.push({ kind: "call", call });
    return call;
  }

  #compaction(event: RecordedCompaction): CompactionEvent {
    return event.phase === "done" ? { ...event, ...this.#lastReplacement() } : event;
  }
}

/** Its beginning and its end, side by side: in between nothing is left to see, but that one without an end still runs. */
function* callEvents(call: ShownCall): Generator<SessionEvent> {
  const { toolCallId, subject, arguments: given, look, task, end } = call;
  const presentation = look ? { presentation: withoutTerminal(look) } : {};
  if (given === undefined) {
    yield { kind: "turn", event: { kind: "call_arguments", toolCallId, subject, offset: 0, delta: "" } };
  } else {
    const event = { kind: "call_started", toolCallId, subject, arguments: given, wasAnnounced: false } as const;
    yield { kind: "turn", event, ...presentation };
  }
  if (!end && task) yield { kind: "turn", event: { kind: "call_running", toolCallId } };
  if (!end) return;
  if ("dropped" in end) yield { kind: "turn", event: { kind: "call_dropped", toolCallId, reason: end.dropped } };
  else yield { kind: "turn", event: { kind: "call_ended", toolCallId, ...end }, ...presentation };
}

/** The terminal is gone with the client that had it: the outcome says in words what was in it. */
function withoutTerminal({ kind, title, locations, diff }: BuiltinPresentation): BuiltinPresentation {
  return { kind, title, locations, ...defined({ diff }) };
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}
