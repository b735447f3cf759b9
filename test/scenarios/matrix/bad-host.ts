// Starts the bad server of one cell: as a spec for the connection under test, and over HTTP as a process of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { ServerSpec } from "../../../src/mcp/index.js";
import type { Transport } from "./cells.js";
import type { Settings } from "./server/lab.js";

export class BadHost implements AsyncDisposable {
  readonly spec: ServerSpec;
  readonly #recordFile: string;
  readonly #child: ChildProcess | undefined;

  private constructor(spec: ServerSpec, recordFile: string, child?: ChildProcess) {
    this.spec = spec;
    this.#recordFile = recordFile;
    this.#child = child;
  }

  static async start(program: string, transport: Transport, settings: Settings): Promise<BadHost> {
    const args = [program, transport, JSON.stringify(settings)];
    const { recordFile } = settings;
    if (transport === "stdio") {
      return new BadHost({ kind: "stdio", name: "bad", command: process.execPath, args, env: {} }, recordFile);
    }
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout });
    const [url]: unknown[] = await once(lines, "line");
    lines.close();
    return new BadHost({ kind: "http", name: "bad", url: String(url), headers: {} }, recordFile, child);
  }

  /** How many lines of that kind the server has written. */
  recorded(what: "asked" | "struck" | "get" | "page"): number {
    if (!existsSync(this.#recordFile)) return 0;
    return readFileSync(this.#recordFile, "utf8")
      .split("\n")
      .filter((line) => line === what).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }
}
