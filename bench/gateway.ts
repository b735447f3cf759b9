// `npm run bench -- gateway`: what the gateway adds, against `tenon acp` over stdio in the same run.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../scripts/lib/run.js";
import { defined } from "../src/base/json/defined.js";
import { lacksPostgres } from "../test/postgres.js";
import { type AppendsResult, measureAppends, measurePrompts, type PromptsResult } from "./gateway/database.js";
import { BenchGateway } from "./gateway/gateway.js";
import { type DeafResult, type IdleResult, measureDeaf, measureIdle } from "./gateway/held.js";
import { CLIENTS, measureStream, type StreamPrograms } from "./gateway/stream.js";
import { Agent, type AgentCommand } from "./lib/agent.js";
import { positive, runBench } from "./lib/command.js";
import type { Summary } from "./lib/contest.js";
import { measuredEnv, TemporaryFolder } from "./lib/environment.js";
import { bundleProgram } from "./lib/programs.js";
import { printResult, printTable, say } from "./lib/report.js";
import type { Program } from "./lib/sample.js";
import { median, rounded } from "./lib/statistics.js";
import { INITIALIZE, measureInitialize } from "./start/initialize.js";

const USAGE =
  "usage: npm run bench -- gateway [--only start|stream|deaf|idle|appends|prompts]... [--quick] [--samples N] [--node PATH] [--assert]";
const TENON = join(ROOT, "dist/cli/main.js");
const PARTS = ["start", "stream", "deaf", "idle", "appends", "prompts"] as const;
const FULL = {
  samples: 7,
  starts: 30,
  deafMs: 60_000,
  idle: [10, 100, 1_000],
  idleSamples: 2,
  promptsMs: 8_000,
} as const;
const QUICK = { samples: 3, starts: 10, deafMs: 10_000, idle: [10, 100], idleSamples: 1, promptsMs: 4_000 } as const;
const NEW_SESSIONS = 40;

/** What is promised; `--assert` makes the bench fail when one is not kept. */
const PROMISES = {
  initializeRatio: 1.6,
  newSessionMs: 15,
  addedMs: { one: 2, many: 5 },
  cpuShare: 0.25,
  rateRatio: 0.5,
  deaf: { turnRatio: 1.05, memoryMb: 4 },
  idle: { ratio: 1.3, growth: 1.1 },
  appends: { recordsPerStatement: 5, ms: 10 },
} as const;

type Part = (typeof PARTS)[number];

interface Options {
  readonly parts: readonly Part[];
  readonly isQuick: boolean;
  readonly isAsserted: boolean;
  readonly samples: number;
  readonly node: string;
}

interface StartResult {
  readonly emptyMs: number;
  readonly initializeMs: number;
  readonly ratio: number;
  /** Of `tenon acp` without a gateway. */
  readonly stdioRatio: number;
  readonly newSessionMs: number;
}

interface Results {
  readonly start?: StartResult;
  readonly stream?: readonly Summary[];
  readonly deaf?: DeafResult;
  readonly idle?: readonly IdleResult[];
  readonly appends?: AppendsResult;
  readonly prompts?: readonly PromptsResult[];
}

function read(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      only: { type: "string", multiple: true, default: [] },
      quick: { type: "boolean", default: false },
      assert: { type: "boolean", default: false },
      samples: { type: "string" },
      node: { type: "string", default: process.execPath },
    },
  });
  const parts = PARTS.filter((part) => values.only.length === 0 || values.only.includes(part));
  if (parts.length < values.only.length) throw new Error(`--only takes ${PARTS.join(", ")}`);
  const { samples } = values.quick ? QUICK : FULL;
  return {
    parts,
    isQuick: values.quick,
    isAsserted: values.assert,
    samples: values.samples === undefined ? samples : positive("samples", values.samples),
    node: resolve(values.node),
  };
}

/** A gateway runs already, as it does for all editors but the first. */
async function measureStart(translator: Program, gateway: Program, rounds: number): Promise<StartResult> {
  await using _running = await BenchGateway.start(gateway);
  const { node, file, env, cwd } = translator;
  const program = (args: readonly string[]): AgentCommand => ({ command: node, args, env, cwd });
  const command = program([file, "acp", "--gateway"]);
  const { emptyMs, results, failures } = await measureInitialize({
    contestants: [
      { name: "stdio", command: program([file, "acp"]) },
      { name: "gateway", command },
    ],
    empty: program(["-e", "0"]),
    rounds,
  });
  const of = (name: string) => {
    const found = results.find((result) => result.name === name);
    if (!found) throw new Error(failures.find((failure) => failure.name === name)?.reason ?? `${name} is not there`);
    return found;
  };
  const { initializeMs, ratio } = of("gateway");
  const newSessionMs = rounded(await newSession(command));
  return { emptyMs, initializeMs, ratio, stdioRatio: of("stdio").ratio, newSessionMs };
}

