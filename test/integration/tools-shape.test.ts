// What configuration and code make of a server's tools before the model sees them, and what the server still gets.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/base/json/json.js";
import { BAD_TOOLS, echoTool, type ToolScript } from "../../src/testing/index.js";
import { answerText, fakeProvider } from "../../src/testing/lab/index.js";
import type { ToolTransformer } from "../../src/tools/index.js";
import { scenario } from "../scenarios/scenario.js";
import { calls, inTurn, RecordedModel, resultTexts } from "../scenarios/tools/recorded-model.js";
import { entry, stdio, ToolBench } from "../scenarios/tools/tool-session.js";

const search: ToolScript = {
  name: "search",
  title: "Search",
  description: "Searches an index.",
  inputSchema: {
    type: "object",
    properties: {
      index: { type: "string" },
      token: { type: "string" },
      query: { type: "string", minLength: 2 },
      limit: { type: "integer", maximum: 50 },
    },
    required: ["index", "token", "query", "limit"],
  },
  reply: { kind: "echo" },
};

/** The calls a scripted server was sent. */
function received(file: string): readonly JsonObject[] {
  const lines: unknown[] = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return lines.flatMap((line) => {
    const message = isJsonObject(line) && isJsonObject(line["received"]) ? line["received"] : {};
    return message["method"] === "tools/call" && isJsonObject(message["params"]) ? [message["params"]] : [];
  });
}

scenario(
  ["T8", "D4"],
  "configuration filters, renames, describes and prefixes tools, pins arguments and gives defaults",
  async () => {
    await using bench = new ToolBench();
    const recordFile = join(bench.root, "record");
    const extras = {
      prefix: "docs_",
      allow: ["search", "read_*"],
      deny: ["*_all"],
      tools: {
        search: {
          name: "look_up",
          description: "Looks something up in the handbook.",
          arguments: { index: "handbook", token: "pinned" },
          defaults: { limit: 5 },
        },
        read_old: { enabled: false },
      },
    };
    const tools = [search, echoTool("read_page"), echoTool("read_all"), echoTool("read_old"), echoTool("write_page")];
    bench.configure({ mcpServers: { docs: entry({ tools, recordFile }, extras) } });
    const model = new RecordedModel(
      inTurn(
        calls("mcp__docs__look_up", { query: "holidays" }),
        calls("mcp__docs__look_up", { query: "holidays", limit: 9, index: "payroll", token: "mine" }),
        calls("mcp__docs__look_up", { query: "h" }),
        calls("mcp__docs__docs_read_page", { text: "x" }),
      ),
    );
    const session = bench.open({ model });
    await session.prompt("look it up");
    expect(model.offered().filter((name) => name.startsWith("mcp__"))).toEqual([
      "mcp__docs__look_up",
      "mcp__docs__docs_read_page",
    ]);
    const [shown] = model.requests[0]?.tools.filter(({ name }) => name === "mcp__docs__look_up") ?? [];
    expect(shown).toMatchObject({
      description: "Looks something up in the handbook.",
      inputSchema: { required: ["query"], properties: { limit: { default: 5 } } },
    });
    expect(Object.keys(isJsonObject(shown?.inputSchema["properties"]) ? shown.inputSchema["properties"] : {})).toEqual([
      "query",
      "limit",
    ]);
    const pinned = { index: "handbook", token: "pinned", query: "holidays" };
    expect(received(recordFile)).toMatchObject([
      { name: "search", arguments: { ...pinned, limit: 5 } },
      { name: "search", arguments: { ...pinned, limit: 9 } },
      { name: "read_page", arguments: { text: "x" } },
    ]);
    expect(resultTexts(model.requests[3])[0]).toContain("do not fit its schema");
    expect(bench.outcomes.map(({ kind }) => kind)).toEqual(["done", "done", "failed", "done"]);
    for (const name of ["read_all", "read_old", "write_page"]) {
      expect(session.tools.why(`docs/${name}`).kind).toBe("filtered");
    }
  },
);

