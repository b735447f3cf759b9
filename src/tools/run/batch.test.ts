// The calls of one answer: exactly one outcome each, in the model's order; only what reads overlaps.
import fc from "fast-check";
import { expect, test } from "vitest";
import { Cell } from "../../base/async/cell.js";
import { text } from "../../base/text/content.js";
import { fakeWorld } from "../../testing/index.js";
import { snapshot } from "../catalog/offer.js";
import { TOOL_LIMITS } from "../limits.js";
import type { Presented } from "../result/present.js";
import { ResultStore } from "../result/store.js";
import type { ToolDefinition, ToolOutcome, ToolSource } from "../tool.js";
import { runCalls } from "./batch.js";
import type { Approval, CallEvent, RunPorts } from "./call.js";
import { prepareCall } from "./prepare.js";

type Behaviour = "quick" | "slow" | "progress" | "throws" | "rejects" | "waits for the cancel" | "ignores the cancel";
const BEHAVIOURS: readonly Behaviour[] = [
  "quick",
  "slow",
  "progress",
  "throws",
  "rejects",
  "waits for the cancel",
  "ignores the cancel",
];
const TOOLS: readonly ToolDefinition[] = [
  { name: "read", description: "", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
  { name: "write", description: "", inputSchema: { type: "object" } },
];

interface Planned {
  /** `gone` is no tool at all. */
  readonly tool: "read" | "write" | "gone";
  readonly behaviour: Behaviour;
  readonly approval: "allowed" | "refused" | "asks for ever" | "throws";
  readonly arguments: "fine" | "broken";
}

interface Span {
  readonly index: number;
  readonly tool: string;
  readonly fromMs: number;
  toMs?: number;
}

interface Setup {
  readonly isTrusted: boolean;
  readonly callsAtOnce?: number;
  readonly cancelAtMs?: number | undefined;
}

/** Runs a batch on a clock of its own, cancels it at a given time or when nothing moves any more, and tells all. */
async function runBatch(plan: readonly Planned[], { isTrusted, cancelAtMs, callsAtOnce }: Setup) {
  const world = fakeWorld();
  const controller = new AbortController();
  const spans: Span[] = [];
  const after = (ms: number) => new Promise<void>((resolve) => world.after(ms, resolve));
  const behave = async (index: number, call: Parameters<ToolSource["call"]>[0]): Promise<ToolOutcome> => {
    switch (plan[index]?.behaviour) {
      case "slow":
        await after(40 + index);
        break;
      case "progress":
        for (let step = 0; step < 3; step++) {
          call.onProgress({ progress: step });
          await after(7);
        }
        break;
      case "rejects":
        throw new Error("boom");
      case "waits for the cancel":
        await new Promise((_, reject) => call.signal.addEventListener("abort", () => reject(call.signal.reason)));
        break;
      case "ignores the cancel":
        await new Promise(() => {});
        break;
      default:
        break;
    }
    return { kind: "done", content: [text(String(index))] };
  };
  const source: ToolSource = {
    name: "s",
    origin: "client",
    tools: new Cell(TOOLS),
    ...(callsAtOnce === undefined ? {} : { callsAtOnce }),
    call: (call) => {
      const index = Number(call.arguments["index"]);
      if (plan[index]?.behaviour === "throws") throw new Error("boom");
      const span: Span = { index, tool: call.tool, fromMs: world.monotonicMs() };
      spans.push(span);
      return behave(index, call).finally(() => {
        span.toMs = world.monotonicMs();
      });
    },
  };
  const ports: RunPorts = {
    world,
    results: new ResultStore({ world }),
    media: { images: true, audio: true, documents: true },
    journal: { intent: () => {} },
    trustsAnnotations: () => isTrusted,
    approve: async (request): Promise<Approval> => {
      switch (plan[Number(request.arguments["index"])]?.approval) {
        case "refused":
          return { kind: "refused", reason: "no" };
        case "asks for ever":
          request.onAsking();
          return await new Promise(() => {});
        case "throws":
          throw new Error("no client");
        default:
          return { kind: "allowed" };
      }
    },
  };
  const offer = snapshot([source]);
  const calls = plan.map((planned, index) =>
    prepareCall(
      {
        toolCallId: `1-${index}`,
        name: `mcp__s__${planned.tool}`,
        argumentsJson: planned.arguments === "broken" ? `{"index":${index}` : JSON.stringify({ index }),
      },
      offer,
    ),
  );
  const events: CallEvent[] = [];
  if (cancelAtMs !== undefined) world.after(cancelAtMs, () => controller.abort());
  let presented: readonly Presented[] | undefined;
  const running = runCalls(calls, ports, {
    signal: controller.signal,
    onEvent: (event) => events.push(event),
  }).then((ended) => {
    presented = ended;
  });
  await world.clock.advance(5_000);
  if (!presented) controller.abort();
  await world.clock.advance(TOOL_LIMITS.cancelGraceMs);
  await running;
  const results = presented ?? [];
  return {
    outcomes: results.map(({ outcome }) => outcome),
    results,
    events,
    spans,
    calls,
    isCancelled: controller.signal.aborted,
  };
}

const planned = fc.record<Planned>({
  tool: fc.constantFrom("read", "write", "gone"),
  behaviour: fc.constantFrom(...BEHAVIOURS),
  approval: fc.oneof(
    { weight: 4, arbitrary: fc.constant("allowed" as const) },
    { weight: 1, arbitrary: fc.constantFrom("refused" as const, "asks for ever" as const, "throws" as const) },
  ),
  arguments: fc.oneof(
    { weight: 6, arbitrary: fc.constant("fine" as const) },
    { weight: 1, arbitrary: fc.constant("broken" as const) },
  ),
});

test("whatever sources and people do and whenever it is cancelled, every call has one outcome, in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(planned, { maxLength: 12 }),
      fc.boolean(),
      fc.option(fc.integer({ min: 0, max: 120 }), { nil: undefined }),
      async (plan, isTrusted, cancelAtMs) => {
        const { outcomes, results, events, spans, calls, isCancelled } = await runBatch(plan, {
          isTrusted,
          cancelAtMs,
        });
        expect(outcomes).toHaveLength(plan.length);
        for (const { model, outcome } of results) {
          expect(model.isError).toBe(outcome.kind !== "done");
          expect(model.content.length).toBeGreaterThan(0);
        }
        plan.forEach((one, index) => {
          const outcome = outcomes[index];
          const mine = events.filter(({ call }) => call === calls[index]);
          expect(mine.filter(({ kind }) => kind === "ended")).toHaveLength(1);
          expect(mine.at(-1)).toMatchObject({ kind: "ended", outcome });
          expect(mine.filter(({ kind }) => kind === "running").length).toBeLessThanOrEqual(1);
          if (outcome?.kind === "done") expect(outcome.content).toEqual([text(String(index))]);
          if (outcome?.kind === "cancelled") expect(isCancelled).toBe(true);
          if (one.arguments === "broken" || one.tool === "gone") expect(outcome?.kind).toBe("failed");
        });
        for (const writing of spans.filter(({ tool }) => tool === "write" || !isTrusted)) {
          for (const other of spans) if (other !== writing) expectApart(writing, other);
        }
      },
    ),
    { numRuns: 300 },
  );
});

