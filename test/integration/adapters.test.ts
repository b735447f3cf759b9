// Tools of a real server process through each provider's own client library: one whole round of calls against a provider on
// a loopback port that refuses what the real one would.
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { type Content, GoogleGenAI } from "@google/genai";
import { type AIMessageChunk, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { DynamicStructuredTool, type StructuredToolInterface } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { Agent, OpenAIProvider, Runner, setTracingDisabled } from "@openai/agents";
import { stepCountIs, streamText } from "ai";
import OpenAI from "openai";
import { expect } from "vitest";
import {
  type OpenTools,
  openTools,
  toAiSdkTools,
  toAnthropicTools,
  toGeminiTools,
  toLangChainTools,
  toOpenAiAgentsTools,
  toOpenAiTools,
} from "../../src/library/tools.js";
import { type Behaviour, scriptedServer } from "../../src/testing/index.js";
import { type Answer, answerText, type FakeProvider, fakeProvider } from "../../src/testing/lab/index.js";
import { anthropicFaults } from "../dialect-checkers/anthropic.js";
import { geminiFaults } from "../dialect-checkers/gemini.js";
import { openaiFaults } from "../dialect-checkers/openai.js";
import { scenario } from "../scenarios/scenario.js";

/** A tree and a choice: no provider takes this schema as it is. */
const BEHAVIOUR: Behaviour = {
  tools: [
    {
      name: "echo",
      description: "Repeats",
      inputSchema: {
        type: "object",
        properties: { node: { $ref: "#/$defs/node" }, mode: { type: ["string", "null"], pattern: "^[a-z]+$" } },
        required: ["node"],
        $defs: { node: { type: "object", properties: { text: { type: "string" } }, required: ["text"] } },
      },
      reply: { kind: "echo" },
    },
    { name: "picture", description: "Draws", reply: { kind: "image" } },
    { name: "fail", description: "Fails", reply: { kind: "error", text: "the disk is full" } },
  ],
};

const ARGUMENTS = { node: { text: "through the adapter" } };
const PROMPT = "Try all three tools.";
const DONE = "All three were called.";
const KEY = "sk-test";

const CALLS: Answer = {
  kind: "answer",
  parts: [
    { kind: "tool_call", name: "mcp__lab__echo", arguments: ARGUMENTS },
    { kind: "tool_call", name: "mcp__lab__picture", arguments: {} },
    { kind: "tool_call", name: "mcp__lab__fail", arguments: {} },
  ],
};

/** A provider that asks for the three calls and then is content; schemas are checked as the real ones do. */
async function provider(): Promise<FakeProvider> {
  const fake = await fakeProvider({
    apiKey: KEY,
    schemaFaults: ({ schema, strict }, format) => {
      if (format === "anthropic") return anthropicFaults(schema, { strict });
      return format === "gemini" ? geminiFaults(schema) : openaiFaults(schema, { strict });
    },
  });
  fake.reply(CALLS, answerText(DONE));
  return fake;
}

async function openLab(): Promise<OpenTools> {
  const set = await openTools({ mcpServers: { lab: scriptedServer(BEHAVIOUR) } });
  await set.ready({ server: "lab" });
  return set;
}

/** What came back to the provider after the calls, as text. */
function returned(fake: FakeProvider): string {
  expect(fake.refusals).toEqual([]);
  expect(fake.requests).toHaveLength(2);
  expect(fake.unusedReplies).toBe(0);
  return JSON.stringify(fake.requests[1]?.body);
}

function expectResults(text: string, picture: string): void {
  expect(text).toContain("through the adapter");
  expect(text).toContain("the disk is full");
  expect(text).toContain(picture);
}

scenario(
  ["V201"],
  "Anthropic's client: tool_use blocks run, and tool_result blocks with image and error go back",
  async () => {
    await using lab = await openLab();
    await using fake = await provider();
    const client = new Anthropic({ apiKey: KEY, baseURL: fake.origin, maxRetries: 0 });
    const { tools, execute, problems } = toAnthropicTools(lab);
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: PROMPT }];
    const ask = () => client.messages.stream({ model: "claude-opus-5", max_tokens: 1_000, messages, tools });
    const answer = await ask().finalMessage();
    const calls = answer.content.filter((block) => block.type === "tool_use");
    const results: Anthropic.ToolResultBlockParam[] = await Promise.all(calls.map((call) => execute(call)));
    messages.push({ role: "assistant", content: answer.content }, { role: "user", content: results });
    expect(await ask().finalText()).toBe(DONE);
    expectResults(returned(fake), '"source":{"type":"base64","media_type":"image/png"');
    expect(results.map(({ is_error }) => is_error)).toEqual([false, false, true]);
    expect(problems).toEqual([]);
  },
);

