// Encryption of stored log-ins, and its key: in the system's keyring, or else in a file beside them. Chosen once.

import { createCipheriv, createDecipheriv } from "node:crypto";
import { join } from "node:path";
import { messageOf, TenonError } from "../../base/errors.js";
import { withFileLock } from "../../base/io/file-lock.js";
import { defined } from "../../base/json/defined.js";
import { parseObject } from "../../base/json/json.js";
import { LOGIN_LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";

/** The part of a keyring that is used. */
export interface KeyKeeper {
  get(name: string, signal: AbortSignal): Promise<string | undefined>;
  set(name: string, value: string, signal: AbortSignal): Promise<void>;
}

/** Where the key is stored, and why there. */
export interface VaultStatus {
  readonly keeper: "keyring" | "file";
  readonly reason: string;
}

export interface VaultOptions {
  readonly world: World;
  readonly dir: string;
  /** A text is the reason why no keyring is used. */
  readonly keyring: KeyKeeper | string;
}

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const FORMAT = 1;
const STATUS_FILE = "vault.json";
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
  async status(): Promise<VaultStatus | undefined> {
    const text = await this.#world.files.readText(this.#path(STATUS_FILE)).catch(() => undefined); // none yet
    const { keeper, reason } = parseObject(text ?? "") ?? {};
    if ((keeper !== "keyring" && keeper !== "file") || typeof reason !== "string") return undefined;
    return { keeper, reason };
  }

  /** Makes file names that do not reveal servers. Not secret, so that finding a file needs no keyring. */
  async salt(): Promise<string> {
    this.#salt ??= this.#makeSalt().catch((error: unknown) => {
      this.#salt = undefined;
      throw error;
    });
    return await this.#salt;
  }

  /** AES-256-GCM, bound to the name of the file, so that files cannot be swapped. */
  async seal(text: string, name: string): Promise<string> {
    const nonce = this.#world.randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", await this.#keyToWrite(), nonce);
    cipher.setAAD(Buffer.from(name));
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    const bytes = Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
    return `${JSON.stringify({ v: FORMAT, sealed: bytes.toString("base64") })}\n`;
  }

  /** Undefined if the text was not sealed with this key and name, or was changed since. Rejects if the keyring cannot be used. */
  async unseal(text: string, name: string): Promise<string | undefined> {
    const key = await this.#knownKey();
    const { v, sealed } = parseObject(text) ?? {};
    if (!key || v !== FORMAT || typeof sealed !== "string") return undefined;
    const bytes = Buffer.from(sealed, "base64");
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
    try {
      const options = { authTagLength: TAG_BYTES };
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES), options);
      decipher.setAAD(Buffer.from(name));
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const body = bytes.subarray(NONCE_BYTES + TAG_BYTES);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString("utf8");
    } catch {
      return undefined;
    }
  }

  /** Undefined without a key: nothing can be read then. */
  async #knownKey(): Promise<Uint8Array | undefined> {
    this.#key ??= this.#fetchKey();
    let key: Uint8Array | undefined;
    try {
      key = await this.#key;
      return key;
    } finally {
      // Neither a failure nor an absence is cached: the person may unlock the keyring, or log in elsewhere.
      if (!key) this.#key = undefined;
    }
  }

  /** Creates the key if there is none; the first time it also chooses where to store it. */
  async #keyToWrite(): Promise<Uint8Array> {
    const known = await this.#knownKey();
    if (known) return known;
    const made = await withLogInLock(this.#world, this.#path(join("locks", "vault")), undefined, async () => {
      const other = await this.#fetchKey(); // another process was faster
      return other ?? (await this.#makeKey());
    });
    this.#key = Promise.resolve(made);
    return made;
  }

  async #fetchKey(): Promise<Uint8Array | undefined> {
    const status = await this.status();
    if (!status) return undefined;
    if (status.keeper === "file") {
      return keyOf(await this.#world.files.readText(this.#path(KEY_FILE)).catch(() => undefined)); // deleted
    }
    const { keyring } = this.#options;
    if (typeof keyring === "string") throw lockedOut(keyring);
    using deadline = this.#world.deadline(LOGIN_LIMITS.keyringMs);
    try {
      return keyOf(await keyring.get(await this.#entryName(), deadline.signal));
    } catch (error) {
      throw lockedOut(deadline.expired ? "it did not answer" : messageOf(error), error);
    }
  }

  async #makeKey(): Promise<Uint8Array> {
    const key = this.#world.randomBytes(KEY_BYTES);
    const written = Buffer.from(key).toString("base64");
    const before = await this.status();
    const status = before ?? (await this.#choose(written));
    const { keyring } = this.#options;
    using deadline = this.#world.deadline(LOGIN_LIMITS.keyringMs);
    if (status.keeper === "file") await this.#world.files.writeAtomic(this.#path(KEY_FILE), `${written}\n`);
    else if (before && typeof keyring !== "string") {
      await keyring.set(await this.#entryName(), written, deadline.signal);
    }
    if (!before) await this.#world.files.writeAtomic(this.#path(STATUS_FILE), `${JSON.stringify(status)}\n`);
    return key;
  }

  /** The keyring if it returns what was stored: some accept everything and store nothing. */
  async #choose(key: string): Promise<VaultStatus> {
    const { keyring } = this.#options;
    if (typeof keyring === "string") return { keeper: "file", reason: keyring };
    using deadline = this.#world.deadline(LOGIN_LIMITS.keyringMs);
    const name = await this.#entryName();
    try {
      await keyring.set(name, key, deadline.signal);
      if ((await keyring.get(name, deadline.signal)) === key) {
        return { keeper: "keyring", reason: "the system's keyring works" };
      }
      return { keeper: "file", reason: "the system's keyring does not give back what it is given" };
    } catch (error) {
      return { keeper: "file", reason: deadline.expired ? "the system's keyring did not answer" : messageOf(error) };
    }
  }

  /** One entry per folder: another folder belongs to another person or a test. */
  async #entryName(): Promise<string> {
    return `log-ins-${(await this.salt()).slice(0, 12)}`;
  }

  /** The file may be empty while another process writes it. */
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

/** One change of a log-in at a time, across processes. Rejects if the signal aborts, or a live process holds the lock too long. */
export async function withLogInLock<T>(
  world: World,
  path: string,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const { lockWaitMs: waitMs, lockEveryMs: everyMs } = LOGIN_LIMITS;
  const heldTooLong = (heldBy: number) =>
    new TenonError("config.unreadable", `process ${heldBy} has held a log-in for more than ${waitMs / 1000} s`, {
      hint: `End that process; its number stands in ${path}.`,
    });
  return await withFileLock(world, path, { waitMs, everyMs, heldTooLong, ...defined({ signal }) }, work);
}

function keyOf(text: string | undefined): Uint8Array | undefined {
  const key = Buffer.from((text ?? "").trim(), "base64");
  return key.length === KEY_BYTES ? new Uint8Array(key) : undefined;
}

/** Not treated as "not logged in": the person would log in again and lose the old log-ins. */
function lockedOut(reason: string, cause?: unknown): TenonError {
  const message = `the keyring that holds the key of your log-ins cannot be used: ${reason}`;
  return new TenonError("config.unreadable", message, {
    hint: "Unlock the keyring, or run Tenon where it can be reached.",
    ...defined({ cause }),
  });
}
