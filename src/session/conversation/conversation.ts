// The conversation of a session: turns of the model over one transcript, each step journaled, then published.
import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import type { World } from "../../base/ports/world.js";
import { type ContentBlock, text } from "../../base/text/content.js";
import { alreadyMarked, type MarkedContent } from "../../base/text/marking.js";
import { type BuiltinPresentation, type PlanEntry, presentationOf } from "../../builtin/index.js";
import {
  addUsage,
  type BegunCall,
  type BegunTurn,
  compactBetweenTurns,
  mediaOf,
  NO_USAGE,
  runAnswer,
  runTurn,
  TokenMeter,
  Transcript,
  type Turn,
  type TurnEnd,
  type TurnEvent,
  type WholeAnswer,
} from "../../engine/index.js";
import type { Model, ModelToolCall, ModelUsage, ThinkingLevel } from "../../models/index.js";
import { type CatalogTool, recalledResult } from "../../tools/index.js";
import type { EventStream } from "../events.js";
import { changeOf, type JournalEntry, LateNotes, recordOf } from "../journal/entry.js";
import { type Restored, STILL_RUNS } from "../journal/history.js";
import type { Journal } from "../journal/journal.js";
import { SESSION_LIMITS } from "../limits.js";
import type { SessionTools } from "../tools/tools.js";
import type { GivenCall, GoingOn } from "./continuation.js";
import { startingNote } from "./system-prompt.js";
import { type LateEnd, noteOf, SessionTasks } from "./tasks.js";

export interface ConversationOptions {
  readonly world: Pick<World, "soon" | "now" | "log" | "after">;
  /** Asked for with every model call, and how much it is to think: both may change. */
  readonly settings: { readonly model: Model; readonly thinking: ThinkingLevel | undefined };
  readonly journal: Journal;
  readonly tools: SessionTools;
  readonly events: EventStream;
  /** The session's id: the same for all its requests, so that providers find what they cached. */
  readonly cacheKey: string;
  /** For a session that is taken up again. */
  readonly restored?: Restored;
}

/** For the model, with the first result after a turn went on in another process. */
const MOVED = "The session moved to another process. Its servers were started again: what they held in memory is gone.";

/** Written with a change of the transcript. */
interface WithChange {
  /** Calls whose notes are part of the prompt. */
  readonly notes?: readonly string[];
  readonly entries?: readonly JournalEntry[];
}

export interface PersonsCall {
  readonly name: string;
  readonly argumentsJson: string;
}

/** The result of a call as a model would be given it: what is too long is kept, and named in it. */
export interface CalledTool {
  readonly toolCallId: string;
  readonly isError: boolean;
  readonly content: readonly ContentBlock[];
}

export class Conversation {
  /** Calls of before that still run. */
  readonly tasks: SessionTasks;
  readonly #options: ConversationOptions;
  readonly #transcript: Transcript;
  readonly #meter = new TokenMeter();
  /** How the calls of this turn look, by id: Tenon's own tools say so before and while they run. */
  readonly #shown = new Map<string, { readonly tool: CatalogTool; readonly presentation: BuiltinPresentation }>();
  readonly #pieces: Pieces;
  readonly #notes: LateNotes;
  /** Calls of the turn under way that go on at their servers by themselves. */
  readonly #lasting = new Set<string>();
  /** Calls of the turn under way that were sent and have no outcome. */
  readonly #sent = new Set<string>();
  /** Calls that people know from the process that began the turn. */
  readonly #begun = new Set<string>();
  /** Written with the first of its calls. */
  #answer: Extract<JournalEntry, { readonly kind: "answer" }> | undefined;
  /** No call is sent any more. Called when one that was sent has its outcome. */
  #onQuiet: (() => void) | undefined;
  /** Written with the next change of the transcript: both are there after a crash, or neither is. */
  #withChange: WithChange = {};
  #isBusy = false;
  /** Of the last request: another one has no cache of this conversation. */
  #lastModel: string | undefined;
  #usage: ModelUsage;
  #plan: readonly PlanEntry[] = [];

