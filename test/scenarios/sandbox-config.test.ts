// Who decides about sandboxes: the user's configuration for each layer, an entry, a project, the person in the session.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type AcpClient, type AcpServerEntry, startAgent } from "../../src/testing/index.js";
import { cleanEnv } from "./agent.js";
import { ConfigBench } from "./config-bench.js";
import { PACKAGE, PackageRegistry } from "./package-registry.js";
import { agentNode, TENON } from "./peers.js";
import { scenario } from "./scenario.js";

const needs = { needs: ["bwrap"], platform: "linux" } as const;

/** Tells whether it could write beside the project, and whether in it. */
const WRITER = `
import { appendFileSync, writeFileSync } from "node:fs";
const can = (path) => { try { appendFileSync(path, "x"); return "yes"; } catch { return "no"; } };
const [,, folder] = process.argv;
const text = () => "project " + can("in-project.txt") + ", beside " + can(folder + "/beside.txt") + ", home [" + process.env.HOME + "]";
process.stdin.setEncoding("utf8");
let rest = "";
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined || method === undefined) continue;
    const results = {
      initialize: () => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "w", version: "1" } }),
      "tools/list": () => ({ tools: [{ name: "report", description: "Reports", inputSchema: { type: "object" } }] }),
      "tools/call": () => ({ content: [{ type: "text", text: text() }] }),
    };
    const result = results[method]?.();
    const answer = result ? { result } : { error: { code: -32601, message: "no" } };
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\\n");
  }
});
`;

interface Status {
  readonly name: string;
  readonly state: string;
  readonly error?: string;
  readonly hint?: string;
  readonly sandbox?: { readonly mode: string; readonly network: boolean };
}

/** Beside the project lies a folder nobody granted, outside of /tmp's sight from inside: what is written there is told. */
function writer(bench: ConfigBench): { readonly command: string; readonly args: string[] } {
  mkdirSync(join(bench.root, "beside"), { recursive: true });
  const program = bench.put("servers/writer/writer.mjs", WRITER);
  bench.put("servers/writer/package.json", { type: "module" });
  return { command: process.execPath, args: [program, join(bench.root, "beside")] };
}

function acpWriter(bench: ConfigBench, name: string): AcpServerEntry {
  return { name, ...writer(bench), env: [] };
}

async function statuses(client: AcpClient, sessionId: string): Promise<readonly Status[]> {
  const answer: { servers: Status[] } = JSON.parse(
    JSON.stringify(await client.request("_tenon/mcp/status", { sessionId })),
  );
  return answer.servers;
}

async function settled(client: AcpClient, sessionId: string): Promise<Readonly<Record<string, Status>>> {
  const isDone = (found: readonly Status[]) =>
    found.length > 0 && found.every(({ state }) => /ready|failed/u.test(state));
  await expect.poll(async () => isDone(await statuses(client, sessionId)), { timeout: 20_000 }).toBe(true);
  return Object.fromEntries((await statuses(client, sessionId)).map((status) => [status.name, status]));
}

/** What was really written on the disk, whatever the server believes. */
const beside = (bench: ConfigBench): boolean => {
  try {
    return readFileSync(join(bench.root, "beside/beside.txt"), "utf8") !== "";
  } catch {
    return false;
  }
};

scenario(
  ["X7"],
  "a layer's least sandbox holds for its servers, and an entry and a project can only tighten it",
  async () => {
    await using bench = await ConfigBench.open();
    const entry = writer(bench);
    const loose = { mode: "off", network: true, write: ["/"] };
    bench.put("home/config.json", {
      sandbox: { user: "workspace", project: { mode: "workspace" }, client: "read-only" },
      mcpServers: { plain: entry, off: { ...entry, sandbox: "off" }, strict: { ...entry, sandbox: "read-only" } },
    });
    // What a project's entry names is not made visible by that, so its program lies in the project.
    bench.put("project/tools/writer.mjs", WRITER);
    const theirs = { command: process.execPath, args: ["tools/writer.mjs", join(bench.root, "beside")] };
    bench.put("project/.tenon/config.json", {
      sandbox: { project: "off" },
      mcpServers: {
        loosened: { ...theirs, sandbox: loose },
        tightened: { ...theirs, sandbox: "read-only" },
        reaching: entry,
      },
    });
    for (const name of ["loosened", "tightened", "reaching"])
      expect((await bench.tenon(["trust", "approve", name])).code).toBe(0);
    await using client = await bench.editor({ permissions: "always" });
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: bench.project, mcpServers: [acpWriter(bench, "mine")] });
    const found = await settled(client, sessionId);
    const modes = Object.entries(found).map(([name, { state, sandbox }]) => [
      name,
      state,
      sandbox?.mode,
      sandbox?.network,
    ]);
    expect(modes).toHaveLength(7);
    expect(modes).toEqual(
      expect.arrayContaining([
        ["loosened", "ready", "workspace", false],
        ["mine", "ready", "read-only", false],
        ["off", "ready", "workspace", false],
        ["plain", "ready", "workspace", false],
        ["reaching", "failed", "workspace", false],
        ["strict", "ready", "read-only", false],
        ["tightened", "ready", "read-only", false],
      ]),
    );
    await client.prompt(sessionId, "mcp__loosened__report");
    expect(client.text(sessionId)).toContain("project yes");
    await client.prompt(sessionId, "mcp__mine__report");
    expect(client.text(sessionId)).toContain("project no");
    expect(beside(bench)).toBe(false);
    const told = JSON.stringify(client.updates(sessionId));
    expect(told).toContain("a project cannot loosen your sandbox for projects: its sandbox.network is ignored");
    expect(told).toContain("a project can never change the least sandbox of a layer");
    await client.prompt(sessionId, "/mcp");
    expect(client.text(sessionId)).toContain("**strict** (user): ready, 1 tool, sandbox read-only without network");
  },
  needs,
);

