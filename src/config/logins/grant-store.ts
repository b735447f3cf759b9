// Log-ins on disk: one encrypted file each, changed by one process at a time.
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { orAborted } from "../../base/async/deadline.js";
import { contained } from "../../base/async/scope.js";
import { hashJson, isJsonObject, type JsonObject, parseObject } from "../../base/json/json.js";
import { LOGIN_LIMITS } from "../../base/limits.js";
import type { FileEntry, World } from "../../base/ports/world.js";
import {
  type Grant,
  type GrantKey,
  type GrantStore,
  grantSecrets,
  type OAuthClient,
  type OAuthSettings,
} from "../../mcp/index.js";
import { Vault, type VaultOptions, type VaultStatus, withLogInLock } from "./vault.js";

/** Uses a folder of its own under the state folder; `find` and `read` write nothing but its salt. */
export class DiskGrantStore implements GrantStore {
  readonly #world: World;
  readonly #dir: string;
  readonly #vault: Vault;
  /** The last change of each file in this process: further ones wait here, not for the lock. */
  readonly #changes = new Map<string, Promise<unknown>>();

  constructor(options: VaultOptions) {
    this.#world = options.world;
    this.#dir = options.dir;
    this.#vault = new Vault(options);
  }

  /** Where the key is stored; undefined before the first log-in. */
  async status(): Promise<VaultStatus | undefined> {
    return await this.#vault.status();
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
      const files = await this.#filesOf(resource, account).catch(() => []); // read again after the next change
      const found = files
        .map(({ name, modifiedMs, bytes }) => `${name} ${modifiedMs} ${bytes}`)
        .sort()
        .join("\n");
      const isChanged = seen !== undefined && seen !== found;
      seen = found;
      if (isChanged && isOpen) contained(this.#world.log, "listener of log-ins", onChange);
    };
    // One after the other, so that an older result does not replace a newer one.
    let looking = look();
    const watch = this.#world.watch(this.#dir, () => {
      looking = looking.then(look).catch(() => undefined); // a failure blocks no later one
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
        // Stored even if the caller has given up: the server has issued it.
        if (wanted) {
          this.#world.trace?.hide(grantSecrets(wanted));
          await this.#seal(name, JSON.stringify({ key, grant: wanted }));
        } else await this.#world.files.remove(join(this.#dir, name));
        return wanted;
      }),
    );
  }

  async readClient(issuer: string): Promise<OAuthClient | undefined> {
    const client = clientOf(
      parseObject((await this.#unsealed(`${await this.#digest("client", issuer)}.client`)) ?? "") ?? {},
    );
    if (client?.clientSecret !== undefined) this.#world.trace?.hide([client.clientSecret]);
    return client;
  }

  async writeClient(issuer: string, client: OAuthClient | undefined): Promise<void> {
    const name = `${await this.#digest("client", issuer)}.client`;
    if (client) await this.#seal(name, JSON.stringify(client));
    else await this.#world.files.remove(join(this.#dir, name));
  }

  /** Without log-ins not even a salt is written. */
  async #filesOf(resource: string, account: string): Promise<readonly FileEntry[]> {
    const all = (await this.#world.files.list(this.#dir)).filter(({ name }) => name.endsWith(".grant"));
    if (all.length === 0) return [];
    const prefix = `${await this.#digest("resource", resource, account)}-`;
    return all.filter(({ name }) => name.startsWith(prefix));
  }

  /**
   * One after the other; a failed change blocks no later one. The signal ends only the wait: a change that has begun is
   * finished, since the tokens it obtained exist nowhere else.
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
    if (record) this.#world.trace?.hide(grantSecrets(record.grant));
    return record;
  }

  /** Undefined without a file that this key opens: treated as never logged in. */
  async #unsealed(name: string): Promise<string | undefined> {
    const path = join(this.#dir, name);
    const found = await this.#world.files.find(path);
    if (found?.kind !== "file" || found.bytes > LOGIN_LIMITS.grantMaxBytes) return undefined;
    const text = await this.#world.files.readText(path).catch(() => undefined); // removed meanwhile
    if (text === undefined) return undefined;
    const opened = await this.#vault.unseal(text, name);
    if (opened === undefined) this.#world.log.warn("grants.unreadable", { file: path });
    return opened;
  }

  async #seal(name: string, text: string): Promise<void> {
    await this.#world.files.writeAtomic(join(this.#dir, name), await this.#vault.seal(text, name));
  }

  async #nameOf({ issuer, resource, account }: GrantKey): Promise<string> {
    const [place, by] = await Promise.all([
      this.#digest("resource", resource, account),
      this.#digest("issuer", issuer),
    ]);
    return `${place}-${by}.grant`;
  }

  async #digest(...parts: readonly string[]): Promise<string> {
    const salt = await this.#vault.salt();
    return createHmac("sha256", salt).update(JSON.stringify(parts)).digest("hex").slice(0, 32);
  }
}

