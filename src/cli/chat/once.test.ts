// `tenon chat -p`: one answer, one exit code, and answers alone on the output.
import { RequestError } from "@agentclientprotocol/sdk";
import { describe, expect, it } from "vitest";
import { aborted, type FakeAgent, TestChat } from "../../../test/chat.js";

describe("one prompt", () => {
  it("prints the streamed answer, closes the session and exits with 0", async () => {
    const chat = new TestChat();
    const heard: { method: string; params: unknown }[] = [];
    const turn: FakeAgent["turn"] = async (told) => {
      await told.say(`You said: ${told.text}. `);
      await told.say("That is all.");
      return "end_turn";
    };
    expect(await chat.run({ turn, heard }, { prompt: "hello" })).toBe(0);
    expect(chat.output.text).toBe("You said: hello. That is all.\n");
    expect(chat.errorOutput.text).toBe("");
    expect(heard.map(({ method }) => method)).toEqual(["initialize", "session/new", "session/prompt", "session/close"]);
    expect(heard[0]?.params).toMatchObject({ clientCapabilities: { session: { notices: {} } } });
    expect(heard[1]?.params).toMatchObject({ cwd: "/somewhere", mcpServers: [] });
    expect(chat.listening).toBe(0);
  });

  it("keeps what joins pictures and letters, wherever the model cuts its answer into pieces", async () => {
    const chat = new TestChat();
    const turn: FakeAgent["turn"] = async (told) => {
      for (const piece of ["👩", "\u200d👩\u200d", "👧", " می", "\u200cخواهم"]) await told.say(piece);
      return "end_turn";
    };
    expect(await chat.run({ turn }, { prompt: "hello" })).toBe(0);
    expect(chat.output.text).toBe("👩\u200d👩\u200d👧 می\u200cخواهم\n");
  });

  it("says once that a server is not connected, however often that is tried, and again after it was", async () => {
    const chat = new TestChat();
    const turn: FakeAgent["turn"] = async (told) => {
      const tell = async (name: string, state: string) => {
        const _meta = { tenon: { mcp: { servers: [{ name, state }] } } };
        const title = `"${name}" is ${state}`;
        await told.update({ sessionUpdate: "notice", severity: "warning", title, description: null, _meta });
      };
      for (const state of ["reconnecting", "reconnecting", "ready", "reconnecting"])
        for (const name of ["a", "b"]) await tell(name, state);
      return "end_turn";
    };
    expect(await chat.run({ turn }, { prompt: "hello" })).toBe(0);
    const told = ["reconnecting", "ready", "reconnecting"].flatMap((state) => [
      `! "a" is ${state}`,
      `! "b" is ${state}`,
    ]);
    expect(chat.errorOutput.lines).toEqual(told);
  });

  it("says of an outage when it is tried again", async () => {
    const chat = new TestChat();
    const turn: FakeAgent["turn"] = async (told) => {
      const retry = { reason: "p/m limits requests", untilMs: Date.now() + 86_400_000, attempt: 1, attempts: 5 };
      const title = "p/m limits requests (attempt 1 of 5; it is tried again)";
      const _meta = { tenon: { retry } };
      await told.update({ sessionUpdate: "notice", severity: "warning", title, description: null, _meta });
      return "end_turn";
    };
    await chat.run({ turn }, { prompt: "hello" });
    expect(chat.errorOutput.text).toMatch(/^! trying again in 8\d{4} s \(1 of 5\): p\/m limits requests\n$/u);
  });

  it("refuses a command that there is not, though the agent tells its commands only once the session is open", async () => {
    const chat = new TestChat();
    const heard: { method: string; params: unknown }[] = [];
    let tell: () => Promise<void> = async () => {};
    const onNew: FakeAgent["onNew"] = async (client) => {
      const commands = { sessionUpdate: "available_commands_update", availableCommands: [] };
      tell = async () => await client.notify("session/update", { sessionId: "session-1", update: commands });
    };
    const status = async () => {
      await tell();
      return { servers: [] };
    };
    expect(await chat.run({ heard, onNew, status }, { prompt: "/nonsense now" })).toBe(2);
    expect(chat.errorOutput.text).toContain("There is no command /nonsense.");
    expect(heard.map(({ method }) => method)).not.toContain("session/prompt");
  });

  it("shows every update that came before the end of the turn", async () => {
    const chat = new TestChat();
    const turn: FakeAgent["turn"] = async (told) => {
      const sent = Array.from({ length: 500 }, (_, at) => told.say(`${at} `));
      await Promise.all(sent);
      return "end_turn";
    };
    await chat.run({ turn }, { prompt: "count" });
    expect(chat.output.text.trim().split(" ")).toHaveLength(500);
  });

  it("exits with 4 and says what is wrong and what to do when the key is refused", async () => {
    const chat = new TestChat();
    const turn = async () => {
      throw new RequestError(-32000, "The key was refused.", {
        code: "model.unauthorized",
        hint: "Set ANTHROPIC_API_KEY.",
      });
    };
    expect(await chat.run({ turn }, { prompt: "hello" })).toBe(4);
    expect(chat.output.text).toBe("");
    expect(chat.errorOutput.lines).toEqual(["error: The key was refused.", "  Set ANTHROPIC_API_KEY."]);
  });

  it.each([
    ["max_tokens", "output limit"],
    ["max_turn_requests", "limit of model calls"],
    ["refusal", "refused"],
  ] as const)("exits with 1 when the answer stopped because of %s", async (stopReason, words) => {
    const chat = new TestChat();
    expect(await chat.run({ turn: async () => stopReason }, { prompt: "hello" })).toBe(1);
    expect(chat.errorOutput.text).toContain(words);
  });

  it("exits with 1 when the session cannot be opened", async () => {
    const chat = new TestChat();
    const onNew = async () => {
      throw new RequestError(-32602, "cwd must be an absolute path");
    };
    expect(await chat.run({ onNew }, { prompt: "hello" })).toBe(1);
    expect(chat.errorOutput.lines).toEqual(["error: cwd must be an absolute path"]);
    expect(chat.listening).toBe(0);
  });

  it("tells of a failed server on the error output, with its cause and cure, and keeps quiet about one that is ready", async () => {
    const chat = new TestChat();
    const turn: FakeAgent["turn"] = async (told) => {
      await told.update({ sessionUpdate: "notice", severity: "info", title: "server b is ready" });
      await told.update({
        sessionUpdate: "notice",
        severity: "error",
        title: "server a failed:\n\u001b[31mboom\u001b[0m",
        description: "Read its stderr.",
      });
      await told.say("done");
      return "end_turn";
    };
    expect(await chat.run({ turn }, { prompt: "hello" })).toBe(0);
    expect(chat.output.text).toBe("done\n");
    expect(chat.errorOutput.lines).toEqual(["! server a failed:", "  ␛[31mboom␛[0m", "  Read its stderr."]);
  });

  it("lets no control character of a model or a tool reach the terminal", async () => {
    const chat = new TestChat();
    const evil = "\u001b]0;title\u0007\u202eevil\u009b2J\u{e0041}";
    const turn: FakeAgent["turn"] = async (told) => {
      await told.say(evil);
      const content = [{ type: "content" as const, content: { type: "text" as const, text: evil } }];
      await told.update({ sessionUpdate: "tool_call", toolCallId: "1", title: evil, rawInput: { [evil]: evil } });
      await told.update({ sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed", content });
      throw new RequestError(-32603, evil, { hint: evil });
    };
    await chat.run({ turn }, { prompt: "hello" });
    const all = chat.output.text + chat.errorOutput.text;
    expect(all).toContain("<U+202E>evil");
    const raw = [...all].filter((character) => /[\p{Cc}\p{Cf}]/u.test(character) && character !== "\n");
    expect(raw).toEqual([]);
  });
});

describe("Ctrl-C during one prompt", () => {
  it("cancels the turn at first and exits with 130", async () => {
    const chat = new TestChat();
    const turn: FakeAgent["turn"] = async (told) => {
      await told.say("working");
      await aborted(told.cancelled);
      return "cancelled";
    };
    const code = chat.run({ turn }, { prompt: "hello" });
    await chat.output.until("working");
    chat.interrupt();
    expect(await code).toBe(130);
    expect(chat.errorOutput.text).toContain("(cancelled)");
  });

  it("quits with 130 at the second one, even if the agent neither stops nor closes", async () => {
    const chat = new TestChat();
    const forever = () => new Promise<never>(() => {});
    const code = chat.run(
      {
        turn: async (told) => {
          await told.say("working");
          return await forever();
        },
        onClose: async () => {
          chat.clock.expire();
          return await forever();
        },
      },
      { prompt: "hello" },
    );
    await chat.output.until("working");
    chat.interrupt();
    chat.interrupt();
    expect(await code).toBe(130);
  });

  it("quits at once while the session is still being opened", async () => {
    const chat = new TestChat();
    const onNew = async () => {
      chat.interrupt();
      await new Promise<never>(() => {});
    };
    expect(await chat.run({ onNew }, { prompt: "hello" })).toBe(130);
  });

  it("ends when whoever reads the output has gone", async () => {
    const chat = new TestChat();
    const turn: FakeAgent["turn"] = async () => {
      chat.output.stream.destroy(new Error("EPIPE"));
      return await new Promise<never>(() => {});
    };
    expect(await chat.run({ turn }, { prompt: "hello" })).toBe(130);
  });
});
