// Tool calls on the screen: what was called, for how long, what came of it.
import type { SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk";
import { describe, expect, it } from "vitest";
import { type FakeAgent, TestChat, type Turn } from "../../../test/chat.js";

function text(value: string): ToolCallContent {
  return { type: "content", content: { type: "text", text: value } };
}

function call(fields: Partial<Extract<SessionUpdate, { sessionUpdate: "tool_call" }>> = {}): SessionUpdate {
  return { sessionUpdate: "tool_call", toolCallId: "1", title: "notes / Add a note", ...fields };
}

function update(fields: Partial<Extract<SessionUpdate, { sessionUpdate: "tool_call_update" }>>): SessionUpdate {
  return { sessionUpdate: "tool_call_update", toolCallId: "1", ...fields };
}

async function errorLines(play: (turn: Turn, chat: TestChat) => Promise<void>): Promise<string[]> {
  const chat = new TestChat();
  const turn: FakeAgent["turn"] = async (told) => {
    await play(told, chat);
    return "end_turn";
  };
  expect(await chat.run({ turn }, { prompt: "go" })).toBe(0);
  return chat.errorOutput.lines;
}

describe("a tool call", () => {
  it("is one line with arguments, time and outcome, and the result below it", async () => {
    const lines = await errorLines(async (turn) => {
      await turn.update(call({ rawInput: { text: "buy milk", priority: 2 } }));
      await turn.update(update({ status: "completed", content: [text("Saved note 1.\n")] }));
    });
    expect(lines).toEqual(['✓ notes / Add a note text="buy milk" priority=2 (0 ms)', "    Saved note 1."]);
  });

  it("counts the time from when it ran, not from when it was asked for", async () => {
    const chat = new TestChat({ isTTY: true });
    const turn: FakeAgent["turn"] = async (told) => {
      await told.update(call({ status: "pending" }));
      await told.say("wait\n");
      await chat.output.until("wait");
      chat.clock.nowMs = 60_000;
      await told.update(update({ status: "in_progress", content: [text("running")] }));
      await told.say("now\n");
      await chat.output.until("now");
      chat.clock.nowMs = 61_500;
      await told.update(update({ status: "completed" }));
      return "end_turn";
    };
    await chat.run({ turn }, { prompt: "go" });
    expect(chat.errorOutput.lines).toContainEqual(expect.stringContaining("✓ notes / Add a note (1.5 s)"));
  });

  it("that failed says so, with the reason", async () => {
    const lines = await errorLines(async (turn) => {
      await turn.update(call({ status: "in_progress" }));
      await turn.update(update({ status: "failed", content: [text("The notebook is full.")] }));
    });
    expect(lines).toEqual(["✗ notes / Add a note (0 ms)", "    The notebook is full."]);
  });

  it("that never ended says so when the turn does", async () => {
    const lines = await errorLines(async (turn) => {
      await turn.update(call({ status: "in_progress" }));
    });
    expect(lines).toEqual(["– notes / Add a note (0 ms, no outcome)"]);
  });

  it("that comes complete, or only as an update, is shown all the same", async () => {
    const lines = await errorLines(async (turn) => {
      await turn.update(call({ status: "completed", content: [text("at once")] }));
      await turn.update(update({ toolCallId: "2", title: "late", status: "completed" }));
      await turn.update(update({ toolCallId: "3", status: "completed" }));
    });
    expect(lines).toEqual(["✓ notes / Add a note (0 ms)", "    at once", "✓ late (0 ms)"]);
  });

  it("shows pictures, sounds and resources as one line each", async () => {
    const data = Buffer.from("12345").toString("base64");
    const lines = await errorLines(async (turn) => {
      await turn.update(call());
      await turn.update(
        update({
          status: "completed",
          content: [
            { type: "content", content: { type: "image", mimeType: "image/png", data } },
            { type: "content", content: { type: "audio", mimeType: "audio/wav", data } },
            { type: "content", content: { type: "resource", resource: { uri: "file:///a", blob: data } } },
            { type: "content", content: { type: "resource", resource: { uri: "file:///b", text: "inside b" } } },
            { type: "content", content: { type: "resource_link", uri: "file:///c", name: "c" } },
            { type: "diff", path: "/d.txt", newText: "d" },
          ],
        }),
      );
    });
    expect(lines.slice(1)).toEqual([
      "    [image image/png, 5 bytes]",
      "    [audio audio/wav, 5 bytes]",
      "    [resource file:///a, 5 bytes]",
      "    inside b",
      "    [c] file:///c",
      "    [change of /d.txt]",
    ]);
  });

  it("shows the beginning of a long result and counts the rest", async () => {
    const many = Array.from({ length: 20 }, (_, at) => `line ${at}`).join("\n");
    const lines = await errorLines(async (turn) => {
      await turn.update(call());
      await turn.update(update({ status: "completed", content: [text(`${"x".repeat(500)}\n${many}`)] }));
    });
    expect(lines).toHaveLength(10);
    expect(lines[1]).toHaveLength(160);
    expect(lines.at(-1)).toBe("    … 13 more lines");
  });

  it("keeps an answer before and after it on lines of their own", async () => {
    const chat = new TestChat();
    const turn: FakeAgent["turn"] = async (told) => {
      await told.say("Let me see.");
      await told.update(call());
      await told.update(update({ status: "completed" }));
      await told.say("It is done.");
      return "end_turn";
    };
    await chat.run({ turn }, { prompt: "go" });
    expect(chat.output.lines).toEqual(["Let me see.", "It is done."]);
  });
});
