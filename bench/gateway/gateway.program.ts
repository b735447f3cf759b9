// The gateway of the bench, as `tenon gateway run` has it; only the model is ours. It tells its CPU and memory by IPC.
import { defined } from "../../src/base/json/defined.js";
import { isJsonObject } from "../../src/base/json/json.js";
import { loadGateway, type Nodes, tokensInFile } from "../../src/gateway/index.js";
import { openPostgresStore } from "../../src/postgres/index.js";
import { createHost } from "../../src/session/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { streamingModel } from "../stream/model.js";

export interface GatewayJob {
  readonly stateDir: string;
  readonly socketPath: string;
  /** Each with a token, which may do everything but administer. */
  readonly accounts: readonly string[];
  /** The address of a PostgreSQL; files of the state folder unless given. */
  readonly store?: string;
}

export interface GatewayStarted {
  readonly tcpUrl: string;
  readonly tokens: readonly string[];
}

/** Memory after collections. */
export interface GatewayFigures {
  readonly cpuUs: number;
  readonly heapKb: number;
  /** Heap and everything outside it that V8 knows of. */
  readonly memoryKb: number;
  /** Statements that appended to the database, how long they took together, and the records they had. */
  readonly appendBatches: number;
  readonly appendMs: number;
  readonly appendedRecords: number;
}

const COLLECTIONS = 6;

let nodes: Nodes | undefined;

async function start({ stateDir, socketPath, accounts, store: url }: GatewayJob): Promise<GatewayStarted> {
  const world = nodeWorld({ log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} } });
  const node = `bench-${process.pid}`;
  const store =
    url === undefined ? undefined : await openPostgresStore({ world, url, node: { name: node, roots: [] } });
  nodes = store?.nodes;
  const file = store?.tokens ?? tokensInFile(world, stateDir);
  const tokens: string[] = [];
  for (const account of accounts) {
    tokens.push(
      (
        await file.create({
          name: `${account}-${process.pid}`,
          account,
          scopes: ["read", "prompt", "approve", "tools"],
        })
      ).token,
    );
  }
  const { RunningGateway } = await loadGateway();
  const gateway = await RunningGateway.start({
    ...{ world, stateDir, host: "bench", node, ...defined({ store }) },
    listen: [
      { kind: "socket", path: socketPath },
      { kind: "tcp", host: "127.0.0.1", port: 0 },
    ],
    openRuntime: async ({ stateDir: own, kept }) =>
      createHost({
        ...{ world, stateDir: own, store: kept.sessions, model: streamingModel },
        ...{ unattended: "wait", maxQueuedPrompts: 8, openTurns: "continue" },
      }),
    onStop: () => process.exit(0),
  });
  const address = gateway.addresses.find((one) => one.startsWith("127.0.0.1:"));
  return { tcpUrl: `ws://${address ?? ""}/acp`, tokens };
}

async function figures(isCollected: boolean): Promise<GatewayFigures> {
  const { user, system } = process.cpuUsage();
  for (let round = isCollected ? 0 : COLLECTIONS; round < COLLECTIONS; round++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    globalThis.gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  const { appendBatches = 0, appendMs = 0, appendedRecords = 0 } = nodes?.figures() ?? {};
  return {
    ...{ cpuUs: user + system, heapKb: heapUsed / 1_024, memoryKb: (heapUsed + external) / 1_024 },
    ...{ appendBatches, appendMs, appendedRecords },
  };
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

process.on("disconnect", () => process.exit(0));
process.on("message", (message) => {
  const isCollected = isJsonObject(message) && message["isCollected"] === true;
  figures(isCollected).then((found) => process.send?.(found), fail);
});
start(JSON.parse(process.argv[2] ?? "{}")).then((started) => process.send?.(started), fail);
