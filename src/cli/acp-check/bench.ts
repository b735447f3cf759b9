// What one check works with: agents, servers of every kind, turns; all of it gone when the check is over.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../base/json/json.js";
import {
  type AgentAnswer,
  type AgentCommand,
  type Behaviour,
  echoTool,
  type MessageValidator,
} from "../../testing/index.js";
import { type Introduction, RunningAgent } from "./agent.js";
import { wordOf } from "./fields.js";
import { instructionText } from "./model/conversation.js";
import type { ModelServer } from "./model/server.js";
import { acpServer, remoteServer, type StdioOptions, stdioServer, type TestServer } from "./test-servers.js";

export interface RunContext {
  readonly command: AgentCommand;
  readonly validate: MessageValidator;
  readonly model: ModelServer;
  readonly answerMs: number;
  readonly authMethod: string | undefined;
  /** Starts the checker's stdio server; the path of its behaviour is added. */
  readonly serverCommand: StdioOptions["command"];
  readonly folder: string;
  /** Unique words, for the whole run. */
  word(prefix: string): string;
  /** Every agent that was started, for what is judged over the whole run. */
  readonly started: RunningAgent[];
}

export interface Turn {
  readonly stopReason: string;
  readonly ms: number;
  /** Names of all tools the model was offered in it, last request first. */
  readonly offered: readonly string[];
  /** Names of the tools the model called, searches included. */
  readonly called: readonly string[];
  readonly requestCount: number;
  /** The provider's protocol in which the model was asked. */
  readonly format: string;
  readonly hasImage: boolean;
  /** Updates of its session that came in it. */
  readonly updates: readonly JsonObject[];
}

export class Bench implements AsyncDisposable {
  readonly context: RunContext;
  readonly agent: Introduction;
  readonly hasModel: boolean;
  readonly folder: string;
  readonly #agents: RunningAgent[] = [];
  readonly #servers: TestServer[] = [];

  constructor(context: RunContext, agent: Introduction, hasModel: boolean) {
    this.context = context;
    this.agent = agent;
    this.hasModel = hasModel;
    this.folder = join(context.folder, context.word("check"));
    mkdirSync(join(this.folder, "project"), { recursive: true });
  }

  word(prefix: string): string {
    return this.context.word(prefix);
  }

  /** Started, nothing said to it yet. */
  launch(): RunningAgent {
    const cwd = join(this.folder, "project");
    const { command, validate, answerMs, authMethod } = this.context;
    const agent = new RunningAgent({ command, validate, answerMs, authMethod, cwd });
    this.#agents.push(agent);
    this.context.started.push(agent);
    return agent;
  }

  /** Started and initialized. */
  async start(clientCapabilities?: JsonObject): Promise<RunningAgent> {
    const agent = this.launch();
    await agent.initialize(clientCapabilities);
    return agent;
  }

  stdio(
    behaviour: Behaviour = {},
    options: Pick<StdioOptions, "env" | "bareEntry"> & { name?: string } = {},
  ): TestServer {
    const path = join(this.folder, `${this.word("script")}.json`);
    const server = this.#named(behaviour, options.name);
    return this.#keep(stdioServer({ ...options, ...server, path, command: this.context.serverCommand }));
  }

  async remote(type: "http" | "sse", headers?: readonly JsonObject[], failing?: string): Promise<TestServer> {
    return this.#keep(await remoteServer(type, { ...this.#named({}), headers }, failing));
  }

  /** Lives in the client of `agent` and is reached over ACP itself. */
  overAcp(agent: RunningAgent): TestServer {
    const serverId = this.word("id");
    const { kept, server } = acpServer(serverId, this.#named({}));
    agent.addServer(serverId, server);
    return this.#keep(kept);
  }

  /** One prompt that has every tool called whose name contains one of the words. */
  async turn(agent: RunningAgent, sessionId: string, words: readonly string[]): Promise<Turn> {
    const { turn, answer } = this.beginTurn(agent, sessionId, words);
    return turn(await answer);
  }

  /** The same without waiting for its end. */
  beginTurn(
    agent: RunningAgent,
    sessionId: string,
    words: readonly string[],
  ): { readonly answer: Promise<AgentAnswer>; readonly turn: (answer: AgentAnswer) => Turn } {
    const name = this.word("turn");
    const before = agent.updatesOf(sessionId).length;
    const prompt = [{ type: "text", text: instructionText({ turn: name, words }) }];
    const answer = agent.ask("session/prompt", { sessionId, prompt });
    return { answer, turn: (given) => this.#turnOf(name, given, agent.updatesOf(sessionId).slice(before)) };
  }

  /** At once, without asking. */
  endAgents(): void {
    for (const { connection } of this.#agents) connection.link.kill("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent[Symbol.asyncDispose]()));
    for (const server of this.#servers) await server.end();
  }

  #turnOf(name: string, answer: AgentAnswer, updates: readonly JsonObject[]): Turn {
    const requests = this.context.model.requestsOf(name);
    return {
      stopReason: answer.ok ? wordOf(answer.result["stopReason"]) : `error ${answer.code} ${answer.message}`,
      ms: answer.ms,
      offered: [...new Set(requests.toReversed().flatMap(({ tools }) => tools))],
      called: requests.flatMap(({ called }) => (called === undefined ? [] : [called])),
      requestCount: requests.length,
      format: requests[0]?.format ?? "",
      hasImage: requests.some(({ hasImage }) => hasImage),
      updates,
    };
  }

  #named(behaviour: Behaviour, name = this.word("srv")): { readonly name: string; readonly behaviour: Behaviour } {
    return { name, behaviour: { serverName: name, tools: [echoTool(this.word("echo"))], ...behaviour } };
  }

  #keep(server: TestServer): TestServer {
    this.#servers.push(server);
    return server;
  }
}
