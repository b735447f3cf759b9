// Requests of a gateway that a server works on: what the server asks meanwhile travels as `input_required`, and the work is held until it is answered.
import { abortListeners } from "../../base/async/scope.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { Timer, World } from "../../base/ports/world.js";
import { PROVIDE_LIMITS } from "../limits.js";
import { RpcRefusal } from "../rpc/rpc.js";
import type { RpcErrorBody } from "../transport/transport.js";
import { HELD } from "../versions.js";

/** Of the protocol: the result or error of the server. `failed`: of the carrier, with its code. */
export type ProvidedAnswer =
  | { readonly kind: "result"; readonly result: JsonObject }
  | { readonly kind: "error"; readonly error: RpcErrorBody }
  | { readonly kind: "failed"; readonly code: number; readonly message: string };

export const INVALID_PARAMS = -32_602;
const INTERNAL_ERROR = -32_603;

export function refusal(code: number, message: string): ProvidedAnswer {
  return { kind: "error", error: { code, message } };
}

interface Question {
  readonly method: string;
  readonly params: JsonObject;
  /** The gateway has been asked it. */
  isSent: boolean;
  settle(answer: JsonObject | RpcRefusal): void;
}

/** One request, from its first round to its end. */
export class ProvidedCall {
  /** Of which server, which method and what it names: a `requestState` is good for nothing else. */
  readonly about: string;
  readonly #work = new AbortController();
  readonly #questions = new Map<string, Question>();
  #asked = 0;
  #answer: ProvidedAnswer | undefined;
  #wake: () => void = () => {};

  /** `run` begins at once, and must not reject. */
  constructor(about: string, run: (call: ProvidedCall, signal: AbortSignal) => Promise<ProvidedAnswer>) {
    this.about = about;
    const running = async () => {
      this.#answer = await run(this, this.#work.signal);
      this.#dropQuestions("the call is over");
      this.#wake();
    };
    running().catch((thrown: unknown) => {
      this.#answer = refusal(INTERNAL_ERROR, thrown instanceof Error ? thrown.message : String(thrown));
      this.#wake();
    });
  }

  get isOver(): boolean {
    return this.#answer !== undefined;
  }

