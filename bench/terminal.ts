// `npm run bench -- terminal`: what the chat's screen costs against plain writing, and how soon it is there, in a real pseudo-terminal.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../scripts/lib/run.js";
import { measuredEnv, TemporaryFolder } from "./lib/environment.js";
import { bundleProgram } from "./lib/programs.js";
import { printResult, printTable } from "./lib/report.js";
import { median } from "./lib/statistics.js";

const TENON = join(ROOT, "dist/cli/main.js");
/** What is promised; `--assert` makes the bench fail when one is not kept. */
const PROMISES = { cpuRatio: 2, firstPaintRatio: 4.8 } as const;

/** Runs a line in a pseudo-terminal of util-linux; how long it took until it wrote a text, or ended. */
async function inTerminal(line: string, env: NodeJS.ProcessEnv, until?: string): Promise<number> {
  const beganMs = performance.now();
  const child = spawn("script", ["-qfec", `stty cols 100 rows 40; exec ${line}`, "/dev/null"], {
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  return await new Promise((resolve, reject) => {
    let text = "";
    let seenMs: number | undefined;
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text = (text + chunk).slice(-10_000);
      if (until === undefined || seenMs !== undefined || !text.includes(until)) return;
      seenMs = performance.now() - beganMs;
      child.stdin.write("\u0003\u0003");
    });
    child.once("error", reject);
    child.once("close", () => resolve(seenMs ?? performance.now() - beganMs));
  });
}

async function cpuOf(program: string, mode: "plain" | "rendered", env: NodeJS.ProcessEnv): Promise<number> {
  using folder = new TemporaryFolder();
  const report = join(folder.path, "report.json");
  await inTerminal(`'${process.execPath}' '${program}' ${mode} '${report}'`, env);
  const read: unknown = JSON.parse(readFileSync(report, "utf8"));
  return typeof read === "object" && read !== null && "cpuMs" in read ? Number(read.cpuMs) : Number.NaN;
}

async function main(): Promise<number> {
  const options = { samples: { type: "string", default: "3" }, assert: { type: "boolean", default: false } } as const;
  const { values } = parseArgs({ options });
  const samples = Math.max(1, Number(values.samples));
  const program = await bundleProgram("terminal/stream.program.ts");
  using folder = new TemporaryFolder();
  const env = { ...measuredEnv(folder.path), TERM: "xterm-256color", TENON_MODEL: "offline/operator" };
  const [plain, rendered, empty, paint]: [number[], number[], number[], number[]] = [[], [], [], []];
  for (let round = 0; round < samples; round += 1) {
    plain.push(await cpuOf(program, "plain", env));
    rendered.push(await cpuOf(program, "rendered", env));
  }
  for (let round = 0; round < 3 * samples; round += 1) {
    empty.push(await inTerminal(`'${process.execPath}' -e 0`, env));
    paint.push(await inTerminal(`'${process.execPath}' '${TENON}' chat`, env, "›"));
  }
  const result = {
    plainCpuMs: median(plain),
    renderedCpuMs: median(rendered),
    cpuRatio: median(rendered) / median(plain),
    emptyNodeMs: median(empty),
    firstPaintMs: median(paint),
    firstPaintRatio: median(paint) / median(empty),
  };
  printTable(
    ["figure", "value"],
    Object.entries(result).map(([name, value]) => [name, value.toFixed(2)]),
  );
  printResult({ bench: "terminal", ...result });
  const isKept = result.cpuRatio <= PROMISES.cpuRatio && result.firstPaintRatio <= PROMISES.firstPaintRatio;
  return values.assert && !isKept ? 1 : 0;
}

process.exitCode = await main();
