// Sessions of one process and the servers they share: how many processes there are, who uses which, and when they end.
import { expect } from "vitest";
import { echoTool, listLiving } from "../../src/testing/index.js";
import { MEMORY } from "../scenarios/real-server.js";
import { scenario } from "../scenarios/scenario.js";
import { PID, pidOf, SharedHome, say } from "../scenarios/shared-home.js";

const PROGRAM = { tools: [PID, echoTool()] };

scenario(["N1"], "ten sessions with the same two user-level servers run two processes, and all call both", async () => {
  await using home = await SharedHome.open();
  home.configure({ one: home.scripted(PROGRAM), memory: home.real(MEMORY) });
  await using client = await home.editor();
  const sessions = await home.sessions(client, 10);
  const pids = await Promise.all(sessions.map((sessionId) => pidOf(client, sessionId, "one")));
  expect(new Set(pids).size).toBe(1);
  const graphs = await Promise.all(sessions.map((sessionId) => say(client, sessionId, "mcp__memory__read_graph")));
  for (const graph of graphs) expect(graph).toContain("entities");
  expect(home.living).toHaveLength(2);
  for (const sessionId of sessions) {
    const status = JSON.stringify(await client.request("_tenon/mcp/status", { sessionId }));
    expect(status).toMatch(/"name":"memory","origin":"user","toolCount":9,"state":"ready"/u);
  }
});

scenario(["N2"], "other directories and entries that say so are not shared, and the rest still is", async () => {
  await using home = await SharedHome.open();
  home.configure({
    one: home.scripted(PROGRAM),
    own: home.scripted({ ...PROGRAM, serverName: "own" }, { shared: false }),
    keyed: home.scripted({ ...PROGRAM, serverName: "keyed" }, { cwd: "${TENON_TEST_PLACE:-/tmp}" }),
  });
  await using client = await home.editor();
  const [here, beside] = await home.sessions(client, 2);
  const [elsewhere] = await home.sessions(client, 1, home.folder("elsewhere"));
  const both = [here, beside, elsewhere].map((sessionId) => sessionId ?? "");
  const shared = await Promise.all(both.map((sessionId) => pidOf(client, sessionId, "one")));
  expect(shared[0]).toBe(shared[1]);
  expect(shared[2]).not.toBe(shared[0]);
  const own = await Promise.all(both.map((sessionId) => pidOf(client, sessionId, "own")));
  expect(new Set(own).size).toBe(3);
  await Promise.all(both.map((sessionId) => pidOf(client, sessionId, "keyed")));
  expect(home.living).toHaveLength(2 + 3 + 2);
});

scenario(["N2", "A2"], "the same server from the client is one process per session", async () => {
  await using home = await SharedHome.open();
  home.configure({});
  await using client = await home.editor();
  const { command, args } = home.scripted(PROGRAM);
  const server = {
    name: "given",
    command: String(command),
    args: Array.isArray(args) ? args.map(String) : [],
    env: [{ name: "TENON_TEST_MARKER", value: home.marker }],
  };
  const opened = [1, 2, 3].map(() => client.newSession({ cwd: home.bench.project, mcpServers: [server] }));
  const sessions = (await Promise.all(opened)).map(({ sessionId }) => sessionId);
  const pids = await Promise.all(sessions.map((sessionId) => pidOf(client, sessionId, "given")));
  expect(new Set(pids).size).toBe(3);
  const [first = ""] = sessions;
  await client.closeSession(first);
  expect(home.living).toHaveLength(2);
});

scenario(["N5"], "a shared server outlives each session but the last, waits for the next, and then ends", async () => {
  await using home = await SharedHome.open();
  home.configure({ one: home.scripted(PROGRAM) }, { serverLimits: { idleMs: 1_500 } });
  await using client = await home.editor();
  const [first = "", second = ""] = await home.sessions(client, 2);
  const pid = await pidOf(client, first, "one");
  expect(await pidOf(client, second, "one")).toBe(pid);
  await client.closeSession(first);
  expect(await pidOf(client, second, "one")).toBe(pid);
  await client.closeSession(second);
  const [third = ""] = await home.sessions(client, 1);
  expect(await pidOf(client, third, "one")).toBe(pid);
  await client.closeSession(third);
  expect(home.living).toHaveLength(1);
  await expect.poll(() => home.living.length, { timeout: 10_000 }).toBe(0);
  const [fourth = ""] = await home.sessions(client, 1);
  expect(await pidOf(client, fourth, "one")).not.toBe(pid);
});

scenario(["N5", "A8"], "shared servers end with Tenon: at the end of its input, and when it is killed", async () => {
  for (const end of ["input", "kill"] as const) {
    await using home = await SharedHome.open();
    home.configure({ one: home.scripted({ ...PROGRAM, ignoresEof: true, ignoresSigterm: true }) });
    const client = await home.editor();
    const sessions = await home.sessions(client, 3);
    for (const sessionId of sessions) await pidOf(client, sessionId, "one");
    expect(home.living).toHaveLength(1);
    const [last = ""] = sessions;
    await client.closeSession(last); // the others go on, or have left: whatever it is then, it ends
    if (end === "kill") {
      client.kill("SIGKILL");
      await client.exit;
      client.connection.close();
    } else await client[Symbol.asyncDispose]();
    await expect.poll(() => listLiving({ marker: home.marker }).length, { timeout: 10_000 }).toBe(0);
  }
});

