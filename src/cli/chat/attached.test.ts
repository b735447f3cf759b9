// A chat in a session that other clients use too: their turns, their answers, and a way out that stops nothing.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aborted, type FakeAgent, TestChat, type Turn } from "../../../test/chat.js";
import type { ChatOptions } from "./chat.js";

const ZED = { client: "c-zed", name: "Zed" };
const ME = { client: "c-me", name: "tenon attach" };
const SESSIONS = [{ sessionId: "session-1", cwd: "/project", title: "Fix the tests" }];
const CALL = { toolCallId: "1-1", title: "Run rm", rawInput: { path: "a" } };

type ChooseSession = NonNullable<ChatOptions["join"]>["choose"];

class Attached {
  readonly chat: TestChat;
  readonly heard: { method: string; params: unknown }[] = [];
  #joined: (turn: Turn) => void = () => {};
  /** What the gateway does to this client, once it has joined. */
  readonly gateway: Promise<Turn> = new Promise((resolve) => {
    this.#joined = resolve;
  });
  readonly done: Promise<number>;

  constructor(fake: FakeAgent = {}, options: Partial<ChatOptions> = {}, isTTY = false) {
    this.chat = new TestChat({ isTTY });
    const { onJoin } = fake;
    const agent: FakeAgent = {
      sessions: SESSIONS,
      heard: this.heard,
      ...fake,
      onJoin: async (turn) => {
        const meta = (await onJoin?.(turn)) ?? { state: "idle" };
        this.#joined(turn);
        return meta;
      },
    };
    const choose: ChooseSession = ([first]) => {
      if (!first) throw new Error("no session");
      return first;
    };
    const join = { choose, isWatching: false };
    this.done = this.chat.run(agent, { interactive: true, join, ...options });
  }

  get methods(): string[] {
    return this.heard.map(({ method }) => method);
  }

  async prompted(): Promise<Turn> {
    await this.chat.output.until("› ");
    return await this.gateway;
  }
}

async function said(turn: Turn, by: object, text: string): Promise<void> {
  await turn.update({ sessionUpdate: "user_message_chunk", content: { type: "text", text }, _meta: { tenon: { by } } });
}

function promptIdOf(attached: Attached): string {
  const [, promptId = ""] = JSON.stringify(attached.heard.at(-1)).match(/"promptId":"([^"]+)"/u) ?? [];
  return promptId;
}

const running = (by: object, promptId: string) => ({ state: "running", by, promptId });

