// The context of every command: the world, the project, where to print, and how to ask the person.

import { statSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { World } from "../base/ports/world.js";
import { type EffectiveConfig, loadConfig } from "../config/index.js";
import { nodeWorld } from "../world/index.js";
import { chooseLog } from "./log.js";
import { type Keyring, systemKeyring, unaskedSecrets } from "./secrets.js";
import { columnsOf, createPalette, mayColor, type Palette } from "./terminal/stream.js";
import { renderTable, visible, visibleJson, withRoomForLast } from "./terminal/text.js";

/** `--gateway`, and what belongs to it. */
export interface GatewayChoice {
  /** Unless given: the local one. */
  readonly urls?: readonly string[];
  /** The full path of the file of `--token-file`. */
  readonly tokenFile?: string;
}

/** The options of `tenon acp`. */
export interface AcpOptions {
  readonly gateway?: GatewayChoice;
  readonly model?: string;
  /** The full path of the directory of `--config`, which is in use already. */
  readonly config?: string;
  /** The full path of the file of `--mcp-config`. */
  readonly mcpConfig?: string;
  /** The file of `--trace`. */
  readonly trace?: string;
}

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
  readonly keyring: Keyring;
  /** Reads what a person types without echo, or pipes in; from this process's input unless given. */
  readonly readValue?: (question: string) => Promise<string | undefined>;
  /** How `tenon acp` serves; only the program itself has it. */
  readonly serve?: (options: AcpOptions) => Promise<void>;
}

/**
 * The value of `--config` or `--mcp-config`. `~/` is expanded, since editors start programs without a shell. `from`: where a
 * relative path begins; without it none is taken. Throws `usage.invalid`.
 */
export function optionPath(option: string, path: string, { world, from }: { world: World; from?: string }): string {
  const home = world.env["HOME"];
  if (home !== undefined && /^~[\\/]/u.test(path)) return join(home, path.slice(2));
  if (isAbsolute(path)) return path;
  if (from !== undefined) return resolve(from, path);
  const why = "a relative one would lie in whatever project the editor has open";
  throw new TenonError("usage.invalid", `${option} must be a full path, or begin with ~/: ${why}`, { hint: "" });
}

/** `--config DIR`: from now on this process keeps everything there. Throws `usage.invalid` for what is no directory. */
export function useAgentDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === false) {
    throw new TenonError("usage.invalid", `--config: ${path} is no directory`, { hint: "" });
  }
  process.env["TENON_HOME"] = path;
}

/** Reads every layer; runs nothing, fetches nothing. */
export async function readConfig({ world, cwd }: CommandContext): Promise<EffectiveConfig> {
  return await loadConfig({ world, cwd, resolveSecret: unaskedSecrets });
}

/** Lines must be made visible before they are styled: escapes would not survive it here. */
export function print({ output }: CommandContext, lines: readonly string[]): void {
  for (const line of lines) output.write(`${line}\n`);
}

export function printJson({ output }: CommandContext, value: unknown): void {
  output.write(`${visibleJson(JSON.stringify(value, undefined, 2))}\n`);
}

/** JSON for programs, lines for people. */
export function report(
  context: CommandContext,
  isJson: boolean | undefined,
  value: unknown,
  lines: readonly string[],
): void {
  if (isJson) printJson(context, value);
  else print(context, lines);
}

/** A table whose first row says what the columns are. Cells must be single lines of visible text. `droppedFirst`: by position. */
export function tableLines(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  { columns, palette }: Pick<CommandContext, "columns" | "palette">,
  droppedFirst: readonly number[] = [],
): readonly string[] {
  const fitting = withRoomForLast([head, ...rows], columns, droppedFirst);
  const [first = "", ...lines] = renderTable(fitting, { columns });
  return [palette.dim(first), ...lines];
}

export async function saysYes({ ask: askPerson }: CommandContext, question: string): Promise<boolean> {
  return (await askPerson?.(question))?.trim().toLowerCase() === "yes";
}

export function warn({ errorOutput, palette }: CommandContext, text: string): void {
  errorOutput.write(`${palette.yellow(`! ${visible(text)}`)}\n`);
}

export function realContext(): CommandContext {
  const { stdin, stdout, stderr, env } = process;
  const isAttended = stdin.isTTY === true && stdout.isTTY === true;
  const world = nodeWorld({ log: chooseLog("error") });
  return {
    world,
    keyring: systemKeyring(world),
    cwd: process.cwd(),
    output: stdout,
    errorOutput: stderr,
    columns: columnsOf(stdout),
    palette: createPalette(mayColor(stdout, env)),
    ...defined({ ask: isAttended ? ask : undefined }),
  };
}

/** Undefined when the input ends instead. */
async function ask(question: string): Promise<string | undefined> {
  const reader = createInterface({ input: process.stdin, output: process.stdout });
  return await new Promise((resolve) => {
    reader.once("close", () => resolve(undefined));
    reader.question(question, (answer) => {
      resolve(answer);
      reader.close();
    });
  });
}