  constructor(options: ConversationOptions) {
    const { journal, restored } = options;
    this.#options = options;
    this.#usage = restored?.usage ?? NO_USAGE;
    this.#pieces = new Pieces(options);
    this.#transcript = Transcript.from(restored?.messages ?? [], restored?.compactions);
    this.#notes = new LateNotes(restored?.notes);
    this.tasks = new SessionTasks({
      world: options.world,
      results: options.tools.results,
      events: options.events,
      restored: restored?.tasks ?? [],
      media: () => mediaOf(options.settings.model),
      end: (late) => this.#endLate(late),
    });
    this.#transcript.listen((change) => {
      this.#pieces.write(); // what was said before stands before it
      const { notes = [], entries = [] } = this.#withChange;
      const isPrompt = change.kind === "added" && change.messages[0]?.role === "user";
      const told = isPrompt && notes.length > 0 ? { notes } : {};
      journal.append({ kind: "transcript", change: changeOf(change), ...told }, ...entries);
      if (change.kind === "cut") this.#notes.takeBack();
    });
  }

  /** Of the whole session. */
  get usage(): ModelUsage {
    return this.#usage;
  }

  /** What was spent beside the turns: by servers that used the model. */
  alsoSpent(usage: ModelUsage): void {
    this.#usage = addUsage(this.#usage, usage);
  }

  /** The whole plan of the work, each time it changes. It stays in sight of the model when the conversation is compacted. */
  setPlan(entries: readonly PlanEntry[]): void {
    this.#plan = entries;
    const { journal, events } = this.#options;
    journal.append({ kind: "plan", entries });
    const emit = () => events.emit({ kind: "plan", entries });
    const held = journal.durable();
    if (held)
      held.then(emit).catch(() => undefined); // the turn hears of a session that is superseded
    else emit();
  }

  /**
   * One turn of the model, or what is left of one that another process began: then the prompt may be in the transcript
   * already. Throws a TenonError when the model fails; the transcript is valid in every case.
   */
  async answer(
    content: MarkedContent | undefined,
    { plan, ...about }: TurnAbout & { readonly plan?: GoingOn },
    signal: AbortSignal,
  ): Promise<TurnEnd> {
    if (content) this.#addPrompt(content);
    const begun = plan && (await this.#begunTurn(plan));
    return await this.#follow(runTurn(this.#turn(about, begun), signal));
  }

  /** From now on no call is sent. Resolves once those that were sent have their outcome, unless they go on at their servers. */
  async quiet(signal: AbortSignal): Promise<void> {
    const isWaiting = () => [...this.#sent].some((id) => !this.#lasting.has(id)) && !signal.aborted;
    await new Promise<void>((resolve) => {
      this.#onQuiet = () => {
        if (!isWaiting()) resolve();
      };
      signal.addEventListener("abort", this.#onQuiet, { once: true });
      this.#onQuiet();
    });
  }

  /**
   * Before the session closes. Where a call goes on at its server, and nobody cancelled it, the journal ends here: whoever
   * loads the session next finds the turn as a crash would have left it, and asks for the call.
   */
  async leave(reason: Error, isCancelled = false): Promise<void> {
    if (this.#lasting.size > 0 && !isCancelled) this.#options.journal.seal();
    await this.tasks.close(reason);
  }

  /** A call of an earlier turn has ended at last: journaled once, told, and put before the model. */
  async #endLate(late: LateEnd): Promise<void> {
    const { toolCallId, subject, presented, elapsedMs } = late;
    const { journal, events } = this.#options;
    const outcome = { kind: "outcome", toolCallId, outcome: presented.outcome, elapsedMs } as const;
    const result = { callId: toolCallId, name: subject, ...presented.model };
    // While a turn runs the transcript is the turn's; and what the model has answered since does not know of the result.
    if (this.#isBusy || !this.#during({ entries: [outcome] }, () => this.#transcript.resolve(result))) {
      const note = { toolCallId, content: noteOf(late) };
      this.#notes.add(note);
      journal.append({ kind: "note", ...note }, outcome);
    }
    journal.sync();
    await journal.durable();
    const event = { kind: "call_ended", toolCallId, outcome: presented.outcome, elapsedMs } as const;
    await events.publish({ kind: "turn", event });
  }

  /** The prompt, and before it what has come in since the last one, and which servers still start. */
  #addPrompt(content: MarkedContent): void {
    const { waiting } = this.#notes;
    const notes = waiting.map(({ toolCallId }) => toolCallId);
    const starting = startingNote(this.#options.tools.catalog.starting);
    const whole = alreadyMarked([...waiting.flatMap((note) => note.content), ...starting, ...content]);
    this.#during({ notes }, () => this.#transcript.addUser(whole));
    this.#notes.send(notes);
  }

  #during<T>(withChange: WithChange, change: () => T): T {
    this.#withChange = withChange;
    try {
      return change();
    } finally {
      this.#withChange = {};
    }
  }

  /** Words of Tenon's own in a turn: the model hears nothing of them. */
  async say(text: string): Promise<void> {
    await this.#step({ kind: "text", text });
    await this.#pieces.flush();
  }

  /** A call that a person makes: run, recorded and told as the model's are. The model hears nothing of it. */
  async call({ name, argumentsJson }: PersonsCall, number: number, signal: AbortSignal): Promise<CalledTool> {
    const { tools, settings } = this.#options;
    const offer = tools.catalog.peek();
    const entry = offer.find(name);
    if (entry) await tools.permissions.prepare([entry]);
    const toolCallId = `${number}-1`;
    const batch = {
      calls: [{ callId: toolCallId, name, argumentsJson }],
      offer,
      // What it was good for is no hint for the model.
      ports: { ...tools.ports(), journal: this.#callJournal(), media: mediaOf(settings.model), onUsed: () => {} },
      nextCallId: () => toolCallId,
      restore: (call: ModelToolCall) => call,
    };
    const [result] = await this.#follow(runAnswer(batch, signal));
    return { toolCallId, isError: result?.isError ?? true, content: result?.content ?? [] };
  }

  /** Because the person asked for it; says in its events what came of it. */
  async compact(about: TurnAbout, signal: AbortSignal): Promise<void> {
    await this.#follow(compactBetweenTurns(this.#turn(about), signal));
  }

  async #begunTurn({ callCount, modelCalls, usage, answer }: GoingOn): Promise<BegunTurn> {
    const calls: BegunCall[] = [];
    for (const call of answer?.calls ?? []) calls.push(await this.#begunCall(call));
    return { callCount, modelCalls, usage, note: MOVED, ...defined({ answer: answer && { ...answer, calls } }) };
  }

  async #begunCall(call: GivenCall): Promise<BegunCall> {
    const { tools, settings } = this.#options;
    switch (call.state) {
      case "ended": {
        const { subject, outcome } = call;
        const origin = subject.tool?.label ?? subject.name;
        const context = { store: tools.results, media: mediaOf(settings.model), origin };
        return { state: "ended", result: await recalledResult(outcome, context) };
      }
      case "sent": {
        const { toolCallId, subject, task } = call;
        const restored = task && { ...task, subject };
        const lasting = restored && this.tasks.ofTurn(restored);
        if (restored && !lasting) {
          this.tasks.wait(restored);
          return { state: "ended", result: { isError: false, content: [text(STILL_RUNS)] } };
        }
        this.#begun.add(toolCallId);
        this.#sent.add(toolCallId);
        if (lasting) this.#lasting.add(toolCallId);
        return { state: "sent", toolCallId, ...defined({ lasting }) };
      }
      case "open":
        if (call.isStarted && call.toolCallId !== undefined) this.#begun.add(call.toolCallId);
        return { state: "open", ...defined({ toolCallId: call.toolCallId }) };
      default:
        return unreachable(call);
    }
  }

  #callJournal(): Turn["ports"]["journal"] {
    const { journal } = this.#options;
    return {
      intent: ({ toolCallId, tool }) => {
        if (this.#onQuiet) return new Promise<void>(() => undefined); // until the turn is stopped
        this.#sent.add(toolCallId);
        journal.append({ kind: "intent", toolCallId, definitionHash: tool.definitionHash });
        journal.assertWritten(); // a call that a crash would forget is not made
        return journal.durable();
      },
      lasting: ({ toolCallId, tool }, call) => {
        const task = this.tasks.taskOf(tool, { ...call, toolCallId });
        if (!task) return undefined;
        this.#lasting.add(toolCallId);
        this.#onQuiet?.();
        journal.append({ kind: "task", ...task });
        return journal.durable();
      },
    };
  }

  /** Written with the first of its calls, so that it costs no write of its own. */
  #keepAnswer(turn: number, answer: WholeAnswer): void {
    const { text: words, toolCalls, providerData, announced, isTruncated } = answer;
    this.#answer = {
      kind: "answer",
      turn,
      text: words,
      toolCalls,
      ...defined({
        providerData,
        announced: announced.size > 0 ? Object.fromEntries(announced) : undefined,
        isTruncated: isTruncated || undefined,
      }),
    };
  }

  #turn(about: TurnAbout, begun?: BegunTurn): Turn {
    const { settings, tools, cacheKey } = this.#options;
    let { model, thinking } = settings;
    return {
      ...about,
      ...defined({ begun }),
      onAnswer: (answer) => {
        this.#keepAnswer(about.number, answer);
        return undefined;
      },
      get model() {
        return model;
      },
      get thinking() {
        return thinking;
      },
      transcript: this.#transcript,
      meter: this.#meter,
      cacheKey,
      // What the person changes holds from here on: within one model call the model stays the same.
      offer: () => {
        ({ model, thinking } = settings);
        if (this.#lastModel !== undefined && this.#lastModel !== model.id) tools.catalog.renew();
        this.#lastModel = model.id;
        return tools.catalog.offer();
      },
      quarantine: (tool, reason) => tools.catalog.quarantine(tool.id, reason),
      pinned: () => pinnedPlan(this.#plan),
      ports: { ...tools.ports(), journal: this.#callJournal() },
    };
  }

  async #follow<T>(turn: AsyncGenerator<TurnEvent, T, void>): Promise<T> {
    let isOver = false;
    this.#isBusy = true;
    try {
      for (;;) {
        const step = await turn.next();
        isOver = step.done === true;
        if (step.done) return step.value;
        const held = this.#step(step.value);
        if (held) await held;
      }
    } finally {
      await this.#pieces.flush();
      this.#shown.clear();
      this.#sent.clear();
      this.#begun.clear();
      this.#answer = undefined;
      this.#isBusy = false;
      // Left early, it cancels the calls under way and waits for them. The step that failed is what is thrown.
      if (!isOver) await endEarly(turn);
    }
  }

  /** Journal first: what a client has seen must be there after a crash. */
  #step(event: TurnEvent): Promise<void> | undefined {
    return event.kind === "text" || event.kind === "thought" ? this.#pieces.add(event) : this.#other(event);
  }

  async #other(event: Exclude<TurnEvent, Piece>): Promise<void> {
    await this.#pieces.flush();
    const look = this.#look(event);
    if (event.kind === "call_started" && this.#begun.has(event.toolCallId)) return; // recorded and told already
    if (event.kind === "usage") this.#usage = addUsage(this.#usage, event.usage);
    if (event.kind === "compaction" && event.phase === "done") this.#options.tools.catalog.renew();
    const record = recordOf(event, { ...look, session: this.#usage });
    if (record) this.#options.journal.append(...this.#withAnswer(record));
    const held = this.#options.journal.durable();
    if (held) await held;
    if (event.kind === "call_ended") this.#hasEnded(event.toolCallId);
    const usage = event.kind === "usage" ? { sessionUsage: this.#usage } : {};
    await this.#options.events.publish({ kind: "turn", event, ...look, ...usage });
  }

  #withAnswer(record: JournalEntry): readonly JournalEntry[] {
    const answer = this.#answer;
    this.#answer = undefined;
    return answer ? [answer, record] : [record];
  }

  #hasEnded(toolCallId: string): void {
    this.#lasting.delete(toolCallId);
    this.#sent.delete(toolCallId);
    this.#onQuiet?.();
  }

  /** A presentation replaces the earlier one as a whole, and holds until the next. */
  #look(event: TurnEvent): { presentation?: BuiltinPresentation } {
    if (!("toolCallId" in event)) return {};
    const { toolCallId } = event;
    if (event.kind === "call_started") {
      const { tool } = event.subject;
      const presentation = this.#options.tools.describe(tool, event.arguments);
      if (tool && presentation) this.#shown.set(toolCallId, { tool, presentation });
    }
    const shown = this.#shown.get(toolCallId);
    if (!shown) return {};
    const newer = event.kind === "call_progress" ? presentationOf(shown.tool, event.progress) : undefined;
    if (newer) {
      this.#shown.set(toolCallId, { ...shown, presentation: newer });
      const isNew = JSON.stringify(newer) !== JSON.stringify(shown.presentation);
      if (isNew) this.#options.journal.append({ kind: "look", toolCallId, look: newer });
    }
    return { presentation: newer ?? shown.presentation };
  }
}

