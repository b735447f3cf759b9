// A tool call as a span: from being sent to its outcome, by the GenAI conventions, with the real SDK.
import { trace } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Cell } from "../../base/async/cell.js";
import { text } from "../../base/text/content.js";
import { fakeWorld } from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import { SessionCatalog } from "../catalog/session-catalog.js";
import { ResultStore } from "../result/store.js";
import type { ToolOutcome, ToolSource } from "../tool.js";
import { type Approval, type RunPorts, runCall } from "./call.js";
import { prepareCall } from "./prepare.js";

const { telemetry } = nodeWorld({ env: {} });
let exporter: InMemorySpanExporter;

beforeEach(() => {
  exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
});
afterEach(() => trace.disable());

async function run(outcome: ToolOutcome, approval: Approval = { kind: "allowed" }): Promise<void> {
  const world = fakeWorld(telemetry ? { telemetry } : {});
  const source: ToolSource = {
    name: "s",
    origin: "client",
    tools: new Cell([{ name: "t", description: "d", inputSchema: { type: "object" } }]),
    call: async () => {
      expect(telemetry?.current?.operation).toBe("execute_tool");
      return outcome;
    },
  };
  const catalog = new SessionCatalog({});
  catalog.add(source);
  await catalog.startPrompt("t", new AbortController().signal);
  const ports: RunPorts = {
    world,
    journal: { intent: () => {} },
    results: new ResultStore({ world, folder: "/results" }),
    media: { images: false, audio: false, documents: false },
    approve: async () => approval,
  };
  const call = prepareCall({ toolCallId: "1-1", name: "mcp__s__t", argumentsJson: "{}" }, catalog.offer());
  await runCall(call, ports, { signal: new AbortController().signal, onEvent: () => {} });
}

test("it names the tool as the model does, its call, its source and its outcome", async () => {
  await run({ kind: "done", content: [text("ok")] });
  const [span] = exporter.getFinishedSpans();
  expect(span).toMatchObject({ name: "execute_tool mcp__s__t", kind: 0, status: { code: 0 } });
  expect(span?.attributes).toEqual({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "mcp__s__t",
    "gen_ai.tool.call.id": "1-1",
    "gen_ai.tool.type": "function",
    "tenon.tool.source": "s",
    "tenon.tool.outcome": "done",
  });
});

test.each<[ToolOutcome, string | undefined]>([
  [{ kind: "failed", content: [text("no")] }, "tool_error"],
  [{ kind: "unknown", reason: "it broke" }, "outcome_unknown"],
  [{ kind: "cancelled" }, undefined],
])("an outcome of %j is the error %s", async (outcome, type) => {
  await run(outcome);
  const [span] = exporter.getFinishedSpans();
  expect(span?.attributes["error.type"]).toBe(type);
  expect(span?.attributes["tenon.tool.outcome"]).toBe(outcome.kind);
});

test("a call that was never sent is no span", async () => {
  await run({ kind: "done", content: [] }, { kind: "refused", reason: "no" });
  expect(exporter.getFinishedSpans()).toEqual([]);
});
