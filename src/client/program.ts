// A program as a client of a gateway: joins sessions, gives them tools, runs their calls, and comes back when a connection breaks.
import { Cell } from "../base/async/cell.js";
import { backoffDelayMs, sleep } from "../base/async/deadline.js";
import { handled } from "../base/async/scope.js";
import { type ErrorCode, isErrorCode, messageOf, TenonError } from "../base/errors.js";
import { uuidV7 } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import {
  type Connection,
  ERRORS,
  type FromGateway,
  GatewayClient,
  type Outcome,
  tenonMeta,
  withTenonMeta,
} from "../translator/index.js";

/**
 * A secret: whoever has it is this client.
 *
 * @example
 * const gateway = await connectGateway({ name: "warehouse", identity: saved });
 */
export interface ClientIdentity {
  readonly id: string;
  readonly key: string;
}

/**
 * By its id; by a label, created where there is none; or the one used last in a directory, created likewise.
 *
 * @example
 * const choice: SessionChoice = { latest: true, cwd: process.cwd() };
 */
export type SessionChoice =
  | { readonly id: string; readonly cwd?: string }
  | { readonly label: string; readonly cwd: string }
  | { readonly latest: true; readonly cwd: string };

/**
 * A session of a gateway, as a list shows it.
 *
 * @example
 * for (const { id, title } of await gateway.sessions()) console.log(id, title);
 */
export interface ListedSession {
  readonly id: string;
  readonly cwd: string;
  readonly title: string;
  readonly label?: string;
  readonly state?: string;
}

/**
 * What a tool of a program is told about its call.
 *
 * @example
 * const run = async (_args: JsonObject, { signal }: RunContext) => await work(signal);
 */
export interface RunContext {
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** For the person who waits; each gives the call its time anew. */
  progress(progress: number, total?: number, message?: string): void;
}

/** A text, blocks as in MCP, or all of a result with `content`. */
type RunAnswer = string | readonly JsonObject[] | JsonObject | undefined | void;

/**
 * A tool that the program runs for sessions of a gateway.
 *
 * @example
 * const ping: ProgramTool = { description: "Answers", inputSchema: { type: "object" }, run: () => "pong" };
 */
export interface ProgramTool {
  readonly title?: string;
  readonly description: string;
  /** JSON Schema of the arguments; an object of anything unless given. */
  readonly inputSchema?: JsonObject;
  readonly outputSchema?: JsonObject;
  /** What it throws is told to the model as the failure of the call. */
  run(args: JsonObject, context: RunContext): RunAnswer | Promise<RunAnswer>;
}

/**
 * The answer to `setTools`: what each tool is offered as.
 *
 * @example
 * const { tools }: SetTools = await session.setTools(mine);
 */
export interface SetTools {
  readonly tools: readonly { readonly name: string; readonly offeredAs: string }[];
  readonly rejected: readonly { readonly name: string; readonly reason: string }[];
}

interface ProgramOptions extends Pick<ConstructorParameters<typeof GatewayClient>[0], "open" | "gatewayName"> {
  readonly world: World;
  readonly name: string;
  readonly identity?: ClientIdentity;
}

/** Another attempt to join does not mend these. */
const FINAL: ReadonlySet<ErrorCode> = new Set(["session.not_found", "session.invalid_request", "access.denied"]);
/** Between two attempts to join a session that the gateway could not open: another process has it, or a limit is reached. */
const RETRY = { firstMs: 500, maxMs: 10_000, factor: 2 };

const TOOL_CALL = "_tenon/tool/call";
const SET_TOOLS = "_tenon/session/set_tools";

/**
 * A program that is connected to a gateway.
 *
 * @example
 * const session = await gateway.join({ latest: true, cwd: process.cwd() });
 */
export class GatewayProgram implements AsyncDisposable {
  readonly #world: World;
  readonly #gateway: GatewayClient;
  readonly #sessions = new Map<string, Joined>();
  /** The connection, or why there will be none. */
  readonly #up = new Cell<Connection | TenonError | undefined>(undefined);
  readonly #over = new AbortController();
  /** Calls that run, by the ids of their requests. */
  readonly #calls = new Map<unknown, AbortController>();

