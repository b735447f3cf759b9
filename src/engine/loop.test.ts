// The loop: a true stop reason every time, and a transcript that is valid whatever happens.
import { expect, test } from "vitest";
import { answers, calls, eventsOf, run, says, scripted, stop, TOOL } from "../../test/scripted-turn.js";
import { LIMITS } from "../base/limits.js";
import { text } from "../base/text/content.js";
import type { Model, ModelEvent, ModelMessage } from "../models/index.js";
import type { ToolDefinition, ToolOutcome, ToolSource } from "../tools/index.js";
import { transcriptProblems } from "./transcript.js";

function expectValid(messages: readonly ModelMessage[]): void {
  expect(transcriptProblems(messages)).toEqual([]);
  expect(messages.at(-1)?.role).toBe("assistant");
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
  expect(transcript.messages.at(-1)).toMatchObject({
    role: "assistant",
    text: "half\n\n[cancelled by the person here]",
  });
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

const READ: ToolDefinition = { ...TOOL, name: "read", annotations: { readOnlyHint: true } };

test("calls that only read run together, and their events come as things happen, their results in the model's order", async () => {
  const ends: (() => void)[] = [];
  const call: ToolSource["call"] = async () => {
    const index = ends.length;
    await new Promise<void>((resolve) => {
      ends.push(resolve);
      if (ends.length === 3) for (const end of ends.toReversed()) end();
    });
    return { kind: "done", content: [text(`${index}`)] };
  };
  const model = scripted(
    calls("mcp__s__read", "mcp__s__read", "mcp__s__read"),
    says({ kind: "text", text: "x" }, stop),
  );
  const { events, transcript } = await run(model, { call, tools: [READ] });
  expect(events.flatMap((event) => ("toolCallId" in event ? [`${event.toolCallId} ${event.kind}`] : []))).toEqual([
    ...["1-1 call_started", "1-2 call_started", "1-3 call_started"],
    ...["1-1 call_running", "1-2 call_running", "1-3 call_running"],
    ...["1-2 call_ended", "1-1 call_ended", "1-3 call_ended"],
  ]);
  const last = model.requests[1]?.messages.at(-1);
  expect(last?.role === "tool" && last.results.map(({ callId, content }) => [callId, content])).toEqual([
    ["c0", [text("0")]],
    ["c1", [text("1")]],
    ["c2", [text("2")]],
  ]);
  expectValid(transcript.messages);
});

test("cancelling while several run ends all of them, and every call has its result", async () => {
  const controller = new AbortController();
  let running = 0;
  const call: ToolSource["call"] = ({ signal }) =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve({ kind: "cancelled" }));
      running += 1;
      if (running === 2) controller.abort();
    });
  const model = scripted(calls("mcp__s__read", "mcp__s__read", "made_up", "mcp__s__read"));
  const tools = [{ ...READ }];
  const { end, events, transcript } = await run(model, { call, tools, signal: controller.signal });
  expect(end.stopReason).toBe("cancelled");
  expect(events.filter((event) => event.kind === "call_ended")).toHaveLength(4);
  expectValid(transcript.messages);
});

test("a reader that leaves ends the calls that run", async () => {
  let isEnded = false;
  const call: ToolSource["call"] = ({ signal }) =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => {
        isEnded = true;
        resolve({ kind: "cancelled" });
      });
    });
  await run(scripted(calls("mcp__s__t")), { call, leaveAfter: 2 });
  expect(isEnded).toBe(true);
});

test("arguments that break off are an error the model can act on, and the turn goes on", async () => {
  const cut: ModelEvent = {
    kind: "tool_call",
    call: { callId: "c0", name: "mcp__s__t", argumentsJson: '{"path":"/a' },
  };
  const model = scripted(says(cut, { kind: "finish", reason: "length" }), says({ kind: "text", text: "x" }, stop));
  const { end } = await run(model);
  expect(end.stopReason).toBe("end_turn");
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("break off after 11 characters");
});

test("tools go to the model in its provider's form, and its arguments come back in the tool's own", async () => {
  const inputSchema = {
    type: "object",
    properties: { a: { type: "string" }, b: { type: "integer" } },
    required: ["a"],
  };
  const providerOptions = { openai: { strict: true } };
  const seen: unknown[] = [];
  const call: ToolSource["call"] = async ({ arguments: given }) => {
    seen.push(given);
    return { kind: "done", content: [] };
  };
  const asked: ModelEvent = {
    kind: "tool_call",
    call: { callId: "c0", name: "mcp__s__t", argumentsJson: '{"a":"x","b":null}' },
  };
  const model = scripted(
    says(asked, { kind: "finish", reason: "tool_calls" }),
    says({ kind: "text", text: "x" }, stop),
  );
  await run({ ...model, id: "openai/test" }, { call, tools: [{ ...TOOL, inputSchema, providerOptions }] });
  expect(model.requests[0]?.tools[0]).toMatchObject({ strict: true, inputSchema: { required: ["a", "b"] } });
  expect(seen).toEqual([{ a: "x" }]);
});

