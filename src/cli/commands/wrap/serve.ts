// Serves an editor over stdio with another agent's processes behind it.
import { join } from "node:path";
import { Wire } from "../../../acp/index.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject } from "../../../base/json/json.js";
import { SharedConfigs, sharedSecrets, tenonPaths } from "../../../config/index.js";
import { diskCache } from "../../../mcp/index.js";
import { nodeWorld } from "../../../world/index.js";
import { Wrapper } from "../../../wrap/index.js";
import { type CommandContext, optionPath, useAgentDirectory } from "../../context.js";
import { exitAfter, onStopSignals, onUncaught } from "../../exit.js";
import { chooseLog } from "../../log.js";
import { definedVariables, personalGrants, secretResolver } from "../../secrets.js";
import { outputFiles } from "../../server-output.js";

interface WrapRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly isOneProcess: boolean;
  readonly config: string | undefined;
  readonly mcpConfig: string | undefined;
}

/** Runs until the editor or the agent is gone or a signal comes; then leaves nothing behind. */
export async function serveWrapped(request: WrapRequest, context: Pick<CommandContext, "world">): Promise<void> {
  const { command, args, isOneProcess, config } = request;
  const mcpConfig =
    request.mcpConfig === undefined ? undefined : optionPath("--mcp-config", request.mcpConfig, context);
  if (config !== undefined) useAgentDirectory(optionPath("--config", config, context));
  const world = nodeWorld({ log: chooseLog("warn") });
  // An editor may close our stderr and go on: what is logged is lost then, and nothing else.
  process.stderr.on("error", () => {});
  const wire = new Wire({ input: process.stdin, output: process.stdout, world });
  const stop = (code: number) => exitAfter(() => wrapper.close(), code);
  const wrapper = new Wrapper({
    world,
    isOneProcess,
    agent: { command, args, env: definedVariables(world), cwd: process.cwd() },
    send: (message) => wire.send(message),
    onStderr: (chunk) => process.stderr.write(chunk),
    bridge: (address) => ({
      command: process.execPath,
      args: [process.argv[1] ?? "", "wrap", "--bridge", address],
    }),
    servers: {
      config: {
        commandLine: defined({ mcpConfig }),
        resolveSecret: sharedSecrets(secretResolver(world)),
        shared: new SharedConfigs(),
      },
      cache: diskCache({ world, dir: join(tenonPaths(world.env).cacheDir, "servers") }),
      grants: personalGrants(world),
      serverOutput: outputFiles(world),
    },
    // What the editor was answered last leaves the process first.
    onEnded: (code) => world.soon(() => stop(code)),
  });
  wire.onMessage = (message) => {
    if (isJsonObject(message)) wrapper.hear(message);
  };
  process.on("exit", () => wire.flush());
  onStopSignals(stop);
  onUncaught((error) => {
    world.log.error("process.uncaught", { error: error.message, stack: error.stack });
    wrapper.tell(`Tenon met an internal error and goes on: ${error.message}`);
  });
  await wire.closed;
  stop(0);
}
