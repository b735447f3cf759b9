// What one check works with: agents, servers of every kind, sessions; all of it gone when the check is over.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { type AgentCommand, type Behaviour, echoTool, type MessageValidator } from "../../testing/index.js";
import { type Introduction, problemOf, RunningAgent } from "./agent.js";
import { demand } from "./check.js";
import type { ModelServer } from "./model/server.js";
import { CheckedSession } from "./session.js";
import { acpServer, remoteServer, type StdioOptions, stdioServer, type TestServer } from "./test-servers.js";

export interface RunContext {
  readonly command: AgentCommand;
  readonly validate: MessageValidator;
  readonly model: ModelServer;
  readonly answerMs: number;
  readonly authMethod: string | undefined;
  readonly folder: string;
  /** Unique words, for the whole run. */
  readonly word: (prefix: string) => string;
  /** Every agent that was started, for what is judged over the whole run. */
  readonly started: RunningAgent[];
}

export class Bench implements AsyncDisposable {
  readonly context: RunContext;
  readonly agent: Introduction;
  readonly hasModel: boolean;
  readonly word: RunContext["word"];
  readonly #folder: string;
  readonly #agents: RunningAgent[] = [];
  readonly #servers: TestServer[] = [];

  constructor(context: RunContext, agent: Introduction, hasModel: boolean) {
    this.context = context;
    this.agent = agent;
    this.hasModel = hasModel;
    this.word = context.word;
    this.#folder = join(context.folder, context.word("check"));
    mkdirSync(join(this.#folder, "project"), { recursive: true });
  }

  /** Started, nothing said to it yet. */
  launch(): RunningAgent {
    const agent = new RunningAgent({ ...this.context, cwd: join(this.#folder, "project") });
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

  async open(agent: RunningAgent, mcpServers: readonly JsonValue[]): Promise<CheckedSession> {
    const opened = await agent.ask("session/new", agent.newSessionParams(mcpServers));
    demand(opened.ok, `session/new failed: ${problemOf(opened)}`);
    const { sessionId } = opened.result;
    demand(typeof sessionId === "string", "the answer to session/new has no sessionId");
    return new CheckedSession(this, agent, sessionId, opened);
  }

  /** A session of a new agent. */
  async openWith(servers: readonly TestServer[], agent?: RunningAgent): Promise<CheckedSession> {
    const entries = servers.map(({ entry }) => entry);
    return await this.open(agent ?? (await this.start()), entries);
  }

  stdio(
    behaviour: Behaviour = {},
    options: Pick<StdioOptions, "env" | "bareEntry"> & { name?: string } = {},
  ): TestServer {
    const path = join(this.#folder, `${this.word("script")}.json`);
    return this.#keep(stdioServer({ ...options, ...this.#named(behaviour, options.name), path }));
  }

  async remote(type: "http" | "sse", headers?: readonly JsonObject[], failing?: string): Promise<TestServer> {
    return this.#keep(await remoteServer(type, { ...this.#named({}), headers }, failing));
  }

  /** Lives in the client of `agent` and is reached over ACP itself. */
  overAcp(agent: RunningAgent): TestServer {
    const serverId = this.word("id");
    const { kept, server } = acpServer(serverId, this.#named({}));
    agent.servers.set(serverId, server);
    return this.#keep(kept);
  }

  /** At once, without asking. */
  endAgents(): void {
    for (const { connection } of this.#agents) connection.link.kill("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent[Symbol.asyncDispose]()));
    for (const server of this.#servers) await server.end();
  }

  #named(behaviour: Behaviour, name = this.word("srv")): { readonly name: string; readonly behaviour: Behaviour } {
    return { name, behaviour: { serverName: name, tools: [echoTool(this.word("echo"))], ...behaviour } };
  }

  #keep(server: TestServer): TestServer {
    this.#servers.push(server);
    return server;
  }
}
