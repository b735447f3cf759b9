// Self-healing: finds the tools whose definitions a provider refuses, by the names it gave or by halving, and sets them aside.

import type { TenonError } from "../../base/errors.js";
import { text } from "../../base/text/content.js";
import type { ModelRequest, ModelTool } from "../../models/index.js";
import type { CompiledOffer } from "../compiled-offer.js";
import type { TurnEvent } from "../event.js";
import { ENGINE_LIMITS } from "../limits.js";
import type { TurnState } from "../turn.js";
import { type Answer, quietAnswer } from "./answer.js";
import { withRetries } from "./retry.js";

export interface Refusal {
  readonly error: TenonError;
  readonly compiled: CompiledOffer;
  /** Those of the request that was refused. */
  readonly tools: readonly ModelTool[];
}

/** True when something was set aside, so that it makes sense to ask again. */
export async function* setAsideRefused(
  state: TurnState,
  { error, compiled, tools }: Refusal,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, boolean, void> {
  if (error.code !== "model.tool_refused" && error.code !== "model.invalid_request") return false;
  const offered = new Set(tools.map(({ name }) => name));
  const named = error.refusedTools.filter((name) => offered.has(name));
  const culprits = named.length > 0 ? named : yield* findRefused(new Probes(state, signal), tools);
  let isCured = false;
  for (const name of culprits) {
    const tool = compiled.find(name);
    if (!tool) continue;
    yield* state.setAside(tool, error.message);
    state.hasRefusedTools = true;
    isCured = true;
  }
  return isCured;
}

/**
 * One at most: with it set aside, the request itself shows whether there are more. None when the provider takes all of
 * them, or refuses a request without any: then something else is wrong.
 */
async function* findRefused(
  probes: Probes,
  tools: readonly ModelTool[],
): AsyncGenerator<TurnEvent, readonly string[], void> {
  if (!(yield* probes.areToBlame(tools))) return [];
  let suspects = tools;
  while (suspects.length > 1) {
    const half = Math.ceil(suspects.length / 2);
    const first = suspects.slice(0, half);
    // If one half is taken, the cause is in the other, which need not be asked about.
    suspects = (yield* probes.refuses(first)) ? first : suspects.slice(half);
  }
  // Asked about on its own: what was only concluded may be due to several that do not go together.
  const [culprit] = suspects;
  const isFound = culprit !== undefined && (yield* probes.refuses(suspects));
  if (!isFound) probes.giveUp();
  return isFound ? [culprit.name] : [];
}

/** Requests as small as can be, each of which only shows whether the provider takes some tools. */
class Probes {
  readonly #state: TurnState;
  readonly #signal: AbortSignal;
  /** What was asked last: the last half may be a single tool, which is then not asked about twice. */
  #last: { readonly tools: readonly ModelTool[]; readonly isRefused: boolean } | undefined;

  constructor(state: TurnState, signal: AbortSignal) {
    this.#state = state;
    this.#signal = signal;
  }

  /** For the rest of the turn. */
  giveUp(): void {
    this.#state.probesLeft = 0;
  }

  /** Refused with all of them, taken with none. Once one was found, others are likely. */
  async *areToBlame(tools: readonly ModelTool[]): AsyncGenerator<TurnEvent, boolean, void> {
    if (tools.length === 0) return false;
    if (this.#state.hasRefusedTools) return true;
    if ((yield* this.refuses(tools)) && !(yield* this.refuses([]))) return true;
    this.giveUp();
    return false;
  }

  /** False as well when nobody can say: nothing is set aside on suspicion. */
  async *refuses(tools: readonly ModelTool[]): AsyncGenerator<TurnEvent, boolean, void> {
    if (this.#last && isSame(this.#last.tools, tools)) return this.#last.isRefused;
    if (this.#state.probesLeft <= 0 || this.#signal.aborted) return false;
    this.#state.probesLeft -= 1;
    const { world } = this.#state.turn.ports;
    const { error, usage } = yield* withRetries(() => this.#ask(tools), world, this.#signal);
    yield* this.#state.used(usage);
    const isRefused = error?.code === "model.tool_refused" || error?.code === "model.invalid_request";
    this.#last = { tools, isRefused };
    return isRefused;
  }

  #ask(tools: readonly ModelTool[]): Promise<Answer> {
    const request: ModelRequest = {
      system: "",
      messages: [{ role: "user", content: [text("Answer with the one word: yes")] }],
      tools,
      thinking: "off",
      maxOutputTokens: ENGINE_LIMITS.toolProbes.outputTokens,
    };
    return quietAnswer(this.#state.turn.model, request, this.#signal);
  }
}

function isSame(one: readonly ModelTool[], other: readonly ModelTool[]): boolean {
  return one.length === other.length && one.every((tool, index) => tool === other[index]);
}