scenario(
  ["X7"],
  "a sandbox that cannot be read counts as the strictest",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("home/config.json", { sandbox: { client: "workspce" }, mcpServers: { plain: writer(bench) } });
    await using client = await bench.editor();
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: bench.project, mcpServers: [acpWriter(bench, "mine")] });
    const { plain, mine } = await settled(client, sessionId);
    expect([plain?.sandbox, mine?.sandbox]).toEqual([
      { mode: "read-only", network: false },
      { mode: "read-only", network: false },
    ]);
    expect(JSON.stringify(client.updates(sessionId))).toContain("until sandbox is corrected");
  },
  needs,
);

interface Option {
  readonly id: string;
  readonly currentValue: string;
  readonly options: readonly { readonly value: string }[];
}

const optionOf = (given: unknown): Option | undefined => {
  const options: readonly Option[] = JSON.parse(JSON.stringify(given ?? []));
  return options.find(({ id }) => id === "sandbox");
};

scenario(
  ["X8"],
  "the config option sets the least sandbox of the session: servers are started anew in it, and that is told",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("home/config.json", {
      mcpServers: { online: { ...writer(bench), sandbox: { mode: "off", network: true } } },
    });
    await using client = await bench.editor({ permissions: "always" });
    await client.initialize();
    const opened = await client.newSession({ cwd: bench.project, mcpServers: [acpWriter(bench, "mine")] });
    const { sessionId } = opened;
    expect(optionOf(opened.configOptions)).toMatchObject({ currentValue: "off" });
    expect((await settled(client, sessionId))["mine"]?.sandbox).toBeUndefined();
    await client.prompt(sessionId, "mcp__mine__report");
    expect(client.text(sessionId)).toContain("beside yes");
    expect(beside(bench)).toBe(true);

    const set = (value: string) =>
      client.request("session/set_config_option", { sessionId, configId: "sandbox", value });
    const answer: { configOptions: unknown } = JSON.parse(JSON.stringify(await set("read-only")));
    expect(optionOf(answer.configOptions)).toMatchObject({ currentValue: "read-only" });
    const isTold = (text: string) =>
      client.waitForUpdate(
        sessionId,
        (update) => update.sessionUpdate === "notice" && JSON.stringify(update).includes(text),
      );
    await isTold("is now read-only at least; started anew:");
    const { mine, online } = await settled(client, sessionId);
    expect(mine).toMatchObject({ state: "ready", sandbox: { mode: "read-only", network: false } });
    expect(online).toMatchObject({ state: "ready", sandbox: { mode: "read-only", network: true } });
    await client.prompt(sessionId, "mcp__mine__report");
    expect(client.text(sessionId)).toContain("project no");

    await set("off");
    await isTold("is now as each is configured");
    expect((await settled(client, sessionId))["mine"]?.sandbox).toBeUndefined();
    await expect(set("loose")).rejects.toMatchObject({ code: -32602 });
  },
  needs,
);

