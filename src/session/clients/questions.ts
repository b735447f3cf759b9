// The open questions of a session: each is put to every client that may answer it, and the first valid answer counts.
import { abortListeners, handled } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import { uuidV7 } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import type { Timer, World } from "../../base/ports/world.js";
import type { JournalEntry } from "../journal/entry.js";
import { SESSION_LIMITS } from "../limits.js";
import type { ClientName, QuestionKind, SessionPorts } from "../ports.js";
import type { Kind } from "./question-kinds.js";

/** A client as questions see it. */
export interface AskedClient {
  readonly client: ClientName;
  readonly ports: SessionPorts;
  /** It is told what questions are known by: the only client of a session has no use for it. */
  readonly isShared: boolean;
  /** Whether it is asked in a turn of this starter; undefined outside of turns, and where nobody knows who started one. */
  mayAnswer(starter: ClientName | undefined): boolean;
}

/** An open question, for people and programs. */
export interface AskedQuestion {
  readonly id: string;
  readonly of: QuestionKind;
  readonly askedMs: number;
  readonly turn?: number;
  readonly toolCallId?: string;
  /** The whole question, arguments included: for those who may answer it. */
  readonly shown: JsonObject;
  /** Without what is good for taking over a log-in, and without the words of a configuration. */
  readonly summary: JsonObject;
}

/** Told when a question is asked, and when it is over; `answer` and `by` for one that was answered. */
export interface QuestionChange {
  readonly id: string;
  readonly of: QuestionKind;
  readonly isOpen: boolean;
  readonly answer?: JsonValue;
  readonly by?: ClientName;
}

export interface QuestionsOptions {
  readonly world: Pick<World, "now" | "randomBytes" | "after" | "log">;
  /** Into the journal. Undefined: it is there already. */
  record(entry: JournalEntry): Promise<void> | undefined;
  /** With nobody there who could answer, questions wait for somebody instead of being declined. */
  readonly mayWait: boolean;
  /** Those that are attached now, the earliest first. */
  clients(): Iterable<AskedClient>;
  /** The turn that runs. */
  turn(): { readonly number: number; readonly by?: ClientName } | undefined;
  onChange(change: QuestionChange): void;
}

/** A question of any kind, as the list of open ones knows it. */
interface OpenQuestion {
  readonly view: AskedQuestion;
  put(client: AskedClient): void;
  left(client: AskedClient): void;
  /** By another way than through the client's port. */
  answer(answer: JsonValue, by: ClientName): void;
  withdraw(reason: unknown): void;
}

/** How a question without an answer ended, as the journal has it. */
type Unanswered = "withdrawn" | "expired" | "unanswered";

type QuestionEnd<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer; readonly by: ClientName }
  | { readonly kind: Unanswered; readonly error: unknown };

const NOBODY = "nobody is attached to this session who could answer it";

