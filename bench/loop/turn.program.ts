// One sample of the loop bench: chunks or tool calls, through a turn or past it; or a thousand turns and what they leave in memory.

import { Cell } from "../../src/base/async/cell.js";
import type { JsonObject } from "../../src/base/json/json.js";
import { text } from "../../src/base/text/content.js";
import { markContent } from "../../src/base/text/marking.js";
import { runTurn, TokenMeter, Transcript, type Turn } from "../../src/engine/index.js";
import type { Model, ModelEvent } from "../../src/models/index.js";
import { mcpSource, type Offer, ResultStore, snapshot, type ToolSource } from "../../src/tools/index.js";
import { nodeWorld } from "../../src/world/index.js";
import type { Target } from "../lib/mcp-target.js";
import { median } from "../lib/statistics.js";
import { startTenon, untilReady } from "../lib/tenon-client.js";

export type LoopJob =
  | { readonly kind: "chunks"; readonly side: Side; readonly count: number }
  | { readonly kind: "calls"; readonly side: Side; readonly count: number; readonly target: Target }
  | { readonly kind: "turns"; readonly count: number; readonly folder: string };

/** `direct`: what is behind the loop, used by hand. */
export type Side = "direct" | "tenon";

const world = nodeWorld();
const signal = new AbortController().signal;
const WORDS = "about as much as one chunk has";
/** Steps of one turn: a new turn begins well before the limit of model calls. */
const CALLS_PER_TURN = 50;
const WARM_UP = 3;
const FINISH: ModelEvent = { kind: "finish", reason: "stop", usage: { inputTokens: 10, outputTokens: 10 } };

function turnWith(model: Model, offer: Offer, more: Partial<Turn> = {}): Turn {
  const transcript = new Transcript();
  return {
    number: 1,
    model,
    system: "",
    transcript,
    meter: new TokenMeter(),
    offer: () => offer,
    ports: {
      world,
      results: new ResultStore({ world }),
      approve: async () => ({ kind: "allowed" }),
      journal: { intent: () => undefined },
    },
    ...more,
  };
}

async function play(turn: Turn, prompt: string): Promise<number> {
  turn.transcript.addUser(markContent([text(prompt)]));
  let events = 0;
  const running = runTurn(turn, signal);
  for (;;) {
    const step = await running.next();
    if (step.done) {
      if (step.value.stopReason !== "end_turn") throw new Error(`the turn ended with ${step.value.stopReason}`);
      return events;
    }
    events += 1;
  }
}

/** Each chunk comes in a turn of the microtask queue of its own, as those of a stream do. */
function chunkModel(count: number): Model {
  return {
    id: "bench/chunks",
    stream: async function* () {
      for (let index = 0; index < count; index++) {
        await Promise.resolve();
        yield { kind: "text", text: WORDS };
      }
      yield FINISH;
    },
  };
}

async function chunks(side: Side, count: number): Promise<JsonObject> {
  const model = chunkModel(count);
  const empty = snapshot([]);
  const once = async () => {
    if (side === "tenon") return await play(turnWith(model, empty), "go");
    let events = 0;
    for await (const _ of model.stream({ system: "", messages: [], tools: [] }, signal)) events += 1;
    return events;
  };
  await once();
  return { us: (await elapsedUs(once)) / count };
}

/** Calls one tool in step after step, never twice with the same arguments, and takes the time from one step to the next. */
function callingModel(tool: string, steps: number, stepsUs: number[]): Model {
  let call = 0;
  let lastMs = 0;
  return {
    id: "bench/calls",
    stream: async function* ({ messages }) {
      const nowMs = performance.now();
      if (call > 0) stepsUs.push((nowMs - lastMs) * 1000);
      lastMs = nowMs;
      const done = messages.filter(({ role }) => role === "tool").length;
      if (done < steps) {
        call += 1;
        const argumentsJson = JSON.stringify({ text: `${WORDS} ${call}` });
        yield { kind: "tool_call", call: { callId: `c${call}`, name: tool, argumentsJson } };
        yield { kind: "finish", reason: "tool_calls" };
      } else {
        yield { kind: "text", text: "done" };
        yield FINISH;
      }
    },
  };
}

