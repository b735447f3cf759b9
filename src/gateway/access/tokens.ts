// The tokens of a gateway: their hashes in a file or a database, changed under a lock, and followed by every gateway that runs.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { handled } from "../../base/async/scope.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { withFileLock } from "../../base/io/file-lock.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import type { Timer, Watch, World } from "../../base/ports/world.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { ListedToken, Scope } from "../protocol.js";
import { isAccountName, type Principal, SCOPES } from "./principal.js";

const PREFIX = "tng_";
/** Of the cookie of a device: no cookie is taken as a token, and no token as a cookie. */
const DEVICE_PREFIX = "tnd_";

export interface NewToken {
  readonly name: string;
  readonly account?: string;
  /** Besides `read`, which every token has. */
  readonly scopes?: readonly Scope[];
  /** Undefined: 90 days. Infinity: never. */
  readonly expiresInMs?: number;
}

/** A browser that was let in: by a pairing code, or by a token, with whose end it ends. */
export interface NewDevice extends Required<Pick<NewToken, "name" | "account" | "scopes">> {
  readonly parent?: string;
  readonly expiresInMs?: number;
}

export interface KeptToken extends ListedToken {
  /** SHA-256, in hex. A token has 256 random bits, so no slower function is needed. */
  readonly hash: string;
}

export type TokenVerdict = Principal | "unknown" | "expired" | "revoked";

/** Where tokens are kept. */
export interface TokenStorage {
  /** For people and logs. */
  readonly place: string;
  /**
   * In a database, which is looked at from time to time, and for an unknown token; one that is away changes nothing. A file is
   * followed at once, and lets nobody in when it is damaged.
   */
  readonly isShared: boolean;
  read(): Promise<readonly KeptToken[]>;
  /** For who watches: what this has seen is not told any more. Other readers must not end that, or a revoked token would stay good. */
  readWatched(): Promise<readonly KeptToken[]>;
  /** Under a lock of all processes and nodes. What the edit throws is thrown; what it returns unchanged is not written. */
  change(edit: (tokens: readonly KeptToken[]) => readonly KeptToken[]): Promise<void>;
  /** Calls `onChange` within a second after a change by anybody, and until `readWatched` has seen it. */
  watch(onChange: () => void): Watch;
}

/** Changes of the tokens, by any process. */
export class Tokens {
  readonly #world: Pick<World, "now" | "randomBytes">;
  readonly storage: TokenStorage;

  constructor(world: Pick<World, "now" | "randomBytes">, storage: TokenStorage) {
    this.#world = world;
    this.storage = storage;
  }

  async list(): Promise<readonly ListedToken[]> {
    return (await this.storage.read()).map(listed);
  }

