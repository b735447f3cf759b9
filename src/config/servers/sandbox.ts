// The sandbox of a server: what its entry says, under the least its layer must have. Pure.

import { dirname, join } from "node:path";
import { defined } from "../../base/json/defined.js";
import {
  type ConfigValues,
  SANDBOX_MODES,
  type SandboxEntry,
  type SandboxMode,
  type SandboxWritten,
} from "../layers/entry.js";
import type { PossiblePaths } from "../layers/paths.js";

export type SandboxOrigin = "user" | "project" | "client";

/** The least sandbox of each origin, and where Tenon keeps its own things. */
export interface LeastSandboxes extends NonNullable<ConfigValues["sandbox"]> {
  readonly paths: PossiblePaths;
}

/** What a server may touch. The grants hold in whichever sandbox it runs in the end, so they are there with `off` too. */
export interface ServerSandbox {
  readonly mode: SandboxMode;
  readonly network: boolean;
  readonly read: readonly string[];
  readonly write: readonly string[];
  /** Its entry is a project's. */
  readonly isProject: boolean;
  /** The user wants servers of its layer in a sandbox, whatever its entry says. */
  readonly isImposed: boolean;
  /** Tenon's own folders: a server that writes there could approve itself. */
  readonly hidden: readonly string[];
  /** Where servers that are downloaded at their start keep that; undefined when no home is known. */
  readonly cacheDir?: string;
  /** Grants of a project that would loosen the user's least: they do not count. */
  readonly refused: readonly ("network" | "read" | "write")[];
}

export function stricterMode(one: SandboxMode = "off", other: SandboxMode = "off"): SandboxMode {
  return SANDBOX_MODES.indexOf(one) > SANDBOX_MODES.indexOf(other) ? one : other;
}

/**
 * The stricter mode counts. The network is granted when a layer that may grant it does, and none denies it. A project's own
 * grants count only where the user asks for no sandbox at all: there, whatever it writes tightens.
 */
export function sandboxOf(
  written: SandboxWritten | undefined,
  origin: SandboxOrigin,
  leasts: LeastSandboxes,
): ServerSandbox {
  const { paths } = leasts;
  const configDir = paths.configFile === undefined ? undefined : dirname(paths.configFile);
  const least = entryOf(leasts[origin]);
  const entry = entryOf(written);
  const mayGrant = origin !== "project" || least.mode === "off";
  const isNetworkDenied = entry.network === false || least.network === false;
  const isNetworkGranted = least.network === true || (mayGrant && entry.network === true);
  const granted = mayGrant ? entry : { mode: entry.mode };
  return {
    mode: stricterMode(entry.mode, least.mode),
    network: isNetworkGranted && !isNetworkDenied,
    read: [...(least.read ?? []), ...(granted.read ?? [])],
    write: [...(least.write ?? []), ...(granted.write ?? [])],
    hidden: [configDir, paths.stateDir, paths.cacheDir].filter((folder) => folder !== undefined),
    ...defined({ cacheDir: paths.cacheDir === undefined ? undefined : join(paths.cacheDir, "sandbox") }),
    isProject: origin === "project",
    isImposed: least.mode !== "off",
    refused: mayGrant ? [] : grantsOf(entry, least),
  };
}

function grantsOf({ network, read, write }: SandboxEntry, least: SandboxEntry): ServerSandbox["refused"] {
  return [
    ...(network === true && least.network !== true ? (["network"] as const) : []),
    ...(read?.length ? (["read"] as const) : []),
    ...(write?.length ? (["write"] as const) : []),
  ];
}

function entryOf(written: SandboxWritten = "off"): SandboxEntry {
  return typeof written === "object" ? written : { mode: written };
}

/** What no server of any layer runs below. */
export function leastOfAll({ user, project, client }: LeastSandboxes): SandboxMode {
  const modes = [user, project, client].map((least) => SANDBOX_MODES.indexOf(entryOf(least).mode));
  return SANDBOX_MODES[Math.min(...modes)] ?? "off";
}
