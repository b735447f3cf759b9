// The default mode: for servers nobody said anything about.
import { expect, test } from "vitest";
import { Cell } from "../../base/async/cell.js";
import type { ToolDefinition, ToolOrigin, ToolSource } from "../tool.js";
import { SessionCatalog } from "./session-catalog.js";

function source(name: string, origin: ToolOrigin): ToolSource {
  const tools = new Cell<readonly ToolDefinition[]>([{ name: "one", description: "One.", inputSchema: {} }]);
  return { name, origin, tools, call: () => Promise.reject(new Error("not called here")) };
}

test("it moves what nobody said anything about, and neither Tenon's own tools nor what is offered already", async () => {
  const catalog = new SessionCatalog();
  catalog.add(source("tenon", "builtin"));
  catalog.add(source("early", "client"));
  const servers = () => catalog.offer().tools.map(({ source: server }) => server);
  expect(servers()).toEqual(["tenon", "early"]);
  catalog.setDefaultInclude("manual");
  catalog.add(source("late", "client"));
  catalog.add(source("named", "client"), { include: "always" });
  expect(servers()).toEqual(["tenon", "early", "named"]);
  catalog.setDefaultInclude("always");
  expect(servers()).toEqual(["tenon", "early", "named", "late"]);
});
