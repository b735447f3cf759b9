// The servers of one wrapped session: the editor's, the user's and the project's, run by Tenon and offered to the agent.
import type { ClientServers } from "../acp/index.js";
import { Scope } from "../base/async/scope.js";
import { BRIDGE_TOKEN } from "../base/bridge.js";
import type { EndGrace } from "../base/io/process.js";
import type { JsonObject } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import { VERSION } from "../base/version.js";
import type { EffectiveConfig } from "../config/index.js";
import {
  configuredServers,
  loginCommand,
  type NoticeLevel,
  type OpenServer,
  type ServerStatus,
  type SessionConfig,
  SessionConfiguration,
  SessionLogins,
  SessionServers,
  type SessionServersOptions,
} from "../session/index.js";
import { slug } from "../tools/index.js";
import type { Endpoint } from "./endpoint.js";
import { WRAP_LIMITS } from "./limits.js";
import { OfferedServer } from "./offered-server.js";

/** What all sessions of a wrapper have in common. */
export interface SharedServerOptions extends Pick<SessionServersOptions, "cache" | "grants" | "serverOutput"> {
  readonly config: SessionConfig;
}

export interface WrappedServersOptions extends SharedServerOptions, Pick<SessionServersOptions, "ports"> {
  readonly world: World;
  readonly cwd: string;
  readonly additionalDirectories: readonly string[];
  readonly given: ClientServers;
  readonly endpoint: Endpoint;
  readonly onStatus: (status: ServerStatus) => void;
  readonly onNotice: (level: NoticeLevel, text: string) => void;
}

/** As the agent is told to reach one. */
export interface BridgeEntry {
  readonly name: string;
  readonly token: string;
}

export class WrappedServers {
  readonly #options: WrappedServersOptions;
  readonly #scope: Scope;
  readonly #servers: SessionServers;
  readonly #configuration: SessionConfiguration;
  readonly #logins: SessionLogins;
  /** By the name of the real one. */
  readonly #offered = new Map<string, { readonly server: OfferedServer; readonly token: string }>();
  #open: readonly OpenServer[] = [];
  #config: EffectiveConfig | undefined;
  /** The agent has been told of them. */
  #isAnnounced = false;
  #isClosed = false;

