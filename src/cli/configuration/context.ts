// What the commands around the configuration work with, and how what they throw becomes words and an exit code.
import { toTenonError } from "../../base/errors.js";
import type { JsonObject } from "../../base/json.js";
import type { World } from "../../base/world.js";
import { type EffectiveConfig, loadConfig } from "../../config/index.js";
import { EXIT } from "../exit.js";
import { unaskedSecrets } from "../secrets.js";
import type { Palette } from "../terminal/palette.js";
import { visible, visibleJson } from "../terminal/visible.js";

export interface CommandContext {
  readonly world: World;
  /** The project. */
  readonly cwd: string;
  readonly output: NodeJS.WritableStream;
  readonly errorOutput: NodeJS.WritableStream;
  readonly columns: number;
  readonly palette: Palette;
  /** Puts a question to the person at the terminal; undefined when there is none. */
  readonly ask?: (question: string) => Promise<string | undefined>;
}

/** Reads every layer; runs nothing, fetches nothing. */
export async function readConfig({ world, cwd }: CommandContext): Promise<EffectiveConfig> {
  return await loadConfig({ world, cwd, resolveSecret: unaskedSecrets });
}

/** Lines are made visible by whoever builds them: styles would not survive it here. */
export function print({ output }: CommandContext, lines: readonly string[]): void {
  for (const line of lines) output.write(`${line}\n`);
}

export function printJson({ output }: CommandContext, value: unknown): void {
  output.write(`${visibleJson(JSON.stringify(value, undefined, 2))}\n`);
}

export function warn({ errorOutput, palette }: CommandContext, text: string): void {
  errorOutput.write(`${palette.yellow(`! ${visible(text)}`)}\n`);
}

/** Runs a command to its exit code. What failed is told to people, and to a program as JSON too. */
export async function settleCommand(
  name: string,
  context: CommandContext,
  isJson: boolean,
  run: () => Promise<void>,
): Promise<number> {
  try {
    await run();
    return EXIT.done;
  } catch (thrown) {
    const { code, message, hint } = toTenonError(thrown);
    const error: JsonObject = { code, message, hint };
    if (isJson) printJson(context, { error });
    context.errorOutput.write(`tenon ${name}: ${visible(message)}\n  ${visible(hint)}\n`);
    return code.startsWith("config.") ? EXIT.config : EXIT.failed;
  }
}

export function refuseWords(name: string, { errorOutput }: CommandContext, reason: string): number {
  errorOutput.write(`tenon ${name}: ${visible(reason)}\nSee tenon --help.\n`);
  return EXIT.usage;
}