scenario(["N6"], "off, on and anew in one session leave the others alone", async () => {
  await using home = await SharedHome.open();
  home.configure({ one: home.scripted(PROGRAM) });
  await using client = await home.editor();
  const [first = "", second = ""] = await home.sessions(client, 2);
  const pid = await pidOf(client, first, "one");
  expect(await pidOf(client, second, "one")).toBe(pid);
  await say(client, first, "/mcp disable one");
  expect(await pidOf(client, second, "one")).toBe(pid);
  expect(await say(client, first, "/mcp enable one")).toContain("ready");
  expect(await pidOf(client, first, "one")).toBe(pid);
  expect(await say(client, first, "/mcp restart one")).toContain("ready");
  const own = await pidOf(client, first, "one");
  expect(own).not.toBe(pid);
  expect(await pidOf(client, second, "one")).toBe(pid);
  expect(home.living).toHaveLength(2);
  await say(client, first, "/mcp disable one");
  await expect.poll(() => home.living.map((one) => String(one.pid)), { timeout: 10_000 }).toEqual([pid]); // it has its time to end
  // Alone with it, a new start is a new process, and the old one is gone before.
  expect(await say(client, second, "/mcp restart one")).toContain("ready");
  expect(await pidOf(client, second, "one")).not.toBe(pid);
  expect(home.living).toHaveLength(1);
});

scenario(["N6"], "a shared server that crashes comes back once, for all", async () => {
  await using home = await SharedHome.open();
  home.configure({ one: home.scripted(PROGRAM) });
  await using client = await home.editor();
  const sessions = await home.sessions(client, 3);
  const [pid = ""] = await Promise.all(sessions.map((sessionId) => pidOf(client, sessionId, "one")));
  process.kill(Number(pid), "SIGKILL");
  await expect.poll(() => home.living.filter((one) => String(one.pid) !== pid).length, { timeout: 10_000 }).toBe(1);
  for (const sessionId of sessions) {
    await client.waitForUpdate(sessionId, (update) => /"state":"reconnecting"/u.test(JSON.stringify(update._meta)));
  }
  const after = await Promise.all(sessions.map((sessionId) => pidOf(client, sessionId, "one")));
  expect(new Set(after).size).toBe(1);
  expect(home.living).toHaveLength(1);
});

scenario(
  ["N7"],
  "a server that would be one too many waits for a place, is told by name, and the others go on",
  async () => {
    await using home = await SharedHome.open();
    const entries = { a: home.scripted(PROGRAM), b: home.scripted({ ...PROGRAM, serverName: "b" }) };
    const third = home.scripted({ ...PROGRAM, serverName: "c" }, { shared: false });
    home.configure({ ...entries, c: third }, { serverLimits: { maxProcesses: 3 } });
    await using client = await home.editor();
    const [first = ""] = await home.sessions(client, 1);
    for (const name of ["a", "b", "c"]) await pidOf(client, first, name);
    const later = await home.sessions(client, 2);
    for (const sessionId of later) await pidOf(client, sessionId, "b");
    const sessions = [first, ...later];
    const standings = await Promise.all(
      sessions.map(async (sessionId) => JSON.stringify(await client.request("_tenon/mcp/status", { sessionId }))),
    );
    expect(home.living).toHaveLength(3); // a and b for all, and c for one
    expect(standings.filter((status) => /"name":"c"[^}]*"state":"ready"/u.test(status))).toHaveLength(1);
    const refused = standings.filter((status) => status.includes("waits for a place: 3 server processes run"));
    expect(refused).toHaveLength(2);
    expect(refused[0]).toContain("serverLimits.maxProcesses");
    expect(refused[0]).toContain("1 of other sessions");
    for (const sessionId of sessions)
      expect(await say(client, sessionId, 'mcp__b__echo {"text":"hi"}')).toContain("hi");
  },
);

scenario(["N7"], "so does one above the limit of memory: it is told what each takes", async () => {
  await using home = await SharedHome.open();
  home.configure({ large: home.scripted(PROGRAM) }, { serverLimits: { maxMemoryMb: 30 } });
  await using client = await home.editor();
  const [sessionId = ""] = await home.sessions(client, 1);
  await pidOf(client, sessionId, "large");
  const { command, args } = home.scripted(PROGRAM);
  const words = [command, ...(Array.isArray(args) ? args : [])].map((word) => `'${String(word)}'`).join(" ");
  const said = await say(client, sessionId, `/mcp add more ${words}`);
  expect(said).toMatch(/"more" waits for a place: the server processes use \d+ MB of memory, and 30 MB is the limit/u);
  expect(said).toMatch(/"large" \(\d+ MB\)/u);
  expect(await pidOf(client, sessionId, "large")).toMatch(/^\d+$/u);
});

scenario(["N8"], "a session that uses up its part of the limits does not keep the others from theirs", async () => {
  await using home = await SharedHome.open();
  home.configure({ one: home.scripted(PROGRAM, { limits: { callsPerMinute: 4 } }) });
  await using client = await home.editor();
  const [greedy = "", modest = ""] = await home.sessions(client, 2);
  await client.prompt(modest, "/mcp"); // it has its servers by now
  for (let count = 0; count < 3; count++) await pidOf(client, greedy, "one");
  const over = say(client, greedy, "mcp__one__which");
  const begun = () => client.updates(greedy).filter((update) => JSON.stringify(update).includes('"in_progress"'));
  await expect.poll(() => begun().length, { timeout: 5_000 }).toBe(4);
  expect(await pidOf(client, modest, "one")).toMatch(/^\d+$/u);
  expect(await over).toContain("not called, after waiting 10 s for its turn");
  expect(home.living).toHaveLength(1);
});
