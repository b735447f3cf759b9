// The key that grants are sealed with: in the system's keyring, or where there is none in a file beside them. Chosen once.

import { join } from "node:path";
import { messageOf, TenonError } from "../../base/errors.js";
import { withFileLock } from "../../base/io/file-lock.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, parseJson } from "../../base/json/json.js";
import { LOGIN_LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import { KEY_BYTES } from "./sealed.js";

/** The part of a keyring that is needed. */
export interface KeyKeeper {
  get(name: string, signal: AbortSignal): Promise<string | undefined>;
  set(name: string, value: string, signal: AbortSignal): Promise<void>;
}

/** Where the key is kept, and why there. */
export interface VaultStanding {
  readonly keeper: "keyring" | "file";
  readonly reason: string;
}

export interface VaultOptions {
  readonly world: World;
  readonly dir: string;
  /** A text says why there is none. */
  readonly keyring: KeyKeeper | string;
}

const STANDING_FILE = "vault.json";
const KEY_FILE = "vault.key";
const SALT_FILE = "vault.salt";
const SALT_LOOKS = 40;

export class Vault {
  readonly #options: VaultOptions;
  readonly #world: World;
  #salt: Promise<string> | undefined;
  #key: Promise<Uint8Array | undefined> | undefined;

  constructor(options: VaultOptions) {
    this.#options = options;
    this.#world = options.world;
  }

  /** Undefined before the first log-in. */
  async standing(): Promise<VaultStanding | undefined> {
    const text = await this.#world.files.readText(this.#path(STANDING_FILE)).catch(() => undefined); // none yet
    const parsed = parseJson(text ?? "");
    const { keeper, reason } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
    if ((keeper !== "keyring" && keeper !== "file") || typeof reason !== "string") return undefined;
    return { keeper, reason };
  }

  /** Names files so that they do not tell whom the person knows. No secret, so that a look for a file asks no keyring. */
  async salt(): Promise<string> {
    this.#salt ??= this.#makeSalt().catch((error: unknown) => {
      this.#salt = undefined;
      throw error;
    });
    return await this.#salt;
  }

  /** Undefined when there is none (any more): nothing can be read then. Rejects when the keyring cannot be asked. */
  async key(signal: AbortSignal): Promise<Uint8Array | undefined> {
    this.#key ??= this.#forgetfully(this.#fetchKey(signal));
    return await this.#key;
  }

  /** The same, made where there is none; the first time where it is kept is chosen. */
  async keyToWrite(signal: AbortSignal): Promise<Uint8Array> {
    const known = await this.key(signal);
    if (known) return known;
    const made = await withLogInLock(this.#world, this.#path(join("locks", "vault")), signal, async () => {
      const other = await this.#fetchKey(signal); // somebody else was faster
      return other ?? (await this.#makeKey(signal));
    });
    this.#key = Promise.resolve(made);
    return made;
  }

  /** Neither a failure nor an absence is remembered: the person may unlock the keyring, or log in elsewhere. */
  async #forgetfully(fetching: Promise<Uint8Array | undefined>): Promise<Uint8Array | undefined> {
    let key: Uint8Array | undefined;
    try {
      key = await fetching;
      return key;
    } finally {
      if (!key) this.#key = undefined;
    }
  }

  async #fetchKey(signal: AbortSignal): Promise<Uint8Array | undefined> {
    const standing = await this.standing();
    if (!standing) return undefined;
    if (standing.keeper === "file") {
      return keyOf(await this.#world.files.readText(this.#path(KEY_FILE)).catch(() => undefined)); // deleted
    }
    const { keyring } = this.#options;
    if (typeof keyring === "string") throw lockedOut(keyring);
    using deadline = this.#world.deadline(LOGIN_LIMITS.keyringMs, signal);
    try {
      return keyOf(await keyring.get(await this.#entryName(), deadline.signal));
    } catch (error) {
      signal.throwIfAborted();
      throw lockedOut(deadline.expired ? "it did not answer" : messageOf(error), error);
    }
  }

  async #makeKey(signal: AbortSignal): Promise<Uint8Array> {
    const key = this.#world.randomBytes(KEY_BYTES);
    const written = Buffer.from(key).toString("base64");
    const before = await this.standing();
    const standing = before ?? (await this.#choose(written, signal));
    const { keyring } = this.#options;
    if (standing.keeper === "file") await this.#world.files.writeAtomic(this.#path(KEY_FILE), `${written}\n`);
    else if (before && typeof keyring !== "string") await keyring.set(await this.#entryName(), written, signal);
    if (!before) await this.#world.files.writeAtomic(this.#path(STANDING_FILE), `${JSON.stringify(standing)}\n`);
    return key;
  }

  /** The keyring if it gives back what it was given: some take everything and keep nothing. */
  async #choose(key: string, signal: AbortSignal): Promise<VaultStanding> {
    const { keyring } = this.#options;
    if (typeof keyring === "string") return { keeper: "file", reason: keyring };
    using deadline = this.#world.deadline(LOGIN_LIMITS.keyringMs, signal);
    const name = await this.#entryName();
    try {
      await keyring.set(name, key, deadline.signal);
      if ((await keyring.get(name, deadline.signal)) === key) {
        return { keeper: "keyring", reason: "the system's keyring works" };
      }
      return { keeper: "file", reason: "the system's keyring does not give back what it is given" };
    } catch (error) {
      signal.throwIfAborted();
      return { keeper: "file", reason: deadline.expired ? "the system's keyring did not answer" : messageOf(error) };
    }
  }

  /** Another folder is another person's, or a test's: each has an entry of its own. */
  async #entryName(): Promise<string> {
    return `log-ins-${(await this.salt()).slice(0, 12)}`;
  }

  /** One that another process makes at this moment may still be empty. */
  async #makeSalt(): Promise<string> {
    const path = this.#path(SALT_FILE);
    const made = Buffer.from(this.#world.randomBytes(16)).toString("hex");
    for (let look = 0; look < SALT_LOOKS; look++) {
      if (await this.#world.files.createNew(path, `${made}\n`)) return made;
      const salt = (await this.#world.files.readText(path)).trim();
      if (salt !== "") return salt;
      await new Promise<void>((resolve) => {
        this.#world.after(LOGIN_LIMITS.lockEveryMs, resolve);
      });
    }
    throw new TenonError("config.unreadable", `the file ${path} is empty`, { hint: "Delete it, then log in again." });
  }

  #path(name: string): string {
    return join(this.#options.dir, name);
  }
}

/** One change of a log-in at a time, across processes. Rejects when the signal aborts, or when a living process has it for too long. */
export async function withLogInLock<T>(
  world: World,
  path: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const { lockWaitMs: waitMs, lockEveryMs: everyMs } = LOGIN_LIMITS;
  const heldTooLong = (heldBy: number) =>
    new TenonError("config.unreadable", `process ${heldBy} has held a log-in for more than ${waitMs / 1000} s`, {
      hint: `End that process; its number stands in ${path}.`,
    });
  return await withFileLock(world, path, { waitMs, everyMs, signal, heldTooLong }, work);
}

function keyOf(text: string | undefined): Uint8Array | undefined {
  const key = Buffer.from((text ?? "").trim(), "base64");
  return key.length === KEY_BYTES ? new Uint8Array(key) : undefined;
}

/** Not taken for "not logged in": the person would log in again and again, and find the old log-ins lost. */
function lockedOut(reason: string, cause?: unknown): TenonError {
  const message = `the keyring that holds the key of your log-ins cannot be used: ${reason}`;
  return new TenonError("config.unreadable", message, {
    hint: "Unlock the keyring, or run Tenon where it can be reached.",
    ...defined({ cause }),
  });
}