describe("tenon attach", () => {
  it("shows the conversation so far with who said what, and leaves at /quit without stopping anything", async () => {
    const attached = new Attached({
      onJoin: async (turn) => {
        await said(turn, ZED, "run the\ntests");
        await turn.say("They fail.");
        await turn.update({ sessionUpdate: "tool_call", ...CALL, status: "completed" });
        await said(turn, ME, "why?");
        await turn.say("No idea.");
        return { state: "idle" };
      },
    });
    await attached.prompted();
    attached.chat.type("/quit");
    expect(await attached.done).toBe(0);
    expect(attached.chat.output.lines.slice(0, 7)).toEqual([
      "Zed › run the",
      "Zed › tests",
      "Answer:",
      "They fail.",
      "✓ Run rm path=a",
      "› why?",
      "Answer:",
    ]);
    expect(attached.methods).toEqual(["initialize", "session/load", "session/close"]);
    expect(attached.heard[0]?.params).toMatchObject({ _meta: { tenon: { role: "controller" } } });
  });

  it("takes back no change of a file: the one of that name here may be another one", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tenon-attached-"));
    try {
      const path = join(folder, "a.txt");
      writeFileSync(path, "new");
      const attached = new Attached({
        onJoin: async (turn) => {
          await said(turn, ZED, "change it");
          const content = [{ type: "diff" as const, path, oldText: "old", newText: "new" }];
          await turn.update({ sessionUpdate: "tool_call", ...CALL, status: "completed", content });
          await turn.update({ sessionUpdate: "available_commands_update", availableCommands: [] });
          return { state: "idle" };
        },
      });
      await attached.prompted();
      attached.chat.type("/undo");
      await attached.chat.output.until("There is no command /undo.");
      attached.chat.type("/quit");
      expect(await attached.done).toBe(0);
      expect(readFileSync(path, "utf8")).toBe("new");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("shows turns of others above the line that is typed, by whole lines", async () => {
    const attached = new Attached();
    const turn = await attached.prompted();
    await turn.info(running(ZED, "p-1"));
    await said(turn, ZED, "go");
    await turn.say("one ");
    await turn.say("two\nthree");
    await turn.info({ state: "idle", ended: { turn: 1, stopReason: "max_tokens", promptId: "p-1" } });
    await attached.chat.output.until("limit was reached");
    expect(attached.chat.output.lines.join("\n")).toMatch(/Zed › go\n[\s\S]*\none two\n[\s\S]*three\n/u);
    expect(attached.chat.output.text).toContain("running for Zed › ");
    attached.chat.input.end();
    expect(await attached.done).toBe(0);
    expect(attached.methods).not.toContain("session/cancel");
  });

  it("does not wait for its own prompts: more can be typed, and what they end with is told", async () => {
    const attached = new Attached({
      turn: async (turn) => {
        if (turn.text === "fail") throw new Error("broken");
        await aborted(turn.cancelled);
        return "cancelled";
      },
    });
    await attached.prompted();
    attached.chat.type("long");
    attached.chat.type("fail");
    await attached.chat.output.until("error: ");
    attached.chat.type("/cancel");
    await attached.chat.output.until("(cancelled)");
    attached.chat.type("/quit");
    expect(await attached.done).toBe(0);
    const prompts = attached.heard.filter(({ method }) => method === "session/prompt");
    const ids = prompts.map(({ params }) => JSON.stringify(params).match(/"promptId":"([^"]+)"/u)?.[1]);
    expect(new Set(ids).size).toBe(2);
  });

  it("shows the outcome of a call although it hears later that its own turn began", async () => {
    const attached: Attached = new Attached({
      turn: async (turn) => {
        await turn.update({ sessionUpdate: "tool_call", ...CALL, status: "in_progress" });
        await turn.info(running(ME, promptIdOf(attached)));
        await turn.update({ sessionUpdate: "tool_call_update", toolCallId: CALL.toolCallId, status: "completed" });
        await turn.info({ state: "idle" });
        return "end_turn";
      },
    });
    await attached.prompted();
    attached.chat.type("go");
    await attached.chat.output.until("✓ Run rm");
    attached.chat.type("/quit");
    expect(await attached.done).toBe(0);
    expect(attached.chat.output.text).not.toContain("no outcome");
  });

  it.each([
    ["the turn before it ended", { state: "idle" }],
    ["its own turn follows another at once", undefined],
    ["its own turn follows another at once, and its prompt is not shown", null],
  ])("shows the outcome of a call although it hears later that %s", async (_, between) => {
    const attached: Attached = new Attached({
      onJoin: async () => running(ZED, "p-0"),
      turn: async (turn) => {
        const promptId = promptIdOf(attached);
        const content = { type: "text", text: "go" } as const;
        const shown = { sessionUpdate: "user_message_chunk", content, _meta: { tenon: { by: ME, promptId } } } as const;
        if (between !== null) await turn.update(shown);
        await turn.update({ sessionUpdate: "tool_call", ...CALL, status: "in_progress" });
        if (between) await turn.info(between);
        await turn.info(running(ME, promptId));
        await turn.update({ sessionUpdate: "tool_call_update", toolCallId: CALL.toolCallId, status: "completed" });
        await turn.info({ state: "idle" });
        return "end_turn";
      },
    });
    await attached.prompted();
    attached.chat.type("go");
    await attached.chat.output.until("✓ Run rm");
    attached.chat.type("/quit");
    expect(await attached.done).toBe(0);
    expect(attached.chat.output.text).not.toContain("no outcome");
  });

  it.each(["plain", "json"] as const)("keeps what another's turn said apart: %s", async (kind) => {
    const attached: Attached = new Attached(
      {
        onJoin: async () => running(ZED, "p-0"),
        turn: async (turn) => {
          await turn.say("Zed's rest.");
          await turn.info({ state: "idle", ended: { turn: 1, promptId: "p-0", stopReason: "end_turn" } });
          const promptId = promptIdOf(attached);
          await turn.info(running(ME, promptId));
          await turn.say("Mine.");
          await turn.info({ state: "idle", ended: { turn: 2, promptId, stopReason: "end_turn" } });
          return "end_turn";
        },
      },
      { interactive: false, json: kind === "json" },
    );
    attached.chat.input.end("go\n");
    expect(await attached.done).toBe(0);
    const { text } = attached.chat.output;
    if (kind === "plain") expect(text).toBe("Zed's rest.\nMine.\n");
    else expect(JSON.parse(text.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ result: { text: "Mine." } });
  });

  it("ends an answer where the turn of the next prompt begins before it", async () => {
    const ids: string[] = [];
    const attached: Attached = new Attached({
      turn: async (turn) => {
        const mine = ids.push(promptIdOf(attached));
        if (mine === 1) {
          await turn.info(running(ME, ids[0] ?? ""));
          await turn.say("First\nanswer.");
        }
        await expect.poll(() => ids).toHaveLength(mine === 1 ? 2 : 3);
        if (mine === 1) {
          await turn.info({ state: "idle", ended: { turn: 1, promptId: ids[0], stopReason: "end_turn" } });
          await turn.info(running(ME, ids[1] ?? ""));
          await turn.say("Second\n");
        }
        return "end_turn";
      },
    });
    await attached.prompted();
    attached.chat.type("one");
    await attached.chat.output.until("First\n");
    attached.chat.type("two");
    await attached.chat.output.until("Second");
    ids.push("shown");
    attached.chat.type("/quit");
    expect(await attached.done).toBe(0);
    expect(attached.chat.output.text).not.toContain("answer.Second");
  });

  it("tells an error once, also where the end of the turn is told behind the answer", async () => {
    const late: (() => Promise<void>)[] = [];
    const attached: Attached = new Attached({
      turn: async (turn) => {
        const promptId = promptIdOf(attached);
        const error = { message: "no model" };
        late.push(() => turn.info({ state: "idle", ended: { turn: 1, promptId, error } }));
        throw new Error("no model");
      },
    });
    const turn = await attached.prompted();
    attached.chat.type("go");
    await attached.chat.output.until("error: ");
    for (const tell of late) await tell();
    await turn.say("More.\n");
    await attached.chat.output.until("More.");
    attached.chat.type("/quit");
    expect(await attached.done).toBe(0);
    expect(attached.chat.output.text.match(/no model/gu)).toHaveLength(1);
  });

  it("goes on with the prompts of a pipe although another client cancelled one", async () => {
    const attached = new Attached(
      { turn: async ({ text }) => (text === "one" ? "cancelled" : "end_turn") },
      {
        interactive: false,
      },
    );
    attached.chat.input.end("one\ntwo\n");
    expect(await attached.done).toBe(130);
    expect(attached.methods.filter((method) => method === "session/prompt")).toHaveLength(2);
  });

  it("asks in whoever's turn, and gives the line back", async () => {
    const attached = new Attached();
    const turn = await attached.prompted();
    const answer = turn.ask(CALL);
    await attached.chat.output.until("Allow Run rm?");
    await attached.chat.output.until("1. Allow");
    attached.chat.type("1");
    expect(await answer).toMatchObject({ outcome: "selected", optionId: "yes-once" });
    await attached.chat.output.until("› ", 3);
    attached.chat.type("a prompt");
    await expect.poll(() => JSON.stringify(attached.heard)).toContain("a prompt");
    attached.chat.input.end();
    expect(await attached.done).toBe(0);
  });

  it("takes a question off the screen that another answered, and says who", async () => {
    const attached = new Attached();
    const turn = await attached.prompted();
    const withdrawn = new AbortController();
    const answer = turn.ask(CALL, undefined, withdrawn.signal).catch(() => undefined);
    await attached.chat.output.until("Answer 1 to 4");
    await turn.info({
      state: "running",
      question: { id: "q-1", of: "permission", isOpen: false, answer: "once", by: ZED },
    });
    withdrawn.abort();
    await answer;
    await attached.chat.output.until("· answered by Zed (once)");
    await attached.chat.output.until("› ", 3);
    await turn.info({
      state: "running",
      question: { id: "q-2", of: "permission", isOpen: false, answer: "once", by: ME },
    });
    attached.chat.type("/quit");
    expect(await attached.done).toBe(0);
    expect(attached.chat.output.text.match(/answered by/gu)).toHaveLength(1);
  });

  it.each(["end of input", "Ctrl-C"])("leaves a question to the others at the %s", async (way) => {
    const attached = new Attached();
    const turn = await attached.prompted();
    let answered = false;
    const asked = turn.ask(CALL).then(
      () => (answered = true),
      () => {},
    );
    await attached.chat.output.until("Answer 1 to 4");
    if (way === "Ctrl-C") {
      attached.chat.interrupt();
      await attached.chat.output.until("Ctrl-C again leaves");
      attached.chat.interrupt();
    } else attached.chat.input.end();
    expect(await attached.done).toBe(way === "Ctrl-C" ? 130 : 0);
    await asked;
    expect(answered).toBe(false);
    expect(attached.methods).not.toContain("session/cancel");
  });

  it("says at Ctrl-C what would stop the turn of another, and stops its own", async () => {
    const attached = new Attached({
      turn: async (turn) => {
        await aborted(turn.cancelled);
        return "cancelled";
      },
    });
    const turn = await attached.prompted();
    await turn.info(running(ZED, "p-1"));
    await attached.chat.output.until("running for Zed");
    attached.chat.interrupt();
    await attached.chat.output.until("/cancel stops the turn of Zed. Ctrl-C again leaves; the work goes on.");
    expect(attached.methods).not.toContain("session/cancel");
    attached.chat.type("mine");
    await expect.poll(() => attached.methods).toContain("session/prompt");
    attached.chat.interrupt();
    await attached.chat.output.until("(cancelled)");
    expect(attached.methods).toContain("session/cancel");
    attached.chat.type("/quit");
    expect(await attached.done).toBe(0);
  });

  it("--watch only looks, until it is interrupted", async () => {
    const choose: ChooseSession = ([first = { id: "", cwd: "", title: "" }]) => first;
    const join = { choose, isWatching: true };
    const attached = new Attached({ onJoin: async () => running(ZED, "p-1") }, { join, interactive: false });
    const turn = await attached.gateway;
    await attached.chat.errorOutput.until("Watching.");
    await turn.say("words\n");
    await attached.chat.output.until("words");
    attached.chat.interrupt();
    expect(await attached.done).toBe(130);
    expect(attached.heard[0]?.params).toMatchObject({ _meta: { tenon: { role: "observer", unattended: true } } });
    expect(attached.methods).toEqual(["initialize", "session/load", "session/close"]);
  });

  it("without a terminal takes prompts from the input, replays nothing, and is asked only in its own turns", async () => {
    const attached = new Attached(
      {
        turn: async (turn) => {
          await turn.say(`You said ${turn.text}.`);
          return "end_turn";
        },
      },
      { interactive: false },
    );
    attached.chat.input.end("one\ntwo\n");
    expect(await attached.done).toBe(0);
    expect(attached.chat.output.text).toBe("You said one.\nYou said two.\n");
    expect(attached.methods).toContain("session/resume");
    expect(attached.heard[0]?.params).toMatchObject({ _meta: { tenon: { unattended: true } } });
  });

  it("without a terminal shows the outcome of a call although it hears later that its own turn began", async () => {
    const attached: Attached = new Attached(
      {
        turn: async (turn) => {
          const promptId = promptIdOf(attached);
          await turn.update({ sessionUpdate: "tool_call", ...CALL, status: "in_progress" });
          await turn.info(running(ME, promptId));
          await turn.info({ state: "idle" });
          await turn.update({ sessionUpdate: "tool_call_update", toolCallId: CALL.toolCallId, status: "completed" });
          await turn.info({ state: "idle", ended: { turn: 1, promptId, error: { message: "no model" } } });
          throw new Error("no model");
        },
      },
      { interactive: false },
    );
    attached.chat.input.end("go\n");
    expect(await attached.done).toBe(1);
    expect(attached.chat.errorOutput.text).toContain("✓ Run rm");
    expect(attached.chat.errorOutput.text).not.toContain("no outcome");
    expect(attached.chat.errorOutput.text.match(/^error: /gmu)).toHaveLength(1);
  });

  it("says which session there is none of", async () => {
    const attached = new Attached({ sessions: [] });
    expect(await attached.done).toBe(1);
    expect(attached.chat.output.text).toContain("no session");
  });
});
