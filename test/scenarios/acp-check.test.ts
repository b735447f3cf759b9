// `tenon acp-check`: our own agent passes every check, and for every check there is a fault that it finds.
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect } from "vitest";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { agentNode, TENON } from "./peers.js";
import { type CommandResult, runCommand } from "./run-command.js";
import { partOf, scenario } from "./scenario.js";

interface Result {
  readonly id: string;
  readonly status: "pass" | "fail" | "skip";
  readonly evidence: string;
}

interface Report {
  readonly agent: { readonly name: string };
  readonly results: readonly Result[];
}

/** Each fault of `acp-check-agent.ts`, and the checks that must find it. */
const FOUND_BY: Readonly<Record<string, readonly string[]>> = {
  "refuses-bursts": ["wire.burst"],
  "ignores-servers": ["connect.stdio", "connect.http", "connect.sse", "start.slow"],
  "claims-acp": ["connect.acp"],
  "drops-unclaimed": ["entry.unclaimed-type"],
  "waits-for-servers": ["start.hung"],
  "needs-every-server": ["start.failed", "start.told-missing"],
  silent: ["start.told", "start.told-http", "entry.missing-command", "entry.unknown-type", "entry.duplicate"],
  "notices-for-all": ["start.told-plain"],
  strict: [
    "entry.missing-args",
    "entry.missing-env",
    "entry.env-map",
    "entry.type-stdio",
    "entry.bare-command",
    "entry.missing-headers",
    "entry.no-object",
  ],
  "shares-servers": ["isolation.tools"],
  "shares-by-name": ["isolation.same-name"],
  "closes-all": ["isolation.close"],
  broadcasts: ["isolation.updates"],
  "leaks-env": ["env.minimal"],
  "raw-names": ["names.valid"],
  "merges-tools": ["names.same-tool"],
  "forgets-cancel": ["cancel.server"],
  "ends-instead-of-cancels": ["cancel.answer"],
  "drops-pictures": ["result.image"],
  "hides-failures": ["result.error", "result.crash"],
  "comes-back-bare": ["session.load", "session.resume", "session.fork"],
  "never-closes": ["session.close", "leak.close", "leak.close-stubborn", "leak.http"],
  "ignores-end": ["leak.eof", "exit.eof"],
  "ignores-sigterm": ["leak.sigterm", "exit.sigterm"],
  "outlived-by-servers": ["leak.sigkill"],
  chatty: ["wire.valid"],
  "invents-updates": ["wire.valid"],
  "speaks-too-early": ["wire.order"],
};

/** They mostly wait: for what must not come, or no longer be there. */
const AT_ONCE = 3;

async function acpCheck(home: string, words: readonly string[]): Promise<CommandResult> {
  return await runCommand(agentNode(), [TENON, "acp-check", ...words], { env: cleanEnv(home), cwd: home });
}

async function reportOn(home: string, words: readonly string[]): Promise<Report & { readonly code: number | null }> {
  const { code, stdout, stderr } = await acpCheck(home, ["--json", ...words]);
  if (code !== 0 && code !== 1) throw new Error(`acp-check exited with ${code}: ${stderr}`);
  const report: Report = JSON.parse(stdout);
  return { ...report, code };
}

function idsOf(results: readonly Result[], status: Result["status"]): readonly string[] {
  return results.filter((result) => result.status === status).map(({ id }) => id);
}

const programs = new TemporaryFolder();
const FAULTY = join(programs.path, "faulty.mjs");

/** Before the first scenario: esbuild leaves a process of its own that is no leak of what is tested. */
beforeAll(async () => {
  const entryPoints = [join(import.meta.dirname, "acp-check-agent.ts")];
  await build({ entryPoints, outfile: FAULTY, bundle: true, platform: "node", format: "esm", logLevel: "error" });
});

afterAll(() => programs[Symbol.dispose]());

function behind(fault: string): readonly string[] {
  return ["--", agentNode(), FAULTY, fault, agentNode(), TENON, "acp"];
}