scenario(
  ["V202"],
  "OpenAI's client, Chat: tool calls run, and tool messages go back with a label for the image",
  async () => {
    await using lab = await openLab();
    await using fake = await provider();
    const client = new OpenAI({ apiKey: KEY, baseURL: fake.url, maxRetries: 0 });
    const { tools, execute } = toOpenAiTools(lab, { api: "chat" });
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: PROMPT }];
    const ask = () => client.chat.completions.stream({ model: "gpt-5", messages, tools });
    const { message } = (await ask().finalChatCompletion()).choices[0] ?? expect.fail("no answer");
    const results: OpenAI.ChatCompletionToolMessageParam[] = await Promise.all(
      (message.tool_calls ?? []).map((call) => execute(call)),
    );
    messages.push(message, ...results);
    expect(await ask().finalContent()).toBe(DONE);
    expectResults(returned(fake), "[image image/png");
    expect(results[2]?.content).toMatch(/^Error: .*the disk is full/s);
  },
);

scenario(["V203"], "OpenAI's client, Responses: function calls run, and outputs with an image go back", async () => {
  await using lab = await openLab();
  await using fake = await provider();
  const client = new OpenAI({ apiKey: KEY, baseURL: fake.url, maxRetries: 0 });
  const { tools, execute } = toOpenAiTools(lab, { strict: true });
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: PROMPT }];
  const ask = () => client.responses.stream({ model: "gpt-5", input, tools, store: false }).finalResponse();
  const { output } = await ask();
  const calls = output.filter((item) => item.type === "function_call");
  const results: OpenAI.Responses.ResponseInputItem.FunctionCallOutput[] = await Promise.all(
    calls.map((call) => execute(call)),
  );
  input.push(...calls, ...results);
  expect((await ask()).output_text).toBe(DONE);
  expectResults(returned(fake), '"type":"input_image"');
  const own = tools.filter(({ name }) => name.startsWith("mcp__lab__"));
  expect(own.map(({ strict }) => strict)).toEqual([true, true, true]);
});

scenario(
  ["V204"],
  "Google's client: function calls run by hand, and by the client itself as a callable tool",
  async () => {
    await using lab = await openLab();
    await using fake = await provider();
    const client = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: fake.origin } });
    const gemini = toGeminiTools(lab, { images: true });
    const contents: Content[] = [{ role: "user", parts: [{ text: PROMPT }] }];
    const ask = async () => {
      const { tools } = gemini;
      const parts: NonNullable<Content["parts"]> = [];
      const stream = await client.models.generateContentStream({ model: "gemini-3-pro", contents, config: { tools } });
      for await (const chunk of stream) parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
      return parts.filter((part) => part.text !== "");
    };
    const parts = await ask();
    const calls = parts.flatMap((part) => part.functionCall ?? []);
    const results = await Promise.all(calls.map((call) => gemini.execute(call)));
    contents.push({ role: "model", parts }, { role: "user", parts: results });
    expect((await ask()).map(({ text }) => text).join("")).toBe(DONE);
    expectResults(returned(fake), '"inlineData":{"mimeType":"image/png"');
    expect(results[2]?.functionResponse.response).toEqual({ error: expect.stringContaining("the disk is full") });

    const answer = (parts: Content["parts"]) => {
      const body = JSON.stringify({ candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] });
      fake.reply({ kind: "raw", status: 200, contentType: "application/json", body });
    };
    const functionCall = { name: "mcp__lab__echo", args: ARGUMENTS };
    answer([{ functionCall, thoughtSignature: "skip_thought_signature_validator" }]);
    answer([{ text: DONE }]);
    const config = { tools: [gemini] };
    const { text } = await client.models.generateContent({ model: "gemini-2.5-pro", contents: PROMPT, config });
    expect(text).toBe(DONE);
    expect(JSON.stringify(fake.requests.at(-1)?.body)).toContain("through the adapter");
    expect(fake.requests).toHaveLength(4);
    expect(fake.refusals).toEqual([]);
  },
);

