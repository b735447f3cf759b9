// For tests: a terminal over a world of files in memory, in which any command of the table runs.
import { PassThrough } from "node:stream";
import type { CommandContext } from "../src/cli/context.js";
import { runWords } from "../src/cli/run.js";
import { systemKeyring } from "../src/cli/secrets.js";
import { TABLE } from "../src/cli/table.js";
import { createPalette } from "../src/cli/terminal/stream.js";
import { type FakeWorld, fakeWorld } from "../src/testing/index.js";

export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export class Terminal {
  readonly world: FakeWorld;
  readonly asked: string[] = [];
  /** What the person answers to whatever they are asked. */
  answer: string | undefined;
  isAttended = false;
  columns = 120;
  extra: Partial<CommandContext> = {};

  /** Files are JSON values, or texts as they stand. */
  constructor(files: Readonly<Record<string, unknown>> = {}, env: Record<string, string> = {}) {
    const texts = Object.entries(files).map(([path, value]) => [
      path,
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
    this.world = fakeWorld({
      env: { HOME: "/home/me", PATH: "/usr/bin", ...env },
      files: { "/usr/bin/run": "", "/project/readme": "", ...Object.fromEntries(texts) },
    });
  }

  async run(...words: readonly string[]): Promise<Said> {
    const output = new PassThrough();
    const errorOutput = new PassThrough();
    const context: CommandContext = {
      world: this.world,
      keyring: systemKeyring(this.world),
      cwd: "/project",
      output,
      errorOutput,
      columns: this.columns,
      palette: createPalette(false),
      ...(this.isAttended ? { ask: async (question) => this.#ask(question) } : {}),
      ...this.extra,
    };
    const code = await runWords(TABLE, words, () => context);
    return { code, out: textOf(output), err: textOf(errorOutput) };
  }

  #ask(question: string): string | undefined {
    this.asked.push(question);
    return this.answer;
  }
}

function textOf(stream: PassThrough): string {
  const read: unknown = stream.read();
  return Buffer.isBuffer(read) ? read.toString() : "";
}
