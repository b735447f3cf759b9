// Everything CI runs, summed up in one line. Started by verify.mjs once the dependencies are there.
import { readdirSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { checkSteps } from "./lib/check-steps.js";
import { Ledger } from "./lib/ledger.js";
import { ensurePeers, node24Path } from "./lib/peers.js";
import { ROOT, run, seconds } from "./lib/run.js";
import { groupOf, shareOf, turnOfCommit } from "./lib/share.js";
import { ensureSystemPackages } from "./lib/system-packages.js";
import { runVitest } from "./lib/vitest.js";

const start = performance.now();
const ledger = new Ledger();

/** They depend on Node itself, in the test's own process: it is vitest that another Node has to run. */
const IN_PROCESS = ["library", "providers-answers", "sandbox-probes"];

/** Files and what each commit runs of them: one group, so that no commit has all the long ones. */
type Groups = readonly [readonly string[], ...(readonly string[])[]];

/** The same, and longer. */
const LONG_IN_PROCESS: Groups = [
  ["providers-long"],
  ["providers-cancel", "providers-usage"],
  ["providers-errors", "providers-schemas"],
];

/** They are about the scripts of this tree, which no other Node runs. */
const OF_THIS_TREE = ["conformance", "walls"].map((name) => `test/scenarios/${name}.test.ts`);

/** `npm run verify:all`: every scenario with all of its cases on both Nodes, which takes longer than CI has. */
const isWhole = process.argv.includes("--all");
if (isWhole) process.env["TENON_ALL_CASES"] = "1";

/** Files that spend most of a minute on many cases of one kind, or on measuring. */
const LONG: Groups = [
  ["docs", "oauth-login"],
  ["acp-check", "turns-starts"],
  ["acp-fuzz", "oauth-session", "cli-servers"],
  ["acp-load", "matrix", "walls"],
  ["wrap", "cli-commands", "cli-test"],
  ["config-traps", "oauth-attacks", "providers-long"],
  ["terminal-grants", "terminal-questions"],
];

/** Bounds in milliseconds: nothing else runs meanwhile. */
const TIMED = ["start", "gateway-kill", "page-speed"];

/** They run on files with all the others, and on PostgreSQL too: one group each commit. */
const ON_POSTGRES: Groups = [
  ["integration/gateway-client-servers", "integration/gateway-server", "integration/gateway-page"],
  ["scenarios/gateway-sessions"],
  ["scenarios/gateway-attacks"],
  ["scenarios/gateway-remote", "scenarios/gateway-page"],
  ["scenarios/gateway-attach"],
  ["scenarios/gateway-editors", "scenarios/gateway-kill"],
  ["scenarios/gateway-translator"],
  ["scenarios/page", "scenarios/extra-tools"],
];

/** Vitest's exclusion of a file, whichever project it belongs to. */
const excluded = (name: string) => ["--exclude", `**/${name}.test.ts`];

async function notThisTime(): Promise<readonly string[]> {
  const now = groupOf(LONG, await turnOfCommit());
  return LONG.flat().filter((name) => !now.includes(name));
}

async function scenarios(name: string): Promise<void> {
  if (ledger.hasFailed("build")) return ledger.skip(name, "build failed");
  const env = { ...process.env, TENON_TEST_NODE: process.execPath };
  // The step of that name runs all of it; of the longest files each commit runs a part.
  const left = ["conformance", ...TIMED, ...(isWhole ? [] : await notThisTime())].flatMap(excluded);
  await ledger.record(name, `the built product, run by ${process.version}`, () =>
    runVitest(name, ["--project", "scenarios", "--project", "integration", ...left], { env }),
  );
}

/** Runs beside the scenarios, which take all but one of the workers that two cores keep busy. */
const BESIDE = { ...process.env, TENON_TEST_WORKERS: "1" };

async function scenariosOn(name: string, node: string): Promise<void> {
  if (ledger.hasFailed("build")) return ledger.skip(name, "build failed");
  const files = await filesFor();
  await ledger.record(name, `the built product, run by ${node}: ${files.length} files`, () =>
    runVitest(name, ["--project", "scenarios", ...files], { env: { ...BESIDE, TENON_TEST_NODE: node } }),
  );
}

/** What depends on Node itself: how it starts, spawns, ends and speaks to the network. */
const BY_NODE = [
  ...["thin-path", "shutdown", "process-cycles", "sessions", "connections", "remote", "package", "demo"],
].map((name) => `test/scenarios/${name}.test.ts`);

/** All, or this commit's share without the long ones. */
async function filesFor(): Promise<readonly string[]> {
  const folder = "test/scenarios";
  const all = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => `${folder}/${file}`)
    .filter((file) => !OF_THIS_TREE.includes(file) && !TIMED.includes(basename(file, ".test.ts")));
  if (isWhole) return all;
  const short = all.filter((file) => !LONG.flat().includes(basename(file, ".test.ts")));
  return shareOf(short, { always: BY_NODE, parts: 10, turn: await turnOfCommit() });
}