type TurnAbout = Pick<Turn, "number" | "system">;

async function endEarly(turn: AsyncGenerator<unknown, unknown, void>): Promise<void> {
  await turn.return(undefined).catch(() => undefined);
}

type PiecesOptions = Pick<ConversationOptions, "journal" | "events"> & { readonly world: Pick<World, "soon"> };

export type Piece = Extract<TurnEvent, { readonly kind: "text" | "thought" }>;

/** A piece costs a write to the disk and one to the client; those that a model sends in one packet share both. */
export class Pieces {
  readonly #options: PiecesOptions;
  #waiting: Piece[] = [];
  #isDue = false;
  #told: Promise<void> | undefined;

  constructor(options: PiecesOptions) {
    this.#options = options;
  }

  /** A promise when readers cannot keep up: it resolves once they can. */
  add(piece: Piece): Promise<void> | undefined {
    this.#waiting.push(piece);
    if (this.#waiting.length >= SESSION_LIMITS.piecesAtOnce) return this.flush();
    if (!this.#isDue) {
      this.#isDue = true;
      this.#options.world.soon(() => {
        this.#isDue = false;
        this.write();
      });
    }
    return this.#told;
  }

  /** What waits is in the journal when this returns, and told once the promise resolves. */
  flush(): Promise<void> | undefined {
    this.write();
    return this.#told;
  }

  /** What waits is in the journal when this returns, and is told as soon as readers take it. */
  write(): void {
    if (this.#waiting.length === 0) return;
    const pieces = this.#waiting;
    this.#waiting = [];
    const { journal, events } = this.#options;
    journal.append(...recordsOf(pieces));
    const held = journal.durable();
    const before = held && this.#told ? Promise.all([held, this.#told]) : (held ?? this.#told);
    const tell = () => events.publish(...pieces.map((event) => ({ kind: "turn", event }) as const));
    const told = before ? before.then(tell) : tell();
    this.#told = told;
    told?.then(
      () => {
        if (this.#told === told) this.#told = undefined;
      },
      () => undefined, // it never rejects
    );
  }
}

/** Adjacent ones of a kind are joined, as readers of a journal join them too. */
function recordsOf(pieces: readonly Piece[]): readonly JournalEntry[] {
  const records: { kind: Piece["kind"]; text: string }[] = [];
  for (const { kind, text } of pieces) {
    const last = records.at(-1);
    if (last?.kind === kind) last.text += text;
    else records.push({ kind, text });
  }
  return records;
}

/** The rest of the plan, for the model; empty when all of it is done. */
export function pinnedPlan(entries: readonly PlanEntry[]): readonly ContentBlock[] {
  if (entries.every(({ status }) => status === "completed")) return [];
  const lines = entries.map(({ status, content }) => `- ${status}: ${content}`);
  return [text(["The plan, as you last updated it:", ...lines].join("\n"))];
}
