// Which tools come before the model: modes, limits, search, and a list that only ever grows.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { isJsonObject } from "../../src/base/json/json.js";
import { echoTool, scriptedAcpServer, type ToolScript } from "../../src/testing/index.js";
import { answerText, answerToolCall, fakeProvider } from "../../src/testing/lab/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { EVERYTHING, program, stdioSpec } from "./real-server.js";
import { scenario } from "./scenario.js";
import { crowd } from "./tools/crowd.js";
import { calls, inTurn, RecordedModel, resultTexts } from "./tools/recorded-model.js";
import { entry, stdio, ToolBench } from "./tools/tool-session.js";

const TALK = () => new RecordedModel(() => "done");
const MCP = (names: readonly string[]) => names.filter((name) => name.startsWith("mcp__"));

function greeter(name: string, text = name): ToolScript {
  return { name, description: `Greets as ${name}.`, reply: { kind: "text", text } };
}

scenario(
  ["T3", "B2", "G2"],
  "include modes per server and tool come from the configuration; a person adds more with /tools and @tool:",
  async () => {
    await using bench = new ToolBench();
    bench.configure({
      tools: { headStart: 0 },
      mcpServers: {
        open: entry({ tools: [greeter("hello"), greeter("rare")] }, { tools: { rare: { include: "search" } } }),
        closed: entry(
          { tools: [greeter("hail"), greeter("wave"), greeter("bow")] },
          { include: "manual", tools: { wave: { include: "always" } } },
        ),
        sought: entry({ tools: [greeter("nod"), greeter("wink")] }, { include: "search" }),
      },
    });
    const model = TALK();
    const session = bench.open({ model });
    await session.prompt("hello");
    expect(MCP(model.offered())).toEqual(["mcp__open__hello", "mcp__closed__wave"]);
    expect(model.offered()).toContain("tenon_search_tools");
    expect(session.tools.why("closed/hail")).toMatchObject({ kind: "manual" });

    await session.prompt("/tools add closed/hail");
    await session.prompt("and now @tool:sought/nod, please.");
    expect(MCP(model.offered())).toEqual([
      "mcp__open__hello",
      "mcp__closed__wave",
      "mcp__closed__hail",
      "mcp__sought__nod",
    ]);
    expect(session.tools.why("mcp__closed__hail")).toMatchObject({ kind: "offered" });

    await session.prompt("/tools always sought");
    await session.prompt("@tool:nobody more");
    expect(MCP(model.offered()).slice(4)).toEqual(["mcp__sought__wink"]);
    expect(bench.notices.join("\n")).toContain("@tool:nobody adds nothing");
    // What is manual is not found by searching either: it is the person's to add.
    const found = await session.tools.search({ query: "bow hail greets" });
    expect(JSON.stringify(found)).not.toContain("mcp__closed__bow");
  },
);

scenario(
  ["T3", "A11", "A4"],
  "a client's servers are always offered, and the client overrides it with _meta.tenon.include",
  async () => {
    using home = new TemporaryFolder();
    await using client = await startTenon(home);
    await client.initialize();
    const plain = scriptedAcpServer("plain", { tools: [greeter("hello")] });
    const shy = scriptedAcpServer("shy", { tools: [greeter("hail"), greeter("wave"), greeter("bow")] });
    const odd = scriptedAcpServer("odd", { tools: [greeter("nod")] });
    const { sessionId } = await client.newSession({
      cwd: home.path,
      mcpServers: [
        plain,
        { ...shy, _meta: { tenon: { include: { default: "manual", tools: { wave: "always", bow: "search" } } } } },
        { ...odd, _meta: { tenon: { include: "sometimes" } } },
      ],
    });
    await client.prompt(sessionId, "/tools");
    const listed = client.text(sessionId);
    for (const name of ["mcp__plain__hello", "mcp__shy__wave", "mcp__odd__nod"]) expect(listed).toContain(name);
    for (const name of ["mcp__shy__hail", "mcp__shy__bow"]) expect(listed).not.toContain(name);
    expect(listed).toContain("1 more are behind search: shy (1)");
    expect(JSON.stringify(client.updates(sessionId))).toContain('_meta.tenon.include is \\"sometimes\\"');
    await client.prompt(sessionId, "/tools add shy/hail");
    await client.prompt(sessionId, "hail");
    expect(client.text(sessionId)).toContain("hail answered: hail");
  },
);

