// Long conversations: they stay within the window, valid for every provider, and what went can still be read.
import { expect, test } from "vitest";
import {
  answers,
  calls,
  callsWith,
  eventsOf,
  fails,
  modelOf,
  type RunOptions,
  run,
  type Script,
  says,
  scripted,
  stop,
  TOOL,
  turnOf,
} from "../../test/scripted-turn.js";
import { Cell } from "../base/async/cell.js";
import { plainText, text } from "../base/text/content.js";
import { markContent } from "../base/text/marking.js";
import type { Model, ModelMessage, ModelRequest } from "../models/index.js";
import { fakeWorld } from "../testing/index.js";
import { ResultStore, resultTools, snapshot, type ToolSource } from "../tools/index.js";
import { compactBetweenTurns } from "./compact.js";
import { Transcript, transcriptProblems } from "./transcript.js";
import { TokenMeter, type TurnEvent } from "./turn.js";

const abilities: NonNullable<Model["abilities"]> = {
  contextTokens: 8_000,
  images: false,
  audio: false,
  pdf: false,
  thinking: [],
};

const isSummaryRequest = ({ system }: ModelRequest) => system.includes("summary");

/** Writes summaries when asked for one, and plays the script otherwise. */
function summarising(script: Script, summary: Script = answers("SUMMARY OF IT ALL")) {
  return modelOf(
    (request, signal) => (isSummaryRequest(request) ? summary(request, signal) : script(request, signal)),
    {
      abilities,
    },
  );
}

function longTalk(turns: number, chars = 2_000): Transcript {
  const transcript = new Transcript();
  for (let turn = 0; turn < turns; turn++) {
    transcript.addUser(markContent([text(`prompt ${turn} ${"p".repeat(chars)}`)]));
    transcript.addAnswer(`answer ${turn} ${"a".repeat(chars)}`);
  }
  return transcript;
}

function wordsOf(messages: readonly ModelMessage[]): string {
  return JSON.stringify(messages);
}

test("before the window is full, the older part becomes a summary, and the recent part stays word for word", async () => {
  const transcript = longTalk(12);
  const before = [...transcript.messages];
  const model = summarising(answers("done"));
  const { end, events } = await run(model, { transcript, prompt: "the newest prompt" });
  expect(end.stopReason).toBe("end_turn");
  const [started, done] = eventsOf(events, "compaction");
  expect(started).toMatchObject({ phase: "started", cause: "window" });
  expect(done).toMatchObject({ phase: "done", means: "model", summary: "SUMMARY OF IT ALL" });
  if (done?.phase !== "done") throw new Error("not done");
  expect(done.compactionId).toBe(started?.compactionId);
  expect(done.afterTokens).toBeLessThan(abilities.contextTokens / 2);
  expect(done.before.slice(0, -1)).toEqual(before);
  const [asked] = model.requests.filter((request) => !isSummaryRequest(request));
  expect(wordsOf(asked?.messages ?? [])).toContain("SUMMARY OF IT ALL");
  expect(asked?.messages.at(-1)).toEqual({ role: "user", content: [text("the newest prompt")] });
  expect(asked?.messages.at(-2)).toEqual(before.at(-1));
  expect(wordsOf(asked?.messages ?? [])).not.toContain("prompt 0 ");
  expect(transcriptProblems(transcript.messages)).toEqual([]);
});

test("what was before can be put back", async () => {
  const transcript = longTalk(12);
  const { events } = await run(summarising(answers("done")), { transcript });
  const done = eventsOf(events, "compaction").find((event) => event.phase === "done");
  if (done?.phase !== "done") throw new Error("not done");
  expect(Transcript.from(done.before).messages).toEqual(done.before);
  expect(Transcript.from(done.after).messages).toEqual(done.after);
});

test.each([
  ["fails", fails("model.quota")],
  ["gives an empty one", says(stop)],
  ["calls a tool instead", calls("mcp__s__t")],
  ["hangs", hanging()],
])("when the model %s, Tenon writes the summary itself, and the turn goes on", async (_, summary) => {
  const world = fakeWorld();
  const running = run(summarising(answers("done"), summary), { transcript: longTalk(12, 1_500), world });
  await world.advance(200_000);
  const { end, events } = await running;
  expect(end.stopReason).toBe("end_turn");
  const done = eventsOf(events, "compaction").at(-1);
  expect(done).toMatchObject({ phase: "done", means: "host" });
  expect(done?.phase === "done" && done.summary).toMatch(/PERSON: prompt 0 [\s\S]*AGENT: answer 0 /);
  expect(world.clock.pendingTimers).toBe(0);
});

