// Long-running calls through the built product: real servers, lost connections, cancels, and everything that goes wrong.
import { methods } from "@agentclientprotocol/sdk";
import { expect } from "vitest";
import type { Peer } from "../../src/mcp/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { callOptions, connected, EVERYTHING, program, RemotePeer, remoteSpec } from "./real-server.js";
import { scenario } from "./scenario.js";
import { type Era, RESULT, TaskStage, WORK } from "./tasks-stage.js";

const everything = {
  name: "everything",
  command: process.execPath,
  args: [program(EVERYTHING), "stdio"],
  env: [],
};
const RESEARCH = "mcp__everything__simulate-research-query";

scenario(
  ["K1"],
  "server-everything's research runs as a task: its stages are shown, its report arrives once",
  async () => {
    using home = new TemporaryFolder();
    await using client = await startTenon(home, { permissions: "always" });
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [everything] });
    await client.prompt(sessionId, `${RESEARCH} {"topic":"dovetails"}`);
    const updates = client.updates(sessionId).map((update) => JSON.stringify(update));
    for (const stage of ["Gathering sources", "Synthesizing findings"]) {
      expect(updates.some((update) => update.includes(stage) && update.includes("in_progress"))).toBe(true);
    }
    const ended = updates.filter((update) => update.includes('"status":"completed"'));
    expect(ended).toHaveLength(1);
    expect(ended[0]).toContain("Research Report: dovetails");
  },
);

scenario(["K1", "K6"], "what server-everything's research wants to know is asked of the person, once", async () => {
  using home = new TemporaryFolder();
  const asked: string[] = [];
  await using client = await startTenon(home, {
    permissions: "always",
    extend: (app) =>
      app.onRequest(methods.client.elicitation.create, ({ params }) => {
        asked.push(params.message);
        return { action: "accept", content: { interpretation: "snake" } };
      }),
  });
  await client.initialize({ clientCapabilities: { session: { notices: {} }, elicitation: { form: {} } } });
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [everything] });
  await client.prompt(sessionId, `${RESEARCH} {"topic":"python","ambiguous":true}`);
  expect(asked).toHaveLength(1);
  expect(JSON.stringify(client.updates(sessionId))).toContain("Research Report: python (snake)");
});

for (const [name, kind, path] of [
  ["Streamable HTTP", "http", "mcp"],
  ["SSE", "sse", "sse"],
] as const) {
  scenario(
    ["K1", "K6"],
    `the research of server-everything runs as a task over ${name}, questions included`,
    async () => {
      using folder = new TemporaryFolder();
      const args = [kind === "http" ? "streamableHttp" : "sse"];
      await using server = await RemotePeer.start(EVERYTHING, (PORT) => ({ args, env: { PORT } }));
      const asked: string[] = [];
      const elicit: NonNullable<Peer["elicit"]> = async ({ message }) => {
        asked.push(message);
        return { action: "accept", content: { interpretation: "comedy" } };
      };
      const spec = remoteSpec("everything", `${server.origin}/${path}`, kind);
      await using connection = await connected(spec, folder.path, { peer: { elicit } });
      const stages: (string | undefined)[] = [];
      const options = callOptions({ onProgress: ({ message }) => stages.push(message) });
      const outcome = await connection.call("simulate-research-query", { topic: "python", ambiguous: true }, options);
      expect(JSON.stringify(outcome)).toContain("Research Report: python (comedy)");
      expect(asked).toHaveLength(1);
      expect(stages).toContain("Gathering sources...");
    },
  );
}

const ERAS: readonly Era[] = ["legacy", "modern"];

for (const era of ERAS) {
  scenario(["K1", "K2"], `a ${era} server whose connections drop during the task: one call, one result`, async () => {
    await using stage = await TaskStage.open({
      era,
      task: { takesMs: 2_500, crashMs: 600, says: [{ atMs: 0, message: "sawing" }] },
    });
    await using client = await stage.start();
    await stage.newSession(client);
    stage.server.misbehave({ method: "tasks/get" }, { kind: "reset" }, 2);
    expect(await client.prompt(stage.sessionId, WORK)).toMatchObject({ stopReason: "end_turn" });
    expect(stage.calls("tools/call")).toHaveLength(1);
    expect(stage.states(client)).toEqual(["pending", "in_progress", "completed"]);
    expect(stage.cards(client).filter((card) => JSON.stringify(card).includes(RESULT))).toHaveLength(1);
    expect(JSON.stringify(stage.cards(client))).toContain("sawing");
    expect(stage.inLastRequest(RESULT)).toBe(1);
  });

  scenario(["K6"], `what a task of a ${era} server wants to know is put to the person`, async () => {
    const params = { mode: "form", message: "which wood?", requestedSchema: { type: "object", properties: {} } };
    await using stage = await TaskStage.open({
      era,
      task: { asks: { atMs: 300, method: "elicitation/create", params } },
    });
    const asked: string[] = [];
    await using client = await stage.start({
      extend: (app) =>
        app.onRequest(methods.client.elicitation.create, ({ params: { message } }) => {
          asked.push(message);
          return { action: "accept", content: { wood: "oak" } };
        }),
    });
    await stage.newSession(client);
    await client.prompt(stage.sessionId, WORK);
    expect(asked).toEqual([expect.stringContaining("which wood?")]);
    expect(await stage.untilCard(client, "completed")).toContain("oak");
  });

  scenario(["K4"], `cancelling the turn cancels the task of a ${era} server`, async () => {
    await using stage = await TaskStage.open({ era, task: { takesMs: 60_000 } });
    await using client = await stage.start();
    await stage.newSession(client);
    const { turn } = await stage.working(client);
    await client.cancel(stage.sessionId);
    expect(await turn).toMatchObject({ stopReason: "cancelled" });
    await stage.server.awaitMessage("tasks/cancel", { timeoutMs: 10_000 });
    expect(await stage.untilCard(client, "failed")).toContain("Cancelled");
  });

  scenario(["K5", "K2"], `tasks of a ${era} server that come to nothing say why`, async () => {
    const broken = { kind: "protocol_error", code: -32_603, message: "the saw broke" } as const;
    const cases = [
      { options: { reply: broken }, words: "the saw broke" },
      { options: { task: { isGivenUp: true } }, words: "the server cancelled it" },
      { options: { task: { takesMs: 60_000, ttlMs: 700 } }, words: "its time to live is over" },
      { options: { task: { takesMs: 60_000 } }, words: "the server has forgotten it" },
    ];
    for (const { options, words } of cases) {
      await using stage = await TaskStage.open({ era, ...options });
      await using client = await stage.start();
      await stage.newSession(client);
      if (words.endsWith("forgotten it")) {
        const { turn } = await stage.working(client);
        stage.server.forgetTasks();
        await turn;
      } else await client.prompt(stage.sessionId, WORK);
      const card = await stage.untilCard(client, "failed");
      expect(card).toContain(words);
      expect(stage.inLastRequest(words)).toBe(1);
      expect(stage.calls("tools/call")).toHaveLength(1);
    }
  });
}

scenario(["K5"], "input that nobody here can give ends the task of a modern server, with the reason", async () => {
  const asks = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };
  await using stage = await TaskStage.open({ era: "modern", task: { asks } });
  await using client = await stage.start({
    permissions: ({ toolCall }) => (toolCall.title === "s / work" ? "allow" : "deny"),
  });
  await stage.newSession(client);
  await client.prompt(stage.sessionId, WORK);
  expect(await stage.untilCard(client, "failed")).toContain("what the server asked for was refused");
  await stage.server.awaitMessage("tasks/cancel", { timeoutMs: 10_000 });
});
