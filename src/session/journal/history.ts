// What a journal comes to: the conversation for people, the one for the model, and how what was under way is brought to an end.
import type { JsonValue } from "../../base/json/json.js";
import { alreadyMarked } from "../../base/text/marking.js";
import { addUsage, type CallSubject, NO_USAGE } from "../../engine/index.js";
import type { ModelMessage, ModelUsage } from "../../models/index.js";
import type { SessionEvent } from "../events.js";
import { type OutsideRead, outsideRead } from "../permission/verdict.js";
import { type JournalEntry, LateNotes, type Note, type OpenTask } from "./entry.js";
import { type ShownCall, ShownConversation } from "./shown.js";
import { TranscriptSoFar } from "./transcript.js";

/** A call that goes on at its server, and what people know it by. */
export interface RestoredTask extends OpenTask {
  readonly subject: CallSubject;
  /** Begun by the session this one was copied from, which waits for it too: it is not this one's to take back. */
  readonly isBorrowed?: boolean;
}

/** What a session goes on from. */
export interface Restored {
  readonly turnCount: number;
  /** Always a conversation that providers take. */
  readonly messages: readonly ModelMessage[];
  /** How many there were, so that the next one gets an id of its own. */
  readonly compactions: number;
  readonly usage: ModelUsage;
  readonly settings: ReadonlyMap<string, JsonValue>;
  /** Content from outside that it has read. */
  readonly outside: readonly OutsideRead[];
  /** Calls that go on at their servers. */
  readonly tasks: readonly RestoredTask[];
  /** What the model is to be told with the next prompt. */
  readonly notes: readonly Note[];
}

const BROKEN_OFF = "the turn was broken off: Tenon ended, or the session was copied, before it was done";

export class History {
  readonly #transcript = new TranscriptSoFar();
  readonly #shown = new ShownConversation(() => this.#transcript.lastReplacement);
  readonly #settings = new Map<string, JsonValue>();
  readonly #notes = new LateNotes();
  /** What a call brings from outside once it is made, by its id. */
  readonly #reading = new Map<string, OutsideRead>();
  readonly #outside: OutsideRead[] = [];
  #usage: ModelUsage = NO_USAGE;
  #turnCount = 0;
  #compactions = 0;

  add(entry: JournalEntry): void {
    this.#transcript.add(entry);
    this.#shown.add(entry);
    switch (entry.kind) {
      case "prompt":
        this.#turnCount = Math.max(this.#turnCount, entry.turn);
        break;
      case "usage":
        this.#usage = addUsage(this.#usage, entry.usage);
        break;
      case "compaction":
        this.#compactions = Math.max(this.#compactions, numberOf(entry.event.compactionId));
        break;
      case "note":
        this.#notes.add({ toolCallId: entry.toolCallId, content: alreadyMarked(entry.content) });
        break;
      case "call":
      case "intent":
        this.#followOutside(entry);
        break;
      case "transcript":
        if (entry.change.kind === "cut") this.#notes.takeBack();
        else if (entry.change.kind === "added" && entry.change.messages[0]?.role === "user") {
          this.#notes.send(entry.notes ?? []);
        }
        break;
      case "outside":
        this.#outside.push(entry.read);
        break;
      case "setting":
        this.#settings.set(entry.name, entry.value);
        break;
      default:
        break;
    }
  }

  #followOutside(entry: Extract<JournalEntry, { readonly kind: "call" | "intent" }>): void {
    if (entry.kind === "intent") {
      const read = this.#reading.get(entry.toolCallId);
      if (read) this.#outside.push(read);
      return;
    }
    const { tool } = entry.subject;
    const read = tool && outsideRead(tool, entry.arguments);
    if (read) this.#reading.set(entry.toolCallId, read);
  }

  /** Ends what a crash left open. The entries belong into the journal before anything else is written to it. */
  end(): readonly JournalEntry[] {
    const { openTurn: turn, openCompaction: compactionId } = this.#shown;
    if (turn === undefined) return [];
    const repairs: JournalEntry[] = [];
    const repair = (entry: JournalEntry) => {
      repairs.push(entry);
      this.add(entry);
    };
    for (const call of this.#shown.openCalls) if (!call.task) repair(endOf(call));
    if (compactionId !== undefined) {
      repair({ kind: "compaction", event: { kind: "compaction", phase: "failed", compactionId, reason: BROKEN_OFF } });
    }
    const messages = this.#transcript.ending();
    if (messages.length > 0) repair({ kind: "transcript", change: { kind: "added", messages } });
    repair({ kind: "error", turn, code: "session.closed", message: BROKEN_OFF });
    return repairs;
  }

  get restored(): Restored {
    return {
      turnCount: this.#turnCount,
      messages: this.#transcript.messages,
      compactions: this.#compactions,
      usage: this.#usage,
      settings: this.#settings,
      outside: this.#outside,
      tasks: this.#shown.openCalls.flatMap(({ task, subject }) => (task ? [{ ...task, subject }] : [])),
      notes: this.#notes.waiting,
    };
  }

  /** What people saw, in order: adjacent pieces of an answer joined, each call as its beginning and its end. */
  events(): Iterable<SessionEvent> {
    return { [Symbol.iterator]: () => this.#shown.events() };
  }
}

/** A call that was never sent has done nothing. */
function endOf({ toolCallId, arguments: given, isSent }: ShownCall): JournalEntry {
  if (given === undefined) return { kind: "dropped", toolCallId, reason: BROKEN_OFF };
  const outcome = isSent ? ({ kind: "unknown", reason: BROKEN_OFF } as const) : ({ kind: "cancelled" } as const);
  return { kind: "outcome", toolCallId, outcome, elapsedMs: 0 };
}

function numberOf(compactionId: string): number {
  const count = Number(compactionId.slice(compactionId.lastIndexOf("-") + 1));
  return Number.isSafeInteger(count) ? count : 0;
}
