// What providers answer, through the library: the same cases over every provider's real streaming format.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { answerText, answerToolCall, type ContentPart } from "../../src/testing/lab/index.js";
import { expectGoesOn, onStage, type Stage, type StageOptions } from "../scenarios/providers/stage.js";
import { conversationIn, KEY, resultsIn, TARGETS } from "../scenarios/providers/target.js";
import { scenario } from "../scenarios/scenario.js";

const UNICODE = 'Grüße 🙂 — 你好, "quoted"\n\u2028 end';

/** Gemini takes this word instead of a signature, so it does not refuse a conversation whose signatures were lost. */
function expectNoSubstitutes(stage: Stage): void {
  expect(stage.requestTexts.some((text) => text.includes("skip_thought_signature_validator"))).toBe(false);
}

for (const target of TARGETS) {
  const { name, format } = target;

  scenario(["L1"], `${name}: text streams as it comes, whatever characters it has and however it is cut`, () =>
    onStage(target, async (stage) => {
      stage.provider.reply(answerText(UNICODE, 9), {
        kind: "answer",
        parts: [{ kind: "ping" }, { kind: "text", text: "2" }],
      });
      const told = await stage.prompt("hello");
      expect(told.result?.stopReason).toBe("end_turn");
      expect(told.text).toBe(UNICODE);
      expect(told.turn.filter(({ kind }) => kind === "text").length).toBeGreaterThan(3);
      const again = await stage.prompt("again");
      expect(again.text).toBe("2");
      expect(JSON.stringify(conversationIn(await stage.provider.awaitRequest(1)))).toContain("Grüße 🙂");
    }),
  );

  scenario(["L1"], `${name}: a stream torn anywhere by the network reads the same`, () =>
    onStage(
      target,
      async (stage) => {
        const call: ContentPart = { kind: "tool_call", name: "mcp__s__echo", arguments: { text: UNICODE }, chunks: 4 };
        stage.provider.reply(
          { kind: "answer", parts: [{ kind: "text", text: UNICODE }, call] },
          answerText(UNICODE, 3),
        );
        const told = await stage.prompt("hello");
        expect(told.text).toBe(UNICODE + UNICODE);
        expect(resultsIn(await stage.provider.awaitRequest(1))[0]?.content).toContain("你好");
      },
      { provider: { tearBytes: 5 } },
    ),
  );

  scenario(["L1"], `${name}: thoughts stream apart from the text, and what was signed goes back as it was`, () =>
    onStage(
      target,
      async (stage) => {
        stage.provider.reply(
          {
            kind: "answer",
            parts: [
              { kind: "thought", text: "First I think it over.", chunks: 4 },
              { kind: "text", text: "Let me look. " },
              { kind: "tool_call", name: "mcp__s__echo", arguments: { text: "one" } },
            ],
          },
          {
            kind: "answer",
            parts: [
              { kind: "thought", text: "Now I know.", chunks: 2 },
              { kind: "tool_call", name: "mcp__s__echo", arguments: { text: "two" } },
            ],
          },
          answerText("Done."),
        );
        const told = await stage.prompt("think");
        expect(told.result?.stopReason).toBe("end_turn");
        expect(told.thoughts).toBe(target.showsThoughts ? "First I think it over.Now I know." : "");
        expect(told.text).toBe("Let me look. Done.");
        await expectGoesOn(stage);
        expectNoSubstitutes(stage);
      },
      { load: { thinking: "high" } },
    ),
  );

  scenario(["L1"], `${name}: thoughts that are signed and not shown go back as well`, () =>
    onStage(target, async (stage) => {
      stage.provider.reply(
        {
          kind: "answer",
          parts: [
            { kind: "thought", text: "secret", hidden: true },
            { kind: "tool_call", name: "mcp__s__echo", arguments: { text: "one" } },
          ],
        },
        answerText("Done."),
      );
      const told = await stage.prompt("think");
      expect(told.text).toBe("Done.");
      expect(told.thoughts).toBe("");
      expectNoSubstitutes(stage);
    }),
  );

  scenario(["L2"], `${name}: the calls of one answer each get exactly one result, in the model's order`, () =>
    onStage(target, async (stage) => {
      const texts = ["alpha", "beta", "gamma"];
      const calls = texts.map((text, index): ContentPart => {
        return { kind: "tool_call", id: `call_${index}`, name: "mcp__s__echo", arguments: { text } };
      });
      stage.provider.reply({ kind: "answer", parts: calls }, answerText("All three."));
      const told = await stage.prompt("three at once");
      expect(told.text).toBe("All three.");
      const results = resultsIn(await stage.provider.awaitRequest(1));
      expect(results.map(({ callId }) => callId)).toEqual(["call_0", "call_1", "call_2"]);
      for (const [index, text] of texts.entries()) expect(results[index]?.content).toContain(text);
      expect(told.turn.filter(({ kind }) => kind === "call_ended")).toHaveLength(3);
      await expectGoesOn(stage);
    }),
  );

  scenario(["L1", "L2"], `${name}: arguments split at any character arrive whole`, () =>
    onStage(target, async (stage) => {
      const args = { text: `a\\b "c" ${UNICODE}` };
      const everywhere = Array.from({ length: JSON.stringify(args).length }, (_, index) => index);
      stage.provider.reply(
        { kind: "answer", parts: [{ kind: "tool_call", name: "mcp__s__echo", arguments: args, splitAt: everywhere }] },
        answerText("ok"),
      );
      const told = await stage.prompt("split");
      expect(told.turn.find(({ kind }) => kind === "call_started")).toMatchObject({ arguments: args });
      expect(told.text).toBe("ok");
    }),
  );

  scenario(
    ["L2"],
    `${name}: calls that fail, that no tool answers to, or whose arguments are no JSON, end with a result all the same`,
    () =>
      onStage(target, async (stage) => {
        const malformed: ContentPart = { kind: "tool_call", id: "c3", name: "mcp__s__echo", arguments: '{"text": ' };
        stage.provider.reply(
          {
            kind: "answer",
            parts: [
              { kind: "tool_call", id: "c1", name: "mcp__s__broken", arguments: {} },
              { kind: "tool_call", id: "c2", name: "no_such_tool", arguments: { x: 1 } },
              // Gemini reports those itself and never sends them.
              ...(format === "gemini" ? [] : [malformed]),
              { kind: "tool_call", id: "c4", name: "mcp__s__echo", arguments: {} },
            ],
          },
          answerText("I see."),
        );
        const told = await stage.prompt("try");
        expect(told.text).toBe("I see.");
        const results = resultsIn(await stage.provider.awaitRequest(1));
        expect(results.map(({ callId }) => callId)).toEqual(
          format === "gemini" ? ["c1", "c2", "c4"] : ["c1", "c2", "c3", "c4"],
        );
        expect(results[0]?.content).toContain("it broke");
        await expectGoesOn(stage);
      }),
  );

  scenario(["L2"], `${name}: a picture in a result reaches the model as a picture`, () =>
    onStage(target, async (stage) => {
      stage.provider.reply(answerToolCall("mcp__s__picture", {}), answerText("One pixel."));
      const told = await stage.prompt("look");
      expect(told.text).toBe("One pixel.");
      const request = await stage.provider.awaitRequest(1);
      expect(JSON.stringify(conversationIn(request))).toMatch(/iVBORw0KGgo/);
      expect(resultsIn(request)).toHaveLength(1);
      await expectGoesOn(stage);
    }),
  );

  scenario(["L14"], `${name}: a picture in a prompt reaches the model, what it does not take is named to it`, () =>
    onStage(target, async (stage) => {
      stage.provider.reply(answerText("I see it."));
      const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
      const told = await stage.prompt([
        { type: "text", text: "what is this?" },
        { type: "image", data: pixel, mimeType: "image/png" },
        { type: "image", data: "AAAA", mimeType: "image/x-unheard-of" },
        { type: "resource", uri: "file:///notes.txt", mimeType: "text/plain", text: "the embedded words" },
      ]);
      expect(told.text).toBe("I see it.");
      const sent = JSON.stringify(conversationIn(await stage.provider.awaitRequest(0)));
      expect(sent).toContain(pixel);
      expect(sent).toContain("image/x-unheard-of");
      expect(sent).not.toContain('"AAAA"');
      expect(sent).toContain("the embedded words");
      expect(sent).toContain("file:///notes.txt");
    }),
  );

  scenario(["L13"], `${name}: a turn ends with the reason the provider gave`, () =>
    onStage(target, async (stage) => {
      stage.provider.reply({ ...answerText("cut sho"), finish: "length" });
      const short = await stage.prompt("long");
      expect(short.result?.stopReason).toBe("max_tokens");
      expect(short.text).toBe("cut sho");
      stage.provider.reply({ kind: "answer", parts: [{ kind: "text", text: "I" }], finish: "refusal" });
      const refused = await stage.prompt("something bad");
      expect(refused.result?.stopReason).toBe("refusal");
      await expectGoesOn(stage);
    }),
  );

  scenario(
    ["L13"],
    `${name}: a model that makes the same call again and again is stopped, and the person is told why`,
    () =>
      onStage(target, async (stage) => {
        stage.provider.replyWith(() => answerToolCall("mcp__s__echo", { text: "the same" }));
        const told = await stage.prompt("loop");
        expect(told.result?.stopReason).toBe("max_turn_requests");
        expect(told.turn.find(({ kind }) => kind === "stopped")).toMatchObject({ cause: "repetition" });
        expect(stage.provider.requests.length).toBeLessThan(20);
        await expectGoesOn(stage);
      }),
  );

  scenario(["L5"], `${name}: an answer with nothing in it is told as such, never an empty end_turn`, () =>
    onStage(
      target,
      async (stage) => {
        stage.provider.replyWith(() => ({ kind: "answer", parts: [] }));
        const told = await stage.prompt("say nothing");
        const isSaid = told.error !== undefined || told.turn.some(({ kind }) => kind === "text" || kind === "stopped");
        expect(isSaid, JSON.stringify(told.turn)).toBe(true);
        await expectGoesOn(stage);
      },
      { hurries: true },
    ),
  );

  scenario(["L15"], `${name}: the key reaches the provider and nothing else`, () =>
    onStage(
      target,
      async (stage) => {
        stage.provider.reply(answerToolCall("mcp__s__env", {}), answerText("ok"));
        await stage.prompt("look around");
        const [first, second] = stage.provider.requests;
        expect(JSON.stringify(first?.headers)).toContain(KEY);
        expect(second && resultsIn(second)[0]?.content).not.toMatch(/API_KEY/);
        expect(stage.requestTexts.join()).not.toContain(KEY);
        expect(JSON.stringify(stage.events.items)).not.toContain(KEY);
        expect(stage.log.join("\n")).not.toContain(KEY);
        await stage.session.close();
        const files = readdirSync(stage.home.path, { recursive: true, withFileTypes: true }).filter((file) =>
          file.isFile(),
        );
        expect(files.length).toBeGreaterThan(0);
        for (const file of files) expect(readFileSync(join(file.parentPath, file.name), "utf8")).not.toContain(KEY);
      },
      { servers: { s: { tools: [{ name: "env", description: "Names the environment.", reply: { kind: "env" } }] } } },
    ),
  );
}

