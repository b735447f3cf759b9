// One owner of a session across processes, and ids that lead nowhere else.
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, vi } from "vitest";
import type { StdioSpec } from "../../src/mcp/index.js";
import { createHost } from "../../src/session/index.js";
import {
  type AcpClient,
  echoTool,
  type HttpGate,
  scriptedHttpServer,
  scriptedServer,
} from "../../src/testing/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { cleanEnv, startTenon, TemporaryFolder } from "./agent.js";
import { replayedTurns } from "./conversation.js";
import { agentNode, TENON } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const SOURCE = join(import.meta.dirname, "../../src");
const CONTENDER = join(import.meta.dirname, "../fixtures/lock-contender.mjs");

/** A lock file as a process leaves it that was killed: its number belongs to nobody any more. */
function deadLock(): string {
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  return `${pid} ${pid}-1 0123456789abcdef\n`;
}

class Contenders implements AsyncDisposable {
  readonly #children: ChildProcess[] = [];
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async start(count: number): Promise<void> {
    const added = Array.from({ length: count }, () =>
      fork(CONTENDER, [SOURCE, this.#folder], {
        execPath: agentNode(),
        execArgv: ["--import", "tsx"],
        stdio: "ignore",
      }),
    );
    await Promise.all(added.map((child) => once(child, "message")));
    this.#children.push(...added);
  }

  /** All try in the same moment. Returns those who own it now. */
  async race(path: string): Promise<readonly ChildProcess[]> {
    const atMs = Date.now() + 3;
    const answers = this.#children.map(async (child) => {
      const answered = once(child, "message");
      child.send({ path, atMs });
      const [{ isOwner }] = await answered;
      return isOwner === true ? [child] : [];
    });
    return (await Promise.all(answers)).flat();
  }

  async release(): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        const answered = once(child, "message");
        child.send({});
        await answered;
      }),
    );
  }

  /** It leaves its lock file. */
  async kill(child: ChildProcess): Promise<void> {
    this.#children.splice(this.#children.indexOf(child), 1);
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        const gone = once(child, "exit");
        child.disconnect();
        await gone;
      }),
    );
  }
}

scenario(
  ["H600"],
  "of processes that find a dead process's lock in the same moment exactly one owns it, 208 times",
  async () => {
    using home = new TemporaryFolder();
    await using contenders = new Contenders(home.path);
    await contenders.start(4);
    const dead = deadLock();
    const counts: number[] = [];
    for (let round = 0; round < 200; round++) {
      const path = join(home.path, `race-${round % 2}.lock`);
      writeFileSync(path, dead);
      counts.push((await contenders.race(path)).length);
      await contenders.release();
    }
    // Owners that are killed: the next ones find the file that they really left.
    const path = join(home.path, "killed.lock");
    for (let round = 0; round < 8; round++) {
      const owners = await contenders.race(path);
      counts.push(owners.length);
      if (owners[0]) await contenders.kill(owners[0]);
      await contenders.start(1);
    }
    expect(counts).toEqual(counts.map(() => 1));
    await contenders.race(path);
    await contenders.release();
    expect(readdirSync(home.path)).toEqual([]);
  },
  { timeoutMs: 60_000 },
);

async function load(client: AcpClient, sessionId: string, cwd: string): Promise<boolean> {
  return await client.request("session/load", { sessionId, cwd, mcpServers: [] }).then(
    () => true,
    (error: unknown) => {
      expect(error).toMatchObject({ message: expect.stringContaining(`session "${sessionId}" is open in process`) });
      return false;
    },
  );
}

scenario(
  ["H601"],
  "two Tenons that load one session after a crash: one has it, the other is refused, and every turn is kept",
  async () => {
    using home = new TemporaryFolder();
    await using one = await startTenon(home);
    await using other = await startTenon(home);
    await Promise.all([one.initialize(), other.initialize()]);
    const { sessionId } = await one.newSession({ cwd: home.path });
    await one.prompt(sessionId, "/help first");
    await one.closeSession(sessionId);
    const lock = join(home.path, "state/session-locks", `${sessionId}.lock`);
    const dead = deadLock();
    const acknowledged = ["/help first"];
    for (let round = 0; round < 25; round++) {
      mkdirSync(join(home.path, "state/session-locks"), { recursive: true });
      writeFileSync(lock, dead);
      const loaded = await Promise.all([one, other].map((client) => load(client, sessionId, home.path)));
      expect(loaded.filter((isLoaded) => isLoaded)).toHaveLength(1);
      const owner = loaded[0] === true ? one : other;
      await owner.prompt(sessionId, `/help ${round}`);
      acknowledged.push(`/help ${round}`);
      await owner.closeSession(sessionId);
    }
    const before = one.updates(sessionId).length;
    expect(await load(one, sessionId, home.path)).toBe(true);
    const turns = replayedTurns(one.updates(sessionId).slice(before));
    expect(turns.map(({ prompt }) => prompt)).toEqual(acknowledged);
  },
  { timeoutMs: 60_000 },
);