scenario(
  ["T4", "E8"],
  "the limits of servers, tools and processes are configurable; what is beyond moves behind search and is told once",
  async () => {
    await using bench = new ToolBench();
    const names = ["a", "b", "c", "d"];
    bench.configure({
      tools: { maxAlwaysServers: 2, maxAlwaysTools: 60, headStart: 3, warnProcesses: 3 },
      mcpServers: Object.fromEntries(
        names.map((name, index) => [name, entry({ tools: crowd(index === 1 ? 70 : 4, index * 70) })]),
      ),
    });
    const model = TALK();
    const session = bench.open({ model });
    await session.prompt("delete the glacier");
    await session.prompt("again");
    const offered = model.offered();
    expect(offered.length).toBeLessThanOrEqual(60);
    // a and c are whole, b is too large, d is one server too many; the first prompt chose from b and d.
    const always = (server: string) => offered.filter((name) => name.startsWith(`mcp__${server}__`)).length;
    expect([always("a"), always("c")]).toEqual([4, 4]);
    expect(always("b") + always("d")).toBeLessThanOrEqual(3);
    expect(session.tools.why("b/list_orchestra").kind).toBe("over_budget");
    expect(session.tools.why("d/list_greenhouse").kind).toBe("over_budget");
    const told = bench.notices.filter((text) => text.includes("behind search"));
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/60 tools of 2 servers\), so those of "b" \(70\), "d" \(4\)/u);
    expect(bench.notices.filter((text) => text.includes("4 servers as processes (more than 3)"))).toHaveLength(1);
  },
);

scenario(
  ["T5", "B3", "B4", "A4"],
  "the first prompt chooses a head start, searching finds the rest, and every choice can be looked at with its score",
  async () => {
    await using bench = new ToolBench();
    bench.configure({
      tools: { headStart: 4 },
      mcpServers: {
        flood: entry({ tools: crowd(100, 0) }, { include: "search" }),
        small: entry({ tools: crowd(20, 200) }, { include: "search" }),
      },
    });
    const search = (given: { query: string; server?: string; limit?: number }) => calls("tenon_search_tools", given);
    const model = new RecordedModel(
      inTurn(
        "chosen",
        search({ query: "approve a greenhouse" }),
        calls("tenon_call_tool", { name: "mcp__small__approve_greenhouse", arguments: {} }),
        search({ query: "delete", server: "small", limit: 2 }),
        search({ query: "delete", server: "nowhere" }),
        calls("mcp__flood__count_orchestra"), // known, and never shown: a direct call loads it
        "done",
      ),
    );
    const session = bench.open({ model, servers: [stdio("mine", { tools: [echoTool()] })] });
    await session.prompt("archive the chessboard and the telescope");
    const first = MCP(model.offered(0));
    expect(first).toContain("mcp__mine__echo"); // session tools are never filtered by search
    expect(first).toContain("mcp__small__archive_chessboard");
    expect(first).toContain("mcp__flood__archive_telescope");
    expect(first).toHaveLength(5);
    expect(model.requests[0]?.system).toMatch(/^- flood \(100 tools\): /mu);

    await session.prompt("go on");
    const results = model.requests.map((request) => resultTexts(request)[0] ?? "");
    expect(results[2]).toMatch(
      /name: mcp__small__approve_greenhouse\ntitle: .*\ndescription: Approve a greenhouse\.\n/u,
    );
    expect(results[2]).toContain('arguments: {"type":"object"');
    expect(results[3]).toBe("approve greenhouse: done");
    expect(results[4]?.match(/^name: mcp__small__delete_/gmu)).toHaveLength(2);
    expect(results[5]).toContain("The servers are: mine, flood, small.");
    expect(results[6]).toBe("count orchestra: done");
    expect(model.requests.map(({ tools }) => tools.length)).toEqual(model.requests.map(() => model.offered(0).length));

    const { session: always, request, behindSearch } = session.tools.inspect();
    expect(MCP(always.map(({ tool }) => tool.id))).toEqual(["mcp__mine__echo"]);
    const picked = new Map(request.map(({ tool, how, score }) => [tool.id.toString(), { how, score }]));
    expect(picked.get("mcp__flood__archive_telescope")).toMatchObject({ how: "head_start", score: expect.any(Number) });
    expect(picked.get("mcp__small__approve_greenhouse")).toMatchObject({ how: "found", score: expect.any(Number) });
    expect(picked.get("mcp__flood__count_orchestra")).toMatchObject({ how: "called" });
    expect(behindSearch.map(({ server, cause }) => [server, cause])).toEqual([
      ["flood", "search"],
      ["small", "search"],
    ]);
    // A hundred tools that fit do not crowd out the twenty.
    const crowded = await session.tools.search({ query: "update", limit: 10 });
    const servers = crowded.kind === "found" ? crowded.tools.map(({ tool }) => tool.source) : [];
    expect(new Set(servers)).toEqual(new Set(["flood", "small"]));
  },
);

