// The offline model behind the model port.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../base/json/json.js";
import type { ModelEvent, ModelMessage, ModelRequest, ModelTool, ModelToolCall } from "../model.js";
import { offlineModel } from "./operator.js";

const echo: ModelTool = {
  name: "mcp__demo__echo",
  description: "Echoes back the input",
  inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
};
const add: ModelTool = {
  name: "mcp__demo__add",
  description: "Adds two numbers",
  inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
};

function user(text: string): ModelMessage {
  return { role: "user", content: [{ type: "text", text }] };
}

function called(call: ModelToolCall, text: string, isError = false): ModelMessage[] {
  const result = { callId: call.callId, name: call.name, isError, content: [{ type: "text" as const, text }] };
  return [
    { role: "assistant", text: "", toolCalls: [call] },
    { role: "tool", results: [result] },
  ];
}

async function ask(
  messages: readonly ModelMessage[],
  tools: readonly ModelTool[] = [echo, add],
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelEvent[]> {
  const request: ModelRequest = { system: "", messages, tools };
  const events: ModelEvent[] = [];
  for await (const event of offlineModel.stream(request, signal)) events.push(event);
  return events;
}

function textOf(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.kind === "text" ? event.text : "")).join("");
}

function callOf(events: readonly ModelEvent[]): ModelToolCall {
  const [call] = events.flatMap((event) => (event.kind === "tool_call" ? [event.call] : []));
  if (call === undefined) throw new Error(`no call in ${JSON.stringify(events)}`);
  return call;
}

describe("the first answer of a session", () => {
  test("says in one line that it is offline and how to set a real model, and calls the tool", async () => {
    const events = await ask([user("please echo hi")]);
    const [line = "", ...rest] = textOf(events).split("\n");
    expect(line).toMatch(
      /offline model.*tenon login.*ANTHROPIC_API_KEY.*OPENAI_API_KEY.*GEMINI_API_KEY.*--model provider\/name/,
    );
    expect(rest.join("")).toBe("");
    expect(callOf(events)).toEqual({
      callId: "offline-1",
      name: "mcp__demo__echo",
      argumentsJson: '{"message":"hi"}',
    });
    expect(events.at(-1)).toMatchObject({ kind: "finish", reason: "tool_calls" });
  });

  test("says so before an explanation too", async () => {
    const events = await ask([user("what is the weather?")]);
    expect(textOf(events)).toMatch(
      /^This is Tenon's offline model.*\n\nNone of the tools fits that\. There are 2 tools:\n/,
    );
    expect(events.at(-1)).toMatchObject({ kind: "finish", reason: "stop" });
  });

  test("is the only one to say so", async () => {
    const first = user("please echo hi");
    const call = callOf(await ask([first]));
    expect(textOf(await ask([first, ...called(call, "hi")]))).toBe("echo answered: hi");
  });
});

describe("results", () => {
  const prompt = user("add 2 and 3, then echo hi");

  test("are reported, and the next step of the request is taken", async () => {
    const first = callOf(await ask([prompt]));
    const events = await ask([prompt, ...called(first, "5")]);
    expect(textOf(events)).toBe("add answered: 5\n\n");
    const second = callOf(events);
    expect(second).toEqual({ callId: "offline-2", name: "mcp__demo__echo", argumentsJson: '{"message":"hi"}' });
    const last = await ask([prompt, ...called(first, "5"), ...called(second, "hi")]);
    expect(textOf(last)).toBe("echo answered: hi");
    expect(last.at(-1)).toMatchObject({ kind: "finish", reason: "stop" });
  });

  test("that are errors end the request, with what was left out", async () => {
    const first = callOf(await ask([prompt]));
    const events = await ask([prompt, ...called(first, "overflow", true)]);
    expect(textOf(events)).toBe("add failed: overflow\n\nI stopped there; 1 of 2 steps were not run.");
    expect(events.at(-1)).toMatchObject({ kind: "finish", reason: "stop" });
  });

  test("of an earlier prompt do not count for the next one", async () => {
    const first = user("please echo hi");
    const call = callOf(await ask([first]));
    const events = await ask([first, ...called(call, "hi"), user("add 1 and 2")]);
    expect(callOf(events)).toMatchObject({ callId: "offline-2", argumentsJson: '{"a":1,"b":2}' });
  });
});

