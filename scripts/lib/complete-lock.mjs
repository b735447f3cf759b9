// Adds to the lockfiles the optional packages of other platforms that the registry at hand does not have.
// Without their entries `npm ci` refuses a lockfile everywhere; with them it works, and skips what is for other machines.
// The entries carry version and platform, but no hash: only a registry that has the package could give one.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const PROCESSORS = ["arm", "arm64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"];
const LIBRARIES = { gnu: "glibc", gnueabihf: "glibc", musl: "musl", musleabihf: "musl" };

export function completeLocks(root) {
  for (const file of ["package-lock.json", "scripts/peers/package-lock.json"]) {
    const path = join(root, file);
    const lock = JSON.parse(readFileSync(path, "utf8"));
    const missing = missingEntries(lock.packages);
    if (Object.keys(missing).length === 0) continue;
    const entries = Object.entries({ ...lock.packages, ...missing });
    lock.packages = Object.fromEntries(entries.sort(([a], [b]) => a.localeCompare(b, "en")));
    writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  }
}

/** Lock entries for every exact optional dependency that has none. */
function missingEntries(packages) {
  const missing = {};
  for (const [path, parent] of Object.entries(packages)) {
    if (path === "") continue;
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      const entry = `node_modules/${name}`;
      const isLocked = packages[entry] !== undefined || packages[`${path}/${entry}`] !== undefined;
      if (!isLocked && /^\d+\.\d+\.\d+/.test(version)) missing[entry] = entryFor(name, version, parent.dev);
    }
  }
  return missing;
}

/** Packages of this kind are named after the platform they are for. The keys stand in the order npm writes them. */
function entryFor(name, version, dev) {
  const words = name.split(/[/-]/);
  const cpu = words.filter((word) => PROCESSORS.includes(word));
  const libc = words.flatMap((word) => LIBRARIES[word] ?? []);
  const os = words.filter((word) => SYSTEMS.includes(word));
  if (cpu.length === 0 && os.length === 0) throw new Error(`cannot tell the platform of ${name}`);
  return {
    version,
    ...(cpu.length > 0 ? { cpu } : {}),
    ...(dev ? { dev } : {}),
    ...(libc.length > 0 ? { libc } : {}),
    optional: true,
    ...(os.length > 0 ? { os } : {}),
  };
}
