// One live connection to one MCP server: connects in the background, lists its tools, runs its calls, ends its process.
import { pathToFileURL } from "node:url";
import type { Client, Transport } from "@modelcontextprotocol/client";
import { Cell, type ReadonlyCell } from "../base/cell.js";
import { orAborted } from "../base/deadline.js";
import { TenonError, toTenonError } from "../base/errors.js";
import type { JsonObject } from "../base/json.js";
import { LIMITS } from "../base/limits.js";
import type { EndGrace } from "../base/process.js";
import { Scope } from "../base/scope.js";
import type { World } from "../base/world.js";
import { type CallOptions, type CallOutcome, callTool } from "./call.js";
import { listTools } from "./discovery.js";
import { connectError } from "./failure.js";
import { launchOf } from "./launch.js";
import { remoteTransport } from "./remote.js";
import type { ServerSpec } from "./spec.js";
import type { ConnectionState } from "./state.js";
import { StdioTransport } from "./stdio.js";
import type { McpTool } from "./tolerate.js";

export interface ConnectionOptions {
  readonly world: World;
  /** The session's directory: the server's cwd and its root. */
  readonly cwd: string;
  /** Named to the server in the handshake. */
  readonly client: { readonly name: string; readonly version: string };
}

export class McpConnection implements AsyncDisposable {
  readonly spec: ServerSpec;
  readonly #options: ConnectionOptions;
  readonly #world: World;
  readonly #scope: Scope;
  readonly #state = new Cell<ConnectionState>({ kind: "connecting" });
  readonly #tools = new Cell<readonly McpTool[]>([]);
  #startedMs = 0;
  #isStarted = false;
  #client: Client | undefined;
  #stdio: StdioTransport | undefined;
  #isRelisting = false;
  #mustRelist = false;
  #closing: Promise<void> | undefined;

  constructor(spec: ServerSpec, options: ConnectionOptions) {
    this.spec = spec;
    this.#options = options;
    this.#world = options.world;
    this.#scope = new Scope(options.world.log);
  }

