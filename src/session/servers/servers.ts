// The servers of one session: which it shall have, their connections, and the changes a person makes within the session.
import { Scope } from "../../base/async/scope.js";
import { messageOf, TenonError } from "../../base/errors.js";
import type { EndGrace } from "../../base/io/process.js";
import { defined } from "../../base/json/defined.js";
import { LIMITS } from "../../base/limits.js";
import type { EffectiveServer } from "../../config/index.js";
import {
  type ConnectionState,
  type KnownStart,
  launchFingerprint,
  type ServerConnection,
  ServerPool,
  type ServerSpec,
  startInTurn,
  startText,
} from "../../mcp/index.js";
import type { AbsentServer, ToolOrigin } from "../../tools/index.js";
import type { ServerChange, ServerStatus } from "../events.js";
import { SESSION_LIMITS } from "../limits.js";
import type { GivenServers, RejectedServer, SessionOptions } from "../options.js";
import { type ConfiguredServers, configuredServer, type OpenServer, type WantedServer, withSettings } from "./entry.js";
import { keyOf, type OpeningOptions, openServer, type RunningServer } from "./opening.js";
import { inSandbox, type SessionSandbox } from "./sandbox.js";

export interface SessionServersOptions extends OpeningOptions, Pick<SessionOptions, "pool" | "sharesServers"> {
  /** With a configuration nothing is connected before it is known: it may say something about the same names. */
  readonly isConfigured?: boolean;
  /** The least sandbox of the session, as it is now. */
  sandbox?(): SessionSandbox;
  /** Called with other servers of the client, before they are connected: the configuration takes them into account. */
  onGiven?(servers: readonly ServerSpec[]): Promise<void> | undefined;
  /** Called whenever the servers may have changed, with those that are not used and why. */
  onConnected?(open: readonly OpenServer[], absent: readonly AbsentServer[]): void;
}

export class SessionServers {
  readonly #options: SessionServersOptions;
  readonly #scope: Scope;
  readonly #pool: ServerPool;
  /** Switched off by the person, by name; one that is restarting comes back by itself. */
  readonly #off = new Map<string, { readonly origin: ToolOrigin; readonly isRestarting: boolean }>();
  /** Restarted while other sessions used the same server: those keep theirs, and this session has its own from then on. */
  #own: Set<string> | undefined;
  #given: GivenServers;
  #configured: ConfiguredServers | undefined;
  #running: readonly RunningServer[] = [];
  #rejected: readonly ServerStatus[] = [];
  /** A required one whose entry cannot be used. */
  #unusable: RejectedServer | undefined;
  /** How they started the last time. */
  readonly #starts = new WeakMap<ServerConnection, Promise<KnownStart | undefined>>();
  /** Those that a turn has waited for, and those that were ready: no turn waits for them again. */
  readonly #awaited = new WeakSet<ServerConnection>();
  #isClosed = false;

  constructor(options: SessionServersOptions, given: GivenServers = { servers: [] }) {
    this.#options = options;
    this.#given = given;
    this.#scope = new Scope(options.world.log);
    this.#pool = options.pool ?? new ServerPool(options);
  }

  get open(): readonly OpenServer[] {
    return this.#running;
  }

  /** The state of every server, those that are switched off or cannot be used included. */
  get statuses(): readonly ServerStatus[] {
    const off = [...this.#off].map(([name, { origin }]): ServerStatus => {
      return { name, origin, state: "closed", toolCount: 0, note: whyOff(name) };
    });
    const running = this.#running.map(({ status, wanted, details }) => ({ ...status(wanted.catalog), ...details() }));
    return [...running, ...this.#rejected, ...off];
  }

