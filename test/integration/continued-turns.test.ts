// Turns that go on in another process, in process: recorded sessions, cut after any record, and continued.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { StdioSpec } from "../../src/mcp/index.js";
import { createHost, type SessionEvent } from "../../src/session/index.js";
import { echoTool, scriptedServer } from "../../src/testing/index.js";
import { answerText, fakeProvider } from "../../src/testing/lab/index.js";
import { nodeWorld } from "../../src/world/index.js";
import {
  continued,
  cutsOf,
  linesOf,
  Process,
  type ProcessOptions,
  type Program,
  recordSession,
} from "../continued-turns.js";
import { ID } from "../recorded-session.js";
import { cleanEnv, TemporaryFolder } from "../scenarios/agent.js";
import { TARGETS } from "../scenarios/providers/target.js";
import { scenario } from "../scenarios/scenario.js";

const step = (...calls: Program["turns"][number]["steps"][number]["calls"]) => ({
  thinks: true,
  announces: true,
  calls,
});
const MOVED = "The session moved to another process. Its servers were started again";

function programWith(...steps: ReturnType<typeof step>[]): Program {
  return { turns: [{ steps, end: "answer" }], isTight: false };
}

/** The journal as far as the last record with these words. */
function cutAfter(journal: string, words: string): string {
  const lines = journal.split("\n");
  return `${lines.slice(0, lines.findLastIndex((line) => line.includes(words)) + 1).join("\n")}\n`;
}

/** Every record of the kind, as it was written. */
function records(journal: string, kind: string) {
  return linesOf(journal).filter((line) => line.kind === kind);
}

class Stage {
  readonly #folder: TemporaryFolder;
  readonly program: Program;

  constructor(folder: TemporaryFolder, program: Program) {
    this.#folder = folder;
    this.program = program;
  }

