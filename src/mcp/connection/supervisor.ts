// Keeps one server connected: one attempt after another, each until it breaks, with a wait in between for as long as may help.
import { Cell, type ReadonlyCell } from "../../base/async/cell.js";
import { orAborted, sleep } from "../../base/async/deadline.js";
import type { Scope } from "../../base/async/scope.js";
import { type ErrorCode, messageOf, TenonError } from "../../base/errors.js";
import type { EndGrace } from "../../base/io/process.js";
import { defined } from "../../base/json/defined.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import { type OAuthOptions, resourceOf } from "../auth/port.js";
import type { Link } from "../protocol/link.js";
import { isRemote, type ServerSpec } from "../spec.js";
import { type AttemptOptions, converse, loadTools, takePlace } from "./connect.js";
import type { ConnectionOptions } from "./options.js";
import { type ConnectionEvent, type ConnectionState, failuresInARow, next, retryDelayMs } from "./state.js";
import { type CurrentTools, ToolList } from "./tool-list.js";

export interface SupervisionOptions extends AttemptOptions {
  /** Owns everything that runs for the server: the attempts end with it. */
  readonly scope: Scope;
  readonly tools: CurrentTools;
  /** Called with each conversation before anybody may use it. */
  onLink(link: Link): void;
}

/** When a broken connection is tried again; only by `wake` where there is no such time. */
interface Broken {
  readonly retryAtMs?: number;
  readonly wake: AbortSignal;
}

