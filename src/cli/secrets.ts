// Fetches what `!command` of the user's own configuration stands for, by running it.
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { messageOf, TenonError } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import { endTree } from "../base/process.js";
import type { Child, World } from "../base/world.js";
import { type ResolveSecret, tenonPaths } from "../config/index.js";

/** Of a failing command's stderr; more is not needed to see why. */
const STDERR_CHARACTERS = 300;

export function secretResolver(world: World): ResolveSecret {
  return async (request, signal) => {
    switch (request.kind) {
      case "keyring":
        throw new TenonError("config.invalid", NO_KEYRING);
      case "command":
        return await outputOf(request.command, world, signal);
    }
  };
}

/** For looking at a configuration without using it: commands are taken to have an answer, and not run. */
export const unaskedSecrets: ResolveSecret = async (request) => {
  if (request.kind === "keyring") throw new TenonError("config.invalid", NO_KEYRING);
  return "not fetched";
};

const NO_KEYRING = "the keyring is not available in this version; use ${VAR}, {file:path} or !command instead";

async function outputOf(command: string, world: World, signal: AbortSignal): Promise<string | undefined> {
  const child = start(command, world);
  const end = () => child.signalGroup("SIGKILL");
  signal.addEventListener("abort", end, { once: true });
  try {
    child.stdin.on("error", () => {}); // it may not read its input, or be gone
    child.stdin.end();
    const [output, complaint, exit] = await Promise.all([
      read(child.stdout, LIMITS.configValueMaxBytes),
      read(child.stderr, LIMITS.configValueMaxBytes),
      child.exited,
    ]);
    if (exit.kind === "not_started") throw new Error(`it cannot be started: ${messageOf(exit.error)}`);
    if (exit.code !== 0) throw new Error(`${ending(exit.code, exit.signal)}${reasonIn(complaint)}`);
    if (Buffer.byteLength(output) > LIMITS.configValueMaxBytes) {
      throw new Error(`it printed more than ${LIMITS.configValueMaxBytes} bytes`);
    }
    return output.trim() || undefined;
  } finally {
    signal.removeEventListener("abort", end);
    await endTree(child, world, LIMITS.exitGrace);
  }
}

/** It runs in the folder of the user's configuration: in a project's, `./name` would mean a file of the project. */
function start(command: string, world: World): Child {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(world.env)) if (value !== undefined) env[name] = value;
  const cwd = dirname(tenonPaths(world.env).configFile ?? "/");
  if (world.platform !== "win32") return world.spawn({ command: "/bin/sh", args: ["-c", command], env, cwd });
  const shell = env["ComSpec"] ?? "cmd.exe";
  return world.spawn({ command: shell, args: ["/d", "/s", "/c", `"${command}"`], env, cwd, isVerbatim: true });
}

/** One byte over the limit is enough to know. */
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

function reasonIn(complaint: string): string {
  const text = complaint.trim();
  return text === "" ? "" : `: ${text.slice(-STDERR_CHARACTERS)}`;
}
