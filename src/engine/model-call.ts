// One step of a turn: the conversation goes to the model and comes back as an answer, with recovery from what can be repaired.
import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { text } from "../base/text/content.js";
import type { ModelMessage, ModelRequest, ModelTool } from "../models/index.js";
import type { Offer } from "../tools/index.js";
import { type Answer, quietAnswer, streamAnswer, withRetries } from "./answer.js";
import { compact } from "./compact.js";
import { ENGINE_LIMITS } from "./limits.js";
import { type CompiledOffer, callSubject, compileOffer, type TurnEvent, type TurnState } from "./turn.js";

export interface Asked {
  readonly answer: Answer;
  readonly offer: Offer;
  readonly compiled: CompiledOffer;
}

/** What was tried already in this step: each recovery helps once, or not at all. */
const UNTRIED = { hasNudged: false, hasCompacted: false };
type Tried = typeof UNTRIED;

export async function* ask(state: TurnState): AsyncGenerator<TurnEvent, Asked, void> {
  const tried = { ...UNTRIED };
  for (;;) {
    let { offer, compiled } = yield* currentOffer(state);
    const isCompacted =
      !tried.hasCompacted && isOver(state, compiled) && (yield* compact(state, "window", toolsOf(state, compiled)));
    if (isCompacted) ({ offer, compiled } = yield* currentOffer(state)); // the list of tools is made anew with it
    const request = requestOf(state, compiled, tried);
    const answer = yield* askOnce(state, request, offer);
    const isToBeAskedAgain = yield* recovered(state, answer, { request, compiled, tried });
    if (!isToBeAskedAgain) return { answer: judged(state, answer), offer, compiled };
  }
}

export function* currentOffer(state: TurnState): Generator<TurnEvent, Pick<Asked, "offer" | "compiled">, void> {
  const { turn } = state;
  const offer = turn.offer();
  const compiled = compileOffer(offer, turn.model, turn.transcript.messages);
  for (const { tool, reason } of compiled.refused) yield* state.setAside(tool, reason);
  return { offer, compiled };
}

function toolsOf(state: TurnState, compiled: CompiledOffer): readonly ModelTool[] {
  return compiled.tools.filter(({ name }) => {
    const tool = compiled.find(name);
    return tool === undefined || !state.isSetAside(tool);
  });
}

function isOver(state: TurnState, compiled: CompiledOffer): boolean {
  const { system, model, meter, transcript } = state.turn;
  const tools = toolsOf(state, compiled);
  return meter.tokensOf(model, { system, messages: transcript.messages, tools }) > meter.budgetOf(model);
}

function requestOf(state: TurnState, compiled: CompiledOffer, tried: Tried): ModelRequest {
  const { turn } = state;
  return {
    system: turn.system,
    messages: tried.hasNudged ? nudged(turn.transcript.messages) : [...turn.transcript.messages],
    tools: toolsOf(state, compiled),
    ...defined({ thinking: turn.thinking, maxOutputTokens: turn.maxOutputTokens, cacheKey: turn.cacheKey }),
  };
}

/** After results some models think they are done. Asked with a word they go on; the word does not enter the conversation. */
function nudged(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  if (messages.at(-1)?.role !== "tool") return [...messages];
  return [...messages, { role: "user", content: [text("Please go on.")] }];
}

async function* askOnce(
  state: TurnState,
  request: ModelRequest,
  offer: Offer,
): AsyncGenerator<TurnEvent, Answer, void> {
  const { model, meter, ports } = state.turn;
  const subjectOf = (name: string) => callSubject(name, offer.find(name)?.tool, ports);
  const { signal } = state;
  const stream = () => streamAnswer(model, request, { nextCallId: () => state.nextCallId(), subjectOf, signal });
  const answer = yield* withRetries(stream, ports.world, signal);
  const { usage } = answer;
  if (usage) {
    if (usage.inputTokens > 0) meter.learn(model, request, usage.inputTokens);
    const input = usage.inputTokens > 0 ? usage.inputTokens : meter.tokensOf(model, request);
    yield* state.used(usage, input + usage.outputTokens);
  }
  return answer;
}