  private constructor(options: ProgramOptions) {
    const { world, name, open, gatewayName, identity } = options;
    this.#world = world;
    const initialize = {
      protocolVersion: 1,
      clientInfo: { name, version: "1" },
      clientCapabilities: {},
      // It is asked nothing: it has no person.
      _meta: { tenon: { role: "observer" } },
    };
    const about = { world, gatewayName, open, isLocal: false, initialize };
    this.#gateway = new GatewayClient(
      { ...about, ...defined({ identity: identity && { id: identity.id, key: identity.key } }) },
      {
        onUp: (connection) => this.#connected(connection),
        onDown: () => this.#disconnected(),
        onMessage: (connection, message) => this.#heard(connection, message),
        onAway: () => {},
        onRefused: ({ error }) => this.#up.set(new TenonError("access.denied", error?.message ?? "refused")),
      },
    );
  }

  static async connect(options: ProgramOptions): Promise<GatewayProgram> {
    const program = new GatewayProgram(options);
    try {
      await program.#gateway.connect();
    } catch (error) {
      await program.close();
      const words = `the gateway ${options.gatewayName} cannot be reached: ${messageOf(error)}`;
      const hint = "Start one with tenon gateway run, or by an editor with tenon acp --gateway.";
      throw new TenonError("gateway.unreachable", words, { cause: error, hint });
    }
    program.#gateway.run();
    return program;
  }

  /** Keep it to be the same client in a later process: its tools and what was approved of them are then its own still. */
  get identity(): ClientIdentity {
    const { id, key } = this.#gateway.identity;
    return { id: textOf(id) ?? "", key: textOf(key) ?? "" };
  }

  /** Those of the account, the one used last first. */
  async sessions({
    label,
    cwd,
  }: {
    readonly label?: string;
    readonly cwd?: string;
  } = {}): Promise<readonly ListedSession[]> {
    const listed: ListedSession[] = [];
    let cursor: JsonValue | undefined;
    do {
      const params = withTenonMeta(defined({ cwd, cursor }), defined({ label }));
      const page = await this.#ask("session/list", params);
      const { sessions } = page;
      for (const one of entriesOf(sessions)) {
        const { sessionId: id, cwd: where, title } = one;
        const { label: named, state } = tenonMeta(one);
        const more = { label: textOf(named), state: textOf(state) };
        if (typeof id === "string" && typeof where === "string") {
          listed.push({ id, cwd: where, title: textOf(title) ?? "", ...defined(more) });
        }
      }
      cursor = page["nextCursor"];
    } while (typeof cursor === "string" && cursor !== "");
    return listed;
  }

  /** The session is open here from now on, and after every reconnect, until it is left. */
  async join(choice: SessionChoice): Promise<ProgramSession> {
    if ("id" in choice) return await this.#resume(choice.id, choice.cwd);
    const attach = "label" in choice ? { label: choice.label } : "latest";
    return await this.#begin(choice.cwd, { attach });
  }

  /** A new, empty session under the label: from now on the label leads to it. The one before stays, and can be joined by its id. */
  async reset({ label, cwd }: { readonly label: string; readonly cwd: string }): Promise<ProgramSession> {
    return await this.#begin(cwd, { label });
  }

  /** Leaves all sessions; their tools are gone at once. */
  async close(): Promise<void> {
    if (this.#over.signal.aborted) return;
    if (this.#gateway.connection) {
      await Promise.all([...this.#sessions.values()].map((joined) => joined.session.leave().catch(() => undefined)));
    }
    this.#over.abort(new TenonError("session.closed", "the program closed its connection"));
    await this.#gateway.close();
    for (const { gone } of this.#sessions.values()) gone.abort(this.#over.signal.reason);
    this.#sessions.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #resume(id: string, given: string | undefined): Promise<ProgramSession> {
    const cwd = given ?? (await this.#placeOf(id));
    await this.#ask("session/resume", { sessionId: id, cwd, mcpServers: [] });
    return this.#joined(id, cwd);
  }

  async #placeOf(id: string): Promise<string> {
    const view = await this.#ask("_tenon/session/view", { sessionId: id }).catch(() => ({}));
    const cwd = textOf("cwd" in view ? view.cwd : undefined);
    const found = cwd ?? (await this.sessions()).find((one) => one.id === id)?.cwd;
    if (found !== undefined) return found;
    throw new TenonError("session.not_found", `there is no session "${id}"`);
  }

  /** The id makes sending it twice harmless. */
  async #begin(cwd: string, how: JsonObject): Promise<ProgramSession> {
    const world = this.#world;
    const id = uuidV7(world.now(), (count) => world.randomBytes(count));
    const answer = await this.#ask("session/new", withTenonMeta({ cwd, mcpServers: [] }, { ...how, id }));
    const { view } = tenonMeta(answer);
    const place = isJsonObject(view) ? textOf(view["cwd"]) : undefined;
    return this.#joined(textOf(answer["sessionId"]) ?? id, place ?? cwd);
  }

  #joined(id: string, cwd: string): ProgramSession {
    const known = this.#sessions.get(id);
    if (known) return known.session;
    const joined = new Joined(id, cwd, {
      ask: (method, params) => this.#ask(method, params),
      leave: () => this.#sessions.delete(id) && this.#gateway.connection !== undefined,
    });
    this.#sessions.set(id, joined);
    return joined.session;
  }

  /** Once more over the next connection, if one breaks: everything that is asked may be asked twice. */
  async #ask(method: string, params: JsonObject): Promise<JsonObject> {
    for (;;) {
      const up = await this.#up.until((one) => one !== undefined, this.#over.signal);
      if (up instanceof TenonError) throw up;
      const outcome = await up
        ?.ask(this.#gateway.nextId(), method, params, this.#over.signal)
        .catch((error: unknown) => {
          if (up.gone.aborted && !this.#over.signal.aborted) return undefined;
          throw error;
        });
      if (outcome) return resultOf(outcome);
    }
  }

  #connected(connection: Connection): void {
    this.#up.set(connection);
    for (const joined of this.#sessions.values()) {
      handled(this.#rejoin(joined, connection), this.#world.log, "join a session again");
    }
  }

  /** Over this connection only: the next one does it anew. */
  async #rejoin({ id, cwd, keys, gone }: Joined, connection: Connection): Promise<void> {
    const over = AbortSignal.any([connection.gone, this.#over.signal, gone.signal]);
    const ask = async (method: string, params: JsonObject) =>
      resultOf(await connection.ask(this.#gateway.nextId(), method, params, over));
    for (let attempt = 0; !over.aborted; attempt++) {
      try {
        await ask("session/resume", { sessionId: id, cwd, mcpServers: [] });
        for (const [key, tools] of keys) await ask(SET_TOOLS, setRequest(id, key, tools));
        return;
      } catch (error) {
        if (over.aborted) return;
        if (error instanceof TenonError && FINAL.has(error.code)) {
          this.#sessions.delete(id);
          gone.abort(error);
          return;
        }
        await sleep(this.#world, backoffDelayMs(RETRY, attempt, this.#world.random()), over).catch(() => undefined);
      }
    }
  }

  #disconnected(): void {
    if (!(this.#up.value instanceof TenonError)) this.#up.set(undefined);
    const reason = new DOMException("the connection to the gateway ended", "AbortError");
    for (const call of this.#calls.values()) call.abort(reason);
    this.#calls.clear();
  }

  #heard(connection: Connection, message: FromGateway): void {
    const params = isJsonObject(message.params) ? message.params : {};
    if (message.kind === "notification") {
      if (message.method !== "$/cancel_request") return;
      this.#calls.get(params["requestId"])?.abort(new DOMException("the call was taken back", "AbortError"));
      return;
    }
    const { id } = message;
    if (message.method !== TOOL_CALL) {
      connection.answer(id, { error: { code: -32601, message: `this client does not know ${message.method}` } });
      return;
    }
    const stop = new AbortController();
    this.#calls.set(id, stop);
    const answering = this.#run(connection, params, stop.signal).then((outcome) => {
      if (this.#calls.get(id) === stop) this.#calls.delete(id);
      connection.answer(id, outcome);
    });
    handled(answering, this.#world.log, "answer a call");
  }

  /** Never rejects. */
  async #run(connection: Connection, params: JsonObject, signal: AbortSignal): Promise<Outcome> {
    const { sessionId, toolCallId, key, name, arguments: args } = params;
    const tools = this.#sessions.get(textOf(sessionId) ?? "")?.keys.get(textOf(key) ?? "") ?? {};
    const tool = typeof name === "string" && Object.hasOwn(tools, name) ? tools[name] : undefined;
    if (!tool) {
      return { error: { code: ERRORS.invalidParams, message: `this client has no tool ${JSON.stringify(name)}` } };
    }
    const progress: RunContext["progress"] = (done, total, message) => {
      if (signal.aborted) return;
      const about = { sessionId: sessionId ?? "", toolCallId: toolCallId ?? "", progress: done };
      connection.notify("_tenon/tool/progress", { ...about, ...defined({ total, message }) });
    };
    try {
      return { result: resultOfRun(await tool.run(isJsonObject(args) ? args : {}, { signal, progress })) };
    } catch (error) {
      return { result: { content: [{ type: "text", text: messageOf(error) }], isError: true } };
    }
  }
}

interface SessionLink {
  readonly ask: (method: string, params: JsonObject) => Promise<JsonObject>;
  /** Whether there is a connection to say it over. */
  readonly leave: () => boolean;
}

type Tools = Readonly<Record<string, ProgramTool>>;

/** A session that the program has open, with what it gave it. */
class Joined {
  readonly id: string;
  readonly cwd: string;
  readonly keys: Map<string, Tools> = new Map();
  readonly gone: AbortController = new AbortController();
  readonly session: ProgramSession;

  constructor(id: string, cwd: string, link: SessionLink) {
    this.id = id;
    this.cwd = cwd;
    this.session = new ProgramSession(this, link);
  }
}

/**
 * A session of a gateway that the program has joined.
 *
 * @example
 * await session.setTools({ ping: { description: "Answers", inputSchema: { type: "object" }, run: () => "pong" } });
 */
export class ProgramSession implements AsyncDisposable {
  readonly #joined: Pick<Joined, "id" | "cwd" | "keys" | "gone">;
  readonly #link: SessionLink;

  constructor(joined: Pick<Joined, "id" | "cwd" | "keys" | "gone">, link: SessionLink) {
    this.#joined = joined;
    this.#link = link;
  }

  get id(): string {
    return this.#joined.id;
  }

  get cwd(): string {
    return this.#joined.cwd;
  }

  /** Aborts when the session was left or cannot be joined any more, with the reason. */
  get gone(): AbortSignal {
    return this.#joined.gone.signal;
  }

  /** These tools and no others under the key, by their names; they stay through reconnects. `{}` takes them out. */
  async setTools(tools: Tools, key = "program"): Promise<SetTools> {
    this.gone.throwIfAborted();
    const { keys, id } = this.#joined;
    const before = keys.get(key);
    keys.set(key, tools);
    try {
      const { tools: set, rejected } = await this.#link.ask(SET_TOOLS, setRequest(id, key, tools));
      return {
        tools: entriesOf(set).map((one) => ({
          name: textOf(one["name"]) ?? "",
          offeredAs: textOf(one["offeredAs"]) ?? "",
        })),
        rejected: entriesOf(rejected).map((one) => ({
          name: textOf(one["name"]) ?? "",
          reason: textOf(one["reason"]) ?? "",
        })),
      };
    } catch (error) {
      if (before) keys.set(key, before);
      else keys.delete(key);
      throw error;
    }
  }

  /** Its tools are gone at once. */
  async leave(): Promise<void> {
    if (this.gone.aborted) return;
    const isConnected = this.#link.leave();
    this.#joined.gone.abort(new TenonError("session.closed", "the program left the session"));
    if (isConnected) await this.#link.ask("session/close", { sessionId: this.id });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.leave();
  }
}

function setRequest(sessionId: string, key: string, tools: Tools): JsonObject {
  const listed = Object.entries(tools).map(([name, { title, description, inputSchema, outputSchema }]) => ({
    name,
    description,
    inputSchema: inputSchema ?? { type: "object" },
    ...defined({ title, outputSchema }),
  }));
  return { sessionId, key, mode: "replace", tools: listed };
}

function resultOfRun(answer: RunAnswer): JsonValue {
  if (answer === undefined || answer === null) return { content: [] };
  if (typeof answer === "string") return { content: [{ type: "text", text: answer }] };
  return isJsonObject(answer) ? answer : { content: [...answer] };
}

function resultOf({ result, error }: Outcome): JsonObject {
  if (!error) return isJsonObject(result) ? result : {};
  const { code, hint } = isJsonObject(error.data) ? error.data : {};
  throw new TenonError(errorCode(code), error.message, defined({ hint: textOf(hint) }));
}

function errorCode(code: JsonValue | undefined): ErrorCode {
  return typeof code === "string" && isErrorCode(code) ? code : "internal";
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function entriesOf(list: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter((one) => isJsonObject(one)) : [];
}