/** What a provider was sent that its prompt cache is about. */
function cached(body: unknown): { readonly tools: string; readonly system: string } {
  const { tools, messages } = isJsonObject(body) ? body : {};
  const [system] = Array.isArray(messages) ? messages : [];
  return { tools: JSON.stringify(tools), system: JSON.stringify(system) };
}

scenario(
  ["T7", "C4", "E4"],
  "the bytes a provider is sent of the tools and the system prompt only grow at the end, whatever comes and is found",
  async () => {
    await using provider = await fakeProvider();
    await using bench = new ToolBench();
    const grown = [greeter("grow"), greeter("zzz_new"), greeter("aaa_new")];
    const config = {
      mcpServers: {
        grow: entry({
          tools: [{ ...greeter("grow"), steps: [{ do: "set_tools", tools: grown }, { do: "list_changed" }] }],
        }),
        crowd: entry({ tools: crowd(120) }),
      },
    };
    bench.configure(config);
    provider.reply(
      answerToolCall("mcp__grow__grow", {}),
      answerText("grown"),
      answerToolCall("tenon_search_tools", { query: "share an accordion" }),
      answerText("found"),
      answerToolCall("tenon_call_tool", { name: "mcp__crowd__share_lighthouse", arguments: {} }),
      answerText("called"),
      answerToolCall("mcp__late__hello", {}),
      answerText("done"),
    );
    const env = { TENON_BASE_URL: provider.url };
    const session = bench.open({ model: "openai-compatible/test-model", env });
    await session.prompt("grow please");
    const isListed = () => session.tools.list().some(({ id }) => id === "mcp__grow__zzz_new");
    await expect.poll(isListed, { timeout: 10_000 }).toBe(true);
    await session.prompt("find something");
    await session.prompt("/tools add crowd/count_invoice");
    await session.prompt("call it");
    bench.configure({ mcpServers: { ...config.mcpServers, late: entry({ tools: [greeter("hello")] }) } });
    await bench.until((event) => event.kind === "server" && event.status.name === "late");
    await expect.poll(() => session.servers.find(({ name }) => name === "late")?.state).toBe("ready");
    await session.prompt("greet late");
    expect(JSON.stringify(bench.outcomes.at(-1))).toContain('"hello"');

    const sent = provider.requests.map(({ body }) => cached(body));
    expect(sent).toHaveLength(8);
    for (const [index, { tools, system }] of sent.entries()) {
      const before = sent[index - 1];
      if (!before) continue;
      expect(system).toBe(before.system);
      expect(tools.startsWith(before.tools.slice(0, -1)), `request ${index}`).toBe(true);
    }
    const order = ["mcp__grow__zzz_new", "mcp__grow__aaa_new", "mcp__crowd__count_invoice", "mcp__late__hello"];
    const last = sent.at(-1)?.tools ?? "";
    const places = order.map((name) => last.indexOf(`"${name}"`));
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(places[0]).toBeGreaterThan(0);
    expect(sent[0]?.tools.length).toBeLessThan(last.length);
  },
);

scenario(
  ["T1", "C5", "D7"],
  "names are safe, the same in any company, and unlike for unlike tools; a server's tools go together",
  async () => {
    const tools = [greeter("hello"), greeter("héllo"), greeter("h llo"), greeter("a".repeat(80)), greeter("x__y")];
    const offers: (readonly string[])[] = [];
    for (const others of [[], [stdio("other", { tools })]]) {
      await using bench = new ToolBench();
      const model = TALK();
      const session = bench.open({ model, servers: [...others, stdio("my server", { tools })] });
      await session.prompt("hello");
      offers.push(MCP(model.offered()));
      const own = session.tools.list().filter(({ source }) => source === "my server");
      expect(own).toHaveLength(tools.length);
      for (const { origin, definitionHash } of own) {
        expect(origin).toBe("client");
        expect(definitionHash).toMatch(/^[0-9a-f]{64}$/u);
      }
    }
    const [alone = [], together = []] = offers;
    for (const name of together) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/u);
    expect(new Set(together).size).toBe(2 * tools.length);
    expect(together).toEqual(expect.arrayContaining([...alone]));

    await using bench = new ToolBench();
    bench.configure({ mcpServers: { a: entry({ tools }), b: entry({ tools: [greeter("hello")] }) } });
    const session = bench.open({ model: TALK() });
    await session.prompt("hello");
    bench.configure({ mcpServers: { b: entry({ tools: [greeter("hello")] }) } });
    await bench.until((event) => event.kind === "notice" && event.text.includes("configuration changed"));
    await session.prompt("hello again");
    expect(session.servers.map(({ name }) => name)).toEqual(["b"]);
    expect(session.tools.why("mcp__a__hello")).toMatchObject({ kind: "gone" });
    expect(session.tools.why("mcp__b__hello")).toMatchObject({ kind: "offered" });
  },
);

