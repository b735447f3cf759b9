// Where scenarios find what they drive: the built command line, the Node that runs it, and the pinned programs of others.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { node24Path } from "../../scripts/lib/peers.js";

const ROOT = join(import.meta.dirname, "../..");

/** The built command line, as an editor would start it: `[agentNode(), TENON, "acp"]`. */
export const TENON: string = join(ROOT, "dist/cli/main.js");

/** The Node that runs the agent under test; `npm run verify` runs the scenarios once per Node version. */
export function agentNode(): string {
  return process.env["TENON_TEST_NODE"] ?? process.execPath;
}

/** A Node 24, for programs that need one. */
export function node24(): string {
  return present(node24Path());
}

/** A file of a pinned package, e.g. `peerFile("@modelcontextprotocol/server-everything", "dist/index.js")`. */
export function peerFile(packageName: string, file: string): string {
  const path = join(ROOT, ".cache/peers/node_modules", packageName, file);
  return present(existsSync(path) ? path : undefined);
}

function present(path: string | undefined): string {
  if (path === undefined) throw new Error('the peers are missing: run "npm run peers" (npm test does it too)');
  return path;
}