/** Through a translator that is connected: the answer is the gateway's. */
async function newSession(command: AgentCommand): Promise<number> {
  const agent = new Agent(command);
  try {
    await agent.request("initialize", INITIALIZE);
    // The translator answers the first ones by itself, until it is connected; only the gateway has an answer to this.
    await agent.request("session/new", { cwd: command.cwd, mcpServers: [] });
    await agent.request("_tenon/gateway/status", {});
    const times: number[] = [];
    for (let index = 0; index < NEW_SESSIONS; index++) {
      const { elapsedMs } = await agent.request("session/new", { cwd: command.cwd, mcpServers: [] });
      times.push(elapsedMs);
    }
    return median(times.slice(NEW_SESSIONS / 4));
  } finally {
    await agent.end();
  }
}

function brokenPromises({ start, stream, deaf, idle, appends }: Results): readonly string[] {
  const broken: string[] = [];
  const atMost = (value: number, limit: number, words: string) => {
    if (!(value <= limit)) broken.push(`${words}: ${rounded(value)}, at most ${limit}`);
  };
  if (start) {
    atMost(start.ratio, PROMISES.initializeRatio, "initialize, x an empty process");
    atMost(start.newSessionMs, PROMISES.newSessionMs, "ms of session/new");
  }
  if (stream) {
    for (const { name, failure } of stream) if (failure !== undefined) broken.push(`${name}: ${failure}`);
    const of = (name: string) => stream.find((side) => side.name === name);
    const [stdio, one, single, many] = ["stdio", "translator", "1 client", `${CLIENTS} clients`].map(of);
    const latency = (side: Summary | undefined) => side?.median["latencyMs"] ?? Number.NaN;
    atMost(latency(one) - latency(stdio), PROMISES.addedMs.one, "ms more than stdio to 1 client, by its translator");
    atMost(latency(many) - latency(stdio), PROMISES.addedMs.many, `ms more than stdio to the last of ${CLIENTS}`);
    const share = (many?.median["cpuUs"] ?? Number.NaN) / (single?.median["cpuUs"] ?? Number.NaN);
    atMost(share, PROMISES.cpuShare, `CPU of an update for each of ${CLIENTS} clients, x that for one`);
    // By its translator it is told, not promised: where there are two cores for three processes, the machine decides.
    const rate = single?.ratio?.["updatesPerSecond"] ?? Number.NaN;
    if (!(rate >= PROMISES.rateRatio)) broken.push(`updates come at ${rate} x the rate of stdio`);
  }
  if (deaf) {
    atMost(deaf.turnRatio, PROMISES.deaf.turnRatio, "x the time of a turn, with a client that reads nothing");
    atMost(deaf.memoryMb, PROMISES.deaf.memoryMb, "MB for a client that reads nothing");
  }
  const [few, most] = [idle?.[0], idle?.at(-1)];
  for (const { sessions, ratio } of idle ?? []) {
    atMost(ratio, PROMISES.idle.ratio, `x the heap of one of ${sessions} idle sessions over stdio`);
  }
  if (few && most) {
    const words = `x the heap of one of ${few.sessions} idle sessions, for one of ${most.sessions}`;
    atMost(most.heapKb / few.heapKb, PROMISES.idle.growth, words);
    if (few.databaseKb !== undefined && most.databaseKb !== undefined)
      atMost(most.databaseKb / few.databaseKb, PROMISES.idle.growth, `${words}, on PostgreSQL`);
  }
  if (appends) {
    const { recordsPerStatement: least, ms } = PROMISES.appends;
    atMost(appends.appendMs, ms, "ms of an append");
    // How prompts a second grow with nodes is told, not promised: where there are two cores, the machine decides.
    if (!(appends.recordsPerStatement >= least))
      broken.push(`${rounded(appends.recordsPerStatement)} records a statement, at least ${least}`);
  }
  return broken;
}