/** Never says anything, and heeds no signal. */
function hanging(): Script {
  const never = new Promise<never>(() => {});
  return () => ({ [Symbol.asyncIterator]: () => ({ next: () => never }) });
}

test("where handles are enough, no summary is asked for", async () => {
  const call = async () => ({ kind: "done", content: [text("result ".repeat(900))] }) as const;
  const transcript = new Transcript();
  const results = new ResultStore({ world: fakeWorld() });
  const meter = new TokenMeter();
  const seen: TurnEvent[] = [];
  for (let number = 1; number <= 6; number++) {
    let count = 0;
    const model = summarising(
      (request, signal) => (count++ === 0 ? calls("mcp__s__t") : answers("ok"))(request, signal),
      fails("internal"),
    );
    const { events } = await run(model, { transcript, results, meter, call, number });
    expect(model.requests.filter(isSummaryRequest)).toEqual([]);
    seen.push(...events);
  }
  expect(eventsOf(seen, "compaction").at(-1)).toMatchObject({ phase: "done", means: "handles", summary: "" });
  const [first] = transcript.messages.filter(({ role }) => role === "tool");
  expect(wordsOf(first ? [first] : [])).toContain("kept as r1");
});

test("a turn that alone fills the window is compacted in its middle: its prompt and its last steps stay", async () => {
  let count = 0;
  const model = summarising(async function* (request, signal) {
    count += 1;
    if (count > 40) yield* answers("done")(request, signal);
    else yield* callsWith(["mcp__s__t", `{"step":${count},"note":"${"n".repeat(1_500)}"}`])(request, signal);
  });
  const { end, events, transcript } = await run(model, { prompt: "THE TASK" });
  expect(end.stopReason).toBe("end_turn");
  expect(eventsOf(events, "compaction").some((event) => event.phase === "done")).toBe(true);
  for (const request of model.requests.filter((one) => !isSummaryRequest(one))) {
    expect(transcriptProblems(request.messages)).toEqual([]);
    expect(request.messages.some((message) => wordsOf([message]).includes('"text":"THE TASK"'))).toBe(true);
    expect(wordsOf(request.messages).length).toBeLessThan(40_000);
  }
  expect(transcriptProblems(transcript.messages)).toEqual([]);
});

test("one step whose results alone fill the window: they are read by handle", async () => {
  const names = Array.from({ length: 12 }, () => "mcp__s__t");
  const model = modelOf(
    (request, signal, index) => (index === 0 ? calls(...names) : answers("done"))(request, signal),
    {
      abilities,
    },
  );
  const { end, events } = await run(model, {
    call: async () => ({ kind: "done", content: [text("result ".repeat(1_000))] }),
  });
  expect(end.stopReason).toBe("end_turn");
  expect(eventsOf(events, "compaction").at(-1)).toMatchObject({ phase: "done", means: "handles" });
  expect(wordsOf(model.requests[1]?.messages ?? []).length).toBeLessThan(20_000);
});

test("what is pinned stays word for word, over any number of compactions", async () => {
  const transcript = longTalk(12);
  const more = { pinned: () => [text("PINNED: never touch prod")] };
  for (let turn = 1; turn <= 3; turn++) {
    const model = summarising(answers("a".repeat(8_000)));
    await run(model, { transcript, number: turn, more });
    const request = model.requests.findLast((one) => !isSummaryRequest(one));
    expect(wordsOf(request?.messages ?? []).split("PINNED: never touch prod")).toHaveLength(2);
    for (let extra = 0; extra < 6; extra++) {
      transcript.addUser(markContent([text("p".repeat(3_000))]));
      transcript.addAnswer("b".repeat(3_000));
    }
  }
});

test("when the provider says that it is too long, it is compacted once and asked again", async () => {
  const transcript = longTalk(4);
  const model = modelOf(
    (request, signal, index) => {
      if (isSummaryRequest(request)) return answers("SHORT")(request, signal);
      return (index === 0 ? fails("model.context_overflow") : answers("done"))(request, signal);
    },
    { abilities: { ...abilities, contextTokens: 1_000_000 } },
  );
  const meter = new TokenMeter();
  const { end, events } = await run(model, { transcript, meter });
  expect(end.stopReason).toBe("end_turn");
  expect(eventsOf(events, "compaction")).toMatchObject([
    { phase: "started", cause: "overflow" },
    { phase: "done", means: "model" },
  ]);
  expect(meter.windowOf(model)).toBeLessThan(10_000);
});

