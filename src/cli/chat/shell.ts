// Programs that the person starts from the chat: a command after `!`, their editor for a prompt, and what has a picture in the clipboard.
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CLI_LIMITS } from "../limits.js";
import type { Clock } from "../terminal/stream.js";

export interface ShellResult {
  readonly output: string;
  readonly code: number | null;
}

/** The rest of a longer line is not shown. */
const MAX_LINE = 16_384;

/**
 * In the person's shell, with its output line by line. The signal ends it with all that it started, by force where it does
 * not end by itself; what has left its process group may go on, and is not waited for.
 */
export async function runShell(
  command: string,
  {
    cwd,
    env,
    signal,
    clock,
    onLine,
  }: {
    readonly cwd: string;
    readonly env: NodeJS.ProcessEnv;
    readonly signal: AbortSignal;
    readonly clock: Pick<Clock, "after">;
    readonly onLine: (line: string) => void;
  },
): Promise<ShellResult> {
  const shell = env["SHELL"] || "/bin/sh";
  const [program, args] =
    process.platform === "win32" ? (["cmd", ["/c", command]] as const) : ([shell, ["-c", command]] as const);
  return await new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env,
      detached: process.platform !== "win32",
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let line = "";
    const kill = (how: "SIGTERM" | "SIGKILL") => {
      if (child.pid === undefined) return;
      try {
        process.kill(process.platform === "win32" ? child.pid : -child.pid, how);
      } catch {
        // It is over already.
      }
    };
    let patience: (() => void) | undefined;
    const end = () => {
      kill("SIGTERM");
      patience = clock.after(CLI_LIMITS.shellEndMs, () => {
        kill("SIGKILL");
        for (const stream of [child.stdout, child.stderr]) stream.destroy(); // another process may still hold them
      });
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
    const hear = (chunk: string) => {
      if (output.length < CLI_LIMITS.shellOutputBytes)
        output += chunk.slice(0, CLI_LIMITS.shellOutputBytes - output.length);
      for (const [index, part] of chunk.split("\n").entries()) {
        if (index > 0) {
          onLine(line);
          line = "";
        }
        const room = MAX_LINE - line.length;
        // One character more stands for the rest: such a line takes no more.
        if (room >= 0) line += part.length > room ? `${part.slice(0, room)}…` : part;
      }
    };
    for (const stream of [child.stdout, child.stderr])
      stream
        .setEncoding("utf8")
        .on("data", hear)
        .on("error", () => {});
    const over = (code: number | null, words = "") => {
      signal.removeEventListener("abort", end);
      patience?.();
      if (line !== "") onLine(line);
      if (words !== "") onLine(words);
      resolve({ output: output + words, code });
    };
    child.once("error", (error) => over(null, error.message));
    child.once("close", (code) => over(code));
  });
}

/** The text as the person left it in their editor; undefined when that failed. */
export async function editText(text: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const editor = env["VISUAL"] || env["EDITOR"] || (process.platform === "win32" ? "notepad" : "vi");
  const folder = mkdtempSync(join(tmpdir(), "tenon-prompt-"));
  const file = join(folder, "prompt.md");
  try {
    writeFileSync(file, text, { mode: 0o600 });
    const code = await new Promise<number | null>((resolve) => {
      // The variable may have options in it: `code --wait`.
      spawn(`${editor} "${file}"`, { shell: true, stdio: "inherit", env })
        .on("error", () => resolve(null))
        .once("close", resolve);
    });
    return code === 0 ? readFileSync(file, "utf8").replace(/\n$/u, "") : undefined;
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const CLIPBOARDS: readonly (readonly [string, readonly string[]])[] = [
  ["wl-paste", ["--type", "image/png", "--no-newline"]],
  ["xclip", ["-selection", "clipboard", "-t", "image/png", "-o"]],
  ["pngpaste", ["-"]],
];
const CLIPBOARD_MS = 3_000;
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]);

/** A PNG, where one is in the clipboard and a program is there that gives it out. */
export async function clipboardPicture(): Promise<Buffer | undefined> {
  for (const [program, args] of CLIPBOARDS) {
    const bytes = await new Promise<Buffer | undefined>((resolve) => {
      const options = { encoding: "buffer", timeout: CLIPBOARD_MS, maxBuffer: CLI_LIMITS.pictureBytes } as const;
      execFile(program, args, options, (error, stdout) => resolve(error ? undefined : stdout));
    });
    if (bytes?.subarray(0, PNG.length).equals(PNG)) return bytes;
  }
  return undefined;
}