export class Questions {
  readonly #options: QuestionsOptions;
  readonly #open = new Map<string, OpenQuestion>();
  /** Ids of the last ones that are over: an answer to one of them is late. */
  #over: Set<string> | undefined;

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  /** Those that wait for an answer, the earliest first. */
  get open(): readonly AskedQuestion[] {
    return [...this.#open.values()].map(({ view }) => view);
  }

  get count(): number {
    return this.#open.size;
  }

  /**
   * The first answer that counts. Rejects with the signal's reason when the question is withdrawn; with an error when nobody
   * is there to answer it, when nobody answered in time, or when the last client that was asked failed.
   */
  async ask<Question, Answer>(kind: Kind<Question, Answer>, question: Question, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const { openQuestions } = SESSION_LIMITS.clients;
    if (this.#open.size >= openQuestions) throw new Error(`${openQuestions} questions are open already`);
    const shown = kind.summary(question);
    return await new Promise<Answer>((resolve, reject) => {
      const onEnd = (end: QuestionEnd<Answer>) => {
        this.#ended(one.view, end.kind === "answered" ? { answer: kind.recorded(end.answer), by: end.by } : end.kind);
        if (end.kind === "answered") resolve(end.answer);
        else reject(end.error);
      };
      const one = new PutQuestion(kind, question, { signal, options: this.#options, onEnd });
      const { id, of, turn, toolCallId } = one.view;
      this.#open.set(id, one);
      const about = { id, of, ...defined({ turn, toolCallId }) };
      const recorded = this.#options.record({ kind: "question", ...about, shown });
      this.#options.onChange({ id, of, isOpen: true });
      if (recorded) recorded.then(() => one.begin()).catch(one.fail);
      else one.begin();
    });
  }

  /** In the words of the question's own kind. `late`: it is over, and the answer has no effect. */
  answer(id: string, answer: JsonValue, by: ClientName): "taken" | "late" | "unknown" {
    const one = this.#open.get(id);
    if (!one) return this.#over?.has(id) ? "late" : "unknown";
    one.answer(answer, by);
    return "taken";
  }

  /** It is asked everything that is open. */
  joined(client: AskedClient): void {
    for (const one of this.#open.values()) one.put(client);
  }

  /** Questions it was asked stay open for the others. */
  left(client: AskedClient): void {
    for (const one of [...this.#open.values()]) one.left(client);
  }

  /** Withdraws what is open: the session ends. */
  close(reason: Error): void {
    for (const one of [...this.#open.values()]) one.withdraw(reason);
  }

  #ended({ id, of }: AskedQuestion, end: { readonly answer: JsonValue; readonly by: ClientName } | Unanswered): void {
    this.#open.delete(id);
    this.#over ??= new Set();
    this.#over.add(id);
    const [oldest] = this.#over;
    if (oldest !== undefined && this.#over.size > SESSION_LIMITS.clients.endedQuestions) this.#over.delete(oldest);
    const known = typeof end === "string" ? { answer: end } : end;
    const recorded = this.#options.record({ kind: "answered", id, ...known });
    if (recorded) handled(recorded, this.#options.world.log, "record an answer");
    this.#options.onChange({ id, of, isOpen: false, ...known });
  }
}

/** One question, put to several clients at a time. */
class PutQuestion<Question, Answer> implements OpenQuestion {
  readonly view: AskedQuestion;
  readonly #kind: Kind<Question, Answer>;
  readonly #question: Question;
  readonly #options: QuestionsOptions;
  readonly #signal: AbortSignal;
  readonly #starter: ClientName | undefined;
  readonly #onEnd: (end: QuestionEnd<Answer>) => void;
  /** Those that have it in front of them now; aborting takes it away. */
  readonly #asked = new Map<AskedClient, AbortController>();
  readonly #timers = new Set<Timer>();
  /** The last client that closed it without deciding. */
  #dismissed: { readonly answer: Answer; readonly by: ClientName } | undefined;
  #hasBegun = false;
  #isOver = false;

  constructor(
    kind: Kind<Question, Answer>,
    question: Question,
    about: {
      readonly signal: AbortSignal;
      readonly options: QuestionsOptions;
      readonly onEnd: (end: QuestionEnd<Answer>) => void;
    },
  ) {
    const { options, signal, onEnd } = about;
    const { world } = options;
    const turn = options.turn();
    this.#kind = kind;
    this.#question = question;
    this.#options = options;
    this.#signal = signal;
    this.#starter = turn?.by;
    this.#onEnd = onEnd;
    const toolCallId = kind.toolCallId?.(question);
    this.view = {
      id: uuidV7(world.now(), (count) => world.randomBytes(count)),
      of: kind.of,
      askedMs: world.now(),
      ...defined({ turn: turn?.number, toolCallId }),
      get shown() {
        return kind.whole(question);
      },
      get summary() {
        return kind.summary(question);
      },
    };
    abortListeners(signal).add(this.#onAbort);
    if (options.mayWait) this.#after(SESSION_LIMITS.clients.questionMs, () => this.#expire());
  }

  /** Puts it to everybody who may answer it now. */
  begin(): void {
    if (this.#isOver) return;
    this.#hasBegun = true;
    for (const client of this.#options.clients()) this.put(client);
    this.#endWithout(new Error(NOBODY));
  }

  put(client: AskedClient): void {
    if (this.#isOver || !this.#hasBegun || this.#asked.has(client) || !client.mayAnswer(this.#starter)) return;
    const { id: questionId, askedMs } = this.view;
    const asked = client.isShared ? { questionId, askedMs } : undefined;
    const controller = new AbortController();
    const { signal } = controller;
    let answered: Promise<Answer> | undefined;
    try {
      answered = this.#kind.put(client.ports, this.#question, asked, signal);
    } catch (error) {
      answered = Promise.reject(error);
    }
    if (!answered) return;
    this.#asked.set(client, controller);
    answered
      .then((answer) => {
        if (!signal.aborted) this.#onAnswer(client, answer);
      })
      .catch((error: unknown) => {
        if (!signal.aborted) this.#onFailure(client, error);
      });
  }

  left(client: AskedClient): void {
    const controller = this.#asked.get(client);
    this.#asked.delete(client);
    controller?.abort(new DOMException("the client left", "AbortError"));
    if (controller) this.#endWithout(new Error(NOBODY));
  }

  answer(given: JsonValue, by: ClientName): void {
    this.#end({ kind: "answered", answer: this.#kind.read(this.#question, given), by });
  }

  readonly fail = (error: unknown): void => this.#end({ kind: "unanswered", error });

  #onAnswer(client: AskedClient, given: Answer): void {
    this.#asked.delete(client);
    const answer = this.#kind.read(this.#question, given);
    const by = client.client;
    if (!this.#kind.isDismissal(answer) || by.client === this.#starter?.client) {
      this.#end({ kind: "answered", answer, by });
      return;
    }
    // Some clients close questions outside of their own turns by themselves: that decides nothing for the others.
    this.#dismissed = { answer, by };
    if (this.#asked.size > 0 || (this.#options.mayWait && this.#starter)) return;
    this.#end({ kind: "answered", answer, by });
  }

  #onFailure(client: AskedClient, error: unknown): void {
    const { world, mayWait } = this.#options;
    this.#asked.delete(client);
    const { id, of } = this.view;
    world.log.warn("question.failed", { id, of, client: client.client.name, error: messageOf(error) });
    if (!mayWait) this.#endWithout(error);
    // A connection that breaks fails its requests before the client counts as gone; then the question waits for another.
    else {
      this.#after(SESSION_LIMITS.clients.leaveGraceMs, () => {
        if (this.#asked.size === 0 && [...this.#options.clients()].includes(client)) this.fail(error);
      });
    }
  }

  /** Ends it where nobody has it in front of them and nobody may come. */
  #endWithout(error: unknown): void {
    if (this.#isOver || this.#asked.size > 0 || this.#options.mayWait) return;
    if (this.#dismissed) this.#end({ kind: "answered", ...this.#dismissed });
    else this.fail(error);
  }

  #expire(): void {
    const hours = SESSION_LIMITS.clients.questionMs / 3_600_000;
    this.#end({ kind: "expired", error: new Error(`nobody answered within ${hours} h`) });
  }

  withdraw(error: unknown): void {
    this.#end({ kind: "withdrawn", error });
  }

  readonly #onAbort = (): void => this.withdraw(this.#signal.reason);

  #end(end: QuestionEnd<Answer>): void {
    if (this.#isOver) return;
    this.#isOver = true;
    abortListeners(this.#signal).delete(this.#onAbort);
    for (const timer of this.#timers) timer.clear();
    const why = end.kind === "answered" ? `answered by ${end.by.name}` : end.kind;
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    this.#onEnd(end);
    for (const controller of asked) controller.abort(new DOMException(why, "AbortError"));
  }

  #after(delayMs: number, run: () => void): void {
    const timer = this.#options.world.after(delayMs, () => {
      this.#timers.delete(timer);
      if (!this.#isOver) run();
    });
    this.#timers.add(timer);
  }
}
