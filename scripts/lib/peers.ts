// Installs the pinned programs of others that the scenarios drive (acpx, MCP servers, a Node 24) into `.cache/peers`.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hashTree } from "./hash-tree.js";
import { ROOT, run } from "./run.js";

const FOLDER = join(ROOT, ".cache/peers");
const STAMP = join(FOLDER, "installed");
const ARGS = ["ci", "--ignore-scripts", "--engine-strict=false", "--prefer-offline", "--loglevel=error"];

/** Does nothing when what is installed is what the lockfile pins. */
export async function ensurePeers(): Promise<string> {
  const wanted = hashTree(ROOT, ["scripts/peers"]);
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === wanted) return "up to date";
  mkdirSync(FOLDER, { recursive: true });
  rmSync(STAMP, { force: true });
  for (const name of ["package.json", "package-lock.json"])
    copyFileSync(join(ROOT, "scripts/peers", name), join(FOLDER, name));
  copyFileSync(join(ROOT, ".npmrc"), join(FOLDER, ".npmrc"));
  const { code, output } = await run("npm", ARGS, { cwd: FOLDER });
  if (code !== 0) throw new Error(`npm could not install the peers:\n${output}`);
  writeFileSync(STAMP, wanted);
  return "installed";
}

/** The Node 24 among them, where there is one for this platform; `TENON_NODE24` names another. */
export function node24Path(): string | undefined {
  const path =
    process.env["TENON_NODE24"] ?? join(FOLDER, "node_modules", `node-${process.platform}-${process.arch}`, "bin/node");
  return existsSync(path) ? path : undefined;
}
