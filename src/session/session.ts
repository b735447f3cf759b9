// One session: its parts, each constructed with what it needs, and all that its client and its host may do with it.
import { Cell } from "../base/async/cell.js";
import { Scope } from "../base/async/scope.js";
import { messageOf, TenonError, toTenonError } from "../base/errors.js";
import type { EndGrace } from "../base/io/process.js";
import { defined } from "../base/json/defined.js";
import { LIMITS } from "../base/limits.js";
import type { ContentBlock } from "../base/text/content.js";
import { type EffectiveConfig, readyServers } from "../config/index.js";
import type { ModelUsage } from "../models/index.js";
import { Answering } from "./answering.js";
import { type Attachment, type JoinRequest, LOCAL, SessionClients } from "./clients/clients.js";
import type { Questions } from "./clients/questions.js";
import { SessionConfiguration } from "./configuration.js";
import type { GoingOn } from "./conversation/continuation.js";
import { type CalledTool, Conversation, type PersonsCall } from "./conversation/conversation.js";
import { PromptExpansion } from "./conversation/expansion.js";
import { observedModel, type PromptAbout, SessionTurns } from "./conversation/turns.js";
import {
  type CommandInfo,
  EventStream,
  type NoticeLevel,
  type PromptResult,
  type ServerChange,
  type ServerStatus,
  type SessionEvent,
  type SessionInfo,
  type SessionView,
} from "./events.js";
import { Journal } from "./journal/journal.js";
import { SessionLog } from "./log/session-log.js";
import { SessionLogins } from "./login/session-logins.js";
import type { GivenServers, SessionOptions } from "./options.js";
import type { ClientName, SessionPorts, SessionState } from "./ports.js";
import { configuredServers } from "./servers/entry.js";
import { GitWatch } from "./servers/git-watch.js";
import { samplingPeer } from "./servers/sampling.js";
import { SessionServers, type SessionServersOptions } from "./servers/servers.js";
import { SessionSettings, type SettingName, type SettingsView } from "./settings.js";
import type { OwnedSession } from "./store/session-store.js";
import { DirectTools } from "./tools/direct.js";
import type { SetToolsAnswer, SetToolsRequest } from "./tools/extra-tools.js";
import { callWhen, ProgramCalls } from "./tools/program-calls.js";
import { type ProgramCall, type ProgramResult, SessionTools, type ToolControls } from "./tools/tools.js";

export class Session implements AsyncDisposable {
  readonly id: string;
  readonly cwd: string;
  readonly #options: SessionOptions;
  readonly #scope: Scope;
  readonly #events = new EventStream();
  readonly #log: SessionLog;
  readonly #journal: Journal;
  readonly #settings: SessionSettings;
  readonly #tools: SessionTools;
  readonly #expansion: PromptExpansion;
  readonly #conversation: Conversation;
  /** From the first server on that may write the session's directories in a sandbox. */
  #gitWatch: GitWatch | undefined;
  readonly #servers: SessionServers;
  readonly #logins: SessionLogins;
  readonly #answering: Answering;
  #direct: DirectTools | undefined;
  readonly #turns: SessionTurns;
  /** Undefined for a session that has its client's servers only. */
  readonly #configuration: SessionConfiguration | undefined;
  #config: EffectiveConfig | undefined;
  readonly #clients: SessionClients;
  readonly #programCalls = new ProgramCalls();
  #state: SessionState = "idle";
  readonly #info = new Cell<SessionInfo | undefined>(undefined);
  /** Clients have joined: each change is told to all of them. */
  #isShared = false;
  /** A turn that another process began, until it goes on here. */
  #continuation: GoingOn | undefined;
  /** The running turn was left to the next owner of the session. */
  #isDrained = false;
  #closing: Promise<void> | undefined;

