// Which configured servers may have to be downloaded before they start.
import { basename } from "node:path";
import { type EffectiveConfig, readyServers } from "../config/index.js";

/** Programs that fetch what they run. */
const FETCHERS: ReadonlySet<string> = new Set(
  ["npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "uvx", "uv", "pipx", "deno", "docker", "podman"].flatMap(
    (name) => [name, `${name}.cmd`, `${name}.exe`],
  ),
);

export function slowServers(config: EffectiveConfig): readonly string[] {
  return readyServers(config)
    .filter(({ spec }) => spec.kind === "stdio" && FETCHERS.has(basename(spec.command).toLowerCase()))
    .map(({ name }) => name);
}
