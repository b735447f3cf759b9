// The system's keyring: macOS Keychain, Windows Credential Manager, the Secret Service on Linux.

import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { messageOf, TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, parseJson } from "../base/json/json.js";
import { LIMITS } from "../base/limits.js";
import type { World } from "../base/ports/world.js";
import { outputOf } from "./child-output.js";

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

/** JSON may write one byte as six, and has an object around it. */
const ANSWER_MAX_BYTES = 6 * LIMITS.configValueMaxBytes + 1_000;

/**
 * Asks the keyring and prints what it said. A process of its own, because the system may first ask the person to unlock
 * it: the package waits for them on a thread, and a process with a waiting thread cannot exit. The name and the value
 * come over its input, where no list of processes shows them. On Linux only the Secret Service will do: the package's
 * other store is the kernel's, which forgets everything when the machine is switched off.
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
  const ask = (request: Request, signal: AbortSignal) => askKeyring(request, world, signal);
  return {
    get: async (name, signal) => {
      const { value } = await ask({ verb: "get", name }, signal);
      return typeof value === "string" ? value : undefined;
    },
    set: async (name, value, signal) => {
      await ask({ verb: "set", name, value }, signal);
    },
    remove: async (name, signal) => (await ask({ verb: "remove", name }, signal))["wasThere"] === true,
  };
}

type Request =
  | { readonly verb: "get" | "remove"; readonly name: string }
  | { readonly verb: "set"; readonly name: string; readonly value: string };

async function askKeyring(request: Request, world: World, signal: AbortSignal): Promise<JsonObject> {
  const input = JSON.stringify({ ...request, module: packagePath(), service: SERVICE });
  const child = {
    command: process.execPath,
    args: ["--input-type=commonjs", "-e", PROGRAM],
    env: environment(world),
    cwd: tmpdir(),
  };
  const printed = await outputOf(child, world, { signal, input, maxBytes: ANSWER_MAX_BYTES }).catch(
    (error: unknown) => {
      throw failure(`the keyring could not be asked: ${messageOf(error)}`, `Try again, or ${OTHER_WAYS}.`, error);
    },
  );
  const answer = parseJson(printed);
  if (!answer.ok || !isJsonObject(answer.value)) throw failure("the keyring gave no answer", `Or ${OTHER_WAYS}.`);
  const { step, error } = answer.value;
  if (typeof error === "string") throw refusal(step, firstLine(error), world.platform);
  return answer.value;
}

function packagePath(): string {
  try {
    return createRequire(import.meta.url).resolve(PACKAGE);
  } catch (error) {
    throw failure(`the package ${PACKAGE} is not installed`, REINSTALL, error);
  }
}

const REINSTALL = `Install Tenon without leaving out optional packages, or ${OTHER_WAYS}.`;

/** The person's own, for it says where their keyring is; but nothing that changes what Node runs. */
function environment(world: World): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(world.env)) {
    if (value !== undefined && name !== "NODE_OPTIONS") env[name] = value;
  }
  return env;
}

/** The package has no error codes; how far one came says what is missing. */
function refusal(step: unknown, error: string, platform: string): TenonError {
  if (step === "load") return failure(`the package ${PACKAGE} does not work on this machine: ${error}`, REINSTALL);
  if (step === "open" && platform === "linux") {
    const start = "Run Tenon in a session with D-Bus and a keyring (GNOME Keyring, KWallet, KeePassXC)";
    return failure(`there is no Secret Service to be reached: ${error}`, `${start}, or ${OTHER_WAYS}.`);
  }
  const unlock = "Unlock it (a new one needs a default keyring first), then try again";
  return failure(`the keyring refused: ${error}`, `${unlock}; or ${OTHER_WAYS}.`);
}

function failure(message: string, hint: string, cause?: unknown): TenonError {
  return new TenonError("config.unreadable", message, { hint, ...defined({ cause }) });
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}
