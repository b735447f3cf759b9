// `tenon chat`: composes the agent in-process and hands it to the terminal client.

import { loadAgent } from "../../acp/index.js";
import { defined } from "../../base/json/defined.js";
import { LIMITS } from "../../base/limits.js";
import { type EffectiveConfig, problemText } from "../../config/index.js";
import { runChat } from "../chat/index.js";
import { compose } from "../compose.js";
import { EXIT, exitAfter } from "../exit.js";
import { slowServers } from "../slow-servers.js";
import type { Given } from "../table/command.js";
import { mayColor } from "../terminal/stream.js";
import { visible } from "../terminal/visible.js";
import { acpTap, openTraceFile, tappedAgent } from "../trace.js";

export interface ChatValues {
  readonly prompt?: string | undefined;
  readonly "mcp-config"?: string | undefined;
  readonly model?: string | undefined;
  readonly trace?: string | undefined;
  readonly yes?: boolean | undefined;
  readonly json?: boolean | undefined;
}

export async function runChatCommand({ values }: Given<ChatValues>): Promise<number> {
  const { prompt, model, "mcp-config": mcpConfig, yes = false, json = false } = values;
  const trace = values.trace === undefined ? undefined : openTraceFile(values.trace);
  const { host, config } = await compose({
    logLevel: "error",
    ...defined({ trace, model, mcpConfig }),
  });
  if (!mayGoOn(config, json)) return EXIT.config;
  const { createAgent } = await loadAgent();
  const isTty = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const stop = () => host.close(LIMITS.exitGrace);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => exitAfter(stop, EXIT.interrupted));
  const code = await runChat({
    agent: trace ? tappedAgent(createAgent({ host }), acpTap(trace)) : createAgent({ host }),
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