/** Ids that would lead out of the state folder, and others that are none. */
const BAD_IDS = [
  "../../x",
  "../x",
  "/tmp/x",
  "a/b",
  "..",
  ".",
  "",
  "a\\b",
  "a\0b",
  "x.ndjson",
  "ä",
  "a".repeat(129),
  " x",
];

function stdio(name: string, marker?: string): StdioSpec {
  return { kind: "stdio", name, ...scriptedServer({ tools: [echoTool()] }, marker === undefined ? {} : { marker }) };
}

function quietWorld(home: TemporaryFolder) {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  return nodeWorld({ env: cleanEnv(home.path), log });
}

scenario(["H602", "H603"], "createSession refuses an id that is in use and one that no session can have", async () => {
  using home = new TemporaryFolder();
  await using runtime = createHost({ world: quietWorld(home) });
  const first = runtime.createSession({ cwd: home.path, id: "mine", servers: [stdio("s")] });
  await first.prompt("/help");
  expect(() => runtime.createSession({ cwd: home.path, id: "mine", servers: [stdio("s")] })).toThrow(
    'session "mine" is already open here',
  );
  expect(runtime.sessions).toEqual([first]);
  await first.close();
  expect(() => runtime.createSession({ cwd: home.path, id: "mine" })).toThrow(
    'there is a stored session "mine" already',
  );
  for (const id of BAD_IDS) {
    expect(() => runtime.createSession({ cwd: home.path, id })).toThrow(/cannot be the id of a session/u);
    await expect(runtime.loadSession({ cwd: home.path, id })).rejects.toMatchObject({ code: "session.not_found" });
    await expect(runtime.forkSession({ cwd: home.path, id })).rejects.toMatchObject({ code: "session.not_found" });
    await expect(runtime.setTitle(id, "a title")).rejects.toMatchObject({ code: "session.not_found" });
    await runtime.deleteSession(id);
  }
  expect(readdirSync(join(home.path, "state")).sort()).toEqual(["session-locks", "sessions"]);
  expect(readdirSync(join(home.path, "state/sessions"))).toEqual(["mine.ndjson"]);
  // In another process it is open before it is stored: the first prompt says so, and nothing is written.
  await using elsewhere = createHost({ world: quietWorld(home) });
  const held = elsewhere.createSession({ cwd: home.path, id: "theirs" });
  await held.configured;
  await expect.poll(() => existsSync(join(home.path, "state/session-locks/theirs.lock"))).toBe(true);
  expect(() => runtime.createSession({ cwd: home.path, id: "theirs" })).toThrow("there is a stored session");
  rmSync(join(home.path, "state/sessions/theirs.ndjson")); // as in the moment before it is there
  const late = runtime.createSession({ cwd: home.path, id: "theirs" });
  await expect(late.prompt("/help")).rejects.toMatchObject({ code: "session.busy" });
});

scenario(
  ["H603"],
  "an id from a client or the command line never becomes a path outside the state folder",
  async () => {
    using home = new TemporaryFolder();
    const outside = join(home.path, "x.ndjson"); // what "../../x" means from the folder of sessions
    writeFileSync(outside, '{"v":1,"id":"x","cwd":"/","t":1}\n');
    const before = readFileSync(outside, "utf8");
    {
      await using client = await startTenon(home);
      await client.initialize();
      for (const sessionId of BAD_IDS) {
        const request = { sessionId, cwd: home.path, mcpServers: [] };
        for (const method of ["session/load", "session/resume", "session/fork"]) {
          await expect(client.request(method, request)).rejects.toMatchObject({ code: expect.any(Number) });
        }
        await client.request("session/delete", { sessionId }).catch(() => {}); // one that is not there is no error
        await client.request("session/close", { sessionId }).catch(() => {});
        const prompt = [{ type: "text", text: "/help" }];
        await expect(client.request("session/prompt", { sessionId, prompt })).rejects.toBeDefined();
        await expect(client.request("session/set_title", { sessionId, title: "t" })).rejects.toBeDefined();
      }
    }
    const env = cleanEnv(home.path);
    for (const id of ["../../x", "/tmp/x", ".."]) {
      for (const words of [
        ["show", id],
        ["export", id],
        ["delete", id],
      ]) {
        const ran = await runCommand(agentNode(), [TENON, "sessions", ...words], { env, cwd: home.path });
        expect(ran.code).not.toBe(0);
      }
    }
    expect(readFileSync(outside, "utf8")).toBe(before);
    expect(existsSync(join(home.path, "x.results"))).toBe(false);
    expect(readdirSync(home.path).filter((name) => name.startsWith("x"))).toEqual(["x.ndjson"]);
  },
);