scenario(
  ["X8"],
  "the option never goes below the configuration's least, and is kept when a session is taken up again",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("home/config.json", { sandbox: { user: "workspace", project: "workspace", client: "workspace" } });
    let id = "";
    {
      await using client = await bench.editor();
      await client.initialize();
      const { sessionId } = await client.newSession({ cwd: bench.project, mcpServers: [acpWriter(bench, "mine")] });
      id = sessionId;
      expect((await settled(client, id))["mine"]?.sandbox?.mode).toBe("workspace");
      const set = (value: string) =>
        client.request("session/set_config_option", { sessionId, configId: "sandbox", value });
      await expect(set("off")).rejects.toThrow(/there are: workspace, read-only/u);
      expect(optionOf(JSON.parse(JSON.stringify(await set("read-only"))).configOptions)).toMatchObject({
        currentValue: "read-only",
        options: [{ value: "workspace" }, { value: "read-only" }],
      });
      await client.prompt(id, "hello");
    }
    await using client = await bench.editor();
    await client.initialize();
    await client.request("session/load", { sessionId: id, cwd: bench.project, mcpServers: [acpWriter(bench, "mine")] });
    expect((await settled(client, id))["mine"]?.sandbox?.mode).toBe("read-only");
  },
  needs,
);

/** Tenon on a machine that has no bubblewrap, or one whose kernel forbids what it needs: made with bubblewrap itself. */
async function withoutSandbox(bench: ConfigBench, words: readonly string[]): Promise<AcpClient> {
  const env = cleanEnv(bench.home, { HOME: bench.home });
  const args = ["--dev-bind", "/", "/", ...words, "--", agentNode(), TENON, "acp"];
  return startAgent({ command: "bwrap", args, env, cwd: bench.project });
}

const MACHINES = [
  [
    "bubblewrap is missing",
    ["--ro-bind", "/dev/null", "/usr/bin/bwrap"],
    /needs bubblewrap \(bwrap\), which is not installed/u,
  ],
  ["user namespaces are forbidden", ["--unshare-user", "--disable-userns"], /its sandbox does not work here: bwrap: /u],
] as const;

for (const [name, words, error] of MACHINES) {
  scenario(
    ["X6"],
    `where ${name}, the server is not started and the status says what to do`,
    async () => {
      await using bench = await ConfigBench.open();
      bench.put("home/config.json", {
        sandbox: { client: "workspace" },
        mcpServers: { canary: { ...bench.canary(), sandbox: "read-only" }, free: bench.greeter() },
      });
      await using client = await withoutSandbox(bench, words);
      await client.initialize();
      const { sessionId } = await client.newSession({ cwd: bench.project, mcpServers: [acpWriter(bench, "mine")] });
      const { canary, mine, free } = await settled(client, sessionId);
      for (const failed of [canary, mine]) {
        expect(failed).toMatchObject({ state: "failed", error: expect.stringMatching(error) });
        expect(failed?.hint).toContain('set "sandbox": "off"');
      }
      expect(free?.state).toBe("ready");
      expect(bench.deeds).toEqual([]);
      expect(beside(bench)).toBe(false);
    },
    needs,
  );
}

scenario(
  ["X6", "X3"],
  "a session in the home, or where Tenon keeps its own things, has no sandboxed servers",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("home/config.json", { sandbox: { client: "workspace" } });
    writeFileSync(join(bench.project, "note.txt"), "x");
    await using client = await bench.editor();
    await client.initialize();
    for (const cwd of [bench.home, bench.root, "/", "/tmp"]) {
      const { sessionId } = await client.newSession({ cwd, mcpServers: [acpWriter(bench, "mine")] });
      const { mine } = await settled(client, sessionId);
      expect(mine, cwd).toMatchObject({
        state: "failed",
        error: expect.stringContaining("a sandbox around it would be none"),
      });
    }
  },
  needs,
);

scenario(
  ["X10", "X7"],
  "an editor's npx server in the least sandbox of its layer is downloaded into Tenon's cache and works without network",
  async () => {
    await using bench = await ConfigBench.open();
    await using registry = await PackageRegistry.start();
    bench.put("home/config.json", { sandbox: { client: "workspace" } });
    await using client = await bench.editor({ permissions: "always" });
    await client.initialize();
    const env = [{ name: "npm_config_registry", value: registry.url }];
    const server = { name: "probe", command: "npx", args: ["-y", PACKAGE], env };
    const { sessionId } = await client.newSession({ cwd: bench.project, mcpServers: [server] });
    const { probe } = await settled(client, sessionId);
    expect(probe).toMatchObject({ state: "ready", sandbox: { mode: "workspace", network: false } });
    expect(registry.requests.filter((path) => path === "/package.tgz")).toHaveLength(1);
    expect(readdirSync(join(bench.home, "cache/sandbox")).some((name) => name.endsWith(".fetched"))).toBe(true);
    expect(readdirSync(bench.home)).not.toContain(".npm");
  },
  needs,
);
