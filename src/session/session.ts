// One session: its servers, its conversation, its journal, and everything it tells whoever is attached.
import { type ContentBlock, plainText } from "../base/content.js";
import { TenonError, toTenonError } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import type { EndGrace } from "../base/process.js";
import { Scope } from "../base/scope.js";
import type { World } from "../base/world.js";
import { type EffectiveConfig, readyServers } from "../config/index.js";
import { NO_USAGE, type StopReason, type TurnEnd } from "../engine/index.js";
import type { ModelUsage } from "../models/index.js";
import { Audience } from "./audience.js";
import { commandOf, type Invocation } from "./commands/index.js";
import { type AppliedConfig, SessionConfiguration } from "./configuration.js";
import { Conversation } from "./conversation.js";
import type { CommandInfo, ServerStatus, SessionEvent } from "./event.js";
import { PromptExpansion } from "./expansion.js";
import type { Journal } from "./journal.js";
import { openJournal, titleOf } from "./journal-start.js";
import { SessionLogins } from "./login/session-logins.js";
import type { SessionConfig, SessionOptions } from "./options.js";
import { SessionPlan } from "./plan.js";
import type { SessionPorts } from "./ports.js";
import { samplingPeer } from "./sampling.js";
import { type GivenServers, ServerSet } from "./server-set.js";
import { type OpenServer, SessionServers } from "./servers.js";
import { SessionTools, type ToolControls, toolPlaces } from "./session-tools.js";
import type { SessionSettings, SettingName, SettingsView } from "./settings.js";
import { startSettings } from "./settings-start.js";
import { givenPrompts, openingPrompt } from "./system-prompt.js";
import { inTurnSpan } from "./turn-span.js";

export interface PromptResult {
  readonly stopReason: StopReason;
  readonly usage: ModelUsage;
}

