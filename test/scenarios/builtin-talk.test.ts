// What passes between the model and the person beside words: plans, questions, the project's instructions, /compact and /cost.
import { expect } from "vitest";
import { answerText, type ProviderRequest } from "../../src/testing/lab/index.js";
import { type Editor, HAS_FORMS, inEditor } from "./builtin/editor.js";
import { conversationIn, toolsIn } from "./providers/target.js";
import { scenario } from "./scenario.js";

scenario(["L24", "L21"], "a plan is shown as it changes, without asking", () =>
  inEditor({ permissions: "deny" }, async (editor) => {
    const entries = (status: string) => [
      { content: "look", status, priority: "high" },
      { content: "do", status: "pending" },
    ];
    expect(await editor.call("update_plan", { entries: entries("in_progress") })).toContain("0 of 2 done");
    expect(await editor.call("update_plan", { entries: entries("completed") })).toContain("1 of 2 done");
    expect(await editor.call("update_plan", { entries: entries("given up") })).toContain("must be one of");
    const plans = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === "plan");
    expect(plans).toEqual(
      ["in_progress", "completed"].map((status) => ({
        sessionUpdate: "plan",
        entries: [
          { content: "look", status, priority: "high" },
          { content: "do", status: "pending", priority: "medium" },
        ],
      })),
    );
  }),
);

const QUESTION = {
  question: "Which colour?",
  options: [{ label: "red", description: "warm" }, { label: "blue" }],
};

/** The ids of the cards of questions, oldest first. */
const cardIds = ({ cards }: Editor) => cards.map(({ id }) => id);

scenario(["L24"], "a question is a form where the client has forms: chosen, typed or declined", async () => {
  const answers = [
    { action: "accept" as const, content: { answer: "blue" } },
    { action: "accept" as const, content: { answer: "a shade of my own" } },
    { action: "decline" as const },
  ];
  await inEditor(
    { capabilities: HAS_FORMS, answerForm: () => answers.shift() ?? { action: "cancel" } },
    async (editor) => {
      expect(await editor.call("ask_person", QUESTION)).toContain("The person chose: blue");
      expect(await editor.call("ask_person", { question: "And in words?" })).toContain("answered: a shade of my own");
      expect(await editor.call("ask_person", QUESTION)).toContain("does not want to answer");
      const { forms } = editor.desk;
      expect(forms[0]).toMatchObject({
        message: "Which colour?",
        schema: {
          type: "object",
          properties: {
            answer: {
              type: "string",
              oneOf: [
                { const: "red", title: "red: warm" },
                { const: "blue", title: "blue" },
              ],
            },
          },
          required: ["answer"],
        },
      });
      expect(JSON.stringify(forms[1])).not.toContain("oneOf");
      expect(forms.map(({ toolCallId }) => toolCallId)).toEqual(cardIds(editor));
      expect(editor.questions).toEqual([]);
    },
  );
});

scenario(["L24"], "without forms it is a choice on the card of the call, and a text cannot be asked for", () =>
  inEditor({}, async (editor) => {
    expect(await editor.call("ask_person", QUESTION)).toContain("The person chose: red");
    editor.client.answerPermissions("deny");
    expect(await editor.call("ask_person", QUESTION)).toContain("does not want to answer");
    editor.client.answerPermissions("cancel");
    expect(await editor.call("ask_person", QUESTION)).toContain("does not want to answer");
    expect(await editor.call("ask_person", { question: "In words?" })).toContain("ask in your answer instead");
    expect(editor.questions).toHaveLength(3);
    expect(editor.questions[0]).toMatchObject({
      toolCall: { title: "Which colour?" },
      options: [{ name: "red: warm" }, { name: "blue" }, { name: "None of these", kind: "reject_once" }],
    });
    expect(editor.questions.map(({ toolCall }) => toolCall.toolCallId)).toEqual(cardIds(editor).slice(0, 3));
  }),
);

const systemIn = ({ body }: ProviderRequest) => JSON.stringify(body["system"]);

scenario(["L25"], "the project's AGENTS.md is in the system prompt, which stays the same", () =>
  inEditor({ files: { "AGENTS.md": "Write every comment in Latin.\n", "a.txt": "x" } }, async (editor) => {
    await editor.call("read_file", { path: "a.txt" });
    editor.project.write("AGENTS.md", "Something else.\n");
    await editor.call("read_file", { path: "a.txt" });
    const [first = "", ...others] = editor.provider.requests.map(systemIn);
    expect(first).toContain("AGENTS.md says:\\nWrite every comment in Latin.");
    expect(first).toContain(`The working directory is ${editor.project.path}.`);
    expect(first).toMatch(/Today is \d{4}-\d\d-\d\d\./);
    expect(first.length).toBeLessThan(4_000);
    expect(others).toHaveLength(3);
    for (const other of others) expect(other).toBe(first);
  }),
);

const SUMMARY = "They counted apples, and there were seven.";

/** Turns long enough to be worth a summary. */
async function talk(editor: Editor, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    editor.provider.reply(answerText(`Apple ${turn}. ${"They are green and round. ".repeat(200)}`));
    await editor.client.prompt(editor.sessionId, `apple number ${turn}?`);
  }
}

scenario(["L26"], "/compact makes a summary that the model goes on from, and says so", async () => {
  for (const compaction of [undefined, {}]) {
    const session = { notices: {}, ...(compaction ? { compaction } : {}) };
    await inEditor({ capabilities: { session } }, async (editor) => {
      const { client, provider, sessionId } = editor;
      await talk(editor, 8);
      provider.reply(answerText(SUMMARY));
      expect((await client.prompt(sessionId, "/compact")).stopReason).toBe("end_turn");
      const asked = provider.requests.at(-1);
      expect(asked && toolsIn(asked)).toEqual([]);
      const told = JSON.stringify(editor.updates);
      if (compaction) expect(told).toMatch(/"sessionUpdate":"compaction_update".*"status":"completed"/);
      else expect(told).toMatch(/The conversation was summarised: \d+ tokens became \d+/);
      provider.reply(answerText("Seven."));
      await client.prompt(sessionId, "how many?");
      const last = provider.requests.at(-1);
      const conversation = last ? JSON.stringify(conversationIn(last)) : "";
      expect(conversation).toContain(SUMMARY);
      expect(conversation).not.toContain("apple number 0?");
      expect(client.text(sessionId)).toMatch(/Seven\.$/);
    });
  }
});

scenario(["L26"], "/cost tells what the session used, and asks no model", () =>
  inEditor({}, async (editor) => {
    const { client, provider, sessionId } = editor;
    provider.reply({ ...answerText("Hello."), usage: { inputTokens: 1_200, outputTokens: 34 } });
    await client.prompt(sessionId, "hello");
    const before = provider.requests.length;
    expect((await client.prompt(sessionId, "/cost")).stopReason).toBe("end_turn");
    expect(client.text(sessionId)).toMatch(/1200 tokens in.*34 out\. /);
    expect(provider.requests).toHaveLength(before);
  }),
);
