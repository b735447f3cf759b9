// Installs the pinned programs of others that the scenarios drive (acpx, MCP servers, a Node 24) into `.cache/peers`.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hashTree } from "./hash-tree.js";
import { ROOT, run } from "./run.js";

const FOLDER = join(ROOT, ".cache/peers");
const ARGS = ["ci", "--ignore-scripts", "--engine-strict=false", "--prefer-offline", "--loglevel=error"];

/** Does nothing when what is installed is what the lockfile pins. */
export async function ensurePeers(): Promise<string> {
  return await ensurePinned("peers");
}

/** Installs what the package of `scripts/<name>` pins into `.cache/<name>`. */
export async function ensurePinned(name: "peers" | "conformance" | "servers" | "typedoc"): Promise<string> {
  const source = join(ROOT, "scripts", name);
  const folder = join(ROOT, ".cache", name);
  const stamp = join(folder, "installed");
  const pins = ["package-lock.json", "package.json"];
  const wanted = hashTree(
    ROOT,
    pins.map((file) => `scripts/${name}/${file}`),
  );
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return "up to date";
  mkdirSync(folder, { recursive: true });
  rmSync(stamp, { force: true });
  for (const file of pins) copyFileSync(join(source, file), join(folder, file));
  copyFileSync(join(ROOT, ".npmrc"), join(folder, ".npmrc"));
  const { code, output } = await run("npm", ARGS, { cwd: folder });
  if (code !== 0) throw new Error(`npm could not install the ${name}:\n${output}`);
  writeFileSync(stamp, wanted);
  return "installed";
}

/** The Node 24 among them, where there is one for this platform; `TENON_NODE24` names another. */
export function node24Path(): string | undefined {
  const path =
    process.env["TENON_NODE24"] ?? join(FOLDER, "node_modules", `node-${process.platform}-${process.arch}`, "bin/node");
  return existsSync(path) ? path : undefined;
}
