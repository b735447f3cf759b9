// Servers the person switches off and on, starts anew, adds and removes within a session: nothing of it is written anywhere.
import { messageOf } from "../base/errors.js";
import type { ServerSpec } from "../mcp/index.js";
import type { AbsentServer } from "../tools/index.js";
import type { ServerStatus } from "./event.js";
import type { OpenServer, WantedServer } from "./server-entry.js";
import type { GivenServers } from "./server-set.js";

/** What came of it, in one sentence. */
export type Switched = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string };

export interface SwitchesOptions {
  /** The servers of the session now. */
  open(): readonly OpenServer[];
  /** Makes them those that `filter` lets through. */
  reconnect(): void;
  /** Those the client or the embedder gave. */
  given(): GivenServers;
  give(given: GivenServers): Promise<void>;
}

interface Off extends Pick<WantedServer, "origin"> {
  /** Off for a moment: it comes back by itself. */
  readonly isRestarting: boolean;
}

export class ServerSwitches {
  readonly #options: SwitchesOptions;
  readonly #off = new Map<string, Off>();
  /** Started anew while other sessions used the same: those keep theirs, and this session has its own from then on. */
  readonly #own = new Set<string>();

  constructor(options: SwitchesOptions) {
    this.#options = options;
  }

  filter(wanted: readonly WantedServer[]): readonly WantedServer[] {
    const on = wanted.filter(({ spec }) => !this.#off.has(spec.name));
    return on.map((server) => (this.#own.has(server.spec.name) ? { ...server, mayShare: false } : server));
  }

  /** For those who ask why a tool is not there. */
  get absent(): readonly AbsentServer[] {
    return [...this.#off].map(([name, { origin }]) => ({ name, origin, kind: "disabled", reason: reasonOf(name) }));
  }

  /** Beside those of the servers that are on. */
  get statuses(): readonly ServerStatus[] {
    return [...this.#off].map(([name, { origin }]) => ({
      name,
      origin,
      state: "closed",
      toolCount: 0,
      note: reasonOf(name),
    }));
  }

  disable(name: string): Switched {
    if (this.#off.has(name)) return { ok: true, text: `"${name}" is off already.` };
    const open = this.#find(name);
    if (!open) return this.#unknown(name);
    this.#switch(name, { origin: open.source.origin, isRestarting: false });
    return { ok: true, text: `"${name}" is off for this session. Its tools say so when they are called.` };
  }

  enable(name: string): Switched {
    if (!this.#off.has(name)) return this.#find(name) ? { ok: true, text: `"${name}" is on.` } : this.#unknown(name);
    this.#switch(name, undefined);
    return { ok: true, text: `"${name}" is on again and is being connected.` };
  }

  /**
   * The old process has ended before the new one begins: two of one kind may not bear each other. Where other sessions use
   * it too it stays for them, and this session gets its own.
   */
  async restart(name: string): Promise<Switched> {
    const open = this.#find(name);
    if (!open) return this.#off.has(name) ? this.enable(name) : this.#unknown(name);
    const { connection, source } = open;
    const { kind } = connection.state.value;
    if (kind === "failed" || kind === "waiting") connection.restart();
    else {
      if (open.isShared?.()) this.#own.add(name);
      this.#switch(name, { origin: source.origin, isRestarting: true });
      await connection.closed;
      if (this.#off.get(name)?.isRestarting) this.#switch(name, undefined);
    }
    return { ok: true, text: `"${name}" is being started anew.` };
  }

  async add(spec: ServerSpec): Promise<Switched> {
    const { name } = spec;
    if (this.#find(name) || this.#off.has(name)) return { ok: false, reason: `there is a server "${name}" already` };
    const { servers, ...given } = this.#options.given();
    return await this.#give({ ...given, servers: [...servers, spec] }, `"${name}" is being connected.`);
  }

  /** One of the configuration is only switched off: its file is not for a session to change. */
  async remove(name: string): Promise<Switched> {
    const { servers, ...given } = this.#options.given();
    const others = servers.filter((spec) => spec.name !== name);
    if (others.length < servers.length) {
      this.#off.delete(name);
      return await this.#give({ ...given, servers: others }, `"${name}" is removed from this session.`);
    }
    const off = this.disable(name);
    if (!off.ok) return off;
    return {
      ok: true,
      text: `"${name}" is off for this session. It is configured: tenon mcp remove ${name} removes it.`,
    };
  }

  async #give(given: GivenServers, done: string): Promise<Switched> {
    try {
      await this.#options.give(given);
      return { ok: true, text: done };
    } catch (error) {
      return { ok: false, reason: messageOf(error) };
    }
  }

  #switch(name: string, off: Off | undefined): void {
    if (off) this.#off.set(name, off);
    else this.#off.delete(name);
    this.#options.reconnect();
  }

  #find(name: string): OpenServer | undefined {
    return this.#options.open().find(({ connection }) => connection.spec.name === name);
  }

  #unknown(name: string): Switched {
    const names = [...this.#options.open().map(({ connection }) => connection.spec.name), ...this.#off.keys()];
    const known = names.length === 0 ? "it has none" : `there are: ${names.join(", ")}`;
    return { ok: false, reason: `this session has no connected server "${name}"; ${known}` };
  }
}

function reasonOf(name: string): string {
  return `switched off in this session; /mcp enable ${name} brings it back`;
}
