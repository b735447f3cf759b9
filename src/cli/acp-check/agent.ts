// One agent under test with its client: opens sessions, prompts, allows every tool call, serves MCP over ACP.
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import { messageOf } from "../../base/message.js";
import { type AgentAnswer, AgentConnection, type MemoryServer, processLink } from "../../testing/index.js";
import { formatElapsed } from "../terminal/stream.js";
import type { RunContext } from "./bench.js";
import { BOUNDS, CheckFailure, demand, within } from "./check.js";
import { objectIn, objectsIn, wordOf } from "./fields.js";

/** The abilities in the answer to `initialize` that checks depend on. */
export interface Introduction {
  readonly protocolVersion: number;
  readonly name: string;
  readonly version: string;
  readonly mayLoad: boolean;
  readonly mayResume: boolean;
  readonly mayFork: boolean;
  readonly mayClose: boolean;
  /** Kinds of MCP servers besides stdio. */
  readonly kinds: readonly ("http" | "sse" | "acp")[];
  readonly authMethods: readonly string[];
}

const KINDS = ["http", "sse", "acp"] as const;

export type Claim =
  | "loadSession"
  | `sessionCapabilities.${"resume" | "fork" | "close"}`
  | `mcpCapabilities.${(typeof KINDS)[number]}`;

const CLAIMS: Readonly<Record<Claim, (agent: Introduction) => boolean>> = {
  loadSession: ({ mayLoad }) => mayLoad,
  "sessionCapabilities.resume": ({ mayResume }) => mayResume,
  "sessionCapabilities.fork": ({ mayFork }) => mayFork,
  "sessionCapabilities.close": ({ mayClose }) => mayClose,
  "mcpCapabilities.http": ({ kinds }) => kinds.includes("http"),
  "mcpCapabilities.sse": ({ kinds }) => kinds.includes("sse"),
  "mcpCapabilities.acp": ({ kinds }) => kinds.includes("acp"),
};

export function isClaimed(claim: Claim, agent: Introduction): boolean {
  return CLAIMS[claim](agent);
}

export function readIntroduction(result: JsonObject): Introduction {
  const { protocolVersion, agentInfo, agentCapabilities, authMethods } = result;
  const info = objectIn(agentInfo);
  const capabilities = objectIn(agentCapabilities);
  const session = objectIn(capabilities["sessionCapabilities"]);
  const mcp = objectIn(capabilities["mcpCapabilities"]);
  const may = (name: string) => session[name] !== undefined && session[name] !== null && session[name] !== false;
  return {
    protocolVersion: typeof protocolVersion === "number" ? protocolVersion : 0,
    name: wordOf(info["name"] ?? "(unnamed)"),
    version: wordOf(info["version"] ?? "?"),
    mayLoad: capabilities["loadSession"] === true,
    mayResume: may("resume"),
    mayFork: may("fork"),
    mayClose: may("close"),
    kinds: KINDS.filter((kind) => mcp[kind] === true),
    authMethods: objectsIn(authMethods).flatMap(({ id }) => (typeof id === "string" ? [id] : [])),
  };
}

export interface AgentOptions extends Pick<RunContext, "command" | "validate" | "answerMs" | "authMethod"> {
  readonly cwd: string;
}

/** Shows notices; has neither files nor terminals to offer, so the agent's own tools cannot stand in for a server's. */
export const CLIENT: JsonObject = {
  fs: { readTextFile: false, writeTextFile: false },
  terminal: false,
  session: { notices: {} },
};

export function initializeParams(clientCapabilities: JsonObject): JsonObject {
  return { protocolVersion: 1, clientCapabilities, clientInfo: { name: "acp-check", version: "1" } };
}

/** Requests to a server of the client are of the modern era, each with what a connection would have agreed on. */
const ENVELOPE: JsonObject = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

export class RunningAgent implements AsyncDisposable {
  readonly connection: AgentConnection;
  /** Servers that live in this client, by their id: they are reached over ACP itself, by `mcp/message`. */
  readonly servers: Map<string, MemoryServer> = new Map();
  readonly #options: AgentOptions;
  readonly #forwarded = new Map<string, () => void>();

