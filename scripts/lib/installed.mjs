// Whether node_modules is what the lockfile says. Plain JavaScript without dependencies: it runs before anything is installed.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export function isInstalled(root) {
  const locked = packagesIn(join(root, "package-lock.json"));
  const installed = packagesIn(join(root, "node_modules", ".package-lock.json"));
  if (!locked || !installed) return false;
  return Object.entries(locked).every(
    ([path, entry]) => path === "" || !isForThisMachine(entry) || installed[path]?.version === entry.version,
  );
}

/** npm leaves out optional packages of other platforms; `libc` is not told apart, so those may be missing unnoticed. */
function isForThisMachine({ os, cpu, libc, link, optional, devOptional }) {
  if (link) return false;
  if (!optional && !devOptional) return true;
  const fits = (allowed, mine) => allowed === undefined || [allowed].flat().includes(mine);
  return os !== undefined && libc === undefined && fits(os, process.platform) && fits(cpu, process.arch);
}

function packagesIn(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages;
  } catch {
    return undefined;
  }
}
