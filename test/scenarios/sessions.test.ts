// Sessions over ACP that outlive their process: load, resume, list, fork, delete.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect } from "vitest";
import { type AcpClient, acpSchemaValidator, echoTool, scriptedAcpServer } from "../../src/testing/index.js";
import { cleanEnv, startTenon, TemporaryFolder } from "./agent.js";
import { itemsOf, missingIn, replayedTurns } from "./conversation.js";
import { agentNode, TENON } from "./peers.js";
import { scenario } from "./scenario.js";

const SERVER = (env: Record<string, string> = {}) => scriptedAcpServer("s", { tools: [echoTool()] }, { env });

async function started(home: TemporaryFolder): Promise<AcpClient> {
  const client = await startTenon(home, { validate: await acpSchemaValidator({ unstable: true }) });
  const { agentCapabilities } = await client.initialize();
  expect(agentCapabilities).toMatchObject({
    loadSession: true,
    sessionCapabilities: { close: {}, delete: {}, fork: {}, list: {}, resume: {}, additionalDirectories: {} },
  });
  return client;
}

/** A session with two turns, the process of which has ended. */
async function earlierSession(
  home: TemporaryFolder,
): Promise<{ sessionId: string; read: ReturnType<typeof itemsOf>[] }> {
  await using client = await started(home);
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [SERVER()] });
  await client.prompt(sessionId, "please echo for the record");
  const first = client.updates(sessionId).length;
  await client.prompt(sessionId, "hello again");
  const updates = client.updates(sessionId);
  return { sessionId, read: [itemsOf(updates.slice(0, first)), itemsOf(updates.slice(first))] };
}

function journalOf(home: TemporaryFolder, sessionId: string): string {
  return join(home.path, "state/sessions", `${sessionId}.ndjson`);
}

interface Listed {
  readonly sessions: readonly { sessionId: string; cwd: string; title: string; updatedAt: string }[];
  readonly nextCursor?: string;
}

async function list(client: AcpClient, params: object = {}): Promise<Listed> {
  const answer: Listed = JSON.parse(JSON.stringify(await client.request("session/list", params)));
  return answer;
}

scenario(
  ["P1", "P6"],
  "load replays the conversation before it answers, with the servers of now, and it goes on",
  async () => {
    using home = new TemporaryFolder();
    const { sessionId, read } = await earlierSession(home);
    await using client = await started(home);
    const other = scriptedAcpServer("other", {
      tools: [{ name: "task", description: "A task", reply: { kind: "text", text: "task done" } }],
    });
    const lines = client.lines.length;
    const broken = { type: "carrier-pigeon", name: "odd" };
    await client.request("session/load", { sessionId, cwd: home.path, mcpServers: [other, broken] });
    const said = client.lines.slice(lines).filter(({ direction }) => direction === "received");
    const answer = said.findIndex(({ text }) => text.includes('"result"'));
    const isOfConversation = ({ text }: { text: string }) => /_message_chunk|"tool_call/u.test(text);
    expect(said.slice(0, answer).some(isOfConversation)).toBe(true);
    expect(said.slice(answer).filter(isOfConversation)).toEqual([]);
    const turns = replayedTurns(client.updates(sessionId));
    expect(turns.map(({ prompt }) => prompt)).toEqual(["please echo for the record", "hello again"]);
    for (const [index, items] of read.entries()) {
      expect(missingIn(turns[index]?.items ?? [], items)).toEqual([]);
      expect(turns[index]?.items).toHaveLength(items.length);
    }
    await client.waitForUpdate(sessionId, (update) => JSON.stringify(update).includes("carrier-pigeon"));
    await client.prompt(sessionId, "task");
    expect(JSON.stringify(client.updates(sessionId))).toContain("task done");
    const status = JSON.stringify(await client.request("_tenon/mcp/status", { sessionId }));
    expect(status).toContain('"name":"other"');
    expect(status).not.toContain('"name":"s"');
  },
);