scenario(
  ["T8", "D4"],
  "a transformer in code renames, re-schemas and leaves out; the server is called by its own name",
  async () => {
    await using bench = new ToolBench();
    const recordFile = join(bench.root, "record");
    const seen: string[] = [];
    const transformers: ToolTransformer[] = [
      {
        transform: (tool, place) => {
          if (place.origin !== "builtin") seen.push(`${place.source}/${place.ownName}`);
          if (place.ownName === "hidden") return null;
          if (place.ownName === "faulty") throw new Error("no idea");
          return place.ownName === "echo" ? { ...tool, name: "repeat", description: "Repeats." } : tool;
        },
      },
      {
        transform: (tool, { ownName }) =>
          ownName === "echo" ? { ...tool, inputSchema: { ...tool.inputSchema, additionalProperties: false } } : tool,
      },
    ];
    const tools = [echoTool(), echoTool("hidden"), echoTool("faulty"), echoTool("same")];
    const model = new RecordedModel(inTurn(calls("mcp__s__repeat", { text: "again" })));
    const session = bench.open({ model, transformers, servers: [stdio("s", { tools, recordFile })] });
    await session.prompt("repeat it");
    expect(seen).toEqual(expect.arrayContaining(["s/echo", "s/hidden", "s/faulty", "s/same"]));
    expect(model.offered().filter((name) => name.startsWith("mcp__"))).toEqual(["mcp__s__repeat", "mcp__s__same"]);
    expect(received(recordFile)).toMatchObject([{ name: "echo", arguments: { text: "again" } }]);
    expect(session.tools.why("s/hidden")).toMatchObject({ kind: "filtered", text: expect.stringContaining("code") });
    expect(session.tools.why("s/faulty")).toMatchObject({
      kind: "quarantined",
      text: expect.stringContaining("no idea"),
    });
    expect(session.tools.why("repeat")).toMatchObject({ kind: "offered" });
  },
);

scenario(
  ["T8", "T9", "D5", "D6"],
  "provider options reach the model's adapter, schemas keep their meaning, and what has no form is set aside",
  async () => {
    await using bench = new ToolBench();
    const free: ToolScript = {
      ...echoTool("free"),
      inputSchema: { type: "object", additionalProperties: { type: "string" } },
    };
    const choice: ToolScript = {
      ...echoTool("choice"),
      inputSchema: {
        type: "object",
        properties: { size: { $ref: "#/$defs/size" }, kind: { const: "box" } },
        required: ["size"],
        $defs: { size: { type: "string", enum: ["small", "large"], description: "How large." } },
      },
    };
    const extras = {
      tools: {
        echo: { providerOptions: { openai: { strict: true, cache_control: "x" } } },
        free: { providerOptions: { openai: { strict: "required" } } },
      },
    };
    bench.configure({
      mcpServers: { s: entry({ tools: [echoTool(), free, choice], rawTools: [BAD_TOOLS.wrongSchemaType] }, extras) },
    });
    const model = new RecordedModel(
      inTurn(calls("mcp__s__choice", { size: "huge" }), calls("mcp__s__choice", { size: "large" }), "done"),
      "openai/gpt-5",
    );
    const session = bench.open({ model });
    await session.prompt("choose");
    const offered = new Map(model.requests[0]?.tools.map((tool) => [tool.name, tool]));
    expect(offered.get("mcp__s__echo")).toMatchObject({
      strict: true,
      providerOptions: { openai: { cache_control: "x" } },
      inputSchema: { additionalProperties: false },
    });
    expect(JSON.stringify(offered.get("mcp__s__choice")?.inputSchema)).toContain('"enum":["small","large"]');
    expect(JSON.stringify(offered.get("mcp__s__choice")?.inputSchema)).toContain("How large.");
    expect(offered.has("mcp__s__free")).toBe(false);
    expect(session.tools.why("s/free")).toMatchObject({
      kind: "quarantined",
      text: expect.stringContaining("strict"),
    });
    const name = String(BAD_TOOLS.wrongSchemaType["name"]);
    expect(session.tools.why(`s/${name}`)).toMatchObject({ kind: "quarantined" });
    const told = bench.events.filter((event) => event.kind === "turn" && event.event.kind === "tool_quarantined");
    expect(told).toHaveLength(1);
    // Checked by the raw schema, whatever form the provider was given.
    expect(bench.outcomes.map(({ kind }) => kind)).toEqual(["failed", "done"]);
    expect(resultTexts(model.requests[1])[0]).toContain("size");
  },
);

scenario(["T8", "D5"], "a tool's provider options are in the request that goes to the provider", async () => {
  await using provider = await fakeProvider();
  provider.reply(answerText("done"));
  await using bench = new ToolBench();
  const extras = { tools: { echo: { providerOptions: { openaiCompatible: { strict: true } } } } };
  bench.configure({ mcpServers: { s: entry({ tools: [echoTool(), echoTool("plain")] }, extras) } });
  const session = bench.open({ model: "openai-compatible/test-model", env: { TENON_BASE_URL: provider.url } });
  await session.prompt("hello");
  const { tools } = provider.requests[0]?.body ?? {};
  const sent = Array.isArray(tools) ? tools.filter(isJsonObject).map((tool) => tool["function"]) : [];
  const strict = new Map(sent.filter(isJsonObject).map((tool) => [tool["name"], tool["strict"]]));
  expect(strict.get("mcp__s__echo")).toBe(true);
  expect(strict.get("mcp__s__plain")).not.toBe(true);
});
