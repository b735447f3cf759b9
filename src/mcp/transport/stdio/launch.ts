// What is really started for a stdio server: command, arguments, directory, and an environment without the host's secrets.

import { isAbsolute, posix, win32 } from "node:path";
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import type { ChildExit, SpawnRequest, World } from "../../../base/ports/world.js";
import type { StdioSpec } from "../../spec.js";
import { viaShim } from "./windows-shim.js";

/**
 * What a program needs to find its way about, and nothing that carries a secret. Everything else a server gets must be
 * named in its own entry. `TENON_SERVER` is added to find what a server leaves behind; it says nothing else.
 */
const INHERITED_ENV: readonly string[] = [
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
];

/** The same for Windows, whose programs find less than nothing without these. Their names ignore case. */
const INHERITED_ENV_ON_WINDOWS: readonly string[] = [
  "APPDATA",
  "COMSPEC",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATHEXT",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "PROGRAMFILES(X86)",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "TMP",
  "USERNAME",
  "USERPROFILE",
  "WINDIR",
];

export function launchOf(spec: StdioSpec, sessionCwd: string, world: World): SpawnRequest {
  const isWindows = world.platform === "win32";
  const paths = isWindows ? win32 : posix;
  const cwd = spec.cwd === undefined ? sessionCwd : paths.resolve(sessionCwd, spec.cwd);
  // `./server` means beside the session's files, wherever the server itself runs.
  const isPlace = isBare(spec.command) || paths.isAbsolute(spec.command);
  const command = isPlace ? spec.command : paths.resolve(sessionCwd, spec.command);
  const request = { command, args: spec.args, env: launchEnv(spec, world), cwd };
  return isWindows ? viaShim(request, (path) => world.files.isFile(path)) : request;
}

/** Looked up in the PATH the server itself gets. */
function isBare(command: string): boolean {
  return !command.includes("/") && !command.includes("\\");
}

function launchEnv(spec: StdioSpec, world: World): Record<string, string> {
  const isWindows = world.platform === "win32";
  const names = new Set(isWindows ? [...INHERITED_ENV, ...INHERITED_ENV_ON_WINDOWS] : INHERITED_ENV);
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(world.env)) {
    // Exported shell functions start with "()": they are code, not values.
    if (names.has(isWindows ? name.toUpperCase() : name) && value !== undefined && !value.startsWith("()")) {
      env[name] = value;
    }
  }
  for (const [name, value] of Object.entries(spec.env)) {
    const given = isWindows ? Object.keys(env).find((other) => other.toUpperCase() === name.toUpperCase()) : undefined;
    if (given !== undefined) delete env[given]; // two spellings of one variable: which one counts would be chance
    env[name] = value;
  }
  return withFullPaths(env, isWindows);
}

/** A relative or empty entry of PATH means the working directory, which is the session's: it could bring any program. */
function withFullPaths(env: Record<string, string>, isWindows: boolean): Record<string, string> {
  const paths = isWindows ? win32 : posix;
  for (const name of Object.keys(env).filter((one) => (isWindows ? one.toUpperCase() : one) === "PATH")) {
    const entries = (env[name] ?? "").split(paths.delimiter);
    const kept = entries.filter((entry) => paths.isAbsolute(entry.replace(/^"(.*)"$/u, "$1")));
    // Without any entry the variable must go: an empty PATH means the working directory again.
    if (kept.length === 0) delete env[name];
    else env[name] = kept.join(paths.delimiter);
  }
  return env;
}

export interface ExitFacts {
  readonly request: SpawnRequest;
  readonly world: World;
  readonly stderrTail: string;
}

/** Why the server is gone, in words that name what to look at. Undefined: it broke off, and lives. */
export function explainExit(exit: ChildExit | undefined, { request, world, stderrTail }: ExitFacts): TenonError {
  if (exit?.kind === "not_started") {
    const { message, hint } = explainStart(exit.error, request, world);
    return new TenonError("mcp.spawn_failed", message, { cause: exit.error, ...defined({ hint }) });
  }
  const said = stderrTail === "" ? "" : `; its stderr ends: ${stderrTail}`;
  if (!request.isKeeper) return new TenonError("mcp.connect_failed", `${howItEnded(exit)}${said}`);
  // bubblewrap begins its own complaints so; the server inside never ran then.
  const isRefused = exit?.code === 1 && stderrTail.startsWith("bwrap: ");
  return isRefused
    ? new TenonError("mcp.sandbox_unavailable", `not started: its sandbox failed: ${stderrTail}`)
    : new TenonError("mcp.connect_failed", `${howItEnded(exit)}${said}`, { hint: SANDBOXED_HINT });
}

const SANDBOXED_HINT =
  "Read its stderr. It runs in a sandbox: if it misses a file, a folder or the network, grant that in its entry (sandbox.read, sandbox.write, sandbox.network).";

function howItEnded(exit: Extract<ChildExit, { kind: "exited" }> | undefined): string {
  if (!exit) return "the server closed its end of the pipe and runs on";
  if (exit.signal !== null) return `the server was ended by ${exit.signal}`;
  return `the server exited with code ${exit.code ?? "unknown"}`;
}

function explainStart(error: Error, request: SpawnRequest, world: World): { message: string; hint?: string } {
  const { command, cwd, env } = request;
  if (!world.files.isFolder(cwd)) {
    return { message: `cannot start "${command}": its directory ${cwd} does not exist`, hint: "Correct its cwd." };
  }
  const code = "code" in error ? error.code : undefined;
  if (code === "ENOENT" && isBare(command)) {
    const path = Object.entries(env).find(([name]) => name.toUpperCase() === "PATH")?.[1];
    const where = path === undefined ? "there is no PATH" : `not found in PATH (${path})`;
    return { message: `cannot start "${command}": ${where}`, hint: "Install it, or give its full path." };
  }
  if (code === "ENOENT") {
    const isThere = isAbsolute(command) && world.files.isFile(command);
    // The kernel says the same of a script whose interpreter is missing.
    const why = isThere ? "the interpreter its first line names does not exist" : "no such file";
    return { message: `cannot start "${command}": ${why}` };
  }
  if (code === "EACCES") return { message: `cannot start "${command}": it is not executable`, hint: "See `chmod +x`." };
  return { message: `cannot start "${command}": ${error.message}` };
}
