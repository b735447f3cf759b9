// Why a tool is not there, asked in the chat and of the library; and tools that the program around Tenon brings itself.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { Cell } from "../../src/base/async/cell.js";
import { text } from "../../src/base/text/content.js";
import { BAD_TOOLS, echoTool } from "../../src/testing/index.js";
import type { ToolDefinition, ToolSource } from "../../src/tools/index.js";
import { ConfigBench } from "./config-bench.js";
import { scenario } from "./scenario.js";
import { crowd } from "./tools/crowd.js";
import { calls, inTurn, RecordedModel, resultTexts } from "./tools/recorded-model.js";
import { entry, stdio, ToolBench } from "./tools/tool-session.js";

const FAILING = entry({ steps: { start: [{ do: "crash", exitCode: 3, stderr: "no database at port 5432" }] } });

/** One server for each way of not being offered. */
const SERVERS = {
  filtered: entry({ tools: [echoTool()] }, { deny: ["echo"] }),
  same: entry({ tools: [echoTool("old")] }),
  odd: entry({ tools: [echoTool()], rawTools: [BAD_TOOLS.wrongSchemaType] }),
  big: entry({ tools: crowd(120) }),
  sought: entry({ tools: crowd(40, 200) }, { include: "search" }),
  failing: FAILING,
};

scenario(
  ["T18", "B4"],
  "/why in the chat answers for every way of not being offered",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("home/config.json", { tools: { headStart: 2 }, mcpServers: SERVERS });
    bench.put("project/.mcp.json", bench.servers({ theirs: bench.canary() }));
    const line = bench.put("servers.json", bench.servers({ same: entry({ tools: [echoTool("new")] }) }));
    const asked = [
      "filtered/echo",
      "same/old",
      "odd/bad_schema_type",
      "big/archive_recipe",
      "sought/count_greenhouse",
      "failing/anything",
      "theirs/greet",
      "same/new",
      "no_such_tool",
    ];
    const prompts = ["hello there", ...asked.map((name) => `/why ${name}`)];
    const input = prompts.map((prompt) => `${prompt}\n`).join("");
    const { code, stdout } = await bench.tenonWith(input, ["chat", "--lines", "--yes", "--mcp-config", line]);
    expect(code).toBe(0);
    const answers = [
      /"echo" of "filtered" is left out: "deny" of its server has "echo"/u,
      /"same".* not used: .*(shadow|replace|command line)/iu,
      /Of the list of "odd": tool "bad_schema_type" is left out/u,
      /big \/ archive_recipe .* is behind search, since a model call is offered no more than 100 tools/u,
      /sought \/ count_greenhouse .* is in mode "search" and was not among the tools that prompts chose/u,
      /"failing" (failed|broke).*no database at port 5432/u,
      /"theirs" is not used: .*(trust|approv)/iu,
      /same \/ new .* is offered to the model/u,
      /No server of this session has a tool "no_such_tool"/u,
    ];
    const said = stdout.replaceAll(/\s+/gu, " ");
    for (const answer of answers) expect(said).toMatch(answer);
    expect(bench.deeds).toEqual([]); // asking why started nothing of the project's
  },
  { timeoutMs: 180_000 },
);

scenario(["T18", "B4", "T2"], "the library answers the same with a kind, and with where a tool stood", async () => {
  await using bench = new ToolBench();
  bench.configure({ tools: { headStart: 2 }, mcpServers: SERVERS });
  const session = bench.open({
    model: new RecordedModel(() => "done"),
    servers: [stdio("same", { tools: [echoTool("new")] })],
  });
  expect(session.tools.why("nothing").kind).toBe("unknown");
  await session.prompt("count a chessboard");
  const kinds = Object.fromEntries(
    [
      "filtered/echo",
      "same/old",
      "odd/bad_schema_type",
      "big/archive_recipe",
      "sought/count_greenhouse",
      "failing/anything",
      "sought/count_chessboard",
      "echo",
    ].map((name) => [name, session.tools.why(name).kind]),
  );
  expect(kinds).toEqual({
    "filtered/echo": "filtered",
    "same/old": "shadowed",
    "odd/bad_schema_type": "quarantined",
    "big/archive_recipe": "over_budget",
    "sought/count_greenhouse": "below_cut",
    "failing/anything": "server_failed",
    "sought/count_chessboard": "offered",
    echo: "offered",
  });
  const { search } = session.tools.why("sought/count_greenhouse");
  expect(search).toMatchObject({ query: "count a chessboard", rank: expect.any(Number), score: expect.any(Number) });
  expect(search?.score).toBeLessThanOrEqual(search?.cut ?? 0);
  expect(search?.rank).toBeGreaterThan(2);
  expect(search?.matches.map(({ term }) => term)).toContain("count");
});

function ownSource(name: string, answer: string): ToolSource {
  const definition: ToolDefinition = {
    name: "hello there",
    title: "Say hello",
    description: "Says hello from the program.",
    inputSchema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
  };
  return {
    name,
    origin: "builtin", // whatever it says: what an embedder adds is its own
    tools: new Cell([definition]),
    call: async ({ tool, arguments: { to } }) => ({
      kind: "done",
      content: [text(`${answer} to ${String(to)} (${tool}) ${"long ".repeat(20_000)}`)],
    }),
  };
}

