// The Nodes a bench measures: the one it runs on, and a Node 24 where there is one.
import { existsSync } from "node:fs";
import { node24Path } from "../../scripts/lib/peers.js";
import { run } from "../../scripts/lib/run.js";

export interface NodeProgram {
  readonly path: string;
  /** Without the `v`. */
  readonly version: string;
}

/** `path` stands for the Node 24 of the pinned peers, which `npm run peers` installs. */
export async function nodesToMeasure(path?: string): Promise<NodeProgram[]> {
  if (path !== undefined && !existsSync(path)) throw new Error(`--node ${path}: there is no such file`);
  const own = { path: process.execPath, version: process.versions.node };
  const second = path ?? node24Path();
  if (second === undefined) return [own];
  const { code, output } = await run(second, ["--version"], { timeoutMs: 10_000 });
  const version = /^v(\d+\.\d+\.\d+)/m.exec(output)?.[1];
  if (code !== 0 || version === undefined) throw new Error(`${second} is no Node: ${output.slice(0, 200)}`);
  return version === own.version ? [own] : [own, { path: second, version }];
}
