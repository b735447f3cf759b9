// Modes and settings as the documents say: the mode agent, toolInclude, agents with directories of their own, /mcp add, /tools remove.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/base/json/json.js";
import { SchemaCheck } from "../../src/base/schema/schema-check.js";
import { SchemaRefs } from "../../src/base/schema/schema-refs.js";
import { VERSION } from "../../src/base/version.js";
import { type AcpClient, scriptedAcpServer, scriptedHttpServer, type ToolScript } from "../../src/testing/index.js";
import {
  answerText,
  answerToolCall,
  type FakeProvider,
  fakeProvider,
  type ProviderRequest,
} from "../../src/testing/lab/index.js";
import { ROOT } from "../docs/blocks.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { ConfigBench } from "./config-bench.js";
import { agentNode, TENON } from "./peers.js";
import { resultsIn, TARGETS, toolNamesIn } from "./providers/target.js";
import { scenario } from "./scenario.js";

function greeter(name: string): ToolScript {
  return { name, description: `Greets as ${name}.`, reply: { kind: "text", text: `hello from ${name}` } };
}

async function said(client: AcpClient, sessionId: string, prompt: string): Promise<string> {
  const before = client.text(sessionId).length;
  await client.prompt(sessionId, prompt);
  return client.text(sessionId).slice(before);
}

/** One process for all of them: each session has its own model. */
const PROVIDERS = TARGETS.filter(({ model }) => !model.startsWith("openai-compatible/"));

function keys(provider: FakeProvider): Record<string, string> {
  return Object.assign({}, ...PROVIDERS.map((target) => target.env(provider)));
}

async function chooseModel(client: AcpClient, sessionId: string, value: string): Promise<void> {
  await client.request("session/set_config_option", { sessionId, configId: "model", value });
}

function mcpTools(request: ProviderRequest | undefined): readonly string[] {
  return request ? toolNamesIn(request).filter((name) => name.startsWith("mcp__")) : [];
}

