// Whatever calls do and whenever the turn is cancelled: one start, one end and one result for each, in the model's order.
import fc from "fast-check";
import { expect, test } from "vitest";
import { Cell } from "../base/async/cell.js";
import { text } from "../base/text/content.js";
import type { ModelToolCall } from "../models/index.js";
import { fakeWorld } from "../testing/index.js";
import { ResultStore, snapshot, type ToolSource } from "../tools/index.js";
import { type CallBatch, runAnswer } from "./loop.js";
import type { TurnEvent } from "./turn.js";

type Kind = "quick" | "progress" | "rejects" | "hangs" | "broken arguments" | "unknown tool";
const KINDS: readonly Kind[] = ["quick", "progress", "rejects", "hangs", "broken arguments", "unknown tool"];

interface Planned {
  readonly kind: Kind;
  readonly isReading: boolean;
}

function callOf({ kind, isReading }: Planned, index: number): ModelToolCall {
  const tool = kind === "unknown tool" ? "gone" : isReading ? "read" : "write";
  const json = JSON.stringify({ index });
  return {
    callId: `c${index}`,
    name: `mcp__s__${tool}`,
    argumentsJson: kind === "broken arguments" ? json.slice(0, -1) : json,
  };
}

function sourceOf(plan: readonly Planned[], onHang: () => void): ToolSource {
  const inputSchema = { type: "object" };
  return {
    name: "s",
    origin: "client",
    tools: new Cell([
      { name: "read", description: "", inputSchema, annotations: { readOnlyHint: true } },
      { name: "write", description: "", inputSchema },
    ]),
    call: async ({ arguments: given, signal, onProgress }) => {
      const kind = plan[Number(given["index"])]?.kind;
      if (kind === "rejects") throw new Error("boom");
      const steps = kind === "progress" ? 3 : 0;
      for (let step = 0; step < steps; step++) {
        await Promise.resolve();
        onProgress({ progress: step });
      }
      if (kind === "hangs") {
        onHang();
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      }
      return { kind: "done", content: [text(String(given["index"]))] };
    },
  };
}

/** Cancels after so many events, or soon after a call began to hang: else nobody ever would. */
async function runPlan(plan: readonly Planned[], cancelAfter: number) {
  const world = fakeWorld();
  const controller = new AbortController();
  const source = sourceOf(plan, () => setImmediate(() => controller.abort()));
  let count = 0;
  const batch: CallBatch = {
    calls: plan.map(callOf),
    offer: snapshot([source]),
    nextCallId: () => `1-${count++}`,
    restore: (call) => call,
    ports: {
      world,
      results: new ResultStore({ world }),
      media: { images: false, audio: false, documents: false },
      trustsAnnotations: () => true,
      journal: { intent: () => {} },
      approve: async () => ({ kind: "allowed" }),
    },
  };
  const answer = runAnswer(batch, controller.signal);
  const events: TurnEvent[] = [];
  for (;;) {
    if (events.length >= cancelAfter) controller.abort();
    const step = await answer.next();
    if (step.done) return { results: step.value, events, timers: world.clock.pendingTimers };
    events.push(step.value);
  }
}

test("one start, one end, one result for every call, in order, and nothing left behind", async () => {
  const planned = fc.record<Planned>({ kind: fc.constantFrom(...KINDS), isReading: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(planned, { maxLength: 8 }), fc.nat({ max: 40 }), async (plan, cancelAfter) => {
      const { results, events, timers } = await runPlan(plan, cancelAfter);
      expect(results.map(({ callId }) => callId)).toEqual(plan.map((_, index) => `c${index}`));
      const idsOf = (kind: TurnEvent["kind"]) =>
        events.flatMap((event) => (event.kind === kind && "toolCallId" in event ? [event.toolCallId] : []));
      const ids = plan.map((_, index) => `1-${index}`);
      expect(idsOf("call_started")).toEqual(ids);
      expect(idsOf("call_ended").toSorted()).toEqual(ids);
      for (const id of ids) {
        const mine = events.flatMap((event) => ("toolCallId" in event && event.toolCallId === id ? [event.kind] : []));
        expect(mine[0]).toBe("call_started");
        expect(mine.at(-1)).toBe("call_ended");
      }
      results.forEach(({ isError, content }, index) => {
        if (!isError) expect(content).toEqual([text(String(index))]);
        if (["rejects", "hangs", "broken arguments", "unknown tool"].includes(plan[index]?.kind ?? "")) {
          expect(isError).toBe(true);
        }
      });
      expect(timers).toBe(0);
    }),
    { numRuns: 300 },
  );
});
