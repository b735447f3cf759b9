// Where Tenon keeps things: TENON_HOME moves all of it, else the XDG places.
import { join } from "node:path";

export interface Paths {
  /** Journals. */
  readonly stateDir: string;
}

export function tenonPaths(env: Readonly<Record<string, string | undefined>>): Paths {
  const moved = env["TENON_HOME"];
  if (moved) return { stateDir: join(moved, "state") };
  const home = env["HOME"] ?? env["USERPROFILE"] ?? ".";
  return { stateDir: join(env["XDG_STATE_HOME"] || join(home, ".local", "state"), "tenon") };
}
