// `tenon chat`: composes the agent in-process and hands it to the terminal client.

import { basename } from "node:path";
import { HostAccess, loadAgent } from "../../acp/index.js";
import { defined } from "../../base/json/defined.js";
import { LIMITS } from "../../base/limits.js";
import { type EffectiveConfig, problemText, readyServers } from "../../config/index.js";
import type { Given, Values } from "../command.js";
import { compose } from "../compose.js";
import { type CommandContext, optionPath, useAgentDirectory } from "../context.js";
import { EXIT, exitAfter } from "../exit.js";
import { mayColor } from "../terminal/stream.js";
import { visible } from "../terminal/text.js";
import { acpTap, openTraceFile, tappedAgent } from "../trace.js";
import { runChat } from "./chat.js";

export async function runChatCommand(
  { values }: Given<Values<"yes" | "json", "prompt" | "config" | "mcp-config" | "model" | "trace">>,
  { world, cwd }: CommandContext,
): Promise<number> {
  const { prompt, model, config: directory, "mcp-config": servers, yes = false, json = false } = values;
  const place = { world, from: cwd };
  const mcpConfig = servers === undefined ? undefined : optionPath("--mcp-config", servers, place);
  if (directory !== undefined) useAgentDirectory(optionPath("--config", directory, place));
  const trace = values.trace === undefined ? undefined : openTraceFile(values.trace);
  const { host, config } = await compose({
    logLevel: "error",
    ...defined({ trace, model, mcpConfig }),
  });
  if (!mayGoOn(config, json)) return EXIT.config;
  const { createAgent } = await loadAgent();
  const agent = createAgent({ access: new HostAccess(host) });
  const isTty = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const stop = () => host.close(LIMITS.exitGrace);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => exitAfter(stop, EXIT.interrupted));
  const code = await runChat({
    agent: trace ? tappedAgent(agent, acpTap(trace)) : agent,
    cwd: process.cwd(),
    slowServers: slowServers(config),
    ...defined({ prompt }),
    json,
    yes,
    interactive: isTty,
    input: process.stdin,
    output: process.stdout,
    errorOutput: process.stderr,
    color: mayColor(process.stdout, process.env),
    onInterrupt: (listener) => {
      process.on("SIGINT", listener);
      return () => process.off("SIGINT", listener);
    },
  });
  exitAfter(stop, code);
  return code;
}

/**
 * A file that was named and has nothing to give is not passed over. Whatever else is wrong the session tells, unless
 * its updates go to a program: then people read it here.
 */
function mayGoOn(config: EffectiveConfig, json: boolean): boolean {
  const isNamed = ({ place }: { readonly place: EffectiveConfig["problems"][number]["place"] }) =>
    place.layer === "command-line";
  const isUsable = config.servers.some((server) => isNamed(server) && server.status !== "invalid");
  const fatal = isUsable ? [] : config.problems.filter((problem) => isNamed(problem) && problem.severity === "error");
  for (const problem of fatal.length > 0 ? fatal : json ? config.problems : []) {
    process.stderr.write(`tenon chat: ${visible(problemText(problem))}\n`);
  }
  return fatal.length === 0;
}

// Which configured servers may have to be downloaded before they start.

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
