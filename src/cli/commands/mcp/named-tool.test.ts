// A tool that cannot be called is told with its reason, and a tool that no model gets with the rule that says so.
import { expect, test } from "vitest";
import { Cell } from "../../../base/async/cell.js";
import type { McpTool } from "../../../mcp/index.js";
import { toolNamed } from "./call.js";

const LONG = `long_${"x".repeat(100)}`;
const TOOLS: readonly McpTool[] = ["echo", "list"].map((name) => ({ name, description: "", inputSchema: {} }));
const connection = {
  tools: new Cell(TOOLS),
  leftOut: [
    { name: "bad", reason: "its inputSchema is not an object", text: "" },
    { name: `${LONG.slice(0, 77)}...`, reason: "its definition is too long", text: "" },
  ],
};
const server = { name: "my server", settings: { prefix: "my_", shapes: { list: { name: "everything" } } } };

test("the one there is", () => {
  expect(toolNamed(connection, server, "echo")).toBe(TOOLS[0]);
});

test.each([
  ["bad", 'the tool "bad" of my server is left out of its list: its inputSchema is not an object'],
  [LONG, "is left out of its list: its definition is too long"],
  ["my_echo", 'my server has no tool "my_echo": models call its echo so'],
  ["everything", 'my server has no tool "everything": models call its list so'],
  ["ecko", 'my server has no tool "ecko"; did you mean "echo"?'],
])("none: %s", (wanted, message) => {
  expect(() => toolNamed(connection, server, wanted)).toThrow(message);
});

test("what to do is a command line that can be copied", () => {
  expect(() => toolNamed(connection, server, "my_echo")).toThrow(
    expect.objectContaining({ code: "tool.unknown", hint: "tenon mcp call 'my server' echo" }),
  );
});
