// `tenon chat`: composes the agent in-process and hands it to the terminal client.
import { readFile } from "node:fs/promises";
import { loadAgent } from "../../acp/index.js";
import { messageOf } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import { parseMcpConfig } from "../../config/index.js";
import type { ServerSpec } from "../../mcp/index.js";
import { parseChatArguments } from "../arguments.js";
import { runChat, toAcpServer } from "../chat/index.js";
import { compose } from "../compose.js";
import { EXIT, exitAfter } from "../exit.js";
import { mayColor } from "../terminal/stream.js";

export async function runChatCommand(words: readonly string[]): Promise<void> {
  const parsed = parseChatArguments(words);
  if (!parsed.ok) return complain(`tenon chat: ${parsed.reason}\nSee tenon --help.`, EXIT.usage);
  const { prompt, mcpConfig, model, yes, json } = parsed.options;
  const servers = mcpConfig === undefined ? [] : await readServers(mcpConfig);
  if (!servers) return;

  const { host } = compose({ logLevel: "error", ...(model === undefined ? {} : { model }) });
  const { createAgent } = await loadAgent();
  const isTty = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const stop = () => host.close(LIMITS.exitGrace);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => exitAfter(stop, EXIT.interrupted));
  const code = await runChat({
    agent: createAgent({ host }),
    cwd: process.cwd(),
    mcpServers: servers.map((spec) => toAcpServer(spec)),
    ...(prompt === undefined ? {} : { prompt }),
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
}

/** Undefined when the file cannot be used at all; a bad entry is told and the others are used. */
async function readServers(path: string): Promise<readonly ServerSpec[] | undefined> {
  let content: string;
  try {
    content = await readFile(path, "utf8");
  } catch (error) {
    complain(`tenon chat: cannot read ${path}: ${messageOf(error)}`, EXIT.config);
    return undefined;
  }
  const { servers, problems } = parseMcpConfig(content, path);
  for (const problem of problems) process.stderr.write(`tenon chat: ${problem}\n`);
  if (servers.length === 0 && problems.length > 0) process.exitCode = EXIT.config;
  return servers.length === 0 && problems.length > 0 ? undefined : servers;
}

function complain(message: string, code: number): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = code;
}
