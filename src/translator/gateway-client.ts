// Keeps one connection to the gateway: connects, introduces the client, and connects again for as long as it takes.
import { backoffDelayMs, sleep } from "../base/async/deadline.js";
import { Scope } from "../base/async/scope.js";
import { defined } from "../base/json/defined.js";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { messageOf } from "../base/message.js";
import { WebSocketRefusal } from "../base/ports/web-socket.js";
import type { Timer, World } from "../base/ports/world.js";
import { Connection, type FromGateway, type OpenLink } from "./connection.js";
import { TRANSLATOR_LIMITS } from "./limits.js";
import { ERRORS, failure, type Outcome, tenonMeta, withTenonMeta } from "./messages.js";

export interface GatewayOptions {
  readonly world: Pick<World, "after" | "deadline" | "now" | "monotonicMs" | "random" | "randomBytes" | "log">;
  /** For people: which gateway it is. */
  readonly gatewayName: string;
  /** Connects, and starts the gateway first where that is possible. */
  readonly open: OpenLink;
  /** Whether this gateway will do, by its answer to `initialize`. `replaced`: connect once more. Rejects with the reason why not. */
  readonly judge?: (answer: JsonObject, ask: AskGateway) => Promise<"use" | "replaced">;
  /** The variables that sessions in these directories need; only for a gateway of the same user on this machine. */
  readonly environment?: (directories: readonly string[]) => Promise<Readonly<Record<string, string>>>;
  /** The gateway has the files of this machine: what the editor shows of them means something there. */
  readonly isLocal: boolean;
  /** The parameters of the editor's own `initialize`. */
  readonly initialize: JsonObject;
  /** `id` and `key` of an earlier connection; a new client unless given. */
  readonly identity?: JsonObject;
}

/** Rejects when the gateway refuses, or goes. */
export type AskGateway = (method: string, params: JsonObject) => Promise<JsonValue>;

interface GatewayEvents {
  onUp(connection: Connection): void;
  onDown(connection: Connection): void;
  readonly onMessage: (connection: Connection, message: FromGateway, raw: JsonObject) => void;
  /** There has been no connection for a while, for this reason. */
  onAway(reason: string): void;
  /** Only a person can change that. */
  onRefused(outcome: Outcome): void;
}

/** What the gateway was told last, and its answer. */
interface Introduction {
  readonly params: string;
  readonly env: string;
  /** Without what is not the editor's. */
  readonly answer: JsonObject;
}

export class GatewayClient {
  readonly #options: GatewayOptions;
  readonly #events: GatewayEvents;
  readonly #scope: Scope;
  readonly #directories = new Set<string>();
  #initialize: JsonObject;
  #connection: Connection | undefined;
  #introduction: Introduction | undefined;
  /** Takes up the same identity at the gateway. */
  #identity: JsonObject = {};
  #ids = 0;
  #awayTimer: Timer | undefined;
  #lastProblem = "";

  constructor(options: GatewayOptions, events: GatewayEvents) {
    this.#options = options;
    this.#events = events;
    this.#scope = new Scope(options.world.log);
    this.#initialize = options.initialize;
    this.#identity = options.identity ?? {};
  }

  /** The one that is up, and introduced. */
  get connection(): Connection | undefined {
    return this.#connection;
  }

  /** Of the editor, as it told them last. */
  get capabilities(): JsonValue | undefined {
    return this.#initialize["clientCapabilities"];
  }

  get identity(): JsonObject {
    return this.#identity;
  }

  nextId(): number {
    this.#ids += 1;
    return this.#ids;
  }

