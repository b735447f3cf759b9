// The events of a session, inside and outside turns, and the stream that carries them to every reader.

import { Channel } from "../base/async/channel.js";
import type { TenonError } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import type { ContentBlock } from "../base/text/content.js";
import type { BuiltinPresentation, PlanEntry } from "../builtin/index.js";
import type { StopReason, TurnEvent } from "../engine/index.js";
import type { SandboxSpec, ServerIdentity } from "../mcp/index.js";
import type { ModelUsage } from "../models/index.js";
import type { ToolOrigin } from "../tools/index.js";
import type { AttachedClient } from "./clients/clients.js";
import type { AskedQuestion, QuestionChange } from "./clients/questions.js";
import { SESSION_LIMITS } from "./limits.js";
import type { ClientName, SessionState } from "./ports.js";
import type { SettingsView } from "./settings.js";

/**
 * Where one server of a session stands, in words for people and states for programs.
 *
 * @example
 * for (const { name, state, error } of session.servers()) console.log(name, state, error);
 */
export interface ServerStatus {
  readonly name: string;
  /** The layer it came from. */
  readonly origin: ToolOrigin;
  /** `idle`: lazy, its tools are remembered, and it is started when one of them is first used. */
  readonly state: "idle" | "connecting" | "ready" | "reconnecting" | "failed" | "closed";
  readonly toolCount: number;
  /** Why it failed, with the end of its stderr where there is one. */
  readonly error?: string;
  readonly hint?: string;
  /** It wants credentials, or refused those it got. */
  readonly needsLogin?: true;
  /** What its process may touch; left out for one that runs without a sandbox, or not here. */
  readonly sandbox?: Pick<SandboxSpec, "mode" | "network">;
  /** Milliseconds from the start of the attempt until it was ready. */
  readonly connectMs?: number;
  /** How long its last answer to a call took. */
  readonly latencyMs?: number;
  /** How often it was connected anew since it was first ready. */
  readonly restarts?: number;
  /** The end of its stderr, without the secrets it was given. */
  readonly stderr?: readonly string[];
  /** What the server calls itself, and how the two sides talk. */
  readonly server?: ServerIdentity;
  readonly era?: "legacy" | "modern";
  readonly protocolVersion?: string;
  /** Something about it that is no fault, for people. */
  readonly note?: string;
  /** What was left out of its lists, each in one sentence. */
  readonly problems?: readonly string[];
}

/** All that a client needs to show a session, beside its conversation. */
export interface SessionView {
  readonly id: string;
  /** Missing before the first prompt, and until it is known of a session that was loaded. */
  readonly title?: string;
  readonly cwd: string;
  readonly state: SessionState;
  readonly settings: SettingsView;
  readonly commands: readonly CommandInfo[];
  readonly servers: readonly ServerStatus[];
  readonly usage: ModelUsage;
  /** Of the last record. */
  readonly seq: number;
  readonly clients: readonly AttachedClient[];
  readonly questions: readonly AskedQuestion[];
  /** The turn that runs, and the prompts that wait for theirs. */
  readonly running?: ShownPrompt & { readonly number: number };
  readonly queued: readonly ShownPrompt[];
}

interface ShownPrompt {
  readonly promptId?: string;
  readonly by?: ClientName;
}

/** A slash command as menus show it. */
export interface CommandInfo {
  /** Without the slash. */
  readonly name: string;
  readonly description: string;
  /** What comes after the name, for people; none when nothing does. */
  readonly input?: string;
}

/** The result of a change to a server, in one sentence. */
export type ServerChange =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string };

export type NoticeLevel = "info" | "warning" | "error";

/** Tells people of something that belongs to no turn. */
export type Notify = (level: NoticeLevel, text: string) => void;

/** What has changed, of a session that several clients share. */
export interface SessionInfo {
  readonly state: SessionState;
  /** Of the turn that runs. */
  readonly promptId?: string;
  readonly by?: ClientName;
  /** Prompts that wait for their turn. */
  readonly queued: number;
  readonly clients: readonly AttachedClient[];
  /** A question that was asked, or is over: `answer` says how, and `by` who answered it. */
  readonly question?: QuestionChange;
  readonly ended?: EndedTurn;
}

export interface PromptResult {
  readonly stopReason: StopReason;
  readonly usage: ModelUsage;
  /** Missing for a prompt that was taken back before its turn. */
  readonly turn?: number;
}

/** A turn that is over, with its stop reason or with the error its prompt rejects with. */
export interface EndedTurn {
  readonly turn: number;
  readonly promptId?: string;
  readonly stopReason?: StopReason;
  readonly error?: { readonly code: string; readonly message: string };
}

