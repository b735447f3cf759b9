// A person with a home, a protected MCP server with its authorization server, and a browser that does what people do.
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { JsonObject } from "../../../src/base/json/json.js";
import type { AcpClient, AcpClientOptions } from "../../../src/testing/index.js";
import {
  type AuthServer,
  type AuthServerOptions,
  authServer,
  type ProtectedServer,
  type ProtectedServerOptions,
  protectedServer,
} from "../../../src/testing/lab/index.js";
import { cleanEnv, startTenon, TemporaryFolder } from "../agent.js";
import { agentNode, TENON } from "../peers.js";
import type { CommandResult } from "../run-command.js";

type Env = Readonly<Record<string, string>>;

/** Records every word it was started with; then opens the page and follows it, as a browser does. */
const BROWSER = `#!${process.execPath}
const { appendFileSync } = require("node:fs");
appendFileSync(process.env.BROWSER_LOG, JSON.stringify(process.argv.slice(2)) + "\\n");
if (process.env.BROWSER_ONLY_LOOKS !== "1") fetch(process.argv[2]).then((response) => response.text(), () => {});
`;

/** A command under way: what it says is waited for, what it asks is answered. */
export class RunningCommand {
  readonly #child: ReturnType<typeof spawn>;
  readonly #waiting = new Set<() => void>();
  readonly done: Promise<CommandResult>;
  stdout = "";
  stderr = "";

