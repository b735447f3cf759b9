// `npm run bench -- sandbox`: what a sandbox adds to the start of a server, against the same server without one.
import { type CommonOptions, readCommon, runBench } from "./lib/command.js";
import { type Contestant, contest, type Summary } from "./lib/contest.js";
import { measuredEnv, TemporaryFolder } from "./lib/environment.js";
import { bundleProgram } from "./lib/programs.js";
import { printResult, printTable, say } from "./lib/report.js";
import { type Figures, type Program, takeSample } from "./lib/sample.js";
import { median, rounded } from "./lib/statistics.js";
import type { SandboxJob } from "./sandbox/client.program.js";

const USAGE = "usage: npm run bench -- sandbox [--samples N] [--node PATH] [--assert]";
const DEFAULT_SAMPLES = 15;
/** In each process, after the first. */
const STARTS = 5;

/** What is promised; `--assert` makes the bench fail when it is not kept. */
const PROMISES = { addedMs: 10 } as const;

const SANDBOXES: Readonly<Record<string, SandboxJob["sandbox"]>> = {
  off: undefined,
  workspace: { mode: "workspace", network: false },
  "workspace with network": { mode: "workspace", network: true },
  "read-only": { mode: "read-only", network: false },
};

interface Added {
  readonly name: string;
  /** Medians of the differences to the same round without a sandbox. */
  readonly readyMs: number;
  readonly bareMs: number;
}

function brokenPromises(contestants: readonly Summary[], added: readonly Added[]): string[] {
  const failed = contestants.flatMap(({ name, failure }) => (failure === undefined ? [] : [`${name}: ${failure}`]));
  const slow = added.flatMap(({ name, readyMs }) =>
    readyMs <= PROMISES.addedMs ? [] : [`${name}: the server is ready ${readyMs} ms later`],
  );
  return [...failed, ...slow];
}

function show(contestants: readonly Summary[], added: readonly Added[]): void {
  printTable(
    ["sandbox", "ready ms", "x off", "added ms", "first ms", "close ms", "true ms", "added ms"],
    contestants.map(({ name, median: { readyMs, firstMs, closeMs, bareMs }, ratio, failure }) => {
      const more = added.find((one) => one.name === name);
      const cells = [readyMs ?? failure, ratio?.["readyMs"], more?.readyMs, firstMs, closeMs, bareMs, more?.bareMs];
      return [name, ...cells.map((cell) => String(cell ?? ""))];
    }),
  );
}

async function main({ isAsserted, samples, node }: CommonOptions): Promise<void> {
  using scratch = new TemporaryFolder();
  const [file, server] = await Promise.all([
    bundleProgram("sandbox/client.program.ts"),
    bundleProgram("lib/mcp-server.program.ts"),
  ]);
  const cwd = scratch.folder("work");
  const program: Program = { node, file, env: measuredEnv(scratch.folder("home")), cwd };
  const args = [server, JSON.stringify({ toolCount: 10 })];
  const seen = new Map<string, Figures[]>();
  const contestant = ([name, sandbox]: [string, SandboxJob["sandbox"]]): Contestant => ({
    name,
    sample: async () => {
      const job: SandboxJob = { command: node, args, starts: STARTS, ...(sandbox ? { sandbox } : {}) };
      const figures = await takeSample(program, job);
      seen.set(name, [...(seen.get(name) ?? []), figures]);
      return figures;
    },
  });
  const contestants = await contest(Object.entries(SANDBOXES).map(contestant), samples);
  const differences = (name: string, figure: string) =>
    (seen.get(name) ?? []).map((figures, round) => (figures[figure] ?? 0) - (seen.get("off")?.[round]?.[figure] ?? 0));
  const added = contestants.flatMap(({ name, ratio }): Added[] => {
    if (!ratio || !seen.has(name)) return [];
    const of = (figure: string) => rounded(median(differences(name, figure)));
    return [{ name, readyMs: of("readyMs"), bareMs: of("bareMs") }];
  });
  show(contestants, added);
  const broken = brokenPromises(contestants, added);
  for (const line of broken) say(`promise broken: ${line}`);
  const date = new Date().toISOString().slice(0, 10);
  printResult({ bench: "sandbox", date, samples, contestants, added, broken });
  if (isAsserted && broken.length > 0) process.exitCode = 1;
}

await runBench(USAGE, (words) => readCommon(words, DEFAULT_SAMPLES), main);
