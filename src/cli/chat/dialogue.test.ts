// A person at the terminal: prompts, commands, Ctrl-C, and the end of the chat.
import { describe, expect, it } from "vitest";
import { aborted, type FakeAgent, TestChat } from "../../../test/chat.js";
import { displayWidth } from "../terminal/text.js";

const echo: FakeAgent["turn"] = async (told) => {
  await told.say(`You said ${told.text}.`);
  return "end_turn";
};

describe("the dialogue", () => {
  it("answers prompt after prompt and ends with 0 at the end of the input", async () => {
    const chat = new TestChat();
    const done = chat.run({ turn: echo }, { interactive: true });
    await chat.output.until("› ");
    chat.type("one");
    await chat.output.until("You said one.");
    chat.type("   ");
    chat.type("two");
    await chat.output.until("You said two.");
    chat.input.end();
    expect(await done).toBe(0);
    expect(chat.errorOutput.text).toBe("");
  });

  it("goes on after a failed turn and ends with 0 at /quit", async () => {
    const chat = new TestChat();
    const turn: FakeAgent["turn"] = async (told) => {
      if (told.text === "break") throw new Error("broken");
      return await echo(told);
    };
    const done = chat.run({ turn }, { interactive: true });
    await chat.output.until("› ");
    chat.type("break");
    await chat.output.until("broken");
    chat.type("go on");
    await chat.output.until("You said go on.");
    chat.type("/quit");
    expect(await done).toBe(0);
  });

  it("takes pasted lines one by one", async () => {
    const chat = new TestChat();
    const done = chat.run({ turn: echo }, { interactive: true });
    await chat.output.until("› ");
    chat.type("one\ntwo\nthree");
    await chat.output.until("You said three.");
    chat.type("/quit");
    await done;
    expect(chat.output.text.match(/You said \w+/g)).toEqual(["You said one", "You said two", "You said three"]);
  });

  it("says nothing of servers that end because the chat is left", async () => {
    const chat = new TestChat();
    let tell: () => Promise<void> = async () => {};
    const onNew: FakeAgent["onNew"] = async (client) => {
      tell = async () => {
        const update = { sessionUpdate: "notice", severity: "info", title: 'MCP server "a" is no longer used' };
        await client.notify("session/update", { sessionId: "session-1", update });
      };
    };
    const done = chat.run({ turn: echo, onNew, onClose: () => tell() }, { interactive: true });
    await chat.output.until("› ");
    chat.type("/quit");
    expect(await done).toBe(0);
    expect(chat.output.text).not.toContain("no longer used");
  });

  it("shows notices and thoughts to a person, also while they may be typing", async () => {
    const chat = new TestChat();
    const done = chat.run(
      {
        onNew: async (client) => {
          await client.notify("session/update", {
            sessionId: "session-1",
            update: { sessionUpdate: "notice", severity: "info", title: 'MCP server "a" is ready' },
          });
        },
        turn: async (told) => {
          await told.update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hmm" } });
          await told.say("yes");
          return "end_turn";
        },
      },
      { interactive: true },
    );
    await chat.output.until('· MCP server "a" is ready');
    chat.type("hello");
    await chat.output.until("Thought:\nhmm\nAnswer:\nyes\n");
    chat.input.end();
    expect(await done).toBe(0);
  });
});

