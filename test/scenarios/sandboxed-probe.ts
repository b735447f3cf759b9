// A server that does what the scenario tells it, in a sandbox, with a home, a project and secrets around it.
import { copyFileSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { McpConnection, type SandboxSpec, type StdioSpec } from "../../src/mcp/index.js";
import { nodeWorld, stderrLog } from "../../src/world/index.js";
import { TemporaryFolder } from "./agent.js";
import { callOptions } from "./real-server.js";

const PROBE = join(import.meta.dirname, "../fixtures/probe-server.mjs");

/** In the host's environment and in a file of its home: neither may turn up inside. */
export const CANARY = "canary-7f3a91";

export class SandboxedProbe implements AsyncDisposable {
  readonly #folder: TemporaryFolder;
  readonly #connect: () => McpConnection;
  #connection: McpConnection;
  readonly home: string;
  readonly project: string;
  /** Beside home and project: nobody granted it. */
  readonly elsewhere: string;

  private constructor(folder: TemporaryFolder, sandbox: SandboxSpec, extra: Partial<StdioSpec>) {
    this.#folder = folder;
    const root = realpathSync(folder.path);
    [this.home, this.project, this.elsewhere] = [join(root, "home"), join(root, "project"), join(root, "elsewhere")];
    for (const path of [join(this.home, ".ssh"), join(this.project, ".git/hooks"), this.elsewhere]) {
      mkdirSync(path, { recursive: true });
    }
    writeFileSync(join(this.home, ".ssh/id"), CANARY);
    writeFileSync(join(this.elsewhere, "note.txt"), CANARY);
    writeFileSync(join(this.project, ".git/config"), "[core]\n");
    writeFileSync(join(this.project, "note.txt"), "in the project");
    const program = join(this.elsewhere, "server/probe-server.mjs");
    mkdirSync(join(this.elsewhere, "server"));
    copyFileSync(PROBE, program);
    const spec: StdioSpec = {
      kind: "stdio",
      name: "probe",
      command: process.execPath,
      args: [program],
      env: { OWN: "its own" },
      sandbox,
      ...extra,
    };
    const env = { ...process.env, HOME: this.home, API_TOKEN: CANARY, XDG_RUNTIME_DIR: "/run/user/1000" };
    const world = nodeWorld({ env, log: stderrLog("error") });
    const client = { name: "scenario", version: "1" };
    this.#connect = () => new McpConnection(spec, { world, cwd: this.project, client });
    this.#connection = this.#connect();
  }

  static async start(sandbox: SandboxSpec, extra: Partial<StdioSpec> = {}): Promise<SandboxedProbe> {
    const probe = new SandboxedProbe(new TemporaryFolder(), sandbox, extra);
    await probe.#ready();
    return probe;
  }

  /** Starts it once more, where it was, after it has ended. */
  async again(): Promise<void> {
    this.#connection = this.#connect();
    await this.#ready();
  }

  async #ready(): Promise<void> {
    this.#connection.start();
    const isSettled = ({ kind }: { readonly kind: string }) => kind === "ready" || kind === "failed";
    const state = await this.#connection.state.until(isSettled, new AbortController().signal);
    if (state.kind !== "failed") return;
    await this[Symbol.asyncDispose]();
    throw state.cause;
  }

  /** What the code returns, as JSON, or `failed: <code>`. It has `load(module)`. */
  async run(code: string): Promise<string> {
    const outcome = await this.#connection.call("run", { code }, callOptions());
    if (outcome.kind !== "answered") throw new Error(JSON.stringify(outcome));
    const [block] = outcome.content;
    return block?.type === "text" ? block.text : JSON.stringify(block);
  }

  async write(path: string): Promise<string> {
    return await this.run(
      `const fs = await load("node:fs"); fs.writeFileSync(${JSON.stringify(path)}, "x"); return "written";`,
    );
  }

  async read(path: string): Promise<string> {
    return await this.run(`const fs = await load("node:fs"); return fs.readFileSync(${JSON.stringify(path)}, "utf8");`);
  }

  /** Ends it, and leaves its folders for whoever wants to look. */
  async end(): Promise<void> {
    await this.#connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.close();
    this.#folder[Symbol.dispose]();
  }
}
