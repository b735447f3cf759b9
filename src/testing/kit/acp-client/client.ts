// An ACP client for tests: it drives an agent, records everything both sides say, and checks every message of the agent.
import {
  type AgentApp,
  type ClientApp,
  type ClientConnection,
  type ContentBlock,
  client,
  type InitializeRequest,
  type InitializeResponse,
  type McpServer,
  methods,
  type NewSessionResponse,
  type PermissionOptionKind,
  PROTOCOL_VERSION,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { defined } from "../../../base/json/defined.js";
import { Feed, type WaitOptions } from "../feed.js";
import {
  type AgentCommand,
  AgentConnection,
  type AgentExit,
  type AgentLink,
  type AgentStreams,
  appLink,
  type MessageValidator,
  processLink,
  type RecordedUpdate,
  streamsLink,
  type WireLine,
} from "./connection.js";

/**
 * Options of an ACP client.
 *
 * @example
 * const options: AcpClientOptions = { permission: "allow_once" };
 */
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

/**
 * `wait`: the person is thinking; the answer comes as `cancelled` when the session is cancelled.
 * `cancel`: the person closes the question. `never`: the client forgets to answer at all.
 */
export type PermissionAnswer = "allow" | "always" | "deny" | "deny_always" | "cancel" | "wait" | "never";

export type PermissionPolicy = PermissionAnswer | ((request: RequestPermissionRequest) => PermissionAnswer);

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

const OPTION_KINDS: Readonly<Partial<Record<PermissionAnswer, PermissionOptionKind>>> = {
  allow: "allow_once",
  always: "allow_always",
  deny: "reject_once",
  deny_always: "reject_always",
};

/**
 * An ACP client that checks every message of an agent.
 *
 * @example
 * const client = startAgent({ command: "tenon", args: ["acp"] });
 */
export class AcpClient implements AsyncDisposable {
  readonly connection: ClientConnection;
  readonly #agent: AgentConnection;
  readonly #questions = new Feed<RequestPermissionRequest>("permission question");
  readonly #waiting = new Map<string, Set<(response: RequestPermissionResponse) => void>>();
  #policy: PermissionPolicy;
  #cursor = 0;

  constructor(link: AgentLink, { validate, permissions = "allow", extend = (app) => app }: AcpClientOptions = {}) {
    this.#policy = permissions;
    this.#agent = new AgentConnection(link, {
      validate,
      onEnd: (error) => {
        this.#questions.end(error);
        this.connection.close(error);
      },
    });
    const own = client({ name: "tenon-test-client" }).onRequest(
      methods.client.session.requestPermission,
      async ({ params }) => {
        this.#questions.push(params);
        return await this.#answer(params);
      },
    );
    this.connection = extend(own).connect(this.#agent.stream);
  }

  async initialize(overrides: Partial<InitializeRequest> = {}): Promise<InitializeResponse> {
    return await this.connection.agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { session: { notices: {} } },
      clientInfo: { name: "tenon-test-client", version: "1.0.0" },
      ...overrides,
    });
  }

  async newSession({ cwd, mcpServers = [], _meta }: NewSessionParams): Promise<NewSessionResponse> {
    const params = { cwd, mcpServers, ...defined({ _meta }) };
    return await this.connection.agent.request(methods.agent.session.new, params);
  }

  async prompt(sessionId: string, prompt: string | ContentBlock[]): Promise<PromptResponse> {
    const blocks: ContentBlock[] = typeof prompt === "string" ? [{ type: "text", text: prompt }] : prompt;
    return await this.connection.agent.request(methods.agent.session.prompt, { sessionId, prompt: blocks });
  }

  /** Cancels the turn, and answers the questions that wait, as the protocol asks of clients. */
  async cancel(sessionId: string): Promise<void> {
    await this.connection.agent.notify(methods.agent.session.cancel, { sessionId });
    for (const resolve of this.#waiting.get(sessionId) ?? []) resolve(CANCELLED);
    this.#waiting.delete(sessionId);
  }

  async closeSession(sessionId: string): Promise<void> {
    await this.connection.agent.request(methods.agent.session.close, { sessionId });
  }

  /** Any other method. Rejects with the SDK's RequestError when the agent answers with an error. */
  async request(method: string, params?: unknown): Promise<unknown> {
    return await this.connection.agent.request<unknown>(method, params);
  }

  answerPermissions(policy: PermissionPolicy): void {
    this.#policy = policy;
  }

  get permissionRequests(): readonly RequestPermissionRequest[] {
    return this.#questions.items;
  }

  async waitForPermissionRequest(options?: WaitOptions): Promise<RequestPermissionRequest> {
    return await this.#questions.find(() => true, options);
  }

  updates(sessionId: string): readonly SessionUpdate[] {
    return this.#agent.updatesOf(sessionId);
  }

  /** The first update of the session that passes, recorded or to come. */
  async waitForUpdate(
    sessionId: string,
    test: (update: SessionUpdate) => boolean,
    options: Pick<WaitOptions, "timeoutMs"> = {},
  ): Promise<SessionUpdate> {
    const isIt = (recorded: RecordedUpdate) => recorded.sessionId === sessionId && test(recorded.update);
    return (await this.#agent.updates.find(isIt, options)).update;
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
    return this.#agent.lines.items;
  }

  /** Writes a line as it is; `nextLine` then starts behind it. */
  sendLine(text: string): void {
    this.#agent.sendLine(text);
    this.#cursor = this.#agent.lines.items.length;
  }

  /** The next line of the agent after the last `sendLine` or `nextLine`; with a test, the next that passes. */
  async nextLine(
    test: (text: string) => boolean = () => true,
    options: Pick<WaitOptions, "timeoutMs"> = {},
  ): Promise<string> {
    const isNext = (line: WireLine) => line.direction === "received" && test(line.text);
    const line = await this.#agent.lines.find(isNext, { ...options, from: this.#cursor });
    this.#cursor = this.#agent.lines.items.indexOf(line) + 1;
    return line.text;
  }

  /** What the agent sent that it should not have: garbage on its output, broken envelopes, what `validate` found. */
  get violations(): readonly string[] {
    return this.#agent.violations;
  }

  get pid(): number | undefined {
    return this.#agent.link.pid;
  }

  /** What the agent has written to its stderr; empty for an agent in this process. */
  stderr(): string {
    return this.#agent.link.stderr();
  }

  get exit(): Promise<AgentExit> {
    return this.#agent.link.exit;
  }

  kill(signal: NodeJS.Signals = "SIGKILL"): void {
    this.#agent.link.kill(signal);
  }

  /** Ends the agent's input, as an editor that closes; resolves when the agent is gone. */
  async end(): Promise<AgentExit> {
    return await this.#agent.link.end();
  }

  /** Throws when the agent did not end by itself, or broke the protocol on the way. */
  async [Symbol.asyncDispose](): Promise<void> {
    const exit = await this.end();
    this.connection.close();
    await this.#agent.link.dispose();
    const problems = [...this.violations];
    if (exit.wasForced) problems.push("the agent did not end when its input ended, and was killed");
    if (problems.length > 0) throw new Error(`the agent broke its contract:\n  ${problems.join("\n  ")}`);
  }

  async #answer(request: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    const { sessionId, options } = request;
    const answer = typeof this.#policy === "function" ? this.#policy(request) : this.#policy;
    const wanted = OPTION_KINDS[answer];
    if (answer === "cancel") return CANCELLED;
    if (wanted === undefined) {
      return await new Promise((resolve) => {
        if (answer === "wait") this.#waiting.set(sessionId, (this.#waiting.get(sessionId) ?? new Set()).add(resolve));
      });
    }
    const option = options.find(({ kind }) => kind === wanted);
    if (option) return { outcome: { outcome: "selected", optionId: option.optionId } };
    const problem = `the agent offers no option of kind ${wanted}, only ${options.map(({ kind }) => kind).join(", ") || "nothing"}`;
    this.#agent.violations.push(problem);
    throw new Error(problem);
  }
}

/**
 * Spawns an agent and connects over its standard streams. Nothing is sent yet: call `initialize()`.
 *
 * @example
 * const client = startAgent({ command: "tenon", args: ["acp"] });
 */
export function startAgent(command: AgentCommand, options?: AcpClientOptions): AcpClient {
  return new AcpClient(processLink(command), options);
}

/** Connects to an agent app of the SDK in this process. */
export function connectAgent(app: AgentApp, options?: AcpClientOptions): AcpClient {
  return new AcpClient(appLink(app), options);
}

/**
 * Connects to an agent that serves these streams in this process.
 *
 * @example
 * const client = connectStreams({ input, output });
 */
export function connectStreams(streams: AgentStreams, options?: AcpClientOptions): AcpClient {
  return new AcpClient(streamsLink(streams), options);
}
