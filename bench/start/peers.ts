// Other ACP agents to stand beside ours: how each is installed and started.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { measuredEnv, type TemporaryFolder } from "../lib/environment.js";
import { installNewest } from "../lib/install.js";
import type { NodeProgram } from "../lib/nodes.js";
import type { Contestant } from "./initialize.js";

export interface Peer extends Contestant {
  readonly version: string;
}

export interface AbsentPeer {
  readonly name: string;
  readonly reason: string;
}

interface PeerRecipe {
  readonly name: string;
  readonly packageName: string;
  /** The program and its arguments. Keys are placeholders: nothing is asked of a provider. */
  start(
    modules: string,
    node: NodeProgram,
  ): { readonly argv: readonly string[]; readonly env?: Record<string, string> };
}

/** Seconds per start: as many rounds as for ours would take an hour. */
const PEER_ROUNDS = 10;

const RECIPES: readonly PeerRecipe[] = [
  {
    name: "opencode acp",
    packageName: "opencode-ai",
    // Its install script would link this very file in place of a launcher; scripts are not run here.
    start: (modules) => ({ argv: [opencodeBinary(modules), "acp"] }),
  },
  {
    name: "claude-agent-acp",
    packageName: "@agentclientprotocol/claude-agent-acp",
    start: (modules, node) => ({
      argv: [node.path, join(modules, "@agentclientprotocol/claude-agent-acp/dist/index.js")],
      env: { ANTHROPIC_API_KEY: "placeholder", IS_SANDBOX: "1" },
    }),
  },
  {
    name: "gemini --acp",
    packageName: "@google/gemini-cli",
    start: (modules, node) => ({
      argv: [node.path, join(modules, "@google/gemini-cli/bundle/gemini.js"), "--acp"],
      env: { GEMINI_API_KEY: "placeholder" },
    }),
  },
];

export async function installPeers(
  node: NodeProgram,
  scratch: TemporaryFolder,
  onStep: (text: string) => void,
): Promise<{ peers: Peer[]; absent: AbsentPeer[] }> {
  const peers: Peer[] = [];
  const absent: AbsentPeer[] = [];
  for (const recipe of RECIPES) {
    onStep(`installing ${recipe.packageName}`);
    try {
      peers.push(await installPeer(recipe, node, scratch));
    } catch (error) {
      absent.push({ name: recipe.name, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return { peers, absent };
}

async function installPeer(recipe: PeerRecipe, node: NodeProgram, scratch: TemporaryFolder): Promise<Peer> {
  const { modules, version } = await installNewest(recipe.packageName);
  const { argv, env } = recipe.start(modules, node);
  const [command, ...args] = argv;
  if (command === undefined) throw new Error("it has no command");
  const cwd = scratch.folder(recipe.packageName.replace(/^.*\//, ""));
  return {
    name: recipe.name,
    version,
    maxRounds: PEER_ROUNDS,
    command: { command, args, cwd, env: { ...measuredEnv(cwd), ...env } },
  };
}

export function opencodeBinary(modules: string): string {
  const system = `opencode-${process.platform}-${process.arch}`;
  const found = [system, `${system}-baseline`]
    .map((name) => join(modules, name, "bin/opencode"))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error(`npm installed no program for ${process.platform} ${process.arch}`);
  return found;
}
