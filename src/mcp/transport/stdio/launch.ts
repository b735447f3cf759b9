// Builds the launch of a stdio server: command, arguments, directory, and an environment without the host's secrets.

import { isAbsolute, posix, win32 } from "node:path";
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import type { ChildExit, SpawnRequest, World } from "../../../base/ports/world.js";
import { SERVING } from "../../../base/serving.js";
import type { StdioSpec } from "../../spec.js";

/**
 * Variables that programs need, and none that carries a secret. Everything else a server gets must be
 * named in its own entry. `TENON_SERVER` is added to find what a server leaves behind; it says nothing else.
 */
const INHERITED_ENV: readonly string[] = [
  ..."PATH HOME USER LOGNAME SHELL TERM TMPDIR TZ LANG LC_ALL LC_CTYPE".split(" "),
  ..."XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_RUNTIME_DIR".split(" "),
  SERVING, // set by `tenon mcp serve` alone
];

/** Paths of the certificates that this machine's programs trust besides their own: without them `npx` hangs behind a company's proxy. */
const CERTIFICATE_ENV: readonly string[] =
  "NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE".split(" ");

/** The same for Windows, where programs find nothing without these. Their names ignore case. */
const INHERITED_ENV_ON_WINDOWS: readonly string[] = [
  ..."APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86)".split(" "),
  ..."SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE WINDIR".split(" "),
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
  const paths = isWindows ? win32 : posix;
  const names = new Set([...INHERITED_ENV, ...CERTIFICATE_ENV, ...(isWindows ? INHERITED_ENV_ON_WINDOWS : [])]);
  const env: Record<string, string> = {};
  for (const [given, value] of Object.entries(world.env)) {
    const name = isWindows ? given.toUpperCase() : given;
    // Exported shell functions start with "()": they are code, not values.
    if (!names.has(name) || value === undefined || value.startsWith("()")) continue;
    // A relative path would be looked for in the session's directory, which could bring certificates of its own.
    const isRelative =
      CERTIFICATE_ENV.includes(name) && !pathsIn(name, value, paths).every((path) => paths.isAbsolute(path));
    if (!isRelative) env[given] = value;
  }
  for (const [name, value] of Object.entries(spec.env)) {
    const given = isWindows ? Object.keys(env).find((other) => other.toUpperCase() === name.toUpperCase()) : undefined;
    if (given !== undefined) delete env[given]; // two spellings of one variable: which one counts would be chance
    env[name] = value;
  }
  return withFullPaths(env, isWindows);
}

/** The certificates of this machine that a server is told of, by variable; not what its own entry says about them. */
export function inheritedCertificates(
  spec: StdioSpec,
  env: Readonly<Record<string, string>>,
): Map<string, readonly string[]> {
  const names = CERTIFICATE_ENV.filter((name) => env[name] !== undefined && spec.env[name] === undefined);
  return new Map(names.map((name) => [name, pathsIn(name, env[name] ?? "", posix)]));
}

function pathsIn(name: string, value: string, { delimiter }: { readonly delimiter: string }): readonly string[] {
  return name === "SSL_CERT_DIR" ? value.split(delimiter) : [value];
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

/** The error with the end of the server's stderr, where most servers write what is wrong; unchanged if it is there already. */
export function withLastWords(error: TenonError, stderrTail: string): TenonError {
  const { code, message, hint, retryAfterMs } = error;
  if (stderrTail === "" || message.includes(stderrTail)) return error;
  const text = `${message}; its stderr ends: ${stderrTail}`;
  return new TenonError(code, text, { cause: error, hint, ...defined({ retryAfterMs }) });
}

// Windows: `npx` is really `npx.cmd`, which only a command interpreter can run, with quoting of its own.

const DEFAULT_EXTENSIONS = ".COM;.EXE;.BAT;.CMD";

/** The request as Windows can run it. A command that is not found stays unchanged: the system's own error reports it. */
export function viaShim(request: SpawnRequest, isFile: (path: string) => boolean): SpawnRequest {
  const file = findCommand(request, isFile);
  switch (win32.extname(file ?? request.command).toLowerCase()) {
    case ".cmd":
    case ".bat":
      return viaInterpreter(request, file ?? request.command);
    case ".ps1": {
      const options = ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File"];
      return { ...request, command: "powershell.exe", args: [...options, file ?? request.command, ...request.args] };
    }
    default:
      return file === undefined ? request : { ...request, command: file };
  }
}

/** As the system itself looks: the folders of PATH for a bare name, and the known extensions for one without any. */
export function findCommand(request: SpawnRequest, isFile: (path: string) => boolean): string | undefined {
  const { command } = request;
  const folders = /[/\\]/.test(command)
    ? [""]
    : (variable(request, "PATH") ?? "").split(";").filter((part) => part !== "");
  const known = (variable(request, "PATHEXT") ?? DEFAULT_EXTENSIONS).split(";").filter((part) => part !== "");
  const endings = win32.extname(command) === "" ? known : ["", ...known];
  for (const folder of folders) {
    const base = folder === "" ? command : win32.join(folder.replace(/^"(.*)"$/, "$1"), command);
    const found = endings.map((ending) => base + ending.toLowerCase()).find((path) => isFile(path));
    if (found !== undefined) return found;
  }
  return undefined;
}

function variable(request: SpawnRequest, name: string): string | undefined {
  return Object.entries(request.env).find(([given]) => given.toUpperCase() === name)?.[1];
}

function viaInterpreter(request: SpawnRequest, file: string): SpawnRequest {
  // Shims of npm hand their arguments on to a second interpreter, which takes one layer of quoting off again.
  const isDouble = /node_modules[\\/]\.bin[\\/][^\\/]+\.cmd$/i.test(file);
  const words = [escapeMeta(win32.normalize(file)), ...request.args.map((word) => quoteForCmd(word, isDouble))];
  return {
    ...request,
    command: variable(request, "COMSPEC") ?? "cmd.exe",
    args: ["/d", "/s", "/c", `"${words.join(" ")}"`],
    isVerbatim: true,
  };
}

/**
 * One argument, so that the program gets exactly it: quoted as the C runtime reads it (backslashes count only before a
 * quote), then every character `cmd.exe` would act upon is escaped with a caret, also inside the quotes.
 */
export function quoteForCmd(word: string, isDouble: boolean): string {
  const quoted = `"${word.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\*)$/, "$1$1")}"`;
  const escaped = escapeMeta(quoted);
  return isDouble ? escapeMeta(escaped) : escaped;
}

function escapeMeta(text: string): string {
  return text.replace(/[()\][%!^"`<>&|;, *?]/g, "^$&");
}
