// Opens, finds and closes sessions. Whoever owns the host owns every process its sessions started.
import { isAbsolute, join } from "node:path";
import { TenonError } from "../base/errors.js";
import { uuidV7 } from "../base/id.js";
import { LIMITS } from "../base/limits.js";
import type { EndGrace } from "../base/process.js";
import type { World } from "../base/world.js";
import type { ServerCache, ServerSpec } from "../mcp/index.js";
import type { Model } from "../models/index.js";
import type { RejectedServer } from "./servers.js";
import { Session, type SessionConfig } from "./session.js";

export interface HostOptions {
  readonly world: World;
  readonly model: Model;
  /** Where journals are kept. */
  readonly stateDir: string;
  /** What is remembered of servers across sessions. */
  readonly cache?: ServerCache;
  /** Read the user's and the project's configuration for every session. */
  readonly config?: SessionConfig;
  readonly client: { readonly name: string; readonly version: string };
}

export interface NewSession {
  readonly cwd: string;
  readonly servers?: readonly ServerSpec[];
  /** Entries that could not be read: shown as failed servers, never dropped in silence. */
  readonly rejected?: readonly RejectedServer[];
  /** For a session whose id was given out before it could be opened. */
  readonly id?: string;
}

export class SessionHost implements AsyncDisposable {
  readonly #options: HostOptions;
  readonly #sessions = new Map<string, Session>();

  constructor(options: HostOptions) {
    this.#options = options;
  }

  get world(): World {
    return this.#options.world;
  }

  get sessions(): readonly Session[] {
    return [...this.#sessions.values()];
  }

  /** Returns at once: its servers connect in the background. */
  createSession(request: NewSession): Session {
    const { world, stateDir } = this.#options;
    if (!isAbsolute(request.cwd)) {
      throw new TenonError("session.invalid_request", `cwd must be an absolute path, got "${request.cwd}"`);
    }
    const id = request.id ?? newSessionId(world);
    const journalPath = join(stateDir, "sessions", `${id}.ndjson`);
    const { cwd, servers = [], rejected = [] } = request;
    const session = new Session({ ...this.#options, id, cwd, servers, rejected, journalPath });
    this.#sessions.set(id, session);
    return session;
  }

  get(id: string): Session {
    const session = this.#sessions.get(id);
    if (!session) throw new TenonError("session.not_found", `there is no open session "${id}"`);
    return session;
  }

  async closeSession(id: string, grace?: EndGrace): Promise<void> {
    const session = this.get(id);
    this.#sessions.delete(id);
    await session.close(grace);
  }

  async close(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    const sessions = this.sessions;
    this.#sessions.clear();
    await Promise.all(sessions.map((session) => session.close(grace)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function newSessionId(world: Pick<World, "now" | "randomBytes">): string {
  return uuidV7(world.now(), (count) => world.randomBytes(count));
}
