// What the gateway holds: for a client that reads nothing, and for idle sessions.
import { defined } from "../../src/base/json/defined.js";
import { lacksPostgres, startPostgres } from "../../test/postgres.js";
import { type Figures, type Program, takeSample } from "../lib/sample.js";
import { median } from "../lib/statistics.js";
import type { SessionsJob } from "../sessions/agent.program.js";
import type { Order } from "../stream/order.js";
import { BenchGateway, type SocketClient } from "./gateway.js";

const TURN: Order = { count: 5_000, gapMs: 0, says: "number", isApart: true };

export interface DeafResult {
  readonly turns: number;
  /** Of a turn with a client that reads nothing, to that of one without, in turn. */
  readonly turnRatio: number;
  /** Held for that client at the end. */
  readonly memoryMb: number;
}

/** Two sessions in turn, one of which has a client that reads nothing for all that time. */
export async function measureDeaf(program: Program, forMs: number): Promise<DeafResult> {
  await using gateway = await BenchGateway.start(program);
  const reader = await gateway.client();
  const [alone, shared] = [await reader.newSession(program.cwd), await reader.newSession(program.cwd)];
  for (const sessionId of [alone, shared]) await reader.stream(sessionId, TURN); // does not count
  const deaf = await gateway.client();
  await deaf.request("session/resume", { sessionId: shared, cwd: program.cwd, mcpServers: [] });
  deaf.web.pause();
  const times: { alone: number; shared: number }[] = [];
  for (const until = performance.now() + forMs; performance.now() < until; ) {
    const first = await reader.stream(times.length % 2 === 0 ? alone : shared, TURN);
    const second = await reader.stream(times.length % 2 === 0 ? shared : alone, TURN);
    const [one, other] = times.length % 2 === 0 ? [first, second] : [second, first];
    times.push({ alone: one.elapsedMs, shared: other.elapsedMs });
  }
  reader.forget();
  const { memoryKb } = await gateway.figures(true);
  deaf.web.terminate();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const without = await gateway.figures(true);
  return {
    turns: times.length,
    turnRatio: median(times.map((time) => time.shared / time.alone)),
    memoryMb: (memoryKb - without.memoryKb) / 1_024,
  };
}

export interface IdleResult {
  readonly sessions: number;
  readonly heapKb: number;
  /** Over stdio, by the same number. */
  readonly stdioKb: number;
  readonly ratio: number;
  /** In a gateway on PostgreSQL, where there is one. */
  readonly databaseKb?: number;
}

/** An account may have so many sessions open. */
const PER_ACCOUNT = 200;
const WARM_UP = 5;
/** A few sessions are measured this often: the collector leaves a few kilobytes more or less. */
const ROUNDS_OF_FEW = 9;
const FEW = 10;
const BURST = 10;

/** `programs.sessions`: that of `bench sessions`. */
export async function measureIdle(
  programs: { readonly gateway: Program; readonly sessions: Program },
  counts: readonly number[],
  samples: number,
): Promise<readonly IdleResult[]> {
  const results: IdleResult[] = [];
  await using postgres = lacksPostgres() === undefined ? await startPostgres() : undefined;
  for (const count of counts) {
    const rounds: { readonly heapKb: number; readonly stdioKb: number; readonly databaseKb?: number }[] = [];
    for (let round = 0; round < samples; round++) {
      const job: SessionsJob = { side: "tenon", count };
      const { heapKb: stdioKb = Number.NaN }: Figures = await takeSample(programs.sessions, job);
      const heapKb = await heapOfEach(programs.gateway, count);
      const store = postgres && { url: await postgres.database(), name: `idle-${count}-${round}` };
      const databaseKb = store && (await heapOfEach(programs.gateway, count, store));
      rounds.push({ heapKb, stdioKb, ...defined({ databaseKb }) });
    }
    const databaseKbs = rounds.flatMap(({ databaseKb }) => databaseKb ?? []);
    results.push({
      sessions: count,
      heapKb: median(rounds.map(({ heapKb }) => heapKb)),
      stdioKb: median(rounds.map(({ stdioKb }) => stdioKb)),
      ratio: median(rounds.map(({ heapKb, stdioKb }) => heapKb / stdioKb)),
      ...defined({ databaseKb: databaseKbs.length > 0 ? median(databaseKbs) : undefined }),
    });
  }
  return results;
}

/** Each open at one client of its account, as an editor has its sessions open. */
async function heapOfEach(
  program: Program,
  count: number,
  store?: { readonly url: string; readonly name: string },
): Promise<number> {
  const accounts = Array.from({ length: Math.ceil(count / PER_ACCOUNT) }, (_, index) => `account-${index}`);
  await using gateway = await BenchGateway.start(program, accounts, store);
  const clients = await Promise.all(gateway.started.tokens.map((token) => gateway.client(token)));
  const share = Math.ceil(count / clients.length);
  const open = async (each: number) =>
    await Promise.all(clients.map(async (client) => ({ client, ids: await openSessions(client, each, program.cwd) })));
  const close = async (opened: Awaited<ReturnType<typeof open>>) => {
    await Promise.all(
      opened.map(async ({ client, ids }) => {
        for (const sessionId of ids) await client.request("session/delete", { sessionId });
        client.forget();
      }),
    );
  };
  await close(await open(Math.min(WARM_UP, share)));
  const found: number[] = [];
  for (let round = 0; round < (count <= FEW ? ROUNDS_OF_FEW : 1); round++) {
    const before = await gateway.figures(true);
    const opened = await open(share);
    for (const { client } of opened) client.forget();
    found.push(((await gateway.figures(true)).heapKb - before.heapKb) / (share * clients.length));
    if (count <= FEW) await close(opened);
  }
  return median(found);
}

async function openSessions(client: SocketClient, count: number, cwd: string): Promise<readonly string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const burst = Math.min(BURST, count - ids.length);
    ids.push(...(await Promise.all(Array.from({ length: burst }, () => client.newSession(cwd)))));
  }
  return ids;
}
