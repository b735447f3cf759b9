// Nodes that are gone, drain or have no database, over a real PostgreSQL with a short lease: what becomes of their sessions.
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import type { Model } from "../../src/models/index.js";
import { openPostgresStore } from "../../src/postgres/index.js";
import { POSTGRES_LIMITS } from "../../src/postgres/limits.js";
import { scriptedHttpServer } from "../../src/testing/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { Town, type TownClient, type TownNode } from "../node-town.js";
import type { Postgres } from "../postgres.js";
import { cleanEnv, TemporaryFolder } from "../scenarios/agent.js";
import { send } from "../scenarios/gateway/wire-client.js";
import { postgresOfFile, scenario } from "../scenarios/scenario.js";

const postgres = postgresOfFile();
const needs = { ...postgres, timeoutMs: 60_000 };
const LEASE_MS = 900;
const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** The way of one node to the database, which can be cut: nothing comes through, and no connection ends. */
class Way implements AsyncDisposable {
  readonly #folder = new TemporaryFolder();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #isCut = false;

  private constructor(socketDir: string) {
    this.#server = createServer((near) => {
      const far = connect(join(socketDir, SOCKET));
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(one);
        if (this.#isCut) one.pause();
        one.on("data", (chunk) => other.write(chunk));
        one.on("error", () => {});
        one.on("close", () => {
          this.#sockets.delete(one);
          other.destroy();
        });
      }
      if (this.#isCut) for (const one of [near, far]) one.pause();
    });
  }

  static async open({ socketDir }: Postgres): Promise<Way> {
    const way = new Way(socketDir);
    await new Promise<void>((resolve) => way.#server.listen(join(way.#folder.path, SOCKET), resolve));
    return way;
  }

  to(url: string, { socketDir }: Postgres): string {
    return url.replace(encodeURIComponent(socketDir), encodeURIComponent(this.#folder.path));
  }

  cut(): void {
    this.#isCut = true;
    for (const one of this.#sockets) one.pause();
  }

  mend(): void {
    this.mendForNew();
    for (const one of this.#sockets) one.resume();
  }

  /** Connections of before stay silent, as they do for a while after a network is back. */
  mendForNew(): void {
    this.#isCut = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#sockets) one.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    this.#folder[Symbol.dispose]();
  }
}

const SOCKET = ".s.PGSQL.5432";

/** Asks once for each call, and says at the end what they answered; held until it is let. */
class HeldModel {
  #held: Promise<void> | undefined;
  release: () => void = () => {};
  /** How often it was asked. */
  asked = 0;

  hold(): void {
    this.#held = new Promise((resolve) => {
      this.release = resolve;
    });
  }

  get model(): Model {
    const ask = () => {
      this.asked += 1;
      return this.#held;
    };
    return {
      id: "test/held",
      stream: async function* ({ messages }) {
        const last = messages.at(-1);
        const said = last?.role === "user" ? last.content.map((one) => ("text" in one ? one.text : "")).join("") : "";
        const name = /call (\S+)/u.exec(said)?.[1];
        if (name !== undefined) {
          yield { kind: "tool_call", call: { callId: "c", name, argumentsJson: "{}" } };
          yield { kind: "finish", reason: "tool_calls" };
          return;
        }
        yield { kind: "text", text: "well " };
        await ask();
        const results = last?.role === "tool" ? JSON.stringify(last.results) : said;
        yield { kind: "text", text: results };
        yield { kind: "finish", reason: "stop" };
      },
    };
  }
}

class Stage implements AsyncDisposable {
  readonly held = new HeldModel();
  readonly town: Town;
  readonly url: string;
  readonly #ways = new Map<string, Way>();

  private constructor(url: string, leaseMs: number) {
    this.url = url;
    const world = nodeWorld({ log: QUIET, env: cleanEnv("/nowhere") });
    this.town = new Town((name, roots) => {
      const at = this.#ways.get(name)?.to(url, postgres.get()) ?? url;
      return openPostgresStore({ world, url: at, node: { name, roots }, leaseMs });
    }, this.held.model);
  }

  static async open(leaseMs = LEASE_MS): Promise<Stage> {
    return new Stage(await postgres.get().database(), leaseMs);
  }

  /** Of a node that is not started yet. */
  async way(node: string): Promise<Way> {
    const way = await Way.open(postgres.get());
    this.#ways.set(node, way);
    return way;
  }

  async kinds(session: string): Promise<readonly string[]> {
    const rows = await this.query(
      `select kind from tenon_record r join tenon_session s on s.key = r.session where s.id = '${session}' order by seq`,
    );
    return rows.map(({ kind }) => String(kind));
  }

  /** Of the first record of that kind. */
  async record(session: string, kind: string): Promise<Record<string, unknown>> {
    for (;;) {
      const [row] = await this.query(
        `select line, r.epoch from tenon_record r join tenon_session s on s.key = r.session
         where s.id = '${session}' and kind = '${kind}' order by seq limit 1`,
      );
      if (row) return { ...JSON.parse(String(row["line"])), epoch: row["epoch"] };
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async query(text: string): Promise<readonly Record<string, unknown>[]> {
    return await postgres.get().query(text, this.url);
  }

  async ready({ socketPath }: TownNode): Promise<string> {
    const { status, body } = await send(undefined, { path: "/readyz", socketPath, headers: { host: "localhost" } });
    return `${status} ${body.trim()}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.held.release();
    await this.town[Symbol.asyncDispose]();
    for (const way of this.#ways.values()) await way[Symbol.asyncDispose]();
  }
}

/** The prompt is sent, and its answer is not waited for: its connection may end before. */
function begin(client: TownClient, session: string, text: string, promptId = "p1"): void {
  client.prompt(session, text, promptId).catch(() => undefined);
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10));
}

scenario(
  ["G795", "G796", "G798"],
  "a node that is cut off from the database steps back, another goes on without sending the call again, and both go on later",
  async () => {
    await using stage = await Stage.open();
    const { town } = stage;
    await using server = await scriptedHttpServer({ tools: [{ name: "deploy", reply: { kind: "held" } }] });
    const way = await stage.way("one");
    const one = await town.start("one");
    await town.start("two");
    const [near, idle] = [await town.client("one", "near"), await town.client("one", "idle")];
    const session = await near.create({}, [{ type: "http", name: "tools", url: server.url, headers: [] }]);
    begin(near, session, "call mcp__tools__deploy");
    near.answers("session/request_permission", () => ({ outcome: { outcome: "selected", optionId: "once" } }));
    const call = await server.awaitCall("deploy");
    const before = one.nodes.self.value;
    const cutMs = Date.now();
    way.cut();
    // It is told to connect again, and why; and the node takes nobody meanwhile.
    expect(await near.wire.ended).toMatchObject({ code: 1012 });
    expect(Date.now() - cutMs).toBeLessThan(LEASE_MS * 2);
    await until(async () => (await stage.ready(one)).startsWith("503"));
    await expect(town.connect("one")).rejects.toThrow("HTTP 503");
    const refused = await idle.wire.request("session/new", { cwd: town.project.path, mcpServers: [] });
    expect(refused.error?.data).toMatchObject({
      code: "store.unavailable",
      hint: expect.stringContaining("another node"),
    });
    expect((await idle.wire.request("session/list")).error?.data).toMatchObject({ code: "store.unavailable" });
    expect((await idle.resume(session)).error?.data).toMatchObject({ code: "store.unavailable" });
    // The other one goes on. Its client has each record once, and the call is not sent again.
    const continued = await stage.record(session, "continued");
    expect(continued).toMatchObject({ turn: 1, attempt: 1 });
    const far = await town.client("two", "far");
    await far.load(session);
    const answered = await far.prompt(session, "call mcp__tools__deploy", "p1");
    expect(answered.at(-1)?.result).toMatchObject({ stopReason: "end_turn" });
    await far.wire.next((frame) => JSON.stringify(frame).includes("moved to another node"));
    call.respondWith("too late");
    expect(server.requests.filter(({ message }) => message?.["method"] === "tools/call")).toHaveLength(1);
    const kinds = await stage.kinds(session);
    expect(kinds.filter((kind) => kind === "intent")).toHaveLength(1);
    expect(kinds.filter((kind) => kind === "outcome")).toHaveLength(1);
    expect(await stage.record(session, "outcome")).toMatchObject({ outcome: { kind: "unknown" } });
    // The first one is back under another id.
    way.mend();
    await until(() => one.nodes.self.value !== undefined);
    expect(one.nodes.self.value).not.toBe(before);
    await until(async () => (await stage.ready(one)) === "200 ready");
    const again = await town.client("one", "again");
    expect((await again.prompt(await again.create(), "hello")).at(-1)?.result).toMatchObject({
      stopReason: "end_turn",
    });
  },
  needs,
);

scenario(
  ["G783"],
  "after a silence of the database nothing waits for the connections of before",
  async () => {
    const way = await Way.open(postgres.get());
    await using _ = way;
    const url = way.to(await postgres.get().database(), postgres.get());
    const world = nodeWorld({ log: QUIET, env: cleanEnv("/nowhere") });
    await using store = await openPostgresStore({ world, url, node: { name: "one", roots: [] }, leaseMs: LEASE_MS });
    const { self } = store.nodes;
    const list = () => store.account("me").sessions.list({});
    const before = self.value;
    const { shared } = POSTGRES_LIMITS.connections;
    // More than there are connections, and again: each has something under way.
    await Promise.all(Array.from({ length: 2 * shared }, list));
    way.cut();
    const waiting = Promise.allSettled(Array.from({ length: 2 * shared }, list));
    await until(() => self.value === undefined);
    way.mendForNew();
    await until(() => self.value !== undefined && self.value !== before);
    await expect(list()).resolves.toEqual({ sessions: [] });
    for (const one of await waiting) {
      expect(one).toMatchObject({ status: "rejected", reason: { code: "store.unavailable" } });
      expect(one).not.toMatchObject({ reason: { message: expect.stringContaining("did not answer in time") } });
    }
  },
  needs,
);

scenario(
  ["G797", "G799"],
  "a node that drains hands its turns over within a second, without counting as an attempt; its clients resume elsewhere",
  async () => {
    await using stage = await Stage.open();
    const { town, held } = stage;
    const one = await town.start("one");
    await town.start("two");
    const near = await town.client("one", "near");
    held.hold();
    const sessions = await Promise.all(Array.from({ length: 12 }, () => near.create()));
    for (const session of sessions) begin(near, session, "hello");
    const idle = await near.create();
    await until(() => held.asked === sessions.length);
    const startMs = Date.now();
    const drained = one.gateway.drain(30_000);
    const tookMs: number[] = [];
    for (const session of sessions) tookMs.push(Number((await stage.record(session, "continued"))["t"]) - startMs);
    // All of them on a machine with nothing else to do, as `npm run chaos` measures it.
    expect(tookMs.toSorted((one, other) => one - other)[sessions.length / 2]).toBeLessThan(1_000);
    expect(await near.wire.ended).toMatchObject({ code: 1012 });
    await drained;
    const far = await town.client("two", "far");
    for (const session of sessions) await far.resume(session, 0);
    const answers = sessions.map((session) => far.prompt(session, "hello", "p1"));
    held.release();
    for (const frames of await Promise.all(answers))
      expect(frames.at(-1)?.result).toMatchObject({ stopReason: "end_turn" });
    const [first = ""] = sessions;
    const kinds = await stage.kinds(first);
    expect(kinds.slice(kinds.indexOf("drained")).slice(0, 2)).toEqual(["drained", "continued"]);
    expect(await stage.query("select distinct tries from tenon_session")).toEqual([{ tries: 0 }]);
    // One without a turn is opened where its client comes.
    await far.resume(idle);
    expect((await far.prompt(idle, "hello")).at(-1)?.result).toMatchObject({ stopReason: "end_turn" });
  },
  needs,
);

scenario(
  ["G806"],
  "a drain lets calls that were sent end for a moment, and begins none; servers of a client are back when it resumes elsewhere",
  async () => {
    await using stage = await Stage.open();
    const { town } = stage;
    await using server = await scriptedHttpServer({ tools: [{ name: "deploy", reply: { kind: "held" } }] });
    const mcpServers = [{ type: "http", name: "tools", url: server.url, headers: [] }];
    const one = await town.start("one");
    await town.start("two");
    const near = await town.client("one", "near");
    near.answers("session/request_permission", () => ({ outcome: { outcome: "selected", optionId: "once" } }));
    const [short, long] = [await near.create({}, mcpServers), await near.create({}, mcpServers)];
    begin(near, short, "call mcp__tools__deploy");
    const ends = await server.awaitCall("deploy");
    begin(near, long, "call mcp__tools__deploy");
    await server.awaitCall("deploy");
    const drained = one.gateway.drain(30_000);
    await until(async () => (await one.nodes.list()).some(({ isDraining }) => isDraining));
    ends.respondWith("deployed");
    expect(await stage.record(short, "outcome")).toMatchObject({ outcome: { kind: "done" } });
    const ofShort = await stage.record(short, "end").then(() => stage.kinds(short));
    expect(ofShort.indexOf("outcome")).toBeLessThan(ofShort.indexOf("drained"));
    expect(await stage.record(long, "outcome")).toMatchObject({ outcome: { kind: "unknown" } });
    const ofLong = await stage.kinds(long);
    expect(ofLong.indexOf("drained")).toBeLessThan(ofLong.indexOf("outcome"));
    await drained;
    expect(server.requests.filter(({ message }) => message?.["method"] === "tools/call")).toHaveLength(2);
    const far = await town.client("two", "far");
    await far.ask("session/resume", { sessionId: long, cwd: town.project.path, mcpServers });
    await until(async () =>
      JSON.stringify(await far.ask("_tenon/mcp/status", { sessionId: long })).includes('"ready"'),
    );
  },
  needs,
);

scenario(
  ["G800", "G801"],
  "a turn whose owners were gone six times in a row ends; of those, only attempts to go on count as such; what a superseded owner appends is refused",
  async () => {
    await using stage = await Stage.open();
    const { town, held } = stage;
    const one = await town.start("one");
    const near = await town.client("one", "near");
    held.hold();
    const [session, other] = [await near.create(), await near.create()];
    begin(near, session, "hello");
    begin(near, other, "hello");
    await until(() => held.asked === 2);
    await stage.query(
      `with dead as (insert into tenon_node (name, version, roots, expires_at) values ('dead', '1', '{}', now()) returning id)
       update tenon_session s set owner = dead.id, tries = case when s.id = '${session}' then 6 else 5 end from dead`,
    );
    held.release();
    // The node that had them finds out by its next append, and takes them as any other would.
    expect(await near.wire.ended).toMatchObject({ code: 1012 });
    await stage.record(session, "error");
    expect(await stage.record(session, "error")).toMatchObject({ code: "session.gave_up" });
    // Faults hit its owners as often, each before it went on: that says nothing of the turn.
    expect(await stage.record(other, "end")).toMatchObject({ stopReason: "end_turn" });
    expect((await stage.record(other, "continued"))["attempt"]).toBe(1);
    // The count is of one turn.
    const again = await town.client("one", "again");
    await again.resume(other);
    await again.prompt(other, "again");
    expect(await stage.query(`select tries from tenon_session where id = '${other}'`)).toEqual([{ tries: 0 }]);
    const { body } = await send(undefined, {
      path: "/metrics",
      socketPath: one.socketPath,
      headers: { host: "localhost" },
    });
    expect(body).toMatch(/^tenon_takeovers_total 2$/mu);
    expect(Number(/^tenon_refused_appends_total (\d+)$/mu.exec(body)?.[1])).toBeGreaterThan(0);
    expect(Number(/^tenon_lease_seconds_left (\S+)$/mu.exec(body)?.[1])).toBeGreaterThan(0);
    expect(Number(/^tenon_append_batches_total (\d+)$/mu.exec(body)?.[1])).toBeGreaterThan(0);
  },
  needs,
);

scenario(
  ["G802"],
  "a session is taken only by a node that has its folder below its roots; until one comes it waits, and who asks is told",
  async () => {
    await using stage = await Stage.open();
    using elsewhere = new TemporaryFolder();
    const { town, held } = stage;
    await town.start("one");
    await town.start("two", [elsewhere.path]);
    const near = await town.client("one", "near");
    held.hold();
    const session = await near.create();
    begin(near, session, "hello");
    await until(() => held.asked === 1);
    await town.stop("one");
    const far = await town.client("two", "far");
    const { error } = await far.resume(session);
    expect(error?.message).toContain(town.project.path);
    expect(error?.message).toContain(elsewhere.path);
    await new Promise((resolve) => setTimeout(resolve, LEASE_MS));
    expect(await stage.kinds(session)).not.toContain("continued");
    const { sessions } = await far.ask("session/list");
    expect(sessions).toMatchObject([{ sessionId: session, _meta: { tenon: { state: "waiting" } } }]);
    expect(await stage.query("select owner, state, tries from tenon_session")).toEqual([
      { owner: null, state: "running", tries: 0 },
    ]);
    await town.start("three", [town.project.path]);
    held.release();
    expect(await stage.record(session, "end")).toMatchObject({ stopReason: "end_turn" });
  },
  needs,
);

scenario(
  ["G803"],
  "a database that is restarted costs a turn nothing; away for longer, clients are told, and the turn goes on when it is back",
  async () => {
    await using stage = await Stage.open(3_000);
    const { town, held } = stage;
    const one = await town.start("one");
    const near = await town.client("one", "near");
    const session = await near.create();
    held.hold();
    begin(near, session, "hello");
    await until(() => held.asked === 1);
    await postgres.get().restart("immediate");
    held.release();
    expect(await stage.record(session, "end")).toMatchObject({ stopReason: "end_turn" });
    expect(await stage.kinds(session)).not.toContain("continued");
    held.hold();
    const client = await town.client("one", "other");
    await client.resume(session);
    begin(client, session, "again", "p2");
    await until(() => held.asked === 2);
    await postgres.get().halt("immediate");
    held.release();
    const { code } = await client.wire.ended;
    expect(code).toBe(1012);
    expect(JSON.stringify(client.wire.received)).toContain("cut off from the database");
    expect(await stage.ready(one)).toContain("503");
    await postgres.get().start();
    await until(async () => (await stage.kinds(session)).filter((kind) => kind === "end").length === 2);
    const kinds = await stage.kinds(session);
    expect(kinds.filter((kind) => kind === "prompt")).toHaveLength(2);
    await until(async () => (await stage.ready(one)) === "200 ready");
  },
  needs,
);
