// The agent under test as a process: its lines, its last words, its end.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { LineSplitter } from "../../../base/json/ndjson.js";
import { LIMITS } from "../../../base/limits.js";
import { CLI_LIMITS } from "../../limits.js";
import { within } from "../wait.js";

export interface AgentCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

export type Ending = { readonly words: string };

export class AgentProcess implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines = new LineSplitter(LIMITS.acpMaxLineBytes);
  readonly ended: Promise<Ending>;
  #ending: Ending | undefined;
  #stderr = "";
  onLine: (line: string) => void = () => {};

  constructor({ command, args, env, cwd }: AgentCommand) {
    // A group of its own: what it leaves behind can be ended with it when the check is over.
    const child = spawn(command, [...args], { env, cwd, stdio: ["pipe", "pipe", "pipe"], detached: true });
    this.#child = child;
    this.ended = new Promise((resolve) => {
      const end = (words: string) => {
        this.#ending ??= { words };
        resolve(this.#ending);
      };
      child.on("error", (error) => end(error.message));
      child.once("exit", (code, signal) => end(signal ? `ended by ${signal}` : `exited with code ${code}`));
    });
    child.stdin.on("error", () => {}); // gone already; that it ended is told by `ended`
    child.stdout.on("data", (chunk: Buffer) => this.#receive(chunk));
    child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-LIMITS.stderrTailBytes);
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get hasEnded(): boolean {
    return this.#ending !== undefined;
  }

  /** The end of its stderr in one line, for people. */
  get lastWords(): string {
    const line = this.#stderr.trim().split("\n").at(-1)?.trim() ?? "";
    return line === "" ? "" : `; its stderr ends with ${JSON.stringify(line.slice(0, 200))}`;
  }

  write(text: string): void {
    this.#child.stdin.write(text);
  }

  endInput(): void {
    this.#child.stdin.end();
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** How long it takes to end from now on; undefined when it does not in time. */
  async endsWithin(ms: number): Promise<number | undefined> {
    const before = performance.now();
    const ending = await within(this.ended, ms);
    return ending && performance.now() - before;
  }

  /** Ends whatever is left of it and of its group. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    if (!this.hasEnded) {
      this.signal("SIGTERM");
      await this.endsWithin(CLI_LIMITS.acpCheck.exitMs);
    }
    if (this.pid !== undefined && process.platform !== "win32") {
      try {
        process.kill(-this.pid, "SIGKILL");
      } catch {
        // nobody is left in the group
      }
    }
    this.signal("SIGKILL");
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  #receive(chunk: Buffer): void {
    for (const line of this.#lines.push(chunk)) {
      this.onLine(line.kind === "line" ? line.text : `(a line of ${line.bytes} bytes)`);
    }
  }
}
