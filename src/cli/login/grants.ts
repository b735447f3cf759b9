// The log-ins of this machine's person: kept under the state folder, their key in the system's keyring where there is one.
import { join } from "node:path";
import type { World } from "../../base/ports/world.js";
import { DiskGrantStore, tenonPaths, type VaultStanding } from "../../config/index.js";
import { type Keyring, systemKeyring } from "../keyring.js";

/** Nothing is read or asked before the first use. */
export function personalGrants(world: World, keyring: Keyring = systemKeyring(world)): DiskGrantStore {
  const isOff = world.env["TENON_KEYRING"] === "off";
  return new DiskGrantStore({
    world,
    dir: grantsFolder(world),
    keyring: isOff ? "TENON_KEYRING=off says not to use the system's keyring" : keyring,
  });
}

function grantsFolder(world: World): string {
  return join(tenonPaths(world.env).stateDir, "grants");
}

/** Which store is in use and why, as it was chosen at the first log-in; undefined before. */
export async function grantsStanding(world: World): Promise<VaultStanding | undefined> {
  return await personalGrants(world).standing();
}

/** One sentence for people. */
export function standingText({ keeper, reason }: VaultStanding): string {
  if (keeper === "keyring") return "Log-ins are kept encrypted; their key is in the system's keyring.";
  return `Log-ins are kept in private files with their key beside them: whoever can read your files can read them. Why not in the keyring: ${reason}`;
}
