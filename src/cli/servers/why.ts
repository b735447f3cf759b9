// `tenon mcp why`: what became of a tool on its way to the model, and what to do about it.
import { defined } from "../../base/json/defined.js";
import type { EffectiveConfig } from "../../config/index.js";
import type { WhyAnswer } from "../../index.js";
import { type CommandContext, print, printJson, readConfig } from "../configuration/context.js";
import { EXIT } from "../exit.js";
import type { Given } from "../table/command.js";
import { progress } from "../terminal/progress.js";
import { visibleLine } from "../terminal/visible.js";
import { withApproval } from "./why-approval.js";
import { whyHere } from "./why-here.js";
import { nextForWhy } from "./why-next.js";

interface Values {
  readonly json?: boolean | undefined;
  readonly prompt?: string | undefined;
}

export async function runWhy({ values, words }: Given<Values>, context: CommandContext): Promise<number> {
  const tool = words.join(" "); // titles have several words
  const config = await readConfig(context);
  const answer = await withApproval(await answerTo(tool, values.prompt, context), config, context);
  const { kind, text, search, candidates = [] } = answer;
  const next = nextForWhy(answer, tool, serverOf(answer, tool, config));
  if (values.json === true) printJson(context, { kind, text, ...defined({ search }), candidates, next });
  else {
    const { palette } = context;
    print(context, [
      visibleLine(text),
      ...candidates.map((path) => `  ${visibleLine(path)}`),
      ...next.map((line, at) => palette.dim(`${at === 0 ? "next: " : "      "}${visibleLine(line)}`)),
    ]);
  }
  return EXIT.done;
}

async function answerTo(tool: string, prompt: string | undefined, context: CommandContext): Promise<WhyAnswer> {
  using _shown = progress(context, "Connecting to the servers…");
  return await whyHere(tool, prompt, context);
}

/** By the tool where it is known, else by the name that was asked for. */
function serverOf({ tool, server }: WhyAnswer, asked: string, { servers }: EffectiveConfig): string | undefined {
  if (tool || server !== undefined) return tool?.source ?? server;
  return servers.find(
    ({ name }) => asked === name || asked.startsWith(`${name}/`) || asked.startsWith(`mcp__${name}__`),
  )?.name;
}
