// One sample of the sessions bench: opens idle sessions over ACP in this process, and says what each holds.
import { readdirSync } from "node:fs";
import { PassThrough, Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { Front, HostAccess, loadAgent } from "../../src/acp/index.js";
import { uuidV7 } from "../../src/base/id.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/base/json/json.js";
import { LineSplitter } from "../../src/base/json/ndjson.js";
import { createHost } from "../../src/session/index.js";
import { nodeWorld } from "../../src/world/index.js";

export interface SessionsJob {
  readonly side: "sdk" | "tenon";
  readonly count: number;
  /** An MCP server over HTTP that every session connects to. */
  readonly serverUrl?: string;
}

/** The first sessions load and compile what the others find there. */
const WARM_UP = 5;
/** A single session is measured this often: the collector leaves a few kilobytes more or less. */
const ROUNDS_OF_ONE = 15;
const BURST = 10;
const READY_WITHIN_MS = 60_000;

/** Writes messages and waits for their answers; keeps nothing of what it has read. */
class Client {
  readonly toAgent: PassThrough = new PassThrough();
  readonly fromAgent: PassThrough = new PassThrough();
  readonly #lines = new LineSplitter(16_777_216);
  readonly #waiting = new Map<JsonValue, (message: JsonObject) => void>();
  #id = 0;

  constructor() {
    this.fromAgent.on("data", (chunk: Buffer) => {
      for (const line of this.#lines.push(chunk)) if (line.kind === "line") this.#receive(JSON.parse(line.text));
    });
  }

  async request(method: string, params: JsonObject): Promise<JsonObject> {
    const id = ++this.#id;
    const { result, error } = await new Promise<JsonObject>((resolve) => {
      this.#waiting.set(id, resolve);
      this.toAgent.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return isJsonObject(result) ? result : {};
  }

  #receive(message: JsonValue): void {
    const id = isJsonObject(message) ? message["id"] : undefined;
    if (!isJsonObject(message) || id === undefined) return;
    this.#waiting.get(id)?.(message);
    this.#waiting.delete(id);
  }
}

function startTenon({ toAgent, fromAgent }: Client): () => number {
  const world = nodeWorld({ log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} } });
  const runtime = createHost({ world });
  const front = new Front({
    input: toAgent,
    output: fromAgent,
    world,
    newSessionId: () => uuidV7(Date.now(), (count) => world.randomBytes(count)),
    start: (stream, takePromised) => {
      loadAgent().then(
        ({ createAgent }) =>
          createAgent({ access: new HostAccess(runtime), promised: takePromised(), send: stream.send }).connect(stream),
        fail,
      );
    },
  });
  front.closed.then(() => runtime.close()).then(() => process.exit(0), fail);
  const isReady = ({ state }: { readonly state: string }) => state === "ready";
  return () => runtime.sessions.filter(({ servers }) => servers.length > 0 && servers.every(isReady)).length;
}

/** What a session cannot do without: an id, and where it is. */
function startSdk({ toAgent, fromAgent }: Client): () => number {
  const sessions = new Map<string, { readonly cwd: string }>();
  agent({ name: "bare" })
    .onRequest(methods.agent.initialize, () => ({ protocolVersion: 1, agentCapabilities: {} }))
    .onRequest(methods.agent.session.new, ({ params }) => {
      const sessionId = crypto.randomUUID();
      sessions.set(sessionId, { cwd: params.cwd });
      return { sessionId };
    })
    .onRequest(methods.agent.session.close, ({ params }) => {
      sessions.delete(params.sessionId);
      return {};
    })
    .connect(ndJsonStream(Writable.toWeb(fromAgent), Readable.toWeb(toAgent)));
  return () => 0;
}

interface Held {
  readonly heapKb: number;
  readonly rssKb: number;
  readonly fds: number;
}

/** After collections and a moment for what runs out by itself. */
async function held(): Promise<Held> {
  if (!globalThis.gc) throw new Error("start it with --expose-gc");
  for (let round = 0; round < 4; round++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    globalThis.gc();
  }
  const { heapUsed, rss } = process.memoryUsage();
  return { heapKb: heapUsed / 1_024, rssKb: rss / 1_024, fds: openFiles() };
}

function openFiles(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return 0; // no /proc: not told
  }
}

async function openSessions(client: Client, count: number, serverUrl: string | undefined): Promise<string[]> {
  const mcpServers = serverUrl === undefined ? [] : [{ type: "http", name: "shared", url: serverUrl, headers: [] }];
  const ids: string[] = [];
  while (ids.length < count) {
    const burst = Array.from({ length: Math.min(BURST, count - ids.length) }, () =>
      client.request("session/new", { cwd: process.cwd(), mcpServers }),
    );
    for (const { sessionId } of await Promise.all(burst)) {
      if (typeof sessionId !== "string") throw new Error("a session has no id");
      ids.push(sessionId);
    }
  }
  return ids;
}

async function closeSessions(client: Client, ids: readonly string[]): Promise<void> {
  for (const sessionId of ids) await client.request("session/close", { sessionId });
}

async function main({ side, count, serverUrl }: SessionsJob): Promise<JsonObject> {
  const client = new Client();
  const readyCount = side === "tenon" ? startTenon(client) : startSdk(client);
  const open = async (sessions: number) => {
    const ids = await openSessions(client, sessions, serverUrl);
    const until = performance.now() + READY_WITHIN_MS;
    const wanted = serverUrl !== undefined && side === "tenon" ? sessions : 0;
    while (readyCount() < wanted) {
      if (performance.now() > until) throw new Error(`${readyCount()} of ${sessions} sessions have their server`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return ids;
  };
  await client.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  for (let round = 0; round < 3; round++) await closeSessions(client, await open(WARM_UP));
  const rounds = count === 1 ? ROUNDS_OF_ONE : 1;
  const heap: number[] = [];
  const rss: number[] = [];
  const fds: number[] = [];
  const left: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = await held();
    const ids = await open(count);
    const now = await held();
    heap.push((now.heapKb - before.heapKb) / count);
    rss.push((now.rssKb - before.rssKb) / count);
    fds.push((now.fds - before.fds) / count);
    await closeSessions(client, ids);
    left.push(((await held()).heapKb - before.heapKb) / count);
  }
  const middle = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
  return { heapKb: middle(heap), rssKb: middle(rss), fds: middle(fds), leftKb: middle(left) };
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

const job: SessionsJob = JSON.parse(process.argv[2] ?? "{}");
main(job).then((figures) => {
  process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit(0));
}, fail);
