// Notices a model that goes round in circles: the same calls with the same results, alone or in turn with a few others.

import type { ContentBlock } from "../base/text/content.js";
import { hostLine } from "../base/text/marking.js";
import type { ModelToolCall, ModelToolResult } from "../models/index.js";
import { ENGINE_LIMITS } from "./limits.js";

interface Step {
  readonly calls: readonly ModelToolCall[];
  readonly results: readonly ModelToolResult[];
}

/** One for each turn. */
export class RepetitionGuard {
  readonly #steps: Step[] = [];

  /** How many times in a row the last steps came to the same, this time included. */
  add(calls: readonly ModelToolCall[], results: readonly ModelToolResult[]): number {
    const { stopAt, maxPeriod } = ENGINE_LIMITS.repetition;
    this.#steps.push({ calls, results });
    if (this.#steps.length > stopAt * maxPeriod) this.#steps.shift();
    let most = 1;
    for (let period = 1; period <= maxPeriod; period++) most = Math.max(most, this.#roundsOf(period));
    return most;
  }

  /** How many times the last `period` steps come one after the other at the end. */
  #roundsOf(period: number): number {
    const steps = this.#steps;
    let same = 0;
    for (let index = steps.length - 1; index >= period; index--) {
      const [step, earlier] = [steps[index], steps[index - period]];
      if (!step || !earlier || !isSameStep(step, earlier)) break;
      same += 1;
    }
    return 1 + Math.floor(same / period);
  }
}

/** The results with a word for the model, where it has begun to go round in circles. */
export function withHint(results: readonly ModelToolResult[], rounds: number): readonly ModelToolResult[] {
  if (rounds < ENGINE_LIMITS.repetition.hintAt) return results;
  const hint = hostLine(
    `this was called ${rounds} times in a row with the same arguments and the same result. Do not call it again like this: do something else, or say what is missing`,
  );
  return results.map((result) => ({ ...result, content: [...result.content, { type: "text", text: hint }] }));
}

function isSameStep(one: Step, other: Step): boolean {
  return (
    one.calls.length === other.calls.length &&
    one.calls.every((call, index) => isSameCall(call, other.calls[index])) &&
    one.results.length === other.results.length &&
    one.results.every((result, index) => isSameResult(result, other.results[index]))
  );
}

function isSameCall(one: ModelToolCall, other: ModelToolCall | undefined): boolean {
  return one.name === other?.name && one.argumentsJson === other.argumentsJson;
}

function isSameResult(one: ModelToolResult, other: ModelToolResult | undefined): boolean {
  return (
    one.isError === other?.isError &&
    one.content.length === other.content.length &&
    one.content.every((block, index) => isSameBlock(block, other.content[index]))
  );
}

/** Blocks of other kinds are compared by their words, which name what they are and where. */
function isSameBlock(one: ContentBlock, other: ContentBlock | undefined): boolean {
  if (one.type === "text") return other?.type === "text" && one.text === other.text;
  return JSON.stringify(one) === JSON.stringify(other);
}