  /** The server's own question. Rejects when it is refused, or over before it is answered. */
  ask(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      if (this.#work.signal.aborted || this.isOver) return reject(new RpcRefusal(INTERNAL_ERROR, "the call is over"));
      this.#asked += 1;
      const key = `question-${this.#asked}`;
      const onAbort = () => settle(new RpcRefusal(INTERNAL_ERROR, "the question was taken back"));
      const settle = (answer: JsonObject | RpcRefusal) => {
        this.#questions.delete(key);
        abortListeners(signal).delete(onAbort);
        if (answer instanceof RpcRefusal) reject(answer);
        else resolve(answer);
      };
      this.#questions.set(key, { method, params, isSent: false, settle });
      abortListeners(signal).add(onAbort);
      this.#wake();
    });
  }

  /** Undefined: the call goes on. Otherwise what is wrong; then nothing of it counts. */
  take(responses: JsonValue | undefined): string | undefined {
    if (responses !== undefined && !isJsonObject(responses)) return "inputResponses must be an object";
    const given = responses ?? {};
    const sent = [...this.#questions].filter(([, { isSent }]) => isSent);
    for (const [key, { method }] of sent) {
      const problem = answerProblem(method, given[key]);
      if (problem !== undefined) return `inputResponses["${key}"] ${problem}`;
    }
    for (const [key, question] of sent) {
      const response = given[key];
      if (isJsonObject(response)) question.settle(refusalIn(response) ?? response);
    }
    return undefined;
  }

  /** The next thing to say about it: its end, or questions. Undefined when the signal aborted first. */
  async next(signal: AbortSignal): Promise<ProvidedAnswer | "asks" | undefined> {
    for (;;) {
      if (this.#answer) return this.#answer;
      if (signal.aborted) return undefined;
      if (this.#questions.size > 0) return "asks";
      await new Promise<void>((resolve) => {
        const wake = () => {
          abortListeners(signal).delete(wake);
          resolve();
        };
        this.#wake = wake;
        abortListeners(signal).add(wake);
      });
    }
  }

  /** As `inputRequests`. */
  questions(): JsonObject {
    const all = [...this.#questions].map(([key, question]) => {
      question.isSent = true;
      return [key, { method: question.method, params: question.params }] as const;
    });
    return Object.fromEntries(all);
  }

  cancel(reason: string): void {
    this.#work.abort(new DOMException(reason, "AbortError"));
    this.#dropQuestions(reason);
  }

  #dropQuestions(reason: string): void {
    for (const question of [...this.#questions.values()]) question.settle(new RpcRefusal(INTERNAL_ERROR, reason));
  }
}

function answerProblem(method: string, response: JsonValue | undefined): string | undefined {
  if (response === undefined) return "is missing";
  if (!isJsonObject(response)) return "must be an object";
  if (method !== "elicitation/create" || refusalIn(response)) return undefined;
  const { action, content } = response;
  if (action !== "accept" && action !== "decline" && action !== "cancel") {
    return `has the action ${JSON.stringify(action)?.slice(0, 100)}: it must be "accept", "decline" or "cancel"`;
  }
  return content === undefined || isJsonObject(content) ? undefined : "has a content that is no object";
}

/** What nobody would answer is said to the server in the way of its era. */
function refusalIn({ error }: JsonObject): RpcRefusal | undefined {
  if (!isJsonObject(error)) return undefined;
  const { code, message } = error;
  return new RpcRefusal(
    typeof code === "number" ? code : INTERNAL_ERROR,
    typeof message === "string" ? message : "it was refused",
  );
}

/** The calls of all servers that wait for answers. */
export class HeldCalls {
  readonly #world: Pick<World, "after" | "randomBytes">;
  readonly #held = new Map<string, { readonly call: ProvidedCall; readonly timer: Timer }>();

  readonly #asksAgain: boolean;

  /** `asksAgain`: answers that are wrong are asked for again, in place of an error. */
  constructor(
    world: Pick<World, "after" | "randomBytes">,
    { asksAgain = false }: { readonly asksAgain?: boolean } = {},
  ) {
    this.#world = world;
    this.#asksAgain = asksAgain;
  }

  get count(): number {
    return this.#held.size;
  }

  /** What the gateway is answered while the call waits. */
  hold(call: ProvidedCall): ProvidedAnswer {
    const { heldCalls, heldMs } = PROVIDE_LIMITS;
    if (this.#held.size >= heldCalls) {
      const words = `${heldCalls} calls wait for answers already, which is the most there may be: this one was ended`;
      call.cancel(words);
      return refusal(INTERNAL_ERROR, words);
    }
    // Nobody else can guess it: it is all that is needed to go on with the call.
    const requestState = Buffer.from(this.#world.randomBytes(16)).toString("base64url");
    const timer = this.#world.after(heldMs, () => {
      this.#held.delete(requestState);
      call.cancel(`nobody answered within ${heldMs / 60_000} minutes`);
    });
    this.#held.set(requestState, { call, timer });
    return this.#input(call, requestState);
  }

  #input(call: ProvidedCall, requestState: string): ProvidedAnswer {
    const inputRequests = call.questions();
    return {
      kind: "result",
      result: { resultType: "input_required", inputRequests, requestState, _meta: { [HELD]: true } },
    };
  }

  /** The call with its answers in it, or what is wrong. One whose answers are wrong stays as it is. */
  take(about: string, { requestState, inputResponses }: JsonObject): ProvidedCall | ProvidedAnswer {
    const held = typeof requestState === "string" ? this.#held.get(requestState) : undefined;
    if (!held || held.call.about !== about || typeof requestState !== "string") {
      const minutes = PROVIDE_LIMITS.heldMs / 60_000;
      const words = `no call waits under this requestState: it is over, it waited longer than ${minutes} minutes, or there never was one`;
      return refusal(INVALID_PARAMS, `${words}. Make the call again, if that is safe.`);
    }
    const problem = held.call.take(inputResponses);
    if (problem !== undefined && this.#asksAgain) return this.#input(held.call, requestState);
    if (problem !== undefined) return refusal(INVALID_PARAMS, `${problem}. The call still waits for its answers.`);
    this.#forget(requestState);
    return held.call;
  }

  /** The gateway does not go on with it. */
  release(requestState: JsonValue | undefined): void {
    if (typeof requestState !== "string") return;
    this.#held.get(requestState)?.call.cancel("the call was given up");
    this.#forget(requestState);
  }

  /** Of one server, or of all. */
  releaseAll(reason: string, isOf: (about: string) => boolean = () => true): void {
    for (const [requestState, { call }] of this.#held) {
      if (!isOf(call.about)) continue;
      call.cancel(reason);
      this.#forget(requestState);
    }
  }

  #forget(requestState: string): void {
    this.#held.get(requestState)?.timer.clear();
    this.#held.delete(requestState);
  }
}
