// Attacks on `tenon gateway run` as it is installed: no effect, no leak, and each is written down.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { NewToken } from "../../src/gateway/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { isOnPostgres, textInDatabase, withTokens } from "../test-store.js";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { ATTACKS, type Target } from "./gateway/attacks.js";
import { PAGE_ATTACKS } from "./gateway/page-attacks.js";
import { SESSION_ATTACKS } from "./gateway/session-attacks.js";
import { send, WireClient } from "./gateway/wire-client.js";
import { agentNode, TENON } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

class RunningGateway {
  readonly #child: ChildProcess;
  output = "";

  constructor(home: TemporaryFolder, words: readonly string[]) {
    const env = cleanEnv(home.path, { TENON_LOG: "debug", GATEWAY_CANARY: "canary-of-the-gateway" });
    this.#child = spawn(agentNode(), [TENON, "gateway", "run", ...words], { env, cwd: home.path });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on("data", (chunk: Buffer) => (this.output += chunk.toString()));
  }

  async port(): Promise<number> {
    for (;;) {
      const [, port] = /127\.0\.0\.1:(\d+)/u.exec(this.output) ?? [];
      if (port !== undefined) return Number(port);
      if (this.#child.exitCode !== null) throw new Error(this.output);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async stop(): Promise<number | null> {
    const ended = new Promise<number | null>((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    return await ended;
  }
}

/** Tokens made and revoked by another process than the gateway's. */
function tokensOf(home: TemporaryFolder, at: { readonly host: string; readonly port: number }) {
  const world = nodeWorld({ env: {} });
  const ids = new Map<string, string>();
  const isTaken = async (token: string) => {
    const from = `127.0.${2 + Math.floor(Math.random() * 200)}.${1 + Math.floor(Math.random() * 250)}`;
    return (await send(at, { headers: { authorization: `Bearer ${token}` }, from })).status !== 401;
  };
  const create = async (more: Partial<NewToken>) => {
    const { token, listed } = await withTokens(world, home.path, (tokens) =>
      tokens.create({ name: `t${ids.size}`, scopes: ["read", "prompt"], ...more }),
    );
    ids.set(token, listed.id);
    return token;
  };
  return {
    all: () => [...ids.keys()],
    token: async (more: Partial<NewToken> = {}) => {
      const token = await create(more);
      const known = more.expiresInMs === undefined ? token : await create({}); // made after it, so known after it
      await expect.poll(() => isTaken(known), { interval: 10 }).toBe(true);
      return token;
    },
    revoke: async (token: string) => {
      await withTokens(world, home.path, (tokens) => tokens.revoke(ids.get(token) ?? ""));
      await expect.poll(() => isTaken(token), { interval: 10 }).toBe(false);
    },
  };
}

/** Of a gateway that is over: a chat has its sessions in files. */
async function sessionInDatabase(home: TemporaryFolder, cwd: string): Promise<string> {
  const socket = join(home.path, "run", "earlier.sock");
  const gateway = new RunningGateway(home, ["--socket", socket, "--listen", "127.0.0.1:0", "--drain", "0s"]);
  await gateway.port();
  const client = await WireClient.open(`ws+unix:${socket}:/acp`);
  await client.initialize();
  const { result } = await client.request("session/new", { cwd, mcpServers: [] });
  const sessionId = String(result?.["sessionId"]);
  await client.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "hello" }] });
  await client.close();
  await gateway.stop();
  return sessionId;
}

/** Of a chat that is over. */
async function storedSession(home: TemporaryFolder, cwd: string): Promise<string> {
  if (isOnPostgres) return await sessionInDatabase(home, cwd);
  const sessions = join(home.path, "state", "sessions");
  const before = new Set(existsSync(sessions) ? readdirSync(sessions) : []);
  await runCommand(agentNode(), [TENON, "chat", "-p", "hello"], { env: cleanEnv(home.path), cwd });
  const [file = ""] = readdirSync(sessions).filter((name) => !before.has(name) && name.endsWith(".ndjson"));
  return file.slice(0, -".ndjson".length);
}

function textsBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
}