  /** Starts connecting and returns at once; what comes of it shows in `state`. Starting again changes nothing. */
  start(): void {
    if (this.#isStarted || this.#closing) return;
    this.#isStarted = true;
    this.#startedMs = this.#world.monotonicMs();
    this.#scope.run(`connect ${this.spec.name}`, (signal) => this.#connect(signal));
  }

  get state(): ReadonlyCell<ConnectionState> {
    return this.#state;
  }

  get tools(): ReadonlyCell<readonly McpTool[]> {
    return this.#tools;
  }

  /** The end of what the server wrote to stderr; empty for remote servers. */
  get stderrTail(): string {
    return this.#stdio?.stderrTail ?? "";
  }

  async call(tool: string, args: JsonObject, options: CallOptions): Promise<CallOutcome> {
    const state = this.#state.value;
    if (state.kind !== "ready" || !this.#client) {
      const why = state.kind === "failed" ? state.error.message : `it is ${state.kind}`;
      return {
        kind: "failed",
        error: new TenonError("mcp.not_ready", `server "${this.spec.name}" is not connected: ${why}`),
      };
    }
    return await callTool(this.#client, this.#world, { tool, args, server: this.spec.name, ...options });
  }

  close(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    this.#closing ??= this.#close(grace);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #connect(signal: AbortSignal): Promise<void> {
    using deadline = this.#world.deadline(LIMITS.connectTimeoutMs, signal);
    try {
      const transport = await this.#openTransport();
      const client = await this.#createClient();
      this.#client = client;
      const ready = client
        .connect(transport, { timeout: LIMITS.connectTimeoutMs * 2, signal: deadline.signal })
        .then(async () => {
          this.#tools.set(await this.#list(client, deadline.signal));
        });
      await orAborted(ready, deadline.signal);
      client.onclose = () => this.#lost();
      const server = client.getServerVersion() ?? { name: this.spec.name, version: "?" };
      this.#state.set({ kind: "ready", server, connectMs: this.#elapsedMs() });
    } catch (thrown) {
      if (signal.aborted) return;
      this.#fail(await this.#explain(thrown, deadline.expired));
    }
  }

  /** A broken pipe or a closed connection is only the symptom: the process's own end is the cause. */
  async #explain(thrown: unknown, isLate: boolean): Promise<TenonError> {
    if (isLate) {
      const text = `no answer within ${LIMITS.connectTimeoutMs / 1000} s${this.#quoteStderr()}`;
      return new TenonError("mcp.connect_timeout", text, { cause: thrown });
    }
    const exit = await this.#stdio?.lastWords();
    return exit ? connectError(this.spec, exit, this.stderrTail) : toTenonError(thrown, "mcp.connect_failed");
  }

  async #openTransport(): Promise<Transport> {
    if (this.spec.kind !== "stdio") return await remoteTransport(this.spec, this.#world);
    this.#stdio = new StdioTransport(launchOf(this.spec, this.#options.cwd, this.#world), this.#world);
    return this.#stdio;
  }

  async #createClient(): Promise<Client> {
    const sdk = await import("@modelcontextprotocol/client");
    const { client: info, cwd } = this.#options;
    const client = new sdk.Client({ ...info }, { capabilities: { roots: {} } });
    client.setRequestHandler("roots/list", () => ({ roots: [{ uri: pathToFileURL(cwd).href, name: "session" }] }));
    client.setNotificationHandler("notifications/tools/list_changed", () => this.#relist(client));
    client.onerror = (error) =>
      this.#world.log.debug("mcp.transport_error", { server: this.spec.name, error: error.message });
    return client;
  }

  async #list(client: Client, signal: AbortSignal): Promise<readonly McpTool[]> {
    const { tools, problems } = await listTools(client, signal);
    for (const problem of problems) this.#world.log.warn("mcp.tool_set_aside", { server: this.spec.name, problem });
    return tools;
  }

  /** Any number of change notices while a list runs cost one more list, not one each. */
  #relist(client: Client): void {
    this.#mustRelist = true;
    if (this.#isRelisting) return;
    this.#isRelisting = true;
    this.#scope.run(`relist ${this.spec.name}`, async (signal) => {
      try {
        while (this.#mustRelist && !signal.aborted) {
          this.#mustRelist = false;
          this.#tools.set(await this.#list(client, signal));
        }
      } finally {
        this.#isRelisting = false;
      }
    });
  }

  /** The server went away by itself: its calls have failed, its tools stay listed and answer with the cause. */
  #lost(): void {
    if (this.#closing) return;
    this.#scope.run(`last words of ${this.spec.name}`, async () => {
      await this.#stdio?.lastWords();
      if (this.#closing) return;
      this.#fail(new TenonError("mcp.connection_lost", `the server ended the connection${this.#quoteStderr()}`));
    });
  }

  #fail(error: TenonError): void {
    this.#state.set({ kind: "failed", error, connectMs: this.#elapsedMs() });
    this.#scope.run(`end ${this.spec.name}`, () => this.#endTransport(LIMITS.closeGrace));
  }

  async #close(grace: EndGrace): Promise<void> {
    const ending = this.#endTransport(grace);
    await this.#scope.close();
    await ending;
    this.#state.set({ kind: "closed" });
  }

  async #endTransport(grace: EndGrace): Promise<void> {
    await this.#stdio?.end(grace);
    await this.#client?.close().catch((error: unknown) => {
      this.#world.log.debug("mcp.close_failed", { server: this.spec.name, error: toTenonError(error).message });
    });
  }

  #quoteStderr(): string {
    return this.stderrTail === "" ? "" : `; its stderr ends: ${this.stderrTail}`;
  }

  #elapsedMs(): number {
    return Math.round(this.#world.monotonicMs() - this.#startedMs);
  }
}
