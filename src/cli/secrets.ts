// Fetches what `!command` and `keyring:name` of the user's own configuration stand for.
import { dirname } from "node:path";
import { TenonError } from "../base/errors.js";
import type { SpawnRequest, World } from "../base/ports/world.js";
import { type ResolveSecret, tenonPaths } from "../config/index.js";
import { outputOf } from "./child-output.js";
import { type Keyring, systemKeyring } from "./keyring.js";

export function secretResolver(world: World, keyring: Keyring = systemKeyring(world)): ResolveSecret {
  return async (request, signal) => {
    switch (request.kind) {
      case "keyring":
        return await keyring.get(request.name, signal).catch(withCure);
      case "command":
        return (await outputOf(commandRequest(request.command, world), world, { signal })).trim() || undefined;
    }
  };
}

/** For looking at a configuration without using it: secrets are taken to be there, and not fetched. */
export const unaskedSecrets: ResolveSecret = async () => "not fetched";

/** The reason a server is disabled for is one text, so what cures it goes into it. */
function withCure(error: unknown): never {
  if (!(error instanceof TenonError)) throw error;
  throw new TenonError(error.code, `${error.message}. ${error.hint}`, { cause: error });
}

/** It runs in the folder of the user's configuration: in a project's, `./name` would mean a file of the project. */
function commandRequest(command: string, world: World): SpawnRequest {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(world.env)) if (value !== undefined) env[name] = value;
  const cwd = dirname(tenonPaths(world.env).configFile ?? "/");
  if (world.platform !== "win32") return { command: "/bin/sh", args: ["-c", command], env, cwd };
  const shell = env["ComSpec"] ?? "cmd.exe";
  return { command: shell, args: ["/d", "/s", "/c", `"${command}"`], env, cwd, isVerbatim: true };
}