scenario(
  ["N600", "N601"],
  "agent means search in the configuration, in a client's entry, in toolInclude, in the setting and in /tools, for every provider",
  async () => {
    await using bench = await ConfigBench.open();
    await using provider = await fakeProvider();
    await using remote = await scriptedHttpServer({ tools: [greeter("far"), greeter("farther")] });
    const { command, args } = scriptedAcpServer("own", { tools: [greeter("sought"), greeter("kept")] });
    bench.put("home/config.json", {
      tools: { headStart: 0 },
      mcpServers: { own: { command, args, include: "agent", tools: { kept: { include: "always" } } } },
    });
    await using client = await bench.editor({}, keys(provider));
    await client.initialize();
    const given = {
      name: "given",
      type: "http" as const,
      url: remote.url,
      headers: [],
      toolInclude: { serverDefault: "agent", tools: { farther: "always", far: "often" } },
    };
    const meta = {
      ...scriptedAcpServer("meta", { tools: [greeter("hidden")] }),
      _meta: { tenon: { include: "agent" } },
    };
    const plain = scriptedAcpServer("plain", { tools: [greeter("open")] });
    for (const { name, model } of PROVIDERS) {
      const { sessionId } = await client.newSession({ cwd: bench.project, mcpServers: [given, meta, plain] });
      await chooseModel(client, sessionId, model);
      provider.reply(answerText("Good morning."));
      await client.prompt(sessionId, "hello");
      const offered = [...mcpTools(provider.requests.at(-1))].sort();
      expect(offered, name).toEqual(["mcp__given__farther", "mcp__own__kept", "mcp__plain__open"]);
      expect(JSON.stringify(client.updates(sessionId))).toContain('toolInclude is \\"often\\"');
      await client.request("session/set_config_option", { sessionId, configId: "include", value: "agent" });
      const update = client.updates(sessionId).findLast((one) => one.sessionUpdate === "config_option_update");
      expect(JSON.stringify(update)).toMatch(/"id":"include"[^[]*"currentValue":"search"/u);
      expect(await said(client, sessionId, "/tools agent own/kept")).toContain('mode "search"');
      await client.closeSession(sessionId);
    }
    expect(client.violations).toEqual([]);
  },
);

scenario(["N602"], "two agents of one editor have servers, sessions and settings of their own", async () => {
  await using bench = await ConfigBench.open();
  const servers = bench.put("work-servers.json", bench.servers({ tickets: bench.greeter("a ticket") }));
  bench.put("home/config.json", bench.servers({ mine: bench.greeter() }));
  bench.put("agents/work/config.json", bench.servers({ works: bench.greeter("at work") }));
  const work = join(bench.root, "agents/work");
  await using first = await bench.editor();
  await using second = await bench.editor({ acpWords: ["--config", work, "--mcp-config", servers] });
  await Promise.all([first.initialize(), second.initialize()]);
  const [mine, works] = await Promise.all([
    first.newSession({ cwd: bench.project }),
    second.newSession({ cwd: bench.project }),
  ]);
  const own = await said(first, mine.sessionId, "/mcp");
  const other = await said(second, works.sessionId, "/mcp");
  expect(own).toContain("**mine** (user): ready");
  expect(own).not.toMatch(/works|tickets/u);
  expect(other).toContain("**works** (user): ready");
  expect(other).toContain("**tickets** (user): ready");
  expect(other).not.toContain("mine");
  expect(readdirSync(join(work, "state/sessions")).join()).toContain(works.sessionId);
  expect(readdirSync(join(bench.home, "state/sessions")).join()).not.toContain(works.sessionId);
  const listed = JSON.stringify(await first.request("session/list", {}));
  expect(listed).toContain(mine.sessionId);
  expect(listed).not.toContain(works.sessionId);
});

scenario(["N602"], "what is wrong with the two options is said, and nothing is taken from the project", async () => {
  await using bench = await ConfigBench.open();
  bench.put("project/agent/config.json", bench.servers({ planted: bench.canary() }));
  bench.put("project/servers.json", bench.servers({ planted: bench.canary() }));
  for (const words of [
    ["--config", "agent"],
    ["--mcp-config", "servers.json"],
  ]) {
    const refused = await bench.tenon(["acp", ...words]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`${words[0]} must be a full path, or begin with ~/`);
  }
  const file = bench.put("home/file", "no folder");
  const wrong = await bench.tenon(["acp", "--config", file]);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("is no directory") });
  expect(bench.deeds).toEqual([]);
  // One that is not there yet is made; a file that is missing is told in the session, which goes on.
  const missing = join(bench.root, "nowhere.json");
  await using client = await bench.editor({ acpWords: ["--config", "~/agents/new", "--mcp-config", missing] });
  await client.initialize({ clientCapabilities: { session: { notices: {} } } });
  const { sessionId } = await client.newSession({ cwd: bench.project });
  expect(await said(client, sessionId, "/mcp")).toContain("No MCP servers");
  await client.waitForUpdate(sessionId, (update) =>
    JSON.stringify(update).includes("nowhere.json: there is no such file"),
  );
  expect(existsSync(join(bench.home, "agents/new/state/sessions"))).toBe(true);
  // In a terminal the person means the folder they are in.
  bench.put("project/mine/config.json", bench.servers({ near: bench.greeter("good evening") }));
  const chat = await bench.tenon(["chat", "--config", "mine", "-p", "greet the person", "--yes"]);
  expect(chat.stdout).toContain("good evening");
});

