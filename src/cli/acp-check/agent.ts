// One agent under test with its client: opens sessions, prompts, allows every tool call, serves MCP over ACP.
import type { JsonObject } from "../../base/json/json.js";
import { messageOf } from "../../base/message.js";
import {
  type AgentAnswer,
  type AgentCommand,
  AgentConnection,
  type MemoryServer,
  type MessageValidator,
  processLink,
} from "../../testing/index.js";
import { CLI_LIMITS } from "../limits.js";
import { CheckFailure, demand } from "./check.js";
import { objectIn, objectsIn, wordOf } from "./fields.js";
import { seconds, within } from "./wait.js";

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

function readIntroduction(result: JsonObject): Introduction {
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

export interface AgentOptions {
  readonly command: AgentCommand;
  readonly validate: MessageValidator;
  /** Time for any one answer unless a check says otherwise. */
  readonly answerMs: number;
  readonly cwd: string;
  /** The log-in method that is requested right after `initialize`. */
  readonly authMethod: string | undefined;
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

export class RunningAgent implements AsyncDisposable {
  readonly connection: AgentConnection;
  readonly #options: AgentOptions;
  /** Servers that live in this client, by their id. */
  readonly #servers = new Map<string, LocalServer>();
  readonly #forwarded = new Map<string, () => void>();

  constructor(options: AgentOptions) {
    this.#options = options;
    const link = processLink({ endWithinMs: CLI_LIMITS.acpCheck.exitMs, ...options.command });
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
  async ask(method: string, params: JsonObject, withinMs?: number): Promise<AgentAnswer> {
    return await this.awaited(method, this.connection.ask(method, params), withinMs);
  }

  /** Sends them in one write, and waits for both answers. */
  async askTogether(
    requests: readonly [readonly [string, JsonObject], readonly [string, JsonObject]],
  ): Promise<[AgentAnswer, AgentAnswer]> {
    const [first, second] = this.connection.askTogether(requests);
    return [await this.awaited(requests[0][0], first), await this.awaited(requests[1][0], second)];
  }

  async awaited(
    what: string,
    answer: Promise<AgentAnswer>,
    withinMs: number = this.#options.answerMs,
  ): Promise<AgentAnswer> {
    const first = await within(answer, withinMs).catch((error: unknown) => new CheckFailure(messageOf(error)));
    if (first instanceof CheckFailure) throw first;
    if (first === undefined) throw new CheckFailure(`no answer to ${what} within ${seconds(withinMs)}`);
    return first;
  }

  newSessionParams(mcpServers: readonly JsonObject[]): JsonObject {
    return { cwd: this.#options.cwd, mcpServers };
  }

  updatesOf(sessionId: string): readonly JsonObject[] {
    return this.connection.updatesOf(sessionId);
  }

  /** The server is reached over ACP itself, by `mcp/message`. */
  addServer(serverId: string, server: MemoryServer): void {
    this.#servers.set(serverId, new LocalServer(server));
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

  /** Inner errors are results of the outer request, as MCP-over-ACP wants it. */
  async #forward(params: JsonObject, outerId: string): Promise<JsonObject> {
    const server = this.#servers.get(wordOf(params["serverId"]));
    if (!server) throw new Error(`no server ${wordOf(params["serverId"])}`);
    const answer = server.request(outerId, wordOf(params["method"]), objectIn(params["params"]));
    this.#forwarded.set(outerId, () => server.cancel(outerId));
    try {
      return await answer;
    } finally {
      this.#forwarded.delete(outerId);
    }
  }
}

const ENVELOPE: JsonObject = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A scripted server in this process, as single requests. */
class LocalServer {
  readonly #server: MemoryServer;
  readonly #ready: Promise<void>;
  readonly #pending = new Map<string, (response: JsonObject) => void>();

  constructor(server: MemoryServer) {
    this.#server = server;
    server.transport.onmessage = (message: object) => {
      const { id, result, error }: JsonObject = { ...message };
      this.#pending.get(wordOf(id))?.(error === undefined ? { result } : { error });
    };
    this.#ready = server.transport.start();
  }

  async request(id: string, method: string, params: JsonObject): Promise<JsonObject> {
    const answer = new Promise<JsonObject>((resolve) => this.#pending.set(id, resolve));
    await this.#ready;
    const _meta = { ...ENVELOPE, ...objectIn(params["_meta"]) };
    await this.#server.transport.send({ jsonrpc: "2.0", id, method, params: { ...params, _meta } });
    return await answer.finally(() => this.#pending.delete(id));
  }

  /** The server does not answer a cancelled request. */
  cancel(id: string): void {
    this.#server.transport
      .send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } })
      .then(() => this.#pending.get(id)?.({ error: { code: -32603, message: "cancelled" } }))
      .catch(() => undefined); // it is closed
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
