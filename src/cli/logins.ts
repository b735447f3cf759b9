// The log-ins of the person on this machine: stored under the state folder, their key in the system's keyring if possible.
import { join } from "node:path";
import type { World } from "../base/ports/world.js";
import { DiskGrantStore, tenonPaths, type VaultStatus } from "../config/index.js";
import { type Keyring, systemKeyring } from "./secrets.js";

/** Reads nothing before the first use. */
export function personalGrants(world: World, keyring: Keyring = systemKeyring(world)): DiskGrantStore {
  const isOff = world.env["TENON_KEYRING"] === "off";
  return new DiskGrantStore({
    world,
    dir: join(tenonPaths(world.env).stateDir, "grants"),
    keyring: isOff ? "TENON_KEYRING=off says not to use the system's keyring" : keyring,
  });
}

/** Where the key is stored and why, as chosen at the first log-in; undefined before. */
export async function grantKeyStatus(world: World): Promise<VaultStatus | undefined> {
  return await personalGrants(world).status();
}

/** One sentence for people. */
export function grantKeyText({ keeper, reason }: VaultStatus): string {
  if (keeper === "keyring") return "Log-ins are kept encrypted; their key is in the system's keyring.";
  return `Log-ins are kept in private files with their key beside them: whoever can read your files can read them. Why not in the keyring: ${reason}`;
}
