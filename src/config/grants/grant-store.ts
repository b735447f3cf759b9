// Log-ins on the disk: one sealed file each, changed by one at a time, whichever process it is in.
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { orAborted } from "../../base/async/deadline.js";
import { contained } from "../../base/async/scope.js";
import { LOGIN_LIMITS } from "../../base/limits.js";
import type { FileEntry, World } from "../../base/ports/world.js";
import type { Grant, GrantKey, GrantStore, OAuthClient } from "../../mcp/index.js";
import { type GrantRecord, readClientRecord, readRecord, secretsOf, writeRecord } from "./grant-record.js";
import { seal, unseal } from "./sealed.js";
import { Vault, type VaultOptions, type VaultStanding, withLogInLock } from "./vault.js";

export type GrantStoreOptions = VaultOptions;

/** A folder of its own under the state folder; `find` and `read` write nothing but its salt. */
export class DiskGrantStore implements GrantStore {
  readonly #world: World;
  readonly #dir: string;
  readonly #vault: Vault;
  /** The last change of each file in this process: the others line up here, not at the lock. */
  readonly #changes = new Map<string, Promise<unknown>>();

  constructor(options: GrantStoreOptions) {
    this.#world = options.world;
    this.#dir = options.dir;
    this.#vault = new Vault(options);
  }

  /** Where the key of what is kept here is; undefined before the first log-in. */
  async standing(): Promise<VaultStanding | undefined> {
    return await this.#vault.standing();
  }

  async read(key: GrantKey): Promise<Grant | undefined> {
    return (await this.#readRecord(await this.#nameOf(key)))?.grant;
  }

  async find(resource: string, account: string): Promise<readonly GrantKey[]> {
    const newestFirst = [...(await this.#filesOf(resource, account))].sort(
      (one, other) => other.modifiedMs - one.modifiedMs,
    );
    const records = await Promise.all(newestFirst.map(({ name }) => this.#readRecord(name)));
    return records.flatMap((record) => record?.key ?? []);
  }

  watch(resource: string, account: string, onChange: () => void): { close(): void } {
    let isOpen = true;
    let seen: string | undefined;
    const look = async (): Promise<void> => {
      const files = await this.#filesOf(resource, account).catch(() => []); // the next change is looked at again
      const found = files
        .map(({ name, modifiedMs, bytes }) => `${name} ${modifiedMs} ${bytes}`)
        .sort()
        .join("\n");
      const isNews = seen !== undefined && seen !== found;
      seen = found;
      if (isNews && isOpen) contained(this.#world.log, "listener of log-ins", onChange);
    };
    // One look after the other: a later one must not be overtaken.
    let looking = look();
    const watch = this.#world.watch(this.#dir, () => {
      looking = looking.then(look).catch(() => undefined); // one that failed holds up no other
    });
    return {
      close: () => {
        isOpen = false;
        watch.close();
      },
    };
  }

  async update(
    key: GrantKey,
    change: (current: Grant | undefined) => Promise<Grant | undefined>,
    signal: AbortSignal,
  ): Promise<Grant | undefined> {
    const name = await this.#nameOf(key);
    return await this.#inLine(name, signal, () =>
      withLogInLock(this.#world, join(this.#dir, "locks", name), signal, async () => {
        const current = await this.#readRecord(name);
        const wanted = await change(current?.grant);
        if (wanted === current?.grant) return wanted;
        // What was agreed with the server stands there: it is kept even if nobody waits for it any more.
        if (wanted) await this.#writeRecord(name, { key, grant: wanted });
        else await this.#world.files.remove(join(this.#dir, name));
        return wanted;
      }),
    );
  }

  async readClient(issuer: string): Promise<OAuthClient | undefined> {
    const client = readClientRecord(await this.#unsealed(await this.#clientName(issuer)));
    if (client?.clientSecret !== undefined) this.#world.trace?.hide([client.clientSecret]);
    return client;
  }

  async writeClient(issuer: string, client: OAuthClient | undefined): Promise<void> {
    const name = await this.#clientName(issuer);
    if (client) await this.#seal(name, JSON.stringify(client));
    else await this.#world.files.remove(join(this.#dir, name));
  }

  /** Without log-ins not even a salt is made. */
  async #filesOf(resource: string, account: string): Promise<readonly FileEntry[]> {
    const all = (await this.#world.files.list(this.#dir)).filter(({ name }) => name.endsWith(".grant"));
    if (all.length === 0) return [];
    const prefix = `${await this.#digest("resource", resource, account)}-`;
    return all.filter(({ name }) => name.startsWith(prefix));
  }

  /**
   * One after the other; a change that failed holds nobody up. Who waits may give up; a change that has begun is not left
   * alone before it is written, since what it agreed with the server is nowhere else.
   */
  async #inLine<T>(name: string, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    const before = this.#changes.get(name) ?? Promise.resolve();
    const mine = orAborted(before, signal).then(run);
    const settled = Promise.allSettled([before, mine]);
    this.#changes.set(name, settled);
    try {
      return await mine;
    } finally {
      if (this.#changes.get(name) === settled) this.#changes.delete(name);
    }
  }

  async #readRecord(name: string): Promise<GrantRecord | undefined> {
    const record = readRecord(await this.#unsealed(name));
    if (record) this.#world.trace?.hide(secretsOf(record.grant));
    return record;
  }

  async #writeRecord(name: string, record: GrantRecord): Promise<void> {
    this.#world.trace?.hide(secretsOf(record.grant));
    await this.#seal(name, writeRecord(record));
  }

  /** Undefined when there is nothing, or nothing that this key opens: then it is as if the person had never logged in. */
  async #unsealed(name: string): Promise<string | undefined> {
    const path = join(this.#dir, name);
    const found = await this.#world.files.find(path);
    if (found?.kind !== "file" || found.bytes > LOGIN_LIMITS.grantMaxBytes) return undefined;
    const text = await this.#world.files.readText(path).catch(() => undefined); // removed meanwhile
    if (text === undefined) return undefined;
    const key = await this.#vault.key(new AbortController().signal);
    const opened = key && unseal(text, { key, name });
    if (opened === undefined) this.#world.log.warn("grants.unreadable", { file: path });
    return opened;
  }

  async #seal(name: string, text: string): Promise<void> {
    const key = await this.#vault.keyToWrite(new AbortController().signal);
    const sealed = seal(text, { key, name }, (count) => this.#world.randomBytes(count));
    await this.#world.files.writeAtomic(join(this.#dir, name), sealed);
  }

  async #nameOf({ issuer, resource, account }: GrantKey): Promise<string> {
    const [place, by] = await Promise.all([
      this.#digest("resource", resource, account),
      this.#digest("issuer", issuer),
    ]);
    return `${place}-${by}.grant`;
  }

  async #clientName(issuer: string): Promise<string> {
    return `${await this.#digest("client", issuer)}.client`;
  }

  async #digest(...parts: readonly string[]): Promise<string> {
    const salt = await this.#vault.salt();
    return createHmac("sha256", salt).update(JSON.stringify(parts)).digest("hex").slice(0, 32);
  }
}