interface GrantRecord {
  readonly key: GrantKey;
  readonly grant: Grant;
}

/** Undefined for anything that is not a record. */
function readRecord(text: string | undefined): GrantRecord | undefined {
  const { key, grant } = parseObject(text ?? "") ?? {};
  if (!isJsonObject(key) || !isJsonObject(grant)) return undefined;
  const { issuer, resource, account } = key;
  const { accessToken, tokenEndpoint } = grant;
  const client = isJsonObject(grant["client"]) ? clientOf(grant["client"]) : undefined;
  if (!isText(issuer) || !isText(resource) || !isText(account)) return undefined;
  if (!isText(accessToken) || !isText(tokenEndpoint) || !client) return undefined;
  const optional = { ...picked(grant, GRANT_TEXTS, isText), ...picked(grant, GRANT_NUMBERS, isNumber) };
  return { key: { issuer, resource, account }, grant: { accessToken, client, tokenEndpoint, ...optional } };
}

const GRANT_NUMBERS = ["expiresAtMs", "obtainedAtMs"] as const;
const GRANT_TEXTS = [
  ...(["refreshToken", "scope", "revocationEndpoint", "resourceIndicator", "missingScope"] as const),
  ...(["dpopKey", "idToken", "audience"] as const),
] as const;

function clientOf(written: JsonObject): OAuthClient | undefined {
  const { clientId, redirectUris } = written;
  if (!isText(clientId)) return undefined;
  return {
    clientId,
    ...picked(written, ["clientSecret", "authMethod"], isText),
    ...picked(written, ["secretExpiresAtMs"], isNumber),
    ...(Array.isArray(redirectUris) ? { redirectUris: redirectUris.filter(isText) } : {}),
  };
}

/** The fields of these names that have the type. */
function picked<Name extends string, T>(
  written: JsonObject,
  names: readonly Name[],
  isType: (value: unknown) => value is T,
): { [Key in Name]?: T } {
  const found: { [Key in Name]?: T } = {};
  for (const name of names) {
    const value = written[name];
    if (isType(value)) found[name] = value;
  }
  return found;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

export interface AccountOwner {
  readonly origin: "user" | "project" | "client";
  /** The account in the user's entry. */
  readonly account?: string | undefined;
  /** The project's real path, for a project's server. */
  readonly project?: string | undefined;
  /** The log-in settings of its entry. */
  readonly oauth?: Pick<OAuthSettings, "clientId"> | undefined;
}

/**
 * The account in a grant's key. It separates the user's log-ins from those of each project, by its path, and from those of
 * editors, whose servers may come from project files. A configured client is part of it: its log-ins are its own.
 */
export function grantAccount(owner: AccountOwner): string {
  const clientId = owner.oauth?.clientId;
  return clientId === undefined ? grantPerson(owner) : `${grantPerson(owner)} as ${clientId}`;
}

/** The account at an identity provider: the same for all servers and clients of a person. */
export function grantPerson({ origin, account, project }: AccountOwner): string {
  switch (origin) {
    case "user":
      return account ?? "default";
    case "project":
      return `@project-${hashJson({ project: project ?? null }).slice(0, 16)}`;
    case "client":
      return "@client";
  }
}