async function calls(side: Side, count: number, target: Target): Promise<JsonObject> {
  const connection = startTenon(target);
  await untilReady(connection);
  const offer = snapshot([mcpSource(connection, "client")]);
  const tool = offer.tools.find(({ definition }) => definition.name === "echo")?.id;
  if (tool === undefined) throw new Error("the server has no echo");
  const options = { signal, onProgress: () => {} };
  const byHand = async (many: number) => {
    const timesUs: number[] = [];
    for (let index = 0; index < many; index++) {
      timesUs.push(await elapsedUs(() => connection.call("echo", { text: `${WORDS} ${index}` }, options)));
    }
    return timesUs;
  };
  const inTurns = async (many: number) => {
    const timesUs: number[] = [];
    for (let done = 0; done < many; done += CALLS_PER_TURN) {
      await play(turnWith(callingModel(tool, CALLS_PER_TURN, timesUs), offer), "go");
    }
    return timesUs;
  };
  const once = side === "tenon" ? inTurns : byHand;
  await once(count * WARM_UP); // the compiler of V8 needs its time
  const us = median(await once(count));
  await connection.close();
  return { us };
}

async function elapsedUs(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return (performance.now() - start) * 1000;
}

/** One conversation: it is compacted again and again, and what is put away goes to the disk. */
async function turns(count: number, folder: string): Promise<JsonObject> {
  const source: ToolSource = {
    name: "s",
    origin: "client",
    tools: new Cell([{ name: "t", description: "", inputSchema: { type: "object" } }]),
    call: async ({ arguments: given }) => ({ kind: "done", content: [text(`${JSON.stringify(given)} `.repeat(100))] }),
  };
  const offer = snapshot([source]);
  const transcript = new Transcript();
  const meter = new TokenMeter();
  const results = new ResultStore({ world, folder });
  const quarter = Math.floor(count / 4);
  let afterQuarterMb = 0;
  for (let number = 1; number <= count; number++) {
    const model: Model = {
      id: "bench/turns",
      abilities: { contextTokens: 20_000, images: false, audio: false, pdf: false, thinking: [] },
      stream: async function* ({ messages, tools }) {
        const isAnswered = messages.at(-1)?.role === "tool" || tools.length === 0;
        if (!isAnswered) {
          yield { kind: "tool_call", call: { callId: "c", name: "mcp__s__t", argumentsJson: `{"n":${number}}` } };
          yield { kind: "finish", reason: "tool_calls" };
          return;
        }
        yield { kind: "text", text: `answer ${number} ${WORDS.repeat(10)}` };
        yield FINISH;
      },
    };
    const ports = {
      world,
      results,
      approve: async () => ({ kind: "allowed" }) as const,
      journal: { intent: () => undefined },
    };
    await play(turnWith(model, offer, { number, transcript, meter, ports }), `prompt ${number}`);
    if (number === quarter) afterQuarterMb = heapMb();
  }
  const endMb = heapMb();
  await results[Symbol.asyncDispose]();
  return { afterQuarterMb, endMb, growthMb: endMb - afterQuarterMb, messages: transcript.messages.length };
}

function heapMb(): number {
  if (!globalThis.gc) throw new Error("start it with --expose-gc");
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed / 1_048_576;
}

async function main(job: LoopJob): Promise<JsonObject> {
  switch (job.kind) {
    case "chunks":
      return await chunks(job.side, job.count);
    case "calls":
      return await calls(job.side, job.count, job.target);
    case "turns":
      return await turns(job.count, job.folder);
  }
}

const job: LoopJob = JSON.parse(process.argv[2] ?? "{}");
process.stdout.write(`${JSON.stringify(await main(job))}\n`);
