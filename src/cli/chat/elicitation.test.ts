// Questions of servers in the terminal: forms field by field, pages by their address, a way to say no each time.
import type { CreateElicitationResponse } from "@agentclientprotocol/sdk";
import { describe, expect, it } from "vitest";
import { type ElicitationForm, type FakeAgent, TestChat } from "../../../test/chat.js";

const FORM: ElicitationForm = {
  mode: "form",
  message: 'The MCP server "s" asks: who are\u001b[31m you?',
  requestedSchema: {
    type: "object",
    properties: {
      name: { type: "string", title: "Name", minLength: 2 },
      age: { type: "integer", minimum: 0, maximum: 150 },
      ok: { type: "boolean", default: true },
      pet: {
        type: "string",
        oneOf: [
          { const: "c", title: "Cat" },
          { const: "d", title: "Dog" },
        ],
      },
      fish: { type: "array", items: { type: "string", enum: ["tuna", "trout"] }, maxItems: 1 },
    },
    required: ["name", "pet"],
  },
};

const PAGE: ElicitationForm = { mode: "url", message: "log in", url: "https://x.test/login", elicitationId: "e" };

interface Played {
  readonly chat: TestChat;
  readonly code: number;
  readonly answer: CreateElicitationResponse | undefined;
}

/** Types each line at the next `›`. */
async function play(request: ElicitationForm, lines: readonly string[]): Promise<Played> {
  let answer: CreateElicitationResponse | undefined;
  const turn: FakeAgent["turn"] = async (told) => {
    answer = await told.elicit(request);
    return "end_turn";
  };
  const chat = new TestChat();
  const done = chat.run({ turn }, { prompt: "go", interactive: true });
  for (const [index, line] of lines.entries()) {
    await chat.errorOutput.until("› ", index + 1);
    chat.type(line);
  }
  return { chat, code: await done, answer };
}

describe("a form", () => {
  it.each([
    ["email", "https://x.test", "ann@x.test"],
    ["uri", "2026-01-31", "https://x.test/a"],
    ["date", "2026-13-31", "2026-01-31"],
    ["date-time", "2026-01-31", "2026-01-31T12:00:00+02:00"],
  ])("takes no %s that is none", async (format, wrong, right) => {
    const properties = { one: { type: "string", format }, two: { type: "string" } };
    const form = { ...FORM, requestedSchema: { type: "object", properties } } as ElicitationForm;
    const { chat, answer } = await play(form, ["y", wrong, right, "", "y"]);
    expect(answer).toEqual({ action: "accept", content: { one: right } });
    expect(chat.errorOutput.text.split("Please type a")).toHaveLength(2);
  });

  it("is asked field by field; what does not fit is asked again, an empty line is the default or leaves it out", async () => {
    const lines = ["y", "A", "Ada", "old", "-1", "36", "", "3", "dog", "tuna, trout", "2", "y"];
    const { chat, answer } = await play(FORM, lines);
    expect(answer).toEqual({
      action: "accept",
      content: { name: "Ada", age: 36, ok: true, pet: "d", fish: ["trout"] },
    });
    const { text } = chat.errorOutput;
    expect(text).toContain("At least 2 characters.");
    expect(text).toContain("Please type a number.");
    expect(text).toContain("At least 0.");
    expect(text).toContain("Please choose from 1 to 2.");
    expect(text).toContain("At most 1.");
    expect(text).not.toContain("\u001b[31m");
  });

  it("can be declined before and after it is filled in, and filled in again", async () => {
    expect((await play(FORM, ["n"])).answer).toEqual({ action: "decline" });
    const filled = ["Ada", "", "", "1", ""];
    expect((await play(FORM, ["y", ...filled, "n"])).answer).toEqual({ action: "decline" });
    const again = await play(FORM, ["y", ...filled, "e", "Eve", "", "n", "1", "", "y"]);
    expect(again.answer).toEqual({ action: "accept", content: { name: "Eve", ok: false, pet: "c" } });
  });

  it("of a single field is asked at once, and an empty line is no answer", async () => {
    const single: ElicitationForm = {
      mode: "form",
      message: "which?",
      requestedSchema: { properties: { answer: { type: "string", enum: ["red", "blue"] } }, required: ["answer"] },
    };
    expect((await play(single, ["2"])).answer).toEqual({ action: "accept", content: { answer: "blue" } });
    expect((await play(single, [""])).answer).toEqual({ action: "decline" });
  });

  it("that needs a field nobody can type is declined, with the reason", async () => {
    const odd: ElicitationForm = {
      mode: "form",
      message: "which?",
      requestedSchema: { properties: { deep: { type: "_tree" } }, required: ["deep"] },
    };
    const { chat, answer } = await play(odd, []);
    expect(answer).toEqual({ action: "decline" });
    expect(chat.errorOutput.text).toContain('It needs "deep"');
  });
});

describe("a page", () => {
  it("is shown by its whole address, and accepted or declined", async () => {
    const { chat, answer } = await play(PAGE, ["perhaps", "y"]);
    expect(answer).toEqual({ action: "accept" });
    expect(chat.errorOutput.text).toContain("\n  https://x.test/login\n");
    expect((await play(PAGE, ["n"])).answer).toEqual({ action: "decline" });
  });

  it("that is no web page is not shown", async () => {
    const { chat, answer } = await play({ ...PAGE, url: "file:///etc/passwd" }, []);
    expect(answer).toEqual({ action: "decline" });
    expect(chat.errorOutput.text).not.toContain("passwd");
  });
});

it("a question that is open when the turn is cancelled is answered so", async () => {
  let answer: CreateElicitationResponse | undefined;
  const turn: FakeAgent["turn"] = async (told) => {
    answer = await told.elicit(PAGE);
    return "cancelled";
  };
  const chat = new TestChat();
  const done = chat.run({ turn }, { prompt: "go", interactive: true });
  await chat.errorOutput.until("› ");
  chat.interrupt();
  await done;
  expect(answer).toEqual({ action: "cancel" });
});

it("only where a person sits at the terminal does the chat say that servers may ask", async () => {
  const capabilities = async (interactive: boolean) => {
    const heard: { method: string; params: unknown }[] = [];
    await new TestChat().run({ heard }, { prompt: "go", interactive });
    return JSON.stringify(heard.find(({ method }) => method === "initialize")?.params);
  };
  expect(await capabilities(true)).toContain('"elicitation":{"form":{},"url":{}}');
  expect(await capabilities(false)).not.toContain("elicitation");
});
