// Every call ends exactly once, whatever the model, the person or the source does.
import { expect, test } from "vitest";
import { Cell } from "../base/cell.js";
import { text } from "../base/content.js";
import { snapshot } from "./catalog.js";
import { type Approval, prepareCall, type RunPorts, runCall } from "./run.js";
import type { SourceCall, ToolSource } from "./source.js";
import type { ToolDefinition, ToolOutcome } from "./tool.js";

const ECHO: ToolDefinition = {
  name: "echo",
  description: "Says it back",
  inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
};

function source(call: (call: SourceCall) => Promise<ToolOutcome>): ToolSource {
  return { name: "s", origin: "client", tools: new Cell([ECHO]), call };
}

function ports(approval: Approval = { kind: "allowed" }): RunPorts & { log: string[] } {
  const log: string[] = [];
  return {
    log,
    approve: async () => {
      log.push("approve");
      return approval;
    },
    journal: { intent: () => log.push("intent") },
    onRunning: () => log.push("running"),
    onProgress: () => log.push("progress"),
  };
}

const call = (argumentsJson: string, name = "mcp__s__echo") => ({ toolCallId: "1-1", name, argumentsJson });
const never = new AbortController().signal;
const reply = source(async ({ arguments: args }) => ({ kind: "done", content: [text(String(args["message"]))] }));

test("an approved call is journaled before it is sent, under the server's own name", async () => {
  const seen: string[] = [];
  const asked = source(async ({ tool }) => {
    seen.push(tool);
    return { kind: "done", content: [text("hi")] };
  });
  const watch = ports();
  const outcome = await runCall(prepareCall(call('{"message":"hi"}'), snapshot([asked])), watch, never);
  expect(outcome).toEqual({ kind: "done", content: [text("hi")] });
  expect(seen).toEqual(["echo"]);
  expect(watch.log).toEqual(["approve", "intent", "running"]);
});

test.each([
  ["an unknown name", call("{}", "mcp__s__gone"), /no tool named .*mcp__s__gone/],
  ["truncated JSON", call('{"message":"h'), /not valid JSON/],
  ["arguments that are no object", call("[1]"), /must be a JSON object/],
  ["a missing required argument", call("{}"), /missing: message/],
])("%s is an error result and asks nobody", async (_, bad, expected) => {
  const watch = ports();
  const outcome = await runCall(prepareCall(bad, snapshot([reply])), watch, never);
  expect(outcome.kind).toBe("failed");
  expect(JSON.stringify(outcome)).toMatch(expected);
  expect(watch.log).toEqual([]);
});

test("a refused call is never sent", async () => {
  const watch = ports({ kind: "refused", reason: "no" });
  const outcome = await runCall(prepareCall(call('{"message":"x"}'), snapshot([reply])), watch, never);
  expect(outcome).toEqual({ kind: "refused", reason: "no" });
  expect(watch.log).toEqual(["approve"]);
});

test("a turn cancelled while the person thinks sends nothing", async () => {
  const controller = new AbortController();
  const watch = ports();
  const asking: RunPorts = {
    ...watch,
    approve: async () => {
      controller.abort();
      return { kind: "allowed" };
    },
  };
  const outcome = await runCall(prepareCall(call('{"message":"x"}'), snapshot([reply])), asking, controller.signal);
  expect(outcome).toEqual({ kind: "cancelled" });
  expect(watch.log).toEqual([]);
});

test("a source that throws still gives an outcome", async () => {
  const broken = source(() => Promise.reject(new Error("boom")));
  const outcome = await runCall(prepareCall(call('{"message":"x"}'), snapshot([broken])), ports(), never);
  expect(outcome).toEqual({ kind: "failed", content: [text("s / echo failed: boom")] });
});

test("two servers with the same tool coexist, and a later snapshot follows the live list", () => {
  const tools = new Cell<readonly ToolDefinition[]>([ECHO]);
  const sources: ToolSource[] = [
    { ...reply, name: "one", tools },
    { ...reply, name: "two" },
  ];
  const before = snapshot(sources);
  expect(before.tools.map((tool) => tool.id)).toEqual(["mcp__one__echo", "mcp__two__echo"]);
  tools.set([]);
  expect(before.find("mcp__one__echo")).toBeDefined();
  expect(snapshot(sources).find("mcp__one__echo")).toBeUndefined();
});
