// What each provider refuses, in its own words, and what it takes.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../base/json/json.js";
import { type LeakCheck, leakCheck } from "../../kit/leaks.js";
import { type FakeProvider, type FakeProviderOptions, fakeProvider } from "./provider.js";
import { answerText } from "./reply.js";

let leaks: LeakCheck;
let provider: FakeProvider;

async function start(options: FakeProviderOptions = {}): Promise<void> {
  provider = await fakeProvider(options);
  provider.replyWith(() => answerText("ok"));
}

beforeEach(async () => {
  leaks = await leakCheck();
  await start();
});

afterEach(async () => {
  await provider[Symbol.asyncDispose]();
  await leaks.verify();
});

const HEADERS = {
  "content-type": "application/json",
  "anthropic-version": "2023-06-01",
  "x-api-key": "k",
  "x-goog-api-key": "k",
  authorization: "Bearer k",
};

async function ask(path: string, body: JsonObject, headers: Record<string, string> = HEADERS): Promise<string> {
  const response = await fetch(`${provider.origin}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  return response.ok ? "taken" : text;
}

type Turn = readonly [JsonValue, string];

const user = (content: JsonValue) => ({ role: "user", content });

describe("Anthropic", () => {
  const assistant = (...content: JsonValue[]) => ({ role: "assistant", content });
  const use = (id: string) => ({ type: "tool_use", id, name: "t", input: {} });
  const result = (id: string, more: JsonObject = {}) => ({
    type: "tool_result",
    tool_use_id: id,
    content: "r",
    ...more,
  });
  const image = (mediaType: string, data: string) => ({
    type: "image",
    source: { type: "base64", media_type: mediaType, data },
  });
  const picture = image("image/png", "AAAA");
  const text = (words: string) => ({ type: "text", text: words });
  const asks = (messages: JsonValue, more: JsonObject = {}) =>
    ask("/v1/messages", { model: "m", max_tokens: 10, messages, ...more });

  test.each<Turn>([
    [[user("a"), assistant(use("1"), use("2")), user([result("1"), result("2"), text("go on")])], "taken"],
    [[user("a"), assistant(use("1")), user([result("1", { content: [text("x"), picture] })])], "taken"],
    [[], "at least one message"],
    [[assistant(text("a"))], "first message must use"],
    [[user("a"), user("b")], "roles must alternate"],
    [[user("  ")], "non-empty content"],
    [[user([text("")])], "text content blocks must be non-empty"],
    [[user("a"), assistant(text(" ")), user("b")], "non-whitespace"],
    [[user("a"), assistant(text("b"))], "prefill"],
    [[user("a"), assistant(use("1")), user("b")], "ids were found without `tool_result` blocks immediately after: 1"],
    [[user("a"), assistant(use("1")), user([text("b"), result("1")])], "without `tool_result`"],
    [[user("a"), assistant(use("1")), user([result("1"), result("1")])], "single result"],
    [[user("a"), assistant(text("b")), user([result("1")])], "unexpected `tool_use_id`"],
    [[user("a"), assistant(use("1"), use("1")), user([result("1")])], "ids must be unique"],
    [[user("a"), assistant(use("a b")), user([result("a b")])], "tool_use.id"],
    [[user("a"), assistant({ ...use("1"), input: "x" }), user([result("1")])], "valid dictionary"],
    [[user("a"), assistant(use("1")), user([result("1", { is_error: true, content: [picture] })])], "is_error"],
    [[user([image("image/bmp", "AAAA")])], "media_type"],
    [[user([image("image/png", "no!")])], "invalid base64"],
    [[user("a"), assistant({ type: "thinking", thinking: "x", signature: "mine" }), user("b")], "Invalid `signature`"],
    [[user([{ type: "video" }])], "Input tag 'video'"],
  ])("%j: %s", async (messages, said) => {
    expect(await asks(messages)).toContain(said);
    expect(provider.refusals).toHaveLength(said === "taken" ? 0 : 1);
  });

  test.each<readonly [JsonObject, string]>([
    [{ max_tokens: 0 }, "max_tokens"],
    [{ max_tokens: 2000, thinking: { type: "enabled", budget_tokens: 2000 } }, "must be greater than"],
    [{ tools: [{ name: "a.b", input_schema: {} }] }, "tools.0.custom.name"],
    [
      {
        tools: [
          { name: "a", input_schema: {} },
          { name: "a", input_schema: {} },
        ],
      },
      "must be unique",
    ],
    [{ tools: [{ name: "a" }] }, "input_schema: Field required"],
    [{ system: Array.from({ length: 5 }, () => ({ ...text("s"), cache_control: {} })) }, "maximum of 4 blocks"],
  ])("%j: %s", async (more, said) => {
    expect(await asks([user("a")], more)).toContain(said);
  });

  test("wants the thoughts of a running tool loop back, as they were", async () => {
    const thinking = { type: "adaptive", display: "summarized" };
    provider.reply({
      kind: "answer",
      parts: [
        { kind: "thought", text: "hm" },
        { kind: "tool_call", id: "1", name: "t", arguments: {} },
      ],
    });
    const response = await fetch(`${provider.origin}/v1/messages`, {
      method: "POST",
      headers: HEADERS,
      body: JSON.stringify({ model: "m", max_tokens: 10, thinking, messages: [user("a")] }),
    });
    const signature = /"signature":"([^"]+)"/.exec(await response.text())?.[1] ?? "";
    const thought = { type: "thinking", thinking: "hm", signature };
    const call = { type: "tool_use", id: "1", name: "t", input: {} };
    const again = (...blocks: JsonValue[]) => asks([user("a"), assistant(...blocks), user([result("1")])]);
    expect(await again(thought, call)).toBe("taken");
    expect(await again({ ...thought, thinking: "changed" }, call)).toContain("cannot be modified");
    expect(await again(call)).toContain("Expected `thinking`");
    expect(await asks([user("a"), assistant(call), user([result("1")]), assistant(text("b")), user("c")])).toBe(
      "taken",
    );
  });
});

describe("Chat Completions", () => {
  const call = (id: string, args = "{}") => ({ id, type: "function", function: { name: "t", arguments: args } });
  const calls = (...list: JsonValue[]) => ({ role: "assistant", content: null, tool_calls: list });
  const result = (id: string, content: JsonValue = "r") => ({ role: "tool", tool_call_id: id, content });
  const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };

  test.each<Turn>([
    [[user("a"), calls(call("1"), call("2")), result("2"), result("1"), user("b")], "taken"],
    [[user([{ type: "text", text: "a" }, picture])], "taken"],
    [[], "empty array"],
    [[user("")], "non-empty"],
    [[user("a"), user("b")], "must alternate"],
    [[user("a"), { role: "assistant", content: null }], "expected a string"],
    [[user("a"), { role: "assistant", content: "b" }], "end of the list"],
    [[user("a"), calls(call("1"), call("2")), result("1"), user("b")], "did not have response messages: 2"],
    [[user("a"), calls(call("1"))], "did not have response messages: 1"],
    [[user("a"), calls(call("1")), result("1"), result("1")], "must be a response to a preceeding message"],
    [[user("a"), result("1")], "must be a response to a preceeding message"],
    [[user("a"), calls(call("1"), call("1")), result("1")], "Duplicate value"],
    [[user("a"), calls(call("1", "{x")), result("1")], "arguments"],
    [[user("a"), calls(call("1")), result("1", [picture])], "Image URLs are only allowed"],
  ])("%j: %s", async (messages, said) => {
    expect(await ask("/v1/chat/completions", { model: "m", messages })).toContain(said);
  });

  test("limits names and number of tools, and needs no key", async () => {
    const tools = (names: readonly string[]) =>
      names.map((name) => ({ type: "function", function: { name, parameters: {} } }));
    const asks = (names: readonly string[]) =>
      ask("/v1/chat/completions", { model: "m", messages: [user("a")], tools: tools(names) }, {});
    expect(await asks(["good"])).toBe("taken");
    expect(await asks(["a b"])).toContain("tools[0].function.name");
    expect(await asks(["x".repeat(65)])).toContain("does not match pattern");
    expect(await asks(Array.from({ length: 129 }, (_, index) => `t${index}`))).toContain("maximum length 128");
  });
});

describe("Responses", () => {
  const says = (text: string) => user([{ type: "input_text", text }]);
  const call = (callId: string) => ({ type: "function_call", call_id: callId, name: "t", arguments: "{}" });
  const output = (callId: string, value: JsonValue = "r") => ({
    type: "function_call_output",
    call_id: callId,
    output: value,
  });
  const picture = { type: "input_image", image_url: "data:image/png;base64,AAAA" };

  test.each<Turn>([
    [[says("a"), call("1"), call("2"), output("2"), output("1")], "taken"],
    [[says("a"), call("1"), output("1", [{ type: "input_text", text: "x" }, picture])], "taken"],
    [[], "Missing required parameter: 'input'"],
    [[says(" ")], "empty string"],
    [[user([])], "non-empty array"],
    [[user([{ type: "text", text: "a" }])], "Invalid value: 'text'"],
    [[says("a"), call("1")], "No tool output found for function call 1"],
    [[says("a"), call("1"), says("b"), output("1")], "No tool output found"],
    [[says("a"), output("1")], "No tool call found for function call output with call_id 1"],
    [[says("a"), call("1"), output("1"), output("1")], "No tool call found"],
    [[says("a"), { ...call("1"), id: "call_1" }, output("1")], "begins with 'fc'"],
    [[says("a"), { type: "item_reference", id: "rs_1" }], "Items are not persisted"],
    [[says("a"), { type: "reasoning", id: "rs_1", summary: [] }], "without its required following item"],
    [[says("a"), { type: "reasoning", id: "rs_1", encrypted_content: "?" }, call("1"), output("1")], "be verified"],
  ])("%j: %s", async (input, said) => {
    expect(await ask("/v1/responses", { model: "m", store: false, input })).toContain(said);
  });
});

describe("Gemini", () => {
  const says = (text: string) => ({ role: "user", parts: [{ text }] });
  const model = (...parts: JsonValue[]) => ({ role: "model", parts });
  const skip = { thoughtSignature: "skip_thought_signature_validator" };
  const call = (id: string, more: JsonObject = skip) => ({ functionCall: { id, name: "t", args: {} }, ...more });
  const answers = (...ids: string[]) => ({
    role: "user",
    parts: ids.map((id) => ({ functionResponse: { id, name: "t", response: { content: "r" } } })),
  });

  test.each<Turn>([
    [[says("a"), model(call("1"), call("2", {})), answers("1", "2")], "taken"],
    [[], "contents is not specified"],
    [[{ role: "user", parts: [] }], "must not be empty"],
    [[says("")], "must have one initialized field"],
    [[{ role: "assistant", parts: [{ text: "a" }] }], "valid role"],
    [[says("a"), model({ text: "b" }), model({ text: "c" }), says("d")], "alternate"],
    [[says("a"), model({ text: "b" })], "end with a user role"],
    [[model(call("1")), answers("1")], "comes immediately after a user turn"],
    [[says("a"), model(call("1"), call("2", {})), answers("1")], "number of function response parts"],
    [[says("a"), model(call("1")), says("b")], "number of function response parts"],
    [[says("a"), model({ text: "b" }), answers("1")], "immediately after a function call turn"],
    [[says("a"), model(call("1")), answers("9")], "match the function calls"],
    [[says("a"), model(call("1", {})), answers("1")], "missing a thought_signature"],
    [[says("a"), model(call("1", { thoughtSignature: "AAAA" })), answers("1")], "Corrupted thought signature"],
  ])("%j: %s", async (contents, said) => {
    expect(await ask("/v1beta/models/g:generateContent", { contents })).toContain(said);
  });

  test("limits names", async () => {
    const asks = (...names: string[]) =>
      ask("/v1beta/models/g:generateContent", {
        contents: [says("a")],
        tools: [{ functionDeclarations: names.map((name) => ({ name })) }],
      });
    expect(await asks("a", "b")).toBe("taken");
    expect(await asks("1a")).toContain("Invalid function name");
    expect(await asks("a", "a")).toContain("Duplicate function declaration");
  });
});

describe("every provider", () => {
  const paths = ["/v1/messages", "/v1/responses", "/v1beta/models/g:generateContent"];

  test.each(paths)("%s refuses a request without a key, and one with another key", async (path) => {
    expect(await ask(path, {}, {})).toMatch(/invalid x-api-key|Incorrect API key|API key not valid/);
    await provider[Symbol.asyncDispose]();
    await start({ apiKey: "another" });
    expect(await ask(path, {})).toMatch(/invalid x-api-key|Incorrect API key|API key not valid/);
  });

  test("refuses what is too long, and tools whose schema has faults, named or not", async () => {
    await provider[Symbol.asyncDispose]();
    await start({ contextTokens: 100, schemaFaults: ({ name }) => (name === "bad" ? ["no good"] : []) });
    const messages = [user("a")];
    const body = (names: readonly string[], text = "a") => ({
      model: "m",
      messages: [user(text)],
      tools: names.map((name) => ({ type: "function", function: { name, parameters: {} } })),
    });
    expect(await ask("/v1/chat/completions", body(["good"]))).toBe("taken");
    expect(await ask("/v1/chat/completions", body(["good", "bad"]))).toContain("function 'bad': no good");
    expect(await ask("/v1/chat/completions", { model: "m", messages: [user("a".repeat(900))] })).toContain(
      "context_length_exceeded",
    );
    await provider[Symbol.asyncDispose]();
    await start({ namesRefusedTools: false, schemaFaults: ({ name }) => (name === "bad" ? ["no good"] : []) });
    const said = await ask("/v1/chat/completions", { ...body(["good", "bad"]), messages });
    expect(said).toContain("no good");
    expect(said).not.toContain("'bad'");
  });
});