test("when that does not help either, the provider's own error is told", async () => {
  const model = summarising(fails("model.context_overflow"));
  const transcript = longTalk(4);
  await expect(run(model, { transcript })).rejects.toMatchObject({ code: "model.context_overflow" });
  expect(model.requests.filter((request) => !isSummaryRequest(request))).toHaveLength(2);
  await expect(run(model, { prompt: "x".repeat(90_000) })).rejects.toMatchObject({ code: "model.context_overflow" });
});

test("cancelled while it is being summarised: nothing is changed", async () => {
  const transcript = longTalk(12);
  const before = [...transcript.messages];
  const controller = new AbortController();
  const model = summarising(answers("done"), async function* () {
    controller.abort();
    yield { kind: "text", text: "late" };
  });
  const { end, events } = await run(model, { transcript, signal: controller.signal });
  expect(end.stopReason).toBe("cancelled");
  expect(eventsOf(events, "compaction").map(({ phase }) => phase)).toEqual(["started", "cancelled"]);
  expect(transcript.messages.slice(0, before.length)).toEqual(before);
  expect(transcriptProblems(transcript.messages)).toEqual([]);
});

async function compactNow(model: Model, options: RunOptions): Promise<{ events: TurnEvent[]; isDone: boolean }> {
  const { turn } = turnOf(model, options);
  const running = compactBetweenTurns(turn, new AbortController().signal);
  const events: TurnEvent[] = [];
  for (;;) {
    const step = await running.next();
    if (step.done) return { events, isDone: step.value };
    events.push(step.value);
  }
}

test("a person can ask for it, however short the conversation is; the last turn stays", async () => {
  const transcript = longTalk(3);
  const last = transcript.messages.slice(-2);
  const { events, isDone } = await compactNow(summarising(answers("x")), { transcript });
  expect(isDone).toBe(true);
  expect(eventsOf(events, "usage")).toHaveLength(1);
  expect(eventsOf(events, "compaction").at(-1)).toMatchObject({ phase: "done", means: "model" });
  expect(transcript.messages.slice(-2)).toEqual(last);
});

test("asked for with nothing to shorten, it says so", async () => {
  for (const transcript of [new Transcript(), longTalk(1)]) {
    const { events, isDone } = await compactNow(scripted(answers("x")), { transcript });
    expect(isDone).toBe(false);
    expect(events).toMatchObject([{ kind: "compaction", phase: "failed" }]);
  }
});

test("a text of 12 MB in a result: the next request to the model stays under 300 KB", async () => {
  const model = modelOf(
    (request, signal, index) => (index < 3 ? calls("mcp__s__t") : answers("done"))(request, signal),
    {
      abilities: { ...abilities, contextTokens: 1_000_000 },
    },
  );
  const { end } = await run(model, {
    call: async () => ({ kind: "done", content: [text("a line of text that is long\n".repeat(430_000))] }),
  });
  expect(end.stopReason).toBe("end_turn");
  for (const request of model.requests) expect(Buffer.byteLength(JSON.stringify(request))).toBeLessThan(300_000);
});

test("200 turns with large results stay within the window, and the last one still reads the first result", async () => {
  const world = fakeWorld();
  const results = new ResultStore({ world });
  const transcript = new Transcript();
  const meter = new TokenMeter();
  let number = 0;
  const call: ToolSource["call"] = async () => ({
    kind: "done",
    content: [text(`first line of result ${number}\n${"x".repeat(60)}\n`.repeat(1_500))],
  });
  const own: ToolSource = { name: "s", origin: "client", tools: new Cell([TOOL]), call };
  const offer = snapshot([own, resultTools(results)]);
  const bounded = { ...abilities, contextTokens: 60_000 };
  let most = 0;
  const oneTurn = async (name: string, args: string) => {
    number += 1;
    const model = modelOf(
      (request, signal, index) => {
        if (isSummaryRequest(request)) return answers(`summary at ${number}`)(request, signal);
        most = Math.max(most, Buffer.byteLength(JSON.stringify(request.messages)));
        return (index === 0 ? callsWith([name, args]) : answers(`answer ${number}`))(request, signal);
      },
      { abilities: bounded },
    );
    await run(model, { transcript, meter, results, world, number, offer: () => offer });
    return model;
  };
  for (let turn = 0; turn < 199; turn++) await oneTurn("mcp__s__t", "{}");
  const last = await oneTurn("tenon_read_result", '{"handle":"r1","lines":1}');
  const read = last.requests.at(-1)?.messages.at(-1);
  expect(read?.role === "tool" && plainText(read.results[0]?.content ?? [])).toContain("first line of result 1\n");
  expect(wordsOf(last.requests.at(-1)?.messages ?? [])).toMatch(/the results r1 to r\d+ are kept as well/);
  expect(most).toBeLessThan(240_000);
  expect(transcriptProblems(transcript.messages)).toEqual([]);
});