/** Whether something was done about what went wrong, so that it is worth asking again. */
async function* recovered(
  state: TurnState,
  answer: Answer,
  { request, compiled, tried }: { request: ModelRequest; compiled: CompiledOffer; tried: Tried },
): AsyncGenerator<TurnEvent, boolean, void> {
  const { error, hasOutput } = answer;
  if (state.signal.aborted) return false;
  if (isEmpty(answer) && !tried.hasNudged) {
    tried.hasNudged = true;
    return true;
  }
  if (!error || hasOutput) return false;
  if (error.code === "model.context_overflow") {
    if (tried.hasCompacted) return false;
    tried.hasCompacted = true;
    state.turn.meter.overflowed(state.turn.model, request);
    return yield* compact(state, "overflow", request.tools);
  }
  return yield* setAsideRefused(state, error, compiled, request.tools);
}

/** No word and no call, and the model says that it is done. */
function isEmpty({ text: words, toolCalls, finish }: Answer): boolean {
  return (finish === "stop" || finish === "tool_calls") && toolCalls.length === 0 && words.trim() === "";
}

/** An empty answer is never a silent end; what fails after a cancel is nobody's concern any more. */
function judged(state: TurnState, answer: Answer): Answer {
  if (state.signal.aborted && (answer.error || isEmpty(answer))) return { ...answer, finish: "interrupted" };
  if (!isEmpty(answer)) return answer;
  const error = new TenonError("model.broken_stream", `${state.turn.model.id} gave an empty answer twice in a row`, {
    hint: "Send the prompt again, word it differently, or choose another model.",
  });
  return { ...answer, finish: "failed", error };
}

/** `tools`: of the request that was refused. True when something was set aside, so that it makes sense to ask again. */
async function* setAsideRefused(
  state: TurnState,
  error: TenonError,
  compiled: CompiledOffer,
  tools: readonly ModelTool[],
): AsyncGenerator<TurnEvent, boolean, void> {
  if (!isRefusal(error)) return false;
  const offered = new Set(tools.map(({ name }) => name));
  const named = error.refusedTools.filter((name) => offered.has(name));
  const culprits = named.length > 0 ? named : yield* findRefused(new Probes(state), tools);
  let isRepaired = false;
  for (const name of culprits) {
    const tool = compiled.find(name);
    if (!tool) continue;
    yield* state.setAside(tool, error.message);
    state.hasRefusedTools = true;
    isRepaired = true;
  }
  return isRepaired;
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
  /** What was asked last: the last half may be a single tool, which is then not asked about twice. */
  #last: { readonly tools: readonly ModelTool[]; readonly isRefused: boolean } | undefined;

  constructor(state: TurnState) {
    this.#state = state;
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
    if (this.#state.probesLeft <= 0 || this.#state.signal.aborted) return false;
    this.#state.probesLeft -= 1;
    const { world } = this.#state.turn.ports;
    const request: ModelRequest = {
      system: "",
      messages: [{ role: "user", content: [text("Answer with the one word: yes")] }],
      tools,
      thinking: "off",
      maxOutputTokens: ENGINE_LIMITS.toolProbes.outputTokens,
    };
    const ask = () => quietAnswer(this.#state.turn.model, request, this.#state.signal);
    const { error, usage } = yield* withRetries(ask, world, this.#state.signal);
    yield* this.#state.used(usage);
    const isRefused = error !== undefined && isRefusal(error);
    this.#last = { tools, isRefused };
    return isRefused;
  }
}

function isRefusal({ code }: TenonError): boolean {
  return code === "model.tool_refused" || code === "model.invalid_request";
}

function isSame(one: readonly ModelTool[], other: readonly ModelTool[]): boolean {
  return one.length === other.length && one.every((tool, index) => tool === other[index]);
}