export class Session implements AsyncDisposable {
  readonly id: string;
  readonly cwd: string;
  readonly #world: World;
  readonly #options: SessionOptions;
  readonly #date: string;
  readonly #journal: Journal;
  readonly #servers: SessionServers;
  readonly #tools: SessionTools;
  readonly #scope: Scope;
  readonly #logins: SessionLogins;
  readonly #serverSet: ServerSet;
  readonly #configuration: SessionConfiguration | undefined;
  readonly #conversation: Conversation;
  readonly #settings: SessionSettings;
  readonly #expansion: PromptExpansion;
  readonly #audience = new Audience();
  readonly #plan: SessionPlan;
  #ports: SessionPorts | undefined;
  #allowHosts: readonly string[] = [];
  #promptValues: EffectiveConfig["systemPrompt"] = {};
  #system: string | undefined;
  #turnCount: number;
  #isTitled: boolean;
  #running: { readonly controller: AbortController; over: AbortSignal; readonly done: Promise<unknown> } | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: SessionOptions) {
    const { world } = options;
    this.id = options.id;
    this.cwd = options.cwd;
    this.#world = world;
    this.#options = options;
    this.#date = new Date(world.now()).toISOString().slice(0, 10);
    this.#scope = new Scope(world.log);
    this.#turnCount = options.history?.restored.turnCount ?? 0;
    this.#isTitled = options.isTitled ?? this.#turnCount > 0;
    this.#journal = openJournal(options, (level, text) => this.#audience.notice(level, text));
    this.#plan = new SessionPlan(this.#journal, this.#audience);
    this.#settings = this.#makeSettings(options);
    this.#tools = this.#makeTools(options);
    this.#tools.setDefaultInclude(this.#settings.include);
    this.#expansion = new PromptExpansion({ world, tools: this.#tools, audience: this.#audience });
    this.#conversation = new Conversation({
      world,
      settings: this.#settings,
      journal: this.#journal,
      tools: this.#tools,
      audience: this.#audience,
      cacheKey: options.id,
      pinned: () => this.#plan.pinned,
      ...(options.history ? { restored: options.history.restored } : {}),
    });
    this.#servers = new SessionServers({
      ...options,
      session: options.id,
      ports: () => this.#ports,
      sampling: samplingPeer({
        world,
        model: () => this.#settings.model,
        ports: () => this.#ports,
        onUsed: (_server, usage) => this.#conversation.alsoSpent(usage),
      }),
      onStatus: (status) => this.#onServerStatus(status),
      onRefused: (server) => this.#logins.refused(server),
      onNotice: (level, text) => this.#audience.notice(level, text),
    });
    for (const notice of options.notices ?? []) this.#audience.notice("warning", notice);
    this.#logins = new SessionLogins({
      world,
      servers: this.#servers,
      ports: () => this.#ports,
      onNotice: (level, text) => this.#audience.notice(level, text),
    });
    const hooks = {
      give: (given: GivenServers) => this.setServers(given),
      onConnected: (open: readonly OpenServer[]) => {
        for (const one of [this.#expansion, this.#conversation.tasks]) one.follow(open);
      },
      sandbox: () => ({ least: this.#settings.sandbox, directories: options.additionalDirectories ?? [] }),
    };
    const set = { servers: this.#servers, tools: this.#tools, isConfigured: options.config !== undefined, ...hooks };
    this.#serverSet = new ServerSet(set, options);
    if (options.config) this.#configuration = this.#follow(options.config, options);
    else this.#serverSet.connect();
  }

  /** Where every server stands now. */
  get servers(): readonly ServerStatus[] {
    return [...this.#servers.statuses, ...this.#serverSet.switches.statuses];
  }

  /** What the person may change about the session, and what each could be changed to. */
  get settings(): SettingsView {
    return this.#settings.view;
  }

  /** Holds from the next call, or the next model call, on. Throws a TenonError for what is not to be had. */
  set(name: SettingName, value: string): void {
    if (this.#closing) throw new TenonError("session.closed", `session ${this.id} is closed`);
    this.#settings.set(name, value);
  }

  /** Of the whole session. */
  get usage(): ModelUsage {
    return this.#conversation.usage;
  }

  /** A person gave it another title. */
  retitled(title: string): void {
    this.#isTitled = true;
    this.#audience.tell({ kind: "title", title });
  }

  /** The slash commands there are now, prompts of servers included. */
  get commands(): readonly CommandInfo[] {
    return this.#expansion.commands;
  }

  /** The session's tools: what is offered, searching, adding, and why one is or is not there. */
  get tools(): ToolControls {
    return this.#tools;
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

  get isAttached(): boolean {
    return this.#ports !== undefined;
  }

  /** How many turns have begun. */
  get turnCount(): number {
    return this.#turnCount;
  }

  /**
   * First how everything stands now and what was noticed so far, then everything a client may show, in order. A reader
   * that stops reading holds the session up once its backlog is full, so leave the loop (or close the session) when done.
   */
  events(): AsyncIterableIterator<SessionEvent> {
    const known = this.servers.filter(({ state }) => state !== "connecting");
    return this.#audience.join([
      { kind: "settings", view: this.settings },
      { kind: "commands", commands: this.commands },
      ...known.map((status): SessionEvent => ({ kind: "server", status })),
    ]);
  }

  /** Runs one turn. Rejects with a TenonError when the session is busy or closed, or when the model fails. */
  async prompt(content: string | readonly ContentBlock[], signal?: AbortSignal): Promise<PromptResult> {
    if (this.#closing) throw new TenonError("session.closed", `session ${this.id} is closed`);
    if (this.#running) throw new TenonError("session.busy", `session ${this.id} is already running a turn`);
    const controller = new AbortController();
    const over = signal ? AbortSignal.any([controller.signal, signal]) : controller.signal;
    const blocks: readonly ContentBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const facts = { session: this.id, model: this.#settings.model.id, turn: this.#turnCount + 1 };
    const done = inTurnSpan(this.#world, facts, () => this.#runTurn(blocks, over));
    this.#running = { controller, over, done };
    try {
      return await done;
    } finally {
      this.#running = undefined;
    }
  }

  /**
   * Replaces the servers the client or the embedder gave, also while a turn runs: tools of new ones join at the next model
   * call, calls at those that go end with an unknown outcome. Resolves once it is in force; they connect in the background.
   */
  async setServers(given: GivenServers): Promise<void> {
    if (this.#closing) throw new TenonError("session.closed", `session ${this.id} is closed`);
    this.#serverSet.give(given);
    await this.#configuration?.setClientServers(given.servers);
    if (!this.#closing) this.#serverSet.connect();
  }

  /** Stops the running turn, whose prompt resolves with `cancelled`; without one, the calls of before that still run. */
  cancel(): void {
    if (!this.#running) this.#conversation.tasks.cancel();
    this.#running?.controller.abort(new DOMException("cancelled by the person", "AbortError"));
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
    const running = this.#running;
    const reason = new TenonError("session.closed", "the session is closing");
    const left = this.#conversation.leave(reason, running?.over.aborted);
    running?.controller.abort(reason);
    const configured = this.#configuration?.close();
    const ended = this.#servers.close(grace);
    await running?.done.catch(() => undefined); // whoever prompted hears of it
    await Promise.all([ended, configured, this.#logins[Symbol.asyncDispose](), left]);
    await this.#scope.close();
    await this.#expansion[Symbol.asyncDispose]();
    await this.#tools[Symbol.asyncDispose]();
    this.#journal.close();
    this.#audience.close();
    await this.#options.onClosed?.();
  }

  async #runTurn(content: readonly ContentBlock[], signal: AbortSignal): Promise<TurnEnd> {
    const number = ++this.#turnCount;
    const invocation = commandOf(plainText(content));
    this.#journal.append(...(number === 1 ? [{ kind: "title", title: titleOf(content) } as const] : []), {
      kind: "prompt",
      turn: number,
      content,
      ...(invocation ? { isCommand: true } : {}),
    });
    await this.#audience.publish({ kind: "user", content });
    if (number === 1 && !this.#isTitled) await this.#audience.publish({ kind: "title", title: titleOf(content) });
    try {
      const end = invocation
        ? await this.#runCommand(invocation, number, signal)
        : await this.#answer(number, content, signal);
      this.#journal.append({ kind: "end", turn: number, stopReason: end.stopReason });
      await this.#audience.publish({ kind: "turn_ended", turn: number, stopReason: end.stopReason });
      return end;
    } catch (thrown) {
      const error = toTenonError(thrown);
      this.#journal.append({ kind: "error", turn: number, code: error.code, message: error.message });
      await this.#audience.publish({ kind: "turn_ended", turn: number, error });
      throw error;
    } finally {
      this.#configuration?.turnEnds();
      this.#journal.sync();
    }
  }

  async #answer(number: number, typed: readonly ContentBlock[], signal: AbortSignal): Promise<TurnEnd> {
    await this.#settle(number, signal);
    const expanded = await this.#expansion.expand(typed, signal);
    if (expanded.kind === "said") return await this.#say(expanded.text, signal);
    const { content } = expanded;
    await this.#tools.startPrompt(plainText(content), this.#ports, signal);
    // Fixed with the first prompt, so that providers can cache it.
    this.#system ??= await this.#systemPrompt();
    return await this.#conversation.answer(content, { number, system: this.#system }, signal);
  }

  async #say(text: string, signal: AbortSignal): Promise<TurnEnd> {
    if (text !== "") await this.#conversation.say(text);
    return { stopReason: signal.aborted ? "cancelled" : "end_turn", usage: NO_USAGE };
  }

  /** Answered by Tenon: the model hears nothing of it. */
  async #runCommand({ command, words }: Invocation, number: number, signal: AbortSignal): Promise<TurnEnd> {
    if (this.#isFirstHere(number)) {
      await this.#configuration?.opened;
      await this.#servers.settled(signal);
    }
    const compact = () => this.#conversation.compact({ number, system: this.#system ?? "" }, signal);
    const text = await command.run(words, {
      tools: this.#tools,
      servers: () => this.servers,
      settled: () => this.#servers.settled(signal),
      mcp: this.#serverSet.switches,
      logins: this.#logins,
      show: async (words) => await this.#audience.publish({ kind: "turn", event: { kind: "text", text: words } }),
      settings: this.#settings,
      commands: this.commands,
      usage: this.#conversation.usage,
      compact,
      signal,
    });
    return await this.#say(text, signal);
  }

  /** The first turn since the session was opened, which may have had others before. */
  #isFirstHere(turn: number): boolean {
    return turn === (this.#options.history?.restored.turnCount ?? 0) + 1;
  }

  /** The first turn waits, within a bound, for the configuration and for servers still connecting; every turn may ask. */
  async #settle(number: number, signal: AbortSignal): Promise<void> {
    if (this.#isFirstHere(number)) await this.#configuration?.opened;
    await this.#configuration?.askForTrust(this.#ports, signal);
    this.#configuration?.turnStarts();
    if (this.#system === undefined) await this.#servers.settled(signal);
    await this.#logins.ask(signal);
  }

  #systemPrompt(): Promise<string> {
    const given = givenPrompts(this.#promptValues, this.#options.systemPrompt);
    return openingPrompt({ ...this.#options, date: this.#date, serverIndex: this.#tools.serverIndex, given });
  }

  #follow(config: SessionConfig, options: SessionOptions): SessionConfiguration {
    return new SessionConfiguration({
      world: options.world,
      cwd: options.cwd,
      clientServers: options.servers,
      ...config,
      onApplied: (applied) => this.#apply(applied),
      onNotice: (level, text) => this.#audience.notice(level, text),
    });
  }

  #apply(applied: AppliedConfig): void {
    const { config } = applied;
    this.#world.trace?.hide(readyServers(config).flatMap(({ settings }) => settings.secrets));
    const { permissionMode, mayBypass, rules, leastSandbox } = config;
    this.#settings.configure({ mode: permissionMode?.value ?? "ask", mayBypass, rules, leastSandbox });
    this.#allowHosts = config.allowHosts;
    this.#promptValues = config.systemPrompt;
    this.#tools.configure(config, this.#scope);
    this.#serverSet.configure(applied);
  }

  #makeTools(options: SessionOptions): SessionTools {
    return new SessionTools({
      ...options,
      places: toolPlaces(options),
      policy: () => this.#settings.policy,
      attached: () => this.#ports,
      allowHosts: () => this.#allowHosts,
      onPlan: (entries) => this.#plan.set(entries),
      onNotice: (level, text) => this.#audience.notice(level, text),
    });
  }

  #makeSettings(options: SessionOptions): SessionSettings {
    return startSettings(options, {
      onChosen: (name, value) => {
        this.#journal.append({ kind: "setting", name, value });
        if (name === "include") this.#tools.setDefaultInclude(this.#settings.include);
        if (name === "sandbox") this.#audience.notice("info", this.#serverSet.sandboxChosen(value));
      },
      onChange: () => this.#audience.tell({ kind: "settings", view: this.settings }),
    });
  }

  #onServerStatus(status: ServerStatus): void {
    if (status.state === "failed") {
      this.#world.log.warn("server.failed", { session: this.id, server: status.name, error: status.error });
    }
    this.#logins.heard(status);
    this.#audience.tell({ kind: "server", status });
  }
}
