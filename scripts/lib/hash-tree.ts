// One hash over some files and folders: equal hash, nothing to do again.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

export function hashTree(root: string, paths: readonly string[]): string {
  const hash = createHash("sha256");
  const add = (path: string): void => {
    const full = join(root, path);
    if (!existsSync(full)) return;
    if (statSync(full).isDirectory()) for (const name of readdirSync(full).sort()) add(join(path, name));
    else hash.update(`${path}\0`).update(readFileSync(full)).update("\0");
  };
  for (const path of paths) add(path);
  return hash.digest("hex");
}
