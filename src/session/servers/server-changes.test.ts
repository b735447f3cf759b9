// Changes of a session's servers by the person: off and on again, restarted, added and removed, and unknown names.
import { expect, test } from "vitest";
import { LIMITS } from "../../base/limits.js";
import { ServerPool, type ServerSpec } from "../../mcp/index.js";
import { echoTool, type FakeWorld, fakeWorld, spawnsServer } from "../../testing/index.js";
import type { AbsentServer } from "../../tools/index.js";
import type { ServerChange } from "../events.js";
import type { WantedServer } from "./entry.js";
import { SessionServers } from "./servers.js";

function stdio(name: string): ServerSpec {
  return { kind: "stdio", name, command: "/bin/server", args: [], env: {} };
}

/** One server of the configuration, `mine`, and one that the client gave, `given`. */
class Bench implements AsyncDisposable {
  readonly world: FakeWorld = fakeWorld({ spawn: spawnsServer({ tools: [echoTool()] }) });
  readonly servers: SessionServers;
  given: readonly ServerSpec[] = [stdio("given")];
  absent: readonly AbsentServer[] = [];

  constructor() {
    this.servers = new SessionServers(
      {
        world: this.world,
        cwd: "/",
        client: { name: "t", version: "1" },
        isConfigured: true,
        onStatus: () => {},
        onGiven: async (given) => this.#configure(given),
        onConnected: (_open, absent) => {
          this.absent = absent;
        },
      },
      { servers: this.given },
    );
    this.#configure(this.given);
  }

  get names(): readonly string[] {
    return this.servers.open.map(({ connection }) => connection.spec.name);
  }

  async during(change: Promise<ServerChange>): Promise<ServerChange> {
    await this.world.advance(10_000);
    return await change;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closing = this.servers.close(LIMITS.exitGrace);
    await this.world.advance(10_000);
    await closing;
  }

  #configure(given: readonly ServerSpec[]): void {
    this.given = given;
    const wanted = given.map((spec): WantedServer => ({ spec, origin: "client" }));
    this.servers.configure({ wanted: [{ spec: stdio("mine"), origin: "user" }, ...wanted], rejected: [], absent: [] });
  }
}

test("off is off until it is switched on again, and both are reported", async () => {
  await using bench = new Bench();
  const { servers } = bench;
  expect(servers.disable("given")).toMatchObject({ ok: true });
  expect(bench.names).toEqual(["mine"]);
  expect(servers.statuses).toMatchObject([{ name: "mine" }, { name: "given", origin: "client", state: "closed" }]);
  expect(bench.absent).toMatchObject([{ name: "given", kind: "disabled" }]);
  expect(servers.disable("given")).toMatchObject({ ok: true, text: expect.stringContaining("already") });
  expect(servers.enable("given")).toMatchObject({ ok: true });
  expect(bench.names).toEqual(["mine", "given"]);
  expect(bench.absent).toEqual([]);
});

test("restarted means another connection, begun when the old one has ended", async () => {
  await using bench = new Bench();
  const { servers } = bench;
  await bench.world.advance(100);
  const [, before] = servers.open;
  expect(await bench.during(servers.restart("given"))).toMatchObject({ ok: true });
  const [, after] = servers.open;
  expect(before?.connection.state.value.kind).toBe("closed");
  expect(after?.connection).not.toBe(before?.connection);
  servers.disable("given");
  expect(await bench.during(servers.restart("given"))).toMatchObject({ ok: true });
  expect(bench.names).toContain("given");
});

test("added and removed are the client's; one of the configuration is only switched off", async () => {
  await using bench = new Bench();
  const { servers } = bench;
  expect(await servers.add(stdio("new"))).toMatchObject({ ok: true });
  expect(await servers.add(stdio("mine"))).toMatchObject({ ok: false });
  expect(bench.names).toEqual(["mine", "given", "new"]);
  expect(await servers.remove("given")).toMatchObject({ ok: true });
  expect(bench.given.map(({ name }) => name)).toEqual(["new"]);
  expect(await servers.remove("mine")).toMatchObject({ text: expect.stringContaining("tenon mcp remove mine") });
  expect(bench.names).toEqual(["new"]);
});

test("an unknown name is answered with the servers there are", async () => {
  await using bench = new Bench();
  const { servers } = bench;
  const changes = [servers.enable("x"), servers.disable("x"), await servers.restart("x"), await servers.remove("x")];
  for (const change of changes) {
    expect(change).toEqual({ ok: false, reason: 'this session has no connected server "x"; there are: mine, given' });
  }
});

test("a server that other sessions use is restarted as this session's own, and stays that", async () => {
  const world = fakeWorld({ spawn: spawnsServer({ tools: [echoTool()] }) });
  const client = { name: "t", version: "1" };
  const pool = new ServerPool({ world });
  const open = () => {
    const servers = new SessionServers({ world, cwd: "/", client, pool, isConfigured: true, onStatus: () => {} });
    servers.configure({ wanted: [{ spec: stdio("mine"), origin: "user" }], rejected: [], absent: [] });
    return servers;
  };
  const [one, other] = [open(), open()];
  await world.advance(1_000);
  expect(one.open[0]?.connection.isShared).toBe(true);
  const restarted = one.restart("mine");
  await world.advance(10_000);
  expect(await restarted).toMatchObject({ ok: true });
  for (const servers of [one, other]) expect(servers.statuses).toMatchObject([{ state: "ready" }]);
  expect(one.open[0]?.connection.isShared).toBe(false);
  expect(world.children.filter((child) => child.isGroupAlive())).toHaveLength(2);
  const closing = Promise.all([
    one.close(LIMITS.exitGrace),
    other.close(LIMITS.exitGrace),
    pool.close(LIMITS.exitGrace),
  ]);
  await world.advance(10_000);
  await closing;
});
