// Gateways on PostgreSQL: what an append takes while many sessions stream, and prompts a second against files.
import { startPostgres } from "../../test/postgres.js";
import type { Program } from "../lib/sample.js";
import { median } from "../lib/statistics.js";
import type { Order } from "../stream/order.js";
import { BenchGateway, type SocketClient } from "./gateway.js";

const SESSIONS = 200;
/** A connection has so many requests under way, and a few more. */
const PER_CLIENT = 100;
/** As a model of 20 tokens a second streams. */
const STREAM: Order = { count: 160, gapMs: 50, says: "number" };
/** About one statement takes so long: the median of what is seen is that of statements. */
const LOOK_MS = 10;

export interface AppendsResult {
  readonly sessions: number;
  readonly recordsPerStatement: number;
  /** Of a statement, the median. */
  readonly appendMs: number;
}

/** All sessions of one node stream at once; what is committed survives the machine, as it does where people work. */
export async function measureAppends(program: Program): Promise<AppendsResult> {
  await using postgres = await startPostgres({ fsync: true });
  await using gateway = await BenchGateway.start(program, [], { url: await postgres.database(), name: "appends" });
  const sessions: { readonly client: SocketClient; readonly id: string }[] = [];
  for (let index = 0; index < SESSIONS / PER_CLIENT; index++) {
    const client = await gateway.client();
    for (const id of await openAll(client, PER_CLIENT, program.cwd)) sessions.push({ client, id });
  }
  for (const { client, id } of sessions.slice(0, 5)) await client.stream(id, { ...STREAM, count: 5 }); // does not count
  const looks = [await gateway.figures(false)];
  const over = new AbortController();
  const streams = Promise.all(sessions.map(({ client, id }) => client.stream(id, STREAM))).finally(() => over.abort());
  while (!over.signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    looks.push(await gateway.figures(false));
  }
  await streams;
  const [first, last] = [looks[0], looks.at(-1)];
  if (!first || !last) throw new Error("there are no figures");
  const times = looks.slice(1).flatMap((look, index) => {
    const before = looks[index];
    const batches = look.appendBatches - (before?.appendBatches ?? 0);
    return batches > 0 ? [(look.appendMs - (before?.appendMs ?? 0)) / batches] : [];
  });
  return {
    sessions: SESSIONS,
    recordsPerStatement: (last.appendedRecords - first.appendedRecords) / (last.appendBatches - first.appendBatches),
    appendMs: median(times),
  };
}

const PROMPTING = 24;
/** A short answer. */
const ANSWER: Order = { count: 10, gapMs: 0, says: "number", isApart: true };

export interface PromptsResult {
  readonly where: string;
  readonly promptsPerSecond: number;
  /** To files, in the same run. */
  readonly ratio: number;
}

export async function measurePrompts(program: Program, forMs: number): Promise<readonly PromptsResult[]> {
  await using postgres = await startPostgres({ fsync: true });
  const url = await postgres.database();
  const rates: { readonly where: string; readonly rate: number }[] = [];
  {
    await using files = await BenchGateway.start(program);
    rates.push({ where: "files", rate: await promptsPerSecond([files], program.cwd, forMs) });
  }
  for (const count of [1, 3]) {
    const starting = Array.from({ length: count }, (_, index) =>
      BenchGateway.start(program, [], { url, name: `of-${count}-${index}` }),
    );
    const nodes = await Promise.all(starting);
    try {
      const where = `PostgreSQL, ${count} ${count === 1 ? "node" : "nodes"}`;
      rates.push({ where, rate: await promptsPerSecond(nodes, program.cwd, forMs) });
    } finally {
      for (const node of nodes) await node[Symbol.asyncDispose]();
    }
  }
  const base = rates[0]?.rate ?? Number.NaN;
  return rates.map(({ where, rate }) => ({ where, promptsPerSecond: rate, ratio: rate / base }));
}

/** Sessions that are prompted one after the other, all of them at the same time. */
async function promptsPerSecond(nodes: readonly BenchGateway[], cwd: string, forMs: number): Promise<number> {
  const clients = await Promise.all(nodes.map((node) => node.client()));
  const sessions = await Promise.all(
    clients.map(async (client) => ({ client, ids: await openAll(client, PROMPTING / nodes.length, cwd) })),
  );
  const over = new AbortController();
  let [count, isCounted] = [0, false];
  const prompting = sessions.flatMap(({ client, ids }) =>
    ids.map(async (sessionId) => {
      while (!over.signal.aborted) {
        await client.stream(sessionId, ANSWER);
        if (isCounted) count += 1;
      }
    }),
  );
  await new Promise((resolve) => setTimeout(resolve, forMs / 4)); // does not count
  isCounted = true;
  const startMs = performance.now();
  await new Promise((resolve) => setTimeout(resolve, forMs));
  over.abort();
  const elapsedMs = performance.now() - startMs;
  const rate = (count / elapsedMs) * 1_000;
  await Promise.all(prompting);
  return rate;
}

async function openAll(client: SocketClient, count: number, cwd: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) ids.push(await client.newSession(cwd));
  return ids;
}
