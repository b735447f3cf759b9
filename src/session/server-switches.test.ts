// Switching servers within a session: off and on again, started anew, added and removed, and words for what is not there.
import { expect, test } from "vitest";
import { Cell } from "../base/async/cell.js";
import { McpConnection, type ServerSpec } from "../mcp/index.js";
import { fakeWorld } from "../testing/index.js";
import type { ToolOrigin } from "../tools/index.js";
import type { OpenServer, WantedServer } from "./server-entry.js";
import type { GivenServers } from "./server-set.js";
import { ServerSwitches } from "./server-switches.js";

function stdio(name: string): ServerSpec {
  return { kind: "stdio", name, command: "server", args: [], env: {} };
}

/** What a session does with its servers, without any process. */
class Bench {
  readonly world = fakeWorld();
  readonly switches: ServerSwitches;
  readonly configured: readonly WantedServer[] = [{ spec: stdio("mine"), origin: "user" }];
  given: GivenServers = { servers: [stdio("given")] };
  open: readonly OpenServer[] = [];
  isShared = false;

  constructor() {
    this.switches = new ServerSwitches({
      open: () => this.open,
      reconnect: () => this.connect(),
      given: () => this.given,
      give: async (given) => {
        this.given = given;
        this.connect();
      },
    });
    this.connect();
  }

  get names(): readonly string[] {
    return this.open.map(({ connection }) => connection.spec.name);
  }

  connect(): void {
    const wanted = [
      ...this.configured,
      ...this.given.servers.map((spec): WantedServer => ({ spec, origin: "client" })),
    ];
    const before = this.open;
    this.open = this.switches.filter(wanted).map(({ spec, origin }) => {
      return before.find(({ connection }) => connection.spec === spec) ?? this.#opened(spec, origin);
    });
    for (const { connection } of before) {
      if (!this.open.some((one) => one.connection === connection)) this.#closing.push(connection.close());
    }
  }

  readonly #closing: Promise<void>[] = [];

  #opened(spec: ServerSpec, origin: ToolOrigin): OpenServer {
    const connection = new McpConnection(spec, { world: this.world, cwd: "/", client: { name: "t", version: "1" } });
    const call = () => Promise.reject(new Error("not called here"));
    const source = { name: spec.name, origin, tools: new Cell([]), call };
    return { connection, source, isShared: () => this.isShared };
  }
}

test("off is off until it is switched on again, and both are told", () => {
  const bench = new Bench();
  expect(bench.switches.disable("given")).toMatchObject({ ok: true });
  expect(bench.names).toEqual(["mine"]);
  expect(bench.switches.statuses).toMatchObject([{ name: "given", origin: "client", state: "closed" }]);
  expect(bench.switches.absent).toMatchObject([{ name: "given", kind: "disabled" }]);
  expect(bench.switches.disable("given")).toMatchObject({ ok: true, text: expect.stringContaining("already") });
  expect(bench.switches.enable("given")).toMatchObject({ ok: true });
  expect(bench.names).toEqual(["mine", "given"]);
  expect(bench.switches.statuses).toEqual([]);
});

test("started anew means another connection, begun when the old one has ended", async () => {
  const bench = new Bench();
  const [, before] = bench.open;
  expect(await bench.switches.restart("given")).toMatchObject({ ok: true });
  const [, after] = bench.open;
  expect(before?.connection.state.value.kind).toBe("closed");
  expect(after?.connection).not.toBe(before?.connection);
  bench.switches.disable("given");
  expect(await bench.switches.restart("given")).toMatchObject({ ok: true });
  expect(bench.names).toContain("given");
});

test("added and removed are the client's; one of the configuration is only switched off", async () => {
  const bench = new Bench();
  expect(await bench.switches.add(stdio("new"))).toMatchObject({ ok: true });
  expect(await bench.switches.add(stdio("mine"))).toMatchObject({ ok: false });
  expect(bench.names).toEqual(["mine", "given", "new"]);
  expect(await bench.switches.remove("given")).toMatchObject({ ok: true });
  expect(bench.given.servers.map(({ name }) => name)).toEqual(["new"]);
  expect(await bench.switches.remove("mine")).toMatchObject({ text: expect.stringContaining("tenon mcp remove mine") });
  expect(bench.names).toEqual(["new"]);
});

test("a server nobody has is answered with those there are", async () => {
  const { switches } = new Bench();
  for (const answer of [
    switches.enable("x"),
    switches.disable("x"),
    await switches.restart("x"),
    await switches.remove("x"),
  ]) {
    expect(answer).toEqual({ ok: false, reason: 'this session has no connected server "x"; there are: mine, given' });
  }
});

test("one that other sessions use is started anew as the session's own, and stays that", async () => {
  const bench = new Bench();
  bench.isShared = true;
  const wanted = () => bench.switches.filter(bench.configured);
  expect(wanted()).toEqual(bench.configured);
  expect(await bench.switches.restart("mine")).toMatchObject({ ok: true });
  expect(wanted()).toMatchObject([{ mayShare: false }]);
  bench.switches.disable("mine");
  bench.switches.enable("mine");
  expect(wanted()).toMatchObject([{ mayShare: false }]);
});
