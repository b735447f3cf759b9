// A command in a real pseudo-terminal: tmux draws what it writes, and a test reads the screen as a person would.
import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { cleanEnv, type TemporaryFolder } from "./agent.js";
import { agentNode, TENON } from "./peers.js";

const run = promisify(execFile);

/** Options of scenarios that need it. */
export const IN_TMUX = { needs: ["tmux"], platform: "linux" } as const;

const POLL_MS = 25;
const WAIT_MS = 15_000;

export interface TmuxOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** In place of `tenon chat`. */
  readonly words?: readonly string[];
  /** The folder it runs in; the home unless given. */
  readonly cwd?: string;
  /** Everything that is written goes into this file of the home as well. */
  readonly log?: string;
}

export class TmuxTerminal implements AsyncDisposable {
  readonly #socket: string;
  readonly #home: string;

  private constructor(home: string, socket: string) {
    this.#home = home;
    this.#socket = socket;
  }

  static async start(home: TemporaryFolder, options: TmuxOptions = {}): Promise<TmuxTerminal> {
    const { columns = 80, rows = 24, env = {}, words = ["chat"], cwd = home.path, log } = options;
    const socket = join(home.path, `tmux-${Math.random().toString(36).slice(2, 8)}`);
    const terminal = new TmuxTerminal(home.path, socket);
    // Variables go through a file: tmux would take those of a server that runs.
    const variables = cleanEnv(home.path, { TENON_MODEL: "offline/operator", LANG: "C.UTF-8", ...env });
    const script = join(home.path, `${socket.slice(-6)}.sh`);
    const lines = Object.entries({ HOME: home.path, TERM: "screen-256color", ...variables }).map(
      ([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'`,
    );
    const command = [agentNode(), TENON, ...words].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    writeFileSync(
      script,
      `unset TMUX TMUX_PANE\n${lines.join("\n")}\ncd '${cwd}'\necho $$ > '${socket}.pid'\nexec ${command}\n`,
    );
    writeFileSync(
      join(home.path, "tmux.conf"),
      "set -g remain-on-exit on\nset -g status off\nset -g escape-time 0\nset -s focus-events off\n",
    );
    // The exit code goes into a file: tmux does not always know it.
    const inner = `sh '${script}'; echo $? > '${socket}.exit'`;
    const shell =
      log === undefined ? inner : `script -qfec "sh '${script}'" '${join(home.path, log)}'; echo $? > '${socket}.exit'`;
    await terminal.#tmux([
      "-f",
      join(home.path, "tmux.conf"),
      "new-session",
      "-d",
      "-x",
      String(columns),
      "-y",
      String(rows),
      shell,
    ]);
    return terminal;
  }

  async #tmux(words: readonly string[]): Promise<string> {
    const env = cleanEnv(this.#home, { LANG: "C.UTF-8", TERM: "screen-256color" });
    const { stdout } = await run("tmux", ["-S", this.#socket, ...words], { env, maxBuffer: 16_777_216 });
    return stdout;
  }

  /** What is on the screen, without blank lines at its end. */
  async screen(): Promise<string> {
    return trimmed(await this.#tmux(["capture-pane", "-p"]));
  }

  /** With what has scrolled away. */
  async all(): Promise<string> {
    return trimmed(await this.#tmux(["capture-pane", "-p", "-J", "-S", "-"]));
  }

  /** With the escape sequences that colour it. */
  async coloured(): Promise<string> {
    return trimmed(await this.#tmux(["capture-pane", "-p", "-e"]));
  }

  /** The screen once it shows a text, or what a test looks for. */
  async until(wanted: string | RegExp | ((screen: string) => boolean), waitMs: number = WAIT_MS): Promise<string> {
    const endMs = performance.now() + waitMs;
    for (;;) {
      const screen = await this.screen();
      const isShown =
        typeof wanted === "string"
          ? screen.includes(wanted)
          : wanted instanceof RegExp
            ? wanted.test(screen)
            : wanted(screen);
      if (isShown) return screen;
      if (performance.now() > endMs) throw new Error(`the screen does not show ${String(wanted)}:\n${screen}`);
      await delay(POLL_MS);
    }
  }

  /** Waits until the chat can be typed in. */
  async ready(): Promise<string> {
    return await this.until((screen) => screen.includes("›") && screen.includes("mode "));
  }

  /** A menu takes answers once its mark is shown. */
  async asked(): Promise<string> {
    return await this.until("❯ 1.");
  }

  async type(text: string): Promise<void> {
    await this.#tmux(["send-keys", "-l", text]);
  }

  /** By tmux' names: Enter, Escape, C-c, Up, BTab. */
  async press(...keys: readonly string[]): Promise<void> {
    await this.#tmux(["send-keys", ...keys]);
  }

  /** As a keyboard sends them. */
  async bytes(text: string): Promise<void> {
    await this.#tmux(["send-keys", "-H", ...Array.from(Buffer.from(text), (byte) => byte.toString(16))]);
  }

  async send(text: string): Promise<void> {
    await this.type(text);
    await this.press("Enter");
  }

  /** As a terminal does it: in brackets, where the program asked for that. */
  async paste(text: string): Promise<void> {
    const file = join(this.#home, "pasted");
    writeFileSync(file, text);
    await this.#tmux(["load-buffer", file]);
    await this.#tmux(["paste-buffer", "-p", "-r"]);
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux(["resize-window", "-x", String(columns), "-y", String(rows)]);
  }

  /** Of the command itself. */
  pid(): number {
    return Number(readFileSync(`${this.#socket}.pid`, "utf8"));
  }

  /** The exit code, once it has ended; of one that a signal ended 128 and the signal. */
  async exited(): Promise<number> {
    const endMs = performance.now() + WAIT_MS;
    for (;;) {
      const code = existsSync(`${this.#socket}.exit`) ? readFileSync(`${this.#socket}.exit`, "utf8").trim() : "";
      if (code !== "") return Number(code);
      if (performance.now() > endMs) throw new Error(`it has not ended:\n${await this.screen()}`);
      await delay(POLL_MS);
    }
  }

  /** Everything that was written, for a terminal with a log. */
  written(log: string): string {
    return readFileSync(join(this.#home, log), "utf8");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pid = await this.#tmux(["display-message", "-p", "#{pid}"]).catch(() => "");
    await this.#tmux(["kill-server"]).catch(() => undefined);
    for (const one of [Number(pid), this.pid()]) await gone(one);
  }
}

async function gone(pid: number): Promise<void> {
  const endMs = performance.now() + WAIT_MS;
  if (pid <= 0) return;
  while (performance.now() < endMs) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await delay(POLL_MS);
  }
}

function trimmed(text: string): string {
  return text.replaceAll(/[ \t]+$/gmu, "").replace(/\n+$/u, "");
}
