// `npm run chaos`: three nodes on one PostgreSQL, 200 sessions, faults all the time; then every promise about them is checked.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { APPEND } from "../src/postgres/append-queue.js";
import { lacksPostgres, type Postgres, startPostgres } from "../test/postgres.js";
import { ClusterNode, type ClusterOptions, TENON } from "./chaos/cluster.js";
import { Faults, KINDS, type Kind } from "./chaos/faults.js";
import { type Addresses, ChaosSession, Follower } from "./chaos/followers.js";
import { type Network, openNetwork } from "./chaos/network.js";
import type { SurroundingsJob, WrittenDown } from "./chaos/surroundings.program.js";
import { type Held, judge, type LoggedRecord, type Row, readRecord } from "./chaos/verdict.js";
import { ROOT, run, seconds } from "./lib/run.js";
import { ensureSystemPackages } from "./lib/system-packages.js";

const USAGE = "usage: npm run chaos [-- [--ci] [--seconds N] [--sessions N] [--seed N] [--faults KIND,…] [--keep]]";
const NODES = 3;
const LEASE_MS = 3_000;
const DATABASE_PORT = 5_432;
/**
 * About 6,000 calls in all: each session has one turn of 30 steps, which lasts as long as the faults do. Calls that are answered sooner
 * would be more load than is promised for; a shorter run has fewer steps at the same pace.
 */
const FULL = { seconds: 180, sessions: 200, callMs: [3_500, 7_500], steps: 30, turns: 1 } as const;
/** Few sessions, so turn follows turn. */
const CI = { seconds: 30, sessions: 30, callMs: [100, 500], steps: 30, turns: Number.POSITIVE_INFINITY } as const;
/** Of one account. A token has 600 requests a minute: clients of ten sessions that connect again after each fault need more. */
const SESSIONS_PER_TOKEN = 4;
const OPENED_AT_ONCE = 10;
const ENDED_WITHIN_MS = 90_000;
const ASKED_WITHIN_MS = 5_000;
/** Not all people begin in the same second. */
const STAGGER_MS = 6_000;

interface Options {
  readonly seconds: number;
  readonly sessions: number;
  readonly callMs: readonly [number, number];
  /** Calls of one turn, and turns of one session. */
  readonly steps: number;
  readonly turns: number;
  readonly seed: number;
  /** To look at one kind alone; all unless given. */
  readonly kinds: readonly Kind[];
  readonly isKept: boolean;
}

function readOptions(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      ci: { type: "boolean", default: false },
      seconds: { type: "string" },
      sessions: { type: "string" },
      seed: { type: "string" },
      faults: { type: "string" },
      keep: { type: "boolean", default: false },
    },
  });
  const usual = values.ci ? CI : FULL;
  const whole = (name: string, text: string | undefined, otherwise: number) => {
    if (text === undefined) return otherwise;
    if (!/^\d{1,9}$/u.test(text) || Number(text) < 1) throw new Error(`--${name} takes a whole number above 0`);
    return Number(text);
  };
  const forSeconds = whole("seconds", values.seconds, usual.seconds);
  const isShorter = !values.ci && forSeconds < usual.seconds;
  return {
    seconds: forSeconds,
    steps: isShorter ? Math.ceil((usual.steps * forSeconds) / usual.seconds) : usual.steps,
    turns: usual.turns,
    sessions: whole("sessions", values.sessions, usual.sessions),
    seed: whole("seed", values.seed, 1 + (Date.now() % 1_000_000)),
    callMs: usual.callMs,
    kinds: kindsIn(values.faults),
    isKept: values.keep,
  };
}

function kindsIn(text: string | undefined): readonly Kind[] {
  if (text === undefined) return KINDS;
  const words = text.split(",");
  const odd = words.find((word) => !KINDS.some((kind) => kind === word));
  if (odd !== undefined) throw new Error(`--faults takes some of ${KINDS.join(", ")}, not "${odd}"`);
  return KINDS.filter((kind) => words.includes(kind));
}

