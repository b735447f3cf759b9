// Permission questions: who answers them, how, and what that means for the exit code.
import { describe, expect, it } from "vitest";
import { type FakeAgent, ManualClock, TestChat, type Turn } from "../../../test/chat.js";
import { createPalette } from "../terminal/stream.js";
import { PermissionPrompter } from "./approvals.js";
import { QuestionQueue } from "./terminal.js";

const CALL = {
  toolCallId: "1",
  title: "notes / Add a note",
  rawInput: { text: "buy milk\nand bread", tags: ["home"] },
};

/** Asks once, says the outcome. */
const asksOnce: FakeAgent["turn"] = async (turn: Turn) => {
  const outcome = await turn.ask(CALL);
  await turn.say(outcome.outcome === "selected" ? `selected ${outcome.optionId}` : outcome.outcome);
  return outcome.outcome === "cancelled" ? "cancelled" : "end_turn";
};

describe("without a person", () => {
  it("approves with --yes, once each", async () => {
    const chat = new TestChat();
    expect(await chat.run({ turn: asksOnce }, { prompt: "add", yes: true })).toBe(0);
    expect(chat.output.text).toBe("selected yes-once\n");
    expect(chat.errorOutput.text).toBe("");
  });

  it("denies at once, says to use --yes, and exits with 5", async () => {
    const chat = new TestChat();
    expect(await chat.run({ turn: asksOnce }, { prompt: "add" })).toBe(5);
    expect(chat.output.text).toBe("selected no-once\n");
    expect(chat.errorOutput.text).toContain("Not allowed: notes / Add a note.");
    expect(chat.errorOutput.text).toContain("--yes");
  });

  it("fails rather than denies when the turn fails after the no", async () => {
    const chat = new TestChat();
    const turn: FakeAgent["turn"] = async (told) => {
      await told.ask(CALL);
      throw new Error("broken");
    };
    expect(await chat.run({ turn }, { prompt: "add" })).toBe(1);
  });
});

describe("a protected file", () => {
  const notes = ["Asked because .npmrc is protected: a package manager obeys it."];
  const write = { ...CALL, title: "Write .npmrc", _meta: { tenon: { notes, protects: "obeyed" } } };
  const turn: NonNullable<FakeAgent["turn"]> = async (told) => {
    const outcome = await told.ask(write);
    await told.say("optionId" in outcome ? outcome.optionId : outcome.outcome);
    return "end_turn";
  };

  it("is not covered by --yes where nobody can be asked", async () => {
    const chat = new TestChat();
    expect(await chat.run({ turn }, { prompt: "go", yes: true })).toBe(5);
    expect(chat.output.text).toBe("no-once\n");
    expect(chat.errorOutput.text).toContain("Not allowed: Write .npmrc. Asked because .npmrc is protected");
  });
});

describe("a tool that is not as the project has locked it", () => {
  const notes = ["It differs from .tenon/tools.lock:", "changed title:"];
  const review = { toolCallId: "definition-1", title: "notes / Add", _meta: { tenon: { notes, lock: true } } };
  const asks =
    (call: Parameters<Turn["ask"]>[0]): NonNullable<FakeAgent["turn"]> =>
    async (turn) => {
      const outcome = await turn.ask(call);
      await turn.say("optionId" in outcome ? outcome.optionId : outcome.outcome);
      return "end_turn";
    };

  it.each([true, false])("is nobody's to free where nobody can be asked (--yes: %s)", async (yes) => {
    const chat = new TestChat();
    expect(await chat.run({ turn: asks(review) }, { prompt: "add", yes })).toBe(0);
    expect(chat.output.text).toBe("no-once\n");
    expect(chat.errorOutput.text).toContain("Held back: notes / Add. Nobody can be asked here; tenon mcp diff");
    const called = new TestChat();
    const call = { ...review, rawInput: { text: "x" } };
    expect(await called.run({ turn: asks(call) }, { prompt: "add", yes })).toBe(5);
  });

  it("is put to the person, also with --yes", async () => {
    const chat = new TestChat();
    const done = chat.run({ turn: asks(review) }, { prompt: "add", yes: true, interactive: true });
    await chat.errorOutput.until("› ");
    expect(chat.errorOutput.text).toContain("It differs from .tenon/tools.lock:");
    chat.type("y");
    expect(await done).toBe(0);
    expect(chat.output.text).toBe("yes-once\n");
  });
});

