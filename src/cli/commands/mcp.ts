// `tenon mcp` on the real terminal.

import { runMcp } from "../configuration/mcp.js";
import { realContext } from "../configuration/real-context.js";

export async function runMcpCommand(words: readonly string[]): Promise<void> {
  process.exitCode = await runMcp(words, realContext());
}
