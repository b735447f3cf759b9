// The runtimes of a gateway: one for each account, directory and environment, so that a session has its own client's.
import { createHash } from "node:crypto";
import { handled } from "../../base/async/scope.js";
import type { Timer, World } from "../../base/ports/world.js";
import type { SessionHost } from "../../session/index.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { AccountStore } from "../nodes/nodes.js";

export interface RuntimePlace {
  /** Of the account. */
  readonly stateDir: string;
  readonly kept: AccountStore;
  /** Whose configuration and model they are. */
  readonly cwd: string;
  /** Of the client; the gateway's own unless given. Kept in memory only, and never written anywhere. */
  readonly env?: World["env"];
}

export type OpenRuntime = (place: RuntimePlace) => Promise<SessionHost>;

/** A runtime that a session uses. */
export interface UsedRuntime {
  readonly host: SessionHost;
  /** The session is closed. */
  release(): void;
}

interface Runtime {
  readonly host: Promise<SessionHost>;
  users: number;
  end?: Timer;
}

export class Runtimes implements AsyncDisposable {
  readonly #world: Pick<World, "after" | "log">;
  readonly #open: OpenRuntime;
  readonly #runtimes = new Map<string, Runtime>();
  readonly #closing = new Set<Promise<unknown>>();

  constructor(world: Pick<World, "after" | "log">, open: OpenRuntime) {
    this.#world = world;
    this.#open = open;
  }

  async use(place: RuntimePlace): Promise<UsedRuntime> {
    const key = keyOf(place);
    const known = this.#runtimes.get(key);
    const runtime = known ?? { host: this.#open(place), users: 0 };
    if (!known) this.#runtimes.set(key, runtime);
    runtime.end?.clear();
    runtime.users += 1;
    try {
      const host = await runtime.host;
      let isReleased = false;
      const release = () => {
        if (!isReleased) this.#release(key, runtime);
        isReleased = true;
      };
      return { host, release };
    } catch (error) {
      if (this.#runtimes.get(key) === runtime) this.#runtimes.delete(key); // the next session tries again
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#runtimes.entries()];
    for (const [key, runtime] of all) this.#close(key, runtime);
    await Promise.allSettled(this.#closing);
  }

  /** It is kept for a while: the next session of the directory then opens at once. */
  #release(key: string, runtime: Runtime): void {
    runtime.users -= 1;
    if (runtime.users > 0) return;
    runtime.end = this.#world.after(GATEWAY_LIMITS.sessions.runtimeIdleMs, () => this.#close(key, runtime));
  }

  #close(key: string, runtime: Runtime): void {
    runtime.end?.clear();
    if (this.#runtimes.get(key) === runtime) this.#runtimes.delete(key);
    const closed = runtime.host.then((host) => host.close());
    this.#closing.add(closed);
    handled(
      closed.finally(() => this.#closing.delete(closed)),
      this.#world.log,
      "close a runtime",
    );
  }
}

/** The values of an environment are no part of the text, only their hash. */
function keyOf({ stateDir, cwd, env }: RuntimePlace): string {
  const variables = env && Object.entries(env).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([stateDir, cwd, variables ?? null]))
    .digest("hex");
}

/** Of the gateway's own variables those that describe the machine and its user; anything else is the client's or absent. */
const MACHINE =
  /^(USER|LOGNAME|SHELL|TMPDIR|TEMP|TMP|TZ|XDG_.*|DBUS_SESSION_BUS_ADDRESS|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/u;

/** Where Tenon keeps its files: a client must not lead its sessions to other ones. */
const PLACES = /^(HOME|TENON_HOME|XDG_(CONFIG|STATE|CACHE|DATA)_HOME)$/u;

/** What a session of a client that sent its environment has. */
export function sessionEnvironment(own: World["env"], client: World["env"]): World["env"] {
  const machine = Object.entries(own).filter(([name]) => MACHINE.test(name) || PLACES.test(name));
  const given = Object.entries(client).filter(([name]) => !PLACES.test(name));
  return Object.fromEntries([...machine, ...given]);
}