/** The same numbers for the same seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

class Surroundings implements Disposable {
  readonly origin: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, origin: string) {
    this.#child = child;
    this.origin = origin;
  }

  static async start(job: SurroundingsJob): Promise<Surroundings> {
    const file = join(ROOT, "scripts/chaos/surroundings.program.ts");
    const args = ["--import", "tsx", file, JSON.stringify(job)];
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const [{ port }] = await once(child, "message");
    return new Surroundings(child, `http://${job.address}:${port}`);
  }

  async writtenDown(): Promise<WrittenDown> {
    const answer = await fetch(`${this.origin}/written-down`);
    const written: WrittenDown = JSON.parse(await answer.text());
    return written;
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }
}

class Chaos {
  readonly #options: Options;
  readonly #network: Network;
  readonly #folder: string;
  readonly #startMs = performance.now();

  constructor(options: Options, network: Network, folder: string) {
    this.#options = options;
    this.#network = network;
    this.#folder = folder;
  }

  log(words: string): void {
    console.log(`${seconds(performance.now() - this.#startMs).padStart(8)}  ${words}`);
  }

  async run(postgres: Postgres, surroundings: Surroundings): Promise<readonly Row[]> {
    const { tcpUrl } = postgres;
    if (tcpUrl === undefined) throw new Error("the database has no address");
    const projects = join(this.#folder, "projects");
    mkdirSync(projects);
    const store = {
      network: this.#network,
      folder: this.#folder,
      projects,
      store: tcpUrl,
      origin: surroundings.origin,
    };
    const nodes = Array.from({ length: NODES }, (_, index) => new ClusterNode(index, store));
    try {
      const tokens = await this.#tokens(nodes[0], store);
      for (const node of nodes) await node.start();
      this.log(`${NODES} nodes are up`);
      return await this.#attack({ postgres, surroundings, nodes, projects, tokens });
    } finally {
      for (const node of nodes) node.signal("SIGCONT");
      for (const node of nodes) node.signal("SIGKILL");
      await Promise.all(nodes.map((node) => node.ended()));
    }
  }

  async #tokens(node: ClusterNode | undefined, { store }: ClusterOptions): Promise<readonly string[]> {
    if (!node) throw new Error("there is no node");
    const count = Math.ceil(this.#options.sessions / SESSIONS_PER_TOKEN);
    const tokens: string[] = [];
    for (let index = 0; index < count; index++) {
      const words = [
        "gateway",
        "token",
        "create",
        `chaos-${index}`,
        "--account",
        `account-${index}`,
        "--scopes",
        "read,prompt,approve",
      ];
      const env = node.environment;
      const { code, output } = await run(process.execPath, [TENON, ...words, "--store", store, "--json"], { env });
      const token = /tng_[A-Za-z0-9_-]+/u.exec(output)?.[0];
      if (code !== 0 || token === undefined) throw new Error(`no token: ${output}`);
      tokens.push(token);
    }
    return tokens;
  }

  async #attack(given: {
    readonly postgres: Postgres;
    readonly surroundings: Surroundings;
    readonly nodes: readonly ClusterNode[];
    readonly projects: string;
    readonly tokens: readonly string[];
  }): Promise<readonly Row[]> {
    const { postgres, surroundings, nodes, projects, tokens } = given;
    const urls = nodes.map(({ url }) => url);
    const addressesOf = (number: number): Addresses => ({ urls, token: tokens[number % tokens.length] ?? "" });
    const sessions: ChaosSession[] = [];
    while (sessions.length < this.#options.sessions) {
      const count = Math.min(OPENED_AT_ONCE, this.#options.sessions - sessions.length);
      const numbers = Array.from({ length: count }, (_, index) => sessions.length + index);
      sessions.push(
        ...(await Promise.all(numbers.map((number) => ChaosSession.open(number, projects, addressesOf(number))))),
      );
    }
    this.log(`${sessions.length} sessions are open, each with 2 followers`);
    let isOver = false;
    const running = sessions.map(async (session, index) => {
      await sleep((index / sessions.length) * STAGGER_MS);
      await session.run(() => !isOver && session.turns < this.#options.turns);
    });
    await sleep(STAGGER_MS);
    const faults = new Faults({
      ...{ nodes, network: this.#network, postgres, databasePort: DATABASE_PORT, random: seeded(this.#options.seed) },
      kinds: this.#options.kinds,
      held: (node) => heldBy(postgres, node),
      appendLate: (held) => appendLate(postgres, held),
      log: (words) => this.log(words),
    });
    await faults.run(this.#options.seconds * 1_000);
    isOver = true;
    this.log("no more faults, and no more turns; those that run may end");
    const isDone = Promise.all(running).then(() => true);
    await Promise.race([isDone, sleep(ENDED_WITHIN_MS, false, { ref: false })]);
    await this.#settled(sessions);
    const { calls, odd } = await surroundings.writtenDown();
    const logs = await logsOf(postgres);
    const loaded = await this.#load(sessions, projects, addressesOf);
    const { killed, drained, late } = faults;
    const appends = { lateAppends: late.refused + late.taken, takenAppends: late.taken };
    const rows = judge({ sessions, logs, loaded, calls, killed, drained, ...appends, leaseMs: LEASE_MS });
    this.#keep(rows, logs, { sessions, calls });
    await Promise.all(sessions.map((session) => session.close()));
    const counted = Object.entries(faults.counts).map(([kind, count]) => `${count} ${kind}`);
    this.log(`faults: ${counted.join(", ")}`);
    const problems = [...faults.problems, ...odd.slice(0, 5)];
    return [...rows, row("the run itself: nodes that did not come back, prompts nobody knows", problems)];
  }

  /** Followers get the last records soon after the prompt is answered. */
  async #settled(sessions: readonly ChaosSession[]): Promise<void> {
    const count = () =>
      sessions.reduce((sum, { followers }) => sum + followers[0].lines().length + followers[1].lines().length, 0);
    for (let before = -1, quiet = 0; quiet < 4; await sleep(500)) {
      const now = count();
      quiet = now === before ? quiet + 1 : 0;
      before = now;
    }
  }

  async #load(
    sessions: readonly ChaosSession[],
    cwd: string,
    addressesOf: (number: number) => Addresses,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const loaded = new Map<string, readonly string[]>();
    for (const { id, number } of sessions) {
      const follower = new Follower(addressesOf(number), number);
      const late = sleep(20_000, "late", { ref: false });
      const end = await Promise.race([follower.load(id, cwd).catch(String), late]);
      if (end !== undefined) this.log(`session ${number} cannot be loaded: ${end}`);
      loaded.set(id, follower.lines());
      await follower.close();
    }
    return loaded;
  }

  /** What is needed to find the cause: of each session that failed its log, what followers were shown, and the calls. */
  #keep(
    rows: readonly Row[],
    logs: ReadonlyMap<string, readonly LoggedRecord[]>,
    { sessions, calls }: { readonly sessions: readonly ChaosSession[]; readonly calls: readonly string[] },
  ): void {
    writeFileSync(join(this.#folder, "calls.txt"), `${calls.join("\n")}\n`);
    const found = rows.filter(({ isKept }) => !isKept);
    const lines = found.flatMap(({ what, failures }) =>
      [...failures].flatMap(([id, words]) => words.map((word) => `${what}: ${id}: ${word}`)),
    );
    writeFileSync(join(this.#folder, "failures.txt"), `${lines.join("\n")}\n`);
    for (const id of new Set(found.flatMap(({ failures }) => [...failures.keys()]))) {
      const log = (logs.get(id) ?? []).map(({ fields, ...rest }) => JSON.stringify({ ...rest, fields }));
      const session = sessions.find((one) => one.id === id);
      writeFileSync(join(this.#folder, `session-${session?.number}-${id}.log`), `${log.join("\n")}\n`);
      for (const [index, follower] of (session?.followers ?? []).entries()) {
        writeFileSync(
          join(this.#folder, `session-${session?.number}-follower-${index}.txt`),
          follower.lines().join("\n"),
        );
      }
    }
  }
}

function row(what: string, problems: readonly string[]): Row {
  return {
    what,
    wanted: "0",
    seen: String(problems.length),
    isKept: problems.length === 0,
    failures: new Map([["", problems]]),
  };
}

async function heldBy(postgres: Postgres, node: ClusterNode): Promise<readonly Held[]> {
  const until = performance.now() + ASKED_WITHIN_MS;
  for (;;) {
    try {
      return await heldNow(postgres, node);
    } catch (error) {
      if (performance.now() > until) throw error; // it may be restarted just now, which is one of the faults
      await sleep(50);
    }
  }
}

async function heldNow(postgres: Postgres, { name }: ClusterNode): Promise<readonly Held[]> {
  const rows = await postgres.query(
    `select s.key, s.id, s.owner, s.epoch from tenon_session s join tenon_node n on n.id = s.owner
     where n.name = '${name}' and s.state in ('running', 'waiting')`,
  );
  return rows.map(({ key, id, owner, epoch }) => ({
    ...{ session: String(id), key: Number(key), owner: String(owner), epoch: Number(epoch), atMs: 0, isClear: false },
  }));
}

/** The product's own statement, with the number that comes next. */
async function appendLate({ url }: Postgres, { key, owner, epoch }: Held): Promise<"refused" | "taken" | undefined> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query("select epoch, last_seq from tenon_session where key = $1", [key]);
    if (!(Number(rows[0]?.epoch) > epoch)) return undefined;
    const seq = Number(rows[0]?.last_seq) + 1;
    const change = [[key], [epoch], [seq], [seq], ["running"], ["{}"], [null], [false], [false]];
    const line = JSON.stringify({ seq, t: Date.now(), kind: "text", text: "of an owner that is gone" });
    const found = await client.query(APPEND, [owner, ...change, [key], [seq], ["text"], line]);
    return found.rows.length === 0 ? "refused" : "taken";
  } finally {
    await client.end();
  }
}

async function logsOf({ url }: Postgres): Promise<ReadonlyMap<string, readonly LoggedRecord[]>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const logs = new Map<string, LoggedRecord[]>();
    const { rows } = await client.query(
      "select s.id as session, r.seq, r.epoch, r.line from tenon_record r join tenon_session s on s.key = r.session order by 1, 2",
    );
    for (const { session, ...record } of rows) {
      const log = logs.get(session) ?? [];
      log.push(readRecord(record));
      logs.set(session, log);
    }
    return logs;
  } finally {
    await client.end();
  }
}

function printTable(rows: readonly Row[]): void {
  const cells = [
    ["", "wanted", "seen", ""],
    ...rows.map((one) => [one.what, one.wanted, one.seen, one.isKept ? "ok" : "FAIL"]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  for (const line of cells)
    console.log(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
  for (const { what, isKept, failures } of rows) {
    if (isKept) continue;
    const words = [...failures].flatMap(([id, found]) => found.map((one) => `${id} ${one}`));
    for (const one of words.slice(0, 5)) console.log(`  ${what}: ${one}`);
  }
}

async function main(options: Options): Promise<number> {
  console.log(`chaos: system programs: ${await ensureSystemPackages("PostgreSQL", "partition")}`);
  const missing = lacksPostgres();
  if (missing !== undefined) {
    console.log(`chaos: not run without ${missing}`);
    return 0;
  }
  const build = await run(process.execPath, ["--import", "tsx", join(ROOT, "scripts/build.ts"), "--if-needed"]);
  if (build.code !== 0) throw new Error(build.output);
  const folder = mkdtempSync(join(tmpdir(), "tenon-chaos-"));
  using network = openNetwork(NODES);
  if (network.missing !== undefined) console.log(`chaos: no partitions: ${network.missing}`);
  console.log(`chaos: ${options.sessions} sessions, ${options.seconds} s of faults, --seed ${options.seed}`);
  await using postgres = await startPostgres({ listen: { address: network.host, port: DATABASE_PORT } });
  const { steps, callMs } = options;
  using surroundings = await Surroundings.start({ address: network.host, steps, callMs });
  const rows = await new Chaos(options, network, folder).run(postgres, surroundings);
  printTable(rows);
  const isGreen = rows.every(({ isKept }) => isKept);
  if (isGreen && !options.isKept) rmSync(folder, { recursive: true, force: true });
  else console.log(`logs of the nodes, sessions that failed and all calls: ${folder}`);
  return isGreen ? 0 : 1;
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130)); // nodes and network end with it
try {
  process.exitCode = await main(readOptions(process.argv.slice(2)));
} catch (error) {
  console.error(`chaos: ${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  process.exitCode = 2;
}
// Connections that never end would keep the process.
process.exit();
