// The loop: a true stop reason every time, and a transcript that is valid whatever happens.
import { expect, test } from "vitest";
import { Cell } from "../base/cell.js";
import { text } from "../base/content.js";
import { TenonError } from "../base/errors.js";
import type { Model, ModelEvent, ModelMessage, ModelRequest } from "../models/index.js";
import { snapshot, type ToolOutcome, type ToolSource } from "../tools/index.js";
import type { TurnEvent } from "./event.js";
import { runTurn, type TurnEnd } from "./loop.js";
import { Transcript } from "./transcript.js";

type Script = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>;

function scripted(...answers: Script[]): Model & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    id: "test/scripted",
    requests,
    stream: (request, signal) => {
      requests.push({ ...request, messages: [...request.messages] });
      const answer = answers[Math.min(requests.length, answers.length) - 1];
      if (!answer) throw new Error("no answer is scripted");
      return answer(request, signal);
    },
  };
}

const says = (...events: ModelEvent[]): Script =>
  async function* () {
    yield* events;
  };
const stop: ModelEvent = { kind: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 2 } };
const calls = (...names: string[]): Script =>
  says(
    ...names.map(
      (name, index): ModelEvent => ({ kind: "tool_call", call: { callId: `c${index}`, name, argumentsJson: "{}" } }),
    ),
    { kind: "finish", reason: "tool_calls" },
  );

function source(call: ToolSource["call"]): ToolSource {
  return {
    name: "s",
    origin: "client",
    tools: new Cell([{ name: "t", description: "", inputSchema: { type: "object" } }]),
    call,
  };
}

async function run(
  model: Model,
  options: { call?: ToolSource["call"]; signal?: AbortSignal; transcript?: Transcript } = {},
) {
  const transcript = options.transcript ?? new Transcript();
  transcript.addUser([text("go")]);
  const sources = [source(options.call ?? (async () => ({ kind: "done", content: [text("ok")] })))];
  const turn = runTurn(
    {
      number: 1,
      model,
      system: "",
      transcript,
      catalog: () => snapshot(sources),
      ports: { approve: async () => ({ kind: "allowed" }), journal: { intent: () => {} } },
    },
    options.signal ?? new AbortController().signal,
  );
  const events: TurnEvent[] = [];
  for (;;) {
    const step = await turn.next();
    if (step.done) return { end: step.value satisfies TurnEnd, events, transcript };
    events.push(step.value);
  }
}

/** Providers refuse a conversation in which a call has no result or a result no call. */
function expectValid(messages: readonly ModelMessage[]): void {
  messages.forEach((message, index) => {
    const next = messages[index + 1];
    if (message.role === "assistant" && message.toolCalls.length > 0) {
      expect(next?.role === "tool" && next.results.map((result) => result.callId)).toEqual(
        message.toolCalls.map((call) => call.callId),
      );
    }
    if (message.role === "assistant" && message.toolCalls.length === 0) expect(message.text).not.toBe("");
  });
}

test("text streams out and the turn ends with the model", async () => {
  const { end, events, transcript } = await run(
    scripted(says({ kind: "text", text: "Hel" }, { kind: "text", text: "lo" }, stop)),
  );
  expect(end).toEqual({ stopReason: "end_turn", usage: { inputTokens: 1, outputTokens: 2 } });
  expect(events.map((event) => event.kind)).toEqual(["text", "text", "usage"]);
  expect(transcript.messages.at(-1)).toEqual({ role: "assistant", text: "Hello", toolCalls: [] });
});

test("results reach the model in its own order, one per call", async () => {
  const model = scripted(calls("mcp__s__t", "made_up", "mcp__s__t"), says({ kind: "text", text: "done" }, stop));
  const { end, events, transcript } = await run(model);
  expect(end.stopReason).toBe("end_turn");
  const last = model.requests[1]?.messages.at(-1);
  expect(last?.role === "tool" && last.results.map((result) => [result.callId, result.isError])).toEqual([
    ["c0", false],
    ["c1", true],
    ["c2", false],
  ]);
  expect(events.filter((event) => event.kind === "call_ended")).toHaveLength(3);
  expect(events.flatMap((event) => (event.kind === "call_started" ? [event.toolCallId] : []))).toEqual([
    "1-1",
    "1-2",
    "1-3",
  ]);
  expectValid(transcript.messages);
});

test("progress comes out while the call still runs", async () => {
  const { events } = await run(scripted(calls("mcp__s__t"), says({ kind: "text", text: "x" }, stop)), {
    call: async ({ onProgress }) => {
      onProgress({ progress: 1, total: 2 });
      return { kind: "done", content: [] };
    },
  });
  expect(events.map((event) => event.kind)).toEqual([
    "call_started",
    "call_running",
    "call_progress",
    "call_ended",
    "text",
    "usage",
  ]);
});

test.each([
  ["length", "max_tokens"],
  ["refusal", "refusal"],
] as const)("a model that ends with %s gives %s", async (reason, expected) => {
  const { end } = await run(scripted(says({ kind: "text", text: "x" }, { kind: "finish", reason })));
  expect(end.stopReason).toBe(expected);
});

test("a model that never stops calling tools is stopped and said so", async () => {
  const { end, transcript } = await run(scripted(calls("mcp__s__t")));
  expect(end.stopReason).toBe("max_turn_requests");
  expectValid(transcript.messages);
});

test("cancelling while text streams keeps what came and ends as cancelled", async () => {
  const controller = new AbortController();
  const model = scripted(async function* (_, signal) {
    yield { kind: "text", text: "half" };
    controller.abort();
    signal.throwIfAborted();
  });
  const { end, transcript } = await run(model, { signal: controller.signal });
  expect(end.stopReason).toBe("cancelled");
  expect(transcript.messages.at(-1)).toMatchObject({ role: "assistant", text: "half" });
});

test("cancelling while a tool runs leaves a result for every call", async () => {
  const controller = new AbortController();
  const model = scripted(calls("mcp__s__t", "mcp__s__t"));
  const call = async (): Promise<ToolOutcome> => {
    controller.abort();
    return { kind: "cancelled" };
  };
  const { end, transcript } = await run(model, { signal: controller.signal, call });
  expect(end.stopReason).toBe("cancelled");
  expect(model.requests).toHaveLength(1);
  expectValid(transcript.messages);
});

test("a model that fails rejects with its error, and the next turn still works", async () => {
  const transcript = new Transcript();
  const failing = scripted(async function* () {
    yield { kind: "text", text: "part" };
    throw new TenonError("model.unavailable", "overloaded");
  });
  await expect(run(failing, { transcript })).rejects.toMatchObject({ code: "model.unavailable" });
  const { end } = await run(scripted(says({ kind: "text", text: "ok" }, stop)), { transcript });
  expect(end.stopReason).toBe("end_turn");
  expectValid(transcript.messages);
});

test("a stream that ends without a finish is an error, never a silent end", async () => {
  await expect(run(scripted(says({ kind: "text", text: "x" })))).rejects.toMatchObject({ code: "model.broken_stream" });
});
