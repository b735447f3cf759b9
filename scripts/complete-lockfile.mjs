// Adds to a lockfile what npm leaves out where a registry lacks the packages of other platforms: without those optional
// entries `npm ci` refuses the file. Run after every `npm install`: node scripts/complete-lockfile.mjs [lockfile…]
import { readFileSync, writeFileSync } from "node:fs";

const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const PROCESSORS = ["arm64", "arm", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

/** Such packages carry their platform in their names: `@oxlint/binding-linux-arm64-musl`. */
function platformOf(name) {
  const words = name.split("/").at(-1).split(/[-_]/);
  const os = SYSTEMS.find((system) => words.includes(system));
  const cpu = PROCESSORS.find((processor) => words.includes(processor));
  const libc = words.includes("musl") || words.includes("musleabihf") ? "musl" : undefined;
  return { ...(cpu && { cpu: [cpu] }), ...(os && { os: [os] }), ...(libc && { libc: [libc] }) };
}

function complete(path) {
  const lock = JSON.parse(readFileSync(path, "utf8"));
  let added = 0;
  for (const [place, entry] of Object.entries(lock.packages)) {
    if (place === "") continue;
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (`${place}/node_modules/${name}` in lock.packages || `node_modules/${name}` in lock.packages) continue;
      const platform = platformOf(name);
      if (!platform.os && !platform.cpu) throw new Error(`${path}: ${name} is missing and its name tells no platform`);
      const dev = entry.dev ? { dev: true } : {};
      lock.packages[`node_modules/${name}`] = { version, ...platform, ...dev, optional: true };
      added += 1;
    }
  }
  const order = ([a], [b]) => (a < b ? -1 : 1);
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(order));
  if (added > 0) writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`${path}: ${added} entries added`);
}

for (const path of process.argv.length > 2 ? process.argv.slice(2) : ["package-lock.json"]) complete(path);
