// Fetches secrets: from the system's keyring, and from commands in the user's own configuration.

import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { messageOf, TenonError } from "../base/errors.js";
import { endTree } from "../base/io/process.js";
import { defined } from "../base/json/defined.js";
import { type JsonObject, parseObject } from "../base/json/json.js";
import { LIMITS } from "../base/limits.js";
import type { SpawnRequest, World } from "../base/ports/world.js";
import { DiskGrantStore, type ResolveSecret, tenonPaths, type VaultStatus } from "../config/index.js";

/** Entries of the service `tenon`; the name is the account. */
export interface Keyring {
  /** Undefined when there is no such entry. */
  get(name: string, signal: AbortSignal): Promise<string | undefined>;
  set(name: string, value: string, signal: AbortSignal): Promise<void>;
  /** Whether there was one. */
  remove(name: string, signal: AbortSignal): Promise<boolean>;
}

const SERVICE = "tenon";
const PACKAGE = "@napi-rs/keyring";
const OTHER_WAYS = "use ${VAR}, {file:path} or !command instead";

/** JSON may write one byte as six, plus the object around it. */
const ANSWER_MAX_BYTES = 6 * LIMITS.configValueMaxBytes + 1_000;

/**
 * Accesses the keyring in a process of its own: the system may ask the person to unlock it, the package waits for that on
 * a thread, and a process with a waiting thread cannot exit. Name and value come over standard input, where no process
 * list shows them. On Linux only the Secret Service is used: the package's other store, in the kernel, is lost on reboot.
 */
const PROGRAM = `
const chunks = [];
process.stdin.on("data", (chunk) => chunks.push(chunk)).on("end", () => {
  const { module, verb, service, name, value } = JSON.parse(Buffer.concat(chunks).toString());
  let step = "load";
  const perform = () => {
    const { Entry } = require(module);
    step = "open";
    const entry = new Entry(service, name, { linux: { store: "secret-service" } });
    step = "use";
    if (verb === "get") return { value: entry.getPassword() };
    if (verb === "remove") return { wasThere: entry.deletePassword() };
    entry.setPassword(value);
    return {};
  };
  let answer;
  try {
    answer = perform();
  } catch (error) {
    answer = { step, error: String(error?.message ?? error) };
  }
  process.stdout.write(JSON.stringify(answer));
});
`;

/** Nothing is loaded or started before the first use. */
export function systemKeyring(world: World): Keyring {
  return {
    get: async (name, signal) => {
      const { value } = await askKeyring({ verb: "get", name }, world, signal);
      return typeof value === "string" ? value : undefined;
    },
    set: async (name, value, signal) => {
      await askKeyring({ verb: "set", name, value }, world, signal);
    },
    remove: async (name, signal) => (await askKeyring({ verb: "remove", name }, world, signal))["wasThere"] === true,
  };
}

async function askKeyring(request: JsonObject, world: World, signal: AbortSignal): Promise<JsonObject> {
  const input = JSON.stringify({ ...request, module: packagePath(), service: SERVICE });
  // The environment says where the keyring is; but nothing of it may change what Node runs.
  const { NODE_OPTIONS: _ours, ...env } = definedVariables(world);
  const child = { command: process.execPath, args: ["--input-type=commonjs", "-e", PROGRAM], env, cwd: tmpdir() };
  const printed = await outputOf(child, world, { signal, input, maxBytes: ANSWER_MAX_BYTES }).catch(
    (error: unknown) => {
      throw failure(`the keyring could not be asked: ${messageOf(error)}`, `Try again, or ${OTHER_WAYS}.`, error);
    },
  );
  const answer = parseObject(printed);
  if (!answer) throw failure("the keyring gave no answer", `Or ${OTHER_WAYS}.`);
  const { step, error } = answer;
  if (typeof error === "string") throw refusal(step, error.trim().split("\n")[0] ?? "", world.platform);
  return answer;
}

function packagePath(): string {
  try {
    return createRequire(import.meta.url).resolve(PACKAGE);
  } catch (error) {
    throw failure(`the package ${PACKAGE} is not installed`, REINSTALL, error);
  }
}

const REINSTALL = `Install Tenon without leaving out optional packages, or ${OTHER_WAYS}.`;