describe("with a person", () => {
  it.each([
    ["y", "yes-once", 0],
    ["1", "yes-once", 0],
    ["2", "yes-always", 0],
    ["n", "no-once", 5],
    ["3", "no-once", 5],
  ])("takes %s as %s and exits with %d", async (typed, optionId, code) => {
    const chat = new TestChat();
    const done = chat.run({ turn: asksOnce }, { prompt: "add", interactive: true });
    await chat.errorOutput.until("› ");
    chat.type(typed);
    expect(await done).toBe(code);
    expect(chat.output.text).toBe(`selected ${optionId}\n`);
  });

  it("shows the end of a long command too, and says where all of it is", async () => {
    const lines: string[] = [];
    const full: string[] = [];
    const prompter = new PermissionPrompter(
      {
        screen: { columns: 80, line: (line) => lines.push(line), hold: () => () => {} },
        palette: createPalette(false),
        clock: new ManualClock(),
        reader: {
          hasEnded: false,
          question: async () => undefined,
          choose: async () => undefined,
          interject: (write) => write(),
        },
        queue: new QuestionQueue(),
      },
      { consent: "ask", isAttended: true },
    );
    prompter.onLongCommand = (all) => full.push(...all);
    const command = [...Array.from({ length: 100 }, (_, at) => `echo ${at}`), `${"x".repeat(9_000)}; rm -rf ~`];
    const toolCall = {
      toolCallId: "1",
      title: "Run",
      kind: "execute" as const,
      rawInput: { command: command.join("\n") },
    };
    await prompter.answer({ sessionId: "s", toolCall, options: [] }, new AbortController().signal);
    const shown = lines.join("\n");
    expect(shown).toContain("echo 0\n");
    expect(shown).toContain("… 72 more lines (Ctrl-O)");
    expect(shown).toMatch(/more characters \(Ctrl-O\) … x+; rm -rf ~$/u);
    expect(full).toEqual(["command:", ...command.map((line) => `  ${line}`)]);
  });

  it("shows the whole call before it asks, and asks again after an unclear answer", async () => {
    const chat = new TestChat();
    const done = chat.run({ turn: asksOnce }, { prompt: "add", interactive: true });
    await chat.errorOutput.until("› ");
    expect(chat.errorOutput.text).toBe(
      [
        "? Allow notes / Add a note?",
        "    text:",
        "      buy milk",
        "      and bread",
        '    tags: ["home"]',
        "Your answer:",
        "  1. Allow",
        "  2. Always",
        "  3. No",
        "  4. No, and say what to do instead",
        "  Answer 1 to 4 › ",
      ].join("\n"),
    );
    chat.type("maybe");
    await chat.errorOutput.until("Please answer with a number from 1 to 4.");
    chat.type("");
    await chat.errorOutput.until("Please answer with a number from 1 to 4.", 2);
    chat.type("y");
    expect(await done).toBe(0);
  });

  it("takes the end of the input as a no", async () => {
    const chat = new TestChat();
    const done = chat.run({ turn: asksOnce }, { prompt: "add", interactive: true });
    await chat.errorOutput.until("› ");
    chat.input.end();
    expect(await done).toBe(5);
  });

  it("asks questions that come together one after the other", async () => {
    const chat = new TestChat();
    const turn: FakeAgent["turn"] = async (told) => {
      const outcomes = await Promise.all([
        told.ask({ toolCallId: "1", title: "first" }),
        told.ask({ toolCallId: "2", title: "second" }),
      ]);
      await told.say(outcomes.map((outcome) => ("optionId" in outcome ? outcome.optionId : outcome.outcome)).join(" "));
      return "end_turn";
    };
    const done = chat.run({ turn }, { prompt: "add", interactive: true });
    await chat.errorOutput.until("› ");
    expect(chat.errorOutput.text).not.toContain("second");
    chat.type("y");
    await chat.errorOutput.until("› ", 2);
    expect(chat.errorOutput.text).toContain("? Allow second?");
    chat.type("2");
    expect(await done).toBe(0);
    expect(chat.output.text).toBe("yes-once yes-always\n");
  });

  it("answers every open question with cancelled when Ctrl-C stops the turn", async () => {
    const chat = new TestChat();
    const turn: FakeAgent["turn"] = async (told) => {
      const outcomes = await Promise.all([told.ask({ toolCallId: "1" }), told.ask({ toolCallId: "2" })]);
      await told.say(outcomes.map(({ outcome }) => outcome).join(" "));
      return "cancelled";
    };
    const done = chat.run({ turn }, { prompt: "add", interactive: true });
    await chat.errorOutput.until("› ");
    chat.interrupt();
    expect(await done).toBe(130);
    expect(chat.output.text).toBe("cancelled cancelled\n");
  });

  it("does not take a line that was pasted with the prompt for consent", async () => {
    const chat = new TestChat();
    const done = chat.run(
      { turn: async (told) => (told.text === "add" ? await asksOnce(told) : "end_turn") },
      { interactive: true },
    );
    await chat.output.until("› ");
    chat.type("add\ny");
    await chat.output.until("Allow notes / Add a note?");
    chat.type("n");
    await chat.output.until("selected no-once");
    chat.input.end();
    expect(await done).toBe(0);
  });
});

