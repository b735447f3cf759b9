// Everything CI runs, summed up in one line. Started by verify.mjs once the dependencies are there.
import { readdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { checkSteps } from "./lib/check-steps.js";
import { Ledger } from "./lib/ledger.js";
import { ensurePeers, node24Path } from "./lib/peers.js";
import { ROOT, run, seconds } from "./lib/run.js";
import { shareOf, turnOfCommit } from "./lib/share.js";
import { ensureSystemPackages } from "./lib/system-packages.js";
import { runVitest } from "./lib/vitest.js";

const start = performance.now();
const ledger = new Ledger();

/** They depend on Node itself, in the test's own process: it is vitest that another Node has to run. */
const IN_PROCESS = [
  ...["providers-answers", "providers-cancel", "providers-errors", "providers-long", "providers-schemas"],
  ...["providers-usage", "library", "sandbox-probes"],
].map((name) => `test/integration/${name}.test.ts`);

/** They are about the scripts of this tree, which no other Node runs. */
const OF_THIS_TREE = ["conformance", "walls"].map((name) => `test/scenarios/${name}.test.ts`);

/** `npm run verify:all`: every scenario on both Nodes, which takes longer than CI has. */
const isWhole = process.argv.includes("--all");

/** Files of a minute and more, most of it spent on many cases of one kind. */
const LONG = ["acp-check", "docs", "matrix"].map((name) => `test/scenarios/${name}.test.ts`);

async function notThisTime(): Promise<readonly string[]> {
  const now = shareOf(LONG, { always: [], parts: 2, turn: await turnOfCommit() });
  return LONG.filter((file) => !now.includes(file));
}

async function scenarios(name: string): Promise<void> {
  if (ledger.hasFailed("build")) return ledger.skip(name, "build failed");
  const env = { ...process.env, TENON_TEST_NODE: process.execPath };
  // The step of that name runs all of it; of the longest files each commit runs a part.
  const skipped = ["test/scenarios/conformance.test.ts", ...(isWhole ? [] : await notThisTime())];
  const left = skipped.flatMap((file) => ["--exclude", file]);
  await ledger.record(name, `the built product, run by ${process.version}`, () =>
    runVitest(name, ["--project", "scenarios", "--project", "integration", ...left], { env }),
  );
}

async function scenariosOn(name: string, node: string): Promise<void> {
  if (ledger.hasFailed("build")) return ledger.skip(name, "build failed");
  const files = await filesFor();
  await ledger.record(name, `the built product, run by ${node}: ${files.length} files`, () =>
    runVitest(name, ["--project", "scenarios", ...files], { env: { ...process.env, TENON_TEST_NODE: node } }),
  );
}

/** What depends on Node itself: how it starts, spawns, ends and speaks to the network. */
const BY_NODE = [
  ...["start", "thin-path", "shutdown", "process-cycles", "sessions", "connections", "remote", "package", "demo"],
].map((name) => `test/scenarios/${name}.test.ts`);

/** All, or this commit's share. */
async function filesFor(): Promise<readonly string[]> {
  const folder = "test/scenarios";
  const all = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => `${folder}/${file}`)
    .filter((file) => !OF_THIS_TREE.includes(file));
  return isWhole ? all : shareOf(all, { always: BY_NODE, parts: 10, turn: await turnOfCommit() });
}

async function inProcess(name: string, node: string): Promise<void> {
  if (ledger.hasFailed("build")) return ledger.skip(name, "build failed");
  const path = [dirname(node), process.env["PATH"] ?? ""].join(delimiter);
  const env = { ...process.env, PATH: path, TENON_TEST_NODE: node };
  await ledger.record(name, `the library, in a process of ${node}`, () =>
    runVitest(name, ["--project", "integration", ...IN_PROCESS], { env }),
  );
}

/** Installing waits for the network; the checks meanwhile use the processor. Unit tests drive some of the programs. */
const installed = ledger.record("peers", "the programs of others that scenarios drive", async () => {
  return { passed: 1, failed: 0, skipped: 0, output: await ensurePeers() };
});
console.log(`system programs: ${await ensureSystemPackages()}`);
await installed;
await checkSteps(ledger);
// A scenario plants the most telling ones in any case.
if (isWhole) {
  await ledger.record("check:walls", "every planted fault is caught", async () => {
    const { code, output } = await run(process.execPath, ["--import", "tsx", join(ROOT, "scripts/check-walls.ts")]);
    return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0, output };
  });
}
/** Waits for processes most of its time, as scenarios do: they run beside each other. */
const conformance = (through: "connections" | "acp", what: string) =>
  ledger.record(`conformance-${through}`, what, async () => {
    const args = ["--import", "tsx", join(ROOT, "scripts/conformance.ts"), "--ci", "--through", through];
    const { code, output } = await run(process.execPath, args);
    const passed = output.match(/^passed /gm)?.length ?? 0;
    const wrong = output.match(/^(FAILED|STALE|GONE) /gm)?.length ?? 0;
    return { passed, failed: code === 0 ? 0 : Math.max(1, wrong), skipped: 0, output };
  });
const other = node24Path();
if (other === undefined) ledger.skip("scenarios-24", "no Node 24 for this platform; name one in TENON_NODE24");
await Promise.all([
  scenarios("scenarios"),
  conformance("connections", "MCP's own suite for clients, without what is expected to fail")
    .then(() => conformance("acp", "a sample of it through tenon acp"))
    .then(() => (other === undefined ? undefined : inProcess("in-process-24", other))),
]);
if (other !== undefined) await scenariosOn("scenarios-24", other);

const { passed, failed, skipped } = ledger.total;
console.log(`\n${seconds(performance.now() - start)} in all${skipped > 0 ? `, ${skipped} tests skipped` : ""}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
