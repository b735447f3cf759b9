// The library under everything: createRuntime, sessions with servers, events, permissions, close.
import { expect } from "vitest";
import type { StdioSpec } from "../../src/mcp/index.js";
import { McpConnection } from "../../src/mcp/index.js";
import { createHost, type SessionEvent } from "../../src/session/index.js";
import { type Behaviour, echoTool, scriptedServer } from "../../src/testing/index.js";
import { answerText, answerToolCall, fakeProvider } from "../../src/testing/lab/index.js";
import { mcpSource, prepareCall, ResultStore, runCall, snapshot } from "../../src/tools/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { cleanEnv, TemporaryFolder } from "../scenarios/agent.js";
import { scenario } from "../scenarios/scenario.js";

function stdio(name: string, behaviour: Behaviour): StdioSpec {
  return { kind: "stdio", name, ...scriptedServer(behaviour) };
}

function quietWorld(home: TemporaryFolder, extra: Record<string, string> = {}) {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  return nodeWorld({ env: cleanEnv(home.path, extra), log });
}

async function collect(events: AsyncIterable<SessionEvent>): Promise<SessionEvent[]> {
  const seen: SessionEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

scenario(
  ["S15", "D2"],
  "an embedder opens a session with servers, prompts it, reads its events and closes it",
  async () => {
    using home = new TemporaryFolder();
    await using runtime = createHost({ world: quietWorld(home) });
    const session = runtime.createSession({ cwd: home.path, servers: [stdio("s", { tools: [echoTool()] })] });
    const asked: string[] = [];
    session.attach({
      ask: async ({ tool, arguments: args }) => {
        asked.push(`${tool.label} ${JSON.stringify(args)}`);
        return "once";
      },
    });
    const reading = collect(session.events());
    const { stopReason } = await session.prompt("please echo embedded");
    expect(stopReason).toBe("end_turn");
    await session.close();
    const events = await reading;
    expect(asked).toHaveLength(1);
    const turn = events.flatMap((event) => (event.kind === "turn" ? [event.event.kind] : []));
    expect(turn).toEqual(expect.arrayContaining(["call_started", "call_running", "call_ended", "text"]));
    expect(events.filter((event) => event.kind === "turn_ended")).toMatchObject([{ turn: 1, stopReason: "end_turn" }]);
    expect(events.flatMap((event) => (event.kind === "server" ? [event.status.state] : []))).toEqual([
      "ready",
      "closed",
    ]);
    await expect(session.prompt("again")).rejects.toMatchObject({ code: "session.closed" });
  },
);

scenario(["S15", "S17"], "a session nobody is attached to declines at once and says so", async () => {
  using home = new TemporaryFolder();
  await using runtime = createHost({ world: quietWorld(home) });
  const session = runtime.createSession({ cwd: home.path, servers: [stdio("s", { tools: [echoTool()] })] });
  const events = session.events();
  await session.prompt("please echo alone");
  await session.close();
  const seen = await collect(events);
  expect(JSON.stringify(seen)).toContain("nobody is attached");
});

scenario(["D1"], "configure, discover, register, inject and execute are each callable on their own", async () => {
  using home = new TemporaryFolder();
  const world = quietWorld(home);
  const spec = stdio("s", { tools: [echoTool()] });
  await using connection = new McpConnection(spec, { world, cwd: home.path, client: { name: "test", version: "1" } });
  connection.start();
  const signal = new AbortController().signal;
  await connection.state.until((state) => state.kind === "ready", signal);
  const catalog = snapshot([mcpSource(connection, "client")]);
  expect(catalog.tools.map((tool) => tool.id)).toEqual(["mcp__s__echo"]);
  const prepared = prepareCall(
    { toolCallId: "1", name: "mcp__s__echo", argumentsJson: '{"text":"step by step"}' },
    catalog,
  );
  await using results = new ResultStore({ world });
  const ports = {
    world,
    results,
    media: { images: false, audio: false, documents: false },
    approve: async () => ({ kind: "allowed" }) as const,
    journal: { intent: () => undefined },
  };
  const { outcome, model } = await runCall(prepared, ports, { signal, onEvent: () => {} });
  expect(outcome.kind).toBe("done");
  expect(JSON.stringify(model.content)).toContain("step by step");
});

scenario(["S15", "D10"], "a real provider over HTTP calls a tool and gets exactly one result for it", async () => {
  using home = new TemporaryFolder();
  await using provider = await fakeProvider();
  provider.reply(answerToolCall("mcp__s__echo", { text: "through a provider" }), answerText("The tool said it."));
  const world = quietWorld(home, { TENON_BASE_URL: provider.url });
  await using runtime = createHost({ world, model: "openai-compatible/test-model" });
  const session = runtime.createSession({ cwd: home.path, servers: [stdio("s", { tools: [echoTool()] })] });
  session.attach({ ask: async () => "always" });
  const events = session.events();
  const { stopReason, usage } = await session.prompt("say it through the tool");
  expect(stopReason).toBe("end_turn");
  expect(usage.inputTokens).toBeGreaterThanOrEqual(0);
  await session.close();
  expect(JSON.stringify(await collect(events))).toContain("The tool said it.");
  expect(provider.requests).toHaveLength(2);
  const second = JSON.stringify(provider.requests[1]);
  expect(second.match(/"role":\s*"tool"/g)).toHaveLength(1);
  expect(second).toContain("through a provider");
});