async function timed(name: string, node: string): Promise<void> {
  if (ledger.hasFailed("build")) return ledger.skip(name, "build failed");
  const args = ["--project", "scenarios", ...TIMED.map((file) => `test/scenarios/${file}.test.ts`)];
  const env = { ...BESIDE, TENON_TEST_NODE: node };
  await ledger.record(name, `what has a bound in milliseconds, run by ${node}`, () => runVitest(name, args, { env }));
}

async function onPostgres(name: string): Promise<void> {
  if (ledger.hasFailed("build")) return ledger.skip(name, "build failed");
  const files = isWhole ? ON_POSTGRES.flat() : groupOf(ON_POSTGRES, await turnOfCommit());
  const args = ["--project", "scenarios", "--project", "integration", ...files.map((file) => `test/${file}.test.ts`)];
  const env = { ...BESIDE, TENON_TEST_NODE: process.execPath, TENON_TEST_STORE: "postgres" };
  await ledger.record(name, `gateways on PostgreSQL: ${files.join(", ")}`, () => runVitest(name, args, { env }));
}

async function inProcess(name: string, node: string): Promise<void> {
  if (ledger.hasFailed("build")) return ledger.skip(name, "build failed");
  const path = [dirname(node), process.env["PATH"] ?? ""].join(delimiter);
  const env = { ...BESIDE, PATH: path, TENON_TEST_NODE: node };
  const long = isWhole ? LONG_IN_PROCESS.flat() : groupOf(LONG_IN_PROCESS, await turnOfCommit());
  const files = [...IN_PROCESS, ...long].map((file) => `test/integration/${file}.test.ts`);
  await ledger.record(name, `the library, in a process of ${node}: ${files.length} files`, () =>
    runVitest(name, ["--project", "integration", ...files], { env }),
  );
}

/** Installing waits for the network; build and checks meanwhile use the processor. Unit tests drive some of the programs. */
const peers = ledger.record("peers", "the programs of others that scenarios drive", async () => {
  return { passed: 1, failed: 0, skipped: 0, output: await ensurePeers() };
});
const programs = ensureSystemPackages().then((found) => console.log(`system programs: ${found}`));
await checkSteps(ledger, [], Promise.all([peers, programs]));
// The scenario `walls` plants the most telling ones.
if (isWhole) {
  await ledger.record("check:walls", "every planted fault is caught", async () => {
    const { code, output } = await run(process.execPath, ["--import", "tsx", join(ROOT, "scripts/check-walls.ts")]);
    return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0, output };
  });
}
/** Waits for processes most of its time, as scenarios do: they run beside each other. */
const conformance = (through: "connections" | "acp" | "serve", what: string) =>
  ledger.record(`conformance-${through}`, what, async () => {
    const args = ["--import", "tsx", join(ROOT, "scripts/conformance.ts"), "--ci", "--through", through];
    const { code, output } = await run(process.execPath, args);
    const passed = output.match(/^passed /gm)?.length ?? 0;
    const wrong = output.match(/^(FAILED|STALE|GONE) /gm)?.length ?? 0;
    return { passed, failed: code === 0 ? 0 : Math.max(1, wrong), skipped: 0, output };
  });
const other = node24Path();
if (other === undefined) ledger.skip("scenarios-24", "no Node 24 for this platform; name one in TENON_NODE24");
async function onOtherNode(node: string): Promise<void> {
  await inProcess("in-process-24", node);
  await scenariosOn("scenarios-24", node);
}
await Promise.all([
  scenarios("scenarios"),
  conformance("connections", "MCP's own suite for clients, without what is expected to fail")
    .then(() => conformance("acp", "a sample of it through tenon acp"))
    .then(() => conformance("serve", "a sample of the suite for servers, against tenon mcp serve"))
    .then(() => onPostgres("postgres"))
    .then(() => (other === undefined ? undefined : onOtherNode(other))),
]);

/** Both cores are busy with its nodes: nothing else runs meanwhile. */
async function chaos(name: string): Promise<void> {
  if (ledger.hasFailed("build")) return ledger.skip(name, "build failed");
  await ledger.record(name, "three nodes on one PostgreSQL, killed, frozen, cut off and drained", async () => {
    const args = ["--import", "tsx", join(ROOT, "scripts/chaos.ts"), ...(isWhole ? [] : ["--ci"])];
    const { code, output } = await run(process.execPath, args, { timeoutMs: 600_000 });
    const rows = (end: string) => output.split("\n").filter((line) => line.endsWith(`  ${end}`)).length;
    const passed = rows("ok");
    return {
      passed,
      failed: code === 0 ? 0 : Math.max(1, rows("FAIL")),
      skipped: passed === 0 && code === 0 ? 1 : 0,
      output,
    };
  });
}

await chaos("chaos");
await timed("timed", process.execPath);
if (other !== undefined) await timed("timed-24", other);

const { passed, failed, skipped } = ledger.total;
console.log(`\n${seconds(performance.now() - start)} in all${skipped > 0 ? `, ${skipped} tests skipped` : ""}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
