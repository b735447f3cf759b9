// `tenon acp --gateway` with the real gateway: started once, resumed for ever, with the environment of each client.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { gatewaySocketPath } from "../../src/gateway/index.js";
import {
  type AcpClient,
  echoTool,
  type PermissionPolicy,
  scriptedServer,
  type ToolScript,
} from "../../src/testing/index.js";
import { ScriptedGateway } from "../scripted-gateway.js";
import { ON_FILES_ONLY } from "../test-store.js";
import { cleanEnv, startTenon, TemporaryFolder } from "./agent.js";
import { WireClient } from "./gateway/wire-client.js";
import { agentNode, TENON } from "./peers.js";
import { type CommandResult, runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

/** A home with its local gateway, which is ended at the end, whoever started it. */
class Home extends TemporaryFolder implements AsyncDisposable {
  readonly socketPath: string = gatewaySocketPath({ env: {} }, join(this.path, "state"));
  readonly recordFile: string = join(this.path, "server.ndjson");

  async editor(options: Parameters<typeof startTenon>[1] = {}): Promise<AcpClient> {
    const editor = await startTenon(this, { words: ["--gateway"], ...options });
    await editor.initialize();
    return editor;
  }

  async tenon(...words: readonly string[]): Promise<CommandResult> {
    return await runCommand(agentNode(), [TENON, ...words], { env: cleanEnv(this.path), cwd: this.path });
  }

  /** Of the gateway that runs. */
  async status(): Promise<{ readonly pid?: number; readonly isRunning: boolean; readonly clients: number }> {
    return JSON.parse((await this.tenon("gateway", "status", "--json")).stdout);
  }

  /** A server of the user's configuration that writes down what it is sent. */
  configure(tools: readonly ToolScript[] = [echoTool()]): void {
    const { command, args, env } = scriptedServer({ tools, recordFile: this.recordFile });
    writeFileSync(join(this.path, "config.json"), JSON.stringify({ mcpServers: { s: { command, args, env } } }));
  }

  /** Messages with this method that the server got. */
  received(method: string): number {
    const lines = existsSync(this.recordFile) ? readFileSync(this.recordFile, "utf8").split("\n") : [];
    return lines.filter((line) => line.includes(`"${method}"`)).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { pid } = await this.status();
    if (pid !== undefined) {
      await this.tenon("gateway", "stop", "--drain", "0");
      while (isAlive(pid)) await delay(20);
    }
    this[Symbol.dispose]();
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Asks for a permission before the call is made. */
const ECHO = "please echo for the record";

/** The numbers of the updates an editor got, in order, as "seq" and "seq/part". */
function numbers(editor: AcpClient): string[] {
  return editor.lines.flatMap(({ direction, text }) => {
    if (direction !== "received" || !text.includes('"session/update"')) return [];
    const { seq, partOf, part } = JSON.parse(text).params?._meta?.tenon ?? {};
    return seq === undefined ? (partOf === undefined ? [] : [`${partOf}/${part}`]) : [`${seq}`];
  });
}

function expectOnceInOrder(editor: AcpClient): void {
  const seen = numbers(editor);
  expect(new Set(seen).size).toBe(seen.length);
  const whole = seen.map((number) => Number(number.split("/")[0]));
  expect(whole).toEqual(whole.toSorted((one, other) => one - other));
}

async function load(editor: AcpClient, sessionId: string, cwd: string): Promise<void> {
  await editor.request("session/load", { sessionId, cwd, mcpServers: [] });
}

scenario(
  ["G400", "G401", "G412"],
  "two editors start one gateway, share a session, and leave it running",
  async () => {
    await using home = new Home();
    const logs = join(home.path, "state/gateway");
    mkdirSync(logs, { recursive: true, mode: 0o700 });
    writeFileSync(join(logs, "gateway.log"), "of an earlier one\n".repeat(500_000)); // more than is kept
    const [one, two] = await Promise.all([home.editor(), home.editor()]);
    const [{ sessionId }] = await Promise.all([one.newSession({ cwd: home.path }), two.newSession({ cwd: home.path })]);
    await one.prompt(sessionId, "hello there");
    await load(two, sessionId, home.path);
    expect(two.text(sessionId)).toBe(one.text(sessionId));
    await two.prompt(sessionId, "and again");
    await one.waitForUpdate(sessionId, () => one.text(sessionId) === two.text(sessionId));
    const said = one.updates(sessionId).filter(({ sessionUpdate }) => sessionUpdate === "user_message_chunk");
    expect(said).toHaveLength(1); // what the other said
    expectOnceInOrder(one);
    const { pid = 0, isRunning } = await home.status();
    expect(isRunning).toBe(true);
    one.kill("SIGTERM");
    expect(await one.exit).toMatchObject({ code: 130 });
    expect(await two.end()).toMatchObject({ code: 0 });
    expect(isAlive(pid)).toBe(true);
    const log = readFileSync(join(logs, "gateway.log"), "utf8");
    expect(log.match(/listens at/gu)).toHaveLength(1);
    expect(log).not.toContain("earlier");
    expect(existsSync(join(logs, "gateway.1.log"))).toBe(true);
    expect((await home.tenon("gateway", "logs")).stdout).toContain("listens at");
  },
  ON_FILES_ONLY,
);

scenario(
  ["G402"],
  "the editor is killed while a question is open, comes back, loads the session and answers it",
  async () => {
    await using home = new Home();
    home.configure();
    const editor = await home.editor({ permissions: "wait" });
    const { sessionId } = await editor.newSession({ cwd: home.path });
    editor.prompt(sessionId, ECHO).catch(() => {});
    await editor.waitForPermissionRequest();
    editor.kill("SIGKILL");
    await editor.exit;
    expect(home.received("tools/call")).toBe(0);
    await using back = await home.editor({ permissions: "allow" });
    await load(back, sessionId, home.path);
    const prompts = back.updates(sessionId).filter(({ sessionUpdate }) => sessionUpdate === "user_message_chunk");
    expect(prompts).toMatchObject([{ content: { text: ECHO } }]);
    await back.waitForUpdate(
      sessionId,
      (update) => update.sessionUpdate === "tool_call_update" && update.status === "completed",
    );
    expect(home.received("tools/call")).toBe(1);
    expectOnceInOrder(back);
  },
);

scenario(
  ["G403", "G404"],
  "the gateway is killed during a turn: the next one goes on with it, and the editor's prompt is answered once",
  async () => {
    await using home = new Home();
    home.configure();
    await using editor = await home.editor({ permissions: "wait" });
    const { sessionId } = await editor.newSession({ cwd: home.path });
    await editor.prompt(sessionId, "hello first");
    const prompted = editor.prompt(sessionId, ECHO);
    await editor.waitForPermissionRequest();
    const { pid = 0 } = await home.status();
    editor.answerPermissions("allow");
    process.kill(pid, "SIGKILL");
    expect(await prompted).toMatchObject({ stopReason: "end_turn" });
    expect(home.received("tools/call")).toBe(1);
    expectOnceInOrder(editor);
    expect((await home.status()).pid).not.toBe(pid);
    // The whole conversation, as another client has it.
    await using other = await home.editor();
    await load(other, sessionId, home.path);
    expect(other.text(sessionId)).toBe(editor.text(sessionId));
  },
  ON_FILES_ONLY,
);

scenario(["G405"], "each client's sessions have its environment, and nothing of it is on the disk", async () => {
  await using home = new Home();
  using project = new TemporaryFolder();
  using seen = new TemporaryFolder();
  const { command, args, env } = scriptedServer({ tools: [echoTool()] });
  const script = `printf %s "$MARK" > "${seen.path}/$MARK"; exec "$@"`;
  const entry = { command: "/bin/sh", args: ["-c", script, "sh", command, ...args], env: { ...env, MARK: "${MARK}" } };
  writeFileSync(join(home.path, "config.json"), JSON.stringify({ mcpServers: { s: entry } }));
  const marks = ["canary-one-7391", "canary-two-7391"];
  // How it is started is a question of its own, whose answer lasts.
  const permissions: PermissionPolicy = ({ options }) =>
    options.some(({ kind }) => kind === "allow_once") ? "allow" : "always";
  const editors = await Promise.all(marks.map((MARK) => home.editor({ permissions, env: { MARK, UNNAMED: MARK } })));
  await using _one = editors[0];
  await using _two = editors[1];
  for (const editor of editors) {
    const { sessionId } = await editor.newSession({ cwd: project.path });
    await editor.prompt(sessionId, ECHO);
  }
  expect(readdirSync(seen.path).toSorted()).toEqual(marks);
  for (const file of filesIn(join(home.path, "state"))) {
    expect(readFileSync(file, "utf8"), file).not.toMatch(/canary-(one|two)-7391/u);
  }
});

scenario(
  ["G550"],
  "keys and variables of the editor that starts the gateway are not those of other clients",
  async () => {
    await using home = new Home();
    using seen = new TemporaryFolder();
    const recordFile = `${seen.path}/\${NAME:-nobody}-\${CANARY:-none}`;
    const { command, args, env } = scriptedServer({ tools: [echoTool()], recordFile });
    writeFileSync(join(home.path, "config.json"), JSON.stringify({ mcpServers: { s: { command, args, env } } }));
    const secrets = {
      CANARY: "canary-4417",
      ANTHROPIC_API_KEY: "sk-canary-4417",
      HTTPS_PROXY: "http://canary-4417:1",
    };
    await using one = await home.editor({ env: { ...secrets, NAME: "one" } });
    const first = await one.newSession({ cwd: home.path });
    await one.waitForUpdate(first.sessionId, () => readdirSync(seen.path).includes("one-canary-4417"));
    const { pid = 0 } = await home.status();
    expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toContain("canary-4417");
    await using two = await home.editor({ env: { NAME: "two" } });
    const second = await two.newSession({ cwd: home.path });
    await two.prompt(second.sessionId, "hello there");
    expect(two.text(second.sessionId)).toContain("offline model");
    const wire = await WireClient.open(`ws+unix:${home.socketPath}:/acp`);
    await wire.initialize();
    const { result } = await wire.request("session/new", { cwd: home.path, mcpServers: [] });
    expect(JSON.stringify(result)).toContain('"currentValue":"offline/operator"');
    const prompt = [{ type: "text", text: "hello there" }];
    await wire.request("session/prompt", { sessionId: result?.["sessionId"], prompt });
    await wire.close();
    expect(readdirSync(seen.path).toSorted()).toEqual(["nobody-none", "one-canary-4417", "two-none"]);
  },
  { ...ON_FILES_ONLY, platform: "linux" },
);

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );
}

scenario(
  ["G406", "G412"],
  "where the gateway cannot be started the agent runs in the editor's process, and says so",
  async () => {
    await using home = new Home();
    mkdirSync(dirname(home.socketPath), { recursive: true, mode: 0o755 });
    await using editor = await home.editor();
    const { sessionId } = await editor.newSession({ cwd: home.path });
    await editor.prompt(sessionId, "hello there");
    const notices = editor
      .updates(sessionId)
      .flatMap((update) => (update.sessionUpdate === "notice" ? [update.title] : []));
    expect(notices).toContainEqual(expect.stringMatching(/could not be used.*mode 755.*ends with it/su));
    expect((await home.status().catch(() => ({ isRunning: false }))).isRunning).not.toBe(true);
    const next = await editor.newSession({ cwd: home.path });
    await editor.waitForUpdate(next.sessionId, (update) => update.sessionUpdate === "notice");
  },
  ON_FILES_ONLY,
);

/** An older gateway at the socket, whose process is another one. */
async function olderGateway(home: Home, options: { readonly isBusy: boolean; readonly protocol: number }) {
  mkdirSync(dirname(home.socketPath), { recursive: true, mode: 0o700 });
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  const exited = once(child, "exit");
  const sessions = { running: options.isBusy ? 1 : 0, waiting: 0, idle: 0, resting: 0 };
  const after = (delayMs: number, run: () => void) => {
    const timer = setTimeout(run, delayMs);
    return { clear: () => clearTimeout(timer) };
  };
  let end = async () => {};
  const gateway = new ScriptedGateway({
    world: { after },
    version: "0.0.1",
    protocol: options.protocol,
    answers: {
      "_tenon/gateway/status": () => ({ sessions, clients: 0, pid: child.pid }),
      "_tenon/gateway/stop": () => {
        setImmediate(() => {
          end().catch(() => {});
        });
        return {};
      },
    },
  });
  const listening = await gateway.listen(home.socketPath);
  end = async () => {
    end = async () => {};
    await listening[Symbol.asyncDispose]();
    child.kill("SIGKILL");
    await exited;
  };
  return { gateway, [Symbol.asyncDispose]: async () => await end() };
}

scenario(["G407"], "an older gateway makes room when it is idle, and else is used or told of", async () => {
  await using home = new Home();
  {
    await using old = await olderGateway(home, { isBusy: true, protocol: 1 });
    await using editor = await home.editor();
    const { sessionId } = await editor.newSession({ cwd: home.path });
    await editor.prompt(sessionId, "hello");
    expect(old.gateway.ran).toHaveLength(1);
  }
  {
    await using _old = await olderGateway(home, { isBusy: true, protocol: 0 });
    await using editor = await home.editor();
    const { sessionId } = await editor.newSession({ cwd: home.path });
    const notice = await editor.waitForUpdate(sessionId, (update) => update.sessionUpdate === "notice");
    expect(notice).toMatchObject({ title: expect.stringContaining("version 0.0.1") });
  }
  await using _idle = await olderGateway(home, { isBusy: false, protocol: 0 });
  await using editor = await home.editor();
  const { sessionId } = await editor.newSession({ cwd: home.path });
  await editor.prompt(sessionId, "hello");
  expect(editor.text(sessionId)).toContain("offline model");
  expect((await home.status()).isRunning).toBe(true);
});

/** In front of a gateway: cuts all of its connections at once. */
class CuttingProxy implements AsyncDisposable {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => {
    const target = connect(this.#target);
    for (const [one, other] of [[socket, target] as const, [target, socket] as const]) {
      this.#sockets.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  readonly #target: string;

  constructor(target: string) {
    this.#target = target;
  }

  async listen(path: string): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(path, resolve));
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Resolves once it listens, with where. */
async function startGateway(home: Home, words: readonly string[]) {
  const env = cleanEnv(home.path, { TENON_LOG: "error" });
  const args = [TENON, "gateway", "run", "--json", ...words];
  const child = spawn(agentNode(), args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  while (!text.includes("}")) await once(child.stdout, "data");
  const { addresses }: { addresses: string[] } = JSON.parse(text);
  return { child, addresses };
}

async function endGateway(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}

scenario(
  ["G403", "G408"],
  "twenty editors lose the connection at once: all are back within 3 s, and their servers notice nothing",
  async () => {
    await using home = new Home();
    home.configure([
      echoTool(),
      { name: "slow", steps: [{ do: "delay", ms: 1_500 }], reply: { kind: "text", text: "slow is done" } },
    ]);
    const behind = join(dirname(home.socketPath), "behind.sock");
    mkdirSync(dirname(home.socketPath), { recursive: true, mode: 0o700 });
    const { child } = await startGateway(home, ["--socket", behind]);
    await using proxy = new CuttingProxy(behind);
    await proxy.listen(home.socketPath);
    const editors: AcpClient[] = [];
    try {
      for (let count = 0; count < 20; count += 5) {
        editors.push(...(await Promise.all(Array.from({ length: 5 }, () => home.editor()))));
      }
      const sessions = await Promise.all(editors.map((editor) => editor.newSession({ cwd: home.path })));
      const ids = sessions.map(({ sessionId }) => sessionId);
      await Promise.all(editors.map((editor, at) => editor.prompt(ids[at] ?? "", "hello there")));
      const handshakes = home.received("initialize") + home.received("server/discover");
      const turns = editors.map((editor, at) => editor.prompt(ids[at] ?? "", "call the tool slow"));
      await delay(300);
      const cutAt = performance.now();
      proxy.cut();
      await Promise.all(editors.map((editor, at) => editor.request("_tenon/mcp/status", { sessionId: ids[at] ?? "" })));
      expect(performance.now() - cutAt).toBeLessThan(3_000);
      const ended = await Promise.all(turns);
      expect(ended.map(({ stopReason }) => stopReason)).toEqual(editors.map(() => "end_turn"));
      for (const editor of editors) expectOnceInOrder(editor);
      expect(home.received("initialize") + home.received("server/discover")).toBe(handshakes);
      expect(home.received("tools/call")).toBe(editors.length);
    } finally {
      for (const editor of editors) await editor[Symbol.asyncDispose]();
      await endGateway(child);
    }
  },
  { timeoutMs: 180_000 },
);

scenario(
  ["G409", "G410"],
  "a gateway at an address: with a token, without the editor's programs, environment and files",
  async () => {
    await using home = new Home();
    home.configure();
    mkdirSync(join(home.path, "run"), { mode: 0o700 });
    const socket = join(home.path, "run", "own.sock");
    const { child, addresses } = await startGateway(home, ["--socket", socket, "--listen", "127.0.0.1:0"]);
    try {
      const port = /:(\d+)/u.exec(addresses.join(" "))?.[1];
      const url = `ws://127.0.0.1:${port}`;
      const made = await home.tenon(
        "gateway",
        "token",
        "create",
        "laptop",
        "--scopes",
        "read,prompt,approve,tools",
        "--json",
      );
      const tokenFile = join(home.path, "token");
      writeFileSync(tokenFile, JSON.parse(made.stdout).token, { mode: 0o600 });
      const files = { fs: { readTextFile: true, writeTextFile: true }, terminal: true, session: { notices: {} } };
      await using editor = await startTenon(home, { words: ["--gateway", url, "--token-file", tokenFile] });
      await editor.initialize({ clientCapabilities: files });
      const { sessionId } = await editor.newSession({ cwd: home.path, mcpServers: [] });
      expect(await editor.prompt(sessionId, ECHO)).toMatchObject({ stopReason: "end_turn" });
      expect(home.received("tools/call")).toBe(1);
      // A client that runs its servers itself: the gateway does not.
      const { command, args } = scriptedServer({ tools: [echoTool()] });
      const authorization = `Bearer ${readFileSync(tokenFile, "utf8")}`;
      const bare = await WireClient.open(`${url}/acp`, { authorization });
      await bare.initialize();
      const mcpServers = [
        { name: "program", command, args: [...args], env: [] },
        { type: "http", name: "near", url: "http://127.0.0.1:1/mcp", headers: [] },
      ];
      const { result } = await bare.request("session/new", { cwd: home.path, mcpServers });
      const { servers } = (await bare.request("_tenon/mcp/status", { sessionId: result?.["sessionId"] })).result ?? {};
      const failed = (name: string, words: string) =>
        expect.objectContaining({ name, state: "failed", error: expect.stringContaining(words) });
      expect(servers).toContainEqual(failed("program", "may not start programs"));
      expect(servers).toContainEqual(failed("near", "public https addresses only"));
      await bare.close();
      // A token that is no more: the person hears it, and nothing waits for ever.
      const odd = await startTenon(home, { words: ["--gateway", url], env: { TENON_GATEWAY_TOKEN: "tng_odd" } });
      await odd.initialize();
      await expect(odd.request("session/list", {})).rejects.toMatchObject({ code: -32003 });
      await odd.end();
    } finally {
      await endGateway(child);
    }
    for (const words of [["ws://example.org"], ["wss://example.org/acp?token=tng_x"], ["http://localhost"]]) {
      const { code, stderr } = await home.tenon("acp", "--gateway", ...words);
      expect(code).toBe(2);
      expect(stderr).not.toContain("tng_x");
    }
    expect((await home.tenon("acp", "--gateway", "--model", "x/y")).code).toBe(2);
    expect((await home.tenon("acp", "ws://localhost")).stderr).toContain("is for --gateway");
  },
);

scenario(["G411"], "setup writes the editor's entry with --gateway", async () => {
  await using home = new Home();
  const { code, stdout } = await home.tenon("setup", "zed", "--gateway", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout).entry.args.slice(-2)).toEqual(["acp", "--gateway"]);
});
