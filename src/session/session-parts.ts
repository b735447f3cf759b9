// What a session is made of: each part opened and joined with the others, so that what happens in one is heard of where it counts.

import { Scope } from "../base/async/scope.js";
import { defined } from "../base/json/defined.js";
import type { World } from "../base/ports/world.js";
import { type EffectiveConfig, readyServers } from "../config/index.js";
import { Audience } from "./audience.js";
import { type AppliedConfig, SessionConfiguration } from "./configuration.js";
import { Conversation } from "./conversation.js";
import type { NoticeLevel, ServerStatus } from "./event.js";
import { PromptExpansion } from "./expansion.js";
import { GitWatch } from "./git-watch.js";
import type { Journal } from "./journal.js";
import { openJournal } from "./journal-start.js";
import { SessionLogins } from "./login/session-logins.js";
import type { SessionConfig, SessionOptions } from "./options.js";
import { SessionPlan } from "./plan.js";
import type { SessionPorts } from "./ports.js";
import { samplingPeer } from "./sampling.js";
import type { OpenServer } from "./server-entry.js";
import { type GivenServers, ServerSet } from "./server-set.js";
import { SessionServers } from "./servers.js";
import { SessionTools, toolPlaces } from "./session-tools.js";
import type { SessionSettings } from "./settings.js";
import { startSettings } from "./settings-start.js";

export class SessionParts {
  readonly options: SessionOptions;
  readonly scope: Scope;
  readonly audience: Audience = new Audience();
  readonly journal: Journal;
  readonly settings: SessionSettings;
  readonly tools: SessionTools;
  readonly expansion: PromptExpansion;
  readonly conversation: Conversation;
  readonly servers: SessionServers;
  readonly gitWatch: GitWatch;
  readonly logins: SessionLogins;
  readonly serverSet: ServerSet;
  /** Undefined for a session that has its client's servers only. */
  readonly configuration: SessionConfiguration | undefined;
  /** Who answers the session's questions now. */
  ports: SessionPorts | undefined;
  readonly #world: World;
  readonly #plan: SessionPlan;
  #allowHosts: readonly string[] = [];
  #commandVariables: readonly string[] = [];
  #promptValues: EffectiveConfig["systemPrompt"] = {};

  /** `give` is for `/mcp add` and `/mcp remove`. */
  constructor(options: SessionOptions, give: (given: GivenServers) => Promise<void>) {
    const { world } = options;
    this.options = options;
    this.#world = world;
    this.scope = new Scope(world.log);
    this.journal = openJournal(options, (level, text) => this.#notice(level, text));
    this.#plan = new SessionPlan(this.journal, this.audience);
    this.settings = this.#makeSettings(options);
    this.tools = this.#makeTools(options);
    this.tools.setDefaultInclude(this.settings.include);
    this.expansion = new PromptExpansion({
      world,
      tools: this.tools,
      audience: this.audience,
      onOutside: (read) => {
        this.tools.noteOutside(read);
        this.journal.append({ kind: "outside", read });
      },
    });
    this.conversation = this.#makeConversation(options);
    this.gitWatch = new GitWatch({
      world,
      directories: [options.cwd, ...(options.additionalDirectories ?? [])],
      onNotice: (level, text) => this.#notice(level, text),
    });
    this.servers = this.#makeServers(options);
    for (const notice of options.notices ?? []) this.#notice("warning", notice);
    this.logins = new SessionLogins({
      world,
      servers: this.servers,
      ports: () => this.ports,
      onNotice: (level, text) => this.#notice(level, text),
    });
    this.serverSet = this.#makeServerSet(options, give);
    if (options.config) this.configuration = this.#follow(options.config, options);
    else this.serverSet.connect();
  }

  /** Where every server stands now. */
  get statuses(): readonly ServerStatus[] {
    return [...this.servers.statuses, ...this.serverSet.switches.statuses];
  }

  /** What the configuration says the model is to be told. */
  get promptValues(): EffectiveConfig["systemPrompt"] {
    return this.#promptValues;
  }

  #makeSettings(options: SessionOptions): SessionSettings {
    return startSettings(options, {
      onChosen: (name, value) => {
        this.journal.append({ kind: "setting", name, value });
        if (name === "include") this.tools.setDefaultInclude(this.settings.include);
        if (name === "sandbox") this.#notice("info", this.serverSet.sandboxChosen(value));
      },
      onChange: () => this.audience.tell({ kind: "settings", view: this.settings.view }),
    });
  }