  /** `token` is shown to the person now and is kept nowhere. Throws `usage.invalid`. */
  async create(given: NewToken): Promise<{ readonly token: string; readonly listed: ListedToken }> {
    const { name, account = "me", scopes = ["read"], expiresInMs = GATEWAY_LIMITS.tokens.expireMs } = given;
    checkNew(name, account, expiresInMs);
    const token = PREFIX + Buffer.from(this.#world.randomBytes(32)).toString("base64url");
    const nowMs = this.#world.now();
    const made: KeptToken = {
      id: Buffer.from(this.#world.randomBytes(6)).toString("hex"),
      name,
      account,
      // Without `read` a client could not even begin.
      scopes: SCOPES.filter((scope) => scope === "read" || scopes.includes(scope)),
      createdAt: nowMs,
      ...defined({ expiresAt: Number.isFinite(expiresInMs) ? nowMs + expiresInMs : undefined }),
      hash: hashOf(token),
    };
    await this.storage.change((tokens) => {
      const current = tokens.filter((one) => !isLongOver(one, nowMs));
      if (current.some((one) => one.name === name && !one.isDevice && isGood(one, nowMs))) {
        throw new TenonError("usage.invalid", `there is a token "${name}" already`, {
          hint: `Choose another name, or revoke it first: tenon gateway token revoke ${name}`,
        });
      }
      return withRoom(current, made);
    });
    return { token, listed: listed(made) };
  }

  /** `cookie` goes to the browser and is kept nowhere. Of the log-ins by one token the oldest gives way to one too many. */
  async createDevice(given: NewDevice): Promise<{ readonly cookie: string; readonly listed: ListedToken }> {
    const { name, account, scopes, parent, expiresInMs = GATEWAY_LIMITS.tokens.expireMs } = given;
    const cookie = DEVICE_PREFIX + Buffer.from(this.#world.randomBytes(32)).toString("base64url");
    const nowMs = this.#world.now();
    const made: KeptToken = {
      id: Buffer.from(this.#world.randomBytes(6)).toString("hex"),
      ...{ name, account, scopes: SCOPES.filter((scope) => scope === "read" || scopes.includes(scope)) },
      ...{ createdAt: nowMs, expiresAt: nowMs + expiresInMs, isDevice: true, hash: hashOf(cookie) },
      ...defined({ parent }),
    };
    await this.storage.change((tokens) => {
      const current = tokens.filter((one) => !isLongOver(one, nowMs));
      // Those that are over count too: nobody fills the file by coming and going.
      const siblings = current.filter((one) => parent !== undefined && one.parent === parent);
      const worst = siblings.toSorted((one, other) => Number(isGood(one, nowMs)) - Number(isGood(other, nowMs)));
      const surplus = worst.slice(0, Math.max(0, siblings.length - GATEWAY_LIMITS.page.loginsPerToken + 1));
      return withRoom(
        current.filter((one) => !surplus.includes(one)),
        made,
      );
    });
    return { cookie, listed: listed(made) };
  }

  /** Undefined: there is none of this id. */
  async removeDevice(id: string): Promise<ListedToken | undefined> {
    let removed: KeptToken | undefined;
    await this.storage.change((tokens) => {
      removed = tokens.find((one) => one.id === id && one.isDevice);
      return removed ? tokens.filter((one) => one !== removed) : tokens;
    });
    return removed && listed(removed);
  }

  /**
   * By id, or by name, which devices give themselves: it never means one of them. Undefined: there is none, or it is revoked
   * already. Throws `usage.invalid` where several have the name.
   */
  async revoke(which: string): Promise<ListedToken | undefined> {
    const nowMs = this.#world.now();
    let revoked: KeptToken | undefined;
    await this.storage.change((tokens) => {
      const left = tokens.filter((one) => one.revokedAt === undefined);
      const named = left.filter((one) => one.name === which && !one.isDevice);
      const good = named.filter((one) => isGood(one, nowMs));
      const byId = left.find((one) => one.id === which);
      const [found, ...others] = byId ? [byId] : good.length > 0 ? good : named;
      if (!found) return tokens;
      if (others.length > 0) {
        const ids = [found, ...others].map(({ id }) => id).join(", ");
        throw new TenonError("usage.invalid", `several tokens are called ${JSON.stringify(which)}: ${ids}`, {
          hint: "Name the one that is meant by its id; tenon gateway token list shows them.",
        });
      }
      revoked = { ...found, revokedAt: nowMs };
      return tokens.map((one) => (one === found ? { ...found, revokedAt: nowMs } : one));
    });
    return revoked && listed(revoked);
  }
}

class TokenFile implements TokenStorage {
  readonly #world: World;
  readonly place: string;
  readonly isShared = false;

  constructor(world: World, stateDir: string) {
    this.#world = world;
    this.place = join(stateDir, "gateway", "tokens.json");
  }

  watch(onChange: () => void): Watch {
    return this.#world.watch(this.place, onChange);
  }

  async change(edit: (tokens: readonly KeptToken[]) => readonly KeptToken[]): Promise<void> {
    const heldTooLong = (heldBy: number) =>
      new TenonError("config.unreadable", `process ${heldBy} has kept the lock of ${this.place} for too long`);
    await withFileLock(this.#world, `${this.place}.lock`, { ...GATEWAY_LIMITS.tokenLock, heldTooLong }, async () => {
      const before = await this.read();
      const after = edit(before);
      if (after === before) return;
      await this.#world.files.writeAtomic(
        this.place,
        `${JSON.stringify({ version: 1, tokens: after }, undefined, 2)}\n`,
      );
    });
  }

  readWatched(): Promise<readonly KeptToken[]> {
    return this.read();
  }

  /** None where there is no file. Throws `config.invalid` for one that is damaged: nobody gets in by it, and nobody overwrites it. */
  async read(): Promise<readonly KeptToken[]> {
    const found = await this.#world.files.find(this.place);
    if (!found) return [];
    const invalid = (why: string) =>
      new TenonError("config.invalid", `${this.place} ${why}`, {
        hint: "Restore it, or remove it and create new tokens: tenon gateway token create NAME.",
      });
    if (found.bytes > GATEWAY_LIMITS.tokens.maxFileBytes) throw invalid(`has ${found.bytes} bytes`);
    const parsed = parseJson(await this.#world.files.readText(this.place));
    if (!parsed.ok) throw invalid(`is no JSON: ${parsed.reason}`);
    const tokens = isJsonObject(parsed.value) ? parsed.value["tokens"] : undefined;
    if (!Array.isArray(tokens)) throw invalid("has no list of tokens");
    return tokens.map((token: JsonValue, index) => {
      const kept = isJsonObject(token) ? keptToken(token) : undefined;
      if (!kept) throw invalid(`has a malformed token (number ${index + 1})`);
      return kept;
    });
  }
}

export function tokensInFile(world: World, stateDir: string): Tokens {
  return new Tokens(world, new TokenFile(world, stateDir));
}

function withRoom(tokens: readonly KeptToken[], made: KeptToken): readonly KeptToken[] {
  if (tokens.length < GATEWAY_LIMITS.tokens.max) return [...tokens, made];
  throw new TenonError("usage.invalid", `there are ${tokens.length} tokens, which is the most there may be`, {
    hint: "Revoke those that nobody uses: tenon gateway token list shows when each was used last.",
  });
}

export function isTokenName(text: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,63}$/u.test(text);
}

function checkNew(name: string, account: string, expiresInMs: number): void {
  const fail = (what: string): never => {
    throw new TenonError("usage.invalid", what, { hint: "" });
  };
  if (!isTokenName(name)) fail("the name of a token has 1 to 64 letters, digits, spaces or ._@-");
  if (!isAccountName(account)) fail("an account has 1 to 64 characters out of a-z, 0-9 and ._-");
  if (!(expiresInMs > 0)) fail("a token must be good for more than no time");
}

function keptToken(raw: JsonObject): KeptToken | undefined {
  const { id, name, account, hash } = raw;
  const scopes: unknown = raw["scopes"];
  const time = (field: string) => {
    const value = raw[field];
    return typeof value === "number" && Number.isFinite(value) ? value : undefined;
  };
  const createdAt = time("createdAt");
  const isWhole = typeof id === "string" && typeof name === "string" && typeof account === "string";
  if (!isWhole || typeof hash !== "string" || createdAt === undefined || !Array.isArray(scopes)) return undefined;
  // A time that cannot be read must not become "never".
  const hasOddTime = ["expiresAt", "revokedAt"].some((field) => raw[field] != null && time(field) === undefined);
  if (hasOddTime || !isAccountName(account) || !/^[0-9a-f]{64}$/u.test(hash)) return undefined;
  return {
    id,
    name,
    account,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    createdAt,
    hash,
    ...defined({ isDevice: raw["isDevice"] === true ? true : undefined, parent: textOf(raw["parent"]) }),
    ...defined({ expiresAt: time("expiresAt"), lastUsedAt: time("lastUsedAt"), revokedAt: time("revokedAt") }),
  };
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function listed({ hash: _secret, ...rest }: KeptToken): ListedToken {
  return rest;
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

function isGood({ expiresAt, revokedAt }: KeptToken, nowMs: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || expiresAt > nowMs);
}

function isLongOver({ expiresAt, revokedAt, isDevice }: KeptToken, nowMs: number): boolean {
  const overAt = Math.min(revokedAt ?? Number.POSITIVE_INFINITY, expiresAt ?? Number.POSITIVE_INFINITY);
  const { keepOldMs, keepOldDeviceMs } = GATEWAY_LIMITS.tokens;
  return overAt + (isDevice ? keepOldDeviceMs : keepOldMs) < nowMs;
}

/** The tokens as a running gateway knows them: read again as soon as they change. */
export class LiveTokens implements AsyncDisposable {
  readonly kept: Tokens;
  readonly #world: World;
  readonly #watch: Watch;
  readonly #used = new Map<string, number>();
  #byHash: ReadonlyMap<string, KeptToken> = new Map();
  #byId: ReadonlyMap<string, KeptToken> = new Map();
  #onGone: (tokenId: string) => void = () => {};
  #reading: Promise<void> | undefined;
  #isStale = false;
  #writing: Timer | undefined;
  #isClosed = false;

  constructor(world: World, kept: Tokens) {
    this.#world = world;
    this.kept = kept;
    this.#watch = kept.storage.watch(() => this.#changed());
  }

  /** Resolves once they have been read. */
  async ready(): Promise<void> {
    this.#changed();
    await this.#reading;
  }

  /** Where other nodes make them: one that is not known may be a moment old. Undefined: there is nothing to wait for. */
  lookFor(secret: string): Promise<void> | undefined {
    const isOne = secret.startsWith(PREFIX) || secret.startsWith(DEVICE_PREFIX);
    return isOne && this.kept.storage.isShared && !this.#byHash.has(hashOf(secret)) ? this.ready() : undefined;
  }

  /** Called for every token that is revoked, removed, or cannot be read any more. */
  onGone(listener: (tokenId: string) => void): void {
    this.#onGone = listener;
  }

  /** A lookup by hash: how long it takes says nothing about the tokens there are. */
  verify(token: string): TokenVerdict {
    return this.#verify(token, PREFIX);
  }

  /** Of a device. One that was let in by a token is as good as that token. */
  verifyCookie(cookie: string): TokenVerdict {
    return this.#verify(cookie, DEVICE_PREFIX);
  }

  #verify(secret: string, prefix: string): TokenVerdict {
    const found = secret.startsWith(prefix) ? this.#byHash.get(hashOf(secret)) : undefined;
    if (!found || (found.isDevice === true) !== (prefix === DEVICE_PREFIX)) return "unknown";
    const parent = found.parent === undefined ? found : this.#byId.get(found.parent);
    if (!parent || parent.revokedAt !== undefined || found.revokedAt !== undefined) return "revoked";
    const nowMs = this.#world.now();
    if (!isGood(found, nowMs) || !isGood(parent, nowMs)) return "expired";
    for (const { id } of [found, parent]) this.#used.set(id, nowMs);
    this.#writing ??= this.#world.after(GATEWAY_LIMITS.tokens.usedEveryMs, () => {
      this.#writing = undefined;
      handled(this.#writeUsed(), this.#world.log, "write the last use of tokens");
    });
    const { account, scopes, name, id: tokenId } = found;
    const ends = [found.expiresAt, parent.expiresAt].filter((end) => end !== undefined);
    const expiresAt = ends.length === 0 ? undefined : Math.min(...ends);
    const rest = defined({ expiresAt, parentId: found.parent });
    return { account, scopes: new Set(scopes), name, tokenId, isLocal: false, ...rest };
  }

  #changed(): void {
    this.#isStale = true;
    if (this.#isClosed || this.#reading) return;
    this.#reading = this.#read().finally(() => {
      this.#reading = undefined;
    });
    handled(this.#reading, this.#world.log, "read tokens");
  }

