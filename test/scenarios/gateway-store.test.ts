// `tenon gateway` with a database, as it is installed: what it says of one that cannot be used, and what nobody gets to see.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chownSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { parseObject } from "../../src/base/json/json.js";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { send, WireClient } from "./gateway/wire-client.js";
import { agentNode, TENON } from "./peers.js";
import { type CommandResult, runCommand } from "./run-command.js";
import { postgresOfFile, scenario } from "./scenario.js";

const postgres = postgresOfFile();
const needs = { ...postgres, timeoutMs: 180_000 };
const CANARY = "pw-canary-5c1d";

interface Given {
  readonly store?: string;
  readonly env?: Readonly<Record<string, string>>;
}

async function tenon(
  home: TemporaryFolder,
  words: readonly string[],
  { store, env }: Given = {},
): Promise<CommandResult> {
  const all = [TENON, ...words, ...(store === undefined ? [] : ["--store", store])];
  const { TENON_GATEWAY_STORE: _, ...rest } = cleanEnv(home.path);
  return await runCommand(agentNode(), all, { env: { ...rest, ...env }, cwd: home.path });
}

/** The same place for another user, database or password. */
function addressOf(
  url: string,
  change: { readonly user?: string; readonly database?: string; readonly port?: number },
) {
  const { user = "postgres", database, port } = change;
  const other = url
    .replace("postgres://postgres@", `postgres://${user}@`)
    .replace(/port=\d+/u, port ? `port=${port}` : "$&");
  return database === undefined ? other : other.replace(/\/[^/?]*\?/u, `/${database}?`);
}

async function tablesAt(url: string): Promise<readonly unknown[]> {
  const rows = await postgres.get().query("select tablename from pg_tables where tablename like 'tenon_%'", url);
  return rows.map(({ tablename }) => tablename);
}

/** Its disk has no room: really, where this user may mount one, else as PostgreSQL would say it. */
async function fullDatabase(): Promise<{ readonly url: string; readonly end: () => Promise<void> }> {
  const { query, socketDir, url } = postgres.get();
  const disk = join(socketDir, "small"); // where the user of PostgreSQL may go
  mkdirSync(disk);
  const isMounted =
    spawnSync("mount", ["-t", "tmpfs", "-o", "size=20m", "tmpfs", disk], { stdio: "ignore" }).status === 0;
  if (!isMounted) return { url: await saysNoRoom(), end: async () => {} };
  const end = async () => {
    await query("drop database if exists full_disk").catch(() => undefined);
    await query("drop tablespace if exists small").catch(() => undefined);
    spawnSync("umount", ["-l", disk], { stdio: "ignore" });
  };
  try {
    const { uid, gid } = statSync(socketDir);
    const place = join(disk, "data");
    mkdirSync(place);
    chownSync(place, uid, gid);
    await query(`create tablespace small location '${place}'`);
    await query("create database full_disk tablespace small");
    const full = addressOf(url, { database: "full_disk" });
    await query("create table filler (data text)", full);
    const fill = "insert into filler select md5(n::text) || md5(random()::text) from generate_series(1, 50000) n";
    const fails = () =>
      query(fill, full).then(
        () => false,
        () => true,
      );
    while (!(await fails()));
    return { url: full, end };
  } catch (error) {
    await end();
    throw error;
  }
}

async function saysNoRoom(): Promise<string> {
  const url = await postgres.get().database();
  await postgres.get().query(
    `create function no_room() returns event_trigger language plpgsql as
     $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`,
    url,
  );
  await postgres.get().query("create event trigger no_room on ddl_command_start execute function no_room()", url);
  return url;
}