export type SessionEvent =
  /** `by`: the client that sent it, where a session has several. */
  | {
      readonly kind: "user";
      readonly content: readonly ContentBlock[];
      readonly promptId?: string;
      readonly by?: ClientName;
    }
  | {
      readonly kind: "turn";
      readonly event: TurnEvent;
      /** How the call the event is about looks now, for calls of Tenon's own tools. */
      readonly presentation?: BuiltinPresentation;
      /** With an event about usage: what the whole session has used. */
      readonly sessionUsage?: ModelUsage;
      /** Of the moment, and of no other client's business: whoever follows the address of a log-in can take it over. */
      readonly isForApprovers?: true;
    }
  /** The whole plan of the work, each time it changes. */
  | { readonly kind: "plan"; readonly entries: readonly PlanEntry[] }
  /** The last event of a turn: with its stop reason, or with the error its prompt rejects with. */
  | { readonly kind: "turn_ended"; readonly turn: number; readonly stopReason: StopReason }
  | { readonly kind: "turn_ended"; readonly turn: number; readonly error: TenonError }
  | { readonly kind: "server"; readonly status: ServerStatus }
  /** The settings, each time one of them or what it could be changes. */
  | { readonly kind: "settings"; readonly view: SettingsView }
  /** The slash commands there are, each time they change. */
  | { readonly kind: "commands"; readonly commands: readonly CommandInfo[] }
  /** What the session is called from now on. */
  | { readonly kind: "title"; readonly title: string }
  /** For sessions that clients have joined: who is there, what runs, and what became of questions. */
  | ({ readonly kind: "session_info" } & SessionInfo)
  /** Something people should hear of that belongs to no turn. */
  | { readonly kind: "notice"; readonly level: NoticeLevel; readonly text: string };

const RECORDED_KINDS: ReadonlySet<SessionEvent["kind"]> = new Set(["user", "plan", "turn_ended", "title"]);

/** Whether no record of the journal says it: an event of the moment. */
function isMoment(event: SessionEvent): boolean {
  if (event.kind !== "turn") return !RECORDED_KINDS.has(event.kind);
  switch (event.event.kind) {
    case "call_arguments":
      return event.event.offset > 0; // that a call is being written is recorded
    case "call_awaiting_approval":
    case "call_progress":
    case "tool_quarantined":
    case "waiting":
      return true;
    default:
      return false;
  }
}

/** The readers of a session's events: each gets all of them, in order. */
export class EventStream {
  /** Gets what no record says. */
  onMoment: ((event: SessionEvent) => void) | undefined;
  onTitle: (() => void) | undefined;
  /** What the session is called, once it was told. */
  title: string | undefined;
  /** The last ones, each text once. */
  #notices: readonly Extract<SessionEvent, { readonly kind: "notice" }>[] = [];
  readonly #readers = new Set<Channel<SessionEvent>>();
  #isClosed = false;

  /** What a new reader is told first: the state of everything now, and the notices so far. */
  current({ settings, commands, servers }: Pick<SessionView, "settings" | "commands" | "servers">): SessionEvent[] {
    const known = servers.filter(({ state }) => state !== "connecting");
    return [
      { kind: "settings", view: settings },
      { kind: "commands", commands },
      ...known.map((status): SessionEvent => ({ kind: "server", status })),
      ...this.#notices,
    ];
  }

  /** First `initial`, then everything that follows. */
  subscribe(initial: readonly SessionEvent[]): AsyncIterableIterator<SessionEvent> {
    const channel = new Channel<SessionEvent>(LIMITS.eventBacklog);
    if (this.#isClosed) channel.close();
    else this.#readers.add(channel);
    for (const event of initial) channel.offer(event);
    return channel[Symbol.asyncIterator]();
  }

  /** In order, to every reader. A promise while the backlog of one is full; undefined when all are served. */
  publish(...events: readonly SessionEvent[]): Promise<void> | undefined {
    if (this.onMoment) for (const event of events) if (isMoment(event)) this.onMoment(event);
    return this.#send(events);
  }

  /** The same for one that is not recorded although others of its kind are. */
  publishMoment(event: SessionEvent): Promise<void> | undefined {
    this.onMoment?.(event);
    return this.#send([event]);
  }

  #send(events: readonly SessionEvent[]): Promise<void> | undefined {
    for (const event of events) this.#noteTitle(event);
    const waits: Promise<void>[] = [];
    for (const reader of this.#readers) {
      const room = Math.max(0, LIMITS.eventBacklog - reader.size);
      for (const event of events.slice(0, room)) reader.offer(event);
      if (room < events.length) waits.push(sendAll(reader, events.slice(room)));
    }
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
  }

  /** For events outside of turns, where nothing can wait. */
  emit(event: SessionEvent): void {
    // Outside of turns a title is one that a person gave, which is kept beside the journal.
    if (this.onMoment && (event.kind === "title" || isMoment(event))) this.onMoment(event);
    this.#noteTitle(event);
    for (const reader of this.#readers) reader.offer(event);
  }

  #noteTitle(event: SessionEvent): void {
    if (event.kind !== "title") return;
    this.title = event.title;
    this.onTitle?.();
  }

  /** Replayed to readers that subscribe later. */
  readonly notice = (level: NoticeLevel, text: string): void => {
    const event = { kind: "notice", level, text } as const;
    const others = this.#notices.filter((one) => one.text !== text);
    this.#notices = [...others, event].slice(-SESSION_LIMITS.log.notices);
    this.emit(event);
  };

  close(): void {
    this.#isClosed = true;
    for (const reader of this.#readers) reader.close();
    this.#readers.clear();
  }
}

async function sendAll(reader: Channel<SessionEvent>, events: readonly SessionEvent[]): Promise<void> {
  for (const event of events) await reader.send(event);
}