  constructor(options: WrappedServersOptions) {
    const { world, cwd, given, config, onNotice } = options;
    this.#options = options;
    this.#scope = new Scope(world.log);
    const ports = () => options.ports?.();
    this.#servers = new SessionServers(
      {
        ...options,
        client: { name: "tenon", version: VERSION },
        isConfigured: true,
        ports,
        onStatus: (status) => this.#onStatus(status),
        onRefused: (server) => {
          this.#logins.refused(server);
          this.#refetch(server);
        },
        onConnected: (open) => {
          this.#open = open;
          for (const [name, { server }] of this.#offered) server.follow(this.#find(name));
        },
      },
      given,
    );
    for (const notice of given.notices) onNotice("warning", notice);
    const tryAgain = () => "The next prompt asks again.";
    this.#logins = new SessionLogins({ world, servers: this.#servers, ports, onNotice, tryAgain });
    this.#configuration = new SessionConfiguration({
      ...{ world, cwd, clientServers: given.servers, ...config },
      onApplied: (applied) => this.#apply(applied),
      onNotice,
    });
  }

  /** Those the agent shall know, with a way to each. Also servers that are not trusted yet: none can be added later. */
  async entries(): Promise<readonly BridgeEntry[]> {
    await this.#configuration.opened;
    this.#isAnnounced = true;
    const servers = this.#config?.servers ?? [];
    const names = servers.flatMap((server) => {
      const mayCome = server.status === "ready" || server.status === "untrusted";
      return mayCome || (server.status === "disabled" && !server.isIntended) ? [server.name] : [];
    });
    const taken = new Set<string>();
    return [...new Set(names)].map((name) => {
      const shown = shownName(name, taken);
      taken.add(shown);
      const server = new OfferedServer(shown, this.#options.world);
      const token = this.#options.endpoint.add((send) => server.accept(send));
      this.#offered.set(name, { server, token });
      server.follow(this.#find(name));
      return { name: shown, token };
    });
  }

  get statuses(): readonly ServerStatus[] {
    return this.#servers.statuses.map((status) => this.#withHint(status));
  }

  /**
   * Before a prompt goes to the agent: what has to be asked is asked, servers that start are waited for within bounds, and so is
   * the agent that has not asked for their tools yet. Throws the cause where a required server is missing.
   */
  async beforeTurn(signal: AbortSignal): Promise<void> {
    const configuration = this.#configuration;
    await configuration.opened;
    await configuration.retry();
    await configuration.askForTrust(this.#options.ports?.(), signal);
    configuration.turnStarts();
    await this.#servers.settled(signal);
    await this.#logins.ask(signal);
    if (signal.aborted) return;
    this.#servers.assertRequired();
    await Promise.all([...this.#offered.values()].map(({ server }) => server.listed(signal)));
  }

  turnEnded(): void {
    this.#configuration.turnEnds();
  }

  /** Nothing of its servers is left, and no bridge. */
  async close(grace: EndGrace): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const { server, token } of this.#offered.values()) {
      this.#options.endpoint.remove(token);
      server.close();
    }
    await Promise.all([this.#servers.close(grace), this.#configuration.close(), this.#logins[Symbol.asyncDispose]()]);
    await this.#scope.close();
  }

  #find(name: string): OpenServer | undefined {
    return this.#open.find(({ connection }) => connection.spec.name === name);
  }

  /** A server that the agent was not told of is not started: it could not be used. */
  #apply(config: EffectiveConfig): void {
    const configured = configuredServers(config);
    const mayBeUsed = (name: string) => !this.#isAnnounced || this.#offered.has(name);
    const late = configured.wanted.filter(({ spec }) => !mayBeUsed(spec.name));
    this.#config = config;
    this.#servers.configure({ ...configured, wanted: configured.wanted.filter(({ spec }) => mayBeUsed(spec.name)) });
    for (const { spec } of late) {
      this.#options.onNotice(
        "info",
        `the agent hears of the server ${JSON.stringify(spec.name)} with the next session`,
      );
    }
  }

  #onStatus(status: ServerStatus): void {
    if (this.#isClosed) return;
    this.#logins.onStatus(status);
    if (status.needsLogin === true) this.#refetch(status.name);
    this.#options.onStatus(this.#withHint(status));
  }

  /** A wrapped agent has no `/mcp login`. */
  #withHint(status: ServerStatus): ServerStatus {
    const open = status.needsLogin === true ? this.#find(status.name) : undefined;
    if (!open) return status;
    const command = loginCommand(open.connection.spec, status.origin);
    return { ...status, hint: `It needs a log-in: run ${command} in a terminal, then send the next prompt.` };
  }

  #refetch(server: string): void {
    if (this.#scope.isClosed) return;
    this.#scope.run("fetch refused secrets again", () => this.#configuration.refused(server));
  }
}

/** As it is, unless agents and providers could not take it. */
function shownName(name: string, taken: ReadonlySet<string>): string {
  const most = WRAP_LIMITS.names.serverChars;
  const isPlain = /^[A-Za-z0-9_-]+$/u.test(name) && name.length <= most;
  const readable = isPlain ? name : slug(name).slice(0, most) || "server";
  for (let count = 1; ; count += 1) {
    const shown = count === 1 ? readable : `${readable.slice(0, most - 3)}_${count}`;
    if (!taken.has(shown)) return shown;
  }
}

/** An entry of `mcpServers` that starts a bridge. */
export function bridgeEntry(
  { name, token }: BridgeEntry,
  { command, args }: { readonly command: string; readonly args: readonly string[] },
): JsonObject {
  return { name, command, args: [...args], env: [{ name: BRIDGE_TOKEN, value: token }] };
}
