// A gateway on another host, as it is installed: the editor's programs stay with the editor, and the session has their tools.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ClientApp, methods } from "@agentclientprotocol/sdk";
import { expect, vi } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/base/json/json.js";
import {
  type AcpClient,
  type Behaviour,
  echoTool,
  listLiving,
  scriptedServer,
  type ToolScript,
} from "../../src/testing/index.js";
import { cleanEnv, startTenon, TemporaryFolder } from "./agent.js";
import { agentNode, TENON } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

/** Waits for its end of the cable, then becomes the gateway. Nothing of the namespace is left when that ends. */
const HOST = `
hostname elsewhere
until ip link show "$1" >/dev/null 2>&1; do sleep 0.05; done
ip link set lo up && ip addr add "$2/30" dev "$1" && ip link set "$1" up
shift 2
exec "$@"
`;

function ip(...words: readonly string[]): boolean {
  return spawnSync("ip", words, { stdio: "ignore" }).status === 0;
}

/** Whether this machine lets us have another host. */
function mayMakeHosts(): boolean {
  const isAllowed = spawnSync("unshare", ["--net", "--uts", "true"], { stdio: "ignore" }).status === 0;
  const name = `tnp${process.pid % 100_000}`;
  return isAllowed && ip("link", "add", name, "type", "veth", "peer", "name", `${name}x`) && ip("link", "del", name);
}

/** A network namespace with a gateway in it, at the other end of a cable. */
class OtherHost implements AsyncDisposable {
  readonly home = new TemporaryFolder();
  readonly url: string;
  readonly #cable = `tn${process.pid % 100_000}`;
  readonly #gateway: ChildProcess;
  readonly #here: string;
  #output = "";