scenario(["P2", "P6"], "resume says nothing of what was before, and the session goes on under its id", async () => {
  using home = new TemporaryFolder();
  const { sessionId } = await earlierSession(home);
  await using client = await started(home);
  await client.request("session/resume", { sessionId, cwd: home.path, mcpServers: [SERVER()] });
  await client.prompt(sessionId, "please echo once more");
  const updates = client.updates(sessionId);
  expect(JSON.stringify(updates)).not.toContain("for the record");
  expect(updates.filter(({ sessionUpdate }) => sessionUpdate === "user_message_chunk")).toEqual([]);
  const ids = updates.flatMap((update) => ("toolCallId" in update ? [update.toolCallId] : []));
  expect([...new Set(ids)]).toEqual(["3-1"]); // turns are counted on
  await client.closeSession(sessionId);
  await client.request("session/load", { sessionId, cwd: home.path, mcpServers: [] });
  expect(replayedTurns(client.updates(sessionId).slice(updates.length)).map(({ prompt }) => prompt)).toHaveLength(3);
});

scenario(["P3"], "the list is paged and filtered, the session used last comes first", async () => {
  using home = new TemporaryFolder();
  using elsewhere = new TemporaryFolder();
  await using client = await started(home);
  const ids: string[] = [];
  for (let index = 0; index < 53; index++) {
    const cwd = index % 50 === 0 ? elsewhere.path : home.path;
    const { sessionId } = await client.newSession({ cwd });
    await client.prompt(sessionId, `note ${index}`);
    await client.closeSession(sessionId);
    ids.unshift(sessionId);
  }
  await client.newSession({ cwd: home.path }); // nothing is said in it
  const first = await list(client);
  expect(first.sessions).toHaveLength(50);
  expect(first.sessions[0]).toMatchObject({ cwd: home.path, title: "note 52" });
  expect(new Date(first.sessions[0]?.updatedAt ?? "").getTime()).toBeGreaterThan(Date.now() - 600_000);
  const second = await list(client, { cursor: first.nextCursor });
  expect(second.nextCursor).toBeUndefined();
  expect([...first.sessions, ...second.sessions].map(({ sessionId }) => sessionId)).toEqual(ids);
  const there = await list(client, { cwd: elsewhere.path });
  expect(there.sessions.map(({ title }) => title)).toEqual(["note 50", "note 0"]);
  await expect(list(client, { cursor: "nonsense" })).rejects.toMatchObject({ code: -32602 });
});

scenario(["P4", "P6"], "a fork goes its own way, and what is deleted is gone", async () => {
  using home = new TemporaryFolder();
  const { sessionId } = await earlierSession(home);
  await using client = await started(home);
  const answer = await client.request("session/fork", { sessionId, cwd: home.path, mcpServers: [SERVER()] });
  const forked: { sessionId: string } = JSON.parse(JSON.stringify(answer));
  expect(forked.sessionId).not.toBe(sessionId);
  await client.prompt(forked.sessionId, "please echo only in the fork");
  expect(readFileSync(journalOf(home, sessionId), "utf8")).not.toContain("only in the fork");
  expect(readFileSync(journalOf(home, forked.sessionId), "utf8")).toContain("for the record");
  expect((await list(client)).sessions.map((listed) => listed.sessionId)).toEqual([forked.sessionId, sessionId]);
  await client.request("session/delete", { sessionId: forked.sessionId }); // it is open
  await client.request("session/delete", { sessionId });
  await client.request("session/delete", { sessionId });
  expect((await list(client)).sessions).toEqual([]);
  expect(readdirSync(join(home.path, "state/sessions"))).toEqual([]);
  await expect(client.prompt(forked.sessionId, "hi")).rejects.toMatchObject({ code: -32002 });
  await expect(client.request("session/load", { sessionId, cwd: home.path, mcpServers: [] })).rejects.toMatchObject({
    code: -32002,
  });
});

scenario(
  ["P7"],
  "a session that is open is not opened again, here or in another process, until it is closed",
  async () => {
    using home = new TemporaryFolder();
    await using client = await started(home);
    await using other = await started(home);
    const { sessionId } = await client.newSession({ cwd: home.path });
    await client.prompt(sessionId, "hello");
    const request = { sessionId, cwd: home.path, mcpServers: [] };
    await expect(client.request("session/load", request)).rejects.toThrow("already open here");
    await expect(other.request("session/load", request)).rejects.toThrow(`open in process ${client.pid}`);
    await expect(other.request("session/delete", { sessionId })).rejects.toThrow(`open in process ${client.pid}`);
    expect((await client.prompt(sessionId, "still mine")).stopReason).toBe("end_turn");
    await client.closeSession(sessionId);
    await other.request("session/load", request);
    expect((await other.prompt(sessionId, "mine now")).stopReason).toBe("end_turn");
    expect(readdirSync(join(home.path, "state/session-locks"))).toHaveLength(1);
  },
);

