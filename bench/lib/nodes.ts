// The Nodes a bench measures: those named, else the one it runs on and a Node 24 where there is one.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { node24Path } from "../../scripts/lib/peers.js";
import { run } from "../../scripts/lib/run.js";

export interface NodeProgram {
  readonly path: string;
  /** Without the `v`. */
  readonly version: string;
}

/** In the order given; two of the same version are measured once. The Node 24 comes from `npm run peers`. */
export async function nodesToMeasure(paths: readonly string[]): Promise<NodeProgram[]> {
  const second = node24Path();
  const wanted = paths.length > 0 ? paths : [process.execPath, ...(second === undefined ? [] : [second])];
  const byVersion = new Map<string, NodeProgram>();
  for (const path of wanted.map((name) => resolve(name))) {
    const version = await versionOf(path);
    if (!byVersion.has(version)) byVersion.set(version, { path, version });
  }
  return [...byVersion.values()];
}

async function versionOf(path: string): Promise<string> {
  if (!existsSync(path)) throw new Error(`there is no Node at ${path}`);
  const { code, output } = await run(path, ["--version"], { timeoutMs: 10_000 });
  const version = /^v(\d+\.\d+\.\d+)/m.exec(output)?.[1];
  if (code !== 0 || version === undefined) throw new Error(`${path} is no Node: ${output.slice(0, 200)}`);
  return version;
}
