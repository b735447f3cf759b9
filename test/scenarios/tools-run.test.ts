// From what a model wrote to exactly one outcome, and every state on the way.
import { expect } from "vitest";
import { echoTool, scriptedAcpServer, type ToolScript } from "../../src/testing/index.js";
import type { CatalogTool } from "../../src/tools/index.js";
import { prepareCall, snapshot } from "../../src/tools/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { scenario } from "./scenario.js";
import { calls, inTurn, RecordedModel, resultTexts } from "./tools/recorded-model.js";
import { entry, stdio, ToolBench } from "./tools/tool-session.js";

/** What happened to the calls of a session, in order: `running 1-1`. */
function states(bench: ToolBench): readonly string[] {
  return bench.events.flatMap((event) => {
    if (event.kind !== "turn" || !("toolCallId" in event.event)) return [];
    return [`${event.event.kind.replace("call_", "")} ${event.event.toolCallId}`];
  });
}

scenario(["T12", "C3", "D10"], "whatever a model writes, each call has one outcome, and the turn goes on", async () => {
  await using bench = new ToolBench();
  const wrong = [
    { name: "mcp__s__echo", arguments: '{"text": "cut o' },
    { name: "mcp__s__echo", arguments: "[1, 2]" },
    { name: "mcp__s__echo", arguments: '{"text": 7}' },
    { name: "mcp__s__echo", arguments: {} },
    { name: "echo", arguments: { text: "no prefix" } },
    { name: "mcp__s__nothing", arguments: {} },
    { name: "mcp__s__fails", arguments: {} },
    { name: "mcp__s__refuses", arguments: {} },
    { name: "mcp__s__echo", arguments: { text: "right" } },
  ];
  const tools: ToolScript[] = [
    echoTool(),
    { name: "fails", description: "Fails.", reply: { kind: "error", text: "out of order" } },
    { name: "refuses", description: "Refuses.", reply: { kind: "protocol_error", code: -32602, message: "not you" } },
  ];
  const model = new RecordedModel(inTurn(wrong, "I see."));
  const session = bench.open({ model, servers: [stdio("s", { tools })] });
  const { stopReason } = await session.prompt("try everything");
  expect(stopReason).toBe("end_turn");
  expect(bench.outcomes.map(({ kind }) => kind)).toEqual([...wrong.slice(1).map(() => "failed"), "done"]);
  const results = resultTexts(model.requests[1]);
  expect(results).toHaveLength(wrong.length);
  expect(results[0]).toContain("they break off after");
  expect(results[1]).toContain("must be a JSON object");
  expect(results[2]).toMatch(/text.*string/u);
  expect(results[3]).toContain("text");
  expect(results[4]).toContain("Did you mean mcp__s__echo?");
  expect(results[5]).toContain('There is no tool named "mcp__s__nothing"');
  expect(results[6]).toBe("out of order");
  expect(results[7]).toContain("not you");
  expect(results[8]).toContain("right");
  // Only what could be made was asked about.
  expect(bench.asked.map(({ tool }) => tool.definition.name)).toEqual(["fails", "refuses", "echo"]);
});

scenario(
  ["T12", "C3"],
  "calls that only read run together where their server is trusted; all others one after the other",
  async () => {
    const tools: ToolScript[] = ["one", "two"].map((name) => ({
      ...echoTool(name),
      annotations: { readOnlyHint: true },
      steps: [
        { do: "progress", progress: 1, total: 2, message: "half-way" },
        { do: "delay", ms: 300 },
      ],
    }));
    const order = async (trustAnnotations: boolean): Promise<readonly string[]> => {
      await using bench = new ToolBench();
      bench.configure({ mcpServers: { s: entry({ tools }, { trustAnnotations }) } });
      const both = ["one", "two"].map((name) => ({ name: `mcp__s__${name}`, arguments: { text: name } }));
      const session = bench.open({ model: new RecordedModel(inTurn(both)) });
      await session.prompt("both");
      return states(bench);
    };
    const together = await order(true);
    expect(together.indexOf("running 1-2")).toBeLessThan(together.indexOf("ended 1-1"));
    const apart = await order(false);
    expect(apart.filter((state) => !state.startsWith("progress"))).toEqual([
      "started 1-1",
      "started 1-2",
      "awaiting_approval 1-1",
      "running 1-1",
      "ended 1-1",
      "awaiting_approval 1-2",
      "running 1-2",
      "ended 1-2",
    ]);
    expect(apart).toContain("progress 1-1");
  },
);

scenario(["T12"], "a cancelled call is cancelled, and one whose server dies has an unknown outcome", async () => {
  await using bench = new ToolBench();
  const tools: ToolScript[] = [
    { ...echoTool("slow"), steps: [{ do: "never" }] },
    { ...echoTool("dies"), steps: [{ do: "crash", exitCode: 4 }] },
  ];
  const slow = calls("mcp__s__slow", { text: "" });
  const model = new RecordedModel(inTurn(slow, calls("mcp__s__dies", { text: "" })));
  const session = bench.open({ model, servers: [stdio("s", { tools })] });
  const turn = session.prompt("slowly");
  await bench.until((event) => event.kind === "turn" && event.event.kind === "call_running");
  session.cancel();
  await expect(turn).resolves.toMatchObject({ stopReason: "cancelled" });
  await session.prompt("and now die");
  expect(bench.outcomes).toMatchObject([{ kind: "cancelled" }, { kind: "unknown" }]);
  expect(resultTexts(model.requests[2])[0]).toContain("Do not assume it failed");
});

scenario(
  ["C3", "T12"],
  "an editor is shown every state of a call: pending, in progress, completed or failed",
  async () => {
    using home = new TemporaryFolder();
    await using client = await startTenon(home);
    await client.initialize();
    const tools: ToolScript[] = [
      { ...echoTool(), steps: [{ do: "progress", progress: 1, total: 3, message: "a third" }] },
      { name: "stumble", description: "Stumbles.", reply: { kind: "error", text: "over a stone" } },
    ];
    const mcpServers = [scriptedAcpServer("s", { tools })];
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers });
    await client.prompt(sessionId, "please echo hi");
    await client.prompt(sessionId, "stumble");
    const seen = client.updates(sessionId).flatMap((update) => {
      const isCall = update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update";
      return isCall ? [`${update.toolCallId} ${update.status}`] : [];
    });
    expect([...new Set(seen)]).toEqual([
      "1-1 pending",
      "1-1 in_progress",
      "1-1 completed",
      "2-1 pending",
      "2-1 in_progress",
      "2-1 failed",
    ]);
    const shown = JSON.stringify(client.updates(sessionId));
    expect(shown).toContain("a third");
    expect(shown).toContain("over a stone");
  },
);

/** True when any text could be given as a tool's id: then ids would be no more than names. */
type IsPlainText<Id> = string extends Id ? true : false;

scenario(
  ["C1", "T1"],
  "outside the tools room an id cannot be made, and a prepared call can only be shown and handed back",
  async () => {
    const isPlainText: IsPlainText<CatalogTool["id"]> = false;
    expect(isPlainText).toBe(false);
    const prepared = prepareCall({ toolCallId: "1", name: "nothing", argumentsJson: "{}" }, snapshot([]));
    expect(Object.keys(prepared)).toEqual([]);
    expect(JSON.stringify(prepared)).toBe("{}");
    expect(prepared.name).toBe("nothing");
  },
);
