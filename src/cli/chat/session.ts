// One ACP session from the client's side: connect, open, prompt, cancel, ask for status, close.

import {
  type AgentApp,
  type ClientApp,
  type ClientConnection,
  type ContentBlock,
  type LoadSessionRequest,
  methods,
  type SessionConfigOption,
  type SessionModeState,
  type StopReason,
  type Stream,
} from "@agentclientprotocol/sdk";
import * as z from "zod/v4";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import { VERSION } from "../../base/version.js";
import { tenonMeta } from "./shared.js";

const PROTOCOL_VERSION = 1;

/** A session of a gateway, as `session/list` has it; that used last comes first. */
export interface ListedSession {
  readonly id: string;
  readonly cwd: string;
  readonly title: string;
}

/** How a chat joins a session that other clients may use too. */
export interface JoinOptions {
  /** Which one; throws when there is none. */
  readonly choose: (sessions: readonly ListedSession[]) => ListedSession;
  /** It shows everything, sends nothing and is asked nothing. */
  readonly isWatching: boolean;
  /** It answers by itself, so that it is asked only in turns it started. */
  readonly isUnattended: boolean;
  /** The conversation so far is shown. */
  readonly isReplayed: boolean;
  /** Called with the id of this client at the gateway, before anything is shown. */
  readonly onIdentified: (client: string) => void;
}

export interface JoinedSession extends ListedSession, SessionChoices {
  /** `_meta.tenon` of the answer that joined it. */
  readonly meta: JsonObject;
}

/** What can be chosen in a session, as the answer that opened it has it. */
export interface SessionChoices {
  readonly modes?: SessionModeState | null | undefined;
  readonly configOptions?: readonly SessionConfigOption[] | null | undefined;
}

export interface PromptAnswer {
  readonly stopReason: StopReason;
  /** Of the session so far. */
  readonly usage: { readonly totalTokens: number; readonly inputTokens: number; readonly outputTokens: number };
}

export class ChatSession {
  readonly #connection: ClientConnection;
  /** A person sits at the terminal, so servers may ask for more than a permission. */
  readonly #canBeAsked: boolean;
  #sessionId: string | undefined;
  #isIntroduced = false;

  constructor(client: ClientApp, agent: AgentApp | Stream, { canBeAsked }: { readonly canBeAsked: boolean }) {
    this.#canBeAsked = canBeAsked;
    this.#connection = "readable" in agent ? client.connect(agent) : client.connect(agent);
  }

  /** Resolves when there is no agent at the other end any more. */
  get closed(): Promise<void> {
    return this.#connection.closed;
  }

  /** Undefined before one is open. */
  get id(): string | undefined {
    return this.#sessionId;
  }

  /** A new one, in the place of the one that was open. Its servers are those of the configuration, `--mcp-config` among them. */
  async open(cwd: string): Promise<SessionChoices> {
    await this.#introduce();
    await this.#leave();
    const { agent } = this.#connection;
    const { sessionId, ...choices } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
    this.#sessionId = sessionId;
    return choices;
  }

  /** One that is stored; all that was said is sent before this resolves. */
  async load(id: string, cwd: string): Promise<SessionChoices> {
    await this.#introduce();
    await this.#leave();
    const { agent } = this.#connection;
    const choices = await agent.request(methods.agent.session.load, { sessionId: id, cwd, mcpServers: [] });
    this.#sessionId = id;
    return choices ?? {};
  }

  async #introduce(): Promise<void> {
    if (!this.#isIntroduced) await this.#initialize({ name: "tenon-chat", title: "Tenon chat" });
  }