  /** Other servers of the client. Resolves once they are in force; they connect in the background. */
  async give(given: GivenServers): Promise<void> {
    if (this.#isClosed) throw new TenonError("session.closed", "the session is closed");
    this.#given = given;
    await this.#options.onGiven?.(given.servers);
    if (!this.#isClosed) this.connect();
  }

  configure(configured: ConfiguredServers): void {
    this.#configured = configured;
    this.connect();
  }

  /** Makes the servers those that are wanted. A call at a server that is removed ends with an unknown outcome. */
  connect(): void {
    const { isConfigured = false } = this.#options;
    const given = this.#given.servers.map((spec): WantedServer => ({ spec, origin: "client" }));
    const configured = isConfigured ? this.#configured : { wanted: given, rejected: [], absent: [] };
    if (!configured) return;
    const on = configured.wanted.filter(({ spec }) => !this.#off.has(spec.name));
    this.#replace(on.map((server) => this.#asChosen(server)));
    this.#reject([...configured.rejected, ...(this.#given.rejected ?? [])]);
    const off = [...this.#off].map(([name, { origin }]): AbsentServer => {
      return { name, origin, kind: "disabled", reason: whyOff(name) };
    });
    this.#options.onConnected?.(this.#running, [...configured.absent, ...off]);
  }

  /** The person chose another least sandbox: servers it changes are restarted. Returns a sentence that names them. */
  sandboxChosen(mode: string): string {
    const before = new Set(this.#running.map(({ connection }) => connection));
    this.connect();
    const restarted = this.#running.filter(({ connection }) => !before.has(connection));
    const names = restarted.map(({ connection }) => `"${connection.spec.name}"`).join(", ");
    const least = mode === "off" ? "as each is configured" : `${mode} at least`;
    return `the sandbox of the session's servers is now ${least}; ${names === "" ? "none had to be started anew" : `started anew: ${names}`}`;
  }

  /**
   * Waits for servers that start, for each as long as is known to be worth it: one turn waits for it, later ones do not. The
   * person is told of those that are late.
   */
  async settled(signal: AbortSignal): Promise<void> {
    const starting = this.#running.filter(({ connection, wanted }) => {
      return !this.#awaited.has(connection) || (wanted.isRequired === true && !connection.wasReady);
    });
    await Promise.all(starting.map((server) => this.#await(server, signal)));
    if (signal.aborted) return;
    for (const { connection } of starting) this.#awaited.add(connection);
    const late = starting.filter(({ connection }) => isStarting(connection));
    for (const { connection } of late) if (!isQueued(connection)) this.#remember(connection, undefined);
    if (late.length === 0) return;
    const all = late.map(({ connection: { spec, state } }) => {
      const queued = state.value.kind === "connecting" ? state.value.queued?.message : undefined;
      return queued ?? `${JSON.stringify(spec.name)} is still starting (${startText(spec)})`;
    });
    const text = `${all.join("; ")}. This turn begins without them; their tools join as soon as they are there.`;
    this.#options.onNotice?.("info", text);
  }

  /** Throws the cause where a server is required and has never been ready. */
  assertRequired(): void {
    const missing = this.#running.find(({ connection, wanted }) => {
      return wanted.isRequired === true && !connection.wasReady && !isUsable(connection);
    });
    if (missing) throw requiredError(missing.connection);
    if (!this.#unusable) return;
    const { name, reason, hint = "Put its entry right." } = this.#unusable;
    throw new TenonError("mcp.not_ready", requiredText(name, reason), { hint: `${hint} ${REQUIRED_HINT}` });
  }

  /** For people who look at them: waits until none connects any more, within a bound. */
  async connected(signal: AbortSignal): Promise<void> {
    using deadline = this.#options.world.deadline(SESSION_LIMITS.startWait.mostMs, signal);
    const isOver = (connection: ServerConnection) => {
      const { kind } = connection.state.value;
      return (kind !== "connecting" && kind !== "idle") || isQueued(connection);
    };
    await Promise.all(
      this.#running.map(({ connection }) =>
        connection.state.until(() => isOver(connection), deadline.signal).catch(() => undefined),
      ),
    );
  }

  /** Resolves once none is connecting, or the one of that name is not; also when the signal aborts. */
  async started(signal: AbortSignal, name?: string): Promise<void> {
    const waited = this.#running.filter(({ connection }) => name === undefined || connection.spec.name === name);
    const isOver = ({ kind }: ConnectionState) => kind !== "idle" && kind !== "connecting";
    await Promise.all(waited.map(({ connection }) => connection.state.until(isOver, signal).catch(() => undefined)));
  }

  /** Returns when it is ready, has failed or is queued, or its time is up. */
  async #await({ connection, wanted }: RunningServer, turn: AbortSignal): Promise<void> {
    const { world, onNotice } = this.#options;
    const signal = AbortSignal.any([turn]); // its own: Node warns of more than ten listeners on one signal
    const { spec, state } = connection;
    const isRequired = wanted.isRequired === true;
    // It is tried again with each prompt: what was wrong may have been put right.
    if (isRequired && state.value.kind === "failed" && this.#awaited.has(connection)) {
      connection.restart();
      await state.until(({ kind }) => kind !== "failed", signal).catch(() => undefined);
    }
    if (isRequired && isStarting(connection)) {
      onNotice?.("info", `waiting for ${JSON.stringify(spec.name)}, which is required: ${startText(spec)}`);
    }
    const waitMs = isRequired ? SESSION_LIMITS.requiredWaitMs : await this.#startWaitMs(connection);
    using deadline = world.deadline(waitMs, signal);
    const isOver = () => !isStarting(connection) && !(isRequired && isComing(connection));
    await state.until(() => isOver() || (!isRequired && isQueued(connection)), deadline.signal).catch(() => undefined);
  }