  /** Stays connected until `close`. */
  run(): void {
    if (!this.#connection) this.#startAwayTimer();
    this.#scope.run("stay connected", (signal) => this.#stayConnected(signal));
  }

  async close(): Promise<void> {
    this.#awayTimer?.clear();
    const closed = this.#scope.close();
    await this.#connection?.close();
    await closed;
  }

  /** Rejects when there is no gateway, or none that will do. */
  async connect(): Promise<void> {
    const { judge, world, open } = this.#options;
    for (;;) {
      using deadline = world.deadline(TRANSLATOR_LIMITS.connectMs, this.#scope.signal);
      const connection = await Connection.open(
        open,
        {
          onMessage: this.#events.onMessage,
          onProblem: (problem) => world.log.warn("translator.odd_message", { problem }),
        },
        deadline.signal,
      );
      try {
        const answer = await this.#introduce(connection, deadline.signal);
        const ask: AskGateway = async (method, params) =>
          resultOf(await connection.ask(this.nextId(), method, params, deadline.signal));
        const judged = await judge?.(answer, ask);
        if (judged !== "replaced") {
          connection.gone.throwIfAborted();
          return this.#up(connection);
        }
        await connection.close();
      } catch (error) {
        await connection.close();
        throw error;
      }
    }
  }

  /** The editor's own `initialize`: sent only where the gateway has not been told the same. */
  async introduce(params: JsonObject): Promise<JsonObject> {
    const connection = this.#connection;
    const known = this.#introduction;
    this.#initialize = params;
    if (known && (!connection || known.params === canonicalJson(params))) return known.answer;
    if (!connection) throw new Error("there is no connection to the gateway");
    using deadline = this.#options.world.deadline(TRANSLATOR_LIMITS.connectMs, this.#scope.signal);
    await this.#introduce(connection, deadline.signal);
    return this.#introduction?.answer ?? {};
  }

  /**
   * The configuration of a directory may name variables that the gateway has not got. Undefined: it has all; else to be waited for
   * before a session is opened there.
   */
  prepare(connection: Connection, directories: readonly string[]): Promise<void> | undefined {
    const { environment, world } = this.#options;
    const fresh = directories.filter((path) => !this.#directories.has(path));
    if (!environment || fresh.length === 0) return undefined;
    for (const path of fresh) this.#directories.add(path);
    return (async () => {
      const env = canonicalJson(await environment([...this.#directories]));
      if (env === this.#introduction?.env) return;
      using deadline = world.deadline(TRANSLATOR_LIMITS.connectMs, this.#scope.signal);
      await this.#introduce(connection, deadline.signal);
    })();
  }

  async #introduce(connection: Connection, signal: AbortSignal): Promise<JsonObject> {
    const { isLocal, environment } = this.#options;
    const params = this.#initialize;
    const env = (await environment?.([...this.#directories])) ?? {};
    const client = { name: clientName(params), ...this.#identity };
    const capabilities = isLocal ? params["clientCapabilities"] : withoutFiles(params["clientCapabilities"]);
    const sent = withTenonMeta(
      { ...params, ...defined({ clientCapabilities: capabilities }) },
      { client, ...defined({ env: environment && env }) },
    );
    const outcome = await connection.ask(this.nextId(), "initialize", sent, signal);
    if (outcome.error && !isAway(outcome.error)) this.#identity = {}; // it may have been what was wrong
    const answer = resultOf(outcome);
    if (!isJsonObject(answer)) throw new Error("the gateway's answer to initialize is no object");
    const { client: identity, ...ours } = tenonMeta(answer);
    const { id, key } = isJsonObject(identity) ? identity : {};
    if (typeof id === "string" && typeof key === "string") this.#identity = { id, key };
    const meta = isJsonObject(answer["_meta"]) ? answer["_meta"] : {};
    const shown = { ...answer, _meta: { ...meta, tenon: { ...ours, ...defined({ client: id && { id } }) } } };
    this.#introduction = { params: canonicalJson(params), env: canonicalJson(env), answer: shown };
    return answer;
  }

  async #stayConnected(signal: AbortSignal): Promise<void> {
    const { world } = this.#options;
    for (let attempt = 0; ; attempt++) {
      if (!this.#connection) await this.connect().catch((error: unknown) => this.#failed(error));
      const connection = this.#connection;
      if (connection) {
        const upMs = world.monotonicMs();
        await gone(connection, signal);
        // One that ends at once each time is no reason to hurry.
        if (world.monotonicMs() - upMs >= TRANSLATOR_LIMITS.retry.maxMs) attempt = 0;
      }
      await sleep(world, backoffDelayMs(TRANSLATOR_LIMITS.retry, attempt, world.random()), signal);
    }
  }

  #failed(error: unknown): void {
    this.#lastProblem = messageOf(error);
    this.#options.world.log.debug("translator.connect_failed", { error: this.#lastProblem });
    const isRefused = error instanceof WebSocketRefusal && (error.status === 401 || error.status === 403);
    if (!isRefused || this.#scope.signal.aborted) return;
    const words = `the gateway ${this.#options.gatewayName} refuses this client (${this.#lastProblem})`;
    const hint = "Give a token that is valid: tenon gateway token create makes one.";
    this.#events.onRefused(failure(ERRORS.denied, words, "access.denied", hint));
  }

  #up(connection: Connection): void {
    this.#connection = connection;
    this.#awayTimer?.clear();
    connection.gone.addEventListener("abort", () => this.#down(connection), { once: true });
    this.#events.onUp(connection);
  }

  #down(connection: Connection): void {
    this.#connection = undefined;
    this.#lastProblem = messageOf(connection.gone.reason);
    if (!this.#scope.isClosed) this.#startAwayTimer();
    this.#events.onDown(connection);
  }

  #startAwayTimer(): void {
    this.#awayTimer = this.#options.world.after(TRANSLATOR_LIMITS.noticeMs, () => {
      this.#events.onAway(this.#lastProblem);
    });
  }
}

/** Nothing is wrong with what was sent: this node of the gateway serves nobody now. */
function isAway({ data }: NonNullable<Outcome["error"]>): boolean {
  return isJsonObject(data) && data["code"] === "store.unavailable";
}

function resultOf({ result, error }: Outcome): JsonValue {
  if (error) throw new Error(error.message);
  return result;
}

async function gone({ gone: end }: Connection, signal: AbortSignal): Promise<void> {
  if (end.aborted) return;
  const both = AbortSignal.any([end, signal]);
  await new Promise<void>((resolve) => both.addEventListener("abort", () => resolve(), { once: true }));
  signal.throwIfAborted();
}

/** For the other clients of a session: the editor's name for itself. */
function clientName({ clientInfo }: JsonObject): string {
  const { title, name } = isJsonObject(clientInfo) ? clientInfo : {};
  return [title, name].filter((words) => typeof words === "string").find((words) => words !== "") ?? "editor";
}

/** The editor's files and terminals are of another machine than the session's directory. */
function withoutFiles(capabilities: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(capabilities)) return capabilities;
  const { fs: _files, terminal: _terminal, ...rest } = capabilities;
  return rest;
}