describe("a prompt", () => {
  test("may name a file by an attachment", async () => {
    const read: ModelTool = {
      name: "read_file",
      description: "Reads a file",
      inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    };
    for (const [uri, path] of [
      ["file:///home/me/ab.txt", "/home/me/ab.txt"],
      ["file:///home/me/a%20b.txt", "/home/me/a b.txt"],
      ["file:///home/me/100%.txt", "/home/me/100%.txt"],
    ] as const) {
      const link = { type: "resource_link", uri, name: "it" } as const;
      const events = await ask([{ role: "user", content: [{ type: "text", text: "read" }, link] }], [read]);
      expect(JSON.parse(callOf(events).argumentsJson)).toEqual({ path });
    }
  });

  test("is answered in several pieces that join to the whole, with an estimate of its use", async () => {
    const events = await ask([user("what can you do?")]);
    const pieces = events.filter((event) => event.kind === "text");
    expect(pieces.length).toBeGreaterThan(3);
    const usage = events.flatMap((event) => (event.kind === "finish" ? [event.usage] : []));
    expect(usage).toEqual([{ inputTokens: 4, outputTokens: Math.ceil(textOf(events).length / 4) }]);
  });

  test("gives the same answer every time", async () => {
    expect(await ask([user("add 2 and 3")])).toEqual(await ask([user("add 2 and 3")]));
  });

  test("stops with the signal's reason, before the answer and within it", async () => {
    const reason = new Error("enough");
    await expect(ask([user("hi")], [echo], AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const seen: ModelEvent[] = [];
    const reading = async () => {
      for await (const event of offlineModel.stream(
        { system: "", messages: [user("hi")], tools: [echo] },
        controller.signal,
      )) {
        seen.push(event);
        controller.abort(reason);
      }
    };
    await expect(reading()).rejects.toBe(reason);
    expect(seen).toHaveLength(1);
  });
});

describe("whatever it is given", () => {
  const keyword = fc.constantFrom(
    "type",
    "properties",
    "required",
    "enum",
    "const",
    "items",
    "anyOf",
    "$ref",
    "default",
    "format",
  );
  const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom("string", "number", "array", "object", "boolean", "null", "#/properties/a", "#/$defs/x"),
      fc.jsonValue({ maxDepth: 2 }),
      fc.array(tie("node"), { maxLength: 3 }),
      fc.dictionary(
        fc.oneof(keyword, fc.constantFrom("a", "path", "url", "constructor", "__proto__", "toString")),
        tie("node"),
      ),
    ),
  })).node;
  const schema = value.map((node): JsonObject => {
    const parsed: JsonObject | string = JSON.parse(JSON.stringify(node));
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)
      ? parsed
      : { properties: { a: parsed } };
  });
  const name = fc.oneof(fc.constantFrom("mcp__a__read_file", "add", "__", "x__"), fc.string());
  const tool = fc.record({ name, title: fc.string(), description: fc.string(), inputSchema: schema });
  const word = fc.constantFrom(
    "add",
    "read",
    "file",
    "a=",
    "path:",
    "--a",
    "constructor",
    "2",
    "notes/a.txt",
    '"x"',
    "{",
    "then",
    ",",
    "in",
    "\n",
  );
  const text = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.array(fc.oneof(word, fc.string())).map((words) => words.join(" ")),
  );

  test("it never fails and its last event is the finish, the only one", async () => {
    await fc.assert(
      fc.asyncProperty(text, fc.array(tool, { maxLength: 6 }), async (said, tools) => {
        const events = await ask([user(said)], tools);
        expect(events.filter(({ kind }) => kind === "finish")).toHaveLength(1);
        expect(events.at(-1)?.kind).toBe("finish");
        for (const event of events) {
          if (event.kind !== "tool_call") continue;
          expect(tools.map((one) => one.name)).toContain(event.call.name);
          expect(JSON.parse(event.call.argumentsJson)).toBeTypeOf("object");
        }
      }),
      { numRuns: 400 },
    );
  });

  test("an odd transcript is answered too", async () => {
    for (const messages of [
      [],
      [{ role: "tool", results: [] }],
      [{ role: "assistant", text: "hi", toolCalls: [] }],
    ] satisfies ModelMessage[][]) {
      const events = await ask(messages);
      expect(events.at(-1)).toMatchObject({ kind: "finish", reason: "stop" });
      expect(textOf(events)).not.toBe("");
    }
  });
});

