// One started agent with its client: opens sessions, prompts, says yes to every tool, serves MCP over ACP.
import { isJsonObject, type JsonObject } from "../../../base/json/json.js";
import { demand } from "../failure.js";
import { wordOf } from "../fields.js";
import type { ServerProtocol } from "../server/protocol.js";
import { type Introduction, readIntroduction } from "./introduction.js";
import { AcpLink, type Answer } from "./link.js";
import { type AgentCommand, AgentProcess } from "./process.js";
import type { Validate } from "./validity.js";

export interface RunningOptions {
  readonly command: AgentCommand;
  readonly validate: Validate;
  /** Time for any one answer unless a check says otherwise. */
  readonly answerMs: number;
  readonly cwd: string;
  /** Called for the agent to log in with, right after `initialize`. */
  readonly authMethod: string | undefined;
}

/** Shows notices; has neither files nor terminals to offer, so the agent's own tools cannot stand in for a server's. */
export const CLIENT: JsonObject = {
  fs: { readTextFile: false, writeTextFile: false },
  terminal: false,
  session: { notices: {} },
};

const CLIENT_INFO: JsonObject = { name: "acp-check", version: "1" };

export function initializeParams(clientCapabilities: JsonObject): JsonObject {
  return { protocolVersion: 1, clientCapabilities, clientInfo: CLIENT_INFO };
}

export class RunningAgent implements AsyncDisposable {
  readonly process: AgentProcess;
  readonly link: AcpLink;
  readonly #options: RunningOptions;
  /** Servers that live in this client, by their id. */
  readonly acpServers: Map<string, ServerProtocol> = new Map();
  readonly #forwarded = new Map<string, () => void>();

  constructor(options: RunningOptions) {
    this.#options = options;
    this.process = new AgentProcess(options.command);
    this.link = new AcpLink({
      process: this.process,
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

  async ask(method: string, params: JsonObject, withinMs: number = this.#options.answerMs): Promise<Answer> {
    return await this.link.request(method, params, withinMs);
  }

  newSessionParams(mcpServers: readonly JsonObject[]): JsonObject {
    return { cwd: this.#options.cwd, mcpServers };
  }

  /** The id of a session with these servers; that it opens is demanded. */
  async open(mcpServers: readonly JsonObject[], withinMs?: number): Promise<string> {
    return idOf(await this.ask("session/new", this.newSessionParams(mcpServers), withinMs));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]();
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
    const { serverId, requestId, method } = params;
    const server = this.acpServers.get(wordOf(serverId));
    if (!server) throw new Error(`no server ${wordOf(serverId)}`);
    const inner = isJsonObject(params["params"]) ? params["params"] : {};
    this.#forwarded.set(outerId, () => server.cancel(wordOf(requestId)));
    const reply = await server.answerModern(wordOf(method), inner, wordOf(requestId));
    this.#forwarded.delete(outerId);
    return { ...(reply ?? { error: { code: -32603, message: "cancelled" } }) };
  }
}

/** Once, if there is such an answer: what is remembered would change later checks. */
function choose(params: JsonObject): JsonObject {
  const options = Array.isArray(params["options"]) ? params["options"].filter((one) => isJsonObject(one)) : [];
  const option =
    options.find(({ kind }) => kind === "allow_once") ?? options.find(({ kind }) => kind === "allow_always");
  return option ? { outcome: "selected", optionId: option["optionId"] } : { outcome: "cancelled" };
}

export function problemOf(answer: Answer): string {
  return answer.ok ? "no problem" : `${answer.code} ${JSON.stringify(answer.message.slice(0, 200))}`;
}

export function idOf(answer: Answer): string {
  demand(answer.ok, `no session was opened: ${problemOf(answer)}`);
  const { sessionId } = answer.result;
  demand(typeof sessionId === "string", "the answer has no sessionId");
  return sessionId;
}
