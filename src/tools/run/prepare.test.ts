// What a model asked for becomes the tool it meant, or words that help it to ask again.
import { expect, test } from "vitest";
import { Cell } from "../../base/async/cell.js";
import { watchEventLoop } from "../../testing/lab/index.js";
import { type Offer, snapshot } from "../catalog/offer.js";
import type { ToolDefinition, ToolSource } from "../tool.js";
import { notMade, PreparedCall, prepareCall } from "./prepare.js";

const tool = (name: string): ToolDefinition => ({ name, description: "", inputSchema: { type: "object" } });

function source(name: string, origin: ToolSource["origin"], ...tools: string[]): ToolSource {
  return { name, origin, tools: new Cell(tools.map(tool)), call: async () => ({ kind: "cancelled" }) };
}

const offer: Offer = snapshot([
  source("tenon", "builtin", "tenon_call_tool", "tenon_search_tools"),
  source("s", "client", "echo", "tenon_call_tool"),
]);

function prepare(name: string, args: unknown): PreparedCall {
  const argumentsJson = typeof args === "string" ? args : JSON.stringify(args);
  return prepareCall({ toolCallId: "1-1", name, argumentsJson }, offer);
}

function problem(prepared: PreparedCall): string | undefined {
  const { plan } = PreparedCall.open(prepared);
  return plan.kind === "ended" ? JSON.stringify(plan.outcome).replaceAll("\\", "") : undefined;
}

test("a call through the wrapper is the call of the tool inside, in name, tool and arguments", () => {
  const prepared = prepare("tenon_call_tool", { name: "mcp__s__echo", arguments: { a: 1 } });
  expect(problem(prepared)).toBeUndefined();
  expect([prepared.name, prepared.tool?.id, prepared.arguments]).toEqual(["mcp__s__echo", "mcp__s__echo", { a: 1 }]);
});

test.each([
  ["as a text", { name: "mcp__s__echo", arguments: '{"a":1}' }],
  ["beside the name", { name: "mcp__s__echo", a: 1 }],
])("arguments inside the wrapper may be given %s", (_, args) => {
  expect(prepare("tenon_call_tool", args).arguments).toEqual({ a: 1 });
});

test.each([
  ["no name", { arguments: {} }, /needs "name"/],
  ["an unknown tool", { name: "gone", arguments: {} }, /no tool named "gone".*tenon_search_tools/],
  ["itself", { name: "tenon_call_tool", arguments: { name: "mcp__s__echo" } }, /cannot call itself/],
  ["arguments that are no object", { name: "mcp__s__echo", arguments: [1] }, /must be a JSON object/],
])("the wrapper with %s is an error for the model", (_, args, expected) => {
  expect(problem(prepare("tenon_call_tool", args))).toMatch(expected);
});

test("a server's tool that is named like the wrapper is an ordinary tool", () => {
  const prepared = prepare("mcp__s__tenon_call_tool", { name: "mcp__s__echo" });
  expect(problem(prepared)).toBeUndefined();
  expect(prepared.tool?.id).toBe("mcp__s__tenon_call_tool");
});

test.each(["echo", "mcp__other__echo", "MCP__S__ECHO"])("for %s the model is told the name it meant", (name) => {
  expect(problem(prepare(name, {}))).toMatch(/Did you mean mcp__s__echo\?/);
});

test("a tool that cannot be called says why", () => {
  const broken: Offer = {
    tools: offer.tools,
    find: (name) => {
      const entry = offer.find(name);
      return entry && { ...entry, unavailable: 'the server "s" is gone' };
    },
  };
  const prepared = prepareCall({ toolCallId: "1-1", name: "mcp__s__echo", argumentsJson: "{}" }, broken);
  expect(problem(prepared)).toMatch(/was not made: the server "s" is gone\./);
});

test("a reason with many marks in it does not hold the event loop", async () => {
  const reason = `a${".".repeat(60_000)}b`;
  const { value, longestMs } = await watchEventLoop(async () => notMade("t", `${reason}. `));
  expect(value).toBe(`The call of t was not made: ${reason}.`);
  expect(longestMs).toBeLessThan(50);
});