  constructor(options: SessionOptions) {
    const { world, id, cwd, history } = options;
    this.id = id;
    this.cwd = cwd;
    this.#options = options;
    this.#scope = new Scope(world.log);
    const events = this.#events;
    const ports = () => this.#clients.ports;
    const onNotice = events.notice;
    this.#log = new SessionLog({ ...options, ...history, events });
    this.#journal = this.#makeJournal(options);
    this.#clients = this.#makeClients(options);
    this.#settings = this.#makeSettings(options);
    this.#tools = this.#makeTools(options);
    this.#tools.catalog.setDefaultInclude(this.#settings.include);
    this.#expansion = new PromptExpansion({
      world,
      readText: (path, signal) => this.#tools.builtin.readText(path, signal),
      events,
      onOutside: (read) => {
        this.#tools.outside.add(read);
        this.#journal.append({ kind: "outside", read });
      },
    });
    this.#conversation = new Conversation({
      world,
      settings: this.#settings,
      journal: this.#journal,
      tools: this.#tools,
      events,
      cacheKey: id,
      ...defined({ restored: history?.restored }),
    });
    this.#servers = this.#makeServers(options);
    for (const notice of options.notices ?? []) onNotice("warning", notice);
    this.#logins = new SessionLogins({ world, servers: this.#servers, ports, onNotice });
    this.#answering = new Answering({
      session: options,
      events,
      journal: this.#journal,
      settings: this.#settings,
      tools: this.#tools,
      expansion: this.#expansion,
      conversation: this.#conversation,
      servers: this.#servers,
      logins: this.#logins,
      configuration: () => this.#configuration,
      config: () => this.#config,
      ports,
      reportGit: async (signal) => await this.#gitWatch?.report(signal),
    });
    this.#continuation = history?.continuation;
    const earlier = history?.restored.turnCount ?? 0;
    this.#turns = new SessionTurns({
      world,
      session: id,
      journal: this.#journal,
      events,
      isContinued: history?.isContinued ?? false,
      isTitled: options.isTitled ?? earlier > 0,
      maxQueued: options.maxQueuedPrompts ?? 0,
      isPlain: options.isPlain ?? false,
      ...defined({ restored: history?.restored }),
      model: () => this.#settings.model.id,
      hasClientEnvironment: options.hasClientEnvironment ?? false,
      run: (work, signal) => this.#answering.run(work, signal),
      onChange: (ended) => this.#changed(defined({ ended })),
      onEnd: () => this.#configuration?.turnEnds(),
    });
    if (options.config) {
      const onApplied = (config: EffectiveConfig) => this.#apply(config);
      const about = { world, cwd, clientServers: options.servers, ...options.config };
      this.#configuration = new SessionConfiguration({ ...about, onApplied, onNotice });
    } else this.#servers.connect();
    events.onTitle = () => this.#info.set(this.#infoNow()); // clients that joined have the event itself
    this.#changed();
  }

  get servers(): readonly ServerStatus[] {
    return this.#servers.statuses;
  }

  /** The settings a person may change, and the values each may have. */
  get settings(): SettingsView {
    return this.#settings.view;
  }

  /** In force from the next call, or the next model call, on. Throws a TenonError for a value that is not available. */
  set(name: SettingName, value: string): void {
    this.#mustBeOpen();
    this.#settings.set(name, value);
  }

  get usage(): ModelUsage {
    return this.#conversation.usage;
  }

  get title(): string | undefined {
    return this.#events.title;
  }

  retitled(title: string): void {
    this.#turns.titled();
    this.#events.emit({ kind: "title", title });
  }

  /** The slash commands there are now, prompts of servers included. */
  get commands(): readonly CommandInfo[] {
    return this.#expansion.commands;
  }

  /** The session's tools: what is offered, searching, adding, and why one is or is not there. */
  get tools(): ToolControls {
    return this.#tools.controls;
  }

  /** Its tools for a program that has a model of its own: the calls are no turns, and nothing of them is recorded. */
  get direct(): DirectTools {
    this.#direct ??= new DirectTools({ ...this.#options, tools: this.#tools, servers: this.#servers, session: this });
    return this.#direct;
  }

  /** Resolves once the configuration has been read; at once when there is none. */
  get configured(): Promise<void> {
    return this.#configuration?.opened ?? Promise.resolve();
  }

  /** As `/mcp restart` does, whether a turn runs or not. */
  async restartServer(name: string): Promise<ServerChange> {
    this.#mustBeOpen();
    return await this.#servers.restart(name);
  }

  /** Resolves with the page where a person logs in to a server, or with why there is none. The log-in goes on until they are back. */
  async loginPage(name: string): Promise<{ readonly url: string } | { readonly reason: string }> {
    this.#mustBeOpen();
    return await this.#logins.page(name);
  }

  /** One call in a turn of its own, with the policy and records of the model's calls. Rejects as `prompt` does. */
  async callTool({ name, argumentsJson }: PersonsCall, signal: AbortSignal, about: PromptAbout): Promise<CalledTool> {
    const { turn } = await this.prompt(`/tools call ${name} ${argumentsJson}`, signal, about);
    const called = turn === undefined ? undefined : this.#answering.takeCalled(turn);
    if (called) return called;
    throw new TenonError("cancelled", `the call of ${name} was taken back`);
  }

  /** One call beside any turn: under policy and limits, but no part of the conversation, and not recorded. */
  callForProgram<T>(call: ProgramCall, read: (result: ProgramResult) => T, given: AbortSignal | undefined): Promise<T> {
    this.#mustBeOpen();
    const open = this.#programCalls.begin(given);
    const run = () => this.#tools.callForProgram(call, open, { model: this.#settings.model, read });
    return this.#configuration ? callWhen(this.configured, open, { run, read }) : run();
  }

  async serversSettled(signal: AbortSignal, name?: string): Promise<void> {
    await this.configured;
    await this.#servers.started(signal, name);
  }

  /** Shown to the person, and replayed to clients that subscribe later. */
  notice(level: NoticeLevel, text: string): void {
    this.#events.notice(level, text);
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  get owned(): Pick<OwnedSession, "epoch" | "lost"> {
    return this.#options.owned;
  }

  /** From now on `ports` answers the session's questions, in the place of those attached before. Returns the way back. */
  attach(ports: SessionPorts): () => void {
    const attachment = this.#clients.attach(ports);
    return () => attachment.leave();
  }

  /** One of several clients. Throws `access.limited` when there are too many. */
  join(request: JoinRequest): Attachment {
    this.#mustBeOpen();
    this.#isShared = true;
    return this.#clients.join(request);
  }

  get isAttached(): boolean {
    return this.#clients.count > 0;
  }

  /** The open questions, and answers to them that come by another way than a client's ports. */
  get questions(): Pick<Questions, "open" | "answer"> {
    return this.#clients.questions;
  }

  get state(): SessionState {
    return this.#state;
  }

  onInfo(listener: (info: SessionInfo) => void): () => void {
    return this.#info.subscribe((info) => {
      if (info) listener(info);
    });
  }

  /** All that a client needs to show the session, beside its conversation. */
  view(): SessionView {
    const { id, cwd, state, settings, commands, servers, usage, title } = this;
    const { running, queued } = this.#turns;
    const about = { id, cwd, state, settings, commands, servers, usage, queued, ...defined({ running, title }) };
    return { ...about, seq: this.#journal.seq, clients: this.#clients.list, questions: this.questions.open };
  }

  /** For clients that follow the session from any record on; `events` is for readers in this process. */
  get log(): Pick<SessionLog, "lastSeq" | "follow"> {
    return this.#log;
  }

  get turnCount(): number {
    return this.#turns.count;
  }

  /**
   * First the state of everything now and the notices so far, then every event a client may show, in order. A reader that
   * stops reading holds the session up once its backlog is full, so leave the loop (or close the session) when done.
   */
  events(): AsyncIterableIterator<SessionEvent> {
    return this.#events.subscribe(this.current);
  }

  /** The state of everything now and the notices so far. */
  get current(): readonly SessionEvent[] {
    return this.#events.current(this);
  }

  /**
   * Runs one turn, after prompts that wait already. A prompt whose id is known is joined, or answered from its record. Rejects
   * with a TenonError when the session is busy or closed, when the id was used for other content, or when the model fails.
   */
  async prompt(
    content: string | readonly ContentBlock[],
    signal?: AbortSignal,
    about?: PromptAbout,
  ): Promise<PromptResult> {
    this.#mustBeOpen();
    if (this.#options.settled) {
      await this.#options.settled;
      this.#mustBeOpen();
    }
    return await this.#unlessDrained(this.#turns.run(content, about, signal));
  }

  /** What another process began and `continueOpenTurn` goes on with; with the environment it was begun in. */
  get unfinished(): Pick<GoingOn, "environment"> | undefined {
    return this.#continuation ?? this.#turns.stalled;
  }

  /**
   * After a load with `openTurns: "continue"`: goes on with the turn that was under way, and then with prompts that wait.
   * Rejects as `prompt` does; resolves with undefined when no turn was open, or it could only be ended. `notice`: for people.
   */
  async continueOpenTurn(notice?: string): Promise<PromptResult | undefined> {
    this.#mustBeOpen();
    const plan = this.#continuation;
    this.#continuation = undefined;
    if (plan) {
      const goOn = (_: unknown, signal: AbortSignal) => this.#answering.goOn(plan, signal, notice);
      return await this.#unlessDrained(this.#turns.resume(goOn));
    }
    this.#journal.append(); // the end of a turn that cannot go on
    await this.#journal.durable();
    this.#turns.startQueued();
    return undefined;
  }

  /**
   * Closes the session, but leaves its running turn to the next owner: no further call is sent, those under way get `graceMs`, and
   * the turn is not ended. Its prompt rejects with `session.closed`. With `onReleased` the next owner may have the session before
   * its servers have ended here, and that is called then.
   */
  async drain(graceMs: number, onReleased?: () => void): Promise<void> {
    const isLeft = () => this.#turns.isCancelled === false && !this.#answering.isCommand && !this.#closing;
    this.#turns.hold();
    if (isLeft()) {
      using patience = this.#options.world.deadline(graceMs);
      await this.#conversation.quiet(patience.signal);
    }
    this.#isDrained = isLeft();
    if (this.#isDrained) this.#journal.append({ kind: "drained", turn: this.turnCount });
    if (this.#isDrained || (onReleased && !this.#turns.running && !this.#closing)) {
      this.#journal.seal();
      this.#events.close();
      await this.#journal.durable()?.catch(() => undefined); // another has it: nothing is left to be released
      if (onReleased) await this.#options.owned.release();
      onReleased?.();
    }
    await this.close();
  }

  /** What a prompt comes to, unless its turn was left to another process. */
  async #unlessDrained<T>(ended: Promise<T>): Promise<T> {
    const end = await ended.catch((error: unknown) => {
      if (!this.#isDrained) throw error;
    });
    if (end !== undefined && !this.#isDrained) return end;
    throw new TenonError("session.closed", `session ${this.id} is handed over: its turn goes on in the next process`);
  }

  /**
   * Replaces the servers the client or the embedder gave, also while a turn runs: tools of new ones join at the next model
   * call, calls at removed ones end with an unknown outcome. Resolves once it is in force; they connect in the background.
   */
  async setServers(given: GivenServers): Promise<void> {
    this.#mustBeOpen();
    await this.#servers.give(given);
  }

  /** Tools that a client runs itself: they join at the next model call, and end with it. Throws `access.limited` for too many. */
  setTools(request: SetToolsRequest, by: ClientName = LOCAL): SetToolsAnswer {
    this.#mustBeOpen();
    return this.#tools.setExtra(by, request);
  }

  /** The client has left by its own word: nobody waits for its tools. */
  dropTools({ client }: ClientName): void {
    this.#tools.extra?.left(client);
  }

  /**
   * Stops the running turn, whose prompt resolves with `cancelled`, and takes back prompts that wait; without either, stops
   * calls of earlier turns that still run. By a client: its own prompts that wait, or if there are none, the running turn.
   */
  cancel(by?: ClientName): void {
    if (!this.#turns.cancel(by)) this.#conversation.tasks.cancel();
    // A turn that nobody goes on with comes to its end all the same.
    else if (this.#continuation && this.#turns.isCancelled === true) {
      this.continueOpenTurn().catch(() => {}); // its record says how it ended
    }
  }

  /** Cancels the turn but for tasks that go on at their server, ends every server's process tree, closes the journal. */
  close(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    this.#closing ??= this.#close(grace);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(
    grace: EndGrace,
    reason: TenonError = new TenonError("session.closed", "the session is closing"),
  ): Promise<void> {
    const called = this.#programCalls.end(reason, this.#options.world);
    const left = this.#conversation.leave(reason, this.#turns.isCancelled);
    const turnEnded = this.#turns.end(reason);
    const configured = this.#configuration?.close();
    const ended = this.#servers.close(grace);
    await turnEnded;
    this.#clients.questions.close(reason);
    await Promise.all([ended, configured, this.#logins[Symbol.asyncDispose](), left, called]);
    await this.#scope.close();
    await this.#expansion[Symbol.asyncDispose]();
    await this.#tools[Symbol.asyncDispose]();
    await this.#journal.close();
    this.#log.close();
    this.#events.close();
    await this.#options.onClosed?.();
  }

  #mustBeOpen(): void {
    if (this.#closing) throw new TenonError("session.closed", `session ${this.id} is closed`);
  }

  #makeJournal({ world, owned, history }: SessionOptions): Journal {
    owned.onFailing((reason) => {
      const text = `The journal of this session cannot be written (${reason}): prompts fail until it can`;
      this.#events.notice("warning", text);
    });
    owned.lost.addEventListener("abort", () => this.#supersede(toTenonError(owned.lost.reason)), { once: true });
    return new Journal({ world, sink: owned, listener: this.#log, ...defined({ tail: history?.tail }) });
  }

  /** Another owner has the session: nothing is recorded here any more, and nothing goes on. */
  #supersede(reason: TenonError): void {
    this.#journal.seal(reason);
    if (this.#closing) return;
    this.#events.notice("error", `This session ends here: ${reason.message}`);
    const closing = this.#close(LIMITS.closeGrace, reason);
    closing.catch((error: unknown) => {
      this.#options.world.log.error("session.close_failed", { session: this.id, error: messageOf(error) });
    });
    this.#closing = closing;
  }

  #makeClients({ world, unattended }: SessionOptions): SessionClients {
    return new SessionClients({
      world,
      mayWait: unattended === "wait",
      record: (entry) => {
        this.#journal.append(entry);
        return this.#journal.durable();
      },
      turn: () => this.#turns.running,
      onQuestion: (question) => this.#changed({ question }),
      onClients: (joined) => {
        this.#tools.extra?.follow(this.#clients.list);
        if (joined !== undefined) this.#servers.clientReturned(joined);
        this.#changed();
      },
    });
  }

  /** Who is there, what runs, or a question has changed. */
  #changed(what: Pick<SessionInfo, "question" | "ended"> = {}): void {
    const info = { ...this.#infoNow(), ...what };
    this.#info.set(info);
    if (this.#isShared) this.#events.emit({ kind: "session_info", ...info });
  }

  #infoNow(): SessionInfo {
    const { running, queued } = this.#turns;
    const isWaiting = this.#clients.questions.count > 0 || this.#continuation !== undefined;
    this.#state = isWaiting ? "waiting" : running ? "running" : "idle";
    const { promptId, by } = running ?? {};
    const about = { state: this.state, queued: queued.length, clients: this.#clients.list };
    return { ...about, ...defined({ promptId, by }) };
  }

  #makeSettings({ world, id, model, models, history, rules }: SessionOptions): SessionSettings {
    return new SessionSettings({
      model,
      ...defined({ available: models, restored: history?.restored.settings, rules }),
      hasSandbox: world.platform === "linux",
      observe: (one) => observedModel(one, world, id),
      onChosen: (name, value) => {
        this.#journal.append({ kind: "setting", name, value });
        if (name === "include") this.#tools.catalog.setDefaultInclude(this.#settings.include);
        if (name === "sandbox") this.#events.notice("info", this.#servers.sandboxChosen(value));
      },
      onChange: () => this.#events.emit({ kind: "settings", view: this.settings }),
    });
  }

  #makeTools(options: SessionOptions): SessionTools {
    return new SessionTools({
      ...options,
      policy: () => this.#settings.policy,
      ports: () => this.#clients.ports,
      allowHosts: () => this.#config?.allowHosts ?? [],
      commandVariables: () => this.#config?.commandVariables ?? [],
      caller: (client) => this.#clients.caller(client),
      onPlan: (entries) => this.#conversation.setPlan(entries),
      onNotice: this.#events.notice,
    });
  }

  #makeServers(options: SessionOptions): SessionServers {
    const { world, id, cwd, config, additionalDirectories: directories = [] } = options;
    const ports = () => this.#clients.ports;
    const onNotice = this.#events.notice;
    const all: SessionServersOptions = {
      ...options,
      session: id,
      isConfigured: config !== undefined,
      ports,
      sampling: samplingPeer({
        world,
        model: () => this.#settings.model,
        ports,
        onUsed: (usage) => this.#conversation.alsoSpent(usage),
      }),
      sandbox: () => ({ least: this.#settings.sandbox, directories }),
      onGiven: (servers) => this.#configuration?.setClientServers(servers),
      onConnected: (open, absent) => {
        this.#tools.follow(open, absent);
        this.#expansion.follow(open);
        this.#conversation.tasks.follow(open);
        this.#direct?.follow(open);
      },
      onStatus: (status) => this.#onServerStatus(status),
      onSandboxed: () => {
        this.#gitWatch ??= new GitWatch(world, [cwd, ...directories], onNotice);
      },
      onRefused: (server) => {
        this.#logins.refused(server);
        this.#refetchSecrets(server);
      },
      onNotice,
    };
    return new SessionServers(all, options);
  }

  #apply(config: EffectiveConfig): void {
    this.#options.world.trace?.hide(readyServers(config).flatMap(({ settings }) => settings.secrets));
    const { permissionMode, mayBypass, afterUntrusted, rules, leastSandbox } = config;
    this.#config = config;
    this.#settings.configure({ mode: permissionMode?.value ?? "ask", mayBypass, afterUntrusted, rules, leastSandbox });
    this.#tools.configure(config, this.#scope);
    this.#servers.configure(configuredServers(config));
  }

  #onServerStatus(status: ServerStatus): void {
    const { name, state, error, needsLogin } = status;
    if (state === "failed") this.#options.world.log.warn("server.failed", { session: this.id, server: name, error });
    this.#logins.onStatus(status);
    if (needsLogin === true) this.#refetchSecrets(name);
    this.#events.emit({ kind: "server", status });
  }

  #refetchSecrets(server: string): void {
    const configuration = this.#configuration;
    if (!configuration || this.#scope.isClosed) return;
    this.#scope.run("fetch refused secrets again", () => configuration.refused(server));
  }
}
