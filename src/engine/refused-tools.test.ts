// Self-healing: one tool a provider refuses costs that tool, never the turn.
import fc from "fast-check";
import { expect, test } from "vitest";
import { answers, calls, eventsOf, fails, modelOf, run, scripted, TOOL } from "../../test/scripted-turn.js";
import { TenonError } from "../base/errors.js";
import type { ModelEvent, ModelRequest } from "../models/index.js";
import type { ToolDefinition } from "../tools/index.js";
import { ENGINE_LIMITS } from "./limits.js";

const toolsOf = (count: number): ToolDefinition[] =>
  Array.from({ length: count }, (_, index) => ({ ...TOOL, name: `t${index}` }));

/** Refuses every request that offers one of these, without saying which. */
function refusing(isRefused: (request: ModelRequest) => boolean) {
  return modelOf(async function* (request): AsyncGenerator<ModelEvent, void, void> {
    if (isRefused(request)) throw new TenonError("model.invalid_request", "400: that cannot be");
    yield { kind: "text", text: "fine" };
    yield { kind: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1 } };
  });
}

const offers = (names: ReadonlySet<string>) => (request: ModelRequest) =>
  request.tools.some(({ name }) => names.has(name));

test("a tool the provider names is set aside, told of, and the turn goes on without it", async () => {
  const setAside: string[] = [];
  const model = scripted(
    fails("model.tool_refused", { refusedTools: ["mcp__s__t1", "not_offered"] }),
    calls("mcp__s__t0"),
    answers("done"),
  );
  const { end, events } = await run(model, {
    tools: toolsOf(3),
    more: { quarantine: (tool, reason) => setAside.push(`${tool.id}: ${reason}`) },
  });
  expect(end.stopReason).toBe("end_turn");
  expect(eventsOf(events, "tool_quarantined").map(({ tool }) => tool.label)).toEqual(["s / t1"]);
  expect(setAside).toEqual(["mcp__s__t1: scripted model.tool_refused"]);
  expect(model.requests.map(({ tools }) => tools.length)).toEqual([3, 2, 2]);
});

test("a tool the provider does not name is found among a hundred with few and small requests", async () => {
  const model = refusing(offers(new Set(["mcp__s__t61"])));
  const { end, events } = await run(model, { tools: toolsOf(100) });
  expect(end.stopReason).toBe("end_turn");
  expect(eventsOf(events, "tool_quarantined").map(({ tool }) => tool.id)).toEqual(["mcp__s__t61"]);
  expect(eventsOf(events, "text")).toEqual([{ kind: "text", text: "fine" }]);
  const probes = model.requests.slice(1, -1);
  expect(probes.length).toBeLessThanOrEqual(Math.ceil(Math.log2(100)) + 3);
  for (const { messages, maxOutputTokens, system } of probes) {
    expect(JSON.stringify(messages).length + system.length).toBeLessThan(120);
    expect(maxOutputTokens).toBe(ENGINE_LIMITS.toolProbes.outputTokens);
  }
});

test("all that are refused are found, whichever they are, and no other", async () => {
  const few = fc.uniqueArray(fc.nat({ max: 29 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(few, async (bad) => {
      const names = new Set(bad.map((index) => `mcp__s__t${index}`));
      const model = refusing(offers(names));
      const { end, events } = await run(model, { tools: toolsOf(30) });
      expect(end.stopReason).toBe("end_turn");
      expect(new Set(eventsOf(events, "tool_quarantined").map(({ tool }) => tool.id))).toEqual(names);
      expect(model.requests.length).toBeLessThanOrEqual(2 + ENGINE_LIMITS.toolProbes.max);
    }),
    { numRuns: 30 },
  );
});

test.each([
  ["the conversation", (request: ModelRequest) => JSON.stringify(request.messages).includes("go")],
  ["whatever is sent", () => true],
  ["tools that do not go together", (request: ModelRequest) => request.tools.length > 20],
])("when it is %s that is refused, no tool is blamed, and the error is the provider's own", async (_, isRefused) => {
  const setAside: string[] = [];
  const model = refusing(isRefused);
  const failed = run(model, { tools: toolsOf(40), more: { quarantine: (tool) => setAside.push(tool.id) } });
  await expect(failed).rejects.toMatchObject({ code: "model.invalid_request", message: "400: that cannot be" });
  expect(setAside).toEqual([]);
  expect(model.requests.length).toBeLessThanOrEqual(1 + Math.ceil(Math.log2(40)) + 3);
});

test("without tools a refused request is told at once", async () => {
  const model = refusing(() => true);
  await expect(run(model, { tools: [] })).rejects.toMatchObject({ code: "model.invalid_request" });
  expect(model.requests).toHaveLength(1);
});

test("when all are refused the search ends within its bound", async () => {
  const model = refusing(({ tools }) => tools.length > 0);
  const failed = run(model, { tools: toolsOf(200) });
  await expect(failed).rejects.toMatchObject({ code: "model.invalid_request" });
  expect(model.requests.length).toBeLessThanOrEqual(ENGINE_LIMITS.toolProbes.max + 60);
});

test("a cancel ends the search", async () => {
  const controller = new AbortController();
  const model = refusing((request) => {
    if (model.requests.length === 4) controller.abort();
    return offers(new Set(["mcp__s__t3"]))(request);
  });
  const { end } = await run(model, { tools: toolsOf(64), signal: controller.signal });
  expect(end.stopReason).toBe("cancelled");
  expect(model.requests).toHaveLength(4);
});