test("a tool without a form for this provider is set aside and told of once, and the turn goes on without it", async () => {
  const odd: ToolDefinition = { ...TOOL, name: "odd", inputSchema: { type: "string" } };
  const setAside: string[] = [];
  const model = scripted(calls("mcp__s__t"), says({ kind: "text", text: "x" }, stop));
  const { end, events } = await run(
    { ...model, id: "anthropic/test" },
    { tools: [TOOL, odd], more: { quarantine: (tool) => setAside.push(tool.id) } },
  );
  expect(end.stopReason).toBe("end_turn");
  expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([["mcp__s__t"], ["mcp__s__t"]]);
  expect(events.filter(({ kind }) => kind === "tool_quarantined")).toEqual([
    { kind: "tool_quarantined", tool: expect.objectContaining({ id: "mcp__s__odd" }), reason: expect.any(String) },
  ]);
  expect(new Set(setAside)).toEqual(new Set(["mcp__s__odd"]));
});

test("a picture goes to a model that takes pictures, and another one is told of it", async () => {
  const picture = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" } as const;
  const call: ToolSource["call"] = async () => ({ kind: "done", content: [picture] });
  const results = async (more: Partial<Model>) => {
    const model = scripted(calls("mcp__s__t"), says({ kind: "text", text: "x" }, stop));
    await run({ ...model, ...more }, { call });
    const last = model.requests[1]?.messages.at(-1);
    return last?.role === "tool" ? last.results[0]?.content : undefined;
  };
  expect(await results({ accepts: (mediaType) => mediaType.startsWith("image/") })).toEqual([picture]);
  expect(JSON.stringify(await results({}))).toContain("does not take it");
});

test("arguments stream out under the id of the call they belong to", async () => {
  const delta = (callId: string, words: string): ModelEvent => ({
    kind: "tool_input",
    callId,
    name: "mcp__s__t",
    delta: words,
  });
  const asked = (callId: string): ModelEvent => ({
    kind: "tool_call",
    call: { callId, name: "mcp__s__t", argumentsJson: '{"a":1}' },
  });
  const model = scripted(
    says(
      ...[delta("x", '{"a'), delta("y", "{"), delta("x", '":1}'), delta("z", "{")],
      ...[asked("x"), asked("y"), { kind: "finish", reason: "tool_calls" } as const],
    ),
    answers("done"),
  );
  const { events } = await run(model);
  expect(
    eventsOf(events, "call_arguments").map(({ toolCallId, offset, delta: words }) => [toolCallId, offset, words]),
  ).toEqual([
    ["1-1", 0, '{"a'],
    ["1-2", 0, "{"],
    ["1-1", 3, '":1}'],
    ["1-3", 0, "{"],
  ]);
  expect(eventsOf(events, "call_arguments")[0]?.subject.tool?.label).toBe("s / t");
  expect(eventsOf(events, "call_dropped").map(({ toolCallId }) => toolCallId)).toEqual(["1-3"]);
  expect(eventsOf(events, "call_started").map(({ toolCallId, wasAnnounced }) => [toolCallId, wasAnnounced])).toEqual([
    ["1-1", true],
    ["1-2", true],
  ]);
});

test("a call that was being written when the answer was cancelled is dropped by name", async () => {
  const controller = new AbortController();
  const model = scripted(async function* () {
    yield { kind: "tool_input", callId: "x", name: "mcp__s__t", delta: "{" };
    controller.abort();
    await new Promise(() => {}); // one that does not heed the signal
  });
  const { end, events, transcript } = await run(model, { signal: controller.signal });
  expect(end.stopReason).toBe("cancelled");
  expect(eventsOf(events, "call_dropped")).toEqual([{ kind: "call_dropped", toolCallId: "1-1", reason: "cancelled" }]);
  expectValid(transcript.messages);
});

test("usage adds up over the calls of a turn, and says how full the window is", async () => {
  const used = (usage: NonNullable<Extract<ModelEvent, { kind: "finish" }>["usage"]>): ModelEvent => ({
    kind: "finish",
    reason: "stop",
    usage,
  });
  const asked: ModelEvent = { kind: "tool_call", call: { callId: "c", name: "mcp__s__t", argumentsJson: "{}" } };
  const model = scripted(
    says(asked, used({ inputTokens: 100, outputTokens: 5, cachedInputTokens: 80, costUsd: 0.01 })),
    says({ kind: "text", text: "x" }, used({ inputTokens: 120, outputTokens: 7, cacheWriteTokens: 20, costUsd: 0.02 })),
  );
  const { end, events } = await run(model);
  const sum = { inputTokens: 220, outputTokens: 12, cachedInputTokens: 80, cacheWriteTokens: 20, costUsd: 0.03 };
  expect(end.usage).toEqual(sum);
  expect(eventsOf(events, "usage").at(-1)).toMatchObject({
    turn: sum,
    context: { usedTokens: 127, sizeTokens: LIMITS.context.unknownTokens },
  });
});

test("what the person set for the model goes with every request", async () => {
  const model = scripted(calls("mcp__s__t"), answers("x"));
  await run(model, { more: { thinking: "high", maxOutputTokens: 99, cacheKey: "k" } });
  for (const request of model.requests) {
    expect(request).toMatchObject({ thinking: "high", maxOutputTokens: 99, cacheKey: "k" });
  }
});

test("a reader that leaves leaves a conversation that goes on", async () => {
  const { transcript } = await run(scripted(answers("hello")), { leaveAfter: 1 });
  expectValid(transcript.messages);
});
