// One process at a time has a session open: a lock file that names it, and that a dead process does not hold.
import { messageOf, TenonError } from "../base/errors.js";
import type { World } from "../base/world.js";

/** Takeovers of locks of dead processes in a row; more means that others are doing the same at this moment. */
const MAX_ATTEMPTS = 5;

export class SessionLock {
  readonly #world: World;
  readonly #path: string;
  readonly #text: string;

  private constructor(world: World, path: string) {
    const { processes } = world;
    const identity = processes.identityOf(processes.ownId) ?? "?";
    this.#world = world;
    this.#path = path;
    // The last word tells apart two holders in one process.
    this.#text = `${processes.ownId} ${identity} ${Buffer.from(world.randomBytes(8)).toString("hex")}\n`;
  }

  /** Throws `session.busy` when the session is open, here or in another process. */
  static async take(world: World, path: string, id: string): Promise<SessionLock> {
    const lock = new SessionLock(world, path);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (await world.files.createNew(path, lock.#text)) return lock;
      const holder = await holderOf(world, path);
      if (holder !== undefined) throw inUse(world, id, { holder, path });
      await world.files.remove(path);
    }
    throw inUse(world, id, { holder: undefined, path });
  }

  /**
   * For a session that has just got its id: nobody else can want it. A lock that cannot be written costs the protection, not
   * the session.
   */
  static async hold(world: World, path: string, id: string): Promise<SessionLock | undefined> {
    try {
      return await SessionLock.take(world, path, id);
    } catch (error) {
      world.log.warn("session.not_locked", { session: id, error: messageOf(error) });
      return undefined;
    }
  }

  /** Never rejects: a lock that stays is known for a dead one as soon as this process is gone. */
  async release(): Promise<void> {
    try {
      if ((await this.#world.files.readText(this.#path)) === this.#text) await this.#world.files.remove(this.#path);
    } catch (error) {
      this.#world.log.debug("session.unlock_failed", { path: this.#path, error: messageOf(error) });
    }
  }
}

/** The living process that holds it; undefined when there is none. */
async function holderOf(world: World, path: string): Promise<number | undefined> {
  const text = await world.files.readText(path).catch(() => ""); // given back meanwhile
  const [, id, identity] = /^(\d+) (\S+) /u.exec(text) ?? [];
  if (id === undefined) return undefined;
  return world.processes.identityOf(Number(id)) === identity ? Number(id) : undefined;
}

function inUse(
  world: World,
  id: string,
  { holder, path }: { readonly holder: number | undefined; readonly path: string },
): TenonError {
  if (holder === world.processes.ownId) {
    return new TenonError("session.busy", `session "${id}" is already open here`, {
      hint: "Go on with it, or close it first.",
    });
  }
  const who = holder === undefined ? "another process" : `process ${holder}`;
  return new TenonError("session.busy", `session "${id}" is open in ${who}`, {
    hint: `Close it there. If that is no Tenon, delete the file ${path}.`,
  });
}