scenario(
  ["T17", "D7"],
  "an embedder adds, replaces and clears sources of its own, under the same naming, policy and results",
  async () => {
    await using bench = new ToolBench();
    bench.configure({ permissions: { rules: [{ effect: "deny", server: "guest", reason: "not today" }] } });
    let answered = "";
    const model = new RecordedModel((request) => {
      const own = request.tools.find(({ name }) => name.startsWith("mcp__app__"))?.name;
      const isAsked = request.messages.at(-1)?.role === "user";
      answered = resultTexts(request)[0] ?? answered;
      return isAsked && own !== undefined ? calls(own, { to: "you" }) : "done";
    });
    const session = bench.open({ model });
    const remove = session.tools.add(ownSource("app", "first"));
    await session.prompt("hello");
    expect(answered).toMatch(/^first to you \(hello there\) /u);
    expect(answered).toContain("kept as r1");
    expect(Buffer.byteLength(answered)).toBeLessThanOrEqual(51_200);
    expect(bench.asked).toMatchObject([{ tool: { origin: "extra", source: "app", label: "app / Say hello" } }]);
    expect(model.offered().find((name) => name.startsWith("mcp__app__"))).toMatch(/^mcp__app__hello_there$/u);

    session.tools.add(ownSource("app", "second"));
    await session.prompt("hello");
    expect(answered).toMatch(/^second to you/u);
    remove(); // of what was replaced: it takes away nothing
    await session.prompt("hello");
    expect(answered).toMatch(/^second to you/u);

    session.tools.add(ownSource("guest", "third"), { include: "manual" });
    expect(session.tools.why("guest/hello there").kind).toBe("manual");
    session.tools.clear("app");
    await session.prompt("hello");
    expect(answered).toContain("is gone");
    expect(session.tools.include("guest/hello there")).toMatchObject({ ok: true });
    session.tools.clear();
    expect(session.tools.list().filter(({ origin }) => origin === "extra")).toHaveLength(1); // what the model has seen stays
    expect(session.tools.why("guest/hello there").kind).toBe("unknown");
  },
);

scenario(["T17", "T10"], "a rule denies an embedder's tool like any other", async () => {
  await using bench = new ToolBench();
  bench.configure({ permissions: { rules: [{ effect: "deny", server: "guest", reason: "not today" }] } });
  const model = new RecordedModel((request) => {
    const own = request.tools.find(({ name }) => name.startsWith("mcp__guest__"))?.name ?? "";
    return request.messages.at(-1)?.role === "user" ? calls(own, { to: "you" }) : "done";
  });
  const session = bench.open({ model });
  session.tools.add(ownSource("guest", "third"));
  await session.prompt("hello");
  expect(bench.outcomes).toMatchObject([{ kind: "refused", reason: expect.stringContaining("not today") }]);
  expect(bench.asked).toEqual([]);
});

scenario(
  ["T17", "T14"],
  "a kept result is passed to a tool of the embedder's without passing through the model",
  async () => {
    await using bench = new ToolBench();
    const lengths: number[] = [];
    const sink: ToolSource = {
      name: "sink",
      origin: "extra",
      tools: new Cell([{ name: "take", description: "Takes a text.", inputSchema: { type: "object" } }]),
      call: async ({ arguments: { value } }) => {
        lengths.push(String(value).length);
        return { kind: "done", content: [text("taken")] };
      },
    };
    const servers = [
      stdio("s", { tools: [{ name: "much", description: "Much.", reply: { kind: "bytes", bytes: 300_000 } }] }),
    ];
    const model = new RecordedModel(
      inTurn(calls("mcp__s__much"), calls("mcp__sink__take", { value: { $result: "r1" } }), "done"),
    );
    const session = bench.open({ model, servers });
    session.tools.add(sink);
    await session.prompt("pass it on");
    expect(lengths).toEqual([300_000]);
  },
);

scenario(
  ["T18", "B4", "G6"],
  "tenon mcp why answers on the command line, with scores for a prompt, and leaves nothing behind",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("home/config.json", { tools: { headStart: 2 }, mcpServers: SERVERS });
    bench.put("project/.mcp.json", bench.servers({ theirs: bench.canary() }));
    const kinds = new Map<string, string>();
    for (const name of ["filtered/echo", "big/archive_recipe", "failing", "theirs", "sought/count_greenhouse"]) {
      const { code, stdout } = await bench.tenon(["mcp", "why", name, "--json"]);
      expect(code, name).toBe(0);
      const { kind }: { kind: string } = JSON.parse(stdout);
      kinds.set(name, kind);
    }
    expect(Object.fromEntries(kinds)).toEqual({
      "filtered/echo": "filtered",
      "big/archive_recipe": "over_budget",
      failing: "server_failed",
      theirs: "not_trusted",
      "sought/count_greenhouse": "behind_search",
    });
    const words = ["mcp", "why", "sought/count_greenhouse", "--prompt", "count a chessboard"];
    const { code, stdout } = await bench.tenon(words);
    expect(code).toBe(0);
    expect(stdout).toMatch(/was not among the tools that prompts chose.* it was number \d+ with the score/u);
    expect((await bench.tenon(["mcp", "why"])).code).toBe(2);
    expect(bench.deeds).toEqual([]);
    expect(readdirSync(join(bench.home, "cache/why"))).toEqual([]);
    expect(existsSync(join(bench.home, "state/sessions"))).toBe(false);
  },
);