scenario(
  ["V205"],
  "the AI SDK runs the tools itself; a failed one is a tool-error, an image reaches the model",
  async () => {
    await using lab = await openLab();
    await using fake = await provider();
    const openai = createOpenAI({ apiKey: KEY, baseURL: fake.url });
    const { tools, execute } = toAiSdkTools(lab, { provider: "openai" });
    const run = streamText({ model: openai("gpt-5"), prompt: PROMPT, tools, stopWhen: stepCountIs(3), maxRetries: 0 });
    expect(await run.text).toBe(DONE);
    expectResults(returned(fake), '"type":"input_image"');
    const [first] = await run.steps;
    const kinds = first?.content.flatMap((part) => (part.type.startsWith("tool-") ? [part.type] : []));
    expect(kinds?.toSorted()).toEqual([
      "tool-call",
      "tool-call",
      "tool-call",
      "tool-error",
      "tool-result",
      "tool-result",
    ]);
    const call = { type: "tool-call", toolCallId: "1", toolName: "mcp__lab__fail", input: {} } as const;
    expect(await execute(call)).toMatchObject({ toolCallId: "1", output: { type: "error-text" } });
  },
);

scenario(
  ["V206"],
  "LangChain binds and invokes the tools; a failed one is a message with the status error",
  async () => {
    await using lab = await openLab();
    await using fake = await provider();
    const model = new ChatOpenAI({
      model: "gpt-5",
      apiKey: KEY,
      configuration: { baseURL: fake.url },
      maxRetries: 0,
      useResponsesApi: true,
    });
    const { tools, execute } = toLangChainTools(lab, { DynamicStructuredTool, ToolMessage }, { images: true });
    const bound = model.bindTools(tools);
    const invokable: readonly StructuredToolInterface[] = tools;
    const messages: BaseMessage[] = [new HumanMessage(PROMPT)];
    const ask = async () => {
      let answer: AIMessageChunk | undefined;
      for await (const chunk of await bound.stream(messages))
        answer = answer === undefined ? chunk : answer.concat(chunk);
      return answer ?? expect.fail("no answer");
    };
    const answer = await ask();
    const calls = answer.tool_calls ?? [];
    const byTool = await Promise.all(
      calls.slice(1).map(async (call) => {
        const own = invokable.find(({ name }) => name === call.name) ?? expect.fail(call.name);
        return await own.invoke({ ...call, type: "tool_call" });
      }),
    );
    const results = [await execute(calls[0] ?? expect.fail("no call")), ...byTool];
    expect(results.every((result) => ToolMessage.isInstance(result))).toBe(true);
    expect(results).toMatchObject([{ status: "success" }, { status: "success" }, { status: "error" }]);
    messages.push(answer, ...results);
    expect((await ask()).text).toBe(DONE);
    expectResults(returned(fake), "image/png");
  },
);

scenario(["V207"], "the OpenAI Agents SDK runs the tools itself through its runner", async () => {
  setTracingDisabled(true);
  await using lab = await openLab();
  await using fake = await provider();
  const openAIClient = new OpenAI({ apiKey: KEY, baseURL: fake.url, maxRetries: 0 });
  const modelProvider = new OpenAIProvider({ openAIClient, useResponses: true });
  const { tools, execute } = toOpenAiAgentsTools(lab);
  const agent = new Agent({ name: "lab", model: "gpt-5", tools });
  const run = await new Runner({ modelProvider, tracingDisabled: true }).run(agent, PROMPT, { stream: true });
  await run.completed;
  expect(run.finalOutput).toBe(DONE);
  expectResults(returned(fake), '"type":"input_image"');
  const call = { type: "function_call", callId: "1", name: "mcp__lab__fail", arguments: "{}" } as const;
  expect(await execute(call)).toMatchObject({ type: "function_call_result", status: "incomplete" });
});