  constructor(options: AgentOptions) {
    this.#options = options;
    const link = processLink({ endWithinMs: BOUNDS.exitMs, ...options.command });
    this.connection = new AgentConnection(link, {
      validate: options.validate,
      serve: (method, params, requestId) => this.#serve(method, params, requestId),
      onCancelled: (requestId) => this.#forwarded.get(requestId)?.(),
    });
  }

  async initialize(clientCapabilities: JsonObject = CLIENT): Promise<Introduction> {
    const answer = await this.ask("initialize", initializeParams(clientCapabilities));
    demand(answer.ok, `initialize failed: ${problemOf(answer)}`);
    const { authMethod } = this.#options;
    if (authMethod !== undefined) {
      const logged = await this.ask("authenticate", { methodId: authMethod });
      demand(logged.ok, `authenticate failed: ${problemOf(logged)}`);
    }
    return readIntroduction(answer.result);
  }

  /** Fails the check when the agent ends or does not answer in time. */
  async ask(method: string, params: JsonObject): Promise<AgentAnswer> {
    return await this.awaited(method, this.connection.ask(method, params));
  }

  async awaited(
    what: string,
    answer: Promise<AgentAnswer>,
    withinMs: number = this.#options.answerMs,
  ): Promise<AgentAnswer> {
    const first = await within(answer, withinMs).catch((error: unknown) => new CheckFailure(messageOf(error)));
    if (first instanceof CheckFailure) throw first;
    if (first === undefined) throw new CheckFailure(`no answer to ${what} within ${formatElapsed(withinMs)}`);
    return first;
  }

  newSessionParams(mcpServers: JsonObject["mcpServers"]): JsonObject {
    return { cwd: this.#options.cwd, mcpServers };
  }

  endInput(): void {
    this.connection.link.toAgent.end();
  }

  /** How long it takes to end from now on; undefined when it does not in time. */
  async endsWithin(ms: number): Promise<number | undefined> {
    const before = performance.now();
    const exit = await within(this.connection.link.exit, ms);
    return exit && performance.now() - before;
  }

  /** Ends the agent, and what is left of its process group. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { link } = this.connection;
    link.kill("SIGTERM");
    await link.end();
    link.killGroup("SIGKILL");
    await link.dispose();
  }

  async #serve(method: string, params: JsonObject, requestId: string): Promise<JsonObject | undefined> {
    switch (method) {
      case "session/request_permission":
        return { outcome: choose(params) };
      case "elicitation/create":
        return { action: "decline" };
      case "mcp/message":
        return await this.#forward(params, requestId);
      default:
        return undefined;
    }
  }

  /** Over a connection of its own. Inner errors are results of the outer request, as MCP-over-ACP wants it. */
  async #forward({ serverId, method, params }: JsonObject, id: string): Promise<JsonObject> {
    const transport = this.servers.get(wordOf(serverId))?.connect();
    if (!transport) throw new Error(`no server ${wordOf(serverId)}`);
    await transport.start();
    const _meta = { ...ENVELOPE, ...objectIn(objectIn(params)["_meta"]) };
    const request = { jsonrpc: "2.0", id, method, params: { ...objectIn(params), _meta } };
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } };
    try {
      return await new Promise<JsonObject>((resolve, reject) => {
        transport.onmessage = (message) => {
          const { id: answered, result, error } = isJsonObject(message) ? message : {};
          if (answered === id) resolve(error === undefined ? { result } : { error });
        };
        // The server does not answer a cancelled request.
        this.#forwarded.set(id, () => {
          const answer = { error: { code: -32603, message: "cancelled" } };
          transport
            .send(cancelled)
            .then(() => resolve(answer))
            .catch(reject);
        });
        transport.send(request).catch(reject);
      });
    } finally {
      this.#forwarded.delete(id);
    }
  }
}

/** Once, if there is such an answer: a remembered one would change later checks. */
function choose(params: JsonObject): JsonObject {
  const options = objectsIn(params["options"]);
  const option =
    options.find(({ kind }) => kind === "allow_once") ?? options.find(({ kind }) => kind === "allow_always");
  return option ? { outcome: "selected", optionId: option["optionId"] } : { outcome: "cancelled" };
}

export function problemOf(answer: AgentAnswer): string {
  return answer.ok ? "no problem" : `${answer.code} ${JSON.stringify(answer.message.slice(0, 200))}`;
}
