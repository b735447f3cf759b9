// How turns end: each with its true reason, in words people can read, and with a conversation that goes on.
import { expect, test } from "vitest";
import { answers, calls, eventsOf, fails, run, says, scripted, stop } from "../../test/scripted-turn.js";
import { text } from "../base/text/content.js";
import type { ModelEvent, ModelMessage } from "../models/index.js";
import type { ToolSource } from "../tools/index.js";
import { ENGINE_LIMITS } from "./limits.js";
import { Transcript, transcriptProblems } from "./transcript.js";

function expectValid(messages: readonly ModelMessage[]): void {
  expect(transcriptProblems(messages)).toEqual([]);
  expect(messages.at(-1)?.role).toBe("assistant");
}

test("a turn that goes on and on ends at its limit of model calls, and says so", async () => {
  let count = 0;
  const call: ToolSource["call"] = async () => ({ kind: "done", content: [text(`${count++}`)] });
  const model = scripted(calls("mcp__s__t"));
  const { end, events, transcript } = await run(model, { call });
  expect(end).toMatchObject({ stopReason: "max_turn_requests", cause: "request_limit" });
  expect(model.requests).toHaveLength(ENGINE_LIMITS.turnMaxModelCalls);
  expect(eventsOf(events, "stopped")).toMatchObject([{ reason: expect.stringContaining("model calls") }]);
  expectValid(transcript.messages);
});

test("a stream that is cut in the middle: what came is kept and marked, the error says so, and the next prompt goes on", async () => {
  const transcript = new Transcript();
  const cut = scripted(fails("model.broken_stream", { after: [{ kind: "text", text: "part" }] }));
  const failed = run(cut, { transcript });
  await expect(failed).rejects.toMatchObject({ code: "model.broken_stream", hint: expect.stringContaining("is kept") });
  expect(cut.requests).toHaveLength(1);
  expectValid(transcript.messages);
  const model = scripted(answers("ok"));
  const { end } = await run(model, { transcript, prompt: "go on" });
  expect(end.stopReason).toBe("end_turn");
  expect(model.requests[0]?.messages).toMatchObject([
    { role: "user" },
    { role: "assistant", text: "part\n\n[the answer broke off here]" },
    { role: "user", content: [text("go on")] },
  ]);
});

test("a model that fails without a word leaves a conversation that goes on", async () => {
  const transcript = new Transcript();
  await expect(run(scripted(fails("model.unauthorized")), { transcript })).rejects.toMatchObject({
    code: "model.unauthorized",
  });
  expect(transcript.messages.at(-1)).toMatchObject({ text: "[the model failed to answer]" });
  await run(scripted(answers("ok")), { transcript });
  expectValid(transcript.messages);
});

test("a stream that ends without a finish is an error, never a silent end", async () => {
  await expect(run(scripted(says({ kind: "text", text: "x" })))).rejects.toMatchObject({ code: "model.broken_stream" });
});

test("an empty answer is asked for again, and the second one counts", async () => {
  const model = scripted(says(stop), answers("here"));
  const { end, transcript } = await run(model);
  expect([end.stopReason, model.requests.length]).toEqual(["end_turn", 2]);
  expect(model.requests[1]?.messages).toEqual(model.requests[0]?.messages);
  expectValid(transcript.messages);
});

