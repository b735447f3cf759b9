// A call that goes on as a task while Tenon is gone: killed, closed, loaded once and again.
import { join } from "node:path";
import { methods, type SessionUpdate } from "@agentclientprotocol/sdk";
import { expect } from "vitest";
import { type Behaviour, listLiving, scriptedAcpServer } from "../../src/testing/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { TARGETS } from "./providers/target.js";
import { scenario } from "./scenario.js";
import { type Era, RESULT, TaskStage, WORK } from "./tasks-stage.js";

const ERAS: readonly Era[] = ["legacy", "modern"];
const STILL_RUNS = "do not call it again";

/** Begins a task and loses Tenon during it, without a word to anybody. */
async function killed(stage: TaskStage): Promise<void> {
  const client = await stage.start();
  await stage.newSession(client);
  const turn = (await stage.working(client)).turn.catch(() => undefined);
  client.kill("SIGKILL");
  await client.exit;
  await turn;
  await client[Symbol.asyncDispose]().catch(() => undefined); // it complains of the kill
}

for (const era of ERAS) {
  scenario(
    ["K3", "K2"],
    `kill -9 during a task of a ${era} server: the next process gets its result, once`,
    async () => {
      await using stage = await TaskStage.open({ era, reply: { kind: "held" } });
      await killed(stage);
      const call = await stage.server.awaitCall("work");
      {
        await using client = await stage.start();
        await stage.load(client);
        expect(stage.states(client)).toEqual(["pending", "in_progress"].slice(1));
        call.respondWith(RESULT);
        expect(await stage.untilCard(client, "completed")).toContain(RESULT);
        expect(stage.cards(client).filter((card) => JSON.stringify(card).includes(RESULT))).toHaveLength(1);
        await client.prompt(stage.sessionId, "what came of it?");
        // In the place of the result itself: the model has not said anything since.
        expect(stage.inLastRequest(RESULT)).toBe(1);
        expect(stage.inLastRequest(STILL_RUNS)).toBe(0);
      }
      const polls = stage.calls("tasks/get").length;
      await using again = await stage.start();
      await stage.load(again);
      expect(stage.states(again)).toEqual(["completed"]);
      await again.prompt(stage.sessionId, "and again?");
      expect(stage.inLastRequest(RESULT)).toBe(1);
      expect(stage.calls("tasks/get")).toHaveLength(polls);
      expect(stage.calls("tools/call")).toHaveLength(1);
      expect(stage.records("outcome")).toHaveLength(1);
      expect(stage.provider.refusals).toEqual([]);
    },
  );
}

scenario(
  ["K3"],
  "the person goes on before the result is there: the model is told that it follows, and then once of it",
  async () => {
    await using stage = await TaskStage.open({ reply: { kind: "held" } });
    await killed(stage);
    const call = await stage.server.awaitCall("work");
    {
      await using client = await stage.start();
      await stage.load(client);
      await client.prompt(stage.sessionId, "meanwhile, something else");
      expect(stage.inLastRequest(STILL_RUNS)).toBe(1);
      call.respondWith(RESULT);
      await stage.untilCard(client, "completed");
    }
    // Loaded again before the model has heard of it, and then by every other one: still once, and in a form all of them take.
    for (const target of TARGETS) {
      await using client = await stage.start({ target });
      await stage.load(client);
      for (const words of ["and now?", "and then?"]) {
        await client.prompt(stage.sessionId, words);
        expect(stage.inLastRequest(RESULT)).toBe(1);
      }
    }
    expect(stage.calls("tools/call")).toHaveLength(1);
    expect(stage.provider.refusals).toEqual([]);
  },
);

scenario(
  ["K3", "K4"],
  "Tenon is closed during a task: it is not cancelled, and the next process gets its result",
  async () => {
    await using stage = await TaskStage.open({ reply: { kind: "held" } });
    {
      await using client = await stage.start();
      await stage.newSession(client);
      const turn = (await stage.working(client)).turn.catch(() => undefined);
      await client.end();
      await turn;
    }
    expect(stage.calls("tasks/cancel")).toEqual([]);
    const call = await stage.server.awaitCall("work");
    await using client = await stage.start();
    await stage.load(client);
    call.respondWith(RESULT);
    expect(await stage.untilCard(client, "completed")).toContain(RESULT);
  },
);

scenario(["K4"], "the client closes the session itself: its task is cancelled", async () => {
  await using stage = await TaskStage.open({ task: { takesMs: 60_000 } });
  await using client = await stage.start();
  await stage.newSession(client);
  const turn = (await stage.working(client)).turn.catch(() => undefined);
  await client.closeSession(stage.sessionId);
  await turn;
  expect(stage.calls("tasks/cancel")).toHaveLength(1);
});