  constructor() {
    const [here, there] = [1, 2].map((end) => `10.213.${process.pid % 250}.${end}`);
    this.url = `ws://${there}:4711`;
    const words = ["gateway", "run", "--listen", `${there}:4711`, "--insecure-http"];
    const gateway = [agentNode(), TENON, ...words];
    const args = ["--net", "--uts", "sh", "-c", HOST, "host", `${this.#cable}x`, `${there}`, ...gateway];
    const env = cleanEnv(this.home.path, { TENON_LOG: "debug" });
    this.#gateway = spawn("unshare", args, { env, cwd: this.home.path });
    for (const stream of [this.#gateway.stdout, this.#gateway.stderr]) {
      stream?.on("data", (chunk: Buffer) => (this.#output += chunk.toString()));
    }
    this.#here = `${here}/30`;
  }

  /** Of the gateway: what made the namespace has become it. */
  get pid(): number {
    return this.#gateway.pid ?? 0;
  }

  async listens(): Promise<void> {
    // Not before the process has left our own namespace: both ends would be in that.
    const namespace = (process: string) => readlinkSync(`/proc/${process}/ns/net`);
    const hasLeft = () => {
      if (namespace(`${this.pid}`) === namespace("self")) throw new Error("it is still in our own namespace");
    };
    await vi.waitFor(hasLeft, { timeout: 20_000 });
    ip("link", "add", this.#cable, "type", "veth", "peer", "name", `${this.#cable}x`, "netns", `${this.pid}`);
    ip("addr", "add", this.#here, "dev", this.#cable);
    ip("link", "set", this.#cable, "up");
    await vi.waitFor(() => expectWords(this.#output, ":4711"), { timeout: 20_000, interval: 50 });
  }

  async token(folder: TemporaryFolder): Promise<string> {
    const words = ["gateway", "token", "create", "laptop", "--scopes", "read,prompt,approve,tools", "--json"];
    const made = await runCommand(agentNode(), [TENON, ...words], { env: cleanEnv(this.home.path), cwd: folder.path });
    const path = join(folder.path, "token");
    writeFileSync(path, JSON.parse(made.stdout).token, { mode: 0o600 });
    return path;
  }

  /** All that the gateway wrote: its state and its log. */
  get written(): string {
    const files = readdirSync(this.home.path, { recursive: true, withFileTypes: true });
    const texts = files
      .filter((file) => file.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8"));
    return [...texts, this.#output].join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#gateway, "exit");
    this.#gateway.kill("SIGTERM");
    await ended;
    ip("link", "del", this.#cable);
    this.home[Symbol.dispose]();
  }
}

function expectWords(text: string, words: string): void {
  if (!text.includes(words)) throw new Error(`no ${words} in ${text}`);
}

const FORM = { message: "Who?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } };
const SAMPLE = { maxTokens: 50, messages: [{ role: "user", content: { type: "text", text: "hello" } }] };
const PLAIN: readonly ToolScript[] = [
  echoTool(),
  {
    name: "steps",
    steps: [
      { do: "progress", progress: 1, total: 3, message: "one" },
      { do: "delay", ms: 50 },
    ],
    reply: { kind: "text", text: "three steps" },
  },
  {
    name: "slow",
    steps: [{ do: "progress", progress: 1, message: "begun" }, { do: "never" }],
    reply: { kind: "echo" },
  },
];
const ask = (method: string, params: JsonObject) => ({ kind: "ask_client", method, params }) as const;
const input = (method: string, params: JsonObject) =>
  ({ kind: "ask_input", inputRequests: { q: { method, params } }, requestState: "s" }) as const;
const OLD: Behaviour = {
  tools: [
    ...PLAIN,
    { name: "ask", reply: ask("elicitation/create", FORM) },
    { name: "sample", reply: ask("sampling/createMessage", SAMPLE) },
  ],
};
const NEW: Behaviour = {
  era: "modern",
  tools: [
    ...PLAIN,
    { name: "ask", reply: input("elicitation/create", { mode: "form", ...FORM }) },
    { name: "sample", reply: input("sampling/createMessage", SAMPLE) },
  ],
};

function handed(name: string, behaviour: Behaviour) {
  const { command, args, env } = scriptedServer({ ...behaviour, recordEnv: ["canary-of-args"] }, { marker: MARKER });
  const variables = Object.entries({ ...env, CANARY: "canary-of-env" }).map(([key, value]) => ({ name: key, value }));
  return { name, command, args: [...args], env: variables };
}

const MARKER = "gateway-remote";

async function until(editor: AcpClient, sessionId: string, name: string, state: string): Promise<JsonObject> {
  return await vi.waitFor(
    async () => {
      const status = await editor.request("_tenon/mcp/status", { sessionId });
      const servers = isJsonObject(status) && Array.isArray(status["servers"]) ? status["servers"] : [];
      const found: unknown = servers.find((server) => isJsonObject(server) && server["name"] === name);
      if (isJsonObject(found) && found["state"] === state) return found;
      throw new Error(`${name} is not ${state}: ${JSON.stringify(servers)}`);
    },
    { timeout: 20_000, interval: 200 },
  );
}

const seen = (editor: AcpClient, from = 0) =>
  editor.lines
    .slice(from)
    .map(({ text }) => text)
    .join("\n");

scenario(
  ["G600", "G601", "G602", "G603", "G606"],
  "a gateway on another host: the editor's programs run in the translator's process tree only, and end with it",
  async () => {
    using laptop = new TemporaryFolder();
    await using host = new OtherHost();
    await host.listens();
    const tokenFile = await host.token(laptop);
    const words = ["--gateway", host.url, "--insecure", "--token-file", tokenFile];
    const extend = (app: ClientApp) =>
      app.onRequest(methods.client.elicitation.create, () => ({ action: "accept", content: { name: "Ada" } }));
    const editor = await startTenon(laptop, { words, extend });
    await editor.initialize({ clientCapabilities: { session: { notices: {} }, elicitation: { form: {} } } });
    const mcpServers = [handed("old", OLD), handed("new", NEW)];
    const { sessionId } = await editor.newSession({ cwd: laptop.path, mcpServers });
    for (const name of ["old", "new"]) await until(editor, sessionId, name, "ready");

    const marked = listLiving({ marker: MARKER }).map(({ pid }) => pid);
    const below = (pid: number | undefined) => listLiving({ under: pid ?? 0 }).map((process) => process.pid);
    expect(marked.length).toBe(2);
    expect(below(editor.pid)).toEqual(expect.arrayContaining(marked));
    expect(below(host.pid)).toEqual([]);

    for (const name of ["old", "new"]) {
      const turn = async (tool: string) => {
        const from = editor.lines.length;
        await editor.prompt(sessionId, `mcp__${name}__${tool}`);
        return seen(editor, from);
      };
      const steps = await turn("steps");
      expect(steps).toContain("1/3 one");
      expect(steps).toContain("steps answered: three steps");
      const asked = await turn("ask");
      expect(asked.match(/"method":"elicitation\/create"/gu)).toHaveLength(1);
      expect(asked).toMatch(/ask answered: .*Ada/u);
      const sampled = await turn("sample");
      expect(sampled).toContain(`The server \\"${name}\\" asks offline/operator for an answer`);
      expect(sampled).toMatch(/sample answered: .*This is Tenon's offline model/u);
    }

    await using watcher = await startTenon(laptop, { words });
    await watcher.initialize();
    await watcher.request("session/load", { sessionId, cwd: laptop.path, mcpServers: [] });
    editor.prompt(sessionId, "mcp__old__slow").catch(() => {}); // nobody hears its answer
    await vi.waitFor(() => expectWords(seen(watcher), "begun"), { timeout: 10_000 });
    process.kill(editor.pid ?? 0, "SIGKILL");
    await vi.waitFor(() => expectWords(seen(watcher), "whether it took effect is unknown"), { timeout: 10_000 });
    expect(await until(watcher, sessionId, "old", "reconnecting")).toMatchObject({
      error: expect.stringContaining("is gone; it is waited for 60 s"),
    });
    await vi.waitFor(() => expect(listLiving({ marker: MARKER })).toEqual([]), { timeout: 10_000 });
    await editor[Symbol.asyncDispose]().catch(() => {}); // it was killed

    const { written } = host;
    expect(written).toContain("mcp__old__steps");
    for (const canary of ["canary-of-env", "canary-of-args", "server-program"]) expect(written).not.toContain(canary);
  },
  {
    timeoutMs: 90_000,
    needs: ["ip", "unshare", "hostname"],
    platform: "linux",
    ...(mayMakeHosts() ? {} : { lacks: "the right to make a network namespace, which root has" }),
  },
);