describe("tools behind search", () => {
  const search: ModelTool = { name: "tenon_search_tools", description: "Finds more tools", inputSchema: {} };
  const callTool: ModelTool = { name: "tenon_call_tool", description: "Calls a tool", inputSchema: {} };
  const offered = [search, callTool, echo, add];
  const found = [
    "2 tools found, the best first.",
    'name: mcp__zoo__feed_zebra\ntitle: zoo / Feed\ndescription: Feeds a zebra.\narguments: {"type":"object","properties":{"food":{"type":"string"}},"required":["food"]}',
    "name: mcp__demo__echo (listed already: call it directly)\ntitle: demo / echo\narguments: {}",
  ].join("\n\n");
  const prompt = user("feed the zebra with food=hay");

  test("are searched for in the person's words when no offered one fits, and called through the wrapper", async () => {
    const first = callOf(await ask([prompt], offered));
    expect(first).toMatchObject({
      name: "tenon_search_tools",
      argumentsJson: JSON.stringify({ query: "feed the zebra with food=hay" }),
    });
    const events = await ask([prompt, ...called(first, found)], offered);
    expect(textOf(events)).toBe("I searched for other tools and found feed_zebra, echo.\n\n");
    const second = callOf(events);
    expect(second.name).toBe("tenon_call_tool");
    expect(JSON.parse(second.argumentsJson)).toEqual({ name: "mcp__zoo__feed_zebra", arguments: { food: "hay" } });
    const last = await ask([prompt, ...called(first, found), ...called(second, "fed")], offered);
    expect(textOf(last)).toBe("feed_zebra answered: fed");
    expect(last.at(-1)).toMatchObject({ kind: "finish", reason: "stop" });
  });

  test("stay known for later prompts", async () => {
    const first = callOf(await ask([prompt], offered));
    const events = await ask([prompt, ...called(first, found), user("feed zebra food=grass")], offered);
    expect(callOf(events)).toMatchObject({ name: "tenon_call_tool" });
  });

  test("are not searched for when an offered one fits, when nobody can search, or again when nothing was found", async () => {
    expect(callOf(await ask([user("please echo hi")], offered)).name).toBe("mcp__demo__echo");
    expect(textOf(await ask([prompt]))).toContain("None of the tools fits that.");
    const first = callOf(await ask([prompt], offered));
    const events = await ask([prompt, ...called(first, "No tool was found.")], offered);
    expect(textOf(events)).toContain("found none that fits.");
    expect(textOf(events)).toContain("None of the tools fits that. There are 2 tools:");
    expect(events.at(-1)).toMatchObject({ kind: "finish", reason: "stop" });
  });

  test("join the steps of a request: what is missing for one of them is looked for first", async () => {
    const steps = user("add 2 and 3, then feed the zebra with food=hay");
    const first = callOf(await ask([steps], offered));
    expect(JSON.parse(first.argumentsJson)).toEqual({ query: "feed the zebra with food=hay" });
    const second = callOf(await ask([steps, ...called(first, found)], offered));
    expect(second).toMatchObject({ name: "mcp__demo__add", argumentsJson: '{"a":2,"b":3}' });
    const third = callOf(await ask([steps, ...called(first, found), ...called(second, "5")], offered));
    expect(third.name).toBe("tenon_call_tool");
  });

  test("whose search failed are told of, and the offered ones are described", async () => {
    const first = callOf(await ask([prompt], offered));
    const events = await ask([prompt, ...called(first, "the index is gone", true)], offered);
    expect(textOf(events)).toContain("tenon_search_tools failed: the index is gone");
    expect(events.at(-1)).toMatchObject({ kind: "finish", reason: "stop" });
  });
});

describe("servers that still start", () => {
  const note = {
    type: "text" as const,
    text: '[tenon: this MCP server is still starting: "demo" ("npx is downloading"). Call wait_for_server]',
  };
  const wait: ModelTool = {
    name: "wait_for_server",
    description: "Waits for a server",
    inputSchema: { type: "object" },
  };
  const prompt: ModelMessage = { role: "user", content: [note, { type: "text", text: "add 2 and 3" }] };
  const calls = (events: readonly ModelEvent[]) =>
    events.flatMap((event) => (event.kind === "tool_call" ? [event.call] : []));

  test("are not waited for where a tool fits", async () => {
    expect(calls(await ask([prompt], [add, wait]))).toMatchObject([{ name: add.name }]);
  });

  test("are waited for where none does; then the tool is called, or the cause is said", async () => {
    const [call] = calls(await ask([prompt], [wait]));
    expect(call).toMatchObject({ name: "wait_for_server", argumentsJson: '{"server":"demo"}' });
    if (!call) return;
    expect(calls(await ask([prompt, ...called(call, "ready")], [add, wait]))).toMatchObject([{ name: add.name }]);
    const failed = await ask([prompt, ...called(call, "it cannot be started: no npx", true)], [wait]);
    expect(calls(failed)).toEqual([]);
    expect(failed.map((event) => (event.kind === "text" ? event.text : "")).join("")).toContain("no npx");
  });

  test("are not waited for where the person only asks what there is", async () => {
    const asked: ModelMessage = { role: "user", content: [note, { type: "text", text: "what can you do?" }] };
    expect(calls(await ask([asked], [wait]))).toEqual([]);
  });
});
