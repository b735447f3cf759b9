// However it ends, nothing stays behind: no server, no child of a server.
import { expect } from "vitest";
import {
  type AcpClient,
  echoTool,
  leakCheck,
  type SpawnChildrenStep,
  scriptedAcpServer,
} from "../../src/testing/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { scenario } from "./scenario.js";

const children: SpawnChildrenStep = { do: "spawn_children", count: 2 };

/** A session with a well-behaved server, one that ignores everything but SIGKILL, and one behind a shell; all with children. */
async function openSession(home: TemporaryFolder, marker: string): Promise<{ client: AcpClient; sessionId: string }> {
  const client = await startTenon(home);
  await client.initialize();
  const stubborn = { ...children, ignoresSigterm: true };
  const plain = scriptedAcpServer("plain", { tools: [echoTool()], steps: { start: [children] } }, { marker });
  const deaf = scriptedAcpServer(
    "deaf",
    { ignoresEof: true, ignoresSigterm: true, steps: { start: [stubborn] } },
    { marker },
  );
  const behindShell = {
    ...plain,
    name: "shell",
    command: "/bin/sh",
    args: ["-c", '"$0" "$@"; true', plain.command, ...plain.args],
  };
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [plain, deaf, behindShell] });
  const isReady = (name: string) =>
    client.waitForUpdate(
      sessionId,
      (update) => update.sessionUpdate === "notice" && update.title.includes(`"${name}" is ready`),
    );
  await Promise.all([isReady("plain"), isReady("deaf"), isReady("shell")]);
  return { client, sessionId };
}

scenario(["S13"], "closing the session ends every server with its whole tree, and the agent serves on", async () => {
  using home = new TemporaryFolder();
  const check = await leakCheck({ marker: "close" });
  const { client, sessionId } = await openSession(home, "close");
  await client.closeSession(sessionId);
  const left = check.find().processes.filter((line) => !line.includes("main.js"));
  expect(left).toEqual([]);
  await expect(client.prompt(sessionId, "hi")).rejects.toMatchObject({ code: -32002 });
  expect((await client.newSession({ cwd: home.path })).sessionId).not.toBe(sessionId);
  await client[Symbol.asyncDispose]();
  await check.verify();
});

scenario(["S13"], "the end of stdin ends everything and exits 0 within three seconds", async () => {
  using home = new TemporaryFolder();
  const check = await leakCheck({ marker: "eof" });
  const { client } = await openSession(home, "eof");
  const before = performance.now();
  expect(await client.end()).toMatchObject({ code: 0, signal: null });
  expect(performance.now() - before).toBeLessThan(4_000);
  await client[Symbol.asyncDispose]();
  await check.verify();
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  scenario(["S13"], `${signal} ends everything`, async () => {
    using home = new TemporaryFolder();
    const check = await leakCheck({ marker: signal });
    const { client } = await openSession(home, signal);
    client.kill(signal);
    expect(await client.exit).toMatchObject({ code: 130 });
    await check.verify();
    await client[Symbol.asyncDispose]();
  });
}

scenario(["S13"], "a signal during a running call leaves nothing either", async () => {
  using home = new TemporaryFolder();
  const check = await leakCheck({ marker: "mid-call" });
  const client = await startTenon(home);
  await client.initialize();
  const tools = [
    {
      name: "wait",
      description: "Waits",
      steps: [children, { do: "never" as const }],
      reply: { kind: "echo" as const },
    },
  ];
  const server = scriptedAcpServer("busy", { tools }, { marker: "mid-call" });
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [server] });
  const answer = client.prompt(sessionId, "wait").catch(() => undefined);
  await client.waitForUpdate(sessionId, (update) => "status" in update && update.status === "in_progress");
  client.kill("SIGTERM");
  await client.exit;
  await answer;
  await check.verify();
  await client[Symbol.asyncDispose]();
});
