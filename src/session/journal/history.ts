// What a journal comes to: the conversation for people, the one for the model, and how what was under way is brought to an end.

import { createHash } from "node:crypto";
import { isErrorCode, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { type ContentBlock, plainText, text } from "../../base/text/content.js";
import { alreadyMarked, markContent } from "../../base/text/marking.js";
import type { BuiltinPresentation } from "../../builtin/index.js";
import {
  addUsage,
  type CallSubject,
  NO_USAGE,
  resolved,
  type StopReason,
  Transcript,
  type TurnEvent,
  transcriptProblems,
} from "../../engine/index.js";
import type { ModelMessage, ModelToolResult, ModelUsage } from "../../models/index.js";
import { type CatalogTool, nothingOf } from "../../tools/index.js";
import type { SessionEvent } from "../events.js";
import { type OutsideRead, outsideRead } from "../permission/guards.js";
import { type JournalEntry, LateNotes, type Note, type OpenTask, type RecordedChange } from "./entry.js";
import type { JournalTail } from "./journal.js";
import { type StoredRecord, Unpacking } from "./read-journal.js";

/** A call that goes on at its server, and what people know it by. */
export interface RestoredTask extends OpenTask {
  readonly subject: CallSubject;
  /** Begun by the session this one was copied from, which waits for it too: it is not this one's to take back. */
  readonly isBorrowed?: boolean;
}

/** A prompt that has an id, and what became of it. */
export interface KnownPrompt {
  /** Missing for one that was taken back before its turn. */
  readonly turn?: number;
  /** Tells whether a prompt with the same id has the same content: see `contentHash`. */
  readonly hash: string;
  /** Missing while its turn is open. */
  readonly end?: PromptEnd;
}

export type PromptEnd =
  | { readonly stopReason: StopReason; readonly usage: ModelUsage }
  | { readonly error: TenonError };

export type QueuedPrompt = Omit<EntryOf<"queued">, "kind">;
export type OpenQuestion = Omit<EntryOf<"question">, "kind">;

/** A turn that has begun and not ended, with its records from its prompt on. */
export interface OpenTurnRecords {
  readonly turn: number;
  /** Milliseconds since the epoch. */
  readonly beganMs: number;
  readonly records: readonly JournalEntry[];
}

/** How an open turn is brought to its end. */
export interface TurnEnding {
  readonly end: EntryOf<"end" | "error">;
  /** In the model's place, where its answer is missing; none if empty. */
  readonly note?: string;
}

type EntryOf<Kind extends JournalEntry["kind"]> = Extract<JournalEntry, { readonly kind: Kind }>;

/** What a session goes on from. */
export interface Restored {
  readonly turnCount: number;
  /** A prompt gave the session its title. */
  readonly isNamed: boolean;
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
  /** The tools the model called: it may call them by the same names again. */
  readonly called: readonly CatalogTool[];
  /** What the model is to be told with the next prompt. */
  readonly notes: readonly Note[];
  /** By their ids. */
  readonly prompts: ReadonlyMap<string, KnownPrompt>;
  /** Those that wait for their turn, the first one first. */
  readonly queued: readonly QueuedPrompt[];
  /** Those that nobody has answered. */
  readonly questions: readonly OpenQuestion[];
  /** Only where what was under way has not been brought to an end. */
  readonly openTurn?: OpenTurnRecords;
}

/** The same for the same content, in a journal and on its way to it. */
export function contentHash(content: readonly ContentBlock[]): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

/** A call as far as it came. */
interface RecordedCall {
  readonly toolCallId: string;
  subject: CallSubject;
  /** Missing while the model was still writing them. */
  arguments?: JsonObject;
  look?: BuiltinPresentation;
  /** Whether it was sent to its tool. */
  isSent: boolean;
  /** It goes on at its server, whatever became of the turn. */
  task?: OpenTask;
  end?: Extract<TurnEvent, { readonly kind: "call_ended" | "call_dropped" }>;
}

/** What a turn of the model that is under way has said and done that is not in the transcript yet. */
interface OpenTurn {
  readonly content: readonly ContentBlock[];
  isInTranscript: boolean;
  text: string;
  readonly calls: Set<RecordedCall>;
}

export const BROKEN_OFF = "the turn was broken off: Tenon ended, or the session was copied, before it was done";

const LAST_TURN_BROKEN_OFF =
  "The last turn of this session was broken off. Its prompt is not run again: send it again if it should be.";

/** In the model's place, where its answer is missing or not whole. */
const BROKE_OFF = "[the turn was broken off here]";

export class History {
  /** What people saw, in order: one piece per answer, one card per call. */
  readonly #unpacking = new Unpacking();
  readonly #turnStarts: number[] = [];
  readonly #shown: (SessionEvent | RecordedCall)[] = [];
  readonly #calls = new Map<string, RecordedCall>();
  readonly #settings = new Map<string, JsonValue>();
  readonly #notes = new LateNotes();
  readonly #outside: OutsideRead[] = [];
  readonly #prompts = new Map<string, KnownPrompt>();
  readonly #queued = new Map<string, QueuedPrompt>();
  readonly #questions = new Map<string, OpenQuestion>();
  #messages: readonly ModelMessage[] = [];
  /** What the last compaction replaced, and by what. */
  #replacement: { readonly before: readonly ModelMessage[]; readonly after: readonly ModelMessage[] } = {
    before: [],
    after: [],
  };
  #usage: ModelUsage = NO_USAGE;
  #turnCount = 0;
  #isNamed = false;
  #compactions = 0;
  /** The turn that has begun and not ended; `#open` is for those that the model answers. */
  #openTurn: (OpenTurnRecords & { readonly promptId?: string; readonly records: JournalEntry[] }) | undefined;
  #turnUsage: ModelUsage = NO_USAGE;
  #open: OpenTurn | undefined;
  #openCompaction: string | undefined;

  /** A record as it is kept; all of them are given, from the first one on. */
  addStored(record: StoredRecord): void {
    const whole = this.#unpacking.add(record);
    if (whole?.kind === "prompt") this.#turnStarts.push(whole.seq);
    if (whole) this.add(whole);
  }

  /** The numbers of the records that turns begin with, of those that were stored. */
  get turnStarts(): readonly number[] {
    return this.#turnStarts;
  }

  /** Where a journal of these records goes on, once `repairs` are written. */
  tail(repairs: readonly JournalEntry[]): JournalTail {
    return { blobs: this.#unpacking.stock, repairs };
  }

  add(entry: JournalEntry & { readonly t?: number }): void {
    this.#openTurn?.records.push(entry);
    switch (entry.kind) {
      case "prompt":
        this.#begin(entry);
        break;
      case "text":
      case "thought":
        if (this.#open && entry.kind === "text") this.#open.text += entry.text;
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
      case "answer":
        if (this.#open) this.#open.text = entry.text;
        break;
      case "continued":
        if (this.#open && this.#open.calls.size === 0) this.#open.text = ""; // the answer begins again
        break;
      case "note":
        this.#notes.add({ toolCallId: entry.toolCallId, content: alreadyMarked(entry.content) });
        break;
      case "queued":
        this.#queued.set(entry.promptId, entry);
        break;
      case "unqueued":
        this.#takeBack(entry.promptId);
        break;
      case "question":
        this.#questions.set(entry.id, entry);
        break;
      case "answered":
        this.#questions.delete(entry.id);
        break;
      case "plan":
        this.#shown.push({ kind: "plan", entries: entry.entries });
        break;
      case "usage":
        this.#usage = entry.session ?? addUsage(this.#usage, entry.usage);
        this.#turnUsage = entry.turn;
        this.#shown.push({ kind: "turn", event: entry, sessionUsage: this.#usage });
        break;
      case "stopped":
        this.#shown.push({ kind: "turn", event: entry });
        break;
      case "compaction": {
        const { event } = entry;
        this.#compactions = Math.max(this.#compactions, numberOf(event.compactionId));
        this.#openCompaction = event.phase === "started" ? event.compactionId : undefined;
        this.#shown.push({ kind: "turn", event: event.phase === "done" ? { ...event, ...this.#replacement } : event });
        break;
      }
      case "transcript":
        this.#change(entry.change, entry.notes);
        break;
      case "outside":
        this.#outside.push(entry.read);
        break;
      case "setting":
        this.#settings.set(entry.name, entry.value);
        break;
      case "end":
        this.#endTurn({ kind: "turn_ended", turn: entry.turn, stopReason: entry.stopReason });
        break;
      case "error": {
        const error = new TenonError(isErrorCode(entry.code) ? entry.code : "internal", entry.message);
        this.#endTurn({ kind: "turn_ended", turn: entry.turn, error });
        break;
      }
      default:
        break;
    }
  }

  #begin(entry: EntryOf<"prompt"> & { readonly t?: number }): void {
    const { turn, content, promptId } = entry;
    this.#turnCount = Math.max(this.#turnCount, turn);
    this.#isNamed ||= !entry.isCommand;
    this.#openTurn = { turn, beganMs: entry.t ?? 0, ...defined({ promptId }), records: [entry] };
    this.#turnUsage = NO_USAGE;
    if (promptId !== undefined) {
      this.#queued.delete(promptId);
      this.#prompts.set(promptId, { turn, hash: contentHash(content) });
    }
    this.#open = entry.isCommand ? undefined : { content, isInTranscript: false, text: "", calls: new Set() };
    this.#shown.push({ kind: "user", content });
  }

  /** It is over: sent again under its id, it does not run. */
  #takeBack(promptId: string): void {
    const content = this.#queued.get(promptId)?.content;
    if (!content) return;
    this.#queued.delete(promptId);
    const end = { stopReason: "cancelled", usage: NO_USAGE } as const;
    this.#prompts.set(promptId, { hash: contentHash(content), end });
  }

  /** What people should hear of, before what was under way is brought to an end. */
  get problems(): readonly string[] {
    return this.#openTurn ? [LAST_TURN_BROKEN_OFF] : [];
  }

  /** Leaves an open turn to be continued. The entries belong into the journal before anything else is written to it. */
  resume(): readonly JournalEntry[] {
    // Whoever asked is gone, and takes no answer any more.
    const repairs = [...this.#questions.keys()].map((id) => ({ kind: "answered", id, answer: null }) as const);
    for (const entry of repairs) this.add(entry);
    return repairs;
  }

  /** Ends what a crash left open, as broken off unless given. The entries belong where those of `resume` do. */
  end(ending?: TurnEnding): readonly JournalEntry[] {
    const turn = this.#openTurn?.turn;
    const compactionId = this.#openCompaction;
    const repairs = [...this.resume()];
    const repair = (entry: JournalEntry) => {
      repairs.push(entry);
      this.add(entry);
    };
    if (turn === undefined) return repairs;
    for (const call of this.#openCalls()) if (!call.task) repair(endOf(call));
    if (compactionId !== undefined) {
      repair({ kind: "compaction", event: { kind: "compaction", phase: "failed", compactionId, reason: BROKEN_OFF } });
    }
    const messages = this.#ending(ending?.note);
    if (messages.length > 0) repair({ kind: "transcript", change: { kind: "added", messages } });
    repair(ending?.end ?? { kind: "error", turn, code: "session.closed", message: BROKEN_OFF });
    return repairs;
  }

  get restored(): Restored {
    return {
      turnCount: this.#turnCount,
      isNamed: this.#isNamed,
      messages: this.#valid(),
      compactions: this.#compactions,
      usage: this.#usage,
      settings: this.#settings,
      outside: this.#outside,
      // Those of an open turn are asked for by the turn.
      tasks: this.#openCalls().flatMap((call) => {
        return call.task && !this.#open?.calls.has(call) ? [{ ...call.task, subject: call.subject }] : [];
      }),
      called: [...this.#calls.values()].flatMap(({ subject }) => subject.tool ?? []),
      notes: this.#notes.waiting,
      prompts: this.#prompts,
      queued: [...this.#queued.values()],
      questions: [...this.#questions.values()],
      ...defined({ openTurn: this.#openTurn }),
    };
  }

  /** What people saw, in order: adjacent pieces of an answer joined, each call as its beginning and its end. */
  events(): readonly SessionEvent[] {
    return this.#shown.flatMap((item) => ("kind" in item ? [item] : callEvents(item)));
  }

  #openCalls(): readonly RecordedCall[] {
    return [...this.#calls.values()].filter(({ end }) => end === undefined);
  }

  /** Always one that providers take: what does not fit, after damage to the file, is left out with all that follows. */
  #valid(): readonly ModelMessage[] {
    let valid = this.#messages;
    while (transcriptProblems(valid).length > 0) {
      const prompt = valid.findLastIndex(({ role }) => role === "user");
      valid = valid.slice(0, prompt);
    }
    return valid;
  }

  /** What has to be added for a turn that never ended. Every call of it has its outcome by now, unless it lasts. */
  #ending(note = BROKE_OFF): readonly ModelMessage[] {
    if (!this.#open) return [];
    const before = this.#valid();
    const transcript = Transcript.from(before);
    const { content, isInTranscript, text: words } = this.#open;
    const calls = [...this.#open.calls];
    if (!isInTranscript) transcript.addUser(markContent(content));
    if (calls.length > 0) {
      const toolCalls = calls.map(({ toolCallId: callId, subject: { name }, arguments: given }) => {
        return { callId, name, argumentsJson: JSON.stringify(given) };
      });
      transcript.addCalls({ text: words, toolCalls }, calls.map(resultOf));
    } else if (words.trim() !== "") transcript.addAnswer(`${words}\n\n${BROKE_OFF}`);
    transcript.endTurn(note);
    return transcript.messages.slice(before.length);
  }

  #say(kind: "text" | "thought", words: string): void {
    const last = this.#shown.at(-1);
    const said = last && "event" in last && last.event.kind === kind ? last.event.text : undefined;
    if (said !== undefined) this.#shown.pop();
    this.#shown.push({ kind: "turn", event: { kind, text: `${said ?? ""}${words}` } });
  }

  #endTurn(event: Extract<SessionEvent, { readonly kind: "turn_ended" }>): void {
    const promptId = this.#openTurn?.promptId;
    const prompt = promptId === undefined ? undefined : this.#prompts.get(promptId);
    if (promptId !== undefined && prompt) {
      const end = "error" in event ? { error: event.error } : { stopReason: event.stopReason, usage: this.#turnUsage };
      this.#prompts.set(promptId, { ...prompt, end });
    }
    this.#openTurn = undefined;
    this.#open = undefined;
    this.#shown.push(event);
  }

  #follow(entry: Exclude<Extract<JournalEntry, { readonly toolCallId: string }>, { readonly kind: "note" }>): void {
    const { toolCallId } = entry;
    const call = this.#calls.get(toolCallId) ?? this.#newCall(entry);
    switch (entry.kind) {
      case "call":
        Object.assign(call, { subject: entry.subject, arguments: entry.arguments }, defined({ look: entry.look }));
        this.#open?.calls.add(call);
        break;
      case "look":
        call.look = entry.look;
        break;
      case "intent": {
        const { tool } = call.subject;
        const read = tool && call.arguments && outsideRead(tool, call.arguments);
        if (read) this.#outside.push(read);
        call.isSent = true;
        break;
      }
      case "task":
        call.task = entry;
        break;
      case "dropped":
        call.end = { kind: "call_dropped", toolCallId, reason: entry.reason };
        break;
      case "outcome":
        call.end = { kind: "call_ended", toolCallId, outcome: entry.outcome, elapsedMs: entry.elapsedMs };
        break;
      case "announced":
        break;
    }
  }

  /** Of a call whose beginning is lost nothing is shown. */
  #newCall(entry: { readonly toolCallId: string; readonly subject?: CallSubject }): RecordedCall {
    const { toolCallId, subject } = entry;
    const call: RecordedCall = { toolCallId, subject: subject ?? { name: "" }, isSent: false };
    if (!subject) return call;
    this.#calls.set(toolCallId, call);
    this.#shown.push(call);
    return call;
  }

  #change(change: RecordedChange, notes: readonly string[] = []): void {
    const before = this.#messages;
    switch (change.kind) {
      case "added":
        this.#messages = [...before, ...change.messages];
        if (change.messages[0]?.role === "user") this.#notes.send(notes);
        break;
      case "cut":
        this.#messages = before.slice(0, change.length);
        this.#notes.takeBack();
        break;
      case "replaced": {
        const after = change.messages.flatMap((one) => (typeof one === "number" ? (before[one] ?? []) : one));
        this.#messages = after;
        this.#replacement = { before, after };
        return;
      }
      case "resolved":
        this.#messages = resolved(before, change.result) ?? before;
        return;
    }
    if (!this.#open) return;
    this.#open.isInTranscript = true;
    this.#open.text = "";
    this.#open.calls.clear();
  }
}

/** A call that was never sent has done nothing. */
function endOf({ toolCallId, arguments: given, isSent }: RecordedCall): JournalEntry {
  if (given === undefined) return { kind: "dropped", toolCallId, reason: BROKEN_OFF };
  const outcome = isSent ? ({ kind: "unknown", reason: BROKEN_OFF } as const) : ({ kind: "cancelled" } as const);
  return { kind: "outcome", toolCallId, outcome, elapsedMs: 0 };
}

function numberOf(compactionId: string): number {
  const count = Number(compactionId.slice(compactionId.lastIndexOf("-") + 1));
  return Number.isSafeInteger(count) ? count : 0;
}

/** Its beginning and its end, side by side: in between nothing is left to see, but that one without an end still runs. */
function callEvents({ toolCallId, subject, arguments: given, look, task, end }: RecordedCall): readonly SessionEvent[] {
  const start: TurnEvent = given
    ? { kind: "call_started", toolCallId, subject, arguments: given, wasAnnounced: false }
    : { kind: "call_arguments", toolCallId, subject, offset: 0, delta: "" };
  const running: TurnEvent | undefined = task && { kind: "call_running", toolCallId };
  const presentation = look && withoutTerminal(look);
  return [start, end ?? running].flatMap((event): readonly SessionEvent[] => {
    if (!event) return [];
    const isShown = event.kind === "call_started" || event.kind === "call_ended";
    return [{ kind: "turn", event, ...defined({ presentation: isShown ? presentation : undefined }) }];
  });
}

/** The terminal is gone with the client that had it: the outcome says in words what was in it. */
export function withoutTerminal({ kind, title, locations, diff }: BuiltinPresentation): BuiltinPresentation {
  return { kind, title, locations, ...defined({ diff }) };
}

/** In the place of a result that is still to come. */
export const STILL_RUNS =
  "The call goes on at its server as a long-running task. Its result will be given to you as soon as it is there: do not call it again.";

function resultOf({ toolCallId: callId, subject: { name, tool }, task, end }: RecordedCall): ModelToolResult {
  const said = (words: string, isError = true) => ({ callId, name, isError, content: [text(words)] });
  const outcome = end?.kind === "call_ended" ? end.outcome : undefined;
  switch (outcome?.kind) {
    case "done":
    case "failed": {
      // The words only: they were marked and clipped before anybody saw them.
      const words = plainText(outcome.content);
      const result = said(words.trim() === "" ? nothingOf(outcome.kind) : words, outcome.kind === "failed");
      const isOwn = outcome.kind === "failed" && outcome.isOwn === true;
      return { ...result, ...defined({ origin: isOwn ? undefined : tool?.label }) };
    }
    case "refused":
      return said(`The call was refused: ${outcome.reason}`);
    case "cancelled":
      return said("The call was cancelled.");
    case "unknown":
      return said(`Outcome unknown: ${outcome.reason}. Do not assume it failed.`);
    case undefined:
      return task ? said(STILL_RUNS, false) : said("Outcome unknown. Do not assume it failed.");
  }
}
