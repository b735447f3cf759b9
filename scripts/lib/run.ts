// Starts a program and waits for it: its output captured, or passed through to the terminal.
import { spawn } from "node:child_process";
import { join } from "node:path";

export const ROOT: string = join(import.meta.dirname, "../..");

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Nothing may hang a gate: after this the program is killed and counts as failed. */
  readonly timeoutMs?: number;
  /** Show the output while it comes, too. */
  readonly echo?: boolean;
}

export interface Ran {
  readonly code: number;
  /** stdout and stderr in the order they came. */
  readonly output: string;
}

/** Runs to the end; stdin is closed, so nothing can wait for a person. */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { cwd = ROOT, env = process.env, timeoutMs = 1_800_000, echo = false } = options;
  return await new Promise((resolve, reject) => {
    const plain = process.stdout.isTTY ? {} : { NO_COLOR: "1", FORCE_COLOR: "0" };
    const child = spawn(command, args, { cwd, env: { ...env, ...plain }, stdio: ["ignore", "pipe", "pipe"] });
    const chunks: Buffer[] = [];
    const timer = setTimeout(() => {
      chunks.push(Buffer.from(`\nkilled: not done after ${timeoutMs / 1000} s\n`));
      child.kill("SIGKILL");
    }, timeoutMs);
    child.stdout.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      if (echo) process.stdout.write(chunk);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      if (echo) process.stderr.write(chunk);
    });
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString("utf8").trimEnd() });
    });
  });
}

/** A program of the installed development tools. */
export async function runTool(name: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return await run(join(options.cwd ?? ROOT, "node_modules/.bin", name), args, options);
}

export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
