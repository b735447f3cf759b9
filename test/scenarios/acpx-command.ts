// acpx as a person at a terminal uses it: one process a command, and a detached one that keeps the session between them.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { type LeakCheck, leakCheck, MARKER_VARIABLE } from "../../src/testing/index.js";
import { cleanEnv, type TemporaryFolder } from "./agent.js";
import { agentNode, node24, peerFile, TENON } from "./peers.js";
import { type CommandResult, runCommand } from "./run-command.js";

/** What acpx's keeper, its agent and the servers may take to be gone, on a machine that is busy. */
const GONE_WITHIN_MS = 20_000;

export interface AcpxOptions {
  readonly home: TemporaryFolder;
  /** As acpx takes them in its `--mcp-config`; without `env`. */
  readonly servers: readonly { readonly name: string; readonly command: string; readonly args: readonly string[] }[];
  /** How long acpx keeps the agent after a prompt. */
  readonly keepSeconds: number;
  /** A program with its arguments that is started with the agent's command behind it. */
  readonly through?: readonly string[];
  /** What `tenon acp` gets. */
  readonly acpArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export class Acpx {
  readonly #args: readonly string[];
  readonly #env: Record<string, string>;
  readonly #cwd: string;
  readonly #leaks: LeakCheck;

  private constructor(options: AcpxOptions, marker: string, leaks: LeakCheck) {
    const { home, servers, keepSeconds, through = [], acpArgs = [] } = options;
    const env = [{ name: MARKER_VARIABLE, value: marker }];
    const config = join(home.path, "acpx-mcp.json");
    writeFileSync(config, JSON.stringify({ mcpServers: servers.map((server) => ({ ...server, env })) }));
    this.#args = [
      ...[peerFile("acpx", "dist/cli.js"), "--mcp-config", config, "--approve-all", "--format", "json"],
      ...["--ttl", String(keepSeconds), "--agent", [...through, agentNode(), TENON, "acp", ...acpArgs].join(" ")],
    ];
    this.#env = cleanEnv(home.path, { ...options.env, HOME: home.path, [MARKER_VARIABLE]: marker });
    this.#cwd = home.path;
    this.#leaks = leaks;
  }

  static async in(options: AcpxOptions): Promise<Acpx> {
    const marker = `acpx-${randomUUID()}`;
    return new Acpx(options, marker, await leakCheck({ marker, withinMs: GONE_WITHIN_MS }));
  }

  /** What runs on its behalf, whoever its parent is. */
  get processes(): readonly string[] {
    return this.#leaks.find().processes;
  }

  async run(...words: readonly string[]): Promise<CommandResult> {
    return await runCommand(node24(), [...this.#args, ...words], { env: this.#env, cwd: this.#cwd });
  }

  /** The same, and does not wait for the end. */
  start(...words: readonly string[]): RunningAcpx {
    const options = { env: this.#env, cwd: this.#cwd };
    return new RunningAcpx(
      spawn(node24(), [...this.#args, ...words], { ...options, stdio: ["ignore", "pipe", "ignore"] }),
    );
  }

  /** acpx's keeper is detached and an orphan: it is found by what is in its environment. */
  async allGone(): Promise<void> {
    await this.#leaks.verify();
  }
}

export class RunningAcpx {
  readonly #child: ChildProcessByStdio<null, Readable, null>;
  readonly #closed: Promise<unknown>;
  #stdout = "";

  constructor(child: ChildProcessByStdio<null, Readable, null>) {
    this.#child = child;
    this.#closed = once(child, "close");
    child.stdout.on("data", (chunk: Buffer) => (this.#stdout += chunk.toString()));
  }

  async until(text: string): Promise<void> {
    while (!this.#stdout.includes(text)) {
      if (this.#child.exitCode !== null) throw new Error(`acpx ended without ${text}:\n${this.#stdout}`);
      await Promise.race([once(this.#child.stdout, "data"), this.#closed]);
    }
  }

  async ended(): Promise<Pick<CommandResult, "code" | "stdout">> {
    await this.#closed;
    return { code: this.#child.exitCode, stdout: this.#stdout };
  }
}
