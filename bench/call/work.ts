// What a measured client does: small calls one by one and many at once, or large results under a watch on the event loop.
import type { BenchClient } from "../lib/mcp-target.js";
import type { Figures } from "../lib/sample.js";
import { median } from "../lib/statistics.js";

export type Work =
  | { readonly kind: "small"; readonly tool: string; readonly calls: number }
  | { readonly kind: "large"; readonly bytes: number; readonly calls: number };

const AT_ONCE = 64;
const TEXT = "a small text, as most arguments are";
/** Large results: what is measured first includes growing the heap, for everyone. */
const LARGE_WARM_UP = 2;

export async function measure(client: BenchClient, work: Work): Promise<Figures> {
  return work.kind === "small" ? await smallCalls(client, work) : await largeResults(client, work);
}

async function smallCalls(client: BenchClient, { tool, calls }: Extract<Work, { kind: "small" }>): Promise<Figures> {
  const call = () => client.call(tool, { text: TEXT });
  const burst = calls * 4;
  // The compiler of V8 needs its time, and what many at once ran for the first time it compiles anew.
  await oneByOne(call, calls);
  await manyAtOnce(call, burst);
  await oneByOne(call, calls);
  const row = await oneByOne(call, calls);
  const crowd = await manyAtOnce(call, burst);
  return {
    cpuUs: row.cpuUs / calls,
    p50Us: median(row.timesMs) * 1000,
    burstCpuUs: crowd.cpuUs / burst,
    callsPerSecond: burst / (crowd.elapsedMs / 1000),
  };
}

async function oneByOne(call: () => Promise<number>, count: number): Promise<{ cpuUs: number; timesMs: number[] }> {
  const timesMs: number[] = [];
  const before = process.cpuUsage();
  for (let index = 0; index < count; index++) {
    const start = performance.now();
    await call();
    timesMs.push(performance.now() - start);
  }
  return { cpuUs: cpuSince(before), timesMs };
}

async function manyAtOnce(call: () => Promise<number>, count: number): Promise<{ cpuUs: number; elapsedMs: number }> {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await call();
  };
  const before = process.cpuUsage();
  const start = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { cpuUs: cpuSince(before), elapsedMs: performance.now() - start };
}

async function largeResults(client: BenchClient, { bytes, calls }: Extract<Work, { kind: "large" }>): Promise<Figures> {
  const call = async () => {
    const size = await client.call("image", { bytes });
    if (size !== bytes) throw new Error(`the result has ${size} bytes instead of ${bytes}`);
    return size;
  };
  const watch = new LoopWatch();
  await oneByOne(call, LARGE_WARM_UP);
  const { cpuUs, timesMs } = await oneByOne(call, calls);
  await client.call("echo", { text: TEXT }); // the connection is still there
  return { p50Ms: median(timesMs), cpuMs: cpuUs / 1000 / calls, blockMs: watch.stop() };
}

function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** The longest time that a timer of one millisecond had to wait. */
class LoopWatch {
  #last = performance.now();
  #longestMs = 0;
  #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#tick(), 1);
  }

  stop(): number {
    this.#tick();
    clearInterval(this.#timer);
    return this.#longestMs;
  }

  #tick(): void {
    const now = performance.now();
    this.#longestMs = Math.max(this.#longestMs, now - this.#last);
    this.#last = now;
  }
}
