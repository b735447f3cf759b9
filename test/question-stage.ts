// What the tests of a session's clients stand on: people with dialogs, and a stage on which questions are asked.
import { messageOf } from "../src/base/errors.js";
import { type Attachment, type JoinRequest, SessionClients } from "../src/session/clients/clients.js";
import type { QuestionChange } from "../src/session/clients/questions.js";
import type { JournalEntry } from "../src/session/journal/entry.js";
import type { AskedAs, ClientName, PermissionAnswer, PermissionQuestion, SessionPorts } from "../src/session/ports.js";

/** One question in front of one client. */
interface Dialog {
  readonly asked: AskedAs | undefined;
  readonly signal: AbortSignal;
  readonly answer: (answer: never) => void;
  readonly fail: (error: Error) => void;
  isDone: boolean;
}

export class Person {
  readonly name: ClientName;
  readonly dialogs: Dialog[] = [];
  readonly completed: string[] = [];
  readonly ports: SessionPorts;
  attachment: Attachment | undefined;
  as: "person" | "bot" | "observer" | "reader" = "person";
  isHere = true;

  constructor(client: string, given: Partial<SessionPorts> = {}) {
    this.name = { client, name: `name of ${client}` };
    const open = <Answer>(signal: AbortSignal, asked: AskedAs | undefined) =>
      new Promise<Answer>((resolve, reject) => {
        const dialog: Dialog = {
          asked,
          signal,
          isDone: false,
          answer: (answer) => {
            dialog.isDone = true;
            resolve(answer);
          },
          fail: (error) => {
            dialog.isDone = true;
            reject(error);
          },
        };
        this.dialogs.push(dialog);
      });
    this.ports = {
      ask: (_, signal, asked) => open(signal, asked),
      confirmTrust: (_, signal, asked) => open(signal, asked),
      approveSampling: (_, signal, asked) => open(signal, asked),
      elicit: (_, signal, asked) => open(signal, asked),
      askPerson: (_question, _options, signal, _call, asked) => open(signal, asked),
      elicitationCompleted: (id) => this.completed.push(id),
      ...given,
    };
  }

  mayAnswer(starter: ClientName | undefined): boolean {
    return this.as === "person" || (this.as === "bot" && starter?.client === this.name.client);
  }

  leave(): void {
    this.isHere = false;
    this.attachment?.leave();
  }

  /** Those that a person still has in front of them. */
  get open(): readonly Dialog[] {
    return this.dialogs.filter(({ isDone, signal }) => !isDone && !signal.aborted);
  }

  get only(): Dialog {
    const [dialog, second] = this.open;
    if (!dialog || second) throw new Error(`${this.name.client} has ${this.open.length} open questions`);
    return dialog;
  }
}

/** Why it was rejected; heard from now on. */
export function failure(asked: Promise<unknown>): Promise<string> {
  return asked.then(
    () => "it was answered",
    (error: unknown) => messageOf(error),
  );
}

export class Stage {
  readonly records: JournalEntry[] = [];
  readonly changes: QuestionChange[] = [];
  readonly timers: Set<{ readonly atMs: number; readonly run: () => void }> = new Set();
  readonly clients: SessionClients;
  nowMs = 1_000;
  turn: { number: number; by?: ClientName } | undefined;

  constructor(mayWait = false) {
    let count = 0;
    const silent = () => undefined;
    this.clients = new SessionClients({
      world: {
        now: () => this.nowMs,
        monotonicMs: () => this.nowMs,
        randomBytes: (bytes) => new Uint8Array(bytes).fill((count += 1) % 256, bytes - 2).fill(count >> 8, 8, 10),
        after: (delayMs, run) => {
          const timer = { atMs: this.nowMs + delayMs, run };
          this.timers.add(timer);
          return { clear: () => this.timers.delete(timer) };
        },
        log: { debug: silent, info: silent, warn: silent, error: silent },
      },
      mayWait,
      record: (entry) => {
        this.records.push(entry);
        return undefined;
      },
      turn: () => this.turn,
      onQuestion: (change) => this.changes.push(change),
      onClients: silent,
    });
  }

  join(person: Person, given: Partial<JoinRequest> = {}): Person {
    const { name: client, ports } = person;
    const usual = { role: "controller", mayApprove: true, isUnattended: false } as const;
    person.attachment = this.clients.join({ client, ...usual, ports, ...given });
    return person;
  }

  ask(signal: AbortSignal = new AbortController().signal): Promise<PermissionAnswer> {
    return this.clients.ports?.ask(QUESTION, signal) ?? Promise.reject(new Error("nobody"));
  }

  pass(ms: number): void {
    this.nowMs += ms;
    for (const timer of [...this.timers]) {
      if (timer.atMs > this.nowMs) continue;
      this.timers.delete(timer);
      timer.run();
    }
  }
}

const QUESTION: PermissionQuestion = {
  toolCallId: "1-1",
  tool: {
    id: "s__write" as PermissionQuestion["tool"]["id"],
    origin: "user",
    source: "s",
    label: "s / Write",
    definition: { name: "write", description: "writes", inputSchema: { type: "object" } },
    definitionHash: "hash",
  },
  arguments: { path: "a.txt", text: "canary" },
  choices: [
    { answer: "once", label: "Allow once" },
    { answer: "no", label: "No" },
  ],
};
