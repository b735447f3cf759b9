// Updates through the gateway against `tenon acp` over stdio: how many a second, how late one is, and what one costs.
import { contest, type Summary } from "../lib/contest.js";
import type { Figures, Program } from "../lib/sample.js";
import { median } from "../lib/statistics.js";
import { StreamClient, type Streamed } from "../stream/client.js";
import type { Order } from "../stream/order.js";
import { BenchGateway, type SocketClient } from "./gateway.js";

export interface StreamPrograms {
  readonly stdio: Program;
  readonly gateway: Program;
  /** `dist/cli/main.js`, with the environment of the gateway. */
  readonly translator: Program;
}

export const CLIENTS = 20;
const WARM_UP: Order = { count: 20_000, gapMs: 0, says: "number", isApart: true };
const BURST: Order = { count: 20_000, gapMs: 0, says: "number", isApart: true };
/** To each of many clients: their own reading takes the other core. */
const SHARED_BURST: Order = { ...BURST, count: 4_000 };
/** Far enough apart for the process to fall asleep in between, as it does between the tokens of a real model. */
const PACED: Order = { count: 150, gapMs: 4, says: "time" };
/** For the CPU of an update: often enough to be seen, and never faster than all clients read. */
const STEADY: Order = { count: 1_500, gapMs: 1, says: "number" };

export async function measureStream(programs: StreamPrograms, rounds: number): Promise<readonly Summary[]> {
  return await contest(
    [
      { name: "stdio", sample: () => sampleStdio(programs.stdio) },
      { name: "translator", sample: () => sampleTranslator(programs) },
      { name: "1 client", sample: () => sampleClients(programs.gateway, 1) },
      { name: `${CLIENTS} clients`, sample: () => sampleClients(programs.gateway, CLIENTS) },
    ],
    rounds,
  );
}

async function sampleStdio({ cwd, ...program }: Program): Promise<Figures> {
  const client = new StreamClient({ ...program, cwd }, ["tenon"]);
  try {
    await client.begin();
    return await overStdio(client, cwd, () => client.cpuUs());
  } finally {
    await client.end();
  }
}

async function sampleTranslator({ gateway: program, translator }: StreamPrograms): Promise<Figures> {
  await using gateway = await BenchGateway.start(program);
  const client = new StreamClient(translator, ["acp", "--gateway"]);
  try {
    await client.begin();
    return await overStdio(client, program.cwd, async () => (await gateway.figures(false)).cpuUs);
  } finally {
    await client.end();
  }
}

async function overStdio(client: StreamClient, cwd: string, cpuUs: () => Promise<number>): Promise<Figures> {
  checkBurst(await client.stream(WARM_UP, cwd), WARM_UP);
  const burst = await client.stream(BURST, cwd);
  checkBurst(burst, BURST);
  const paced = await client.stream(PACED, cwd);
  const before = await cpuUs();
  checkBurst(await client.stream(STEADY, cwd), STEADY);
  const steadyUs = (await cpuUs()) - before;
  return figuresOf(burst, median(latenciesOf(paced)), steadyUs);
}

async function sampleClients(program: Program, count: number): Promise<Figures> {
  await using gateway = await BenchGateway.start(program);
  const first = await gateway.client();
  const sessionId = await first.newSession(program.cwd);
  const others: SocketClient[] = [];
  for (let index = 1; index < count; index++) {
    const client = await gateway.client();
    await client.request("session/resume", { sessionId, cwd: program.cwd, mcpServers: [] });
    others.push(client);
  }
  const stream = async (order: Order): Promise<readonly Streamed[]> => {
    for (const client of others) client.forget();
    const own = await first.stream(sessionId, order);
    await Promise.all(others.map((client) => client.until(order.count)));
    return [own, ...others.map((client) => ({ elapsedMs: own.elapsedMs, chunks: client.chunks() }))];
  };
  const order = count === 1 ? BURST : SHARED_BURST;
  for (const streamed of await stream(order)) checkBurst(streamed, order); // does not count
  const bursts = await stream(order);
  for (const streamed of bursts) checkBurst(streamed, order);
  const paced = await stream(PACED);
  const each = paced.map(latenciesOf);
  // Of each update, the client that got it last.
  const last = Array.from({ length: PACED.count }, (_, at) => Math.max(...each.map((one) => one[at] ?? Number.NaN)));
  const before = (await gateway.figures(false)).cpuUs;
  for (const streamed of await stream(STEADY)) checkBurst(streamed, STEADY);
  const steadyUs = (await gateway.figures(false)).cpuUs - before;
  const [burst] = bursts;
  if (!burst) throw new Error("there is no client");
  return figuresOf(burst, median(last), steadyUs / count);
}

/** `cpuUs`: of one update, for each client. */
function figuresOf(burst: Streamed, latencyMs: number, steadyUs: number): Figures {
  const updatesPerSecond = (burst.chunks.length / burst.elapsedMs) * 1_000;
  return { updatesPerSecond, latencyMs, cpuUs: steadyUs / STEADY.count };
}

function latenciesOf({ chunks }: Streamed): readonly number[] {
  return chunks.map(({ text, arrivedNs }) => Number(arrivedNs - BigInt(text)) / 1e6);
}

/** Every chunk as an update of its own, once and in order. */
function checkBurst({ chunks }: Streamed, { count }: Order): void {
  if (chunks.length !== count) throw new Error(`${chunks.length} of ${count} chunks arrived`);
  const wrong = chunks.findIndex(({ text }, index) => text !== `chunk ${index} of a text `);
  if (wrong >= 0) throw new Error(`chunk ${wrong} is not in its place: ${chunks[wrong]?.text}`);
}
