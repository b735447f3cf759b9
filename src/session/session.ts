// One session: its servers, its conversation, its journal, and everything it tells whoever is attached.
import { Channel } from "../base/channel.js";
import type { ContentBlock } from "../base/content.js";
import { TenonError, toTenonError } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import type { EndGrace } from "../base/process.js";
import type { World } from "../base/world.js";
import { runTurn, type StopReason, Transcript, type TurnEnd, type TurnEvent } from "../engine/index.js";
import type { ServerCache, ServerSpec } from "../mcp/index.js";
import type { Model, ModelUsage } from "../models/index.js";
import { type Catalog, type CatalogTool, snapshot } from "../tools/index.js";
import { type ConfigurationOptions, SessionConfiguration } from "./configuration.js";
import type { NoticeLevel, ServerStatus, SessionEvent } from "./event.js";
import { Journal } from "./journal.js";
import { Permissions } from "./permission.js";
import type { SessionPorts } from "./ports.js";
import { type RejectedServer, SessionServers } from "./servers.js";
import { systemPrompt } from "./system-prompt.js";

export interface SessionOptions {
  readonly world: World;
  readonly id: string;
  readonly cwd: string;
  readonly servers: readonly ServerSpec[];
  readonly rejected: readonly RejectedServer[];
  readonly model: Model;
  readonly journalPath: string;
  readonly cache?: ServerCache;
  /** The configuration layers that count beside the client's servers; none unless given. */
  readonly config?: SessionConfig;
  readonly client: { readonly name: string; readonly version: string };
}

/** What a session's configuration is read from besides its directory and its client. */
export type SessionConfig = Pick<ConfigurationOptions, "commandLine" | "resolveSecret">;

export interface PromptResult {
  readonly stopReason: StopReason;
  readonly usage: ModelUsage;
}

