// `npm run conformance`: every client scenario of both MCP requirement sets, one by one, against what is expected to fail.
// `--ci` leaves out the expected failures, and through ACP or as a server runs a sample; `--only name,name` runs some scenarios;
// `--through acp` drives `tenon acp`; `--server` runs the server scenarios against `tenon mcp serve`.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { serveTenon } from "./conformance/served.js";
import {
  ACP_SAMPLE,
  OLDER,
  prepare,
  runScenario,
  type Scenario,
  SERVE_SAMPLE,
  scenariosOf,
  type Through,
  VERSIONS,
} from "./conformance/suite.js";
import { seconds } from "./lib/run.js";

interface ExpectedFailure {
  readonly scenario: string;
  readonly version: string;
  readonly reason: string;
}

/** It only shrinks: an entry that passes, or that names no scenario any more, is an error. */
function expectedFailures(through: Through): readonly ExpectedFailure[] {
  const file = through === "serve" ? "server-expected-failures.json" : "expected-failures.json";
  const text = readFileSync(new URL(`./conformance/${file}`, import.meta.url), "utf8");
  const entries: readonly ExpectedFailure[] = JSON.parse(text);
  for (const { scenario, version, reason } of entries) {
    if (!scenario || !version || !reason)
      throw new Error("an expected failure needs a scenario, a version and a reason");
  }
  return entries;
}

async function main(isCi: boolean, named: readonly string[] | undefined, through: Through): Promise<boolean> {
  const samples = { connections: undefined, acp: ACP_SAMPLE, serve: SERVE_SAMPLE };
  const only = named ?? (isCi ? samples[through] : undefined);
  await prepare(through);
  await using served = through === "serve" ? await serveTenon() : undefined;
  const side = served ? "server" : "client";
  const expected = expectedFailures(through);
  const reasonFor = ({ name, version }: Scenario) =>
    expected.find((entry) => entry.scenario === name && entry.version === version)?.reason;
  const required = (await Promise.all(VERSIONS.map((version) => scenariosOf(version, side)))).flat();
  const all = served ? required : [...required, ...OLDER];
  const wanted = all.filter(
    (scenario) => only?.includes(scenario.name) ?? !(isCi && reasonFor(scenario) !== undefined),
  );
  const strangers = only?.filter((name) => !all.some((scenario) => scenario.name === name)) ?? [];
  if (strangers.length > 0) throw new Error(`no such scenario: ${strangers.join(", ")}`);
  const gone = expected.filter(
    ({ scenario, version }) => !all.some((it) => it.name === scenario && it.version === version),
  );
  for (const { scenario, version } of gone)
    console.log(`GONE      ${version}  ${scenario}: remove it from expected-failures.json`);

  const counts = { passed: 0, expected: 0, wrong: gone.length };
  for (const scenario of wanted) {
    const start = performance.now();
    const { passed, output } = await runScenario(scenario, through, served?.url);
    const reason = reasonFor(scenario);
    const time = seconds(performance.now() - start).padStart(7);
    const row = `${scenario.version}  ${scenario.name.padEnd(42)} ${time}`;
    if (passed && reason === undefined) {
      counts.passed += 1;
      console.log(`passed    ${row}`);
    } else if (!passed && reason !== undefined) {
      counts.expected += 1;
      console.log(`expected  ${row}  ${reason}`);
    } else {
      counts.wrong += 1;
      if (passed) console.log(`STALE     ${row}  it passes: remove it from expected-failures.json`);
      else console.log(`FAILED    ${row}\n${output.replace(/^/gm, "    ")}`);
    }
  }
  console.log(`${counts.passed} passed, ${counts.expected} failed as expected, ${counts.wrong} wrong`);
  return counts.wrong === 0;
}

try {
  const { values } = parseArgs({
    options: {
      ci: { type: "boolean", default: false },
      only: { type: "string" },
      through: { type: "string" },
      server: { type: "boolean", default: false },
    },
  });
  const { through = values.server ? "serve" : "connections" } = values;
  if (through !== "connections" && through !== "acp" && through !== "serve")
    throw new Error("--through takes connections, acp or serve");
  process.exitCode = (await main(values.ci, values.only?.split(","), through)) ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