scenario(
  ["G756"],
  "a database that cannot be used: exit code 3, what was tried and what to do, no password, no table by halves",
  async () => {
    using home = new TemporaryFolder();
    const { query, url } = postgres.get();
    await query(`create role guarded login password 'another'`);
    await query("create role limited login");
    const empty = await postgres.get().database();
    const another = () => postgres.get().database();
    const made = { newer: await another(), changed: await another(), readOnly: await another() };
    for (const store of [made.newer, made.changed]) {
      expect(await tenon(home, ["gateway", "token", "list"], { store })).toMatchObject({ code: 0 });
    }
    await query(
      "insert into tenon_migration (number, name, checksum, by_version) values (99, 'x', 'y', '99.1.0')",
      made.newer,
    );
    await query("update tenon_migration set checksum = 'else' where number = 1", made.changed);
    const named = (await query("select current_database() as name", made.readOnly))[0]?.["name"];
    await query(`alter database ${String(named)} set default_transaction_read_only = on`);
    const full = await fullDatabase();
    const cases: readonly (readonly [string, readonly string[]])[] = [
      [addressOf(empty, { port: 1 }), ["cannot be reached", "there is no such socket", "Check that it runs"]],
      ["postgres://me@127.0.0.1:1/tenon", ["postgres://me@127.0.0.1:1/tenon", "nothing listens there"]],
      [addressOf(empty, { user: `guarded:${CANARY}` }), ["refused the log-in", "Check user and password"]],
      [addressOf(url, { database: "nowhere" }), ["has no such database", "createdb"]],
      [addressOf(empty, { user: "limited" }), ["does not give this user the rights", "grant"]],
      [made.newer, ["newer Tenon, 99.1.0", "Update this Tenon"]],
      [made.changed, ["other steps", "Step 1"]],
      [made.readOnly, ["is read-only", "primary server"]],
      [full.url, ["has no room on its disk", "Free space there"]],
      [`postgres://me:${CANARY}@db/x?sslmode=sometimes`, ["sslmode is not one of"]],
    ];
    try {
      for (const [store, words] of cases) {
        const commands = [
          ["gateway", "token", "list"],
          ["gateway", "run", "--socket", join(home.path, "g.sock")],
        ];
        const given = { env: { TENON_GATEWAY_STORE: store } };
        for (const { code, stderr, stdout } of await Promise.all(commands.map((words) => tenon(home, words, given)))) {
          expect([code, stdout], `${store}: ${stderr}`).toEqual([3, ""]);
          for (const word of words) expect(stderr).toContain(word);
          expect(stderr).not.toContain(CANARY);
        }
      }
      const asJson = await tenon(home, ["gateway", "token", "list", "--json"], {
        store: addressOf(empty, { port: 1 }),
      });
      expect(parseObject(asJson.stdout)).toMatchObject({ error: { code: "store.unavailable" } });
      expect(await tablesAt(empty)).toEqual([]);
      expect(await tablesAt(made.readOnly)).toEqual([]);
      expect((await tablesAt(full.url)).filter((table) => table !== "tenon_migration")).toEqual([]);
      const odd = await tenon(home, ["gateway", "token", "list"], { store: "mysql://x" });
      expect(odd).toMatchObject({ code: 2 });
      expect(odd.stderr).toContain("--store takes the address of a PostgreSQL");
    } finally {
      await full.end();
    }
    // With its tables there, it can be read, and no node can live in it.
    const still = await another();
    expect(await tenon(home, ["gateway", "token", "list"], { store: still })).toMatchObject({ code: 0 });
    const frozen = String((await query("select current_database() as name", still))[0]?.["name"]);
    await query(`alter database ${frozen} set default_transaction_read_only = on`);
    const stopped = await tenon(home, ["gateway", "run", "--socket", join(home.path, "g.sock")], { store: still });
    expect([stopped.code, stopped.stderr]).toEqual([3, expect.stringContaining("is read-only")]);
    // A step that is older than this Tenon is followed by the missing ones.
    await query("alter role limited superuser");
    expect(
      await tenon(home, ["gateway", "token", "list"], { store: addressOf(empty, { user: "limited" }) }),
    ).toMatchObject({
      code: 0,
    });
    expect(await tablesAt(empty)).toContain("tenon_token");
  },
  needs,
);

function textsBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("\n");
}

/** `tenon gateway run` on a database, in a home of its own. */
class Node implements AsyncDisposable {
  readonly home = new TemporaryFolder();
  readonly socket = join(this.home.path, "g.sock");
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  output = "";

  private constructor(name: string, store: string) {
    const words = [TENON, "gateway", "run", "--socket", this.socket, "--listen", "127.0.0.1:0", "--node", name];
    const env = { ...cleanEnv(this.home.path), TENON_GATEWAY_STORE: store, TENON_LOG: "debug" };
    this.#child = spawn(agentNode(), words, { env, cwd: this.home.path });
    this.#exited = new Promise((resolve) => this.#child.once("exit", resolve));
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on("data", (chunk: Buffer) => (this.output += chunk.toString()));
    }
  }

  static async start(name: string, store: string): Promise<Node> {
    const node = new Node(name, store);
    const listens = () => {
      if (!node.output.includes("127.0.0.1:")) throw new Error(`it does not listen: ${node.output}`);
    };
    await vi.waitFor(listens, { timeout: 20_000, interval: 20 });
    return node;
  }

  get at(): { readonly host: string; readonly port: number } {
    return { host: "127.0.0.1", port: Number(/127\.0\.0\.1:(\d+)/u.exec(this.output)?.[1]) };
  }

  async local(): Promise<WireClient> {
    return await WireClient.open(`ws+unix:${this.socket}:/acp`);
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.home[Symbol.dispose]();
  }
}

