// The MCP conformance suite: installed, listed and run scenario by scenario.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { ensurePinned } from "../lib/peers.js";
import { ROOT, run } from "../lib/run.js";

/** Those with a requirement set. */
export const VERSIONS = ["2025-11-25", "2026-07-28"] as const;
type Version = (typeof VERSIONS)[number] | "2025-03-26";

export interface Scenario {
  readonly name: string;
  readonly version: Version;
}

/** What CI runs through ACP: nulls among the arguments, forms, pages, a log-in that a call turns out to need, credentials. */
export const ACP_SAMPLE: readonly string[] = [
  ...["elicitation-sep1034-client-defaults", "http-custom-headers", "auth/scope-step-up"],
  ...["auth/client-credentials-jwt", "json-schema-2020-12-preservation"],
];

export interface Verdict {
  readonly passed: boolean;
  /** Everything the suite and the client said. */
  readonly output: string;
}

export const FOLDER: string = join(ROOT, ".cache/conformance");
const HARNESS = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
/** What the suite drives: our connections, an ACP client with `tenon acp` behind it, or `tenon mcp serve` as a server. */
export type Through = "connections" | "acp" | "serve";
const CLIENTS: Readonly<Record<Through, string>> = {
  connections: "client.mjs",
  acp: "acp-client.mjs",
  serve: "fixture-server.mjs",
};
/** From the folder the suite runs in; after it comes the URL. */
const TENON = "../../dist/cli/main.js";
/** The suite needs `fs.globSync`. */
const HARNESS_NODE = 22;

/** What CI runs of the server scenarios: content, questions, a list that changes, and who gets in. */
export const SERVE_SAMPLE: readonly string[] = [
  ...["server-stateless", "tools-call-mixed-content", "tools-call-elicitation", "tools-call-with-progress"],
  ...["resources-templates-read", "prompts-get-with-args", "dns-rebinding-protection"],
];

/** Installs the suite and bundles the client, or the server behind Tenon, for the Node that runs this. */
export async function prepare(through: Through): Promise<void> {
  await ensurePinned("conformance");
  const built = join(ROOT, "dist/cli/main.js");
  if (through !== "connections" && !existsSync(built)) throw new Error("there is no build to drive: npm run build");
  await build({
    absWorkingDir: ROOT,
    entryPoints: [join("scripts/conformance", CLIENTS[through].replace(".mjs", ".ts"))],
    outfile: join(FOLDER, CLIENTS[through]),
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "warning",
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  });
}

/** Servers of 2025-03-26 are still about, and how one logs in to them was different; that version has no set of its own. */
export const OLDER: readonly Scenario[] = [
  { name: "auth/2025-03-26-oauth-metadata-backcompat", version: "2025-03-26" },
  { name: "auth/2025-03-26-oauth-endpoint-fallback", version: "2025-03-26" },
];

/** What a revision requires of clients, and what its set reports besides: later additions, and extensions. */
export async function scenariosOf(version: (typeof VERSIONS)[number], side: "client" | "server"): Promise<Scenario[]> {
  const [title, mark] = side === "client" ? ["Client scenarios", " [client]"] : ["Server scenarios", " [server]"];
  const { code, output } = await harness(["list", "--requirements", version]);
  if (code !== 0) throw new Error(`the suite cannot list ${version}:\n${output}`);
  const names: string[] = [];
  let section = "";
  for (const line of output.split("\n")) {
    const [, item] = /^\s+- (.+)$/.exec(line) ?? [];
    if (item === undefined) section = line.trim() === "" ? section : line.trim();
    else if (section.startsWith(title)) names.push(item);
    else if (/^(added-after-release|extension)/u.test(section) && item.endsWith(mark))
      names.push(item.slice(0, -mark.length));
  }
  if (names.length === 0) throw new Error(`the suite lists no ${side} scenario of ${version}:\n${output}`);
  return names.map((name) => ({ name, version }));
}

/** `url`: of the server under test, in place of a client. */
export async function runScenario({ name, version }: Scenario, through: Through, url?: string): Promise<Verdict> {
  if (url !== undefined) {
    const { code, output } = await harness(["server", "--url", url, "--scenario", name, "--spec-version", version]);
    return { passed: code === 0 && /Passed: [1-9]\d*\/\d+, 0 failed/u.test(output), output };
  }
  // The suite splits the command at blanks and knows no quotes.
  if (process.execPath.includes(" ")) throw new Error(`the path of Node has a blank in it: ${process.execPath}`);
  const client = `${process.execPath} ${CLIENTS[through]} ${TENON}`;
  const { code, output } = await harness([
    "client",
    "--command",
    client,
    "--scenario",
    name,
    "--spec-version",
    version,
    // Extensions belong to no version: they are run in those whose set names them.
    "--force",
  ]);
  // A scenario outside its versions is skipped with exit code 0, which is not a pass.
  return { passed: code === 0 && output.includes("OVERALL: PASSED"), output };
}

async function harness(args: readonly string[]): Promise<{ code: number; output: string }> {
  return await run(harnessNode(), [HARNESS, ...args], { cwd: FOLDER, timeoutMs: 60_000 });
}

function harnessNode(): string {
  const pinned = join(FOLDER, "node_modules", `node-${process.platform}-${process.arch}`, "bin/node");
  const given = process.env["TENON_NODE24"];
  if (given !== undefined) return given;
  if (existsSync(pinned)) return pinned;
  if (Number(process.versions.node.split(".")[0]) >= HARNESS_NODE) return process.execPath;
  throw new Error(`the suite needs Node ${HARNESS_NODE} or newer: name one in TENON_NODE24`);
}
