// The gateway as a child of the bench, and clients that speak to it by WebSocket and read as little as they can.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { WebSocket } from "ws";
import { defined } from "../../src/base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/base/json/json.js";
import { gatewaySocketPath } from "../../src/gateway/index.js";
import type { Program } from "../lib/sample.js";
import { chunkText, messageIn, type Streamed } from "../stream/client.js";
import { type Order, wordsFor } from "../stream/order.js";
import type { GatewayFigures, GatewayJob, GatewayStarted } from "./gateway.program.js";

const ANSWER_WITHIN_MS = 120_000;
/** Only an update with a chunk has it. */
const CHUNK = '"agent_message_chunk"';

export class BenchGateway implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #clients: SocketClient[] = [];
  readonly socketPath: string;
  readonly started: GatewayStarted;

  private constructor(child: ChildProcess, socketPath: string, started: GatewayStarted) {
    this.#child = child;
    this.socketPath = socketPath;
    this.started = started;
  }

  /** Where translators with this environment look for it. `store`: on a PostgreSQL, in a state folder of its own by its name. */
  static async start(
    program: Program,
    accounts: readonly string[] = [],
    store?: { readonly url: string; readonly name: string },
  ): Promise<BenchGateway> {
    const { node, nodeArgs = [], file, env: given, cwd } = program;
    const env = store === undefined ? given : { ...given, TENON_HOME: join(given["TENON_HOME"] ?? "", store.name) };
    const stateDir = join(env["TENON_HOME"] ?? "", "state");
    const socketPath = gatewaySocketPath({ env }, stateDir);
    mkdirSync(dirname(socketPath), { recursive: true, mode: 0o700 });
    const job: GatewayJob = { stateDir, socketPath, accounts, ...defined({ store: store?.url }) };
    const stdio = ["ignore", "inherit", "inherit", "ipc"] as const;
    const child = spawn(node, [...nodeArgs, file, JSON.stringify(job)], { env, cwd, stdio: [...stdio] });
    const [started] = await heard<GatewayStarted>(child);
    if (!started) throw new Error("the gateway did not start");
    return new BenchGateway(child, socketPath, started);
  }

  async figures(isCollected: boolean): Promise<GatewayFigures> {
    this.#child.send({ isCollected });
    const [figures] = await heard<GatewayFigures>(this.#child);
    if (!figures) throw new Error("the gateway does not tell its figures");
    return figures;
  }

  /** Over the socket, or by TCP with the token of an account. */
  async client(token?: string): Promise<SocketClient> {
    const url = token === undefined ? `ws+unix:${this.socketPath}:/acp` : this.started.tcpUrl;
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const web = new WebSocket(url, { headers, perMessageDeflate: false });
    await once(web, "open");
    const client = new SocketClient(web);
    this.#clients.push(client);
    await client.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { web } of this.#clients) web.terminate();
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }
}

/** What it tells next. Rejects when it ends instead. */
async function heard<T>(child: ChildProcess): Promise<readonly T[]> {
  const over = new AbortController();
  const { signal } = over;
  const ended = once(child, "exit", { signal }).then(([code]: (number | null)[]) => {
    throw new Error(`the gateway ended with ${code}`);
  });
  try {
    const told: readonly T[] = await Promise.race([once(child, "message", { signal }), ended]);
    return told;
  } finally {
    over.abort();
    ended.catch(() => {}); // nobody waits for it any more
  }
}

interface Piece {
  readonly data: Buffer;
  readonly arrivedNs: bigint;
}

export class SocketClient {
  readonly web: WebSocket;
  #pieces: Piece[] = [];
  #chunkCount = 0;
  #id = 0;
  readonly #waiting = new Map<number, (message: JsonObject) => void>();

  constructor(web: WebSocket) {
    this.web = web;
    web.on("error", () => {}); // told by its end
    web.on("close", () => {
      for (const settle of this.#waiting.values()) settle({ error: "the connection is over" });
    });
    web.on("message", (data: Buffer) => {
      this.#pieces.push({ data, arrivedNs: process.hrtime.bigint() });
      if (data.includes(CHUNK)) this.#chunkCount += 1;
      // Only answers begin with an id; updates are read after the clock has stopped.
      if (data.toString("latin1", 0, 64).includes('"id":')) this.#answered(data);
    });
  }

  async request(method: string, params: JsonObject): Promise<JsonObject> {
    this.#id += 1;
    const id = this.#id;
    const answer = new Promise<JsonObject>((resolve, reject) => {
      const late = () => reject(new Error(`${method} was not answered`));
      const timer = setTimeout(late, ANSWER_WITHIN_MS);
      this.#waiting.set(id, (message) => {
        clearTimeout(timer);
        resolve(message);
      });
    });
    this.web.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const { result, error } = await answer;
    const { retryAfterMs } = isJsonObject(error) && isJsonObject(error["data"]) ? error["data"] : {};
    if (typeof retryAfterMs === "number") {
      // A token has so many requests a minute.
      await new Promise((resolve) => setTimeout(resolve, retryAfterMs));
      return await this.request(method, params);
    }
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return isJsonObject(result) ? result : {};
  }

  async newSession(cwd: string): Promise<string> {
    const { sessionId } = await this.request("session/new", { cwd, mcpServers: [] });
    if (typeof sessionId !== "string") throw new Error("a session has no id");
    return sessionId;
  }

  async stream(sessionId: string, order: Order): Promise<Streamed> {
    this.forget();
    const prompt = [{ type: "text", text: wordsFor(order) }];
    const startMs = performance.now();
    await this.request("session/prompt", { sessionId, prompt });
    return { elapsedMs: performance.now() - startMs, chunks: this.chunks() };
  }

  forget(): void {
    this.#pieces = [];
    this.#chunkCount = 0;
  }

  /** What every chunk since `forget` said, and when it arrived. */
  chunks(): Streamed["chunks"] {
    return this.#pieces.flatMap(({ data, arrivedNs }) => {
      const text = chunkText(messageIn(data.toString("utf8")));
      return text === undefined ? [] : [{ text, arrivedNs }];
    });
  }

  async until(count: number): Promise<void> {
    const until = performance.now() + ANSWER_WITHIN_MS;
    while (this.#chunkCount < count) {
      if (performance.now() > until) throw new Error(`${this.#chunkCount} of ${count} chunks arrived`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  #answered(data: Buffer): void {
    const message: JsonValue = JSON.parse(data.toString("utf8"));
    if (!isJsonObject(message) || message["method"] !== undefined) return;
    const id = Number(message["id"]);
    this.#waiting.get(id)?.(message);
    this.#waiting.delete(id);
  }
}