  /** An agent that cannot close a session ends it with the connection. */
  async #leave(): Promise<void> {
    const id = this.#sessionId;
    this.#sessionId = undefined;
    if (id !== undefined)
      await this.#connection.agent.request(methods.agent.session.close, { sessionId: id }).then(ignore, ignore);
  }

  async join(options: JoinOptions): Promise<JoinedSession> {
    const { choose, isWatching, isUnattended, isReplayed, onIdentified } = options;
    const { agent } = this.#connection;
    const role = isWatching ? "observer" : "controller";
    const answer = await this.#initialize(
      { name: "tenon-attach", title: "tenon attach" },
      { role, ...defined({ unattended: isUnattended ? true : undefined }) },
    );
    const { client } = tenonMeta(answer);
    if (isJsonObject(client) && typeof client["id"] === "string") onIdentified(client["id"]);
    const session = choose(await this.list());
    const request: LoadSessionRequest = {
      sessionId: session.id,
      cwd: session.cwd,
      mcpServers: [],
      _meta: { tenon: { role } },
    };
    const joined = isReplayed
      ? await agent.request(methods.agent.session.load, request)
      : await agent.request(methods.agent.session.resume, request);
    this.#sessionId = session.id;
    const { modes, configOptions } = joined;
    return { ...session, modes, configOptions, meta: tenonMeta(joined) };
  }

  async #initialize(about: { readonly name: string; readonly title: string }, tenon?: JsonObject): Promise<unknown> {
    this.#isIntroduced = true;
    return await this.#connection.agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { ...about, version: VERSION },
      clientCapabilities: {
        session: { notices: {} },
        ...defined({ elicitation: this.#canBeAsked ? { form: {}, url: {} } : undefined }),
      },
      ...defined({ _meta: tenon && { tenon } }),
    });
  }

  /** Of one folder, else of all. The one used last comes first. */
  async list(cwd?: string): Promise<readonly ListedSession[]> {
    await this.#introduce();
    const listed: ListedSession[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#connection.agent.request(methods.agent.session.list, {
        cursor: cursor ?? null,
        cwd: cwd ?? null,
      });
      listed.push(...page.sessions.map(({ sessionId, cwd, title }) => ({ id: sessionId, cwd, title: title ?? "" })));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    return listed;
  }

  /** `promptId`: for a gateway, where it runs once however often it is sent. */
  async prompt(prompt: readonly ContentBlock[], promptId?: string): Promise<PromptAnswer> {
    const response = await this.#connection.agent.request(methods.agent.session.prompt, {
      sessionId: this.#openId(),
      prompt: [...prompt],
      ...defined({ _meta: promptId === undefined ? undefined : { tenon: { promptId } } }),
    });
    return { stopReason: response.stopReason, usage: readUsage(response) };
  }

  /** Throws what the agent refuses it with. */
  async set(option: string, value: string): Promise<void> {
    const sessionId = this.#openId();
    await this.#connection.agent.request(methods.agent.session.setConfigOption, { sessionId, configId: option, value });
  }

  async cancel(): Promise<void> {
    await this.#connection.agent.notify(methods.agent.session.cancel, { sessionId: this.#openId() });
  }

  async status(): Promise<readonly ServerReport[]> {
    return readStatus(await this.#connection.agent.request<unknown>(STATUS_METHOD, { sessionId: this.#openId() }));
  }

  /** Closes the session so that its servers end in order, then the connection; `hurry` skips the wait for the first. */
  async close(hurry: Promise<void>): Promise<void> {
    if (this.#sessionId !== undefined) {
      const closing = this.#connection.agent.request(methods.agent.session.close, { sessionId: this.#sessionId });
      // An agent that cannot close a session, or fails to, ends it with the connection.
      await Promise.race([closing.then(ignore, ignore), this.#connection.closed, hurry]);
    }
    this.#connection.close();
    await this.#connection.closed;
  }

  #openId(): string {
    if (this.#sessionId === undefined) throw new Error("the session is not open");
    return this.#sessionId;
  }
}

function ignore(): void {}

function readUsage(response: unknown): PromptAnswer["usage"] {
  const usage = isJsonObject(response) ? response["usage"] : undefined;
  const { totalTokens, inputTokens, outputTokens } = isJsonObject(usage) ? usage : {};
  const count = (value: unknown) => (typeof value === "number" ? value : 0);
  return { totalTokens: count(totalTokens), inputTokens: count(inputTokens), outputTokens: count(outputTokens) };
}

// Where a session's servers stand, as Tenon's own extension of the protocol reports it.

export const STATUS_METHOD = "_tenon/mcp/status";

export interface ToolReport {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description: string;
}

export interface ServerReport {
  readonly name: string;
  readonly state: "idle" | "connecting" | "ready" | "reconnecting" | "failed" | "closed";
  readonly toolCount: number;
  readonly error?: string | undefined;
  readonly hint?: string | undefined;
  readonly note?: string | undefined;
  readonly connectMs?: number | undefined;
  readonly tools: readonly ToolReport[];
}

const statusResponse: z.ZodType<{ readonly servers: readonly ServerReport[] }> = z.object({
  servers: z.array(
    z.object({
      name: z.string(),
      state: z.enum(["idle", "connecting", "ready", "reconnecting", "failed", "closed"]),
      toolCount: z.number().int().nonnegative(),
      error: z.string().optional(),
      hint: z.string().optional(),
      note: z.string().optional(),
      connectMs: z.number().nonnegative().optional(),
      tools: z
        .array(z.object({ name: z.string(), title: z.string().optional(), description: z.string().default("") }))
        .default([]),
    }),
  ),
});

/** Throws when the answer is not what the extension promises. */
function readStatus(response: unknown): readonly ServerReport[] {
  const read = statusResponse.safeParse(response);
  if (!read.success)
    throw new Error(`the agent's answer to ${STATUS_METHOD} is malformed: ${z.prettifyError(read.error)}`);
  return read.data.servers;
}

const STATES: ReadonlySet<unknown> = new Set(["idle", "connecting", "ready", "reconnecting", "failed", "closed"]);

function isState(state: unknown): state is ServerReport["state"] {
  return STATES.has(state);
}

/** The servers that an update tells of, by Tenon's own field of it. */
export function serversIn(mcp: unknown): { readonly name: string; readonly state: ServerReport["state"] }[] {
  const servers = isJsonObject(mcp) && Array.isArray(mcp["servers"]) ? mcp["servers"] : [];
  return servers.flatMap((server) => {
    const { name, state } = isJsonObject(server) ? server : {};
    return typeof name === "string" && isState(state) ? [{ name, state }] : [];
  });
}
