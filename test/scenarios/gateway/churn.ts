// Clients that join, prompt, are cut off and leave, generation after generation: what the gateway holds afterwards is what it held before.
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseObject } from "../../../src/base/json/json.js";
import { POSTGRES_LIMITS } from "../../../src/postgres/limits.js";
import { echoTool, listLiving, MARKER_VARIABLE, scriptedAcpServer } from "../../../src/testing/index.js";
import { isOnPostgres } from "../../test-store.js";
import { cleanEnv, TemporaryFolder } from "../agent.js";
import { HeapProbe } from "../heap-probe.js";
import { agentNode, TENON } from "../peers.js";
import { runCommand } from "../run-command.js";
import { Fleet, untilNone } from "./fleet.js";
import { WireClient } from "./wire-client.js";

export interface ChurnOptions {
  readonly generations: number;
  /** Of raw WebSocket clients, in each generation. */
  readonly joins: number;
  /** A generation of so many has a real editor too. */
  readonly editorEvery: number;
  readonly seed: number;
  readonly onGeneration?: (done: number, held: Held) => void;
}

/** By the gateway, with no client and no session. */
export interface Held {
  readonly heapMb: number;
  readonly files: number;
  readonly children: number;
}

export interface Churn {
  readonly joins: number;
  readonly prompts: number;
  readonly cuts: number;
  /** After every tenth part of the generations. */
  readonly held: readonly Held[];
  readonly problems: readonly string[];
}

const SESSIONS = 4;
const AT_ONCE = 8;
const PARTS = 10;

export async function runChurn(options: ChurnOptions): Promise<Churn> {
  using home = new TemporaryFolder();
  const fleet = new Fleet(home, { isValidated: false });
  const probe = new HeapProbe(home.path);
  const gateway = await ChurnGateway.start(home, fleet, probe);
  try {
    await using _fleet = fleet;
    return await new ChurnStage(options, fleet, gateway).run();
  } finally {
    gateway.child.kill("SIGKILL");
  }
}

interface ChurnGateway {
  readonly child: ChildProcess;
  readonly probe: HeapProbe;
  readonly tcpUrl: string;
  readonly token: string;
}

