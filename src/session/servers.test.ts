// The set of a session's servers: replaced without touching what stays, waited for as long as each is worth.
import { expect, test } from "vitest";
import { LIMITS } from "../base/limits.js";
import type { StdioSpec } from "../mcp/index.js";
import { type Behaviour, echoTool, fakeWorld, spawnsServer } from "../testing/index.js";
import type { ServerStatus } from "./event.js";
import { SessionServers, type WantedServer } from "./servers.js";

function setUp(behaviour: Behaviour = { tools: [echoTool()] }) {
  const world = fakeWorld({ spawn: spawnsServer(behaviour) });
  const told: ServerStatus[] = [];
  const client = { name: "t", version: "1" };
  const servers = new SessionServers({ world, cwd: "/project", client, onStatus: (status) => told.push(status) });
  const close = async () => {
    const closing = servers.close(LIMITS.exitGrace);
    await world.advance(10_000);
    await closing;
  };
  return { world, servers, told, close };
}

function wanted(name: string, more: Partial<WantedServer> & { args?: string[] } = {}): WantedServer {
  const { args = [], ...rest } = more;
  const spec: StdioSpec = { kind: "stdio", name, command: "/bin/server", args, env: {} };
  return { spec, origin: "user", ...rest };
}

test("what stays the same stays connected; what is changed, new or gone is started or ended", async () => {
  const { world, servers, told, close } = setUp();
  servers.replace([wanted("a"), wanted("b")], []);
  await world.advance(100);
  expect(world.children).toHaveLength(2);
  servers.replace([wanted("a"), wanted("b", { args: ["--other"] }), wanted("c")], []);
  await world.advance(10_000);
  expect(world.children).toHaveLength(4);
  expect(world.children.map((child) => child.isGroupAlive())).toEqual([true, false, true, true]);
  expect(servers.statuses.map(({ name, state }) => [name, state])).toEqual([
    ["a", "ready"],
    ["b", "ready"],
    ["c", "ready"],
  ]);
  expect(told.filter(({ state }) => state === "closed").map(({ name }) => name)).toEqual(["b"]);
  await close();
});

test("a required server is waited for, another one only up to the usual bound", async () => {
  const slow: Behaviour = { tools: [echoTool()], steps: { initialize: [{ do: "delay", ms: 20_000 }] } };
  for (const isRequired of [true, false]) {
    const { world, servers, close } = setUp(slow);
    servers.replace([wanted("s", { isRequired })], []);
    let isSettled = false;
    const settling = servers.settled(new AbortController().signal).then(() => (isSettled = true));
    await world.advance(LIMITS.firstPromptWaitMs + 1);
    expect(isSettled).toBe(!isRequired);
    await world.advance(30_000);
    await settling;
    await close();
  }
});

test("a tool that is not allowed is not in the catalog", async () => {
  const { world, servers, close } = setUp({ tools: [echoTool(), echoTool("wipe")] });
  servers.replace([wanted("s", { isToolAllowed: (tool) => tool !== "wipe" })], []);
  await world.advance(100);
  expect(servers.sources[0]?.tools.value.map((tool) => tool.name)).toEqual(["echo"]);
  await close();
});

test("an entry that cannot be used is told once, however often the set is replaced", async () => {
  const { servers, told, close } = setUp();
  servers.replace([], [{ name: "x", reason: "no command" }]);
  servers.replace([], [{ name: "x", reason: "no command" }]);
  expect(told).toMatchObject([{ name: "x", state: "failed", error: "no command" }]);
  await close();
});
