// The tools of a server as they are known: what is remembered of them, and what is not.
import { expect, test } from "vitest";
import { Scope } from "../../base/async/scope.js";
import { TenonError } from "../../base/errors.js";
import { fakeWorld } from "../../testing/index.js";
import type { McpTool } from "../protocol/tools.js";
import type { CachedTools } from "./cache.js";
import { CurrentTools } from "./supervisor.js";

const spec = { kind: "stdio", name: "s", command: "server", args: [], env: {} } as const;
const tool = (name: string): McpTool => ({ name, description: "", inputSchema: { type: "object" } });

function known(cached?: CachedTools) {
  const world = fakeWorld();
  const written: CachedTools[] = [];
  const cache = {
    readEra: async () => undefined,
    writeEra: async () => {},
    readTools: async () => cached,
    writeTools: async (_: string, tools: CachedTools) => {
      written.push(tools);
    },
  };
  return { tools: new CurrentTools(spec, { world, cache }), written, scope: new Scope(world.log) };
}

test("a whole list is remembered with the server's version, half a list is only used", async () => {
  const { tools, written, scope } = known();
  const brokenOff = new TenonError("mcp.call_timeout", "page 2");
  tools.listed({ items: [tool("a")], problems: [], brokenOff }, "1.0", scope);
  expect(tools.find("a")).toBeDefined();
  tools.listed({ items: [tool("a"), tool("b")], problems: [] }, "1.0", scope);
  await scope.close();
  expect(written).toEqual([{ serverVersion: "1.0", tools: [tool("a"), tool("b")] }]);
});

test("what is remembered is known until the server has listed, and never after", async () => {
  const { tools, scope } = known({ serverVersion: "1.0", tools: [tool("old")] });
  await tools.recall();
  expect(tools.list.value).toEqual([tool("old")]);
  tools.listed({ items: [tool("new")], problems: [] }, "1.0", scope);
  await tools.recall();
  expect(tools.list.value).toEqual([tool("new")]);
  expect(tools.find("old")).toBeUndefined();
  await scope.close();
});
