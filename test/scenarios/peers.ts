// Where scenarios find what they drive: the built command line, the Node that runs it, and the pinned programs of others.
import { existsSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const PEERS = join(ROOT, ".cache/peers/node_modules");

/** The built command line, as an editor would start it: `[agentNode(), TENON, "acp"]`. */
export const TENON: string = join(ROOT, "dist/cli/main.js");

/** The Node that runs the agent under test; `npm run verify` runs the scenarios once per Node version. */
export function agentNode(): string {
  return process.env["TENON_TEST_NODE"] ?? process.execPath;
}

/** A Node 24, for programs that need one. */
export function node24(): string {
  return present(join(PEERS, `node-${process.platform}-${process.arch}`, "bin/node"));
}

/** A file of a pinned package, e.g. `peerFile("@modelcontextprotocol/server-everything", "dist/index.js")`. */
export function peerFile(packageName: string, file: string): string {
  return present(join(PEERS, packageName, file));
}

function present(path: string): string {
  if (!existsSync(path))
    throw new Error(`${path} is missing: run "npm run peers" (npm test and npm run verify do it too)`);
  return path;
}
