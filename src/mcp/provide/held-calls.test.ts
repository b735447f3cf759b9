// Calls that ask, are held, answered, withdrawn and given up in any order: each round has one answer, each question at most one.
import fc from "fast-check";
import { expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import { fakeWorld, settle } from "../../testing/index.js";
import { PROVIDE_LIMITS } from "../limits.js";
import { HeldCalls, type ProvidedAnswer, ProvidedCall } from "./held-calls.js";

interface AskedOne {
  readonly number: number;
  readonly stop: AbortController;
  answer?: string;
}

/** One call of a server that does what the schedule says. */
class Script {
  readonly questions: AskedOne[] = [];
  readonly call: ProvidedCall;
  rounds = 0;
  answers: ProvidedAnswer[] = [];
  state: string | undefined;
  asked: JsonObject = {};
  isGivenUp = false;
  #end: () => void = () => {};

  constructor() {
    this.call = new ProvidedCall("a", async (_call, signal) => {
      await new Promise<void>((resolve) => {
        this.#end = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      return { kind: "result", result: { ended: true } };
    });
  }

  ask(): void {
    const one: AskedOne = { number: this.questions.length, stop: new AbortController() };
    this.questions.push(one);
    const params = { number: one.number };
    this.call.ask("sampling/createMessage", params, one.stop.signal).then(
      (answer) => {
        one.answer = `${one.answer ?? ""}answered ${String(answer["to"])}`;
      },
      () => {
        one.answer = `${one.answer ?? ""}refused`;
      },
    );
  }

  end(): void {
    this.#end();
  }

  /** A round of the gateway, until it is answered. */
  round(held: HeldCalls, signal: AbortSignal): void {
    this.rounds += 1;
    const run = async () => {
      const next = await this.call.next(signal);
      const answer: ProvidedAnswer =
        next === "asks" ? held.hold(this.call) : (next ?? { kind: "failed", code: -1, message: "cancelled" });
      if (next === undefined) this.call.cancel("cancelled");
      this.answers.push(answer);
      const { requestState, inputRequests } = answer.kind === "result" ? answer.result : {};
      this.state = typeof requestState === "string" ? requestState : undefined;
      this.asked = isJsonObject(inputRequests) ? inputRequests : {};
      if (this.state === undefined) this.isGivenUp = true;
    };
    run().catch((error: unknown) => this.answers.push({ kind: "failed", code: 0, message: String(error) }));
  }

  /** What the gateway would answer to what it was asked last. */
  responses(): JsonObject {
    const entries = Object.entries(this.asked).map(([key, question]) => {
      const { params } = isJsonObject(question) ? question : {};
      return [key, { to: isJsonObject(params) ? (params["number"] ?? null) : null }] as const;
    });
    return Object.fromEntries(entries);
  }
}

const steps = fc.array(
  fc.record({
    do: fc.constantFrom("ask", "ask", "withdraw", "end", "goOn", "goOn", "goOn", "wrong", "release", "wait", "cancel"),
    which: fc.nat({ max: 2 }),
  }),
  { maxLength: 40 },
);

test("whatever comes in which order, each round is answered once and each question at most once, with its own answer", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (schedule) => {
      const world = fakeWorld();
      const held = new HeldCalls(world);
      const scripts = [new Script(), new Script(), new Script()];
      const signals = scripts.map(() => new AbortController());
      for (const [index, script] of scripts.entries())
        script.round(held, (signals[index] ?? new AbortController()).signal);
      await settle();
      for (const { do: what, which } of schedule) {
        const script = scripts[which];
        const signal = signals[which]?.signal;
        if (!script || !signal) continue;
        const { state } = script;
        if (what === "ask") script.ask();
        if (what === "withdraw") script.questions.at(-1)?.stop.abort();
        if (what === "end") script.end();
        if (what === "cancel") signals[which]?.abort();
        if (what === "release") held.release(state);
        if (what === "wait") await world.advance(PROVIDE_LIMITS.heldMs / 2);
        if (what === "wrong" && state !== undefined) {
          const isAsked = script.questions.some((one) => one.answer === undefined && !one.stop.signal.aborted);
          const taken = held.take("another", { requestState: state, inputResponses: script.responses() });
          expect(taken).not.toBeInstanceOf(ProvidedCall);
          if (isAsked)
            expect(held.take("a", { requestState: state, inputResponses: 5 })).not.toBeInstanceOf(ProvidedCall);
        }
        if (what === "goOn" && state !== undefined) {
          const taken = held.take("a", { requestState: state, inputResponses: script.responses() });
          script.state = undefined;
          if (taken instanceof ProvidedCall) script.round(held, signal);
          else script.isGivenUp = true;
        }
        await settle();
        expect(held.count).toBeLessThanOrEqual(scripts.length);
      }
      held.releaseAll("over");
      for (const [index, script] of scripts.entries()) {
        signals[index]?.abort();
        script.end();
      }
      await settle();
      expect(held.count).toBe(0);
      for (const { answers, rounds, questions } of scripts) {
        expect(answers).toHaveLength(rounds);
        for (const { answer, number } of questions) expect([`answered ${number}`, "refused"]).toContain(answer);
      }
      expect(world.clock.pendingTimers).toBe(0);
    }),
    { numRuns: 300 },
  );
});
