// Streams of the AI SDK as events: the cases that real providers show rarely.
import type { LanguageModelV3StreamPart, LanguageModelV3Usage } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { TenonError } from "../base/errors.js";
import type { ModelEvent } from "./model.js";
import { fromStream } from "./providers/from-stream.js";

const usage: LanguageModelV3Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

type Reason = Extract<LanguageModelV3StreamPart, { type: "finish" }>["finishReason"];

function finish(unified: Reason["unified"], raw: string | undefined = unified): LanguageModelV3StreamPart {
  return { type: "finish", usage, finishReason: { unified, raw } };
}

function call(toolCallId: string): LanguageModelV3StreamPart {
  return { type: "tool-call", toolCallId, toolName: "t", input: "{}" };
}

async function read(parts: readonly LanguageModelV3StreamPart[]): Promise<ModelEvent[]> {
  const stream = new ReadableStream<LanguageModelV3StreamPart>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  const events: ModelEvent[] = [];
  for await (const event of fromStream({ failure: { modelId: "p/m" } }, stream, new AbortController().signal))
    events.push(event);
  return events;
}

describe("the end of an answer", () => {
  test.each([
    [finish("stop"), { reason: "stop" }],
    [finish("tool-calls"), { reason: "stop" }],
    [finish("other", "pause"), { reason: "stop" }],
    [finish("length", "MAX_TOKENS"), { reason: "length", detail: "MAX_TOKENS" }],
    [finish("content-filter", "RECITATION"), { reason: "refusal", detail: "RECITATION" }],
  ] as const)("%j without calls is %j", async (part, end) => {
    expect(await read([part])).toEqual([{ kind: "finish", ...end }]);
  });

  test.each([finish("stop"), finish("other", "x"), finish("tool-calls")])("%j with a call runs it", async (part) => {
    expect(await read([call("1"), part])).toMatchObject([
      { kind: "tool_call" },
      { kind: "finish", reason: "tool_calls" },
    ]);
  });

  test.each<[string, LanguageModelV3StreamPart[]]>([
    ["an error", [finish("error", "MALFORMED_FUNCTION_CALL")]],
    ["nothing said", [call("1"), { type: "finish", usage, finishReason: { unified: "other", raw: undefined } }]],
    ["no finish", [call("1")]],
    ["an error part", [call("1"), { type: "error", error: new Error("no") }]],
  ])("that is %s is a broken stream", async (_, parts) => {
    const [thrown] = await Promise.allSettled([read(parts)]);
    expect(thrown).toMatchObject({ status: "rejected", reason: expect.any(TenonError) });
    expect(thrown).toMatchObject({ reason: { code: "model.broken_stream" } });
  });

  test("without a candidate is a refusal where the provider says that it blocked the prompt", async () => {
    const blocked: LanguageModelV3StreamPart = {
      type: "finish",
      usage,
      finishReason: { unified: "other", raw: undefined },
      providerMetadata: { google: { promptFeedback: { blockReason: "SAFETY" } } },
    };
    expect(await read([blocked])).toEqual([{ kind: "finish", reason: "refusal", detail: "SAFETY" }]);
  });
});

describe("the parts of an answer", () => {
  test("are recorded in their order, even where an id is used again", async () => {
    const events = await read([
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "one" },
      { type: "text-end", id: "0" },
      { type: "reasoning-start", id: "0" },
      { type: "reasoning-delta", id: "0", delta: "hm" },
      { type: "reasoning-delta", id: "0", delta: "", providerMetadata: { p: { signature: "s" } } },
      { type: "reasoning-end", id: "0" },
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: " two" },
      { type: "text-end", id: "0", providerMetadata: { p: { phase: "final" } } },
      finish("stop"),
    ]);
    expect(events.map((event) => ("text" in event ? event.text : event.kind))).toEqual(["one", "hm", " two", "finish"]);
    expect(events.at(-1)).toMatchObject({
      providerData: {
        model: "p/m",
        parts: [
          { kind: "text", length: 3 },
          { kind: "thought", text: "hm", options: { p: { signature: "s" } } },
          { kind: "text", length: 4, options: { p: { phase: "final" } } },
        ],
      },
    });
  });

  test("that are calls get ids that can be told apart, and those the provider runs itself are left out", async () => {
    const ranByProvider: LanguageModelV3StreamPart = {
      type: "tool-call",
      toolCallId: "y",
      toolName: "t",
      input: "{}",
      providerExecuted: true,
    };
    const events = await read([call("x"), call("x"), call(""), ranByProvider, finish("stop")]);
    const ids = events.flatMap((event) => (event.kind === "tool_call" ? [event.call.callId] : []));
    expect(ids[0]).toBe("x");
    expect(new Set(ids).size).toBe(3);
    expect(ids).not.toContain("");
    expect(ids).not.toContain("y");
  });

  test("that are arguments being written carry the id of their call, and the provider's own are left out", async () => {
    const events = await read([
      { type: "tool-input-start", id: "x", toolName: "t" },
      { type: "tool-input-delta", id: "x", delta: '{"a"' },
      { type: "tool-input-start", id: "x", toolName: "t" },
      { type: "tool-input-delta", id: "x", delta: "{}" },
      { type: "tool-input-start", id: "p", toolName: "web", providerExecuted: true },
      { type: "tool-input-delta", id: "p", delta: "{}" },
      call("x"),
      finish("stop"),
    ]);
    const [first, second, made] = events;
    expect(first).toEqual({ kind: "tool_input", callId: "x", name: "t", delta: '{"a"' });
    expect(second).toMatchObject({ kind: "tool_input", delta: "{}" });
    // The last call that was begun under an id is the one that comes of it.
    expect(made).toMatchObject({ call: { callId: second?.kind === "tool_input" ? second.callId : "" } });
    expect(events.filter(({ kind }) => kind === "tool_input")).toHaveLength(2);
  });

  test("that are files are at least mentioned", async () => {
    const events = await read([{ type: "file", mediaType: "image/png", data: "AAAA" }, finish("stop")]);
    expect(events[0]).toEqual({ kind: "text", text: "[the model returned a file of type image/png]" });
  });
});
