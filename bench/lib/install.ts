// Installs the newest release of one npm package into a folder of its own under `.cache/bench-peers`.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run } from "../../scripts/lib/run.js";
import { parseObject } from "../../src/base/json/json.js";

export interface Installed {
  /** The `node_modules` that holds the package. */
  readonly modules: string;
  readonly version: string;
}

/** Big binaries come with some of them. */
const INSTALL_WITHIN_MS = 600_000;

/** Asks for `@latest` by name, because npm otherwise picks the newest release that the running Node suits. */
export async function installNewest(packageName: string): Promise<Installed> {
  const folder = join(ROOT, ".cache/bench-peers", packageName.replace(/^@/, "").replaceAll("/", "-"));
  mkdirSync(folder, { recursive: true });
  const manifest = join(folder, "package.json");
  // Without a manifest here npm would install into the nearest one above: ours.
  if (!existsSync(manifest)) writeFileSync(manifest, '{ "private": true }\n');
  const flags = [
    "--ignore-scripts",
    "--save-exact",
    "--engine-strict=false",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ];
  const installed = await run("npm", ["install", ...flags, `${packageName}@latest`], {
    cwd: folder,
    timeoutMs: INSTALL_WITHIN_MS,
  });
  if (installed.code !== 0) {
    throw new Error(`npm could not install ${packageName}: ${installed.output.split("\n").slice(0, 3).join(" | ")}`);
  }
  const modules = join(folder, "node_modules");
  return { modules, version: versionOf(join(modules, packageName, "package.json")) };
}

function versionOf(manifest: string): string {
  const version = parseObject(readFileSync(manifest, "utf8"))?.["version"];
  if (typeof version !== "string") throw new Error(`${manifest} names no version`);
  return version;
}
