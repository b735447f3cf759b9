// The measured process of `bench/setup`: connects servers in parallel until their tools are listed, and prints the figures.
import type { Target } from "../lib/mcp-target.js";
import { RawStdio } from "../lib/raw-client.js";
import type { Figures } from "../lib/sample.js";
import { startTenon, untilReady } from "../lib/tenon-client.js";
import { SchemaWatch } from "./schema-watch.js";

export interface SetupJob {
  readonly client: "raw" | "tenon";
  /** Of these the tools must be there; the others only must not be in the way. */
  readonly healthy: readonly StdioTarget[];
  readonly others: readonly StdioTarget[];
  readonly work: "ready" | "memory" | "schemas";
}

export type StdioTarget = Extract<Target, { kind: "stdio" }>;

interface Side {
  readonly toolCount: number;
  readonly lists: readonly (readonly unknown[])[];
  close(): Promise<void>;
}

async function connect({ client, healthy, others }: Omit<SetupJob, "work">): Promise<Side> {
  return client === "raw" ? await connectRaw(healthy, others) : await connectTenon(healthy, others);
}

async function connectRaw(healthy: readonly StdioTarget[], others: readonly StdioTarget[]): Promise<Side> {
  // The bad ones first: whatever they cost, they cost it before the others are there.
  const bad = others.map((target) => new RawStdio(target));
  const good = healthy.map((target) => new RawStdio(target));
  const lists = await Promise.all(
    good.map(async (raw) => {
      await raw.initialize();
      return await raw.listTools();
    }),
  );
  return {
    lists,
    toolCount: countOf(lists),
    close: async () => {
      await Promise.all([...bad, ...good].map((raw) => raw.close()));
    },
  };
}

async function connectTenon(healthy: readonly StdioTarget[], others: readonly StdioTarget[]): Promise<Side> {
  const bad = others.map((target, index) => startTenon(target, `bad-${index}`));
  const good = healthy.map((target, index) => startTenon(target, `good-${index}`));
  await Promise.all(good.map((connection) => untilReady(connection)));
  const lists = good.map((connection) => connection.tools.value);
  return {
    lists,
    toolCount: countOf(lists),
    close: async () => {
      await Promise.all([...bad, ...good].map((connection) => connection.close()));
    },
  };
}

function countOf(lists: readonly (readonly unknown[])[]): number {
  return lists.reduce((sum, list) => sum + list.length, 0);
}

/** From the first spawn to the last list. */
async function measureReady(job: SetupJob): Promise<Figures> {
  const before = process.cpuUsage();
  const start = performance.now();
  const side = await connect(job);
  const readyAt = performance.now();
  const readyMs = readyAt - start;
  const { user, system } = process.cpuUsage(before);
  await side.close();
  return {
    readyMs,
    cpuMs: (user + system) / 1000,
    tools: side.toolCount,
    readyAtMs: performance.timeOrigin + readyAt,
  };
}

/** What the first list of a server holds in memory, and what each further connection with an equal one adds. */
async function measureMemory(job: SetupJob): Promise<Figures> {
  const emptyMb = await heapMb();
  const [first, ...more] = job.healthy;
  if (!first) throw new Error("there is no server to connect");
  const one = await connect({ ...job, healthy: [first] });
  const oneMb = await heapMb();
  const rest = await connect({ ...job, healthy: more });
  const allMb = await heapMb();
  const shared = rest.lists.filter((list) => list === one.lists[0]).length;
  await Promise.all([one.close(), rest.close()]);
  return { listMb: oneMb - emptyMb, addedMb: (allMb - oneMb) / more.length, shared, tools: one.toolCount };
}

async function heapMb(): Promise<number> {
  // Twice, with a turn in between: finalizers and what they held go with the second.
  for (let turn = 0; turn < 2; turn++) {
    globalThis.gc?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage().heapUsed / 1_000_000;
}

/** How often code that reads schemas ran until the tools were there, and with the first call of one of them. */
async function measureSchemas({ healthy }: SetupJob): Promise<Figures> {
  const watch = new SchemaWatch();
  const [target] = healthy;
  if (!target) throw new Error("there is no server to connect");
  const connection = startTenon(target);
  await untilReady(connection);
  const beforeFirstUse = watch.calls();
  const options = { signal: new AbortController().signal, onProgress: () => {} };
  const outcome = await connection.call("structured", { text: "a" }, options);
  const withFirstUse = watch.calls();
  await connection.close();
  if (outcome.kind !== "answered") throw new Error(`the call was ${outcome.kind}`);
  return { beforeFirstUse, withFirstUse };
}

async function main(job: SetupJob): Promise<Figures> {
  switch (job.work) {
    case "ready":
      return await measureReady(job);
    case "memory":
      return await measureMemory(job);
    case "schemas":
      return await measureSchemas(job);
  }
}

process.stdout.write(`${JSON.stringify(await main(JSON.parse(process.argv[2] ?? "null")))}\n`);
process.exit(0);