  constructor(command: string, args: readonly string[], place: { readonly env: Env; readonly cwd: string }) {
    this.#child = spawn(command, [...args], { ...place, stdio: ["pipe", "pipe", "pipe"] });
    const take = (name: "stdout" | "stderr") => (chunk: Buffer) => {
      this[name] += chunk.toString();
      for (const look of this.#waiting) look();
    };
    this.#child.stdin?.on("error", () => {}); // it may be gone before what it is told arrives
    this.#child.stdout?.on("data", take("stdout"));
    this.#child.stderr?.on("data", take("stderr"));
    this.done = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code) => {
        resolve({ code, stdout: this.stdout, stderr: this.stderr });
        for (const look of this.#waiting) look();
      });
    });
  }

  /** What the first group of the pattern matches in all that was said. */
  async says(pattern: RegExp, timeoutMs = 20_000): Promise<string> {
    return await new Promise((resolve, reject) => {
      const end = (finish: () => void) => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        finish();
      };
      const timer = setTimeout(
        () => end(() => reject(new Error(`never said ${pattern}: ${this.stdout}${this.stderr}`))),
        timeoutMs,
      );
      const look = () => {
        const found = pattern.exec(`${this.stderr}\n${this.stdout}`);
        if (found) end(() => resolve(found[1] ?? found[0]));
        else if (this.#child.exitCode !== null)
          end(() => reject(new Error(`ended without ${pattern}: ${this.stdout}${this.stderr}`)));
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** A line the person types. */
  types(text: string): void {
    this.#child.stdin?.write(`${text}\n`);
  }

  endInput(): void {
    this.#child.stdin?.end();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}

export interface StageOptions {
  readonly auth?: AuthServerOptions;
  /** There is an identity provider too, which the authorization server believes. */
  readonly idp?: AuthServerOptions;
  readonly server?: Omit<ProtectedServerOptions, "authServers">;
}

export class OAuthStage implements AsyncDisposable {
  readonly home: TemporaryFolder = new TemporaryFolder();
  readonly auth: AuthServer;
  readonly mcp: ProtectedServer;
  readonly #idp: AuthServer | undefined;
  readonly #said: string[] = [];

  private constructor(auth: AuthServer, mcp: ProtectedServer, idp: AuthServer | undefined) {
    this.auth = auth;
    this.mcp = mcp;
    this.#idp = idp;
    const bin = join(this.home.path, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "xdg-open"), BROWSER, { mode: 0o755 });
    writeFileSync(this.#browserLog, "");
    this.configure({ web: {} });
  }

  static async open({ auth = {}, server = {}, idp }: StageOptions = {}): Promise<OAuthStage> {
    const provider = idp && (await authServer(idp));
    const as = await authServer({ ...auth, ...(provider && { trusts: [provider.asProvider] }) });
    return new OAuthStage(as, await protectedServer({ authServers: [as], ...server }), provider);
  }

  get idp(): AuthServer {
    if (!this.#idp) throw new Error("this stage has no identity provider");
    return this.#idp;
  }

  /** The user's own file: servers at the protected one's URL, unless they say otherwise. */
  configure(servers: Readonly<Record<string, JsonObject>>, more: JsonObject = {}): void {
    const entries = Object.entries(servers).map(([name, entry]) => [
      name,
      { type: "http", url: this.mcp.url, ...entry },
    ]);
    const config = { allowHosts: [this.auth.host, this.mcp.host], mcpServers: Object.fromEntries(entries), ...more };
    writeFileSync(join(this.home.path, "config.json"), JSON.stringify(config));
  }

  env(extra: Env = {}): Env {
    const path = [join(this.home.path, "bin"), process.env["PATH"] ?? ""].join(delimiter);
    const nowhere = { DBUS_SESSION_BUS_ADDRESS: "unix:path=/nonexistent", XDG_RUNTIME_DIR: "/nonexistent" };
    return cleanEnv(this.home.path, { PATH: path, DISPLAY: ":0", BROWSER_LOG: this.#browserLog, ...nowhere, ...extra });
  }

  start(args: readonly string[], env: Env = {}, cwd: string = this.home.path): RunningCommand {
    return new RunningCommand(agentNode(), [TENON, ...args], { env: this.env(env), cwd });
  }

  /** As a person runs it: `script` is the terminal, wide enough that no address is broken. */
  startInTerminal(args: readonly string[]): RunningCommand {
    const line = [agentNode(), TENON, ...args].map((word) => `'${word}'`).join(" ");
    const env = this.env({ TERM: "dumb" });
    const words = ["-qec", `stty cols 2000; exec ${line}`, "/dev/null"];
    return new RunningCommand("script", words, { env, cwd: this.home.path });
  }

  async tenon(args: readonly string[], env: Env = {}, cwd?: string): Promise<CommandResult> {
    const command = this.start(args, env, cwd);
    command.endInput();
    return this.#heard(await command.done);
  }

  /** Logs in through the browser; fails when that fails. */
  async login(server = "web", args: readonly string[] = [], env: Env = {}): Promise<CommandResult> {
    const result = await this.start(["mcp", "login", server, ...args], env).done;
    if (result.code !== 0) throw new Error(`not logged in (${result.code}): ${result.stdout}${result.stderr}`);
    return this.#heard(result);
  }

  async agent(
    options: AcpClientOptions & { readonly env?: Env; readonly args?: readonly string[] } = {},
  ): Promise<AcpClient> {
    return await startTenon(this.home, { permissions: "allow", ...options, env: this.env(options.env) });
  }

  /** Every word the browser was started with, start by start. */
  get browsed(): readonly (readonly string[])[] {
    const lines = readFileSync(this.#browserLog, "utf8").split("\n");
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
  }

  /** Where something secret is: in any file of the home, in anything a command has said. */
  leaks(...said: readonly string[]): readonly string[] {
    const texts = filesUnder(this.home.path).map((path) => ({ where: path, text: readFileSync(path, "latin1") }));
    for (const text of [...this.#said, ...said]) texts.push({ where: "an output", text });
    const secrets = [...this.auth.endpoints.secrets, ...(this.#idp?.endpoints.secrets ?? [])];
    if (secrets.length === 0) throw new Error("there is no secret yet that could leak");
    return texts.flatMap(({ where, text }) =>
      secrets.filter((secret) => text.includes(secret)).map((secret) => `${secret} in ${where}`),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.mcp[Symbol.asyncDispose]();
    await this.auth[Symbol.asyncDispose]();
    await this.#idp?.[Symbol.asyncDispose]();
    this.home[Symbol.dispose]();
  }

  get #browserLog(): string {
    return join(this.home.path, "browser.log");
  }

  #heard(result: CommandResult): CommandResult {
    this.#said.push(result.stdout, result.stderr);
    return result;
  }
}

export function filesUnder(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}
