// Names a model can read: what providers are sent for odd server names, and names that stay for the life of a session.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type AcpClient, echoTool, scriptedAcpServer, scriptedHttpServer } from "../../src/testing/index.js";
import { answerText, answerToolCall, type FakeProvider, fakeProvider } from "../../src/testing/lab/index.js";
import { mcpToolId, toolKey } from "../../src/tools/names.js";
import { ODD_SERVER_NAMES } from "../odd-server-names.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { resultsIn, TARGETS, type Target, toolNamesIn } from "./providers/target.js";
import { scenario } from "./scenario.js";

type Servers = Parameters<AcpClient["newSession"]>[0]["mcpServers"];

/** A tool that says whose it is. */
function own(server: string) {
  return scriptedAcpServer(server, {
    tools: [{ ...echoTool("read_file"), reply: { kind: "text", text: `of ${server}` } }],
  });
}

async function inEditor(
  target: Target,
  run: (client: AcpClient, provider: FakeProvider, home: TemporaryFolder) => Promise<void>,
): Promise<void> {
  using home = new TemporaryFolder();
  await using provider = await fakeProvider({ schemaFaults: target.schemaFaults });
  const env = { ...target.env(provider), TENON_MODEL: target.model };
  await using client = await startTenon(home, { env, permissions: "always" });
  await client.initialize();
  await run(client, provider, home);
  expect(provider.refusals.map(({ fault }) => fault)).toEqual([]);
}

const [, , CHAT] = TARGETS;
if (!CHAT) throw new Error("no target");

scenario(
  ["N100", "N101"],
  "40 odd server names become valid, unique names that end in the tool's own, for every provider, and each leads to its server",
  async () => {
    using home = new TemporaryFolder();
    writeFileSync(join(home.path, "config.json"), JSON.stringify({ tools: { maxAlwaysServers: 99 } }));
    await using provider = await fakeProvider();
    await using http = await scriptedHttpServer({ tools: [echoTool("read_file")] });
    const targets = TARGETS.filter(({ name }) => name !== "a compatible server");
    const env = Object.assign({}, ...targets.map((target) => target.env(provider)), { OPENAI_BASE_URL: provider.url });
    await using client = await startTenon(home, { env, permissions: "always" });
    await client.initialize();
    const mcpServers = ODD_SERVER_NAMES.map((name) => ({ type: "http" as const, name, url: http.url, headers: [] }));
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers });
    const called: Readonly<Record<string, string>> = {
      mcp__deploy__read_file: "🚀 deploy",
      mcp__Failovyi_server__read_file: "Файловый сервер",
      mcp__Kalimera__read_file: "Καλημέρα",
      mcp__filesystem__read_file: "github.com/a-very-long-organisation-name/and-a-long-repository/servers/filesystem",
    };
    const lists: (readonly string[])[] = [];
    for (const [at, [name, server]] of Object.entries(called).entries()) {
      const { model: value = "" } = targets[at] ?? {};
      await client.request("session/set_config_option", { sessionId, configId: "model", value });
      provider.reply(answerToolCall(name, { text: "x" }), answerText("Read."));
      const from = client.updates(sessionId).length;
      await client.prompt(sessionId, "read it");
      const titles = client
        .updates(sessionId)
        .slice(from)
        .flatMap((update) => ("title" in update ? [update.title] : []));
      expect(
        titles.some((title) => title?.startsWith(`${server} / `)),
        `${name} in ${JSON.stringify(titles)}`,
      ).toBe(true);
      lists.push(toolNamesIn(provider.requests.at(-1) ?? fail()).filter((one) => one.startsWith("mcp__")));
    }
    const [names = [], ...others] = lists;
    for (const other of others) expect(other).toEqual(names);
    expect(names).toHaveLength(ODD_SERVER_NAMES.length);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^mcp__[A-Za-z0-9][\w-]*__read_file(?:_[a-z2-7]{8})?$/);
    for (const name of names) expect(name.length).toBeLessThanOrEqual(64);
    const hashed = names.filter((name) => /__read_file_[a-z2-7]{8}$/.test(name));
    for (const name of hashed) expect(names).toContain(name.slice(0, -9));
    expect(provider.refusals.map(({ fault }) => fault)).toEqual([]);
  },
);

scenario(
  ["N102"],
  "a name stays with its tool when servers come in another order, and in a session that is loaded again",
  () =>
    inEditor(CHAT, async (client, provider, home) => {
      const namesNow = () => toolNamesIn(provider.requests.at(-1) ?? fail()).filter((name) => name.startsWith("mcp__"));
      const [one, other] = ["my server", "my.server"];
      const later = `mcp__my_server__read_file_${toolKey(other, "read_file").slice(-8)}`;
      const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [own(one), own(other)] });
      const ask = async (name: string, id: string) => {
        provider.reply(answerToolCall(name, { text: "x" }), answerText("Read."));
        await client.prompt(id, "read it");
        return resultsIn(provider.requests.at(-1) ?? fail()).at(-1)?.content;
      };
      expect(await ask("mcp__my_server__read_file", sessionId)).toContain("of my server");
      expect(namesNow()).toEqual(["mcp__my_server__read_file", later]);
      expect(await ask(later, sessionId)).toContain("of my.server");
      await client.closeSession(sessionId);
      const load = async (mcpServers: Servers) => {
        await client.request("session/load", { sessionId, cwd: home.path, mcpServers });
      };
      await load([own(other), own(one)]);
      expect(await ask("mcp__my_server__read_file", sessionId)).toContain("of my server");
      expect(namesNow().sort()).toEqual(["mcp__my_server__read_file", later]);
      await client.closeSession(sessionId);
      // As a journal of the rule before: every name that had to be changed has a hash.
      const former = toolKey(one, "read_file");
      rewriteJournals(home.path, (text) => text.replaceAll('"mcp__my_server__read_file"', JSON.stringify(former)));
      await load([own(other), own(one)]);
      expect(await ask(former, sessionId)).toContain("of my server");
      expect(namesNow()).toContain(former);
    }),
);

scenario(["N103"], "a call by a name of the former rule reaches its tool, whatever the tool is called now", () =>
  inEditor(CHAT, async (client, provider, home) => {
    const server = "github.com/org/servers/filesystem";
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [own(server)] });
    provider.reply(answerToolCall(toolKey(server, "read_file"), { text: "x" }), answerText("Read."));
    await client.prompt(sessionId, "read it");
    const last = provider.requests.at(-1) ?? fail();
    expect(toolNamesIn(last)).toContain(mcpToolId(server, "read_file"));
    expect(resultsIn(last).at(-1)?.content).toContain(`of ${server}`);
  }),
);

function fail(): never {
  throw new Error("there is no request");
}

function rewriteJournals(home: string, rewrite: (text: string) => string): void {
  const journals = readdirSync(home, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ndjson"));
  const changed = journals.filter((path) => {
    const before = readFileSync(join(home, path), "utf8");
    const after = rewrite(before);
    writeFileSync(join(home, path), after);
    return after !== before;
  });
  expect(changed.length).toBeGreaterThan(0);
}