  #makeTools(options: SessionOptions): SessionTools {
    return new SessionTools({
      ...options,
      places: toolPlaces(options),
      outside: options.history?.restored.outside ?? [],
      policy: () => this.settings.policy,
      attached: () => this.ports,
      allowHosts: () => this.#allowHosts,
      commandVariables: () => this.#commandVariables,
      onPlan: (entries) => this.#plan.set(entries),
      onNotice: (level, text) => this.#notice(level, text),
    });
  }

  #makeConversation({ world, id, history }: SessionOptions): Conversation {
    return new Conversation({
      world,
      settings: this.settings,
      journal: this.journal,
      tools: this.tools,
      audience: this.audience,
      cacheKey: id,
      pinned: () => this.#plan.pinned,
      ...defined({ restored: history?.restored }),
    });
  }

  #makeServers(options: SessionOptions): SessionServers {
    return new SessionServers({
      ...options,
      session: options.id,
      ports: () => this.ports,
      sampling: samplingPeer({
        world: options.world,
        model: () => this.settings.model,
        ports: () => this.ports,
        onUsed: (_server, usage) => this.conversation.alsoSpent(usage),
      }),
      onStatus: (status) => this.#onServerStatus(status),
      onSandboxed: () => this.gitWatch.begin(),
      onRefused: (server) => {
        this.logins.refused(server);
        this.#refetchSecrets(server);
      },
      onNotice: (level, text) => this.#notice(level, text),
    });
  }

  #makeServerSet(options: SessionOptions, give: (given: GivenServers) => Promise<void>): ServerSet {
    const hooks = {
      give,
      onConnected: (open: readonly OpenServer[]) => {
        for (const one of [this.expansion, this.conversation.tasks]) one.follow(open);
      },
      sandbox: () => ({ least: this.settings.sandbox, directories: options.additionalDirectories ?? [] }),
    };
    const set = { servers: this.servers, tools: this.tools, isConfigured: options.config !== undefined, ...hooks };
    return new ServerSet(set, options);
  }

  #follow(config: SessionConfig, options: SessionOptions): SessionConfiguration {
    return new SessionConfiguration({
      world: options.world,
      cwd: options.cwd,
      clientServers: options.servers,
      ...config,
      onApplied: (applied) => this.#apply(applied),
      onNotice: (level, text) => this.#notice(level, text),
    });
  }

  #apply(applied: AppliedConfig): void {
    const { config } = applied;
    this.#world.trace?.hide(readyServers(config).flatMap(({ settings }) => settings.secrets));
    const { permissionMode, mayBypass, afterUntrusted, rules, leastSandbox } = config;
    const mode = permissionMode?.value ?? "ask";
    this.settings.configure({ mode, mayBypass, afterUntrusted, rules, leastSandbox });
    this.#allowHosts = config.allowHosts;
    this.#commandVariables = config.commandVariables ?? [];
    this.#promptValues = config.systemPrompt;
    this.tools.configure(config, this.scope);
    this.serverSet.configure(applied);
  }

  #onServerStatus(status: ServerStatus): void {
    if (status.state === "failed") {
      this.#world.log.warn("server.failed", { session: this.options.id, server: status.name, error: status.error });
    }
    this.logins.heard(status);
    if (status.needsLogin === true) this.#refetchSecrets(status.name);
    this.audience.tell({ kind: "server", status });
  }

  #refetchSecrets(server: string): void {
    const { configuration } = this;
    if (configuration && !this.scope.isClosed) {
      this.scope.run("fetch refused secrets again", () => configuration.refused(server));
    }
  }

  #notice(level: NoticeLevel, text: string): void {
    this.audience.notice(level, text);
  }
}
