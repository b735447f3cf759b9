// `npm run peers`: installs the programs of others that the scenarios drive.
// `npm run peers -- servers`: connects the npm servers of scripts/servers in one session, and writes docs/compatibility.md.
// `npm run peers -- opencode`: runs `tenon acp-check` on opencode, bare and behind `tenon wrap`, and writes docs/how-to/wrap.md;
// and opencode as a client of `tenon mcp serve`, which alone `npm run peers -- serve` does.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installNewest } from "../bench/lib/install.js";
import { opencodeBinary } from "../bench/start/peers.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../src/base/json/json.js";
import { type AcpClient, startAgent } from "../src/testing/index.js";
import { ensurePeers, ensurePinned } from "./lib/peers.js";
import { ROOT, run } from "./lib/run.js";
import { runServedOpencode } from "./served-opencode.js";

const SERVERS = join(ROOT, ".cache/servers");
const PAGE = join(ROOT, "docs/compatibility.md");
const READY_MS = 60_000;
/** What they need in order to start; nothing is sent anywhere. */
const KEYS = [
  ...["GITHUB_PERSONAL_ACCESS_TOKEN", "GITLAB_PERSONAL_ACCESS_TOKEN", "SLACK_BOT_TOKEN", "SLACK_TEAM_ID"],
  ...["BRAVE_API_KEY", "NOTION_TOKEN", "TAVILY_API_KEY", "EXA_API_KEY", "AIRTABLE_API_KEY", "PERPLEXITY_API_KEY"],
];

interface NpmServer {
  readonly name: string;
  readonly spec: string;
  readonly command: string;
  readonly args: string[];
  readonly env: { name: string; value: string }[];
}

interface Row extends Pick<NpmServer, "name" | "spec"> {
  readonly state: string;
  readonly tools: number;
  readonly ms: number | undefined;
}

