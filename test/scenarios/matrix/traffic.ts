// A good connection beside the bad one, used all the time: what a misbehaving neighbour costs it shows in its latencies.

import type { World } from "../../../src/base/ports/world.js";
import { McpConnection } from "../../../src/mcp/index.js";
import { echoTool, scriptedServer } from "../../../src/testing/index.js";

const EVERY_MS = 10;
/** Longer than any run of cells. */
const LIFETIME_MS = 7_200_000;

export interface TrafficReport {
  readonly calls: number;
  readonly medianMs: number;
  readonly longestMs: number;
  /** What went wrong, each in one line. */
  readonly problems: readonly string[];
}

export class Neighbour implements AsyncDisposable {
  readonly #connection: McpConnection;
  #stopping: AbortController | undefined;
  #running: Promise<TrafficReport> | undefined;

  constructor(world: World, cwd: string) {
    const limits = { callsPerMinute: 1_000_000 };
    const client = { name: "matrix", version: "1" };
    const spec = {
      kind: "stdio",
      name: "good",
      ...scriptedServer({ tools: [echoTool()], maxLifetimeMs: LIFETIME_MS }),
    } as const;
    this.#connection = new McpConnection(spec, { world, cwd, client, limits });
  }

  async start(): Promise<void> {
    this.#connection.start();
    await this.#connection.state.until(({ kind }) => kind === "ready", new AbortController().signal);
  }

  begin(): void {
    this.#stopping = new AbortController();
    this.#running = this.#call(this.#stopping.signal);
  }

  async end(): Promise<TrafficReport> {
    this.#stopping?.abort();
    return (await this.#running) ?? { calls: 0, medianMs: 0, longestMs: 0, problems: ["there was no traffic"] };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.close();
  }

  async #call(stopping: AbortSignal): Promise<TrafficReport> {
    const latencies: number[] = [];
    const problems: string[] = [];
    while (!stopping.aborted) {
      const text = `call ${latencies.length}`;
      const before = performance.now();
      const options = { signal: new AbortController().signal, onProgress: () => {} };
      const outcome = await this.#connection.call("echo", { text }, options);
      latencies.push(performance.now() - before);
      if (outcome.kind !== "answered" || !JSON.stringify(outcome.content).includes(text)) {
        problems.push(`the good server: ${JSON.stringify(outcome)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
    const sorted = latencies.toSorted((a, b) => a - b);
    return {
      calls: sorted.length,
      medianMs: rounded(sorted[Math.floor(sorted.length / 2)]),
      longestMs: rounded(sorted.at(-1)),
      problems,
    };
  }
}

function rounded(ms: number | undefined): number {
  return Math.round((ms ?? 0) * 10) / 10;
}