scenario(["L13"], "a turn without end is stopped at the limit of model calls, and the person is told why", async () => {
  const [target] = TARGETS;
  if (!target) throw new Error("there are no targets");
  const run = async (stage: Stage) => {
    let count = 0;
    stage.provider.replyWith(() => answerToolCall("mcp__s__echo", { text: `number ${++count}` }));
    const told = await stage.prompt("on and on");
    expect(told.result?.stopReason).toBe("max_turn_requests");
    expect(told.turn.find(({ kind }) => kind === "stopped")).toMatchObject({ cause: "request_limit" });
    expect(stage.provider.requests).toHaveLength(100);
    await expectGoesOn(stage);
  };
  await onStage(target, run);
});

scenario(
  ["L18"],
  "how large the context is comes from the provider's list, unless the configuration says it",
  async () => {
    const target = TARGETS.find(({ model }) => model.startsWith("openai-compatible/"));
    if (!target) throw new Error("there is no compatible server among the targets");
    const sizeTold = async (options: StageOptions) => {
      let size: number | undefined;
      await onStage(
        target,
        async (stage) => {
          stage.provider.reply(answerText("hi"));
          const told = await stage.prompt("hello");
          const usage = told.turn.find((event) => event.kind === "usage");
          size = usage?.context?.sizeTokens;
        },
        { servers: {}, ...options },
      );
      return size;
    };
    const models = [{ id: "another" }, { id: "qwen3-vl", contextTokens: 54_321 }];
    expect(await sizeTold({ provider: { models } })).toBe(54_321);
    expect(await sizeTold({ provider: { models }, load: { settings: { contextTokens: 12_345 } } })).toBe(12_345);
  },
);