describe("commands", () => {
  const servers = [
    {
      name: "notes",
      state: "ready",
      toolCount: 2,
      connectMs: 1_234,
      tools: [
        { name: "mcp__notes__add", title: "Add a note", description: "Adds a note.\nReally." },
        { name: "mcp__notes__list", description: "Lists notes." },
      ],
    },
    {
      name: "broken",
      state: "failed",
      toolCount: 0,
      error: "exited with 1\nError: no such file",
      hint: "Check the path.",
    },
    { name: "slow", state: "connecting", toolCount: 0 },
    { name: "old", state: "closed", toolCount: 0 },
  ];

  async function say(command: string, fake: FakeAgent): Promise<string[]> {
    const chat = new TestChat();
    const done = chat.run(fake, { interactive: true });
    await chat.output.until("› ");
    chat.type(command);
    await chat.output.until("› ", 2);
    chat.input.end();
    expect(await done).toBe(0);
    return chat.output.text.split("› ")[1]?.split("\n").slice(0, -1) ?? [];
  }

  it("/tools lists the tools by server", async () => {
    expect(await say("/tools", { status: () => ({ servers }) })).toEqual([
      "notes (2 tools, connected in 1.2 s)",
      "  mcp__notes__add   Add a note  Adds a note. Really.",
      "  mcp__notes__list              Lists notes.",
      "broken (not connected)",
      "slow (no tools yet)",
      "old (ended)",
    ]);
  });

  it("/mcp shows the state of every server, and why one failed", async () => {
    expect(await say("/mcp", { status: () => ({ servers }) })).toEqual([
      "✓ notes   ready       2 tools, connected in 1.2 s",
      "✗ broken  failed      not connected",
      "    exited with 1",
      "    Error: no such file",
      "    Check the path.",
      "… slow    connecting  no tools yet",
      "– old     closed      ended",
    ]);
  });

  it("say so when there are no servers", async () => {
    expect((await say("/mcp", {})).join()).toContain("--mcp-config");
    expect((await say("/tools", {})).join()).toContain("--mcp-config");
  });

  it("/help lists the commands", async () => {
    const help = (await say("/help", {})).join("\n");
    for (const command of ["/help", "/tools", "/mcp", "/quit", "Ctrl-C"]) expect(help).toContain(command);
  });

  it("/help cuts nothing, however long a summary is, and narrow the window", async () => {
    const description = `Does a thing with ${"many more words ".repeat(15)}and an end.`;
    const commands = {
      sessionUpdate: "available_commands_update",
      availableCommands: [{ name: "server:a-prompt-with-a-rather-long-name", description }],
    };
    const onNew: FakeAgent["onNew"] = async (client) => {
      await client.notify("session/update", { sessionId: "session-1", update: commands });
    };
    for (const columns of [100, 40, 20]) {
      const chat = new TestChat({ isTTY: true });
      chat.output.stream.columns = columns;
      const done = chat.run({ turn: echo, onNew }, { interactive: true });
      await chat.output.until("› ");
      chat.type("/help");
      await chat.output.until("stops its answer.");
      chat.type("/quit");
      await done;
      const { text } = chat.output;
      expect(text.replaceAll(/\s+/gu, " ")).toContain(description);
      const help = text.slice(text.indexOf("/new"), text.indexOf("@file"));
      for (const line of help.split("\n").filter((one) => !one.includes("/")))
        expect(displayWidth(line)).toBeLessThanOrEqual(columns);
    }
  });

  it("an unknown one is refused once the agent has told its own, and nothing is sent", async () => {
    const heard: { method: string; params: unknown }[] = [];
    const commands = {
      sessionUpdate: "available_commands_update",
      availableCommands: [{ name: "why", description: "" }],
    };
    const onNew: FakeAgent["onNew"] = async (client) => {
      await client.notify("session/update", { sessionId: "session-1", update: commands });
    };
    expect((await say("/wyh echo", { heard, onNew })).join()).toContain("There is no command /wyh. Did you mean /why?");
    expect(heard.map(({ method }) => method)).not.toContain("session/prompt");
  });

  it.each(["/why echo", "/tools add echo", "/nonsense", "/etc/hosts"])("%s is for the agent", async (line) => {
    const heard: { method: string; params: unknown }[] = [];
    await say(line, { heard });
    expect(heard.map(({ method }) => method)).toContain("session/prompt");
  });

  it("a malformed status is an error, and the chat goes on", async () => {
    expect((await say("/mcp", { status: () => ({ servers: [{ name: 1 }] }) })).join("\n")).toContain("malformed");
  });
});

describe("Ctrl-C in the dialogue", () => {
  const untilCancelled: FakeAgent["turn"] = async (told) => {
    await told.say("working");
    await aborted(told.cancelled);
    return "cancelled";
  };

  it("stops the answer, and the next prompt works", async () => {
    const chat = new TestChat();
    const turn: FakeAgent["turn"] = async (told) => await (told.text === "long" ? untilCancelled(told) : echo(told));
    const done = chat.run({ turn }, { interactive: true });
    await chat.output.until("› ");
    chat.type("long");
    await chat.output.until("working");
    chat.interrupt();
    await chat.output.until("(cancelled)");
    chat.type("short");
    await chat.output.until("You said short.");
    chat.input.end();
    expect(await done).toBe(0);
  });

  it("quits with 130 when it comes again after it stopped an answer", async () => {
    const chat = new TestChat();
    const done = chat.run({ turn: untilCancelled }, { interactive: true });
    await chat.output.until("› ");
    chat.type("long");
    await chat.output.until("working");
    chat.interrupt();
    await chat.output.until("› ", 2);
    chat.interrupt();
    expect(await done).toBe(130);
  });

  it("at the prompt says how to quit at first, and is a first one again after another prompt", async () => {
    const chat = new TestChat();
    const done = chat.run({ turn: echo }, { interactive: true });
    await chat.output.until("› ");
    chat.interrupt();
    await chat.output.until("Ctrl-C again quits.");
    chat.type("hello");
    await chat.output.until("You said hello.");
    await chat.output.until("› ", 3);
    chat.interrupt();
    await chat.output.until("Ctrl-C again quits.", 2);
    chat.interrupt();
    expect(await done).toBe(130);
  });
});
