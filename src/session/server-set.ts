// Which servers a session shall have: those of its client or embedder and those of its configuration, put in force together.
import type { ServerSpec } from "../mcp/index.js";
import type { ServerInclude } from "../tools/index.js";
import type { AppliedConfig } from "./configuration.js";
import { inSandbox, type SessionSandbox } from "./sandbox.js";
import type { OpenServer, RejectedServer, WantedServer } from "./server-entry.js";
import { ServerSwitches } from "./server-switches.js";
import type { SessionServers } from "./servers.js";
import type { SessionTools } from "./session-tools.js";

/** What a client or an embedder brings: always the whole set. */
export interface GivenServers {
  readonly servers: readonly ServerSpec[];
  /** Entries that could not be read: shown as failed servers, never dropped in silence. */
  readonly rejected?: readonly RejectedServer[];
  /** By server name, how its tools come before the model; `always` unless given. */
  readonly includes?: Readonly<Record<string, ServerInclude>>;
}

type Configured = Pick<AppliedConfig, "wanted" | "rejected" | "absent">;

export interface ServerSetOptions {
  readonly servers: SessionServers;
  readonly tools: SessionTools;
  /** With a configuration nothing is connected before it is known: it may say something about the same names. */
  readonly isConfigured: boolean;
  /** The least sandbox of the session, as it is now. */
  sandbox?(): SessionSandbox;
  /** For `/mcp add` and `/mcp remove`. */
  give(given: GivenServers): Promise<void>;
  /** Called whenever the servers may be others. */
  onConnected(open: readonly OpenServer[]): void;
}

export class ServerSet {
  readonly #options: ServerSetOptions;
  readonly switches: ServerSwitches;
  #given: GivenServers;
  #config: Configured | undefined;

  constructor(options: ServerSetOptions, given: GivenServers) {
    this.#options = options;
    this.#given = given;
    this.switches = new ServerSwitches({
      open: () => options.servers.open,
      reconnect: () => this.connect(),
      given: () => this.#given,
      give: (other) => options.give(other),
    });
  }

  /** In force with the next `connect`. */
  give(given: GivenServers): void {
    this.#given = given;
  }

  configure(config: Configured): void {
    this.#config = config;
    this.connect();
  }

  /** What is unchanged stays connected; calls that run at a server that goes end with it, as unknown. */
  connect(): void {
    const { servers, tools, isConfigured } = this.#options;
    const config = isConfigured ? this.#config : this.#plain();
    if (!config) return;
    const { wanted, rejected, absent } = config;
    servers.replace(
      this.switches.filter(wanted).map((server) => this.#asChosen(server)),
      [...rejected, ...(this.#given.rejected ?? [])],
    );
    tools.follow(servers.open, [...absent, ...this.switches.absent]);
    this.#options.onConnected(servers.open);
  }

  /** The person chose another least sandbox: servers it means something for are started anew. Says which. */
  sandboxChosen(mode: string): string {
    const before = new Set(this.#options.servers.open.map(({ connection }) => connection));
    this.connect();
    const anew = this.#options.servers.open.filter(({ connection }) => !before.has(connection));
    const names = anew.map(({ connection }) => `"${connection.spec.name}"`).join(", ");
    const least = mode === "off" ? "as each is configured" : `${mode} at least`;
    return `the sandbox of the session's servers is now ${least}; ${names === "" ? "none had to be started anew" : `started anew: ${names}`}`;
  }

  #plain(): Configured {
    const wanted = this.#given.servers.map((spec): WantedServer => ({ spec, origin: "client" }));
    return { wanted, rejected: [], absent: [] };
  }

  #asChosen(server: WantedServer): WantedServer {
    return this.#withInclude({ ...server, spec: inSandbox(server.spec, server.sandbox, this.#options.sandbox?.()) });
  }

  /** The client's word on its own servers is stronger than any default. */
  #withInclude(server: WantedServer): WantedServer {
    const given = server.origin === "client" ? this.#given.includes?.[server.spec.name] : undefined;
    return given ? { ...server, catalog: { ...server.catalog, ...given } } : server;
  }
}