  get taskFile(): string {
    return join(this.#folder.path, "tasks.json");
  }

  async journal(): Promise<string> {
    return (await recordSession(0, this.taskFile, this.program)).journal;
  }

  process(options: ProcessOptions = {}): Process {
    return new Process(this.program, this.taskFile, options);
  }

  /** Loaded from there by another process and continued to its end. */
  async continue(journal: string, options: ProcessOptions = {}): Promise<Process> {
    const process = this.process({ journal, ...options });
    const session = await process.load();
    await process.until(session.continueOpenTurn().catch(() => undefined));
    await process.close();
    return process;
  }
}

const SAMPLE = { sessions: 10, everyCut: 6 };

scenario(["G200", "G201", "G202"], "a sample of recorded sessions goes on from any record", async () => {
  using folder = new TemporaryFolder();
  let cuts = 0;
  for (let seed = 1; seed <= SAMPLE.sessions; seed++) {
    const taskFile = join(folder.path, `tasks-${seed}.json`);
    const recorded = await recordSession(seed, taskFile);
    for (const [index, cut] of cutsOf(recorded.journal).entries()) {
      if ((index + seed) % SAMPLE.everyCut !== 0) continue;
      cuts += 1;
      const once = await continued(recorded, taskFile, cut);
      expect(once.faults, `seed ${seed}, cut ${index}`).toEqual([]);
      if (cuts % 3 !== 0) continue;
      // And once more, from a record of the process that went on.
      const again = cutsOf(once.journal).filter(({ length }) => length > cut.length);
      const twice = await continued(recorded, taskFile, again[cuts % again.length] ?? cut);
      expect(twice.faults, `seed ${seed}, cut ${index}, and again`).toEqual([]);
    }
  }
  expect(cuts).toBeGreaterThan(50);
});

scenario(["G200"], "the answer is recorded before its first call, and calls wait for their intents", async () => {
  using folder = new TemporaryFolder();
  const journal = await new Stage(folder, programWith(step("quick", "slow"))).journal();
  const kinds = linesOf(journal).map(({ kind }) => kind);
  expect(kinds.indexOf("answer")).toBe(kinds.indexOf("call") - 1);
  const [answer] = records(journal, "answer");
  expect(answer).toMatchObject({ turn: 1, providerData: { signed: "t0s0c0,t0s0c1" }, announced: { t0s0c0: "1-1" } });
});

scenario(
  ["G202"],
  "what was sent is asked for where it lasts, sent again where that does no harm, else unknown",
  async () => {
    using folder = new TemporaryFolder();
    const stage = new Stage(folder, programWith(step("quick", "read", "work")));
    const whole = await stage.journal();
    const sent = cutAfter(whole, '"kind":"intent","toolCallId":"1-1"');
    const unknown = await stage.continue(sent);
    expect(unknown.reached).toEqual([]);
    expect(records(unknown.journal, "outcome")).toMatchObject([
      { outcome: { kind: "unknown" } },
      { outcome: { kind: "done" } },
      { outcome: { kind: "done" } },
    ]);
    const repeated = await stage.continue(sent, { repeatable: "quick" });
    expect(repeated.reached).toEqual(["t0s0c0"]);
    expect(records(repeated.journal, "outcome")).toMatchObject([
      { outcome: { kind: "done" } },
      { outcome: { kind: "done" } },
      { outcome: { kind: "done" } },
    ]);
    const task = await stage.continue(cutAfter(whole, '"kind":"task"'));
    expect(task.reached).toEqual([]);
    expect(records(task.journal, "task")).toHaveLength(1);
    expect(JSON.stringify(records(task.journal, "outcome"))).toContain("the-one-result");
    expect(records(task.journal, "end")).toMatchObject([{ turn: 1, stopReason: "end_turn" }]);
  },
);

scenario(
  ["G204"],
  "the model is told once that the servers are new, and people that the answer begins again",
  async () => {
    using folder = new TemporaryFolder();
    const stage = new Stage(folder, programWith(step("quick"), step("slow")));
    const whole = await stage.journal();
    const process = await stage.continue(cutAfter(whole, '"text":"answer 0-1 "'));
    const last = JSON.stringify(process.requests.at(-1));
    expect(last.split(MOVED)).toHaveLength(2);
    expect(process.events).toContainEqual({
      kind: "notice",
      level: "info",
      text: "The answer was broken off and begins again.",
    });
    const told = process.events.flatMap((event) => (event.kind === "turn" ? [event.event.kind] : []));
    expect(told.filter((kind) => kind === "call_started")).toHaveLength(1);
    expect(process.events.filter(({ kind }) => kind === "turn_ended")).toMatchObject([
      { turn: 1, stopReason: "end_turn" },
    ]);
    const whileCalling = await stage.continue(cutAfter(whole, '"kind":"call","toolCallId":"1-1"'));
    const [results] = whileCalling.requests[0]?.flatMap((one) => (one.role === "tool" ? [one.results] : [])) ?? [];
    expect(results?.[0]?.content[0]).toMatchObject({ text: expect.stringContaining(`[tenon: ${MOVED}`) });
  },
);

scenario(["G205"], "a turn that gets no further in three processes is given up; draining does not count", async () => {
  using folder = new TemporaryFolder();
  const stage = new Stage(folder, programWith(step("quick")));
  let journal = cutAfter(await stage.journal(), '"kind":"intent"');
  for (let attempt = 1; attempt <= 3; attempt++) {
    const process = await stage.continue(journal);
    expect(records(process.journal, "continued").at(-1)).toMatchObject({ turn: 1, attempt });
    journal = cutAfter(process.journal, '"kind":"continued"');
  }
  const drained = `${journal}${JSON.stringify({ seq: linesOf(journal).length + 1, t: 1, kind: "drained", turn: 1 })}\n`;
  expect(records((await stage.continue(drained)).journal, "end")).toHaveLength(1);
  const last = await stage.continue(journal);
  expect(records(last.journal, "continued")).toHaveLength(3);
  expect(records(last.journal, "error")).toMatchObject([{ turn: 1, code: "session.gave_up" }]);
  expect(records(last.journal, "outcome")).toMatchObject([{ outcome: { kind: "unknown" } }]);
});

scenario(
  ["G206"],
  "a turn that is drained waits for its call, tells nobody of an end, and goes on elsewhere",
  async () => {
    using folder = new TemporaryFolder();
    const stage = new Stage(folder, programWith(step("slow", "quick"), step("quick")));
    const first = stage.process();
    const session = await first.open();
    const prompt = session.prompt("turn-0").catch((error: unknown) => error);
    while (!first.journal.includes('"kind":"intent"')) await first.world.advance(1);
    await first.until(session.drain(10_000));
    expect(await prompt).toMatchObject({ code: "session.closed" });
    await first.close();
    expect(first.reached).toEqual(["t0s0c0"]);
    expect(records(first.journal, "outcome")).toMatchObject([{ toolCallId: "1-1", outcome: { kind: "done" } }]);
    expect(linesOf(first.journal).at(-1)).toMatchObject({ kind: "drained", turn: 1 });
    expect(first.events.some(({ kind }) => kind === "turn_ended")).toBe(false);
    const next = await stage.continue(first.journal);
    expect(records(next.journal, "continued")).toMatchObject([{ attempt: 0 }]);
    expect(next.reached).toEqual(["t0s1c0"]); // the person does not allow the second call
    expect(records(next.journal, "end")).toMatchObject([{ turn: 1, stopReason: "end_turn" }]);
  },
);

scenario(
  ["G206"],
  "a call that outlasts the time of a drain is left with its outcome unknown; an idle session just closes",
  async () => {
    using folder = new TemporaryFolder();
    const stage = new Stage(folder, programWith(step("slow")));
    const first = stage.process();
    const session = await first.open();
    const prompt = session.prompt("turn-0").catch(() => undefined);
    while (!first.journal.includes('"kind":"intent"')) await first.world.advance(1);
    await first.until(session.drain(5));
    await prompt;
    await first.close();
    expect(records(first.journal, "outcome")).toEqual([]);
    const next = stage.process({ journal: first.journal });
    const again = await next.load();
    await next.until(again.continueOpenTurn());
    expect(records(next.journal, "outcome")).toMatchObject([{ outcome: { kind: "unknown" } }]);
    await next.until(again.drain(1_000));
    await next.close();
    expect(linesOf(next.journal).at(-1)).toMatchObject({ kind: "closed" });
  },
);

scenario(["G207"], "prompts that wait for the turn by its id get its end, and the queue is run after it", async () => {
  using folder = new TemporaryFolder();
  const program: Program = {
    turns: [
      { steps: [step("slow")], end: "answer" },
      { steps: [], end: "length" },
    ],
    isTight: false,
  };
  const stage = new Stage(folder, program);
  const first = stage.process({ maxQueuedPrompts: 8 });
  const session = await first.open();
  const prompts = [
    session.prompt("turn-0", undefined, { promptId: "p0" }),
    session.prompt("turn-1", undefined, { promptId: "p1" }),
  ];
  for (const prompt of prompts) prompt.catch(() => undefined);
  while (!first.journal.includes('"kind":"intent"')) await first.world.advance(1);
  const killed = first.journal;
  await first.close();
  const next = stage.process({ journal: killed, maxQueuedPrompts: 8 });
  const again = await next.load();
  const joined = again.prompt("turn-0", undefined, { promptId: "p0" });
  const queued = again.prompt("turn-1", undefined, { promptId: "p1" });
  await next.until(again.continueOpenTurn());
  expect(await next.until(joined)).toMatchObject({ turn: 1, stopReason: "end_turn" });
  expect(await next.until(queued)).toMatchObject({ turn: 2, stopReason: "max_tokens" });
  await next.close();
  const last = stage.process({ journal: next.journal, maxQueuedPrompts: 8 });
  const after = await last.load();
  expect(await after.continueOpenTurn()).toBeUndefined();
  expect(await after.prompt("turn-0", undefined, { promptId: "p0" })).toMatchObject({
    turn: 1,
    stopReason: "end_turn",
  });
  expect(last.requests).toEqual([]);
  await last.close();
});

scenario(["G208"], "what was over is not run again, and neither is a command or the turn of a copy", async () => {
  using folder = new TemporaryFolder();
  const stage = new Stage(folder, programWith(step("quick")));
  const whole = await stage.journal();
  const over = await stage.continue(cutAfter(whole, '"signed":"the end"'));
  expect(over.requests).toEqual([]);
  expect(records(over.journal, "end")).toMatchObject([{ stopReason: "end_turn" }]);
  const lines = whole.split("\n");
  const command = { kind: "prompt", turn: 1, content: [{ type: "text", text: "/mcp" }], isCommand: true };
  const atCommand = `${lines[0]}\n${JSON.stringify({ seq: 1, t: 1, ...command })}\n`;
  expect(records((await stage.continue(atCommand)).journal, "error")).toMatchObject([{ code: "session.closed" }]);
  const open = cutAfter(whole, '"kind":"call","toolCallId":"1-1"');
  const process = stage.process({ journal: open });
  const { session: copy } = await process.host.forkSession({ id: ID, cwd: "/project" });
  expect(await copy.continueOpenTurn()).toBeUndefined();
  await process.close();
  expect(process.requests).toEqual([]);
  const ended = await stage.continue(open, { openTurns: "end" });
  expect(records(ended.journal, "error")).toMatchObject([{ code: "session.closed" }]);
  expect(ended.requests).toEqual([]);
});

for (const target of TARGETS) {
  scenario(["G203"], `${target.name}: a tool turn that another process continues is taken`, async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider({ schemaFaults: target.schemaFaults });
    const env = cleanEnv(home.path, target.env(provider));
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const server: StdioSpec = { kind: "stdio", name: "s", ...scriptedServer({ tools: [echoTool()] }) };
    const about = { id: "signed", cwd: home.path, servers: [server] };
    const runtime = () =>
      createHost({
        world: nodeWorld({ env, log }),
        model: target.model,
        stateDir: home.path,
        openTurns: "continue",
      });
    const call = (text: string) => ({ kind: "tool_call", name: "mcp__s__echo", arguments: { text } }) as const;
    provider.reply(
      {
        kind: "answer",
        parts: [
          { kind: "thought", text: "First I think." },
          { kind: "text", text: "Look. " },
          call("one"),
          call("two"),
        ],
      },
      { kind: "answer", parts: [{ kind: "thought", text: "Then I know." }, call("three")] },
      answerText("Done."),
    );
    {
      await using host = runtime();
      const session = host.createSession(about);
      session.attach({ ask: async () => "always" });
      await session.prompt("think");
    }
    const file = join(home.path, "sessions/signed.ndjson");
    const whole = readFileSync(file, "utf8");
    for (const words of [
      '"kind":"call","toolCallId":"1-2"',
      '"toolCallId":"1-1","outcome"',
      '"kind":"call","toolCallId":"1-3"',
    ]) {
      writeFileSync(file, cutAfter(whole, words));
      if (!words.includes("1-3"))
        provider.reply({ kind: "answer", parts: [{ kind: "thought", text: "Then I know." }, call("three")] });
      provider.reply(answerText("Done again."));
      await using host = runtime();
      const { session } = await host.loadSession(about);
      session.attach({ ask: async () => "always" });
      const reading = textsOf(session.events());
      expect(await session.continueOpenTurn(), words).toMatchObject({ stopReason: "end_turn" });
      await session.close();
      expect(await reading).toContain("Done again.");
    }
    expect(provider.refusals.map(({ fault }) => fault)).toEqual([]);
    // Gemini takes this word instead of a signature, so it does not refuse a conversation whose signatures were lost.
    const bodies = JSON.stringify(provider.requests.map(({ body }) => body));
    expect(bodies).not.toContain("skip_thought_signature_validator");
    expect(provider.unusedReplies).toBe(0);
  });
}

async function textsOf(events: AsyncIterable<SessionEvent>): Promise<string> {
  let words = "";
  for await (const event of events) if (event.kind === "turn" && event.event.kind === "text") words += event.event.text;
  return words;
}