/** In the order of the package file, as they are installed. */
function npmServers(home: string): NpmServer[] {
  const { dependencies } = objectIn(join(ROOT, "scripts/servers/package.json"));
  return Object.keys(isJsonObject(dependencies) ? dependencies : {}).map((packageName) => {
    const folder = join(SERVERS, "node_modules", packageName);
    const { bin, version } = objectIn(join(folder, "package.json"));
    const program = isJsonObject(bin) ? Object.values(bin)[0] : bin;
    if (typeof program !== "string" || typeof version !== "string") throw new Error(`${packageName} has no program`);
    const name = packageName.replace(
      /^@modelcontextprotocol\/server-|^@|\/mcp-server$|\/mcp$|-mcp-server$|-mcp$/gu,
      "",
    );
    return {
      name: name.replaceAll(/.*\//gu, ""),
      spec: `${packageName}@${version}`,
      command: process.execPath,
      args: [join(folder, program), ...(packageName.endsWith("filesystem") ? [home] : [])],
      env: KEYS.map((key) => ({ name: key, value: "xoxb-none-0123456789abcdef" })),
    };
  });
}

function objectIn(path: string): JsonObject {
  const value: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (!isJsonObject(value)) throw new Error(`${path} holds no object`);
  return value;
}

/** All of them in one session, in its order; the times are those from `session/new` on. */
async function connectAll(client: AcpClient, home: string, servers: readonly NpmServer[]): Promise<Row[]> {
  await client.initialize();
  const startMs = performance.now();
  const mcpServers = servers.map(({ spec: _spec, ...server }) => server);
  const { sessionId } = await client.newSession({ cwd: home, mcpServers });
  const settling = servers.map(async ({ name, spec }) => {
    const isSettled = new RegExp(`"name":"${name}"[^{}]*"state":"(?:ready|failed)"`, "u");
    const update = await client
      .waitForUpdate(sessionId, ({ _meta }) => isSettled.test(JSON.stringify(_meta ?? {})), { timeoutMs: READY_MS })
      .catch(() => undefined);
    const ms = update && Math.round(performance.now() - startMs);
    return { name, spec, ms };
  });
  const settled = await Promise.all(settling);
  const status = await client.request("_tenon/mcp/status", { sessionId });
  const listed = isJsonObject(status) && Array.isArray(status["servers"]) ? status["servers"] : [];
  const known = new Map(listed.flatMap((entry: JsonValue) => (isJsonObject(entry) ? [[entry["name"], entry]] : [])));
  return [...known.values()].map(({ name, state, toolCount }): Row => {
    const row = settled.find((one) => one.name === name);
    const [shownName, shownState] = [name, state].map((word) => (typeof word === "string" ? word : ""));
    return {
      name: shownName ?? "",
      spec: row?.spec ?? "",
      state: shownState ?? "",
      tools: Number(toolCount),
      ms: row?.ms,
    };
  });
}

/** Returns whether all of them became ready, in the given order. */
async function runServers(): Promise<boolean> {
  await ensurePinned("servers");
  const home = mkdtempSync(join(tmpdir(), "tenon-servers-"));
  try {
    const env = { PATH: process.env["PATH"] ?? "", HOME: home, TENON_HOME: home };
    const args = [join(ROOT, "dist/cli/main.js"), "acp"];
    await using client = startAgent({ command: process.execPath, args, env, cwd: home });
    const servers = npmServers(home);
    const rows = await connectAll(client, home, servers);
    const table = rows.map(
      ({ name, spec, state, tools, ms }) => `| ${name} | ${spec} | ${state} | ${tools} | ${ms ?? "-"} |`,
    );
    const lines = ["| name | package | state | tools | ms after `session/new` |", "|---|---|---|---|---|", ...table];
    console.log(lines.join("\n"));
    const page = readFileSync(PAGE, "utf8");
    const section = `<!-- servers -->\n\n${lines.join("\n")}\n\n<!-- /servers -->`;
    writeFileSync(PAGE, page.replace(/<!-- servers -->.*<!-- \/servers -->/su, section));
    const isInOrder = rows.map(({ name }) => name).join() === servers.map(({ name }) => name).join();
    if (!isInOrder) console.error("They are not in the order in which they were handed over.");
    return isInOrder && rows.every(({ state }) => state === "ready");
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const WRAP_PAGE = join(ROOT, "docs/how-to/wrap.md");
/** Leads opencode to the model that acp-check brings. */
const OPENCODE_CONFIG = {
  model: "check/check",
  provider: {
    check: {
      npm: "@ai-sdk/openai-compatible",
      options: { baseURL: "{url}", apiKey: "x" },
      models: { check: { tool_call: true } },
    },
  },
};
const CHECK_MS = 1_800_000;

interface Checked {
  readonly id: string;
  readonly status: "pass" | "fail" | "skip";
  readonly evidence: string;
}

async function checked(agent: readonly string[]): Promise<readonly Checked[]> {
  const env = `OPENCODE_CONFIG_CONTENT=${JSON.stringify(OPENCODE_CONFIG)}`;
  const words = [join(ROOT, "dist/cli/main.js"), "acp-check", "--json", "--env", env, "--", ...agent];
  const { output } = await run(process.execPath, words, { timeoutMs: CHECK_MS });
  const { results }: { results?: readonly Checked[] } = JSON.parse(output.slice(output.indexOf("{")));
  if (!results) throw new Error(`acp-check could not check it: ${output.slice(0, 500)}`);
  return results;
}

/** Returns whether it passes everything behind Tenon. */
async function runOpencode(): Promise<boolean> {
  const { modules, version } = await installNewest("opencode-ai");
  const agent = [opencodeBinary(modules), "acp"];
  const bare = await checked(agent);
  const wrapped = await checked([process.execPath, join(ROOT, "dist/cli/main.js"), "wrap", "--", ...agent]);
  const counts = (results: readonly Checked[]) =>
    (["pass", "fail", "skip"] as const).map((status) => results.filter((one) => one.status === status).length);
  const rows = bare.flatMap(({ id, status, evidence }) => {
    const behind = wrapped.find((one) => one.id === id);
    if (status === "pass" && behind?.status === "pass") return [];
    const words = [evidence, behind?.evidence ?? ""].map((text) => text.replaceAll(/[|\n]/gu, " ").slice(0, 110));
    return [`| \`${id}\` | ${status}: ${words[0]} | ${behind?.status}: ${words[1]} |`];
  });
  const heads = [bare, wrapped].map((results) => counts(results).join(" / "));
  const lines = [
    `opencode ${version}; passed / failed / skipped: ${heads[0]} bare, ${heads[1]} behind Tenon. The checks that differ, or failed:`,
    "",
    "| check | bare | behind `tenon wrap` |",
    "|---|---|---|",
    ...rows,
  ];
  console.log(lines.join("\n"));
  const section = `<!-- opencode -->\n\n${lines.join("\n")}\n\n<!-- /opencode -->`;
  const page = readFileSync(WRAP_PAGE, "utf8");
  writeFileSync(
    WRAP_PAGE,
    page.replace(/<!-- opencode -->.*<!-- \/opencode -->/su, () => section),
  );
  return wrapped.every(({ status }) => status !== "fail");
}

/** Returns whether opencode used a tool of `tenon mcp serve` each way. */
async function runServe(): Promise<boolean> {
  const { modules, version } = await installNewest("opencode-ai");
  const runs = await runServedOpencode(opencodeBinary(modules));
  for (const { way, problem } of runs) {
    console.log(`opencode ${version} with tenon mcp serve over ${way}: ${problem ?? "its tool was called"}`);
  }
  return runs.every(({ problem }) => problem === undefined);
}

switch (process.argv[2]) {
  case "servers":
    process.exitCode = (await runServers()) ? 0 : 1;
    break;
  case "opencode":
    process.exitCode = [await runServe(), await runOpencode()].includes(false) ? 1 : 0;
    break;
  case "serve":
    process.exitCode = (await runServe()) ? 0 : 1;
    break;
  default:
    console.log(`peers: ${await ensurePeers()}`);
}