const BROUGHT = Array.from({ length: 60 }, (_, at) => `env.V${at}: "${"x".repeat(100)}"`);

const asksForTrust: FakeAgent["turn"] = async (turn: Turn) => {
  const outcome = await turn.askTrust({
    toolCallId: "trust-1",
    title: 'Trust the project\'s MCP server "build"?',
    content: [{ type: "content", content: { type: "text", text: BROUGHT.join("\n") } }],
  });
  await turn.say(outcome.outcome === "selected" ? `selected ${outcome.optionId}` : outcome.outcome);
  return "end_turn";
};

/** All the options of Tenon's own agent, and what it wants to be read first. */
const asksWithNotes: FakeAgent["turn"] = async (turn: Turn) => {
  const notes = ["The tool changed since it was approved:", "  + sends \u202eit away"];
  const outcome = await turn.ask({ ...CALL, _meta: { tenon: { notes } } }, [
    { optionId: "once", name: "Allow once", kind: "allow_once" },
    { optionId: "always", name: "Always allow notes / add in this project", kind: "allow_always" },
    { optionId: "no", name: "No", kind: "reject_once" },
    { optionId: "never", name: "Never allow notes / add, in any project", kind: "reject_always" },
  ]);
  await turn.say(outcome.outcome === "selected" ? `selected ${outcome.optionId}` : outcome.outcome);
  return "end_turn";
};