scenario(
  ["T2", "A5"],
  "the client's server of a name shadows the project's and the user's, which is told once",
  async () => {
    await using bench = new ToolBench();
    bench.configure({ mcpServers: { same: entry({ tools: [greeter("hello", "the user's")] }) } });
    const model = new RecordedModel(inTurn(calls("mcp__same__hello"), "done", "done"));
    const session = bench.open({ model, servers: [stdio("same", { tools: [greeter("hello", "the client's")] })] });
    await session.prompt("hello");
    await session.prompt("again");
    expect(resultTexts(model.requests[1])).toEqual(["the client's"]);
    const told = bench.notices.filter((text) => text.includes("same"));
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/client.*(replaces|shadows|instead)/iu);
    expect(model.offered().filter((name) => name.includes("same"))).toHaveLength(1);
  },
);

scenario(["T16"], "resources of server-everything are listed and read by the model", async () => {
  await using bench = new ToolBench();
  const text = "demo://resource/dynamic/text/1";
  const model = new RecordedModel(
    inTurn(
      calls("tenon_read_resource", {}),
      calls("tenon_read_resource", { server: "everything", uri: text }),
      calls("tenon_read_resource", { server: "everything", uri: "demo://nothing/here" }),
      calls("tenon_read_resource", { server: "nobody", uri: text }),
    ),
  );
  const session = bench.open({ model, servers: [stdioSpec("everything", [program(EVERYTHING)])] });
  await session.prompt("what is there to read?");
  const results = model.requests.map((request) => resultTexts(request)[0] ?? "");
  expect(results[1]).toMatch(/^everything: \d+ resources/u);
  expect(results[1]).toContain("demo://resource/");
  expect(results[2]).toContain("Resource 1");
  expect(bench.outcomes.map(({ kind }) => kind)).toEqual(["done", "done", "failed", "failed"]);
  expect(results[4]).toContain("Servers with resources: everything");
});

function memoryFiles(bench: ToolBench): readonly string[] {
  const folder = join(bench.home, "state/tool-memory");
  return readdirSync(folder).map((name) => join(folder, name));
}

scenario(
  ["T19"],
  "a later session ranks a tool by the prompts that led to it; deleting the file forgets, and it can be switched off",
  async () => {
    await using bench = new ToolBench();
    const crowded = { crowd: entry({ tools: crowd(150) }, { include: "search" }) };
    const prompt = "prepare the quarterly zebra summary for Ottilie";
    const tool = "mcp__crowd__export_glacier";
    const headStart = async (script = inTurn("done")): Promise<readonly string[]> => {
      const model = new RecordedModel(script);
      const session = bench.open({ model });
      await session.prompt(prompt);
      await session.close();
      return MCP(model.offered(0));
    };
    const use = inTurn(calls("tenon_search_tools", { query: "export a glacier" }), [
      { name: "tenon_call_tool", arguments: { name: tool, arguments: {} } },
    ]);
    bench.configure({ mcpServers: crowded });
    expect(await headStart(use)).not.toContain(tool);
    expect((await headStart())[0]).toBe(tool);

    const [file = "", ...others] = memoryFiles(bench);
    expect(others).toEqual([]);
    const project = createHash("sha256").update(bench.project).digest("hex").slice(0, 32);
    expect(file.endsWith(`${project}.ndjson`)).toBe(true);
    const kept = readFileSync(file, "utf8");
    expect(kept).toContain(tool);
    expect(kept).not.toContain(prompt);

    rmSync(file);
    expect(await headStart()).not.toContain(tool);
    bench.configure({ mcpServers: crowded, tools: { memory: false } });
    await headStart(use);
    expect(memoryFiles(bench)).toEqual([]);
  },
);