scenario(["K4", "K3"], "a cancel after a load takes back what still runs, and that is how it ended", async () => {
  await using stage = await TaskStage.open({ task: { takesMs: 60_000 } });
  await killed(stage);
  await using client = await stage.start();
  await stage.load(client);
  const polls = stage.calls("tasks/get").length;
  await stage.server.awaitRequest(() => stage.calls("tasks/get").length > polls, { timeoutMs: 10_000 });
  await client.cancel(stage.sessionId);
  expect(await stage.untilCard(client, "failed")).toContain("Cancelled");
  await stage.server.awaitMessage("tasks/cancel", { timeoutMs: 10_000 });
  await client.prompt(stage.sessionId, "go on");
  expect(stage.inLastRequest("cancelled")).toBe(1);
});

scenario(
  ["K3", "K5"],
  "a server that has forgotten the task by then: the outcome is unknown, and nothing is called again",
  async () => {
    await using stage = await TaskStage.open({ task: { takesMs: 60_000 } });
    await killed(stage);
    stage.server.forgetTasks();
    await using client = await stage.start();
    await stage.load(client);
    expect(await stage.untilCard(client, "failed")).toContain("Outcome unknown");
    await client.prompt(stage.sessionId, "go on");
    expect(stage.inLastRequest("Do not assume it failed")).toBe(1);
    expect(stage.calls("tools/call")).toHaveLength(1);
  },
);

scenario(["K3"], "loaded without its server the call waits; loaded with it, its result is there", async () => {
  await using stage = await TaskStage.open();
  await killed(stage);
  {
    await using client = await stage.start();
    await stage.load(client, []);
    await client.waitForUpdate(stage.sessionId, (update) => JSON.stringify(update).includes("still runs as a task"));
    await client.prompt(stage.sessionId, "go on");
    expect(stage.inLastRequest(STILL_RUNS)).toBe(1);
  }
  await using client = await stage.start();
  await stage.load(client);
  await stage.untilCard(client, "completed");
  await client.prompt(stage.sessionId, `nothing of ${WORK.toLowerCase()}`);
  expect(stage.inLastRequest(RESULT)).toBe(1);
});

scenario(["K6", "K3"], "what a task wants to know after a load is put to the person, outside of any turn", async () => {
  const params = { mode: "form", message: "which wood?", requestedSchema: { type: "object", properties: {} } };
  const asks = { atMs: 1_500, method: "elicitation/create", params };
  await using stage = await TaskStage.open({ task: { asks } });
  await killed(stage);
  const asked: string[] = [];
  await using client = await stage.start({
    extend: (app) =>
      app.onRequest(methods.client.elicitation.create, ({ params: { message } }) => {
        asked.push(message);
        return { action: "accept", content: { wood: "oak" } };
      }),
  });
  await stage.load(client);
  expect(await stage.untilCard(client, "completed")).toContain("oak");
  expect(asked).toEqual([expect.stringContaining("which wood?")]);
});

scenario(
  ["K3", "K2"],
  "a server over pipes that keeps its tasks, ended with Tenon: the next one of both goes on",
  async () => {
    using home = new TemporaryFolder();
    const marker = `tasks-${process.pid}`;
    const behaviour: Behaviour = {
      taskFile: join(home.path, "tasks.json"),
      tools: [{ name: "work", task: { pollMs: 100, takesMs: 4_000 }, reply: { kind: "text", text: RESULT } }],
    };
    const mcpServers = [scriptedAcpServer("s", behaviour, { marker })];
    const first = await startTenon(home, { permissions: "always" });
    await first.initialize();
    const { sessionId } = await first.newSession({ cwd: home.path, mcpServers });
    const turn = first.prompt(sessionId, "mcp__s__work").catch(() => undefined);
    await first.waitForUpdate(sessionId, (update) => JSON.stringify(update).includes("running as a task"));
    const servers = new Set(listLiving({ under: first.pid ?? 0, marker }).map(({ identity }) => identity));
    first.kill("SIGKILL");
    await first.exit;
    await turn;
    await first[Symbol.asyncDispose]().catch(() => undefined); // it complains of the kill
    await expect.poll(() => listLiving({ identities: servers, marker }), { timeout: 10_000 }).toEqual([]);
    await using second = await startTenon(home, { permissions: "always" });
    await second.initialize();
    await second.request("session/load", { sessionId, cwd: home.path, mcpServers });
    const isDone = (update: SessionUpdate) => JSON.stringify(update).includes(RESULT);
    expect(await second.waitForUpdate(sessionId, isDone, { timeoutMs: 30_000 })).toMatchObject({ status: "completed" });
  },
);
