// `tenon acp` with words behind it: serves with what they say, or sets a provider up.
import { defined } from "../../base/json/defined.js";
import type { CommandContext } from "../configuration/context.js";
import { EXIT } from "../exit.js";
import type { Given } from "../table/command.js";

interface Values {
  readonly model?: string | undefined;
  readonly trace?: string | undefined;
  readonly setup?: boolean | undefined;
}

export async function runAcpWords({ values }: Given<Values>, context: CommandContext): Promise<number> {
  const { model, trace, setup } = values;
  if (setup === true) return await (await import("./setup.js")).runSetupCommand(context);
  await context.serve?.(defined({ model, trace }));
  return EXIT.done;
}
