// The toolkits to stand beside Tenon: which package and release each is, and where it is installed.
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run } from "../../scripts/lib/run.js";
import type { PeerClient } from "./client.program.js";

export interface AbsentPeer {
  readonly name: string;
  readonly reason: string;
}

/** The newest releases that run on Node 20, and what else they need beside them. */
const RECIPES: readonly { readonly name: string; readonly packages: readonly string[] }[] = [
  { name: "sdk-v2", packages: ["@modelcontextprotocol/client@2.4.0"] },
  { name: "sdk-v1", packages: ["@modelcontextprotocol/sdk@1.32.2"] },
  { name: "ai-sdk", packages: ["@ai-sdk/mcp@1.0.101"] },
  { name: "mcporter", packages: ["mcporter@0.9.0"] },
  { name: "mcp-use", packages: ["mcp-use@1.34.6"] },
  { name: "mastra", packages: ["@mastra/mcp@0.14.5", "@mastra/core"] },
  {
    name: "langchain",
    packages: ["@langchain/mcp-adapters@1.1.4", "@langchain/core@1.2.13", "@langchain/langgraph@1.4.16", "zod@4.6.7"],
  },
  { name: "openai-agents", packages: ["@openai/agents@0.20.0", "zod"] },
];

const ADAPTER = join(ROOT, "bench/call/peer-clients.mjs");
const INSTALL_WITHIN_MS = 600_000;
const FLAGS = ["--ignore-scripts", "--save-exact", "--no-audit", "--no-fund", "--loglevel=error"];

export const PEER_NAMES: readonly string[] = RECIPES.map(({ name }) => name);

/** Each in a folder of its own: they need different releases of the same packages. */
export async function installPeers(
  names: readonly string[],
  onStep: (text: string) => void,
): Promise<{ peers: PeerClient[]; absent: AbsentPeer[] }> {
  const peers: PeerClient[] = [];
  const absent: AbsentPeer[] = [];
  for (const { name, packages } of RECIPES.filter((recipe) => names.includes(recipe.name))) {
    const folder = join(ROOT, ".cache/bench-peers", `toolkit-${name}`);
    onStep(`installing ${packages.join(" ")}`);
    const reason = await install(folder, packages);
    if (reason !== undefined) {
      absent.push({ name, reason });
      continue;
    }
    const adapter = join(folder, "adapter.mjs");
    copyFileSync(ADAPTER, adapter);
    peers.push({ name, adapter });
  }
  return { peers, absent };
}

/** Undefined when it went well, otherwise what npm said. */
async function install(folder: string, packages: readonly string[]): Promise<string | undefined> {
  mkdirSync(folder, { recursive: true });
  const manifest = join(folder, "package.json");
  // Without a manifest here npm would install into the nearest one above: ours.
  if (!existsSync(manifest)) writeFileSync(manifest, '{ "private": true }\n');
  const installed = await run("npm", ["install", ...FLAGS, ...packages], { cwd: folder, timeoutMs: INSTALL_WITHIN_MS });
  return installed.code === 0 ? undefined : installed.output.split("\n").slice(0, 3).join(" | ");
}
