// A program that needs the tools of its servers, measured from its first line: loads a toolkit, or Tenon and one of its adapters, as it
// was installed, connects all servers at once, and prints how long each took.

import type * as Tools from "../../src/library/tools.js";
import type { PeerClient } from "../call/client.program.js";
import type { Figures } from "../lib/sample.js";
import type { AdapterName } from "../lib/tenon-adapters.js";
import type { StdioTarget } from "./client.program.js";

export interface ToolkitJob {
  readonly client: AdapterName | PeerClient;
  /** Where `tenon/tools` is, as built. */
  readonly library: string;
  /** Of these the tools must be there; the others only must not be in the way. */
  readonly healthy: readonly StdioTarget[];
  readonly others: readonly StdioTarget[];
}

interface Opened {
  readonly toolCount: number;
  close(): Promise<unknown>;
}

type Open = (healthy: readonly StdioTarget[], others: readonly StdioTarget[]) => Promise<Opened>;

interface PeerAdapter {
  loadMany(name: string): Promise<(targets: readonly StdioTarget[]) => Promise<Opened>>;
}

async function load({ client, library }: ToolkitJob): Promise<Open> {
  if (typeof client === "string") return await loadAdapter(client, library);
  const peer: PeerAdapter = await import(client.adapter);
  const open = await peer.loadMany(client.name);
  return (healthy, others) => open([...others, ...healthy]);
}

async function loadAdapter(adapter: AdapterName, library: string): Promise<Open> {
  const { openTools, toAiSdkTools, toLangChainTools }: typeof Tools = await import(library);
  const langChain = adapter === "toLangChainTools" ? await loadLangChain() : undefined;
  return async (healthy, others) => {
    const named = (targets: readonly StdioTarget[], prefix: string) =>
      targets.map(({ command, args }, index) => [`${prefix}-${index}`, { command, args: [...args] }] as const);
    const good = named(healthy, "good");
    const set = await openTools({ mcpServers: Object.fromEntries([...named(others, "bad"), ...good]) });
    if (others.length === 0) await set.ready();
    else await Promise.all(good.map(([server]) => set.ready({ server }))); // not for the bad ones
    const { tools } = langChain ? toLangChainTools(set, langChain) : toAiSdkTools(set);
    if (Object.keys(tools).length === 0) throw new Error("no tool is offered");
    // Of ten thousand most are behind search, and Tenon's own are not counted.
    const names = new Set<string>(good.map(([server]) => server));
    const toolCount = set.servers().reduce((sum, server) => sum + (names.has(server.name) ? server.toolCount : 0), 0);
    return { toolCount, close: () => set.close() };
  };
}

async function loadLangChain() {
  const [{ DynamicStructuredTool }, { ToolMessage }] = await Promise.all([
    import("@langchain/core/tools"),
    import("@langchain/core/messages"),
  ]);
  return { DynamicStructuredTool, ToolMessage };
}

async function main(job: ToolkitJob): Promise<Figures> {
  const before = process.cpuUsage();
  const startMs = performance.now();
  const open = await load(job);
  const loadedMs = performance.now();
  const opened = await open(job.healthy, job.others);
  const readyMs = performance.now();
  const { user, system } = process.cpuUsage(before);
  await opened.close();
  return {
    totalMs: readyMs - startMs,
    loadMs: loadedMs - startMs,
    readyMs: readyMs - loadedMs,
    cpuMs: (user + system) / 1000,
    tools: opened.toolCount,
  };
}

process.stdout.write(`${JSON.stringify(await main(JSON.parse(process.argv[2] ?? "null")))}\n`);
process.exit(0);
