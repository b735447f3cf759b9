// The nodes of the chaos run: processes of the built product on one database, and what is done to them.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT } from "../lib/run.js";
import type { Network, NodePlace } from "./network.js";

export const TENON: string = join(ROOT, "dist/cli/main.js");
const READY_WITHIN_MS = 30_000;
const POLL_MS = 25;
/** What `tenon gateway run` ends with when it cannot use its database. */
const UNUSABLE_STORE = 3;
const ANSWER_WITHIN_MS = 2_000;

export interface ClusterOptions {
  readonly network: Network;
  /** Logs and homes of the nodes. */
  readonly folder: string;
  /** Where sessions are; the same at every node. */
  readonly projects: string;
  /** Of the database, as nodes reach it. */
  readonly store: string;
  /** Of the model and the ledger. */
  readonly origin: string;
}

/** One process at a time; a new one has a new lease. */
export class ClusterNode {
  readonly index: number;
  readonly name: string;
  readonly place: NodePlace;
  readonly logFile: string;
  readonly home: string;
  readonly #options: ClusterOptions;
  #child: ChildProcess | undefined;
  /** Undefined: nothing is wrong with it. */
  ailment: string | undefined = "not started";

  constructor(index: number, options: ClusterOptions) {
    const place = options.network.places[index];
    if (!place) throw new Error(`there is no place for node ${index}`);
    this.index = index;
    this.name = `node-${index + 1}`;
    this.place = place;
    this.#options = options;
    this.home = join(options.folder, this.name);
    this.logFile = join(options.folder, `${this.name}.log`);
    mkdirSync(this.home, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.home, "config.json"), JSON.stringify(configOf(options.origin), undefined, 2));
  }

  get url(): string {
    return `ws://${this.place.address}:${this.place.port}/acp`;
  }

  get environment(): Record<string, string> {
    return {
      PATH: process.env["PATH"] ?? "",
      HOME: this.home,
      TENON_HOME: this.home,
      TENON_LOG: "info",
      TENON_MODEL: "openai-compatible/chaos",
      TENON_BASE_URL: `${this.#options.origin}/v1`,
      TENON_API_KEY: "none",
    };
  }

  /** As a service manager does it: one that ends because the database is away is started again. */
  async start(): Promise<void> {
    const until = performance.now() + READY_WITHIN_MS;
    let running = this.#spawn();
    while (!(await this.isReady())) {
      if (performance.now() > until) throw new Error(`${this.name} is not ready after ${READY_WITHIN_MS} ms`);
      await sleep(POLL_MS);
      if (running.exitCode === UNUSABLE_STORE) running = this.#spawn();
      else if (running.exitCode !== null)
        throw new Error(`${this.name} ended with ${running.exitCode}: ${this.logFile}`);
    }
    this.ailment = undefined;
  }

  #spawn(): ChildProcess {
    const { projects, store } = this.#options;
    const { address, port } = this.place;
    const words = [
      ...["gateway", "run", "--store", store, "--node", this.name, "--root", projects],
      ...["--listen", `${address}:${port}`, "--insecure-http"],
    ];
    const [program, ...args] = this.place.command(process.execPath, [TENON, ...words]);
    const log = openSync(this.logFile, "a");
    const child = spawn(program, args, { env: this.environment, cwd: this.home, stdio: ["ignore", log, log] });
    closeSync(log);
    this.#child = child;
    const kill = () => child.kill("SIGKILL");
    process.once("exit", kill);
    child.once("exit", () => process.off("exit", kill));
    child.once("error", () => {}); // told by its exit code, which it never gets
    return child;
  }

  async isReady(): Promise<boolean> {
    return (await this.#get("/readyz")) !== undefined;
  }

  /** Undefined: no answer, or none that says yes. */
  async #get(path: string): Promise<string | undefined> {
    const { address, port } = this.place;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), ANSWER_WITHIN_MS);
    try {
      const answer = await fetch(`http://${address}:${port}${path}`, { signal: late.signal });
      const text = await answer.text();
      return answer.status === 200 ? text : undefined;
    } catch {
      return undefined; // it is away, which is what this run is about
    } finally {
      clearTimeout(timer);
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Until the process is gone. */
  async ended(): Promise<void> {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
}

/** The ledger may be called without asking, as often as the run can, and never twice. */
function configOf(origin: string): object {
  return {
    allowHosts: [new URL(origin).host],
    models: { "openai-compatible/chaos": { contextTokens: 1_000_000 } },
    mcpServers: {
      ledger: {
        type: "http",
        url: `${origin}/mcp`,
        required: true,
        limits: { callsPerMinute: 100_000, callsAtOnce: 1_000 },
      },
    },
    permissions: { rules: [{ effect: "allow", server: "ledger" }] },
  };
}