/** A call that may write begins after all before it ended, and ends before any after it begins. */
function expectApart(writing: Span, other: Span): void {
  const [first, second] = writing.index < other.index ? [writing, other] : [other, writing];
  expect(first.toMs).toBeDefined();
  expect(first.toMs ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(second.fromMs);
}

const fine = (tool: Planned["tool"], behaviour: Behaviour = "slow"): Planned => ({
  tool,
  behaviour,
  approval: "allowed",
  arguments: "fine",
});

test("reading calls of a trusted source overlap, a writing one is a barrier", async () => {
  const plan = [fine("read"), fine("gone"), fine("read"), fine("write"), fine("read"), fine("read")];
  const { spans } = await runBatch(plan, { isTrusted: true });
  expect(spans.map(({ index, fromMs, toMs }) => [index, fromMs, toMs])).toEqual([
    [0, 0, 40],
    [2, 0, 42],
    [3, 42, 85],
    [4, 85, 129],
    [5, 85, 130],
  ]);
});

test("a source nobody trusts has all its calls run one after the other", async () => {
  const { spans } = await runBatch([fine("read"), fine("read")], { isTrusted: false });
  expect(spans.map(({ fromMs }) => fromMs)).toEqual([0, 40]);
});

test.each([
  [TOOL_LIMITS.callsInParallel, {}],
  [2, { callsAtOnce: 2 }],
])(
  "no more than %i run at once, so that none is turned away by a limit it could have waited for",
  async (count, limit) => {
    const plan = Array.from({ length: count + 2 }, () => fine("read"));
    const { spans, outcomes } = await runBatch(plan, { isTrusted: true, ...limit });
    expect(spans.filter(({ fromMs }) => fromMs === 0)).toHaveLength(count);
    expect(outcomes.every(({ kind }) => kind === "done")).toBe(true);
  },
);

test("events of calls that run together come in the order in which things happen", async () => {
  const { events } = await runBatch([fine("read", "slow"), fine("read", "quick")], { isTrusted: true });
  expect(events.map(({ kind, call }) => `${call.toolCallId} ${kind}`)).toEqual([
    "1-0 running",
    "1-1 running",
    "1-1 ended",
    "1-0 ended",
  ]);
});
