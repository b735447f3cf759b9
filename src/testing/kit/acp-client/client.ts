// An ACP client for tests: it drives an agent, records everything both sides say, and checks every message of the agent.
import {
  type ClientApp,
  type ClientConnection,
  type ContentBlock,
  client,
  type InitializeRequest,
  type InitializeResponse,
  type McpServer,
  methods,
  type NewSessionResponse,
  PROTOCOL_VERSION,
  type PromptResponse,
  type RequestPermissionRequest,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { messageOf } from "../../../base/errors.js";
import { Feed, type WaitOptions } from "../feed.js";
import { agentMessage, envelopeProblem, type MessageValidator } from "./agent-message.js";
import type { AgentExit, AgentLink } from "./link.js";
import { type PermissionPolicy, Permissions } from "./permissions.js";
import { Wire, type WireLine } from "./wire.js";

export interface AcpClientOptions {
  /** Looks at every message of the agent, for instance `await acpSchemaValidator()`. */
  readonly validate?: MessageValidator;
  /** How permission questions are answered at first; `allow` when left out. */
  readonly permissions?: PermissionPolicy;
  /** Adds handlers of the test's own: elicitation, files, terminals, servers of the client. */
  readonly extend?: (client: ClientApp) => ClientApp;
}

export interface NewSessionParams {
  readonly cwd: string;
  readonly mcpServers?: McpServer[];
  readonly _meta?: Record<string, unknown>;
}

interface RecordedUpdate {
  readonly sessionId: string;
  readonly update: SessionUpdate;
}

export class AcpClient implements AsyncDisposable {
  readonly connection: ClientConnection;
  readonly #link: AgentLink;
  readonly #wire: Wire;
  readonly #validate: MessageValidator;
  readonly #permissions = new Permissions();
  readonly #updates = new Feed<RecordedUpdate>("session update");
  readonly #questions = new Feed<RequestPermissionRequest>("permission question");
  readonly #violations: string[] = [];
  #cursor = 0;

  constructor(link: AgentLink, options: AcpClientOptions = {}) {
    this.#link = link;
    this.#validate = options.validate ?? (() => undefined);
    this.#permissions.setPolicy(options.permissions ?? "allow");
    this.#wire = new Wire(link.toAgent, link.fromAgent, {
      onMessage: (message, answeredMethod) => {
        const problem = envelopeProblem(message) ?? this.#validate(agentMessage(message, answeredMethod));
        if (problem !== undefined) this.#violations.push(`${problem} in ${clip(JSON.stringify(message))}`);
      },
      onGarbage: (text) => this.#violations.push(`no ACP message on the agent's output: ${clip(text)}`),
      onEnd: () => this.#end(),
    });
    const { extend = (app) => app } = options;
    // Updates first: the SDK asks one handler after the other, and an answer may overtake what waits for many of them.
    const own = client({ name: "tenon-test-client" })
      .onNotification(methods.client.session.update, ({ params }) => this.#updates.push(params))
      .onRequest(methods.client.session.requestPermission, async ({ params }) => {
        this.#questions.push(params);
        return await this.#answer(params);
      });
    this.connection = extend(own).connect(this.#wire.stream);
  }

  async initialize(overrides: Partial<InitializeRequest> = {}): Promise<InitializeResponse> {
    return await this.connection.agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { session: { notices: {} } },
      clientInfo: { name: "tenon-test-client", version: "1.0.0" },
      ...overrides,
    });
  }

  async newSession(params: NewSessionParams): Promise<NewSessionResponse> {
    const { cwd, mcpServers = [], _meta } = params;
    return await this.connection.agent.request(methods.agent.session.new, {
      cwd,
      mcpServers,
      ...(_meta !== undefined && { _meta }),
    });
  }

  async prompt(sessionId: string, prompt: string | ContentBlock[]): Promise<PromptResponse> {
    const blocks: ContentBlock[] = typeof prompt === "string" ? [{ type: "text", text: prompt }] : prompt;
    return await this.connection.agent.request(methods.agent.session.prompt, { sessionId, prompt: blocks });
  }

  /** Cancels the turn, and answers the questions that wait, as the protocol asks of clients. */
  async cancel(sessionId: string): Promise<void> {
    await this.connection.agent.notify(methods.agent.session.cancel, { sessionId });
    this.#permissions.cancel(sessionId);
  }

  async closeSession(sessionId: string): Promise<void> {
    await this.connection.agent.request(methods.agent.session.close, { sessionId });
  }

  /** Any other method. Rejects with the SDK's RequestError when the agent answers with an error. */
  async request(method: string, params?: unknown): Promise<unknown> {
    return await this.connection.agent.request<unknown>(method, params);
  }

  answerPermissions(policy: PermissionPolicy): void {
    this.#permissions.setPolicy(policy);
  }

  get permissionRequests(): readonly RequestPermissionRequest[] {
    return this.#questions.items;
  }

  async waitForPermissionRequest(options?: WaitOptions): Promise<RequestPermissionRequest> {
    return await this.#questions.find(() => true, options);
  }

  updates(sessionId: string): readonly SessionUpdate[] {
    return this.#updates.items.filter((recorded) => recorded.sessionId === sessionId).map(({ update }) => update);
  }

  /** The first update of the session that passes, recorded or to come. */
  async waitForUpdate(
    sessionId: string,
    test: (update: SessionUpdate) => boolean,
    options: Pick<WaitOptions, "timeoutMs"> = {},
  ): Promise<SessionUpdate> {
    const isIt = (recorded: RecordedUpdate) => recorded.sessionId === sessionId && test(recorded.update);
    return (await this.#updates.find(isIt, options)).update;
  }

  /** All that the agent has said in the session, joined. */
  text(sessionId: string): string {
    return this.updates(sessionId)
      .map((update) =>
        update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? update.content.text : "",
      )
      .join("");
  }

  /** Every line in both directions, in order. */
  get lines(): readonly WireLine[] {
    return this.#wire.lines.items;
  }

  /** Writes a line as it is; `nextLine` then starts behind it. */
  sendLine(text: string): void {
    this.#wire.sendLine(text);
    this.#cursor = this.#wire.lines.items.length;
  }

  /** The next line of the agent after the last `sendLine` or `nextLine`; with a test, the next that passes. */
  async nextLine(
    test: (text: string) => boolean = () => true,
    options: Pick<WaitOptions, "timeoutMs"> = {},
  ): Promise<string> {
    const isNext = (line: WireLine) => line.direction === "received" && test(line.text);
    const line = await this.#wire.lines.find(isNext, { ...options, from: this.#cursor });
    this.#cursor = this.#wire.lines.items.indexOf(line) + 1;
    return line.text;
  }

  /** What the agent sent that it should not have: garbage on its output, broken envelopes, what `validate` found. */
  get violations(): readonly string[] {
    return this.#violations;
  }

  get pid(): number | undefined {
    return this.#link.pid;
  }

  /** What the agent has written to its stderr; empty for an agent in this process. */
  stderr(): string {
    return this.#link.stderr();
  }

  get exit(): Promise<AgentExit> {
    return this.#link.exit;
  }

  kill(signal: NodeJS.Signals = "SIGKILL"): void {
    this.#link.kill(signal);
  }

  /** Ends the agent's input, as an editor that closes; resolves when the agent is gone. */
  async end(): Promise<AgentExit> {
    return await this.#link.end();
  }

  /** Throws when the agent did not end by itself, or broke the protocol on the way. */
  async [Symbol.asyncDispose](): Promise<void> {
    const exit = await this.end();
    this.connection.close();
    await this.#link.dispose();
    const problems = [...this.#violations];
    if (exit.wasForced) problems.push("the agent did not end when its input ended, and was killed");
    if (problems.length > 0) throw new Error(`the agent broke its contract:\n  ${problems.join("\n  ")}`);
  }

  async #answer(request: RequestPermissionRequest): ReturnType<Permissions["answer"]> {
    try {
      return await this.#permissions.answer(request);
    } catch (error) {
      this.#violations.push(messageOf(error));
      throw error;
    }
  }

  /** Before the SDK closes with its own words: requests under way fail with the reason a person needs. */
  async #end(): Promise<void> {
    const { code, signal } = await this.#link.exit;
    const stderr = this.stderr().trim().slice(-2_000);
    const error = new Error(`the agent has ended (code ${code}, signal ${signal})${stderr && `; stderr: ${stderr}`}`);
    for (const feed of [this.#updates, this.#questions, this.#wire.lines]) feed.end(error);
    this.connection.close(error);
  }
}

function clip(text: string): string {
  return text.length <= 500 ? text : `${text.slice(0, 500)}…`;
}
