// Prompts from a pipe, and the protocol's updates as NDJSON.
import { RequestError } from "@agentclientprotocol/sdk";
import { describe, expect, it } from "vitest";
import { type FakeAgent, TestChat } from "../../../test/chat.js";
import { parseJson } from "../../base/json/json.js";

const echo: FakeAgent["turn"] = async (told) => {
  if (told.text === "break") throw new RequestError(-32603, "broken", { hint: "mend it" });
  if (told.text === "ask") await told.ask({ toolCallId: "1", title: "a tool" });
  await told.say(`You said ${told.text}.`);
  return "end_turn";
};

describe("prompts from a pipe", () => {
  it("runs each line in order, shows which, and exits with 0", async () => {
    const chat = new TestChat();
    chat.input.end("one\r\n\n  \ntwo");
    expect(await chat.run({ turn: echo })).toBe(0);
    expect(chat.output.lines).toEqual(["You said one.", "You said two."]);
    expect(chat.errorOutput.lines).toEqual(["› one", "› two"]);
  });

  it("goes on after a failure and exits with the code of the first one", async () => {
    const chat = new TestChat();
    chat.input.end("ask\nbreak\nlast\n");
    expect(await chat.run({ turn: echo })).toBe(5);
    expect(chat.output.text).toContain("You said last.");
    expect(chat.errorOutput.text).toContain("error: broken");
  });

  it("takes commands too, and stops at /quit", async () => {
    const chat = new TestChat();
    chat.input.end("/help\n/quit\nnever\n");
    expect(await chat.run({ turn: echo })).toBe(0);
    expect(chat.errorOutput.text).toContain("/tools");
    expect(chat.output.text).toBe("");
  });

  it("stops with 130 at Ctrl-C, even if that turn was already complete", async () => {
    const chat = new TestChat();
    chat.input.end("one\ntwo\n");
    const heard: { method: string; params: unknown }[] = [];
    const turn: FakeAgent["turn"] = async (told) => {
      chat.interrupt();
      return await echo(told);
    };
    expect(await chat.run({ turn, heard })).toBe(130);
    expect(heard.filter(({ method }) => method === "session/prompt")).toHaveLength(1);
    expect(chat.output.text).toBe("You said one.\n");
  });

  it("stops with 130 at Ctrl-C while it waits for a line", async () => {
    const chat = new TestChat();
    const code = chat.run({ turn: echo });
    chat.type("one");
    await chat.output.until("You said one.\n");
    chat.interrupt();
    expect(await code).toBe(130);
  });
});

describe("--json", () => {
  it("prints every update as it came and the result, and nothing else", async () => {
    const chat = new TestChat();
    const update = {
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text: "a\u001b[2J\u202e" },
      _meta: { tenon: { more: 1 } },
      unknownField: true,
    } as const;
    const turn: FakeAgent["turn"] = async (told) => {
      await told.update(update);
      return "end_turn";
    };
    expect(await chat.run({ turn }, { prompt: "hello", json: true })).toBe(0);
    expect(chat.output.lines.map((line) => parseJson(line))).toEqual([
      { ok: true, value: { method: "session/update", params: { sessionId: "session-1", update } } },
      {
        ok: true,
        value: {
          result: {
            stopReason: "end_turn",
            text: "a\u001b[2J\u202e",
            sessionId: "session-1",
            usage: { totalTokens: 0, inputTokens: 0, outputTokens: 0 },
          },
        },
      },
    ]);
    expect(chat.output.text).not.toContain("\u001b");
    expect(chat.output.text).not.toContain("\u202e");
    expect(chat.errorOutput.text).toBe("");
  });

  it("prints a failure as an error, and says it on the error output", async () => {
    const chat = new TestChat();
    expect(await chat.run({ turn: echo }, { prompt: "break", json: true })).toBe(1);
    expect(JSON.parse(chat.output.text)).toEqual({
      error: { code: -32603, message: "broken", data: { hint: "mend it" } },
    });
    expect(chat.errorOutput.lines).toEqual(["tenon: broken", "  mend it"]);
  });

  it("keeps questions, echoes and command output off the output", async () => {
    const chat = new TestChat();
    chat.input.end("/help\nask\n");
    expect(await chat.run({ turn: echo }, { json: true })).toBe(5);
    for (const line of chat.output.lines) expect(parseJson(line)).toMatchObject({ ok: true });
    expect(chat.output.lines).toHaveLength(2);
    expect(chat.errorOutput.text).toContain("--yes");
    expect(chat.errorOutput.text).toContain("/tools");
  });

  it("asks a person on the error output", async () => {
    const chat = new TestChat();
    const done = chat.run({ turn: echo }, { prompt: "ask", json: true, interactive: true });
    await chat.errorOutput.until("› ");
    chat.type("y");
    expect(await done).toBe(0);
    expect(chat.output.lines).toHaveLength(2);
  });
});
