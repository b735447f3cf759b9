// `npm run lock`: adds to the lockfiles the optional packages of other platforms that the registry at hand does not have.
// Without their entries `npm ci` refuses the lockfile everywhere; with them it works, and skips what is for other machines.
// The entries carry version and platform, but no hash: only a registry that has the package could give one.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const PROCESSORS = ["arm", "arm64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"];
const LIBRARIES = { gnu: "glibc", gnueabihf: "glibc", musl: "musl", musleabihf: "musl" };

for (const file of ["package-lock.json", "scripts/peers/package-lock.json"]) {
  const path = join(ROOT, file);
  const lock = JSON.parse(readFileSync(path, "utf8"));
  const added = complete(lock.packages);
  if (added.length === 0) continue;
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en")));
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`${file}: added ${added.length}: ${added.join(", ")}`);
}

function complete(packages) {
  const added = [];
  for (const [path, parent] of Object.entries(packages)) {
    if (path === "") continue;
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      const entry = `node_modules/${name}`;
      if (packages[entry] || packages[`${path}/${entry}`] || !/^\d+\.\d+\.\d+/.test(version)) continue;
      packages[entry] = { version, ...platformOf(name), ...(parent.dev ? { dev: true } : {}), optional: true };
      added.push(name);
    }
  }
  return added;
}

/** Packages of this kind are named after the platform they are for. */
function platformOf(name) {
  const words = name.split(/[/-]/);
  const find = (known) => words.filter((word) => known.includes(word));
  const [cpu, os, libc] = [find(PROCESSORS), find(SYSTEMS), words.flatMap((word) => LIBRARIES[word] ?? [])];
  if (cpu.length === 0 && os.length === 0) throw new Error(`cannot tell the platform of ${name}`);
  return { ...(cpu.length > 0 ? { cpu } : {}), ...(libc.length > 0 ? { libc } : {}), ...(os.length > 0 ? { os } : {}) };
}
