// For tests of the loop: a model that plays a script, and one turn with everything it needs, on a clock in the test's hands.
import { Cell } from "../src/base/async/cell.js";
import { type ErrorCode, TenonError, type TenonErrorOptions } from "../src/base/errors.js";
import { text } from "../src/base/text/content.js";
import { markContent } from "../src/base/text/marking.js";
import { runTurn, TokenMeter, Transcript, type Turn, type TurnEnd, type TurnEvent } from "../src/engine/index.js";
import type { Model, ModelEvent, ModelRequest } from "../src/models/index.js";
import { type FakeWorld, fakeWorld } from "../src/testing/index.js";
import { type Offer, ResultStore, snapshot, type ToolDefinition, type ToolSource } from "../src/tools/index.js";

export type Script = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>;

export interface ScriptedModel extends Model {
  readonly requests: ModelRequest[];
}

/** Plays one script for each request; the last one again and again. */
export function scripted(...scripts: Script[]): ScriptedModel {
  return modelOf((request, signal, index) => {
    const script = scripts[Math.min(index, scripts.length - 1)];
    if (!script) throw new Error("no answer is scripted");
    return script(request, signal);
  });
}

/** `index` counts the requests from 0. */
export function modelOf(
  answer: (request: ModelRequest, signal: AbortSignal, index: number) => AsyncIterable<ModelEvent>,
  more: Partial<Model> = {},
): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    id: "test/scripted",
    ...more,
    requests,
    stream: (request, signal) => {
      requests.push({ ...request, messages: [...request.messages] });
      return answer(request, signal, requests.length - 1);
    },
  };
}

export function says(...events: ModelEvent[]): Script {
  return async function* () {
    yield* events;
  };
}

export const stop: ModelEvent = { kind: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 2 } };

export function answers(words: string): Script {
  return says({ kind: "text", text: words }, stop);
}

export function fails(
  code: ErrorCode,
  options: TenonErrorOptions & { readonly after?: readonly ModelEvent[] } = {},
): Script {
  return async function* () {
    yield* options.after ?? [];
    throw new TenonError(code, `scripted ${code}`, options);
  };
}

/** One answer with a call for each name. */
export function calls(...names: string[]): Script {
  return callsWith(...names.map((name): [string, string] => [name, "{}"]));
}

export function callsWith(...given: (readonly [name: string, argumentsJson: string])[]): Script {
  const events = given.map(
    ([name, argumentsJson], index): ModelEvent => ({
      kind: "tool_call",
      call: { callId: `c${index}`, name, argumentsJson },
    }),
  );
  return says(...events, { kind: "finish", reason: "tool_calls" });
}

export const TOOL: ToolDefinition = { name: "t", description: "", inputSchema: { type: "object" } };

export interface RunOptions {
  readonly call?: ToolSource["call"];
  readonly tools?: readonly ToolDefinition[];
  readonly offer?: () => Offer;
  readonly signal?: AbortSignal;
  readonly transcript?: Transcript;
  readonly meter?: TokenMeter;
  readonly world?: FakeWorld;
  readonly results?: ResultStore;
  readonly number?: number;
  readonly prompt?: string;
  readonly more?: Partial<Turn>;
  /** Stops reading after so many events. */
  readonly leaveAfter?: number;
  readonly onEvent?: (event: TurnEvent) => void;
}

export interface Ran {
  readonly end: TurnEnd;
  readonly events: readonly TurnEvent[];
  readonly transcript: Transcript;
  readonly world: FakeWorld;
  readonly results: ResultStore;
}

export function turnOf(model: Model, options: RunOptions = {}): { turn: Turn } & Omit<Ran, "end" | "events"> {
  const transcript = options.transcript ?? new Transcript();
  const world = options.world ?? fakeWorld();
  const results = options.results ?? new ResultStore({ world });
  const call = options.call ?? (async () => ({ kind: "done", content: [text("ok")] }));
  const source: ToolSource = { name: "s", origin: "client", tools: new Cell(options.tools ?? [TOOL]), call };
  const offer = snapshot([source]);
  const turn: Turn = {
    number: options.number ?? 1,
    model,
    system: "",
    transcript,
    meter: options.meter ?? new TokenMeter(),
    offer: options.offer ?? (() => offer),
    ports: {
      world,
      results,
      trustsAnnotations: () => true,
      approve: async () => ({ kind: "allowed" }),
      journal: { intent: () => {} },
    },
    ...options.more,
  };
  return { turn, transcript, world, results };
}

/** Where the turn waits, the clock is moved on to the end of the wait. */
export async function run(model: Model, options: RunOptions = {}): Promise<Ran> {
  const { turn, transcript, world, results } = turnOf(model, options);
  transcript.addUser(markContent([text(options.prompt ?? "go")]));
  const running = runTurn(turn, options.signal ?? new AbortController().signal);
  const events: TurnEvent[] = [];
  let waitMs = 0;
  for (;;) {
    const next = running.next();
    next.catch(() => {}); // heard below, but not before the clock has been moved
    if (waitMs > 0) await world.advance(waitMs);
    const step = await next;
    if (step.done) return { end: step.value, events, transcript, world, results };
    const event = step.value;
    waitMs = event.kind === "waiting" ? event.untilMs - world.now() : 0;
    events.push(event);
    options.onEvent?.(event);
    if (events.length === options.leaveAfter) {
      await running.return({ stopReason: "cancelled", usage: { inputTokens: 0, outputTokens: 0 } });
    }
  }
}

export function eventsOf<Kind extends TurnEvent["kind"]>(
  events: readonly TurnEvent[],
  kind: Kind,
): Extract<TurnEvent, { kind: Kind }>[] {
  return events.filter((event): event is Extract<TurnEvent, { kind: Kind }> => event.kind === kind);
}
