// All translators lose the socket at the same moment: how long each takes to be back, and what the MCP servers see of it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { MARKER_VARIABLE, type ScriptedHttpServer, scriptedHttpServer } from "../../../src/testing/index.js";
import { cleanEnv, TemporaryFolder } from "../agent.js";
import { agentNode, TENON } from "../peers.js";
import { type Editor, Fleet } from "./fleet.js";

export interface Storm {
  /** For each translator, from the cut to an answer about its session. */
  readonly backMs: readonly number[];
  /** Handshakes at the MCP server before the cut, and after it. */
  readonly handshakes: number;
  readonly newHandshakes: number;
  readonly problems: readonly string[];
}

/** Translators that are started at the same time: a machine has only so many cores. */
const BATCH = 10;
const READY_WITHIN_MS = 60_000;

export async function runStorm(translators: number): Promise<Storm> {
  using home = new TemporaryFolder();
  await using server = await scriptedHttpServer({ tools: [{ name: "greet", reply: { kind: "text", text: "hello" } }] });
  const fleet = new Fleet(home, { isValidated: false });
  await using proxy = await CutProxy.start(fleet.socketPath, join(home.path, "run", "g.sock"));
  const gateway = await startGateway(home, proxy.target, fleet.marker);
  try {
    await using _fleet = fleet;
    return await cutAll(fleet, proxy, { server, translators });
  } finally {
    gateway.kill("SIGKILL");
  }
}

async function cutAll(
  fleet: Fleet,
  proxy: CutProxy,
  { server, translators }: { readonly server: ScriptedHttpServer; readonly translators: number },
): Promise<Storm> {
  const sessions: { readonly editor: Editor; readonly sessionId: string }[] = [];
  const mcpServers = [{ type: "http" as const, name: "s", url: server.url, headers: [] }];
  while (sessions.length < translators) {
    const batch = Array.from({ length: Math.min(BATCH, translators - sessions.length) }, async () => {
      const editor = await fleet.editor();
      const { sessionId } = await editor.client.newSession({ cwd: fleet.home.path, mcpServers });
      const isReady = (update: object) => JSON.stringify(update).includes('\\"s\\" is ready');
      await editor.client.waitForUpdate(sessionId, isReady, { timeoutMs: READY_WITHIN_MS });
      return { editor, sessionId };
    });
    sessions.push(...(await Promise.all(batch)));
  }
  const handshakes = handshakesAt(server);
  const connections = proxy.count;
  const cutMs = performance.now();
  proxy.cut();
  const back = sessions.map(async ({ editor, sessionId }) => {
    const view = await editor.client.request("_tenon/session/view", { sessionId });
    return { ms: performance.now() - cutMs, hasSession: JSON.stringify(view).includes(sessionId) };
  });
  const all = await Promise.all(back);
  const lost = all.filter(({ hasSession }) => !hasSession).length;
  return {
    backMs: all.map(({ ms }) => ms),
    handshakes,
    newHandshakes: handshakesAt(server) - handshakes,
    problems: [
      ...(lost > 0 ? [`${lost} translators have lost their session`] : []),
      ...(connections === translators ? [] : [`${connections} connections were cut`]),
    ],
  };
}

function handshakesAt({ requests }: ScriptedHttpServer): number {
  const first = new Set<unknown>(["initialize", "server/discover"]);
  return requests.filter(({ message }) => first.has(message?.["method"])).length;
}

async function startGateway(home: TemporaryFolder, socket: string, marker: string): Promise<ChildProcess> {
  const env = cleanEnv(home.path, { TENON_LOG: "error", [MARKER_VARIABLE]: marker });
  const args = [TENON, "gateway", "run", "--socket", socket];
  const child = spawn(agentNode(), args, { env, cwd: home.path, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit").then(([code]: (number | null)[]) => {
    throw new Error(`the gateway ended with ${code}`);
  });
  await Promise.race([once(child.stdout ?? child, "data"), ended]);
  ended.catch(() => {}); // from now on its end is the fleet's to see
  return child;
}

/** Where translators look for their gateway; it is behind it. */
class CutProxy implements AsyncDisposable {
  readonly target: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, target: string) {
    this.#server = server;
    this.target = target;
    server.on("connection", (socket) => this.#join(socket));
  }

  static async start(path: string, target: string): Promise<CutProxy> {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const server = createServer();
    server.listen(path);
    await once(server, "listening");
    return new CutProxy(server, target);
  }

  get count(): number {
    return this.#sockets.size;
  }

  /** Every connection, at once. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(socket: Socket): void {
    const behind = connect(this.target);
    this.#sockets.add(socket);
    for (const [one, other] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      one.on("error", () => {}); // told by its end
      one.once("close", () => other.destroy());
      one.pipe(other);
    }
    socket.once("close", () => this.#sockets.delete(socket));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }
}