  async #read(): Promise<void> {
    while (this.#isStale && !this.#isClosed) {
      this.#isStale = false;
      const { storage } = this.kept;
      const tokens = await storage.readWatched().catch((error: unknown) => {
        this.#world.log.error("gateway.tokens_unreadable", { path: storage.place, error: messageOf(error) });
        return storage.isShared ? [...this.#byId.values()] : [];
      });
      const before = [...this.#byId.values()].filter((token) => this.#isThere(token));
      this.#byHash = new Map(tokens.map((token) => [token.hash, token]));
      this.#byId = new Map(tokens.map((token) => [token.id, token]));
      for (const token of before) if (!this.#isThere(token)) this.#onGone(token.id);
    }
  }

  /** Neither revoked nor removed, and the token it came by likewise. */
  #isThere({ id, hash, parent }: KeptToken): boolean {
    const isKept = (one: KeptToken | undefined) => one !== undefined && one.revokedAt === undefined;
    return isKept(this.#byHash.get(hash)) && isKept(this.#byId.get(parent ?? id));
  }

  async #writeUsed(): Promise<void> {
    const used = new Map(this.#used);
    this.#used.clear();
    if (used.size === 0) return;
    await this.kept.storage.change((tokens) =>
      tokens.map((token) => ({ ...token, ...defined({ lastUsedAt: used.get(token.id) ?? token.lastUsedAt }) })),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#watch.close();
    this.#writing?.clear();
    await this.#reading?.catch(() => {});
    await this.#writeUsed().catch((error: unknown) =>
      this.#world.log.warn("gateway.token_use_lost", { error: messageOf(error) }),
    );
  }
}