scenario(
  ["A2", "A6", "A8", "C5", "E5", "S13", "S16", "S18"],
  "our own agent passes every check it does not rule out by a missing ability",
  async () => {
    using home = new TemporaryFolder();
    const { code, agent, results } = await reportOn(home.path, ["--", agentNode(), TENON, "acp"]);
    expect(results.filter(({ status }) => status === "fail")).toEqual([]);
    expect(code).toBe(0);
    expect(agent.name).toBe("tenon");
    // What is skipped must be an ability that can be claimed, never a model that was not found.
    for (const { id, status, evidence } of results) {
      if (status === "skip") expect(evidence, id).toMatch(/is not claimed$|^every kind is claimed$/);
    }
    expect(idsOf(results, "pass").length).toBeGreaterThanOrEqual(40);
  },
  { timeoutMs: 180_000 },
);

scenario(
  ["A2", "A6", "A8", "C5", "E5", "S13", "S16", "S18"],
  "every check fails for an agent with the fault it is about",
  async () => {
    using home = new TemporaryFolder();
    const misses: string[] = [];
    const waiting = [...partOf(Object.entries(FOUND_BY), 3)];
    const work = async (): Promise<void> => {
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        const [fault, ids] = next;
        const { code, results } = await reportOn(home.path, ["--only", ids.join(","), ...behind(fault)]);
        const unseen = results.filter(({ status }) => status !== "fail");
        misses.push(...unseen.map(({ id, status, evidence }) => `${fault}: ${id} is ${status}: ${evidence}`));
        if (code !== 1) misses.push(`${fault}: exit code ${code}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    expect(misses).toEqual([]);

    const listed: { checks: readonly { id: string }[] } = JSON.parse(
      (await acpCheck(home.path, ["--list", "--json"])).stdout,
    );
    const proven = new Set(Object.values(FOUND_BY).flat());
    expect(listed.checks.map(({ id }) => id).filter((id) => !proven.has(id))).toEqual([]);
  },
  { timeoutMs: 400_000 },
);

scenario(
  ["S18"],
  "sessions that come back with their servers pass, and the agent before the agent changes nothing else",
  async () => {
    using home = new TemporaryFolder();
    const back = await reportOn(home.path, ["--only", "session", ...behind("comes-back")]);
    expect(idsOf(back.results, "pass")).toEqual(["session.load", "session.resume", "session.fork", "session.close"]);
    const untouched = await reportOn(home.path, ["--only", "connect.stdio,wire,isolation.tools", ...behind("none")]);
    expect(idsOf(untouched.results, "pass")).toHaveLength(5);
  },
);

scenario(["A6"], "wrong words end with code 2, an agent that cannot be started with code 1 and the cause", async () => {
  using home = new TemporaryFolder();
  const bare = await acpCheck(home.path, []);
  expect(bare).toMatchObject({ code: 2, stdout: "" });
  expect(bare.stderr).toContain("say which agent");
  const unknown = await acpCheck(home.path, ["--only", "nonsense", "--", "agent"]);
  expect(unknown).toMatchObject({ code: 2 });
  expect(unknown.stderr).toContain('there is no check "nonsense"');
  const gone = await acpCheck(home.path, ["--", "/nowhere/no-such-agent"]);
  expect(gone).toMatchObject({ code: 1, stdout: "" });
  expect(gone.stderr).toContain("ENOENT");
});

scenario(["A6"], "people get a line for every check, and what a failure means", async () => {
  using home = new TemporaryFolder();
  const { code, stdout } = await acpCheck(home.path, [
    "--only",
    "wire.burst,connect.http",
    ...behind("refuses-bursts"),
  ]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^fail {2}wire\.burst +\d+ ms {2}no session was opened: -32600/m);
  expect(stdout).toMatch(/^skip {2}connect\.http +mcpCapabilities\.http is not claimed/m);
  expect(stdout).toContain("fail at random");
  expect(stdout).toContain("0 passed, 1 failed, 1 skipped");
});
