// `npm run bench -- sharing`: what ten sessions with the same two servers take when they share them, and when each has its own.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../scripts/lib/run.js";
import { isJsonObject, type JsonValue } from "../src/base/json/json.js";
import { listLiving } from "../src/testing/index.js";
import { memoryOf } from "../src/world/processes.js";
import { Agent } from "./lib/agent.js";
import { type CommonOptions, readCommon, runBench } from "./lib/command.js";
import { contest, type Summary } from "./lib/contest.js";
import { measuredEnv, TemporaryFolder } from "./lib/environment.js";
import { bundleProgram } from "./lib/programs.js";
import { printResult, printTable, say } from "./lib/report.js";
import type { Figures } from "./lib/sample.js";

const USAGE = "usage: npm run bench -- sharing [--samples N] [--node PATH] [--assert]";
const DEFAULT_SAMPLES = 5;
const TENON = join(ROOT, "dist/cli/main.js");
const SESSIONS = 10;
const READY_WITHIN_MS = 60_000;
const MB = 1_048_576;

/** What is promised; `--assert` makes the bench fail when it is not kept. */
const PROMISES = { processes: 2 } as const;

async function sample(shared: boolean, node: string, server: string): Promise<Figures> {
  using scratch = new TemporaryFolder();
  const env = measuredEnv(scratch.folder("home"));
  const entry = (name: string) => ({ command: node, args: [server, JSON.stringify({ toolCount: 20 }), name], shared });
  const config = join(env["TENON_HOME"] ?? "", "config.json");
  mkdirSync(dirname(config), { recursive: true });
  writeFileSync(config, JSON.stringify({ mcpServers: { one: entry("one"), other: entry("other") } }));
  const cwd = scratch.folder("work");
  const agent = new Agent({ command: node, args: [TENON, "acp"], env, cwd });
  try {
    await agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const startedAt = performance.now();
    const opened = Array.from({ length: SESSIONS }, () => agent.request("session/new", { cwd, mcpServers: [] }));
    const ids = (await Promise.all(opened)).map(({ result }) =>
      isJsonObject(result) ? result["sessionId"] : undefined,
    );
    for (const sessionId of ids) await untilReady(agent, sessionId ?? null);
    const readyMs = performance.now() - startedAt;
    const pid = agent.pid ?? 0;
    const servers = listLiving({ under: pid }).filter(({ command }) => command.includes(server));
    const bytes = memoryOf(servers.map((one) => one.pid));
    const serversMb = [...(bytes?.values() ?? [])].reduce((sum, one) => sum + one, 0) / MB;
    return { processes: servers.length, serversMb, readyMs };
  } finally {
    await agent.end();
  }
}

async function untilReady(agent: Agent, sessionId: JsonValue): Promise<void> {
  const until = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const { result } = await agent.request("_tenon/mcp/status", { sessionId });
    const servers = isJsonObject(result) && Array.isArray(result["servers"]) ? result["servers"] : [];
    const ready = servers.filter((server) => isJsonObject(server) && server["state"] === "ready");
    if (ready.length === 2) return;
    if (performance.now() > until)
      throw new Error(`its servers are not ready: ${JSON.stringify(result).slice(0, 500)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function brokenPromises(contestants: readonly Summary[]): readonly string[] {
  const failed = contestants.flatMap(({ name, failure }) => (failure === undefined ? [] : [`${name}: ${failure}`]));
  const processes = contestants.find(({ name }) => name === "shared")?.median["processes"];
  return processes === PROMISES.processes ? failed : [...failed, `${processes} processes where 2 would do`];
}

async function main({ isAsserted, samples, node }: CommonOptions): Promise<void> {
  if (!existsSync(TENON)) throw new Error("dist/cli/main.js is missing: run npm run build");
  const server = await bundleProgram("lib/mcp-server.program.ts");
  const contestants = await contest(
    [
      { name: "each its own", sample: () => sample(false, node, server) },
      { name: "shared", sample: () => sample(true, node, server) },
    ],
    samples,
  );
  printTable(
    [`${SESSIONS} sessions, 2 servers`, "processes", "servers MB", "ready ms", "x MB", "x ms"],
    contestants.map(({ name, median, ratio, failure }) => {
      const { processes, serversMb, readyMs } = median;
      const cells = [processes ?? failure, serversMb, readyMs, ratio?.["serversMb"], ratio?.["readyMs"]];
      return [name, ...cells.map((cell) => String(cell ?? ""))];
    }),
  );
  const broken = brokenPromises(contestants);
  for (const line of broken) say(`promise broken: ${line}`);
  const date = new Date().toISOString().slice(0, 10);
  printResult({ bench: "sharing", date, samples, sessions: SESSIONS, contestants, broken });
  if (isAsserted && broken.length > 0) process.exitCode = 1;
}

await runBench(USAGE, (words) => readCommon(words, DEFAULT_SAMPLES), main);