test("an empty answer after results is asked for with a word that stays out of the conversation", async () => {
  const model = scripted(calls("mcp__s__t"), says({ kind: "thought", text: "hm" }, stop), answers("here"));
  const { transcript } = await run(model);
  expect(model.requests[2]?.messages.at(-1)).toMatchObject({ role: "user" });
  expect(transcript.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
});

test("two empty answers are an error people can read, never a silent end", async () => {
  const transcript = new Transcript();
  const failed = run(scripted(says({ kind: "text", text: "  " }, stop)), { transcript });
  await expect(failed).rejects.toMatchObject({ message: "test/scripted gave an empty answer twice in a row" });
  expectValid(transcript.messages);
});

test.each([
  ["says so at its end", says({ kind: "text", text: "no" }, { kind: "finish", reason: "refusal", detail: "SAFETY" })],
  ["fails with it", fails("model.content_filter")],
])("a refusal that %s is a stop reason, told, and forgotten with its prompt", async (_, script) => {
  const transcript = new Transcript();
  await run(scripted(answers("hello")), { transcript });
  const before = [...transcript.messages];
  const { end, events } = await run(scripted(script), { transcript, prompt: "bad" });
  expect(end).toMatchObject({ stopReason: "refusal", cause: "refusal" });
  expect(eventsOf(events, "stopped")).toHaveLength(1);
  expect(transcript.messages).toEqual(before);
});

test("calls of a refused answer are not made", async () => {
  const asked: ModelEvent = { kind: "tool_call", call: { callId: "c0", name: "mcp__s__t", argumentsJson: "{}" } };
  const { end, events } = await run(scripted(says(asked, { kind: "finish", reason: "refusal" })));
  expect(end.stopReason).toBe("refusal");
  expect(eventsOf(events, "call_started")).toEqual([]);
});

test("the output limit is told, and the part that came is kept", async () => {
  const { end, events, transcript } = await run(
    scripted(says({ kind: "text", text: "half" }, { kind: "finish", reason: "length" })),
  );
  expect(end).toMatchObject({ stopReason: "max_tokens", cause: "output_limit" });
  expect(eventsOf(events, "stopped")).toMatchObject([{ reason: expect.stringContaining("output limit") }]);
  expect(transcript.messages.at(-1)).toMatchObject({ text: "half" });
});

test("a call whose arguments the output limit left out altogether is not made", async () => {
  const made: unknown[] = [];
  const asked = (callId: string, argumentsJson: string): ModelEvent => ({
    kind: "tool_call",
    call: { callId, name: "mcp__s__t", argumentsJson },
  });
  const model = scripted(says(asked("a", ""), asked("b", ""), { kind: "finish", reason: "length" }), answers("x"));
  const call: ToolSource["call"] = async ({ arguments: given }) => {
    made.push(given);
    return { kind: "done", content: [] };
  };
  const { transcript } = await run(model, { call });
  expect(made).toEqual([{}]);
  const results = model.requests[1]?.messages.at(-1);
  expect(results?.role === "tool" && results.results.map(({ isError }) => isError)).toEqual([false, true]);
  expectValid(transcript.messages);
});

test("calls that are cut off again and again end the turn as the output limit, which it is", async () => {
  const cut: ModelEvent = { kind: "tool_call", call: { callId: "c", name: "mcp__s__t", argumentsJson: '{"a' } };
  let count = 0;
  const model = scripted(async function* () {
    count += 1;
    yield { kind: "text", text: `try ${count}` };
    yield cut;
    yield { kind: "finish", reason: "length" };
  });
  const { end, transcript } = await run(model);
  expect([end.stopReason, model.requests.length]).toEqual(["max_tokens", ENGINE_LIMITS.truncatedAnswers]);
  expectValid(transcript.messages);
});

test("the same call with the same result: the model is told, then the turn ends, and people are told why", async () => {
  const model = scripted(calls("mcp__s__t"));
  const { end, events, transcript } = await run(model);
  const { hintAt, stopAt } = ENGINE_LIMITS.repetition;
  expect(end).toMatchObject({ stopReason: "max_turn_requests", cause: "repetition" });
  expect(model.requests).toHaveLength(stopAt);
  expect(eventsOf(events, "stopped")).toMatchObject([{ reason: expect.stringContaining("mcp__s__t was called") }]);
  const lastResults = model.requests.map(({ messages }) => JSON.stringify(messages.at(-1)));
  expect(lastResults.map((words) => words.includes("Do not call it again"))).toEqual(
    lastResults.map((_, index) => index >= hintAt),
  );
  expectValid(transcript.messages);
});

test("a call whose result changes is no repetition", async () => {
  let count = 0;
  const call: ToolSource["call"] = async () => ({ kind: "done", content: [text(`${count++}`)] });
  const model = scripted(...Array.from({ length: 12 }, () => calls("mcp__s__t")), answers("done"));
  expect((await run(model, { call })).end).toMatchObject({ stopReason: "end_turn" });
});