scenario(["P8"], "a damaged journal shows what comes before the damage, says so, and goes on", async () => {
  using home = new TemporaryFolder();
  const { sessionId, read } = await earlierSession(home);
  const journal = journalOf(home, sessionId);
  const lines = readFileSync(journal, "utf8").split("\n");
  const second = lines.findIndex((line) => line.includes('"kind":"prompt"') && line.includes("hello again"));
  writeFileSync(journal, [...lines.slice(0, second), "\u0000\u0000\u0000", ...lines.slice(second + 1)].join("\n"));
  appendFileSync(journal, '{"seq":99');
  {
    await using client = await started(home);
    await client.request("session/load", { sessionId, cwd: home.path, mcpServers: [] });
    const turns = replayedTurns(client.updates(sessionId));
    expect(turns.map(({ prompt }) => prompt)).toEqual(["please echo for the record"]);
    expect(missingIn(turns[0]?.items ?? [], read[0] ?? [])).toEqual([]);
    await client.waitForUpdate(
      sessionId,
      (update) => update.sessionUpdate === "notice" && /damaged/u.test(update.title),
    );
    await client.prompt(sessionId, "go on all the same");
  }
  await using client = await started(home);
  await client.request("session/load", { sessionId, cwd: home.path, mcpServers: [] });
  expect(replayedTurns(client.updates(sessionId)).map(({ prompt }) => prompt)).toEqual([
    "please echo for the record",
    "go on all the same",
  ]);
});

scenario(["A3"], "nothing of a client's server is on the disk, before and after its session is loaded", async () => {
  using home = new TemporaryFolder();
  const secrets = { API_TOKEN: "hunter2-canary" };
  const remote = {
    type: "http",
    name: "far",
    url: "http://127.0.0.1:9/mcp",
    headers: [{ name: "X-Key", value: "hunter2-far" }],
  };
  const files = () =>
    readdirSync(home.path, { recursive: true, encoding: "utf8" })
      .map((name) => join(home.path, name))
      .filter((path) => statSync(path).isFile());
  const sessionId = await (async () => {
    await using client = await started(home);
    const opened = await client.request("session/new", { cwd: home.path, mcpServers: [SERVER(secrets), remote] });
    const { sessionId: id }: { sessionId: string } = JSON.parse(JSON.stringify(opened));
    await client.prompt(id, "please echo it");
    return id;
  })();
  await using client = await started(home);
  await client.request("session/load", { sessionId, cwd: home.path, mcpServers: [SERVER(secrets), remote] });
  await client.prompt(sessionId, "please echo it again");
  expect(files().length).toBeGreaterThan(0);
  for (const path of files()) expect(readFileSync(path, "utf8"), path).not.toContain("hunter2");
  expect(client.stderr()).not.toContain("hunter2");
  await client.closeSession(sessionId);
  expect(existsSync(join(home.path, "state/session-locks", `${sessionId}.lock`))).toBe(false);
});

scenario(
  ["P1"],
  "a session whose id was given out is there to load, also when the agent was killed at once",
  async () => {
    using home = new TemporaryFolder();
    const killed = spawn(agentNode(), [TENON, "acp"], { cwd: home.path, env: cleanEnv(home.path), stdio: "pipe" });
    const lines = createInterface({ input: killed.stdout })[Symbol.asyncIterator]();
    const ask = async (id: number, method: string, params: object): Promise<{ result: { sessionId: string } }> => {
      killed.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      return JSON.parse(String((await lines.next()).value));
    };
    await ask(1, "initialize", { protocolVersion: 1, clientCapabilities: {} });
    const { result } = await ask(2, "session/new", { cwd: home.path, mcpServers: [] });
    killed.kill("SIGKILL");
    await once(killed, "exit");

    await using client = await started(home);
    const { sessionId } = result;
    await client.request("session/load", { sessionId, cwd: home.path, mcpServers: [] });
    expect((await client.prompt(sessionId, "hello")).stopReason).toBe("end_turn");
  },
);
