// Programs of the system that scenarios drive: installed when they are missing and this machine lets us, said so when not.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { run } from "./run.js";

interface SystemPackage {
  /** What the scenarios look for in PATH, and where Debian keeps programs besides. */
  readonly program: string;
  /** Its name for Debian's package manager. */
  readonly debian: string;
  /** Which scenarios do not run without it. */
  readonly for: string;
}

/**
 * A Secret Service of its own for the keyring scenarios; what servers are put into a sandbox by; the browser of the page; the
 * terminal of the chat; the database that gateways share, and what cuts them off from it.
 */
const PACKAGES: readonly SystemPackage[] = [
  { program: "gnome-keyring-daemon", debian: "gnome-keyring", for: "keyring" },
  { program: "dbus-daemon", debian: "dbus", for: "keyring" },
  { program: "bwrap", debian: "bubblewrap", for: "sandbox" },
  { program: "chromium", debian: "chromium", for: "page" },
  { program: "postgres", debian: "postgresql", for: "PostgreSQL" },
  { program: "tmux", debian: "tmux", for: "terminal" },
  { program: "nft", debian: "nftables", for: "partition" },
  { program: "ip", debian: "iproute2", for: "partition" },
];

/** Says what was done. What cannot be installed costs the scenarios that need it, by name, and no others: all of them unless given. */
export async function ensureSystemPackages(...kinds: readonly string[]): Promise<string> {
  const wanted = PACKAGES.filter((one) => kinds.length === 0 || kinds.includes(one.for));
  const missing = wanted.filter(({ program }) => !isInstalled(program));
  if (missing.length === 0) return "every system program is there";
  const names = missing.map(({ debian }) => debian);
  const lost = [...new Set(missing.map((one) => one.for))].join(" and ");
  const without = `not run without it: the ${lost} scenarios; to run them, install ${names.join(", ")}`;
  if (!isInstalled("apt-get")) return `${without} (there is no apt-get here)`;
  if (process.getuid?.() !== 0) return `${without} (that needs root)`;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  await run("apt-get", ["update", "-q"], { env });
  const { code, output } = await run("apt-get", ["install", "-y", "-q", "--no-install-recommends", ...names], { env });
  return code === 0 ? `installed ${names.join(", ")}` : `${without}\n${output}`;
}

function isInstalled(program: string): boolean {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  if (program === "postgres" && postgresFolder() !== undefined) return true;
  return folders.some((folder) => existsSync(join(folder, program)));
}

/** Where the programs of PostgreSQL are: Debian keeps them out of PATH. */
export function postgresFolder(): string | undefined {
  const folders: string[] = [];
  try {
    folders.push(
      execFileSync("pg_config", ["--bindir"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim(),
    );
  } catch {
    // Not every installation has it.
  }
  const versions = "/usr/lib/postgresql";
  const newestFirst = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : [];
  folders.push(...newestFirst.map((version) => join(versions, version, "bin")));
  return folders.find((folder) =>
    ["initdb", "pg_ctl", "postgres"].every((program) => existsSync(join(folder, program))),
  );
}