export function definedVariables({ env }: World): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** The package has no error codes: the step that failed says what is missing. */
function refusal(step: unknown, error: string, platform: string): TenonError {
  if (step === "load") return failure(`the package ${PACKAGE} does not work on this machine: ${error}`, REINSTALL);
  if (step === "open" && platform === "linux") {
    const start = "Run Tenon in a session with D-Bus and a keyring (GNOME Keyring, KWallet, KeePassXC)";
    return failure(
      "this machine has no keyring (Secret Service) that can be reached",
      `${start}, or ${OTHER_WAYS}.`,
      error,
    );
  }
  const unlock = "Unlock it (a new one needs a default keyring first), then try again";
  return failure(`the keyring refused: ${error}`, `${unlock}; or ${OTHER_WAYS}.`);
}

function failure(message: string, hint: string, cause?: unknown): TenonError {
  return new TenonError("config.unreadable", message, { hint, ...defined({ cause }) });
}

export function secretResolver(world: World, keyring: Keyring = systemKeyring(world)): ResolveSecret {
  return async (request, signal) => {
    switch (request.kind) {
      case "keyring":
        return await keyring.get(request.name, signal).catch(withHint);
      case "command":
        return (await outputOf(commandRequest(request.command, world), world, { signal })).trim() || undefined;
    }
  };
}

/** For showing a configuration without using it: secrets are assumed to exist and not fetched. */
export const unaskedSecrets: ResolveSecret = async () => "not fetched";

/** The reason why a server is disabled is one text, so it includes the hint. */
function withHint(error: unknown): never {
  if (!(error instanceof TenonError)) throw error;
  throw new TenonError(error.code, `${error.message}. ${error.hint}`, { cause: error });
}

/** Runs in the folder of the user's configuration: in a project, `./name` would be a file of the project. */
function commandRequest(command: string, world: World): SpawnRequest {
  const env = definedVariables(world);
  const cwd = dirname(tenonPaths(world.env).configFile ?? "/");
  if (world.platform !== "win32") return { command: "/bin/sh", args: ["-c", command], env, cwd };
  const shell = env["ComSpec"] ?? "cmd.exe";
  return { command: shell, args: ["/d", "/s", "/c", `"${command}"`], env, cwd, isVerbatim: true };
}

/** Of a failing program's stderr. */
const STDERR_CHARACTERS = 300;

/** The output of a program. An error never contains it: it may be a secret. The program is ended when the signal aborts. */
async function outputOf(
  request: SpawnRequest,
  world: World,
  {
    signal,
    input = "",
    maxBytes = LIMITS.configValueMaxBytes,
  }: { readonly signal: AbortSignal; readonly input?: string; readonly maxBytes?: number },
): Promise<string> {
  signal.throwIfAborted();
  const child = world.spawn(request);
  const end = () => child.signalGroup("SIGKILL");
  signal.addEventListener("abort", end, { once: true });
  try {
    child.stdin.on("error", () => {}); // it may not read its input, or be gone
    child.stdin.end(input);
    const [output, complaint, exit] = await Promise.all([
      read(child.stdout, maxBytes),
      read(child.stderr, LIMITS.configValueMaxBytes),
      child.exited,
    ]);
    if (exit.kind === "not_started") throw new Error(`it cannot be started: ${messageOf(exit.error)}`);
    const reason = complaint.trim().slice(-STDERR_CHARACTERS);
    if (exit.code !== 0) throw new Error(`${ending(exit.code, exit.signal)}${reason && `: ${reason}`}`);
    if (Buffer.byteLength(output) > maxBytes) throw new Error(`it printed more than ${maxBytes} bytes`);
    return output;
  } finally {
    signal.removeEventListener("abort", end);
    await endTree(child, world, LIMITS.exitGrace);
  }
}

/** Keeps at most one chunk over the limit. */
async function read(stream: Readable, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const part = Buffer.from(chunk);
    if (bytes <= maxBytes) parts.push(part);
    bytes += part.length;
  }
  return Buffer.concat(parts).toString("utf8");
}

function ending(code: number | null, signal: string | null): string {
  return code === null ? `it was ended by ${signal ?? "a signal"}` : `it exited with ${code}`;
}

// The log-ins of the person on this machine: stored under the state folder, their key in the system's keyring if possible.

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
