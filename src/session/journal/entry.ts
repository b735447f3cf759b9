// What a journal holds, record by record: enough to show a session again, and for its model to go on with it.

import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import type { ContentBlock } from "../../base/text/content.js";
import type { MarkedContent } from "../../base/text/marking.js";
import type { BuiltinPresentation, PlanEntry } from "../../builtin/index.js";
import type { CallSubject, CompactionEvent, StopReason, TranscriptChange, TurnEvent } from "../../engine/index.js";
import type { ModelMessage, ModelToolCall, ModelUsage } from "../../models/index.js";
import type { LastingCall, ToolOrigin } from "../../tools/index.js";
import type { OutsideRead } from "../permission/guards.js";
import type { ClientName, QuestionKind } from "../ports.js";

/** The first line of a journal. */
export interface JournalHeader {
  readonly v: 1;
  readonly id: string;
  readonly cwd: string;
  readonly additionalDirectories?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly t: number;
  /** The session this one began as a copy of. */
  readonly forkedFrom?: string;
  /** What its client calls it, to find it again. */
  readonly label?: string;
}

/** A compaction without what it was made from: the change of the transcript says that. */
export type RecordedCompaction =
  | Exclude<CompactionEvent, { readonly phase: "done" }>
  | Omit<Extract<CompactionEvent, { readonly phase: "done" }>, "before" | "after">;

/**
 * How the conversation as the model sees it changed. `replaced` (compaction): a number stands for the message that had this
 * place before, so that both states can be told from the journal, and nothing is written twice.
 */
export type RecordedChange =
  | Exclude<TranscriptChange, { readonly kind: "replaced" }>
  | { readonly kind: "replaced"; readonly messages: readonly (number | ModelMessage)[] };

/** A call that goes on at its server by itself, and whom to ask for it. */
export interface OpenTask {
  readonly toolCallId: string;
  readonly server: string;
  readonly origin: ToolOrigin;
  /** Tells whether a server of that name is the same one, and nothing of how it is reached. */
  readonly mark: string;
  /** The server's own name of it. */
  readonly tool: string;
  readonly lasting: LastingCall;
}

/** The session runs in the environment of one of its clients, of which no variable is recorded. */
export interface ClientEnvironment {
  /** The session's, with the keys that are there. */
  readonly model: string;
}

type EventOf<Kind extends TurnEvent["kind"]> = Extract<TurnEvent, { readonly kind: Kind }>;

/** What is recorded. Never here: environment variables, headers, or anything else of a server's configuration. */
export type JournalEntry =
  /** Before the first prompt, for listings. */
  | {
      readonly kind: "title";
      readonly title: string;
      /** A person gave the session another one: this one is not told. */
      readonly isOverruled?: boolean;
    }
  /** `isCommand`: answered by Tenon, and the model hears nothing of it. */
  | {
      readonly kind: "prompt";
      readonly turn: number;
      readonly content: readonly ContentBlock[];
      readonly isCommand?: boolean;
      /** Of the client's choice: a prompt that is sent again under the same id is not run again. */
      readonly promptId?: string;
      readonly by?: ClientName;
      readonly environment?: ClientEnvironment;
    }
  /** A prompt that waits for its turn: `prompt` follows with the same id, or `unqueued`. */
  | {
      readonly kind: "queued";
      readonly promptId: string;
      readonly by?: ClientName;
      readonly content: readonly ContentBlock[];
      readonly environment?: ClientEnvironment;
    }
  /** It was taken back before its turn. */
  | { readonly kind: "unqueued"; readonly promptId: string }
  | { readonly kind: "text" | "thought"; readonly text: string }
  /** The model began to write a call; then comes `call`, or `dropped`. */
  | { readonly kind: "announced"; readonly toolCallId: string; readonly subject: CallSubject }
  | { readonly kind: "dropped"; readonly toolCallId: string; readonly reason: string }
  | ({ readonly kind: "call"; readonly look?: BuiltinPresentation } & Omit<
      EventOf<"call_started">,
      "kind" | "wasAnnounced"
    >)
  /** The call looks like this from now on. */
  | { readonly kind: "look"; readonly toolCallId: string; readonly look: BuiltinPresentation }
  /** The call is being sent: without an outcome nobody can say whether it took effect. */
  | { readonly kind: "intent"; readonly toolCallId: string; readonly definitionHash: string }
  /** It goes on at its server: without an outcome it is asked for again when the session is loaded. */
  | ({ readonly kind: "task" } & OpenTask)
  /** What the model is to be told with the next prompt: the result of a call that lasted longer than its turn. */
  | { readonly kind: "note"; readonly toolCallId: string; readonly content: readonly ContentBlock[] }
  | ({ readonly kind: "outcome" } & Omit<EventOf<"call_ended">, "kind">)
  | { readonly kind: "plan"; readonly entries: readonly PlanEntry[] }
  /** The model's answer as a whole, before its calls run. `announced`: the provider's call ids and those that people were shown. */
  | {
      readonly kind: "answer";
      readonly turn: number;
      readonly text: string;
      readonly toolCalls: readonly ModelToolCall[];
      readonly providerData?: JsonObject;
      readonly announced?: Readonly<Record<string, string>>;
      /** The output limit fell into its last call. */
      readonly isTruncated?: boolean;
    }
  | {
      readonly kind: "question";
      readonly id: string;
      readonly of: QuestionKind;
      readonly turn?: number;
      readonly toolCallId?: string;
      readonly shown: JsonValue;
    }
  /** Without `by`: withdrawn, expired, or nobody was there. Of an elicitation only the action, never what was filled in. */
  | { readonly kind: "answered"; readonly id: string; readonly answer: JsonValue; readonly by?: ClientName }
  /** Another owner goes on with the turn. `attempt` counts those in a row without a new outcome or answer; `notice`: for people. */
  | {
      readonly kind: "continued";
      readonly turn: number;
      readonly attempt: number;
      readonly reason: string;
      readonly notice?: string;
    }
  /** The turn was left on purpose: the next `continued` does not count. */
  | { readonly kind: "drained"; readonly turn: number }
  /** `session`: what the whole session has used, so that the record can be shown without those before it. */
  | (EventOf<"usage"> & { readonly session?: ModelUsage })
  | EventOf<"stopped">
  | { readonly kind: "compaction"; readonly event: RecordedCompaction }
  /** `notes`: the calls whose notes are part of the prompt that was added. */
  | { readonly kind: "transcript"; readonly change: RecordedChange; readonly notes?: readonly string[] }
  /** The prompt brought content from outside: a server's prompt, or a resource that it mentions. */
  | { readonly kind: "outside"; readonly read: OutsideRead }
  /** What the person chose for the session: its mode, its model and the like. The last of a name counts. */
  | { readonly kind: "setting"; readonly name: string; readonly value: JsonValue }
  | { readonly kind: "end"; readonly turn: number; readonly stopReason: StopReason }
  | { readonly kind: "error"; readonly turn: number; readonly code: string; readonly message: string }
  | { readonly kind: "closed" }
  /** Writing goes on behind something that cannot be read: what lies between here and record `after` does not count. */
  | { readonly kind: "reopened"; readonly after: number }
  /** A long text or medium, written once; blocks name it by the hash of its data. */
  | { readonly kind: "blob"; readonly blob: string; readonly data: string };

