// The sandbox of a server: what its entry says, under the least its layer must have. Pure.

import { dirname, join } from "node:path";
import { defined } from "../../base/json/defined.js";
import { SANDBOX_MODES, type SandboxEntry, type SandboxMode, type SandboxWritten } from "../layers/entry.js";
import { type Merged, valueOf } from "../layers/layer.js";
import type { PossiblePaths } from "../layers/paths.js";

export type SandboxOrigin = "user" | "project" | "client";

/** The least sandbox of each origin, and where Tenon keeps its own things. */
export interface LeastSandboxes extends Readonly<Partial<Record<SandboxOrigin, SandboxEntry>>> {
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
  const least: SandboxEntry = leasts[origin] ?? { mode: "off" };
  const entry: SandboxEntry = typeof written === "object" ? written : { mode: written ?? "off" };
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

/** From the merged values: `sandbox.<origin>` is a word, or an object of which each key is a value of its own. */
export function leastSandboxes(merged: Merged, paths: PossiblePaths): LeastSandboxes {
  return {
    paths,
    user: leastOf(merged, "user"),
    project: leastOf(merged, "project"),
    client: leastOf(merged, "client"),
  };
}

function leastOf(merged: Merged, origin: SandboxOrigin): SandboxEntry {
  const at = (...path: readonly string[]) => valueOf(merged, ["sandbox", origin, ...path])?.value;
  const mode = SANDBOX_MODES.find((known) => known === (at("mode") ?? at())) ?? "off";
  const network = at("network");
  const texts = (value: unknown) => (Array.isArray(value) ? value.filter((item) => typeof item === "string") : []);
  return {
    mode,
    read: texts(at("read")),
    write: texts(at("write")),
    ...defined({ network: typeof network === "boolean" ? network : undefined }),
  };
}

/** What no server of any layer runs below. */
export function leastOfAll({ user, project, client }: LeastSandboxes): SandboxMode {
  const modes = [user, project, client].map((least) => SANDBOX_MODES.indexOf(least?.mode ?? "off"));
  return SANDBOX_MODES[Math.min(...modes)] ?? "off";
}