const ChurnGateway = {
  async start(home: TemporaryFolder, fleet: Fleet, probe: HeapProbe): Promise<ChurnGateway> {
    const env = cleanEnv(home.path, { TENON_LOG: "error", [MARKER_VARIABLE]: fleet.marker });
    const create = [
      TENON,
      "gateway",
      "token",
      "create",
      "churn",
      "--scopes",
      "read,prompt",
      "--account",
      "me",
      "--json",
    ];
    const created = await runCommand(agentNode(), create, { env, cwd: home.path });
    const token = parseObject(created.stdout)?.["token"];
    if (typeof token !== "string") throw new Error(`no token: ${created.stdout}${created.stderr}`);
    const args = [...probe.nodeArgs, TENON, "gateway", "run", "--listen", "127.0.0.1:0", "--json"];
    const child = spawn(agentNode(), args, { env, cwd: home.path, stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(child, "exit").then(([code]: (number | null)[]) => {
      throw new Error(`the gateway ended with ${code}`);
    });
    const [said]: unknown[] = await Promise.race([once(child.stdout ?? child, "data"), ended]);
    ended.catch(() => {}); // from now on its end is the fleet's to see
    const address = /127\.0\.0\.1:\d+/u.exec(String(said))?.[0];
    if (address === undefined) throw new Error(`the gateway does not say where it listens: ${String(said)}`);
    return { child, probe, tcpUrl: `ws://${address}/acp`, token };
  },
};

/** How a client goes. */
const ENDS = ["closes", "is cut off", "is cut off in its turn", "leaves the session"] as const;

class ChurnStage {
  readonly #options: ChurnOptions;
  readonly #fleet: Fleet;
  readonly #gateway: ChurnGateway;
  readonly #random: () => number;
  /** In the environment of clients: nothing that is written down may hold it. */
  readonly #canary = `canary-${randomUUID()}`;
  readonly #problems: string[] = [];
  readonly #counts = { joins: 0, prompts: 0, cuts: 0 };

  constructor(options: ChurnOptions, fleet: Fleet, gateway: ChurnGateway) {
    this.#options = options;
    this.#fleet = fleet;
    this.#gateway = gateway;
    this.#random = seeded(options.seed);
  }

  async run(): Promise<Churn> {
    const { generations, editorEvery, onGeneration } = this.#options;
    const held: Held[] = [];
    for (let generation = 1; generation <= generations; generation++) {
      await this.#generation(generation % editorEvery === 0);
      if (generation % Math.max(1, Math.floor(generations / PARTS)) !== 0) continue;
      const now = await this.#held();
      held.push(now);
      onGeneration?.(generation, now);
    }
    return { ...this.#counts, held, problems: this.#problems };
  }

  /** Sessions are made, used by clients that come and go, searched for what must not be there, and deleted. */
  async #generation(withEditor: boolean): Promise<void> {
    const owner = await this.#open();
    const sessions: string[] = [];
    for (let index = 0; index < SESSIONS; index++) {
      const server = scriptedAcpServer("s", { tools: [echoTool()] }, { marker: this.#fleet.marker });
      const mcpServers = index === 0 ? [server] : [];
      const { result, error } = await owner.request("session/new", { cwd: this.#fleet.home.path, mcpServers });
      if (typeof result?.["sessionId"] === "string") sessions.push(result["sessionId"]);
      else this.#problems.push(`no session: ${JSON.stringify(error)}`);
    }
    let left = this.#options.joins;
    const worker = async () => {
      while (left-- > 0) await this.#join(sessions[Math.floor(this.#random() * sessions.length)] ?? "");
    };
    await Promise.all([
      ...Array.from({ length: AT_ONCE }, worker),
      withEditor ? this.#editor(sessions[0] ?? "") : undefined,
    ]);
    this.#findCanaries();
    for (const sessionId of sessions) {
      const { error } = await owner.request("session/delete", { sessionId });
      if (error) this.#problems.push(`not deleted: ${JSON.stringify(error)}`);
    }
    await owner.close();
  }

  async #open(isRemote = false): Promise<WireClient> {
    const { tcpUrl, token } = this.#gateway;
    const headers: Record<string, string> = isRemote ? { authorization: `Bearer ${token}` } : {};
    const client = await WireClient.open(isRemote ? tcpUrl : `ws+unix:${this.#fleet.socketPath}:/acp`, headers);
    const env = { PATH: process.env["PATH"] ?? "", CHURN_KEY: this.#canary };
    const tenon = { client: { name: "churn" }, ...(isRemote ? {} : { env }) };
    const { error } = await client.request("initialize", { protocolVersion: 1, _meta: { tenon } });
    if (error) this.#problems.push(`initialize: ${JSON.stringify(error)}`);
    return client;
  }

  async #join(sessionId: string): Promise<void> {
    const random = this.#random;
    this.#counts.joins += 1;
    const client = await this.#open(random() < 0.02);
    const method = random() < 0.3 ? "session/load" : "session/resume";
    const { error } = await client.request(method, { sessionId, cwd: this.#fleet.home.path, mcpServers: [] });
    if (error) this.#problems.push(`${method}: ${JSON.stringify(error)}`);
    const end = ENDS[Math.floor(random() * ENDS.length)] ?? "closes";
    if (random() < 0.2 || end === "is cut off in its turn") await this.#prompt(client, sessionId, end);
    if (end === "leaves the session") await client.request("session/close", { sessionId });
    if (end.startsWith("is cut off")) {
      this.#counts.cuts += 1;
      client.web.terminate();
      await client.ended;
    } else await client.close();
  }

  /** More than eight prompts in line are refused as busy, which is right. */
  async #prompt(client: WireClient, sessionId: string, end: (typeof ENDS)[number]): Promise<void> {
    this.#counts.prompts += 1;
    const prompt = [{ type: "text", text: `hello ${Math.floor(this.#random() * 1e6)}` }];
    const answer = client.request("session/prompt", { sessionId, prompt });
    if (end === "is cut off in its turn") {
      answer.catch(() => {}); // its connection is about to end
      await sleep(this.#random() * 5);
      return;
    }
    const { error } = await answer;
    if (error && !JSON.stringify(error).includes("session.busy")) this.#problems.push(`prompt: ${error.message}`);
  }

  async #editor(sessionId: string): Promise<void> {
    const editor = await this.#fleet.editor();
    await editor.client.request("session/load", { sessionId, cwd: this.#fleet.home.path, mcpServers: [] });
    await editor.client.end();
    await this.#fleet.forget(editor);
  }

  #findCanaries(): void {
    const folder = join(this.#fleet.home.path, "state");
    const secrets = [this.#canary, this.#gateway.token];
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const text = readFileSync(join(entry.parentPath, entry.name), "utf8");
      if (secrets.some((secret) => text.includes(secret))) this.#problems.push(`a canary is in ${entry.name}`);
    }
  }

  /** Servers of deleted sessions, and connections that were cut, may take a moment to be gone. */
  async #held(): Promise<Held> {
    const { child, probe } = this.#gateway;
    const pid = child.pid ?? 0;
    const children = () => listLiving({ under: pid });
    await untilNone(children);
    const heapMb = await probe.heapMb(pid);
    // The least of several looks: a connection that is being ended is no leak, and what leaks is there at every look.
    let files = Number.POSITIVE_INFINITY;
    for (let look = 0; look < 20; look += 1) {
      files = Math.min(files, openFiles(pid).length);
      await sleep(50);
    }
    return { heapMb, files, children: children().length };
  }
}

/** Without /dev/null: libuv keeps one for each thread, opened with the thread's first stream, whenever that is. */
function openFiles(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((name) => {
    try {
      return readlinkSync(join(folder, name)) !== "/dev/null";
    } catch {
      return false; // closed since
    }
  });
}

/** mulberry32. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * What has grown, in words: files since the first measurement, the heap since the middle. Before, code is compiled when it is used
 * and caches fill up.
 */
export function grown(held: readonly Held[], maxHeapMb: number): readonly string[] {
  const [first, middle, last] = [held[0], held[Math.floor((held.length - 1) / 2)], held.at(-1)];
  if (!first || !middle || !last) return ["nothing was measured"];
  const grownMb = last.heapMb - middle.heapMb;
  // The pool opens a connection when it needs one, and closes it when it has been idle: how many there are is chance.
  const most = first.files + (isOnPostgres ? POSTGRES_LIMITS.connections.shared + POSTGRES_LIMITS.connections.long : 0);
  return [
    ...(last.files > most ? [`${last.files} open files, ${first.files} before`] : []),
    ...(last.children > 0 ? [`${last.children} children are left`] : []),
    ...(grownMb > maxHeapMb ? [`the heap has grown by ${grownMb.toFixed(1)} MB`] : []),
  ];
}