/** Why a call is made once more, and how long that may wait for a link. */
export interface Retrial {
  readonly code: ErrorCode;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export class Supervision {
  readonly #spec: ServerSpec;
  readonly #options: SupervisionOptions;
  readonly #world: World;
  readonly #state = new Cell<ConnectionState>({ kind: "idle" });
  #link: Link | undefined;
  #lastError: TenonError | undefined;
  #wasReady = false;
  #wake = new AbortController();
  #endGrace: EndGrace = LIMITS.closeGrace;

  constructor(spec: ServerSpec, options: SupervisionOptions) {
    this.#spec = spec;
    this.#options = options;
    this.#world = options.connection.world;
  }

  get state(): ReadonlyCell<ConnectionState> {
    return this.#state;
  }

  /** Undefined unless ready. */
  get link(): Link | undefined {
    return this.#state.value.kind === "ready" ? this.#link : undefined;
  }

  /** Why it last broke, also after it has come back. */
  get lastError(): TenonError | undefined {
    return this.#lastError;
  }

  /** Starts connecting and returns at once. Starting again changes nothing. */
  start(): void {
    const { scope, tools } = this.#options;
    const { kind } = this.#state.value;
    if (kind !== "idle" && kind !== "resting") return;
    this.#dispatch({ kind: "start", atMs: this.#world.monotonicMs() });
    if (kind === "idle") scope.run(`recall ${this.#spec.name}`, () => tools.recall());
    scope.run(`supervise ${this.#spec.name}`, (signal) => this.#supervise(signal));
  }

  /** With tools in the cache it rests until the first call; without, nobody could call any, so it is started. */
  startWhenUsed(): void {
    const { scope, tools } = this.#options;
    scope.run(`rest ${this.#spec.name}`, async (signal) => {
      await tools.recall().catch(() => undefined); // a cache that fails is no cache
      if (signal.aborted) return;
      if (tools.list.value.length === 0) return this.start();
      this.#dispatch({ kind: "rest" });
    });
  }

  /** The live link; waits while the server is connecting (patient: or broken), and says why when there is none to wait for. */
  async ready(
    signal: AbortSignal,
    { isPatient = false }: { readonly isPatient?: boolean } = {},
  ): Promise<Link | TenonError> {
    if (this.link) return this.link;
    const over = AbortSignal.any([signal, this.#options.scope.signal]);
    const begun = await this.#state.until(({ kind }) => kind !== "idle", over).catch(() => this.#state.value);
    if (begun.kind === "resting") this.start();
    const isSettled = ({ kind }: ConnectionState) =>
      kind !== "connecting" && kind !== "idle" && !(isPatient && kind === "waiting");
    let state = await this.#state.until(isSettled, over).catch(() => this.#state.value);
    if (state.kind === "failed" && (await hasLogin(this.#spec, this.#options.connection, state.cause))) {
      this.restart();
      await this.#state.until(({ kind }) => kind !== "failed", over).catch(() => undefined);
      state = await this.#state.until(isSettled, over).catch(() => this.#state.value);
    }
    if (state.kind === "ready" && this.#link) return this.#link;
    return new TenonError("mcp.not_ready", `server "${this.#spec.name}" is not connected: ${reason(state)}`);
  }

  /**
   * By the user's own word a tool may run twice: once more, over the link that follows the one that broke. Where only the
   * answer was cut off and the link lives on, over the same; whoever gave an answer, if a poor one, would give it again.
   */
  async again(last: Link, { code, timeoutMs, signal }: Retrial): Promise<Link | undefined> {
    // A lost session is the end of its link, also where that is told a moment later (in a recording).
    const isOver = code === "mcp.session_lost";
    const isBroken = isOver || (await Promise.race([last.broken, Promise.resolve(undefined)])) !== undefined;
    if (!isBroken) return code === "mcp.connection_lost" && this.link === last ? last : undefined;
    using deadline = this.#world.deadline(timeoutMs, AbortSignal.any([signal, this.#options.scope.signal]));
    const isDecided = ({ kind }: ConnectionState) => (kind === "ready" && this.#link !== last) || kind === "failed";
    await this.#state.until(isDecided, deadline.signal).catch(() => undefined);
    return this.#link === last ? undefined : this.link;
  }

  /** Tries anew after a failure, or now instead of later. A ready or connecting server is left alone. */
  restart(): void {
    this.#wake.abort();
  }

  /** How long the server's process is given when its scope closes. */
  endWithin(grace: EndGrace): void {
    this.#endGrace = grace;
  }

  /** Its scope is about to close. */
  closing(): void {
    this.#dispatch({ kind: "close" });
  }

  /** Nothing of it is left. */
  closed(): void {
    this.#dispatch({ kind: "closed" });
  }

  /** One attempt after another. Each owns its wire: the next one starts when the last one's processes are gone. */
  async #supervise(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const broken = await this.#live(signal);
      if (!broken || signal.aborted) return;
      await this.#rest(broken, signal);
      const kind = broken.retryAtMs === undefined ? "start" : "retry";
      this.#dispatch({ kind, atMs: this.#world.monotonicMs() });
    }
  }

  /** Waits for the next attempt: the backoff, or a person's `restart` when nothing else will help. */
  async #rest({ retryAtMs, wake }: Broken, signal: AbortSignal): Promise<void> {
    const woken = AbortSignal.any([wake, signal]);
    const login = { cause: this.#lastError, onChange: () => this.restart() };
    using _ = retryAtMs === undefined ? watchForLogin(this.#spec, this.#options.connection, login) : undefined;
    const after = (delayMs: number, run: () => void) => this.#world.after(delayMs, run);
    const leftMs = Math.max(0, (retryAtMs ?? 0) - this.#world.monotonicMs());
    const waiting = retryAtMs === undefined ? new Promise<never>(() => {}) : sleep(after, leftMs, woken);
    await orAborted(waiting, woken).catch(() => undefined);
  }

  /** Connects and stays until it breaks: returns when to try again, or nothing when the connection is being closed. */
  async #live(signal: AbortSignal): Promise<Broken | undefined> {
    const { scope, tools } = this.#options;
    const place = takePlace(this.#spec, this.#options.connection);
    if (place instanceof TenonError) return this.#break(place);
    using slot = place;
    const link = await converse(this.#spec, this.#options, { slot, signal, grace: () => this.#endGrace });
    if (link instanceof TenonError) return this.#break(link);
    const list = new ToolList(link, this.#world, (listed) => tools.listed(listed, link.server.version, scope));
    try {
      const failure = await loadTools(list, link, this.#options, signal);
      if (failure || signal.aborted) return failure && this.#break(failure);
      this.#becomeReady(link);
      const cause = await orAborted(link.broken, signal).catch(() => undefined);
      // Told at once: to take down what is left of it may need its time, and it is not ready any more.
      return cause && this.#break(cause);
    } finally {
      this.#link = undefined;
      await list.close();
      await link.wire.close(signal.aborted ? this.#endGrace : LIMITS.closeGrace);
    }
  }

  #break(cause: TenonError): Broken {
    this.#link = undefined;
    this.#lastError = cause;
    const atMs = this.#world.monotonicMs();
    const failures = failuresInARow(this.#state.value, atMs);
    const facts = { cause, failuresInARow: failures, wasReady: this.#wasReady, isRemote: isRemote(this.#spec) };
    const retryInMs = retryDelayMs(facts, this.#world.random());
    this.#wake = new AbortController();
    this.#dispatch({ kind: "broken", atMs, cause, ...defined({ retryInMs }) });
    const wake = this.#wake.signal;
    return retryInMs === undefined ? { wake } : { wake, retryAtMs: atMs + retryInMs };
  }

  #becomeReady(link: Link): void {
    this.#link = link;
    this.#options.onLink(link);
    this.#wasReady = true;
    const { server, agreement } = link;
    this.#dispatch({ kind: "ready", atMs: this.#world.monotonicMs(), server, agreement });
  }

  #dispatch(event: ConnectionEvent): void {
    this.#state.set(next(this.#state.value, event));
  }
}

function reason(state: ConnectionState): string {
  switch (state.kind) {
    case "failed":
      return state.cause.message;
    case "waiting":
      return `it broke (${state.cause.message}) and is being restarted`;
    case "idle":
    case "resting":
    case "connecting":
    case "ready":
    case "closing":
    case "closed":
      return `it is ${state.kind}`;
  }
}

/** Calls back when a log-in may have appeared, as long as it is not disposed of. Nothing where that would be no cure. */
function watchForLogin(
  spec: ServerSpec,
  { oauth }: ConnectionOptions,
  { cause, onChange }: { readonly cause: TenonError | undefined; readonly onChange: () => void },
): Disposable | undefined {
  const resource = curable(spec, oauth, cause);
  if (!oauth?.store.watch || resource === undefined) return undefined;
  const watch = oauth.store.watch(resource, oauth.account, onChange);
  return { [Symbol.dispose]: () => watch.close() };
}

/** Whether there is a log-in now for a server that refused us. Never rejects. */
async function hasLogin(spec: ServerSpec, options: ConnectionOptions, cause: TenonError): Promise<boolean> {
  const { oauth, world } = options;
  const resource = curable(spec, oauth, cause);
  if (!oauth || resource === undefined) return false;
  try {
    return (await oauth.store.find(resource, oauth.account)).length > 0;
  } catch (thrown) {
    world.log.warn("oauth.unread", { server: spec.name, error: messageOf(thrown) });
    return false;
  }
}

function curable(spec: ServerSpec, oauth: OAuthOptions | undefined, cause: TenonError | undefined): string | undefined {
  const isCurable = oauth !== undefined && cause?.code === "mcp.unauthorized" && isRemote(spec);
  return isCurable ? resourceOf(spec.url) : undefined;
}
