// Real MCP servers of others as scenarios need them: a spec to connect to, and for remote ones the process behind it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import {
  type CallOptions,
  type ConnectionOptions,
  type ElicitRequest,
  McpConnection,
  type Peer,
  type SandboxSpec,
  type ServerLog,
  type ServerSpec,
} from "../../src/mcp/index.js";
import { nodeWorld, stderrLog } from "../../src/world/index.js";
import { cleanEnv } from "./agent.js";
import { peerFile } from "./peers.js";

const LISTENING_MS = 30_000;

/** Node comes with the peers' own minimum in mind: they run on the one that runs the tests. */
export function stdioSpec(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  sandbox?: SandboxSpec,
): ServerSpec {
  return { kind: "stdio", name, command: process.execPath, args, env, ...(sandbox ? { sandbox } : {}) };
}

export function remoteSpec(name: string, url: string, kind: "http" | "sse" = "http"): ServerSpec {
  return { kind, name, url, headers: {} };
}

export const EVERYTHING = "@modelcontextprotocol/server-everything";
export const FILESYSTEM = "@modelcontextprotocol/server-filesystem";
export const MEMORY = "@modelcontextprotocol/server-memory";
export const CONTEXT7 = "@upstash/context7-mcp";
export const GIT = "@cyanheads/git-mcp-server";

export const program = (packageName: string): string => peerFile(packageName, "dist/index.js");

/** A server of others that listens on a port of ours; ended with the scenario. */
export class RemotePeer implements AsyncDisposable {
  readonly origin: string;
  readonly #child: ChildProcess;

  private constructor(origin: string, child: ChildProcess) {
    this.origin = origin;
    this.#child = child;
  }

  /** `start` says how the program is told its port. Resolves once it accepts connections. */
  static async start(
    packageName: string,
    start: (port: string) => { readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> },
  ): Promise<RemotePeer> {
    const port = await freePort();
    const { args = [], env = {} } = start(String(port));
    const child = spawn(process.execPath, [program(packageName), ...args], {
      env: cleanEnv(tmpdir(), env),
      cwd: tmpdir(),
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => {
      said = `${said}${chunk.toString()}`.slice(-4_000);
    });
    const origin = `http://127.0.0.1:${port}`;
    const end = performance.now() + LISTENING_MS;
    while (!(await answers(origin))) {
      if (child.exitCode !== null || performance.now() > end) {
        child.kill("SIGKILL");
        throw new Error(`${packageName} does not listen:\n${said}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return new RemotePeer(origin, child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}

async function answers(origin: string): Promise<boolean> {
  const { hostname, port } = new URL(origin);
  const { connect } = await import("node:net");
  return await new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/** A person who says yes, a model that always says the same, and a memory of what was asked. */
export class AgreeablePeer implements Peer {
  readonly asked: ElicitRequest[] = [];
  readonly logged: ServerLog[] = [];
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  readonly roots: NonNullable<Peer["roots"]> = () => [{ uri: `file://${this.#root}`, name: "root" }];

  readonly elicit: NonNullable<Peer["elicit"]> = async (request) => {
    this.asked.push(request);
    return request.mode === "url" ? { action: "accept" } : { action: "accept", content: { name: "Ada", check: true } };
  };

  readonly sample: NonNullable<Peer["sample"]> = async (params) => {
    const text = `sampled with at most ${JSON.stringify(params["maxTokens"])} tokens`;
    return { role: "assistant", content: { type: "text", text }, model: "constant", stopReason: "endTurn" };
  };

  readonly log: NonNullable<Peer["log"]> = (entry) => this.logged.push(entry);
}

/** Connected, or an error that says why not. */
export async function connected(
  spec: ServerSpec,
  cwd: string,
  options: Partial<ConnectionOptions> = {},
): Promise<McpConnection> {
  const world = nodeWorld({ log: stderrLog("error") });
  const connection = new McpConnection(spec, { world, cwd, client: { name: "scenario", version: "1" }, ...options });
  connection.start();
  const state = await connection.state.until(({ kind }) => kind === "ready" || kind === "failed", unending());
  if (state.kind === "ready") return connection;
  await connection.close();
  throw new Error(`not connected: ${state.kind === "failed" ? state.cause.message : state.kind}`);
}

export function unending(): AbortSignal {
  return new AbortController().signal;
}

export function callOptions(options: Partial<CallOptions> = {}): CallOptions {
  return { signal: unending(), onProgress: () => {}, ...options };
}
