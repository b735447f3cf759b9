// A turn as watchers see it: invoke_agent around chat and execute_tool, by the conventions, with the real SDK.
import { trace } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TenonError } from "../../base/errors.js";
import type { WireTrace } from "../../base/ports/trace.js";
import type { Model, ModelEvent } from "../../models/index.js";
import { fakeWorld } from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import { inTurnSpan, observedModel } from "./turns.js";

const { telemetry } = nodeWorld({ env: {} });
const world = fakeWorld(telemetry ? { telemetry } : {});
const never = new AbortController().signal;
const request = { system: "", messages: [], tools: [], maxOutputTokens: 99 };
let exporter: InMemorySpanExporter;

beforeEach(() => {
  exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
});
afterEach(() => trace.disable());

const spanOf = (name: string): ReadableSpan | undefined =>
  exporter.getFinishedSpans().find((span) => span.name === name);

function answering(events: readonly ModelEvent[], then?: Error): Model {
  async function* stream(): AsyncGenerator<ModelEvent> {
    for (const event of events) yield event;
    if (then) throw then;
  }
  return { id: "google/gemini-x", stream };
}

async function heard(model: Model, signal = never): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of observedModel(model, world, "s-1").stream(request, signal)) events.push(event);
  return events;
}

const FINISH: ModelEvent = {
  kind: "finish",
  reason: "stop",
  usage: { inputTokens: 10, outputTokens: 3, cachedInputTokens: 4, cacheWriteTokens: 1 },
};

test("a request is a chat span inside the turn, with model, conversation, finish and tokens", async () => {
  const facts = { session: "s-1", model: "google/gemini-x", turn: 2 };
  await inTurnSpan(world, facts, async () => {
    expect(await heard(answering([{ kind: "text", text: "x" }, FINISH]))).toHaveLength(2);
    return { stopReason: "end_turn", usage: { inputTokens: 10, outputTokens: 3 } };
  });
  const [turn, chat] = [spanOf("invoke_agent tenon"), spanOf("chat gemini-x")];
  expect(chat?.parentSpanContext?.spanId).toBe(turn?.spanContext().spanId);
  expect([turn?.kind, chat?.kind]).toEqual([0, 2]);
  expect(chat?.attributes).toEqual({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "gcp.gemini",
    "gen_ai.request.model": "gemini-x",
    "gen_ai.request.stream": true,
    "gen_ai.request.max_tokens": 99,
    "gen_ai.conversation.id": "s-1",
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.usage.input_tokens": 10,
    "gen_ai.usage.output_tokens": 3,
    "gen_ai.usage.cache_read.input_tokens": 4,
    "gen_ai.usage.cache_creation.input_tokens": 1,
  });
  expect(turn?.attributes).toMatchObject({
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "tenon",
    "gen_ai.conversation.id": "s-1",
    "gen_ai.usage.input_tokens": 10,
    "tenon.turn": 2,
    "tenon.stop_reason": "end_turn",
  });
});

test("a model that fails is an error of its code, a turn that was cancelled is none", async () => {
  await expect(heard(answering([], new TenonError("model.rate_limited", "slow down")))).rejects.toThrow("slow down");
  expect(spanOf("chat gemini-x")).toMatchObject({
    attributes: { "error.type": "model.rate_limited" },
    status: { code: 2, message: "slow down" },
  });
  exporter.reset();
  const controller = new AbortController();
  controller.abort();
  await expect(heard(answering([], new Error("aborted")), controller.signal)).rejects.toThrow("aborted");
  expect(spanOf("chat gemini-x")?.status.code).toBe(0);
});

test("a reader that leaves ends the span and lets the model go", async () => {
  let isReleased = false;
  async function* endless(): AsyncGenerator<ModelEvent> {
    try {
      for (;;) yield { kind: "text", text: "x" };
    } finally {
      isReleased = true;
    }
  }
  for await (const _event of observedModel({ id: "x/y", stream: endless }, world, "s").stream(request, never)) break;
  expect(isReleased).toBe(true);
  expect(spanOf("chat y")).toBeDefined();
});

test("without a watcher the model's own stream is handed on, and what the model says of itself always is", () => {
  trace.disable();
  const stream: AsyncIterable<ModelEvent> = answering([FINISH]).stream(request, never);
  const abilities = { contextTokens: 7, images: false, audio: false, pdf: false, thinking: [] };
  const own: Model = {
    id: "a/b",
    dialect: "anthropic",
    abilities,
    accepts: (type) => type === "image/png",
    stream: () => stream,
  };
  const observed = observedModel(own, world, "s");
  expect(observed.stream(request, never)).toBe(stream);
  expect(observed).toMatchObject({ id: "a/b", dialect: "anthropic", abilities });
  expect([observed.accepts?.("image/png"), observed.accepts?.("image/gif")]).toEqual([true, false]);
});

test("every step of the model is taken within its session, for the trace", async () => {
  const within: string[] = [];
  const wireTrace: WireTrace = {
    record: () => {},
    hide: () => {},
    nextConnection: () => 1,
    nextQuestion: () => 1,
    modelFetch: (fetch) => fetch,
    within: (session, run) => {
      within.push(session);
      return run();
    },
  };
  const model = observedModel(answering([FINISH]), fakeWorld({ trace: wireTrace }), "s-9");
  for await (const event of model.stream(request, never)) expect(event).toEqual(FINISH);
  expect(new Set(within)).toEqual(new Set(["s-9"]));
  expect(within.length).toBeGreaterThan(1);
});
