// What of a session is not over yet: its turn, the prompts that wait and the questions, by its records in order.
import { defined } from "../../base/json/defined.js";
import type { SessionState } from "../ports.js";
import type { ClientEnvironment, JournalEntry } from "./entry.js";

/** `environment`: in which the turn was begun, or the first prompt that waits was sent, if that was a client's. */
export interface LeftOpen {
  readonly environment?: ClientEnvironment;
}

/** Most sessions are idle: what they have not got takes no memory. */
export class OpenWork {
  #isRunning = false;
  /** Of the turn, where a gateway's client began it. */
  #turn: LeftOpen | undefined;
  #queued: Map<string, LeftOpen> | undefined;
  #questions: Set<string> | undefined;
  #isClosed = false;

  add(entry: JournalEntry | { readonly kind: "strange" | "unwritable" }): void {
    this.#isClosed = entry.kind === "closed";
    switch (entry.kind) {
      case "prompt":
        this.#isRunning = true;
        this.#turn = entry.by && leftOpen(entry);
        this.#questions = undefined;
        if (entry.promptId !== undefined) this.#unqueue(entry.promptId);
        break;
      case "end":
      case "error":
        this.#isRunning = false;
        this.#turn = undefined;
        this.#questions = undefined;
        break;
      case "queued":
        this.#queued ??= new Map();
        this.#queued.set(entry.promptId, leftOpen(entry));
        break;
      case "unqueued":
        this.#unqueue(entry.promptId);
        break;
      case "question":
        this.#questions ??= new Set();
        this.#questions.add(entry.id);
        break;
      case "answered":
        this.#questions?.delete(entry.id);
        break;
      case "continued": // what was asked before is asked anew, under other ids
        this.#questions = undefined;
        break;
      default:
        break;
    }
  }

  /** What another owner goes on with: a turn that a gateway's client began, or prompts that wait. */
  get left(): LeftOpen | undefined {
    if (this.#isClosed) return undefined;
    return this.#turn ?? this.#queued?.values().next().value;
  }

  get state(): SessionState {
    if (this.#isClosed) return "resting";
    if (this.#questions?.size) return "waiting";
    return this.#isRunning || this.#queued ? "running" : "idle";
  }

  #unqueue(promptId: string): void {
    this.#queued?.delete(promptId);
    if (this.#queued?.size === 0) this.#queued = undefined;
  }
}

function leftOpen({ environment }: LeftOpen): LeftOpen {
  return defined({ environment });
}