  async #startWaitMs(connection: ServerConnection): Promise<number> {
    const { factor, mostMs, unknownMs } = SESSION_LIMITS.startWait;
    if (!isStarting(connection)) return 0;
    const known = await this.#starts.get(connection);
    if (!known) return unknownMs;
    return known.readyMs === undefined ? 0 : Math.min(mostMs, known.readyMs * factor);
  }

  /** How it starts is read now, so that no prompt waits for the disk, and written when it is known. */
  #followStart(connection: ServerConnection): void {
    const { cache } = this.#options;
    const known = cache?.readStart?.(launchFingerprint(connection.spec)).catch(() => undefined);
    this.#starts.set(connection, known ?? Promise.resolve(undefined));
    const stop = connection.state.subscribe((state) => {
      if (state.kind === "failed") this.#remember(connection, undefined);
      if (state.kind !== "ready") return;
      this.#awaited.add(connection);
      this.#remember(connection, state.connectMs);
      stop();
    });
  }

  #remember(connection: ServerConnection, readyMs: number | undefined): void {
    const { cache } = this.#options;
    const { spec } = connection;
    if (!cache?.writeStart || this.#scope.isClosed) return;
    this.#scope.run(`remember how ${spec.name} started`, async () => {
      await cache.writeStart?.(launchFingerprint(spec), { readyMs });
    });
  }

  /** Those of a client that was away are taken up again. */
  clientReturned(client: string): void {
    for (const { connection } of this.#running) {
      const { spec, state } = connection;
      const isDown = state.value.kind === "waiting" || state.value.kind === "failed";
      if (spec.kind === "acp" && spec.client === client && isDown) connection.restart();
    }
  }

  disable(name: string): ServerChange {
    if (this.#off.has(name)) return { ok: true, text: `"${name}" is off already.` };
    const open = this.#find(name);
    if (!open) return this.#unknown(name);
    this.#off.set(name, { origin: open.source.origin, isRestarting: false });
    this.connect();
    return { ok: true, text: `"${name}" is off for this session. Its tools say so when they are called.` };
  }

  enable(name: string): ServerChange {
    if (!this.#off.has(name)) return this.#find(name) ? { ok: true, text: `"${name}" is on.` } : this.#unknown(name);
    this.#off.delete(name);
    this.connect();
    return { ok: true, text: `"${name}" is on again and is being connected.` };
  }

  /**
   * The old process has ended before the new one begins: some servers cannot run twice at a time. Where other sessions use
   * it too it stays for them, and this session gets its own.
   */
  async restart(name: string): Promise<ServerChange> {
    const open = this.#find(name);
    if (!open) return this.#off.has(name) ? this.enable(name) : this.#unknown(name);
    const { connection, source } = open;
    const { kind } = connection.state.value;
    if (kind === "failed" || kind === "waiting") connection.restart();
    else {
      if (connection.isShared) (this.#own ??= new Set()).add(name);
      this.#off.set(name, { origin: source.origin, isRestarting: true });
      this.connect();
      await connection.closed;
      if (this.#off.get(name)?.isRestarting) this.enable(name);
    }
    return { ok: true, text: `"${name}" is being started anew.` };
  }

  async add(spec: ServerSpec): Promise<ServerChange> {
    const { name } = spec;
    if (this.#find(name) || this.#off.has(name)) return { ok: false, reason: `there is a server "${name}" already` };
    return await this.#change([...this.#given.servers, spec], `"${name}" is being connected.`);
  }

  /** One of the configuration is only switched off: a session does not change the file. */
  async remove(name: string): Promise<ServerChange> {
    const { servers } = this.#given;
    const others = servers.filter((spec) => spec.name !== name);
    if (others.length < servers.length) {
      this.#off.delete(name);
      return await this.#change(others, `"${name}" is removed from this session.`);
    }
    const off = this.disable(name);
    if (!off.ok) return off;
    const text = `"${name}" is off for this session. It is configured: tenon mcp remove ${name} removes it.`;
    return { ok: true, text };
  }

  /** Servers that only this session uses end with it; a shared server may stay for a while. */
  async close(grace: EndGrace): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#running.map(({ connection }) => connection.leave(grace)));
    await this.#scope.close();
    if (this.#options.pool === undefined) await this.#pool.close(grace);
  }

  async #change(servers: readonly ServerSpec[], done: string): Promise<ServerChange> {
    try {
      await this.give({ ...this.#given, servers });
      return { ok: true, text: done };
    } catch (error) {
      return { ok: false, reason: messageOf(error) };
    }
  }

  #find(name: string): OpenServer | undefined {
    return this.#running.find(({ connection }) => connection.spec.name === name);
  }

  #unknown(name: string): ServerChange {
    const names = [...this.#running.map(({ connection }) => connection.spec.name), ...this.#off.keys()];
    const known = names.length === 0 ? "it has none" : `there are: ${names.join(", ")}`;
    return { ok: false, reason: `this session has no connected server "${name}"; ${known}` };
  }

  /** With the session's sandbox and what the client says of its own servers, which is stronger than any default. */
  #asChosen(server: WantedServer): WantedServer {
    const { name } = server.spec;
    const include = server.origin === "client" ? this.#given.includes?.[name] : undefined;
    const settings = server.origin === "client" ? this.#given.settings?.[name] : undefined;
    const given = settings ? withSettings(server, settings) : server;
    return {
      ...given,
      spec: inSandbox(given.spec, server.sandbox, this.#options.sandbox?.()),
      ...defined({
        catalog: include ? { ...given.catalog, ...include } : undefined,
        mayShare: this.#own?.has(name) || this.#options.sharesServers === false ? false : undefined,
        isRequired: server.origin === "client" && this.#given.required?.includes(name) ? true : undefined,
      }),
    };
  }

  /** Servers that are unchanged stay connected, others are ended, new ones are started. */
  #replace(wanted: readonly WantedServer[]): void {
    const options = this.#options;
    const kept = new Map(this.#running.map((one) => [one.key(), one]));
    const fresh: RunningServer[] = [];
    this.#running = wanted.map((server) => {
      let hashed: string | undefined;
      const key = () => {
        hashed ??= keyOf(server, options);
        return hashed;
      };
      const same = kept.size > 0 ? kept.get(key()) : undefined;
      if (same) {
        kept.delete(key());
        return { ...same, wanted: server };
      }
      const opened = { ...openServer(server, options, this.#pool), key };
      this.#followStart(opened.connection);
      fresh.push(opened);
      return opened;
    });
    for (const { connection } of kept.values()) {
      this.#scope.run(`end ${connection.spec.name}`, () => connection.close());
    }
    for (const { connection, wanted } of fresh) {
      const start = () => (wanted.isLazy ? connection.startWhenUsed() : connection.start());
      startInTurn(options.world, start, connection);
    }
  }

  /** Each reported once, as long as its reason stays the same. */
  #reject(rejected: readonly RejectedServer[]): void {
    this.#unusable = rejected.find(({ isRequired }) => isRequired);
    const known = new Set(this.#rejected.map(({ name, error }) => `${name}\0${error}`));
    this.#rejected = rejected.map(({ name, reason, origin = "client", hint }) => {
      return { name, origin, state: "failed", toolCount: 0, error: reason, ...defined({ hint }) };
    });
    for (const status of this.#rejected) {
      if (!known.has(`${status.name}\0${status.error}`)) this.#options.onStatus(status);
    }
  }
}

/** It starts for the first time. */
function isStarting({ state, wasReady }: ServerConnection): boolean {
  return !wasReady && (state.value.kind === "connecting" || state.value.kind === "idle");
}

function isQueued({ state }: ServerConnection): boolean {
  return state.value.kind === "connecting" && state.value.queued !== undefined;
}

/** It is being tried again. */
function isComing({ state: { value } }: ServerConnection): boolean {
  return value.kind === "connecting" || value.kind === "waiting";
}

function isUsable({ state: { value } }: ServerConnection): boolean {
  return value.kind === "ready" || value.kind === "resting";
}

function requiredError({ spec, state: { value } }: ServerConnection): TenonError {
  const late = `it was not ready within ${SESSION_LIMITS.requiredWaitMs / 1_000} s (${startText(spec)})`;
  const queued = value.kind === "connecting" ? value.queued?.message : undefined;
  const cause = "cause" in value ? value.cause : undefined;
  const text = requiredText(spec.name, cause?.message ?? queued ?? late);
  const hint = `${cause ? `${cause.hint} ` : ""}${REQUIRED_HINT}`;
  return new TenonError("mcp.not_ready", text, { hint, ...defined({ cause }) });
}

const REQUIRED_HINT = 'Then send the prompt again; or take "required" out of its entry.';

function requiredText(name: string, reason: string): string {
  return `the server ${JSON.stringify(name)} is required and cannot be used: ${reason}`;
}

function whyOff(name: string): string {
  return `switched off in this session; /mcp enable ${name} brings it back`;
}

export type SingleServerOptions = Omit<
  SessionServersOptions,
  "session" | "sampling" | "onStatus" | "additionalDirectories" | "isConfigured"
>;

/** It is treated exactly as a session would treat it, except that a lazy one is started. */
export class SingleServer implements AsyncDisposable {
  readonly #servers: SessionServers;

  /** Begins to connect at once. `project` is the project's real path. */
  constructor(server: EffectiveServer, project: string, options: SingleServerOptions) {
    this.#servers = new SessionServers({ ...options, isConfigured: true, onStatus: () => undefined });
    const { wanted, rejected } = configuredServer(server, project);
    this.#servers.configure({
      wanted: wanted ? [{ ...wanted, isLazy: false }] : [],
      rejected: rejected ? [rejected] : [],
      absent: [],
    });
  }

  /** Undefined for one that is not to be started at all. */
  get connection(): ServerConnection | undefined {
    return this.#servers.open[0]?.connection;
  }

  /** Undefined for one that is switched off, replaced or not trusted: nothing is done with it. */
  get status(): ServerStatus | undefined {
    return this.#servers.statuses[0];
  }

  /** Resolves when it is ready, when its first attempt has failed, or when the signal aborts. */
  async settled(signal: AbortSignal): Promise<void> {
    const { connection } = this;
    if (!connection) return;
    const isOver = () => !isStarting(connection);
    await connection.state.until(isOver, signal).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#servers.close(LIMITS.exitGrace);
  }
}
