// The tools about tools: a model that only follows what it is given finds what is behind search, and can call it.
import { expect, test } from "vitest";
import { testSource, testTool } from "../../../test/tool-source.js";
import type { ToolDefinition } from "../tool.js";
import { SessionCatalog } from "./session-catalog.js";

const signal = new AbortController().signal;

async function ask(args: Record<string, string | number>, tools: readonly (string | ToolDefinition)[], name = "s") {
  const catalog = new SessionCatalog({ limits: { headStart: 0 } });
  catalog.add(testSource(name, tools), { include: "search" });
  const entry = catalog.offer().find("tenon_search_tools");
  if (!entry) throw new Error("there is no search");
  const outcome = await entry.source.call({ tool: entry.raw.name, arguments: args, signal, onProgress: () => {} });
  const [block] = "content" in outcome ? outcome.content : [];
  return { catalog, outcome, text: block?.type === "text" ? block.text : "" };
}

test("a result has name, title, one line and schema, and the tool can be called from then on", async () => {
  const tool = testTool("make_tea", {
    title: "Make tea",
    description: "Makes tea. Long story.\n\nMore of it.",
    inputSchema: { type: "object", properties: { cups: { type: "integer" } } },
  });
  const { catalog, text } = await ask({ query: "tea" }, [tool, "paint"]);
  expect(text).toBe(
    [
      '1 tool found, the best first. Call one with tenon_call_tool({"name": "…", "arguments": {…}}).',
      "",
      "name: mcp__s__make_tea",
      "title: s / Make tea",
      "description: Makes tea.",
      'arguments: {"type":"object","properties":{"cups":{"type":"integer"}}}',
    ].join("\n"),
  );
  expect(catalog.offer().find("mcp__s__make_tea")?.source.name).toBe("s");
  expect(catalog.why("make_tea").kind).toBe("loaded");
});

test("a schema too long to show is told by its properties", async () => {
  const properties = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`property_${at}`, { type: "string" }]));
  const { text } = await ask({ query: "big" }, [
    testTool("big", { inputSchema: { type: "object", properties, required: ["property_1"] } }),
  ]);
  expect(text).toContain("a schema too long to show; properties: property_0, property_1");
  expect(text).toContain('required: ["property_1"]');
  expect(text.length).toBeLessThan(5_000);
});

test("nothing found, a missing query and a server that is not there are said in words", async () => {
  expect((await ask({ query: "quantum" }, ["paint"])).text).toContain("No tool was found");
  expect((await ask({ query: " " }, ["paint"])).outcome.kind).toBe("failed");
  expect((await ask({ query: "x", server: "t" }, ["paint"])).text).toBe('There is no server "t". The servers are: s.');
});

test("a limit is kept, also an absurd one", async () => {
  const tools = Array.from({ length: 40 }, (_, at) => `paint_${at}`);
  const count = async (limit: number) => (await ask({ query: "paint", limit }, tools)).text.match(/^name:/gmu)?.length;
  expect(await count(3)).toBe(3);
  expect(await count(1_000)).toBe(20);
  expect(await count(-1)).toBe(1);
});

test("the definitions are the same whatever is connected", async () => {
  const one = await ask({ query: "x" }, ["a"], "one");
  const two = await ask({ query: "x" }, ["b", "c"], "two");
  const metas = ({ catalog }: typeof one) => JSON.stringify(catalog.offer().tools.slice(0, 2));
  expect(metas(one)).toBe(metas(two));
});
