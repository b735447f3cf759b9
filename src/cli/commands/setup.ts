// `tenon acp --setup` on the real terminal: the log-in that editors offer to run.
import type { CommandContext } from "../configuration/context.js";
import { secretContext } from "../configuration/secret-context.js";
import { runSetup } from "../configuration/setup.js";

export async function runSetupCommand(context: CommandContext): Promise<number> {
  return await runSetup(secretContext(context));
}
