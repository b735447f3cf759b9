// Cancel at every stage of a turn, through the library: quick, and the provider takes what is left of the conversation.
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import {
  type AnswerPart,
  answerText,
  answerToolCall,
  failWith,
  gate,
  type ProviderReply,
} from "../../src/testing/lab/index.js";
import {
  expectGoesOn,
  onStage,
  type Stage,
  type StageOptions,
  type Told,
  verifyRequests,
} from "../scenarios/providers/stage.js";
import { conversationIn, TARGETS, type Target } from "../scenarios/providers/target.js";
import { scenario } from "../scenarios/scenario.js";

/** From the cancel to the end of the prompt, without the time in which this thread was ready and others were run. */
const CANCEL_MAX_MS = 100;

interface CancelStage {
  readonly stage: string;
  replies(target: Target): readonly ProviderReply[];
  /** Resolves when the turn has come to the stage. */
  reached(stage: Stage): Promise<unknown>;
  readonly options?: StageOptions;
  /** Whether a request is under way, which has to be aborted. */
  readonly isAsking: boolean;
}

const forever = (): AnswerPart => ({ kind: "pause", until: gate().opened });
const holding = (pieces: number) =>
  ({ chunks: 4, after: { pieces, happens: { kind: "pause", until: gate().opened } } }) as const;

const STAGES: readonly CancelStage[] = [
  {
    stage: "before the first byte of the answer",
    replies: () => [{ kind: "answer", parts: [forever()] }],
    reached: (stage) => stage.provider.awaitRequest(0),
    isAsking: true,
  },
  {
    stage: "when the answer has begun and nothing has been said",
    replies: () => [{ kind: "answer", parts: [{ kind: "ping" }, forever()] }],
    reached: (stage) => stage.provider.awaitRequest(0),
    isAsking: true,
  },
  {
    stage: "in the text",
    replies: () => [{ kind: "answer", parts: [{ kind: "text", text: "It was a dark night", ...holding(2) }] }],
    reached: (stage) => stage.turnEvent("text"),
    isAsking: true,
  },
  {
    stage: "in the thoughts",
    replies: () => [{ kind: "answer", parts: [{ kind: "thought", text: "Let me see what it is", ...holding(2) }] }],
    reached: (stage) => (stage.target.showsThoughts ? stage.turnEvent("thought") : stage.provider.awaitRequest(0)),
    options: { load: { thinking: "high" } },
    isAsking: true,
  },
  {
    stage: "after the thoughts, in the text",
    replies: () => [
      {
        kind: "answer",
        parts: [
          { kind: "thought", text: "Let me see" },
          { kind: "text", text: "It was a dark night", ...holding(2) },
        ],
      },
    ],
    reached: (stage) => stage.turnEvent("text"),
    options: { load: { thinking: "high" } },
    isAsking: true,
  },
  {
    stage: "in the arguments of a call",
    replies: () => [
      {
        kind: "answer",
        parts: [
          { kind: "text", text: "I will look. " },
          { kind: "tool_call", name: "mcp__s__echo", arguments: { text: "never sent" }, ...holding(2) },
        ],
      },
    ],
    // Gemini sends the arguments whole: until then there is the text only.
    reached: (stage) => stage.turnEvent(stage.target.format === "gemini" ? "text" : "call_arguments"),
    isAsking: true,
  },
  {
    stage: "between two calls of one answer",
    replies: () => [
      {
        kind: "answer",
        parts: [
          { kind: "tool_call", name: "mcp__s__echo", arguments: { text: "complete" } },
          forever(),
          { kind: "tool_call", name: "mcp__s__echo", arguments: { text: "never" } },
        ],
      },
    ],
    reached: (stage) => stage.turnEvent("call_arguments"),
    isAsking: true,
  },
  {
    stage: "while a tool runs",
    replies: () => [answerToolCall("mcp__s__stuck", {})],
    reached: (stage) => stage.turnEvent("call_running"),
    isAsking: false,
  },
  {
    stage: "while one of several tools runs",
    replies: () => [
      {
        kind: "answer",
        parts: [
          { kind: "text", text: "Two. " },
          { kind: "tool_call", name: "mcp__s__echo", arguments: { text: "done before" } },
          { kind: "tool_call", name: "mcp__s__stuck", arguments: {} },
          { kind: "tool_call", name: "mcp__s__echo", arguments: { text: "not reached" } },
        ],
      },
    ],
    reached: async (stage) => {
      await stage.turnEvent("call_ended");
      await stage.events.find(
        (event) =>
          event.kind === "turn" && event.event.kind === "call_running" && event.event.toolCallId.endsWith("-2"),
      );
    },
    isAsking: false,
  },
  {
    stage: "while it waits to ask again",
    replies: () => [failWith({ kind: "rate_limited", retryAfterS: 60 })],
    reached: (stage) => stage.turnEvent("waiting"),
    isAsking: false,
  },
  {
    stage: "in the answer that follows a tool",
    replies: () => [
      answerToolCall("mcp__s__echo", { text: "seen" }),
      { kind: "answer", parts: [{ kind: "text", text: "The tool said", ...holding(1) }] },
    ],
    reached: (stage) => stage.turnEvent("text"),
    isAsking: true,
  },
];

