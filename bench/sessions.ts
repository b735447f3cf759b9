// `npm run bench -- sessions`: what a session that does nothing holds in memory, and whether that stays so when there are many.
import { type CommonOptions, readCommon, runBench } from "./lib/command.js";
import { contest, type Summary } from "./lib/contest.js";
import { measuredEnv, TemporaryFolder } from "./lib/environment.js";
import { bundleProgram } from "./lib/programs.js";
import { printResult, printTable, say } from "./lib/report.js";
import { HttpServerProcess, type Program, takeSample } from "./lib/sample.js";
import { rounded } from "./lib/statistics.js";
import type { SessionsJob } from "./sessions/agent.program.js";

const USAGE = "usage: npm run bench -- sessions [--samples N] [--node PATH] [--assert]";
const DEFAULT_SAMPLES = 5;
const COUNTS = [1, 100, 1_000] as const;
/** With a server: an MCP server over HTTP with so many tools, one for all, and a connection of each session to it. */
const WITH_SERVER = { count: 100, toolCount: 20 } as const;

/**
 * What is promised; `--assert` makes the bench fail when one is not kept. `growth`: a session among a thousand holds at
 * most this many times what one among a hundred does, and one that is alone. `leftKb`: of each of a thousand that were
 * closed; of fewer, code that was compiled meanwhile weighs more.
 */
const PROMISES = { growth: 1.25, leftKb: 3 } as const;

interface SessionsResult {
  readonly sessions: number;
  readonly servers: number;
  readonly contestants: readonly Summary[];
}

async function measure(
  program: Program,
  { count, serverUrl }: Omit<SessionsJob, "side">,
  samples: number,
): Promise<SessionsResult> {
  const server = serverUrl === undefined ? {} : { serverUrl };
  const sample = (side: SessionsJob["side"]) => () =>
    takeSample(program, { side, count, ...server } satisfies SessionsJob);
  const contestants = await contest(
    [
      { name: "sdk", sample: sample("sdk") },
      { name: "tenon", sample: sample("tenon") },
    ],
    samples,
  );
  return { sessions: count, servers: serverUrl === undefined ? 0 : 1, contestants };
}

function own({ contestants }: SessionsResult): Summary["median"] {
  return contestants.find(({ name }) => name === "tenon")?.median ?? {};
}

function brokenPromises(results: readonly SessionsResult[]): readonly string[] {
  const heapOf = (count: number) => {
    const result = results.find(({ sessions, servers }) => sessions === count && servers === 0);
    return (result && own(result)["heapKb"]) ?? Number.NaN;
  };
  const [one, hundred, thousand] = COUNTS.map(heapOf);
  const growth = (fewer: number | undefined) => rounded((thousand ?? Number.NaN) / (fewer ?? Number.NaN));
  const failures = results.flatMap(({ contestants }) => contestants.flatMap(({ failure }) => failure ?? []));
  return [
    ...failures,
    ...(growth(one) <= PROMISES.growth ? [] : [`a session among 1,000 holds ${growth(one)} x what one alone does`]),
    ...(growth(hundred) <= PROMISES.growth ? [] : [`a session among 1,000 holds ${growth(hundred)} x one among 100`]),
    ...results
      .filter((result) => result.sessions === COUNTS[2] && !((own(result)["leftKb"] ?? Number.NaN) <= PROMISES.leftKb))
      .map((result) => `${own(result)["leftKb"]} KB are left of each of ${result.sessions} closed sessions`),
  ];
}

function show(results: readonly SessionsResult[]): void {
  const rows = results.flatMap(({ sessions, servers, contestants }) =>
    contestants.map(({ name, median: { heapKb, rssKb, fds, leftKb }, failure }) => [
      `${sessions}, ${servers === 0 ? "no server" : "one shared server"}: ${name}`,
      ...(failure === undefined ? [heapKb, rssKb, fds, leftKb].map(String) : [failure]),
    ]),
  );
  printTable(["idle sessions", "heap KB each", "RSS KB each", "files each", "KB left when closed"], rows);
}

async function main({ isAsserted, samples, node }: CommonOptions): Promise<void> {
  using scratch = new TemporaryFolder();
  const cwd = scratch.folder("work");
  const [file, server] = await Promise.all([
    bundleProgram("sessions/agent.program.ts"),
    bundleProgram("lib/mcp-server.program.ts"),
  ]);
  const program: Program = { node, nodeArgs: ["--expose-gc"], file, env: measuredEnv(cwd), cwd };
  const results: SessionsResult[] = [];
  for (const count of COUNTS) results.push(await measure(program, { count }, samples));
  using shared = await HttpServerProcess.start(node, server, { toolCount: WITH_SERVER.toolCount });
  const serverUrl = `${shared.origin}/mcp`;
  results.push(await measure(program, { count: WITH_SERVER.count, serverUrl }, samples));
  show(results);
  const broken = brokenPromises(results);
  for (const line of broken) say(`promise broken: ${line}`);
  const date = new Date().toISOString().slice(0, 10);
  printResult({ bench: "sessions", date, node: process.versions.node, samples, results, broken });
  if (isAsserted && broken.length > 0) process.exitCode = 1;
}

await runBench(USAGE, (words) => readCommon(words, DEFAULT_SAMPLES), main);
