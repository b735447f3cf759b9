// What is really started for a stdio server: command, arguments, directory, and an environment without the host's secrets.
import { isAbsolute, resolve } from "node:path";
import type { SpawnRequest, World } from "../base/world.js";
import type { StdioSpec } from "./spec.js";

/**
 * What a program needs to find its way about, and nothing that carries a secret. Everything else a server gets must be
 * named in its own entry.
 */
const INHERITED = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "TERM",
  "TMPDIR",
  "TZ",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "XDG_CONFIG_HOME",
  "XDG_CACHE_HOME",
  "XDG_DATA_HOME",
  "XDG_RUNTIME_DIR",
] as const;

const INHERITED_ON_WINDOWS = [
  "APPDATA",
  "COMSPEC",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATHEXT",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "TMP",
  "USERNAME",
  "USERPROFILE",
  "WINDIR",
] as const;

export function launchOf(spec: StdioSpec, sessionCwd: string, world: World): SpawnRequest {
  const cwd = spec.cwd === undefined ? sessionCwd : resolve(sessionCwd, spec.cwd);
  return { command: commandPath(spec.command, sessionCwd), args: spec.args, env: launchEnv(spec, world), cwd };
}

/** Bare names are left to the PATH; `./server` means beside the session's files, wherever the server itself runs. */
function commandPath(command: string, sessionCwd: string): string {
  const isBare = !command.includes("/") && !command.includes("\\");
  return isBare || isAbsolute(command) ? command : resolve(sessionCwd, command);
}

function launchEnv(spec: StdioSpec, world: World): Record<string, string> {
  const env: Record<string, string> = {};
  const inherited = world.platform === "win32" ? [...INHERITED, ...INHERITED_ON_WINDOWS] : INHERITED;
  for (const name of inherited) {
    const value = world.env[name];
    // Exported shell functions start with "()": they are code, not values.
    if (value !== undefined && !value.startsWith("()")) env[name] = value;
  }
  return Object.assign(env, spec.env);
}