function show({ start, stream, deaf, idle, appends, prompts }: Results): void {
  const cells = (...values: readonly (number | undefined)[]) =>
    values.map((value) => (value === undefined ? "" : String(rounded(value))));
  if (start) {
    const { emptyMs, initializeMs, ratio, stdioRatio, newSessionMs } = start;
    printTable(
      ["start", "ms", "x empty"],
      [
        ["node -e 0", ...cells(emptyMs, 1)],
        ["tenon acp, initialize", "", ...cells(stdioRatio)],
        ["tenon acp --gateway, initialize", ...cells(initializeMs, ratio)],
        ["session/new", ...cells(newSessionMs)],
      ],
    );
  }
  if (stream) {
    const rows = stream.map(({ name, median: { updatesPerSecond, latencyMs, cpuUs }, ratio, failure }) => [
      name,
      ...(failure === undefined ? cells(updatesPerSecond, ratio?.["updatesPerSecond"], latencyMs, cpuUs) : [failure]),
    ]);
    printTable(["", "updates/s", "x stdio", "latency ms", "CPU µs/update, client"], rows);
  }
  if (deaf) {
    const { turns, turnRatio, memoryMb } = deaf;
    printTable(["a client that reads nothing", "turns", "x turn", "MB"], [["", ...cells(turns, turnRatio, memoryMb)]]);
  }
  if (idle) {
    const rows = idle.map(({ sessions, heapKb, stdioKb, ratio, databaseKb }) => [
      String(sessions),
      ...cells(heapKb, stdioKb, ratio, databaseKb),
    ]);
    printTable(["idle sessions", "heap KB each", "stdio KB each", "x", "on PostgreSQL, KB each"], rows);
  }
  if (appends) {
    const { sessions, recordsPerStatement, appendMs } = appends;
    printTable(
      ["streaming sessions on PostgreSQL", "records a statement", "append ms"],
      [[String(sessions), ...cells(recordsPerStatement, appendMs)]],
    );
  }
  if (prompts) {
    const rows = prompts.map(({ where, promptsPerSecond, ratio }) => [where, ...cells(promptsPerSecond, ratio)]);
    printTable(["store", "prompts/s", "x files"], rows);
  }
}

async function main({ parts, isQuick, isAsserted, samples, node }: Options): Promise<void> {
  if (!existsSync(TENON)) throw new Error("dist/cli/main.js is missing: run npm run build");
  using scratch = new TemporaryFolder();
  const cwd = scratch.folder("work");
  const env = measuredEnv(cwd);
  const sizes = isQuick ? QUICK : FULL;
  const names = ["gateway/gateway.program.ts", "stream/agent.program.ts", "sessions/agent.program.ts"] as const;
  const [gatewayFile, streamFile, sessionsFile] = await Promise.all(names.map((name) => bundleProgram(name)));
  const program = (file = ""): Program => ({ node, nodeArgs: ["--expose-gc"], file, env, cwd });
  const gateway = program(gatewayFile);
  const translator: Program = { ...program(TENON), nodeArgs: [] };
  const programs: StreamPrograms = { stdio: program(streamFile), gateway, translator };
  const of = async <T>(part: Part, measure: () => Promise<T>): Promise<T | undefined> => {
    if (!parts.includes(part)) return undefined;
    say(`gateway: ${part}`);
    return await measure();
  };
  const start = await of("start", () => measureStart(translator, gateway, sizes.starts));
  const stream = await of("stream", () => measureStream(programs, samples));
  const deaf = await of("deaf", () => measureDeaf(gateway, sizes.deafMs));
  const sides = { gateway, sessions: program(sessionsFile) };
  const idle = await of("idle", () => measureIdle(sides, sizes.idle, Math.min(samples, sizes.idleSamples)));
  const missing = lacksPostgres();
  if (missing !== undefined) say(`gateway: not measured without ${missing}: appends, prompts`);
  const onDatabase = async <T>(part: Part, measure: () => Promise<T>) =>
    missing === undefined ? await of(part, measure) : undefined;
  const appends = await onDatabase("appends", () => measureAppends(gateway));
  const prompts = await onDatabase("prompts", () => measurePrompts(gateway, sizes.promptsMs));
  const results: Results = defined({ start, stream, deaf, idle, appends, prompts });
  show(results);
  const broken = brokenPromises(results);
  for (const line of broken) say(`promise broken: ${line}`);
  const date = new Date().toISOString().slice(0, 10);
  printResult({ bench: "gateway", date, node: process.versions.node, samples, ...results, broken });
  if (isAsserted && broken.length > 0) process.exitCode = 1;
}

await runBench(USAGE, read, main);
