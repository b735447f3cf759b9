// The fake provider, asked as a client of the real one would ask.
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LeakCheck, leakCheck } from "../../kit/leaks.js";
import { type FakeProvider, fakeProvider } from "./provider.js";
import { answerText, gate, pieces } from "./reply.js";

let leaks: LeakCheck;
let provider: FakeProvider;

beforeEach(async () => {
  leaks = await leakCheck();
  provider = await fakeProvider();
});

afterEach(async () => {
  await provider[Symbol.asyncDispose]();
  await leaks.verify();
});

function ask(body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${provider.url}/chat/completions`, {
    method: "POST",
    headers: { authorization: "Bearer k", "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }], ...body }),
    ...(signal && { signal }),
  });
}

interface Chunk {
  choices: {
    delta: { content?: string; tool_calls?: { index: number; function: { arguments: string } }[] };
    finish_reason: string | null;
  }[];
  usage?: object;
}

async function chunksOf(response: Response): Promise<(Chunk | "[DONE]")[]> {
  const events = (await response.text()).split("\n\n").filter((event) => event !== "");
  const chunks: (Chunk | "[DONE]")[] = [];
  for (const event of events) {
    const data = event.replace(/^data: /, "");
    chunks.push(data === "[DONE]" ? data : JSON.parse(data));
  }
  return chunks;
}

test("text streams in as many pieces as asked for, with finish, usage and the end mark", async () => {
  provider.reply({ ...answerText("hello world", 3), usage: { inputTokens: 7, outputTokens: 2, cachedInputTokens: 4 } });
  const response = await ask({ model: "m", stream: true, stream_options: { include_usage: true } });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const chunks = await chunksOf(response);
  const deltas = chunks.flatMap((chunk) => (chunk === "[DONE]" ? [] : chunk.choices));
  expect(deltas.map(({ delta }) => delta.content)).toEqual(["", "hell", "o wo", "rld", undefined]);
  expect(deltas.at(-1)).toMatchObject({ finish_reason: "stop" });
  expect(chunks.at(-2)).toMatchObject({ model: "m", choices: [], usage: { prompt_tokens: 7, total_tokens: 9 } });
  expect(chunks.at(-1)).toBe("[DONE]");
});

test("tool calls stream with split arguments that join to what was given", async () => {
  provider.reply({
    kind: "answer",
    parts: [
      { kind: "tool_call", id: "c1", name: "read", arguments: { path: "a.txt" }, chunks: 4 },
      { kind: "tool_call", name: "list", arguments: "{broken" },
    ],
  });
  const chunks = await chunksOf(await ask({ stream: true }));
  const calls = chunks.flatMap((chunk) =>
    chunk === "[DONE]" ? [] : chunk.choices.flatMap(({ delta }) => delta.tool_calls ?? []),
  );
  expect(calls[0]).toEqual({ index: 0, id: "c1", type: "function", function: { name: "read", arguments: "" } });
  const joined = (wanted: number) =>
    calls
      .filter(({ index }) => index === wanted)
      .map((call) => call.function.arguments)
      .join("");
  expect(joined(0)).toBe('{"path":"a.txt"}');
  expect(joined(1)).toBe("{broken");
  expect(calls).toHaveLength(1 + 4 + 1 + 1);
  expect(chunks.at(-2)).toMatchObject({ choices: [{ finish_reason: "tool_calls" }] });
});

test("an answer says why it ended, and streams whether or not that was asked for", async () => {
  provider.reply({ ...answerText("hi"), finish: "length" });
  const text = await (await ask({ model: "m" })).text();
  expect(text).toContain('"content":"hi"');
  expect(text).toContain('"finish_reason":"length"');
});

test("errors have their status, their body and their headers", async () => {
  provider.reply({
    kind: "error",
    status: 429,
    message: "slow down",
    code: "rate_limit",
    headers: { "retry-after": "2" },
  });
  const response = await ask({});
  expect(response.status).toBe(429);
  expect(response.headers.get("retry-after")).toBe("2");
  expect(await response.json()).toMatchObject({ error: { message: "slow down", code: "rate_limit" } });
});

test("a cut stream breaks after the parts that were sent", async () => {
  provider.reply({ kind: "cut", parts: [{ kind: "text", text: "half an ans" }] });
  const response = await ask({ stream: true });
  const reader = response.body?.getReader();
  let text = "";
  const readAll = async () => {
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read())
      text += Buffer.from(next.value).toString();
  };
  await expect(readAll()).rejects.toThrow("terminated");
  expect(text).toContain("half an ans");
  expect(text).not.toContain('finish_reason":"stop');
});

test("an answer stands still at a pause until it is released", async () => {
  const { opened, open } = gate();
  provider.reply({
    kind: "answer",
    parts: [
      { kind: "text", text: "one" },
      { kind: "pause", until: opened },
      { kind: "text", text: "two" },
    ],
  });
  const response = await ask({ stream: true });
  const reader = response.body?.getReader();
  let text = "";
  while (!text.includes("one")) text += Buffer.from((await reader?.read())?.value ?? []).toString();
  expect(text).not.toContain("two");
  open();
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read())
    text += Buffer.from(next.value).toString();
  expect(text).toContain("two");
});

test("a request that is aborted while it is held shows as aborted", async () => {
  provider.reply({ kind: "answer", parts: [{ kind: "pause", until: gate().opened }] });
  const controller = new AbortController();
  const response = ask({ stream: true }, controller.signal);
  const request = await provider.awaitRequest();
  expect(request.aborted.aborted).toBe(false);
  controller.abort();
  await expect(response).rejects.toThrow("aborted");
  await expect.poll(() => request.aborted.aborted).toBe(true);
});

test("requests are kept, and a script answers by what was asked", async () => {
  provider.replyWith(({ body }) => answerText(`you asked ${JSON.stringify(body["model"])}`));
  expect(await (await ask({ model: "x" })).text()).toContain(String.raw`you asked \"x\"`);
  await ask({ model: "y" });
  expect(provider.requests.map(({ body }) => body["model"])).toEqual(["x", "y"]);
  expect(await provider.awaitRequest(1)).toMatchObject({
    path: "/v1/chat/completions",
    headers: { authorization: "Bearer k" },
  });
});

test("without a reply it says so, and it refuses what no provider would take", async () => {
  const response = await ask({});
  expect([response.status, await response.json()]).toMatchObject([500, { error: { code: "no_reply" } }]);
  expect((await fetch(`${provider.url}/models`)).status).toBe(404);
  const noJson = await fetch(`${provider.url}/chat/completions`, { method: "POST", body: "hello" });
  expect(noJson.status).toBe(400);
  provider.reply({ kind: "raw", status: 200, contentType: "text/html", body: "<html>" });
  expect(await (await ask({})).text()).toBe("<html>");
  provider.reply(answerText("never asked for"));
  expect(provider.unusedReplies).toBe(1);
});

test("pieces join to the text and split no character", () => {
  expect(pieces("a🙂b", { chunks: 2 })).toEqual(["a🙂", "b"]);
  expect(pieces("", { chunks: 3 })).toEqual([""]);
  expect(pieces("abc", { chunks: 100 })).toEqual(["a", "b", "c"]);
  expect(pieces("a🙂bc", { splitAt: [3, 1, 9] })).toEqual(["a", "🙂b", "c"]);
});