scenario(
  ["G301", "G302", "G303", "G304", "G305", "G307", "G308", "G309", "G313", "G565", "G566", "G661", "G662", "G663"],
  "attacks on a gateway: none has an effect, each is written down, no token or environment is kept",
  async () => {
    using home = new TemporaryFolder();
    const root = join(home.path, "work");
    mkdirSync(root);
    mkdirSync(`${root}2`);
    symlinkSync("/", join(root, "out"));
    writeFileSync(join(root, "note.txt"), "what the disk has");
    mkdirSync(join(root, "project"));
    const mcpServers = { p: { command: "/bin/echo", args: ["question-canary"] } };
    writeFileSync(join(root, "project", ".mcp.json"), JSON.stringify({ mcpServers }));
    const stored = { inside: await storedSession(home, root), outside: await storedSession(home, home.path) };
    const trace = join(home.path, "trace.ndjson");
    const words = ["--listen", "127.0.0.1:0", "--root", root, "--drain", "0s", "--trace", trace];
    const gateway = new RunningGateway(home, words);
    const at = { host: "127.0.0.1", port: await gateway.port() };
    const socketPath = join(home.path, "state", "gateway", "gateway.sock");
    const { all, ...tokens } = tokensOf(home, at);
    const target: Target = { ...at, ...tokens, socketPath, root, stored };
    // A client of this machine may bring its environment; it is kept in memory only.
    const local = await WireClient.open(`ws+unix:${socketPath}:/acp`);
    const env = { PATH: process.env["PATH"] ?? "", TENON_CANARY: "canary-of-a-client" };
    const known = await local.initialize({ tenon: { env } });
    expect(known.error).toBeUndefined();
    const [, clientKey = "none"] = /"key":"([^"]+)"/u.exec(JSON.stringify(known.result)) ?? [];
    const own = await local.request("session/new", { cwd: root, mcpServers: [] });
    const prompt = [{ type: "text", text: "hello" }];
    const ended = await local.request("session/prompt", { sessionId: own.result?.["sessionId"], prompt });
    expect(ended.result).toMatchObject({ stopReason: "end_turn" });
    const audit = () => readFileSync(join(home.path, "state", "gateway", "audit.ndjson"), "utf8");
    const attacks = { ...ATTACKS, ...SESSION_ATTACKS, ...PAGE_ATTACKS };
    for (const [index, [name, { run, logged }]] of Object.entries(attacks).entries()) {
      const from = `127.0.1.${index + 1}`;
      await run(target, from).catch((cause: unknown) => {
        throw new Error(`${name}: ${String(cause)}`, { cause });
      });
      const written = new RegExp(logged.source.replace("ADDRESS", from.replaceAll(".", "\\.")), "u");
      await expect.poll(audit, { message: name }).toMatch(written);
    }
    // The one above, the stored ones, and no other with a prompt in it.
    const { result } = await local.request("session/list", {});
    expect(result?.["sessions"]).toHaveLength(3);
    expect(existsSync("/tmp/owned")).toBe(false);
    await local.close();
    expect(await gateway.stop()).toBe(0);
    expect(readFileSync(trace, "utf8")).toMatch(/"channel":"acp".*"method":"session\/prompt"/u);
    const kept = [...textsBelow(home.path), textInDatabase(home.path), gateway.output];
    const canaries = ["env-canary-over-tcp", "canary-of-a-client", "canary-of-the-gateway", clientKey];
    for (const canary of [...all(), ...canaries])
      expect(kept.filter((text) => text.includes(canary.replace("tng_", ""))).length, canary).toBe(0);
  },
  { platform: "linux", timeoutMs: 90_000 },
);

scenario(["G302", "G312"], "tokens are created, listed and revoked from the command line", async () => {
  using home = new TemporaryFolder();
  const run = (...words: string[]) =>
    runCommand(agentNode(), [TENON, "gateway", "token", ...words], { env: cleanEnv(home.path), cwd: home.path });
  const made = await run("create", "phone", "--scopes", "approve");
  const token = made.stdout.split("\n")[0] ?? "";
  expect([made.code, token]).toEqual([0, expect.stringMatching(/^tng_[\w-]{43}$/u)]);
  expect((await run("create", "phone")).code).toBe(2);
  const listed: { tokens: object[] } = JSON.parse((await run("list", "--json")).stdout);
  expect(listed.tokens).toMatchObject([{ name: "phone", account: "me", scopes: ["read", "approve"] }]);
  expect((await run("revoke", "phone")).code).toBe(0);
  expect((await run("revoke", "phone")).code).toBe(3);
  expect([...textsBelow(home.path), textInDatabase(home.path)].some((text) => text.includes(token.slice(4)))).toBe(
    false,
  );
});

scenario(
  ["G310"],
  "a gateway that may not listen says why and exits: 3 for its files, 1 for what others have",
  async () => {
    using home = new TemporaryFolder();
    const run = (...words: string[]) =>
      runCommand(agentNode(), [TENON, "gateway", "run", ...words], { env: cleanEnv(home.path), cwd: home.path });
    const tls = await run("--listen", "0.0.0.0:0", "--tls-cert", "none.pem", "--tls-key", "none.key");
    expect([tls.code, tls.stderr]).toEqual([3, expect.stringContaining("none.pem")]);
    const open = await run("--listen", "0.0.0.0:0");
    expect([open.code, open.stderr]).toEqual([2, expect.stringContaining("--insecure-http")]);
    mkdirSync(join(home.path, "foreign"), { mode: 0o777 });
    const foreign = await run("--socket", join(home.path, "foreign", "s.sock"));
    expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringContaining("foreign")]);
    expect(readdirSync(join(home.path, "foreign"))).toEqual([]);
    const gateway = new RunningGateway(home, ["--listen", "127.0.0.1:0"]);
    const taken = await run("--socket", join(home.path, "other.sock"), "--listen", `127.0.0.1:${await gateway.port()}`);
    expect([taken.code, taken.stderr]).toEqual([1, expect.stringMatching(/process \d+/u)]);
    const second = await run();
    expect([second.code, second.stderr]).toEqual([1, expect.stringMatching(/process \d+ listens at/u)]);
    expect(await gateway.stop()).toBe(0);
  },
  { platform: "linux", timeoutMs: 60_000 },
);
