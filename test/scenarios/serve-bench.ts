// `tenon mcp serve` with a client of the MCP SDK in front of it, over stdio or HTTP, in either era.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { cleanEnv } from "./agent.js";
import type { ConfigBench } from "./config-bench.js";
import { agentNode, TENON } from "./peers.js";

export type Era = "legacy" | "modern";

export interface Asked {
  readonly message: string;
  readonly requestedSchema?: object;
}

/** What a person answers: a decision of a permission question, or the whole content of a server's form. */
export type Person = (asked: Asked) => {
  readonly action: "accept" | "decline";
  readonly content?: Record<string, string>;
};

export interface ServedOptions {
  readonly era?: Era;
  /** What follows `tenon mcp serve`. */
  readonly words?: readonly string[];
  /** Without one the client declares no elicitation. */
  readonly person?: Person;
  readonly onToolsChanged?: () => void;
  /** Over HTTP, at this address and with this token. */
  readonly http?: { readonly url: string; readonly token: string };
}

/** Over stdio it is started as agents start servers. Closed with the client. */
export async function servedClient(bench: ConfigBench, options: ServedOptions = {}): Promise<Client & AsyncDisposable> {
  const { era = "legacy", words = [], person, onToolsChanged, http } = options;
  const negotiation: ClientOptions = {
    capabilities: person ? { elicitation: { form: {} } } : {},
    versionNegotiation: { mode: era === "modern" ? { pin: "2026-07-28" } : "legacy" },
    ...(onToolsChanged && {
      listChanged: { tools: { onChanged: onToolsChanged, autoRefresh: false, debounceMs: 10 } },
    }),
  };
  const client = new Client({ name: "plain-client", version: "1.0.0" }, negotiation);
  if (person) {
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      return person({
        message: params.message,
        ...("requestedSchema" in params && { requestedSchema: params.requestedSchema }),
      });
    });
  }
  const env = cleanEnv(bench.home, { HOME: bench.home, TENON_LOG: "error" });
  const requestInit = { headers: { authorization: `Bearer ${http?.token ?? ""}` } };
  const transport = http
    ? new StreamableHTTPClientTransport(new URL(http.url), { requestInit })
    : new StdioClientTransport({
        command: agentNode(),
        args: [TENON, "mcp", "serve", ...words],
        env,
        cwd: bench.project,
        stderr: "inherit",
      });
  await client.connect(transport);
  return Object.assign(client, {
    [Symbol.asyncDispose]: async () => {
      if (transport instanceof StreamableHTTPClientTransport && era === "legacy") await transport.terminateSession();
      await client.close();
    },
  });
}

/** The program itself, line by line, for what no SDK would send. */
export class RawServe implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterableIterator<string>;

  constructor(bench: ConfigBench, words: readonly string[] = [], logLevel = "error") {
    const env = cleanEnv(bench.home, { HOME: bench.home, TENON_LOG: logLevel });
    this.child = spawn(agentNode(), [TENON, "mcp", "serve", ...words], { env, cwd: bench.project });
    this.child.stdin.on("error", () => {}); // it may be gone
    this.#lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  write(message: object | string): void {
    this.child.stdin.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);
  }

  /** The next message that passes; those before it are dropped. */
  async next(test: (message: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    for (;;) {
      const { done, value } = await this.#lines.next();
      if (done) throw new Error("the server ended");
      const message: Record<string, unknown> = JSON.parse(value);
      if (test(message)) return message;
    }
  }

  async initialize(capabilities: object = {}): Promise<void> {
    const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "raw", version: "1" } };
    this.write({ jsonrpc: "2.0", id: "init", method: "initialize", params });
    await this.next(({ id }) => id === "init");
    this.write({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  async call(id: string | number, name: string, given: object = {}): Promise<Record<string, unknown>> {
    this.write({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: given } });
    return await this.next((message) => message["id"] === id);
  }

  /** With its exit code. */
  async ended(): Promise<number | null> {
    if (this.child.exitCode !== null) return this.child.exitCode;
    const [code] = await once(this.child, "exit");
    return typeof code === "number" ? code : null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.stdin.end();
    await this.ended();
  }
}

/** `tenon mcp serve --listen`, at a port of its own choice, with a token that may use it. */
export async function serveOverHttp(
  bench: ConfigBench,
  words: readonly string[] = [],
): Promise<{ readonly url: string; readonly token: string; readonly port: number } & AsyncDisposable> {
  const made = await bench.tenon(["gateway", "token", "create", "agent", "--scopes", "tools", "--json"]);
  const { token }: { token: string } = JSON.parse(made.stdout);
  const env = cleanEnv(bench.home, { HOME: bench.home, TENON_LOG: "error" });
  const args = [TENON, "mcp", "serve", "--listen", "0", ...words];
  const child = spawn(agentNode(), args, { env, cwd: bench.project, stdio: ["ignore", "pipe", "inherit"] });
  const port = await new Promise<number>((resolve, reject) => {
    let said = "";
    child.once("exit", () => reject(new Error(said)));
    child.stdout.on("data", (chunk: Buffer) => {
      said += String(chunk);
      const [, found] = /127\.0\.0\.1:(\d+)\/mcp/u.exec(said) ?? [];
      if (found !== undefined) resolve(Number(found));
    });
  });
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    token,
    port,
    [Symbol.asyncDispose]: async () => {
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      await gone;
    },
  };
}
