// One session as its client and its host see it: what may be asked of it and changed about it, its turns, its end.

import { TenonError } from "../base/errors.js";
import type { EndGrace } from "../base/io/process.js";
import { LIMITS } from "../base/limits.js";
import type { ContentBlock } from "../base/text/content.js";
import type { StopReason } from "../engine/index.js";
import type { ModelUsage } from "../models/index.js";
import type { CommandInfo, NoticeLevel, ServerStatus, SessionEvent } from "./event.js";
import type { SessionOptions } from "./options.js";
import type { SessionPorts } from "./ports.js";
import type { GivenServers } from "./server-set.js";
import { SessionParts } from "./session-parts.js";
import type { SettingName, SettingsView } from "./settings.js";
import type { ToolControls } from "./tools/tool-controls.js";
import { SessionTurns } from "./turns.js";

export interface PromptResult {
  readonly stopReason: StopReason;
  readonly usage: ModelUsage;
}

export class Session implements AsyncDisposable {
  readonly id: string;
  readonly cwd: string;
  readonly #parts: SessionParts;
  readonly #turns: SessionTurns;
  #closing: Promise<void> | undefined;

  constructor(options: SessionOptions) {
    this.id = options.id;
    this.cwd = options.cwd;
    this.#parts = new SessionParts(options, (given) => this.setServers(given));
    this.#turns = new SessionTurns(this.#parts);
  }

  /** Where every server stands now. */
  get servers(): readonly ServerStatus[] {
    return this.#parts.statuses;
  }

  /** What the person may change about the session, and what each could be changed to. */
  get settings(): SettingsView {
    return this.#parts.settings.view;
  }

  /** Holds from the next call, or the next model call, on. Throws a TenonError for what is not to be had. */
  set(name: SettingName, value: string): void {
    this.#mustBeOpen();
    this.#parts.settings.set(name, value);
  }

  /** Of the whole session. */
  get usage(): ModelUsage {
    return this.#parts.conversation.usage;
  }

  /** A person gave it another title. */
  retitled(title: string): void {
    this.#turns.titled();
    this.#parts.audience.tell({ kind: "title", title });
  }

  /** The slash commands there are now, prompts of servers included. */
  get commands(): readonly CommandInfo[] {
    return this.#parts.expansion.commands;
  }

  /** The session's tools: what is offered, searching, adding, and why one is or is not there. */
  get tools(): ToolControls {
    return this.#parts.tools.controls;
  }

  /** Resolves once the configuration has been read; at once when there is none. */
  get configured(): Promise<void> {
    return this.#parts.configuration?.opened ?? Promise.resolve();
  }

  /** Says something to the person, now and to whoever attaches later. */
  notice(level: NoticeLevel, text: string): void {
    this.#parts.audience.notice(level, text);
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** Who answers the session's questions from now on. Returns the way to detach. */
  attach(ports: SessionPorts): () => void {
    this.#parts.ports = ports;
    return () => {
      if (this.#parts.ports === ports) this.#parts.ports = undefined;
    };
  }

  get isAttached(): boolean {
    return this.#parts.ports !== undefined;
  }

  /** How many turns have begun. */
  get turnCount(): number {
    return this.#turns.count;
  }

  /**
   * First how everything stands now and what was noticed so far, then everything a client may show, in order. A reader
   * that stops reading holds the session up once its backlog is full, so leave the loop (or close the session) when done.
   */
  events(): AsyncIterableIterator<SessionEvent> {
    const known = this.servers.filter(({ state }) => state !== "connecting");
    return this.#parts.audience.join([
      { kind: "settings", view: this.settings },
      { kind: "commands", commands: this.commands },
      ...known.map((status): SessionEvent => ({ kind: "server", status })),
    ]);
  }

  /** Runs one turn. Rejects with a TenonError when the session is busy or closed, or when the model fails. */
  async prompt(content: string | readonly ContentBlock[], signal?: AbortSignal): Promise<PromptResult> {
    this.#mustBeOpen();
    if (this.#parts.options.owned) {
      await this.#parts.options.owned;
      this.#mustBeOpen();
    }
    return await this.#turns.run(content, signal);
  }

  /**
   * Replaces the servers the client or the embedder gave, also while a turn runs: tools of new ones join at the next model
   * call, calls at those that go end with an unknown outcome. Resolves once it is in force; they connect in the background.
   */
  async setServers(given: GivenServers): Promise<void> {
    this.#mustBeOpen();
    const { serverSet, configuration } = this.#parts;
    serverSet.give(given);
    await configuration?.setClientServers(given.servers);
    if (!this.#closing) serverSet.connect();
  }

  /** Stops the running turn, whose prompt resolves with `cancelled`; without one, the calls of before that still run. */
  cancel(): void {
    if (!this.#turns.cancel()) this.#parts.conversation.tasks.cancel();
  }

  /** Cancels the turn but for what goes on at its server, ends every server's process tree, closes the journal. Safe twice. */
  close(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    this.#closing ??= this.#close(grace);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(grace: EndGrace): Promise<void> {
    const { conversation, configuration, servers, logins, scope, expansion, tools, journal, audience } = this.#parts;
    const reason = new TenonError("session.closed", "the session is closing");
    const left = conversation.leave(reason, this.#turns.isCancelled);
    const turnEnded = this.#turns.end(reason);
    const configured = configuration?.close();
    const ended = servers.close(grace);
    await turnEnded;
    await Promise.all([ended, configured, logins[Symbol.asyncDispose](), left]);
    await scope.close();
    await expansion[Symbol.asyncDispose]();
    await tools[Symbol.asyncDispose]();
    journal.close();
    audience.close();
    await this.#parts.options.onClosed?.();
  }

  #mustBeOpen(): void {
    if (this.#closing) throw new TenonError("session.closed", `session ${this.id} is closed`);
  }
}