scenario(
  ["N603"],
  "/mcp add takes the words of the command line, and /mcp NAME shows a server without its secrets",
  async () => {
    using home = new TemporaryFolder();
    await using remote = await scriptedHttpServer({ tools: [greeter("far")] }, { bearer: "s3cret-of-mine" });
    await using client = await startTenon(home, { env: { MY_TOKEN: "s3cret-of-mine" } });
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: home.path });
    const { command, args } = scriptedAcpServer("x", { tools: [greeter("near")] });
    const words = [command, ...args].map((word) => `'${word}'`).join(" ");
    expect(await said(client, sessionId, `/mcp add local --env KEY='a b' --env=T=\${MY_TOKEN} -- ${words}`)).toContain(
      "**local** (client): ready, 1 tool",
    );
    const header = "--header 'Authorization: Bearer ${MY_TOKEN}'";
    expect(await said(client, sessionId, `/mcp add far ${remote.url} ${header}`)).toContain("ready, 1 tool");
    const local = await said(client, sessionId, "/mcp local");
    expect(local).toContain("**local** (client): ready, 1 tool");
    expect(local).toContain("variables: KEY, T");
    expect(local).toContain("near` Greets as near.");
    expect(local).toMatch(/protocol \d{4}-\d\d-\d\d/u);
    const far = await said(client, sessionId, "/mcp far");
    expect(far).toContain(`at ${remote.url} (http)`);
    expect(far).toContain("headers: Authorization");
    expect(local + far).not.toContain("s3cret");
    expect(await said(client, sessionId, "/mcp add bad --env T=${NOT_SET} -- x")).toContain("NOT_SET is not set");
    expect(await said(client, sessionId, "/mcp add bad -- 'x")).toContain("is not closed");
    expect(await said(client, sessionId, "/mcp add local -- x")).toContain('there is a server "local" already');
    expect(await said(client, sessionId, "/mcp nobody")).toMatch(/there are: (local, far|far, local)\./u);
  },
);

scenario(
  ["N604"],
  "a removed tool is not offered, a call of it answers why, and it comes back at the end of the list",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    await using client = await startTenon(home, { env: keys(provider) });
    await client.initialize();
    const server = scriptedAcpServer("s", { tools: [greeter("one"), greeter("two")] });
    for (const { name, model } of PROVIDERS) {
      const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [server] });
      await chooseModel(client, sessionId, model);
      provider.reply(
        answerText("Yes."),
        answerToolCall("mcp__s__one", {}),
        answerText("It is gone."),
        answerText("Back."),
      );
      await client.prompt(sessionId, "hello");
      expect(mcpTools(provider.requests.at(-1)), name).toEqual(["mcp__s__one", "mcp__s__two"]);
      expect(await said(client, sessionId, "/tools remove one")).toContain("is not offered any more");
      await client.prompt(sessionId, "again");
      const answered = provider.requests.at(-1);
      expect(mcpTools(answered)).toEqual(["mcp__s__two"]);
      const result = answered && resultsIn(answered)[0];
      expect(result?.content).toContain("the person removed it from this session");
      expect(result?.content).not.toContain("hello from one");
      await client.prompt(sessionId, "/tools always one");
      await client.prompt(sessionId, "once more");
      expect(mcpTools(provider.requests.at(-1))).toEqual(["mcp__s__two", "mcp__s__one"]);
      await client.closeSession(sessionId);
    }
  },
);

scenario(
  ["N801"],
  "a log-in in a terminal is offered with its whole command to clients that announce it in _meta",
  async () => {
    await using bench = await ConfigBench.open();
    const work = join(bench.root, "work");
    const methodsFor = async (clientCapabilities: object) => {
      await using client = await bench.editor({ acpWords: ["--config", work] });
      const { authMethods = [] } = await client.initialize({ clientCapabilities });
      expect(client.violations).toEqual([]);
      return authMethods;
    };
    expect(await methodsFor({})).toMatchObject([{ id: "environment" }]);
    const [, standard] = await methodsFor({ auth: { terminal: true } });
    expect(standard).toMatchObject({ type: "terminal", id: "setup", args: ["--setup"] });
    expect(standard).not.toHaveProperty("_meta");
    const [, older] = await methodsFor({ _meta: { "terminal-auth": true } });
    const args = [TENON, "acp", "--config", work, "--setup"];
    const label = "Set up in a terminal";
    expect(older).toMatchObject({ id: "setup", _meta: { "terminal-auth": { label, command: agentNode(), args } } });
    // Both command lines lead to the same question, here without a terminal to ask in.
    for (const words of [args.slice(1), ["--setup"]]) {
      expect(await bench.tenon(words)).toMatchObject({
        code: 3,
        stderr: expect.stringContaining("no terminal to ask in"),
      });
    }
  },
);