scenario(
  ["H604"],
  "an export writes into a pipe or a device and never takes its place; what else is no file is refused",
  async () => {
    using home = new TemporaryFolder();
    const id = "exported";
    {
      await using runtime = createHost({ world: quietWorld(home) });
      await runtime.createSession({ cwd: home.path, id }).prompt("/help");
    }
    const exported = (path: string) =>
      runCommand(agentNode(), [TENON, "sessions", "export", id, "-o", path, "--force"], {
        env: cleanEnv(home.path),
        cwd: home.path,
      });
    const pipe = join(home.path, "pipe");
    spawnSync("mkfifo", [pipe]);
    const reading = readFile(pipe, "utf8");
    expect(await exported(pipe)).toMatchObject({ code: 0 });
    expect(await reading).toContain("/help");
    expect(lstatSync(pipe).isFIFO()).toBe(true);
    const device = join(home.path, "device");
    const isMade = spawnSync("mknod", [device, "c", "1", "3"]).status === 0; // needs rights that not everybody has
    if (isMade) {
      symlinkSync(device, join(home.path, "link.md"));
      for (const path of [device, join(home.path, "link.md")]) expect(await exported(path)).toMatchObject({ code: 0 });
      expect(lstatSync(device).isCharacterDevice()).toBe(true);
      expect(lstatSync(join(home.path, "link.md")).isSymbolicLink()).toBe(true);
    }
    const socket = join(home.path, "socket");
    const server = createServer().listen(socket);
    await once(server, "listening");
    const refused = await exported(socket);
    expect([refused.code === 0, refused.stderr.includes("is not a regular file")]).toEqual([false, true]);
    expect(lstatSync(socket).isSocket()).toBe(true);
    server.close();
  },
  { platform: "linux" },
);

scenario(
  ["H605"],
  "a !command secret runs once for all sessions of a process, and again when it failed or its value was refused",
  async () => {
    using home = new TemporaryFolder();
    const runs = join(home.path, "runs");
    const token = join(home.path, "token");
    writeFileSync(token, "old");
    // The token is renewed at the moment the old one is refused.
    const gate: HttpGate = ({ headers }) => {
      if (headers.authorization === "Bearer old") writeFileSync(token, "new");
      return false;
    };
    await using http = await scriptedHttpServer({ tools: [echoTool()] }, { bearer: "new", gate });
    const config = {
      mcpServers: {
        web: {
          url: http.url,
          headers: { Authorization: `!echo r >> '${runs}'; printf 'Bearer '; cat '${token}'` },
        },
        local: { ...scriptedServer({ tools: [echoTool()] }), env: { KEY: `!echo l >> '${runs}'; echo key` } },
        broken: { ...scriptedServer({ tools: [echoTool()] }), env: { KEY: `!echo b >> '${runs}'; exit 3` } },
      },
    };
    writeFileSync(join(home.path, "config.json"), JSON.stringify(config));
    await using client = await startTenon(home);
    await client.initialize();
    const settled = async ({ sessionId }: { readonly sessionId: string }) => {
      await vi.waitFor(
        async () => {
          const status = JSON.stringify(await client.request("_tenon/mcp/status", { sessionId }));
          expect(status).toMatch(/"name":"web"[^{}]*"state":"ready"/u);
          expect(status).toMatch(/"name":"broken"[^{}]*"state":"failed"/u);
        },
        { timeout: 20_000 },
      );
    };
    const opened = await Promise.all(Array.from({ length: 3 }, () => client.newSession({ cwd: home.path })));
    await Promise.all(opened.map(settled));
    const count = (letter: string) =>
      readFileSync(runs, "utf8")
        .split("\n")
        .filter((line) => line === letter).length;
    expect([count("l"), count("r")]).toEqual([1, 2]);
    const failures = count("b");
    expect(failures).toBeLessThanOrEqual(3);
    await settled(await client.newSession({ cwd: home.path }));
    expect([count("l"), count("r"), count("b")]).toEqual([1, 2, failures + 1]);
  },
  { timeoutMs: 60_000 },
);