describe("a question of Tenon's own agent", () => {
  it.each([
    ["y", "once", 0],
    ["2", "always", 0],
    ["n", "no", 5],
    ["5", "never", 5],
  ])("takes %s as %s and exits with %d", async (typed, optionId, code) => {
    const chat = new TestChat();
    const done = chat.run({ turn: asksWithNotes }, { prompt: "add", interactive: true });
    await chat.errorOutput.until("› ");
    chat.type(typed);
    expect(await done).toBe(code);
    expect(chat.output.text).toBe(`selected ${optionId}\n`);
  });

  it("shows what changed before the arguments, visibly, and all the answers", async () => {
    const chat = new TestChat();
    const done = chat.run({ turn: asksWithNotes }, { prompt: "add", interactive: true });
    await chat.errorOutput.until("› ");
    expect(chat.errorOutput.text).toContain(
      [
        "    The tool changed since it was approved:",
        "      + sends <U+202E>it away",
        "    text:",
        "      buy milk",
        "      and bread",
        '    tags: ["home"]',
        "Your answer:",
        "  1. Allow once",
        "  2. Always allow notes / add in this project",
        "  3. No",
        "  4. No, and say what to do instead",
        "  5. Never allow notes / add, in any project",
        "  Answer 1 to 5 › ",
      ].join("\n"),
    );
    chat.type("n");
    expect(await done).toBe(5);
  });

  it("is approved once by --yes, and refused once where nobody can be asked: neither is remembered", async () => {
    const approved = new TestChat();
    expect(await approved.run({ turn: asksWithNotes }, { prompt: "add", yes: true })).toBe(0);
    expect(approved.output.text).toBe("selected once\n");
    const denied = new TestChat();
    expect(await denied.run({ turn: asksWithNotes }, { prompt: "add" })).toBe(5);
    expect(denied.output.text).toBe("selected no\n");
  });
});

describe("a no with words", () => {
  it("carries them to the model, and is asked for again when they are empty", async () => {
    const chat = new TestChat();
    let meta: unknown;
    const turn: FakeAgent["turn"] = async (told) => {
      ({ _meta: meta } = await told.askWhole(CALL));
      return "end_turn";
    };
    const done = chat.run({ turn }, { prompt: "add", interactive: true });
    await chat.errorOutput.until("Answer 1 to 4 › ");
    chat.type("4");
    await chat.errorOutput.until("instead? › ");
    chat.type("");
    await chat.errorOutput.until("Answer 1 to 4 › ", 2);
    chat.type("4");
    await chat.errorOutput.until("instead? › ", 2);
    chat.type("use the other notebook");
    expect(await done).toBe(5);
    expect(meta).toEqual({ tenon: { words: "use the other notebook" } });
  });

  it("is told as nobody's where nobody can be asked", async () => {
    const chat = new TestChat();
    let meta: unknown;
    const turn: FakeAgent["turn"] = async (told) => {
      ({ _meta: meta } = await told.askWhole(CALL));
      return "end_turn";
    };
    expect(await chat.run({ turn }, { prompt: "add" })).toBe(5);
    expect(meta).toEqual({ tenon: { unattended: true } });
  });
});

describe("what a project brings", () => {
  it.each([true, false])("is not trusted where nobody can be asked (--yes: %s), and how to is said", async (yes) => {
    const chat = new TestChat();
    expect(await chat.run({ turn: asksForTrust }, { prompt: "add", yes })).toBe(0);
    expect(chat.output.text).toBe("selected later\n");
    expect(chat.errorOutput.text).toContain("tenon trust approve build");
  });

  it.each([
    ["1", "trust"],
    ["n", "later"],
    ["2", "later"],
    ["3", "never"],
  ])("is decided by the person alone, also with --yes: %s means %s", async (typed, optionId) => {
    const chat = new TestChat();
    const done = chat.run({ turn: asksForTrust }, { prompt: "add", yes: true, interactive: true });
    await chat.errorOutput.until("› ");
    chat.type(typed);
    expect(await done).toBe(0);
    expect(chat.output.text).toBe(`selected ${optionId}\n`);
  });

  it("is shown without any cut before it is asked about, and an answer meant for calls is none", async () => {
    const chat = new TestChat();
    const done = chat.run({ turn: asksForTrust }, { prompt: "add", interactive: true });
    await chat.errorOutput.until("› ");
    for (const line of BROUGHT) expect(chat.errorOutput.text).toContain(`    ${line}\n`);
    for (const typed of ["y", "yes", "a", ""]) {
      chat.type(typed);
    }
    await chat.errorOutput.until("Please answer with a number from 1 to 3.");
    chat.input.end();
    expect(await done).toBe(0);
    expect(chat.output.text).toBe("selected later\n");
  });
});