scenario(
  ["G757", "G758", "G759"],
  "a gateway on a database: its tokens from any process, ready only while it is there, and its password nowhere",
  async () => {
    using home = new TemporaryFolder();
    const { query } = postgres.get();
    const database = await postgres.get().database();
    await query(`create role keeper superuser login password '${CANARY}'`);
    const store = addressOf(database, { user: `keeper:${CANARY}` });
    const env = { TENON_GATEWAY_STORE: store };
    const warned = await tenon(home, ["gateway", "token", "list"], { store });
    expect(warned).toMatchObject({ code: 0 });
    expect(warned.stderr).toContain("TENON_GATEWAY_STORE");
    expect(warned.stderr).not.toContain(CANARY);
    const created = await tenon(home, ["gateway", "token", "create", "laptop", "--scopes", "prompt", "--json"], {
      env,
    });
    expect(created).toMatchObject({ code: 0, stderr: "" });
    const token = String(parseObject(created.stdout)?.["token"]);
    await using node = await Node.start("first", store);
    expect(node.output).not.toContain("There is no token yet");
    const ready = async () => (await send(node.at, { path: "/readyz" })).status;
    expect(await ready()).toBe(200);
    const client = await WireClient.open(`ws://127.0.0.1:${node.at.port}/acp`, { authorization: `Bearer ${token}` });
    expect((await client.initialize()).result).toMatchObject({
      agentCapabilities: { _meta: { tenon: { node: "first" } } },
    });
    const local = await node.local();
    await local.initialize();
    const { result } = await local.request("session/new", { cwd: node.home.path, mcpServers: [] });
    const sessionId = result?.["sessionId"];
    const prompt = [{ type: "text", text: "hello" }];
    await local.request("session/prompt", { sessionId, prompt });
    const listed = await tenon(home, ["gateway", "token", "list", "--json"], { env });
    expect(parseObject(listed.stdout)).toMatchObject({ tokens: [{ name: "laptop" }] });
    await tenon(home, ["gateway", "token", "revoke", "laptop"], { env });
    await vi.waitFor(() => expect(client.web.readyState).toBe(client.web.CLOSED), { timeout: 1_000, interval: 10 });
    await postgres.get().halt("immediate");
    await vi.waitFor(async () => expect(await ready()).toBe(503), { timeout: 20_000, interval: 50 });
    await postgres.get().start();
    await vi.waitFor(async () => expect(await ready()).toBe(200), { timeout: 20_000, interval: 50 });
    await local.close();
    await node.stop();
    expect(node.output).not.toContain(CANARY);
    expect(textsBelow(node.home.path)).not.toContain(CANARY);
    const rows = await query("select string_agg(line, ' ') as lines from tenon_record", database);
    expect(String(rows[0]?.["lines"])).not.toContain(CANARY);
    expect(readdirSync(join(node.home.path, "state"))).not.toContain("sessions");
    const both = await tenon(home, ["gateway", "run", "--local", "--socket", node.socket], { store });
    expect(both).toMatchObject({ code: 2 });
    expect(both.stderr).toContain("leave --store out");
  },
  needs,
);

function identityIn(answer: unknown): { readonly id: string; readonly key: string } {
  const { id, key } = JSON.parse(JSON.stringify(answer))._meta.tenon.client;
  return { id, key };
}

scenario(
  ["G752", "G753"],
  "two gateways of one database: a code of one lets a browser in at the other, and a client is the same at both",
  async () => {
    const database = await postgres.get().database();
    await using one = await Node.start("one", database);
    await using two = await Node.start("two", database);
    const client = await one.local();
    const first = await client.initialize({ tenon: { client: { name: "editor" } } });
    const { result } = await client.request("_tenon/gateway/page", { scopes: ["read"], name: "phone" });
    const [, code] = /#pair=([\w-]{22})/u.exec(String(result?.["url"])) ?? [];
    const enter = ({ at }: Node) => {
      const headers = { origin: `http://127.0.0.1:${at.port}`, "content-type": "application/json" };
      return send(at, { method: "POST", path: "/pair", headers, body: JSON.stringify({ code }) });
    };
    const [here, there] = [await enter(two), await enter(one)];
    expect([here.status, there.status]).toEqual([200, 401]);
    const [, cookie] = /=([^;]+)/u.exec(String(here.headers["set-cookie"]?.[0])) ?? [];
    const isKnown = async ({ at }: Node) => {
      return (await send(at, { path: "/me", headers: { cookie: `tenon-${at.port}=${cookie}` } })).status === 200;
    };
    expect(await isKnown(two)).toBe(true);
    expect(await isKnown(one)).toBe(true);
    const given = identityIn(first.result);
    const again = await two.local();
    expect(identityIn((await again.initialize({ tenon: { client: { name: "editor", ...given } } })).result)).toEqual(
      given,
    );
    await Promise.all([client.close(), again.close()]);
  },
  needs,
);