scenario(
  ["N802"],
  "the entry for the ACP registry fits its schema and rules, and what it starts passes its check",
  async () => {
    const folder = join(ROOT, "registry/tenon");
    const entry: unknown = JSON.parse(readFileSync(join(folder, "agent.json"), "utf8"));
    const schema: unknown = JSON.parse(
      readFileSync(join(ROOT, "test/fixtures/acp-registry/agent.schema.json"), "utf8"),
    );
    if (!isJsonObject(entry) || !isJsonObject(schema)) throw new Error("no objects");
    const checking = new SchemaCheck(new SchemaRefs(schema), new Map(), Number.POSITIVE_INFINITY, () => false);
    expect(checking.misfits(schema, entry, 10)).toEqual([]);
    expect(checking.misfits(schema, { ...entry, id: "Tenon!" }, 10)).toHaveLength(1);
    expect(entry).toMatchObject({
      id: "tenon",
      version: VERSION,
      distribution: { npx: { package: `tenon@${VERSION}`, args: ["acp"] } },
    });
    const icon = readFileSync(join(folder, "icon.svg"), "utf8");
    expect(icon).toMatch(/<svg[^>]* width="16" height="16" viewBox="0 0 16 16"/u);
    const colors = [...icon.matchAll(/\b(?:fill|stroke|style)="([^"]*)"/gu)].map(([, color]) => color);
    expect(new Set(colors)).toEqual(new Set(["currentColor"]));
    // What the registry's own check announces.
    await using bench = await ConfigBench.open();
    await using client = await bench.editor();
    const { authMethods = [] } = await client.initialize({
      clientCapabilities: { terminal: true, _meta: { terminal_output: true, "terminal-auth": true } },
    });
    expect(authMethods.map((method) => ("type" in method ? method.type : "agent"))).toEqual(["agent", "terminal"]);
  },
);

scenario(["N803"], "whatever of Tenon's own is on the wire is in the page about it", async () => {
  const page = readFileSync(join(ROOT, "docs/reference/acp.md"), "utf8");
  await using bench = await ConfigBench.open();
  bench.put("project/.mcp.json", bench.servers({ team: bench.greeter() }));
  await using client = await bench.editor({ permissions: "deny" });
  const { agentCapabilities } = await client.initialize();
  const server = scriptedAcpServer("s", { tools: [greeter("one")] });
  const broken = { name: "broken", command: "no-such-program", args: [], env: [] };
  const { sessionId } = await client.newSession({ cwd: bench.project, mcpServers: [server, broken] });
  await client.prompt(sessionId, "greet me as one");
  const methods = metaIn(agentCapabilities)["methods"];
  expect(methods).toEqual([
    ...["_tenon/mcp/status", "_tenon/session/set_mcp_servers"],
    ...["_tenon/session/view", "_tenon/session/records", "_tenon/session/tools", "_tenon/session/set_tools"],
    "_tenon/question/answer",
  ]);
  await client.request("_tenon/mcp/status", { sessionId });
  await client.request("_tenon/session/set_mcp_servers", { sessionId, mcpServers: [server] });
  for (const method of ["view", "records", "tools"]) await client.request(`_tenon/session/${method}`, { sessionId });
  const names = new Set<string>();
  for (const { text } of client.lines) collectFields(JSON.parse(text), names);
  expect([...names]).toEqual(
    expect.arrayContaining(["methods", "mcp", "trust", "servers", "state", "error", "origin"]),
  );
  expect([...names].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

function metaIn(value: unknown): JsonObject {
  const meta = isJsonObject(value) ? value["_meta"] : undefined;
  const ours = isJsonObject(meta) ? meta["tenon"] : undefined;
  return isJsonObject(ours) ? ours : {};
}

/** The names of all fields in `_meta.tenon`, wherever it stands, and of the statuses in it. */
function collectFields(value: unknown, into: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) collectFields(item, into);
  if (!isJsonObject(value)) return;
  const ours = metaIn(value);
  for (const name of Object.keys(ours)) into.add(name);
  const servers = isJsonObject(ours["mcp"]) ? ours["mcp"]["servers"] : [];
  for (const status of Array.isArray(servers) ? servers : []) {
    if (isJsonObject(status)) for (const name of Object.keys(status)) into.add(name);
  }
  for (const inner of Object.values(value)) collectFields(inner, into);
}
