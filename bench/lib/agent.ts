// An ACP agent as a child process, spoken to by hand: no SDK on this side, so that what is measured is the agent.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { isJsonObject, type JsonValue, parseJson } from "../../src/base/json/json.js";
import { LineSplitter } from "../../src/base/json/ndjson.js";
import { groupResidentMb } from "./memory.js";

export interface AgentCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

export interface Answer {
  readonly result: JsonValue;
  /** From the writing of the request to the arrival of its answer. */
  readonly elapsedMs: number;
  /** When the answer arrived, on the clock of `performance.now()`. */
  readonly arrivedAt: number;
}

interface Waiting {
  readonly method: string;
  settle(answer: { readonly message: JsonValue; readonly arrivedAt: number } | Error): void;
}

const MAX_LINE_BYTES = 16_777_216;
const KEPT_STDERR_CHARACTERS = 2_000;
const END_WITHIN_MS = 10_000;

export class Agent {
  readonly spawnedAt: number = performance.now();
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lines = new LineSplitter(MAX_LINE_BYTES);
  readonly #waiting = new Map<JsonValue, Waiting>();
  readonly #ended: Promise<void>;
  #stderr = "";
  #lastId = 0;

  constructor({ command, args, env, cwd }: AgentCommand) {
    // A group of its own: some agents are launchers, and all their processes have to go between two samples.
    this.#child = spawn(command, args, { env, cwd, detached: true, stdio: ["pipe", "pipe", "pipe"] });
    this.#child.stdin.on("error", () => {}); // an agent that is gone is reported by its end
    this.#child.stdout.on("data", (chunk: Buffer) => this.#receive(chunk));
    this.#child.stderr.setEncoding("utf8");
    this.#child.stderr.on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-KEPT_STDERR_CHARACTERS);
    });
    this.#ended = new Promise((resolve) => {
      const end = (reason: string) => {
        for (const waiting of this.#waiting.values()) {
          waiting.settle(new Error(`${reason} before it answered ${waiting.method}${this.#lastWords()}`));
        }
        resolve();
      };
      this.#child.once("error", (error) => end(`could not be started (${error.message})`));
      this.#child.once("exit", (code, signal) => end(`ended (${signal ?? `exit code ${code}`})`));
    });
  }

  /** Rejects when the agent answers with an error, ends, or takes longer than `withinMs`. */
  async request(method: string, params: JsonValue, withinMs = 30_000): Promise<Answer> {
    const id = ++this.#lastId;
    const sentAt = performance.now();
    const { message, arrivedAt } = await new Promise<{ message: JsonValue; arrivedAt: number }>((resolve, reject) => {
      const late = () => reject(new Error(`did not answer ${method} within ${withinMs / 1000} s${this.#lastWords()}`));
      const timer = setTimeout(late, withinMs);
      this.#waiting.set(id, {
        method,
        settle: (answer) => {
          clearTimeout(timer);
          this.#waiting.delete(id);
          if (answer instanceof Error) reject(answer);
          else resolve(answer);
        },
      });
      this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
    const { result, error } = isJsonObject(message) ? message : {};
    if (result === undefined) throw new Error(`answered ${method} with ${JSON.stringify(error)}`);
    return { result, elapsedMs: arrivedAt - sentAt, arrivedAt };
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resident memory of the agent and whatever it started in its group; undefined where there is no `/proc`. */
  residentMb(): number | undefined {
    const { pid } = this.#child;
    return pid === undefined ? undefined : groupResidentMb(pid);
  }

  /** At once and with everything it started in its own group. */
  async kill(): Promise<void> {
    this.#signalGroup("SIGKILL");
    await this.#ended;
  }

  /** As an editor ends it: end of input. Throws when it had to be killed, since then it may have left servers behind. */
  async end(): Promise<void> {
    this.#child.stdin.end();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#signalGroup("SIGKILL");
    }, END_WITHIN_MS);
    await this.#ended;
    clearTimeout(timer);
    if (isLate) throw new Error(`did not end within ${END_WITHIN_MS / 1000} s of its input${this.#lastWords()}`);
  }

  #signalGroup(signal: NodeJS.Signals): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, signal);
    } catch {
      // ESRCH: it is gone, which is what was wanted
    }
  }

  #receive(chunk: Buffer): void {
    const arrivedAt = performance.now();
    for (const line of this.#lines.push(chunk)) {
      const parsed = line.kind === "line" ? parseJson(line.text) : undefined;
      if (!parsed?.ok || !isJsonObject(parsed.value) || parsed.value["method"] !== undefined) continue;
      this.#waiting.get(parsed.value["id"] ?? null)?.settle({ message: parsed.value, arrivedAt });
    }
  }

  #lastWords(): string {
    const lines = this.#stderr.trim().split("\n").slice(-3).join(" | ");
    return lines === "" ? "" : `; stderr: ${lines}`;
  }
}

/** From spawn to exit, with the same kind of pipes as an agent gets. */
export async function timeToExit({ command, args, env, cwd }: AgentCommand): Promise<number> {
  const spawnedAt = performance.now();
  return await new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, cwd, detached: true, stdio: ["pipe", "pipe", "pipe"] });
    child.once("error", reject);
    child.once("exit", (code) => {
      const elapsedMs = performance.now() - spawnedAt;
      if (code === 0) resolve(elapsedMs);
      else reject(new Error(`${command} ${args.join(" ")} ended with exit code ${code}`));
    });
  });
}
