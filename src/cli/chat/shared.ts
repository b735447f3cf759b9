// What a chat knows of a session that other clients use too: whose turn runs, how turns ended, and who answered questions.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { WireSessionState } from "../../gateway/index.js";

const STATES: readonly WireSessionState[] = ["resting", "idle", "running", "waiting"];

const MAX_ANSWERED = 64;

/** Another client, or this one, by the id that the gateway gave it. */
interface Who {
  readonly client: string;
  readonly name: string;
}

export class SharedTurns {
  /** Of this client at the gateway. */
  #ownClient: string | undefined;
  #state: WireSessionState = "idle";
  #promptId: string | undefined;
  #by: Who | undefined;
  /** Of the prompt that was shown last: states come beside the updates, sooner or later than they. */
  #shown: string | undefined;
  /** Ids of prompts that were sent from here and have no answer yet. */
  readonly #sent = new Set<string>();
  /** Of those that were answered last: how their turn ended may be told once more. */
  readonly #answered: string[] = [];

  identify(client: string): void {
    this.#ownClient = client;
  }

  get isBusy(): boolean {
    return this.#state === "running" || this.#state === "waiting";
  }

  /** A prompt of this client runs or waits for its turn. */
  get hasOwn(): boolean {
    return this.#sent.size > 0;
  }

  get state(): WireSessionState {
    return this.#state;
  }

  /** Whose turn runs, where it is another client's. */
  get other(): string | undefined {
    return this.isBusy && this.#by && !this.isOwn(this.#by) ? this.#by.name : undefined;
  }

  /** It was sent from here, and has no answer yet. */
  isSent(promptId: JsonValue | undefined): boolean {
    return typeof promptId === "string" && this.#sent.has(promptId);
  }

  /** It was sent from here, and what its turn ended with is told, or was, by the answer to it. */
  isOwnPrompt(promptId: JsonValue | undefined): boolean {
    return this.isSent(promptId) || (typeof promptId === "string" && this.#answered.includes(promptId));
  }

  isOwn(who: Who | undefined): boolean {
    return who !== undefined && who.client === this.#ownClient;
  }

  /** `send` gets an id by which the prompt runs once, however often it is sent. */
  async run<T>(send: (promptId: string) => Promise<T>): Promise<T> {
    const id = crypto.randomUUID();
    this.#sent.add(id);
    try {
      return await send(id);
    } finally {
      this.#sent.delete(id);
      this.#answered.push(id);
      if (this.#answered.length > MAX_ANSWERED) this.#answered.shift();
    }
  }

  /** A prompt is shown. True where it begins a turn, so that the calls on the screen are of one that is over. */
  show(promptId: JsonValue | undefined): boolean {
    if (typeof promptId !== "string" || promptId === this.#shown) return false;
    this.#shown = promptId;
    return true;
  }

  /**
   * What an update says has changed. `began`: also where one turn follows another at once. `isOver`: the calls on the screen
   * are of a turn that is over.
   */
  hear(meta: JsonObject): { readonly change?: "began" | "ended"; readonly isOver: boolean } {
    const state = STATES.find((one) => one === meta["state"]);
    if (state === undefined) return { isOver: false };
    const [before, shown] = [this.#promptId, this.#shown];
    const isOwnNext = this.isSent(meta["promptId"]);
    const change = this.#change(state, meta);
    if (change === undefined) return { isOver: false };
    const isShown = shown === undefined || before === undefined || shown === before;
    if (change === "began") return { change, isOver: shown === undefined && !isOwnNext };
    // The answer to a prompt of this client comes behind all of its turn; with another one of this client waiting, behind the
    // beginning of that turn too.
    const isFollowed = this.#sent.size > 1 && isJsonObject(meta["ended"]);
    return { change, isOver: this.isSent(before) ? isFollowed : isShown };
  }

  #change(state: WireSessionState, meta: JsonObject): "began" | "ended" | undefined {
    const [wasBusy, before] = [this.isBusy, this.#promptId];
    const { promptId } = meta;
    this.#state = state;
    this.#by = readWho(meta["by"]) ?? (this.isBusy && before === promptId ? this.#by : undefined);
    this.#promptId = typeof promptId === "string" ? promptId : undefined;
    if (!this.isBusy) return wasBusy ? "ended" : undefined;
    // Who joins in the middle of a turn is told of its prompt later.
    return wasBusy && (before === undefined || before === this.#promptId) ? undefined : "began";
  }
}

/** The end of a question: who answered it, and how. Undefined for one that was asked. */
export function endedQuestion(
  meta: JsonObject,
): { readonly id: string; readonly by?: Who; readonly answer?: string } | undefined {
  const { question } = meta;
  if (!isJsonObject(question) || question["isOpen"] !== false || typeof question["id"] !== "string") return undefined;
  const { answer } = question;
  const words = typeof answer === "string" ? answer : undefined;
  return { id: question["id"], ...defined({ by: readWho(question["by"]), answer: words }) };
}

export function readWho(given: JsonValue | undefined): Who | undefined {
  const { client, name } = isJsonObject(given) ? given : {};
  return typeof client === "string" && typeof name === "string" ? { client, name } : undefined;
}

/** Tenon's fields of `_meta`; empty where there are none. */
export function tenonMeta(of: unknown): JsonObject {
  const meta = isJsonObject(of) ? of["_meta"] : undefined;
  const tenon = isJsonObject(meta) ? meta["tenon"] : undefined;
  return isJsonObject(tenon) ? tenon : {};
}