export class Session implements AsyncDisposable {
  readonly id: string;
  readonly cwd: string;
  readonly #world: World;
  readonly #model: Model;
  readonly #system: string;
  readonly #journal: Journal;
  readonly #servers: SessionServers;
  readonly #permissions: Permissions;
  readonly #configuration: SessionConfiguration | undefined;
  readonly #transcript = new Transcript();
  readonly #notices: SessionEvent[] = [];
  readonly #readers = new Set<Channel<SessionEvent>>();
  #ports: SessionPorts | undefined;
  #turnCount = 0;
  #running: { readonly controller: AbortController; readonly done: Promise<unknown> } | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: SessionOptions) {
    const { world } = options;
    this.id = options.id;
    this.cwd = options.cwd;
    this.#world = world;
    this.#model = options.model;
    this.#system = systemPrompt({ cwd: options.cwd, date: new Date(world.now()).toISOString().slice(0, 10) });
    this.#journal = new Journal(world, options.journalPath, options);
    this.#permissions = new Permissions(world.log);
    this.#servers = new SessionServers({
      world,
      cwd: options.cwd,
      client: options.client,
      ...(options.cache ? { cache: options.cache } : {}),
      onStatus: (status) => this.#onServerStatus(status),
    });
    if (options.config) this.#configuration = this.#follow(options.config, options);
    else
      this.#servers.replace(
        options.servers.map((spec) => ({ spec, origin: "client" })),
        options.rejected,
      );
  }

  /** Where every server stands now. */
  get servers(): readonly ServerStatus[] {
    return this.#servers.statuses;
  }

  /** The tools a model call would be offered now. */
  get tools(): readonly CatalogTool[] {
    return this.#catalog().tools;
  }

  /** Resolves once the configuration has been read; at once when there is none. */
  get configured(): Promise<void> {
    return this.#configuration?.opened ?? Promise.resolve();
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** Who answers the session's questions from now on. Returns the way to detach. */
  attach(ports: SessionPorts): () => void {
    this.#ports = ports;
    return () => {
      if (this.#ports === ports) this.#ports = undefined;
    };
  }

  /** How many turns have begun. */
  get turnCount(): number {
    return this.#turnCount;
  }

  /**
   * First where each server stands now and what was noticed so far, then everything a client may show, in order. A reader that stops reading holds the session up once its
   * backlog is full, so leave the loop (or close the session) when done.
   */
  events(): AsyncIterableIterator<SessionEvent> {
    const channel = new Channel<SessionEvent>(LIMITS.eventBacklog);
    if (this.#closing) channel.close();
    else this.#readers.add(channel);
    for (const status of this.servers) {
      if (status.state !== "connecting") channel.offer({ kind: "server", status });
    }
    for (const notice of this.#notices) channel.offer(notice);
    return channel[Symbol.asyncIterator]();
  }

  /** Runs one turn. Rejects with a TenonError when the session is busy or closed, or when the model fails. */
  async prompt(content: string | readonly ContentBlock[], signal?: AbortSignal): Promise<PromptResult> {
    if (this.#closing) throw new TenonError("session.closed", `session ${this.id} is closed`);
    if (this.#running) throw new TenonError("session.busy", `session ${this.id} is already running a turn`);
    const controller = new AbortController();
    const onAbort = () => controller.abort(signal?.reason);
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    const blocks: readonly ContentBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const done = this.#runTurn(blocks, controller.signal);
    this.#running = { controller, done };
    try {
      return await done;
    } finally {
      this.#running = undefined;
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Stops the running turn, if any; its prompt resolves with `cancelled`. */
  cancel(): void {
    this.#running?.controller.abort(new DOMException("cancelled by the person", "AbortError"));
  }

  /** Cancels the turn, ends every server with its whole process tree, and closes the journal. Safe to call twice. */
  close(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    this.#closing ??= this.#close(grace);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(grace: EndGrace): Promise<void> {
    const running = this.#running;
    running?.controller.abort(new DOMException("the session is closing", "AbortError"));
    const configured = this.#configuration?.close();
    const ended = this.#servers.close(grace);
    await running?.done.catch(() => undefined); // whoever prompted hears of it
    await ended;
    await configured;
    this.#journal.close();
    for (const reader of this.#readers) reader.close();
    this.#readers.clear();
  }

  async #runTurn(content: readonly ContentBlock[], signal: AbortSignal): Promise<TurnEnd> {
    const number = ++this.#turnCount;
    this.#journal.append({ kind: "prompt", turn: number, content });
    await this.#publish({ kind: "user", content });
    try {
      await this.#prepare(number, signal);
      this.#transcript.addUser(content);
      const end = await this.#pump(number, signal);
      this.#journal.append({ kind: "end", turn: number, stopReason: end.stopReason });
      await this.#publish({ kind: "turn_ended", turn: number, stopReason: end.stopReason });
      return end;
    } catch (thrown) {
      const error = toTenonError(thrown);
      this.#journal.append({ kind: "error", turn: number, code: error.code, message: error.message });
      await this.#publish({ kind: "turn_ended", turn: number, error });
      throw error;
    } finally {
      this.#configuration?.turnEnds();
      this.#journal.sync();
    }
  }

  /** The first turn waits, within a bound, for the configuration and for servers still connecting; every turn may ask. */
  async #prepare(number: number, signal: AbortSignal): Promise<void> {
    if (number === 1) await this.#configuration?.opened;
    await this.#configuration?.askForTrust(this.#ports, signal);
    this.#configuration?.turnStarts();
    if (number === 1) await this.#servers.settled(signal);
  }

  #follow(config: SessionConfig, options: SessionOptions): SessionConfiguration {
    return new SessionConfiguration({
      world: options.world,
      cwd: options.cwd,
      clientServers: options.servers,
      ...config,
      onServers: (wanted, rejected) => this.#servers.replace(wanted, [...rejected, ...options.rejected]),
      onNotice: (level, text) => this.#notice(level, text),
    });
  }

  #notice(level: NoticeLevel, text: string): void {
    this.#notices.push({ kind: "notice", level, text });
    for (const reader of this.#readers) reader.offer({ kind: "notice", level, text });
  }

  async #pump(number: number, signal: AbortSignal): Promise<TurnEnd> {
    const turn = runTurn(
      {
        number,
        model: this.#model,
        system: this.#system,
        transcript: this.#transcript,
        catalog: () => this.#catalog(),
        ports: {
          approve: (request, callSignal) => this.#permissions.approve(request, this.#ports, callSignal),
          journal: {
            intent: ({ toolCallId, tool }) =>
              this.#journal.append({ kind: "intent", toolCallId, definitionHash: tool.definitionHash }),
          },
        },
      },
      signal,
    );
    for (;;) {
      const step = await turn.next();
      if (step.done) return step.value;
      this.#record(step.value);
      await this.#publish({ kind: "turn", event: step.value });
    }
  }

  /** Journal first: what a client has seen must be there after a crash. */
  #record(event: TurnEvent): void {
    switch (event.kind) {
      case "text":
      case "thought":
        this.#journal.append({ kind: event.kind, text: event.text });
        break;
      case "call_started": {
        const { toolCallId, subject } = event;
        const label = subject.tool?.label ?? subject.name;
        this.#journal.append({ kind: "call", toolCallId, tool: subject.name, label, arguments: event.arguments });
        break;
      }
      case "call_ended":
        this.#journal.append({ kind: "outcome", toolCallId: event.toolCallId, outcome: event.outcome });
        break;
      case "call_running":
      case "call_progress":
      case "usage":
        break;
    }
  }

  #catalog(): Catalog {
    return snapshot(this.#servers.sources);
  }

  #onServerStatus(status: ServerStatus): void {
    if (status.state === "failed") {
      this.#world.log.warn("server.failed", { session: this.id, server: status.name, error: status.error });
    }
    for (const reader of this.#readers) reader.offer({ kind: "server", status });
  }

  async #publish(event: SessionEvent): Promise<void> {
    await Promise.all([...this.#readers].map((reader) => reader.send(event)));
  }
}