export type JournalRecord = JournalEntry & {
  /** Counts from 1 without a gap. */
  readonly seq: number;
  readonly t: number;
};

/** What is known beside an event: how the call it is about looks now, and what the session has used. */
interface EventFacts {
  readonly presentation?: BuiltinPresentation;
  readonly session?: ModelUsage;
}

/** Undefined for what is of the moment only. */
export function recordOf(event: TurnEvent, { presentation, session }: EventFacts = {}): JournalEntry | undefined {
  switch (event.kind) {
    case "text":
    case "thought":
      return { kind: event.kind, text: event.text };
    case "call_arguments": {
      const { toolCallId, offset } = event;
      return offset === 0 ? { kind: "announced", toolCallId, subject: subjectOf(event.subject) } : undefined;
    }
    case "call_dropped":
      return { kind: "dropped", toolCallId: event.toolCallId, reason: event.reason };
    case "call_started": {
      const { toolCallId, subject } = event;
      const call = { toolCallId, subject: subjectOf(subject), arguments: event.arguments };
      return { kind: "call", ...call, ...defined({ look: presentation }) };
    }
    case "call_ended": {
      const { toolCallId, outcome, elapsedMs } = event;
      return { kind: "outcome", toolCallId, outcome, elapsedMs: Math.round(elapsedMs) };
    }
    case "compaction": {
      if (event.phase !== "done") return { kind: "compaction", event };
      const { before: _, after: __, ...rest } = event;
      return { kind: "compaction", event: rest };
    }
    case "usage":
      return { ...event, ...defined({ session }) };
    case "stopped":
      return event;
    case "tool_quarantined":
    case "call_awaiting_approval":
    case "call_running":
    case "call_progress":
    case "waiting":
      return undefined;
    default:
      return unreachable(event);
  }
}

export function changeOf(change: TranscriptChange): RecordedChange {
  if (change.kind !== "replaced") return change;
  const places = new Map(change.before.map((message, index) => [message, index]));
  return { kind: "replaced", messages: change.after.map((message) => places.get(message) ?? message) };
}

/** Of a tool what people are shown, without its description and its schemas. */
function subjectOf({ name, tool, trustsHints }: CallSubject): CallSubject {
  if (!tool) return { name };
  const { id, origin, source, label, definitionHash } = tool;
  const { name: own, title, annotations } = tool.definition;
  const definition = { name: own, description: "", inputSchema: {}, ...defined({ title, annotations }) };
  return { name, tool: { id, origin, source, label, definition, definitionHash }, ...defined({ trustsHints }) };
}

export interface Note {
  readonly toolCallId: string;
  readonly content: MarkedContent;
}

/** Results that came after the turn of their call: each is put before the model once, with a prompt. */
export class LateNotes {
  #waiting: readonly Note[];
  /** With the last prompt. */
  #sent: readonly Note[] = [];

  constructor(waiting: readonly Note[] = []) {
    this.#waiting = waiting;
  }

  get waiting(): readonly Note[] {
    return this.#waiting;
  }

  /** One for each call: the same one again, after a crash between writing it and its outcome, takes its place. */
  add({ toolCallId, content }: Note): void {
    this.#waiting = [...this.#waiting.filter((note) => note.toolCallId !== toolCallId), { toolCallId, content }];
  }

  /** These are part of the prompt that was added now. */
  send(toolCallIds: readonly string[]): void {
    this.#sent = this.#waiting.filter(({ toolCallId }) => toolCallIds.includes(toolCallId));
    this.#waiting = this.#waiting.filter((note) => !this.#sent.includes(note));
  }

  /** The prompt was dropped, because no provider took it: they go with the next one. */
  takeBack(): void {
    this.#waiting = [...this.#sent, ...this.#waiting];
    this.#sent = [];
  }
}
