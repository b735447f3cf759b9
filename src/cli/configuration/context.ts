// What commands work with: the world, the project, where to print, and whom to ask.
import type { World } from "../../base/ports/world.js";
import { type EffectiveConfig, loadConfig } from "../../config/index.js";
import type { AcpOptions } from "../commands/acp.js";
import type { Keyring } from "../keyring.js";
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
  /** The system's own unless given. */
  readonly keyring?: Keyring;
  /** What a person types where nobody sees it, or pipes in; from this process's input unless given. */
  readonly readValue?: (question: string) => Promise<string | undefined>;
  /** How `tenon acp` serves; only the program itself has it. */
  readonly serve?: (options: AcpOptions) => Promise<void>;
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