/** How long this thread has waited for a processor so far, where the system tells it. */
function runQueueMs(): number {
  try {
    const [, waitedNs = ""] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ");
    return Number(waitedNs) / 1_000_000;
  } catch {
    return 0;
  }
}

async function cancelAt(stage: Stage, { replies, reached, isAsking }: CancelStage): Promise<Told> {
  stage.provider.reply(...replies(stage.target));
  const controller = new AbortController();
  const prompting = stage.prompt("begin", controller.signal);
  await reached(stage);
  const queuedMs = runQueueMs();
  const startedMs = performance.now();
  controller.abort();
  const told = await prompting;
  const tookMs = performance.now() - startedMs;
  const othersMs = runQueueMs() - queuedMs;
  const said = `ms from the cancel (of ${tookMs}, for ${othersMs} others had the processor)`;
  expect(tookMs - othersMs, said).toBeLessThan(CANCEL_MAX_MS);
  if (isAsking) await expect.poll(() => stage.provider.requests.at(-1)?.aborted.aborted).toBe(true);
  return told;
}

for (const target of TARGETS) {
  for (const cancel of STAGES) {
    scenario(["L8"], `${target.name}: cancelled ${cancel.stage}, the turn ends and the next prompt works`, () =>
      onStage(
        target,
        async (stage) => {
          const told = await cancelAt(stage, cancel);
          expect(told.error).toBeUndefined();
          expect(told.result?.stopReason).toBe("cancelled");
          const started = told.turn.filter(({ kind }) => kind === "call_started").length;
          expect(told.turn.filter(({ kind }) => kind === "call_ended")).toHaveLength(started);
          await expectGoesOn(stage);
          const sent = JSON.stringify(
            conversationIn(stage.provider.requests.at(-1) ?? (await stage.provider.awaitRequest())),
          );
          expect(sent).toContain("begin");
          if (told.text.trim() !== "") expect(sent).toContain(told.text.trim());
        },
        cancel.options,
      ),
    );
  }

  scenario(
    ["L8"],
    `${target.name}: cancelled while the person is asked, the call is over and the next prompt works`,
    () =>
      onStage(target, async (stage) => {
        stage.session.attach({ ask: () => new Promise(() => {}) });
        stage.provider.reply(answerToolCall("mcp__s__echo", { text: "never" }));
        const controller = new AbortController();
        const prompting = stage.prompt("begin", controller.signal);
        await stage.turnEvent("call_awaiting_approval");
        controller.abort();
        const told = await prompting;
        expect(told.result?.stopReason).toBe("cancelled");
        expect(told.turn.some(({ kind }) => kind === "call_running")).toBe(false);
        stage.permit("once");
        await expectGoesOn(stage);
      }),
  );

  scenario(
    ["L9", "L8"],
    `${target.name}: cancelled at random again and again, the next prompt always works`,
    () => onStage(target, (stage) => cancelAtRandom(stage, cancelCount())),
    { timeoutMs: 300_000 },
  );
}

function cancelCount(): number {
  return Number(process.env["TENON_RANDOM_CANCELS"] ?? 20);
}

/** The same numbers for the same seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function randomAnswer(random: () => number): ProviderReply {
  const below = (limit: number) => Math.floor(random() * limit);
  const cut = () => ({ chunks: 1 + below(6) });
  const parts: AnswerPart[] = [];
  if (below(2) === 0) parts.push({ kind: "thought", text: "hm, let me think about it", ...cut() });
  if (below(3) > 0) parts.push({ kind: "text", text: `words number ${below(1_000)} and some more`, ...cut() });
  const calls = below(4);
  for (let index = 0; index < calls; index++) {
    const name = ["mcp__s__echo", "mcp__s__broken", "mcp__s__picture", "no_such_tool"][below(4)] ?? "";
    parts.push({ kind: "tool_call", name, arguments: { text: `t${below(1_000)}` }, ...cut() });
  }
  // Thoughts alone are an answer with nothing in it, which is another case.
  if (parts.every(({ kind }) => kind === "thought")) parts.push({ kind: "text", text: "short" });
  return { kind: "answer", parts };
}

async function cancelAtRandom(stage: Stage, count: number): Promise<void> {
  for (let round = 0; round < count; round++) {
    const random = seeded(round + 1);
    // Some answers call tools again and again: the turn goes on until it is cancelled.
    stage.provider.replyWith(() => randomAnswer(random));
    const from = stage.events.items.length;
    const after = 1 + Math.floor(random() * 40);
    const controller = new AbortController();
    const prompting = stage.prompt(`round ${round}`, controller.signal);
    const enough = stage.events.find(() => stage.events.items.length >= from + after, { from });
    await Promise.race([prompting, enough.catch(() => {})]);
    controller.abort();
    const told = await prompting;
    expect(told.error, `round ${round}`).toBeUndefined();
    expect(["cancelled", "end_turn"], `round ${round}`).toContain(told.result?.stopReason);
    stage.provider.replyWith(() => answerText("unused"));
    await expectGoesOn(stage, `after round ${round}`);
    verifyRequests(stage);
  }
}
