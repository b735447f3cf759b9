// Cancelled at any moment: it is over within 100 ms, the conversation is one that any provider takes, and the next prompt works.
import { expect, test } from "vitest";
import { answers, modelOf, type ScriptedModel, scripted, turnOf } from "../../test/scripted-turn.js";
import { TenonError } from "../base/errors.js";
import { text } from "../base/text/content.js";
import { markContent } from "../base/text/marking.js";
import type { ModelEvent } from "../models/index.js";
import { fakeWorld, settle } from "../testing/index.js";
import type { ToolDefinition, ToolSource } from "../tools/index.js";
import { runTurn } from "./loop.js";
import { Transcript, transcriptProblems } from "./transcript.js";
import type { TurnEnd, TurnEvent } from "./turn.js";

const CANCELS = 100;

/** Small, quick and the same on every machine. */
function diceOf(seed: number): (sides: number) => number {
  let state = seed + 1;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % sides;
  };
}

type Dice = ReturnType<typeof diceOf>;

const TOOLS: readonly ToolDefinition[] = ["write", "read"].map((name) => ({
  name,
  description: "",
  inputSchema: { type: "object" },
  annotations: { readOnlyHint: name === "read" },
}));

/** Texts, thoughts, calls being written, calls, failures, standstill: whatever a provider does, in any order. */
function wildModel(dice: Dice): ScriptedModel {
  return modelOf(async function* (_request, signal, index): AsyncGenerator<ModelEvent, void, void> {
    const planned = dice(4);
    for (let step = 0; step < dice(6); step++) {
      for (let turns = 0; turns < dice(3); turns++) await new Promise((resolve) => setImmediate(resolve));
      if (dice(12) === 0) await stuck(signal, dice(2) === 0);
      if (dice(10) === 0) throw new TenonError("model.overloaded", "busy");
      if (dice(14) === 0) throw new Error("a bug of the adapter's");
      yield dice(3) === 0 ? { kind: "thought", text: "hm" } : { kind: "text", text: `word ${step} ` };
    }
    for (let call = 0; call < planned; call++) {
      const name = dice(5) === 0 ? "made_up" : `mcp__s__${dice(2) === 0 ? "write" : "read"}`;
      const callId = `${index}-${call}`;
      if (dice(2) === 0) yield { kind: "tool_input", callId, name, delta: "{" };
      if (dice(8) === 0) return; // cut off
      yield { kind: "tool_call", call: { callId, name, argumentsJson: dice(6) === 0 ? "{" : `{"n":${dice(9)}}` } };
    }
    const reason = (["stop", "tool_calls", "length", "tool_calls", "refusal"] as const)[dice(5)] ?? "stop";
    yield { kind: "finish", reason, usage: { inputTokens: 10, outputTokens: 1 } };
  });
}

async function stuck(signal: AbortSignal, heedsSignal: boolean): Promise<void> {
  await new Promise<void>((_, reject) => {
    if (heedsSignal) signal.addEventListener("abort", () => reject(signal.reason));
  });
}

function wildCall(dice: Dice): ToolSource["call"] {
  return async ({ signal, onProgress }) => {
    const kind = dice(5);
    if (kind === 0) await stuck(signal, dice(2) === 0);
    if (kind === 1) throw new Error("boom");
    if (kind === 2) onProgress({ progress: 1 });
    await new Promise((resolve) => setImmediate(resolve));
    return { kind: kind === 3 ? "failed" : "done", content: [text(`result ${dice(1_000)}`)] };
  };
}

/** Either the turn is over by itself before, or it is cancelled after so many events and so many turns of the event loop. */
async function cancelSomewhere(seed: number): Promise<void> {
  const dice = diceOf(seed);
  const world = fakeWorld({ seed });
  const transcript = new Transcript();
  const controller = new AbortController();
  const options = { transcript, world, tools: TOOLS, call: wildCall(dice) };
  const { turn } = turnOf(wildModel(dice), options);
  transcript.addUser(markContent([text("go")]));
  const [afterEvents, afterTurns] = [dice(20), dice(6)];
  const events: TurnEvent[] = [];
  let end: TurnEnd | undefined;
  let failure: unknown;
  const running = (async () => {
    const steps = runTurn(turn, controller.signal);
    for (let step = await steps.next(); ; step = await steps.next()) {
      if (step.done) {
        end = step.value;
        return;
      }
      events.push(step.value);
    }
  })().catch((error: unknown) => {
    failure = error;
  });
  for (let turns = 0; turns < 200 && events.length < afterEvents; turns++) await world.advance(0);
  for (let turns = 0; turns < afterTurns; turns++) await new Promise((resolve) => setImmediate(resolve));
  const wasOver = end !== undefined || failure !== undefined;
  controller.abort();
  await world.advance(100);
  await running;
  if (!wasOver && failure === undefined) expect(end?.stopReason).toBeDefined();
  if (failure !== undefined) expect(failure).toBeInstanceOf(TenonError);
  expectWhole(events);
  expect(transcriptProblems(transcript.messages)).toEqual([]);
  expect(world.clock.pendingTimers).toBe(0);
  await expectNextPrompt(transcript);
}

/** Whatever people saw beginning, they saw ending. */
function expectWhole(events: readonly TurnEvent[]): void {
  const idsOf = (...kinds: readonly string[]) =>
    new Set(events.flatMap((event) => (kinds.includes(event.kind) && "toolCallId" in event ? [event.toolCallId] : [])));
  expect(idsOf("call_ended", "call_dropped")).toEqual(idsOf("call_arguments", "call_started"));
}

async function expectNextPrompt(transcript: Transcript): Promise<void> {
  const model = scripted(answers("here again"));
  const { turn } = turnOf(model, { transcript });
  transcript.addUser(markContent([text("next")]));
  const steps = runTurn(turn, new AbortController().signal);
  let step = await steps.next();
  while (!step.done) step = await steps.next();
  expect(step.value.stopReason).toBe("end_turn");
  expect(transcriptProblems(model.requests[0]?.messages ?? [])).toEqual([]);
  expect(transcriptProblems(transcript.messages)).toEqual([]);
}

test.each(Array.from({ length: CANCELS }, (_, seed) => seed))("a cancel at a random moment, seed %i", async (seed) => {
  await cancelSomewhere(seed);
  expect.hasAssertions();
});

test("a model and a tool that are stuck and heed no signal hold nobody up", async () => {
  const world = fakeWorld();
  const controller = new AbortController();
  const call: ToolSource["call"] = () => new Promise(() => {});
  const asked: ModelEvent = { kind: "tool_call", call: { callId: "c", name: "mcp__s__read", argumentsJson: "{}" } };
  const model = scripted(async function* () {
    yield asked;
    yield { kind: "finish", reason: "tool_calls" };
  });
  const { turn, transcript } = turnOf(model, { world, tools: TOOLS, call });
  transcript.addUser(markContent([text("go")]));
  const steps = runTurn(turn, controller.signal);
  const kinds: string[] = [];
  const running = (async () => {
    for (let step = await steps.next(); ; step = await steps.next()) {
      if (step.done) return step.value;
      kinds.push(step.value.kind);
    }
  })();
  while (!kinds.includes("call_running")) await settle();
  controller.abort();
  await world.advance(99);
  expect((await running).stopReason).toBe("cancelled");
});
