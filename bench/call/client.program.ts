// The measured process of `bench/call`: connects one client, makes its calls and prints the figures.
import type { BenchClient, Target } from "../lib/mcp-target.js";
import { openRaw } from "../lib/raw-client.js";
import { type AdapterName, isAdapter, openAdapter } from "../lib/tenon-adapters.js";
import { openTenon } from "../lib/tenon-client.js";
import { measure, type Work } from "./work.js";

export interface CallJob {
  readonly client: "raw" | "tenon" | AdapterName | PeerClient;
  readonly target: Target;
  readonly work: Work;
}

/** A toolkit, and the module beside its packages that opens it. */
export interface PeerClient {
  readonly name: string;
  readonly adapter: string;
}

interface PeerAdapter {
  open(name: string, target: Target): Promise<BenchClient>;
}

async function open({ client, target }: CallJob): Promise<BenchClient> {
  if (client === "raw") return await openRaw(target);
  if (client === "tenon") return await openTenon(target);
  if (isAdapter(client)) return await openAdapter(client, target);
  const adapter: PeerAdapter = await import(client.adapter);
  return await adapter.open(client.name, target);
}

const job: CallJob = JSON.parse(process.argv[2] ?? "null");
const client = await open(job);
const figures = await measure(client, job.work);
process.stdout.write(`${JSON.stringify(figures)}\n`);
await client.close();
// Some toolkits keep timers or sockets: the figures are out, nothing is waited for.
process.exit(0);
