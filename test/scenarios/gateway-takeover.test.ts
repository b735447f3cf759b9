// Two nodes of the built product on one PostgreSQL: the owner of a session is killed, and frozen, while a call is under way.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { Follower } from "../../scripts/chaos/followers.js";
import { openPostgresTokens } from "../../src/postgres/index.js";
import { scriptedHttpServer } from "../../src/testing/index.js";
import { answerText, fakeProvider, type ProviderReply } from "../../src/testing/lab/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { differences } from "./gateway/fleet.js";
import { agentNode, TENON } from "./peers.js";
import { conversationIn, TARGETS } from "./providers/target.js";
import { freePort } from "./real-server.js";
import { postgresOfFile, scenario } from "./scenario.js";

const postgres = postgresOfFile();
const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

interface NodeOptions {
  readonly home: string;
  readonly store: string;
  readonly env: Readonly<Record<string, string>>;
  readonly config: object;
}

/** `tenon gateway run`, in a process of its own. */
class NodeProcess {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #port: number;

  private constructor(port: number, child: ChildProcess) {
    this.#port = port;
    this.#child = child;
    this.url = `ws://127.0.0.1:${port}/acp`;
  }

  static async start(name: string, { home, store, env, config }: NodeOptions): Promise<NodeProcess> {
    const own = join(home, name);
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "config.json"), JSON.stringify(config));
    const port = await freePort();
    const words = ["gateway", "run", "--node", name, "--listen", `127.0.0.1:${port}`];
    const all = { ...cleanEnv(own, env), TENON_HOME: own, TENON_GATEWAY_STORE: store };
    const child = spawn(agentNode(), [TENON, ...words], { env: all, cwd: own, stdio: "ignore" });
    const node = new NodeProcess(port, child);
    while ((await node.ready()) !== 200) {
      if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
      await pause();
    }
    return node;
  }

  /** The status of `/readyz`. */
  async ready(): Promise<number> {
    return await fetch(`http://127.0.0.1:${this.#port}/readyz`).then(
      ({ status }) => status,
      () => 0,
    );
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.#child.kill(signal);
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, "exit");
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 25));
}

/** One call for each prompt, then a word. */
function reply(messages: string, prompts: number): ProviderReply {
  const calls = messages.match(/Outcome unknown/gu)?.length ?? 0;
  if (calls >= prompts) return answerText("I cannot say what became of it.");
  return { kind: "answer", parts: [{ kind: "tool_call", name: "mcp__slow__deploy", arguments: {} }] };
}

scenario(
  ["G796", "G804", "G805"],
  "the owner is killed, and frozen, in a turn with a slow call: the call is made once, the turn ends elsewhere, both clients see each record once",
  async () => {
    const [target] = TARGETS;
    if (!target) throw new Error("there are no targets");
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    await using server = await scriptedHttpServer({ tools: [{ name: "deploy", reply: { kind: "held" } }] });
    provider.replyWith((request) => {
      const text = JSON.stringify(conversationIn(request));
      return reply(text, text.match(/please deploy/gu)?.length ?? 0);
    });
    const store = await postgres.get().database();
    const config = {
      allowHosts: [new URL(server.url).host],
      mcpServers: { slow: { type: "http", url: server.url, required: true } },
      permissions: { rules: [{ effect: "allow", server: "slow" }] },
    };
    const env = { ...target.env(provider), TENON_MODEL: target.model };
    const about = { home: home.path, store, env, config };
    const world = nodeWorld({ log: QUIET, env: cleanEnv(home.path) });
    await using access = await openPostgresTokens({ world, url: store });
    const scopes = ["read", "prompt", "approve"] as const;
    const { token } = await access.tokens.create({ name: "editors", account: "team", scopes });
    const [one, two] = await Promise.all([NodeProcess.start("one", about), NodeProcess.start("two", about)]);
    const nodes = [one, two];
    const followers: Follower[] = [];
    try {
      const urls = nodes.map(({ url }) => url);
      const [near, far] = [new Follower({ urls, token }, 0), new Follower({ urls, token }, 1)];
      followers.push(near, far);
      const session = await near.begin(home.path);
      await far.load(session, home.path);

      const first = near.prompt("please deploy");
      await server.awaitCall("deploy");
      await one.end("SIGKILL");
      expect(await first).toBe("end_turn");
      expect(deployments(server)).toBe(1);

      // Started again, it is another node. The one that has the session now is frozen for longer than its lease.
      const again = await NodeProcess.start("one", about);
      nodes.push(again);
      const other = new Follower({ urls: [again.url], token }, 0);
      followers.push(other);
      await other.load(session, home.path);
      const second = other.prompt("please deploy");
      await server.awaitCall("deploy");
      two.signal("SIGSTOP");
      expect(await second).toBe("end_turn");
      two.signal("SIGCONT");
      expect(deployments(server)).toBe(2);
      while ((await two.ready()) !== 200) await pause();

      const whole = new Follower({ urls: [two.url], token }, 0);
      followers.push(whole);
      await whole.load(session, home.path);
      for (const follower of [near, far, other]) {
        while (follower.lines().length < whole.lines().length) await pause();
        expect(differences(follower.lines(), whole.lines())).toEqual([]);
      }
      const text = whole.lines().join("\n");
      expect(text.match(/"status":"failed"/gu)).toHaveLength(2);
      expect(text).toContain("moved to another node");
      expect(await epochs(store)).toEqual(await epochs(store, "order by epoch, seq"));
    } finally {
      for (const follower of followers) await follower.close();
      for (const node of nodes) await node.end("SIGKILL");
    }
  },
  { ...postgres, timeoutMs: 90_000 },
);

function deployments(server: Awaited<ReturnType<typeof scriptedHttpServer>>): number {
  return server.requests.filter(({ message }) => message?.["method"] === "tools/call").length;
}

/** Of the records, in their order. */
async function epochs(store: string, order = "order by seq"): Promise<readonly unknown[]> {
  return await postgres.get().query(`select seq, epoch from tenon_record ${order}`, store);
}
