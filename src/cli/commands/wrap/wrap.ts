// `tenon wrap`: which agent, or which bridge. Light: a wrapped agent starts a bridge for each server.
import { misused, type Run, type Values } from "../../command.js";

type WrapValues = Values<"one-process", "bridge" | "config" | "mcp-config">;

export const runWrap: Run<WrapValues> = async ({ values, after = [] }, context) => {
  const { bridge, config, "mcp-config": mcpConfig, "one-process": isOneProcess = false } = values;
  if (bridge !== undefined) return await (await import("./bridge.js")).runBridge(bridge);
  const [command, ...args] = after;
  if (command === undefined) throw misused("say which agent: tenon wrap [options] -- COMMAND ARGS…");
  await (await import("./serve.js")).serveWrapped({ command, args, isOneProcess, config, mcpConfig }, context);
};
