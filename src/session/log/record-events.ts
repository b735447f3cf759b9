// Records as the events that readers of the live session saw: the same for what happens now and for what is stored.
import { isErrorCode, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { BuiltinPresentation } from "../../builtin/index.js";
import type { TurnEvent } from "../../engine/index.js";
import type { SessionEvent } from "../events.js";
import type { JournalEntry } from "../journal/entry.js";
import { withoutTerminal } from "../journal/history.js";
import { ONLY_COMMANDS } from "../journal/journal.js";

/**
 * Gets the records in order, from the first one or from the beginning of any turn on. Within a turn that began before, calls
 * of Tenon's own tools are shown without what the tool said of their looks.
 */
export class RecordEvents {
  /** How the calls of the turn look, by id. */
  #looks: Map<string, BuiltinPresentation> | undefined;
  /** Calls that people heard of while the model was writing them. */
  #announced: Set<string> | undefined;
  readonly #isStored: boolean;
  /** Told with the prompt that follows. */
  #title: string | undefined;

  /** `isStored`: what they show is over, so that terminals that were shown then are gone. */
  constructor({ isStored = false }: { readonly isStored?: boolean } = {}) {
    this.#isStored = isStored;
  }

  /** None for records that nobody is shown. */
  of(entry: JournalEntry): readonly SessionEvent[] {
    switch (entry.kind) {
      case "title":
        this.#title = entry.isOverruled || entry.title === ONLY_COMMANDS ? undefined : entry.title;
        return [];
      case "prompt": {
        const { content, promptId, by } = entry;
        const user: SessionEvent = { kind: "user", content, ...defined({ promptId, by }) };
        const title = this.#title;
        this.#title = undefined;
        return title === undefined || entry.isCommand ? [user] : [user, { kind: "title", title }];
      }
      case "text":
      case "thought":
        return [{ kind: "turn", event: { kind: entry.kind, text: entry.text } }];
      case "announced":
      case "dropped":
      case "call":
      case "look":
      case "intent":
      case "outcome":
        return this.#callEvents(entry);
      case "continued":
        return entry.notice === undefined ? [] : [{ kind: "notice", level: "warning", text: entry.notice }];
      case "plan":
        return [{ kind: "plan", entries: entry.entries }];
      case "usage": {
        const { session: sessionUsage, ...event } = entry;
        return [{ kind: "turn", event: withoutNumber(event), ...defined({ sessionUsage }) }];
      }
      case "stopped":
        return [{ kind: "turn", event: withoutNumber(entry) }];
      case "compaction": {
        // What it was made from is the transcript's, which readers of records do not get.
        const { event } = entry;
        return [{ kind: "turn", event: event.phase === "done" ? { ...event, before: [], after: [] } : event }];
      }
      case "end":
        this.#endTurn();
        return [{ kind: "turn_ended", turn: entry.turn, stopReason: entry.stopReason }];
      case "error": {
        this.#endTurn();
        const error = new TenonError(isErrorCode(entry.code) ? entry.code : "internal", entry.message);
        return [{ kind: "turn_ended", turn: entry.turn, error }];
      }
      default:
        return [];
    }
  }

  #callEvents(entry: Extract<JournalEntry, { kind: CallRecord }>): readonly SessionEvent[] {
    const { toolCallId } = entry;
    switch (entry.kind) {
      case "announced":
        this.#announced ??= new Set();
        this.#announced.add(toolCallId);
        return [turn({ kind: "call_arguments", toolCallId, subject: entry.subject, offset: 0, delta: "" })];
      case "dropped":
        return [turn({ kind: "call_dropped", toolCallId, reason: entry.reason })];
      case "call": {
        const { subject } = entry;
        const look = entry.look && this.#keep(toolCallId, entry.look);
        const wasAnnounced = this.#announced?.has(toolCallId) ?? false;
        const event = { kind: "call_started", toolCallId, subject, arguments: entry.arguments, wasAnnounced } as const;
        return [turn(event, look)];
      }
      case "look": {
        const look = this.#keep(toolCallId, entry.look);
        return [turn({ kind: "call_progress", toolCallId, progress: NO_PROGRESS, elapsedMs: 0 }, look)];
      }
      case "intent":
        return [turn({ kind: "call_running", toolCallId }, this.#looks?.get(toolCallId))];
      case "outcome": {
        const { outcome, elapsedMs } = entry;
        return [turn({ kind: "call_ended", toolCallId, outcome, elapsedMs }, this.#looks?.get(toolCallId))];
      }
    }
  }

  #keep(toolCallId: string, look: BuiltinPresentation): BuiltinPresentation {
    const shown = this.#isStored ? withoutTerminal(look) : look;
    this.#looks ??= new Map();
    this.#looks.set(toolCallId, shown);
    return shown;
  }

  #endTurn(): void {
    this.#looks?.clear();
    this.#announced?.clear();
  }
}

/** The kinds of records that records after them are shown by: the others change nothing here. */
export const SHOWN_BY: readonly JournalEntry["kind"][] = [
  ...(["title", "prompt", "announced", "call", "look", "end", "error"] as const),
];

type CallRecord = "announced" | "dropped" | "call" | "look" | "intent" | "outcome";

/** What a call said of itself while it ran is not recorded, but for its looks. */
const NO_PROGRESS = { progress: 0 };

function turn(event: TurnEvent, presentation?: BuiltinPresentation): SessionEvent {
  return { kind: "turn", event, ...defined({ presentation }) };
}

/** Of a stored record also its number and its time. */
function withoutNumber<Event extends object>(event: Event & { readonly seq?: number; readonly t?: number }) {
  const { seq: _, t: __, ...rest } = event;
  return rest;
}
