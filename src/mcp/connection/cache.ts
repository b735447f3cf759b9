// What is remembered of servers on disk: which era they speak, which tools they had, whether they ask. Nothing about how they are reached.
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { Pace } from "../../base/async/pace.js";
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, measure, parseObject } from "../../base/json/json.js";
import { recorded } from "../../base/ports/trace.js";
import type { World } from "../../base/ports/world.js";
import { MCP_LIMITS, POOL_LIMITS } from "../limits.js";
import { internTools, type McpTool, readTool } from "../protocol/tools.js";

/** What survives the process, keyed by the launch fingerprint. Both sides may fail silently: it is only a cache. */
export interface ServerCache {
  readEra(fingerprint: string): Promise<"legacy" | "modern" | undefined>;
  /** Undefined: it is not known any more. */
  writeEra(fingerprint: string, era: "legacy" | "modern" | undefined): Promise<void>;
  readTools(fingerprint: string): Promise<CachedTools | undefined>;
  writeTools(fingerprint: string, tools: CachedTools): Promise<void>;
  /** How it started the last time; undefined when that is not known. Optional, as the next two. */
  readStart?(fingerprint: string): Promise<KnownStart | undefined>;
  writeStart?(fingerprint: string, start: KnownStart): Promise<void>;
  /** Whether the server was seen to ask something of its client; without these that is known to this process only. */
  readAsks?(fingerprint: string): Promise<boolean>;
  writeAsks?(fingerprint: string): Promise<void>;
}

export interface KnownStart {
  /** How long it usually takes to be ready; undefined when it did not become ready the last time. */
  readonly readyMs: number | undefined;
}

export interface CachedTools {
  readonly serverVersion: string;
  readonly tools: readonly McpTool[];
}

const FORMAT = 1;
/** Writes of one process between two looks at all there is. */
const TIDY_EVERY = 20;
const DAY_MS = 86_400_000;
const KEY_FILE = "key";

type EntryKind = "era" | "tools" | "asks" | "start";

/** A start that differs from the usual one by less is not worth a write. */
const START_CHANGE = 0.25;

export interface DiskCacheOptions {
  readonly world: World;
  /** A folder of its own: what is in it may be evicted. */
  readonly dir: string;
  /** Names the entries; otherwise a key is made and kept beside them. */
  readonly hmacKey?: string;
}

/**
 * Entries are files named by an HMAC of the fingerprint under a local key, so that what is on disk does not tell, even to
 * someone who guesses, which servers are used. Whatever goes wrong here is logged and costs only the warm start.
 */
export function diskCache(options: DiskCacheOptions): ServerCache {
  return new DiskCache(options);
}

/** For as long as the process: where nothing else outlives it, files would cost every start several looks at the disk. */
export function memoryCache(world: Pick<World, "monotonicMs">): ServerCache {
  const eras = new Recent<"legacy" | "modern">(world, MCP_LIMITS.eraMaxAgeMs);
  const tools = new Recent<CachedTools>(world);
  const starts = new Recent<KnownStart>(world);
  const asks = new Recent<true>(world, POOL_LIMITS.asksMaxAgeMs);
  return {
    readEra: async (fingerprint) => eras.get(fingerprint),
    writeEra: async (fingerprint, era) => {
      if (eras.get(fingerprint) !== era) eras.set(fingerprint, era); // the age stays that of the first verdict
    },
    readTools: async (fingerprint) => tools.get(fingerprint),
    writeTools: async (fingerprint, listed) =>
      tools.set(fingerprint, listed.tools.length <= MEMORY.toolsOfServer ? listed : undefined),
    readStart: async (fingerprint) => starts.get(fingerprint),
    writeStart: async (fingerprint, start) => starts.set(fingerprint, start),
    readAsks: async (fingerprint) => asks.get(fingerprint) ?? false,
    writeAsks: async (fingerprint) => asks.set(fingerprint, true),
  };
}

const MEMORY = { servers: 100, toolsOfServer: 1_000 } as const;

/** Those that were set last, while they are not too old. */
class Recent<T> {
  readonly #world: Pick<World, "monotonicMs">;
  readonly #maxAgeMs: number;
  readonly #values = new Map<string, { readonly value: T; readonly sinceMs: number }>();

  constructor(world: Pick<World, "monotonicMs">, maxAgeMs: number = Number.POSITIVE_INFINITY) {
    this.#world = world;
    this.#maxAgeMs = maxAgeMs;
  }

  get(key: string): T | undefined {
    const known = this.#values.get(key);
    return known && this.#world.monotonicMs() - known.sinceMs < this.#maxAgeMs ? known.value : undefined;
  }

  set(key: string, value: T | undefined): void {
    this.#values.delete(key);
    if (value === undefined) return;
    this.#values.set(key, { value, sinceMs: this.#world.monotonicMs() });
    const [oldest] = this.#values.keys();
    if (this.#values.size > MEMORY.servers && oldest !== undefined) this.#values.delete(oldest);
  }
}

class DiskCache implements ServerCache {
  readonly #world: World;
  readonly #dir: string;
  #key: Promise<string> | undefined;
  #tidying: Promise<void> | undefined;
  #writes = 0;
  #starts: Promise<void> = Promise.resolve();

  constructor({ world, dir, hmacKey }: DiskCacheOptions) {
    this.#world = world;
    this.#dir = dir;
    if (hmacKey !== undefined) this.#key = Promise.resolve(hmacKey);
  }

  async readEra(fingerprint: string): Promise<"legacy" | "modern" | undefined> {
    const entry = await this.#read("era", fingerprint);
    const ageMs = this.#ageMs(entry);
    return ageMs === undefined || ageMs >= MCP_LIMITS.eraMaxAgeMs ? undefined : eraOf(entry?.["era"]);
  }

  /** The date stays that of the first verdict: renewed with every start, it would never be put to the test again. */
  async writeEra(fingerprint: string, era: "legacy" | "modern" | undefined): Promise<void> {
    if ((await this.readEra(fingerprint)) !== era) await this.#write("era", fingerprint, { era: era ?? null });
  }

  async readTools(fingerprint: string): Promise<CachedTools | undefined> {
    const cached = cachedTools(await this.#read("tools", fingerprint));
    // Shared like a live list: when the server then sends the same one, nothing changes for the session.
    return cached && { ...cached, tools: await internTools(cached.tools, Pace.of(this.#world)) };
  }

  async writeTools(fingerprint: string, { serverVersion, tools }: CachedTools): Promise<void> {
    let bytes = 0;
    for (const tool of tools) bytes += measure(asJson(tool), MCP_LIMITS.listEntry).bytes;
    if (bytes > MCP_LIMITS.cacheMaxEntryBytes) return; // parsing it would hold up the very start it is for
    await this.#write("tools", fingerprint, { serverVersion, tools: tools.map((tool) => asJson(tool)) });
  }

  async readStart(fingerprint: string): Promise<KnownStart | undefined> {
    return knownStart(await this.#read("start", fingerprint));
  }

  /** One after the other: the last one counts, and each is compared with the one before. */
  writeStart(fingerprint: string, start: KnownStart): Promise<void> {
    this.#starts = this.#starts.then(() => this.#writeStart(fingerprint, start));
    return this.#starts;
  }

  async #writeStart(fingerprint: string, { readyMs }: KnownStart): Promise<void> {
    const usualMs = (await this.readStart(fingerprint))?.readyMs;
    const isUsual =
      usualMs !== undefined && readyMs !== undefined && Math.abs(readyMs - usualMs) < usualMs * START_CHANGE;
    if (!isUsual) await this.#write("start", fingerprint, { readyMs: readyMs ?? null });
  }

  async readAsks(fingerprint: string): Promise<boolean> {
    const ageMs = this.#ageMs(await this.#read("asks", fingerprint));
    return ageMs !== undefined && ageMs < POOL_LIMITS.asksMaxAgeMs;
  }

  async writeAsks(fingerprint: string): Promise<void> {
    await this.#write("asks", fingerprint, {});
  }

  async #read(kind: EntryKind, fingerprint: string): Promise<JsonObject | undefined> {
    try {
      const text = await this.#world.files.readText(await this.#path(kind, fingerprint));
      const entry = parseObject(text);
      return entry?.["v"] === FORMAT ? entry : undefined;
    } catch {
      return undefined; // never written, evicted, or not ours to read
    }
  }

  async #write(kind: EntryKind, fingerprint: string, content: JsonObject): Promise<void> {
    try {
      const before = await this.#read(kind, fingerprint);
      const ageMs = this.#ageMs(before);
      const text = JSON.stringify({ v: FORMAT, at: before?.["at"], ...content });
      const isFresh = ageMs !== undefined && ageMs < DAY_MS;
      if (isFresh && JSON.stringify(before) === text) return;
      const entry = JSON.stringify({ v: FORMAT, at: this.#world.now(), ...content });
      await this.#world.files.writeAtomic(await this.#path(kind, fingerprint), entry);
      if (this.#writes++ % TIDY_EVERY === 0) await this.#tidy();
    } catch (thrown) {
      this.#world.log.debug("mcp.cache_not_written", { kind, error: messageOf(thrown) });
    }
  }

  /** Undefined for what has no date, or one that is still to come: the clock was wrong then, or is now. */
  #ageMs(entry: JsonObject | undefined): number | undefined {
    const at = entry?.["at"];
    const ageMs = typeof at === "number" ? this.#world.now() - at : -1;
    return ageMs >= 0 ? ageMs : undefined;
  }

  async #path(kind: EntryKind, fingerprint: string): Promise<string> {
    this.#key ??= this.#loadKey();
    const name = createHmac("sha256", await this.#key)
      .update(fingerprint)
      .digest("hex");
    return join(this.#dir, `${name}.${kind}.json`);
  }

  /** Two processes that make the key at the same time: the later one's stays, the other finds nothing until next time. */
  async #loadKey(): Promise<string> {
    const path = join(this.#dir, KEY_FILE);
    const known = await this.#world.files.readText(path).catch(() => "");
    if (/^[0-9a-f]{64}$/.test(known)) return known;
    const key = Buffer.from(this.#world.randomBytes(32)).toString("hex");
    await this.#world.files.writeAtomic(path, key).catch((thrown: unknown) => {
      this.#world.log.debug("mcp.cache_key_not_written", { error: messageOf(thrown) });
    });
    return key;
  }

  /** Evicts the oldest until it is within bounds; what a crash left half written is old by then too. */
  async #tidy(): Promise<void> {
    this.#tidying ??= this.#evict().finally(() => {
      this.#tidying = undefined;
    });
    await this.#tidying;
  }

  async #evict(): Promise<void> {
    const entries = await this.#world.files.list(this.#dir);
    const oldestFirst = entries
      .filter(({ name }) => name !== KEY_FILE)
      .sort((one, other) => one.modifiedMs - other.modifiedMs);
    let bytes = oldestFirst.reduce((sum, entry) => sum + entry.bytes, 0);
    let count = oldestFirst.length;
    for (const entry of oldestFirst) {
      if (bytes <= MCP_LIMITS.cacheMaxBytes && count <= MCP_LIMITS.cacheMaxFiles) return;
      await this.#world.files.remove(join(this.#dir, entry.name));
      bytes -= entry.bytes;
      count -= 1;
    }
  }
}

function knownStart(entry: JsonValue | undefined): KnownStart | undefined {
  if (!isJsonObject(entry)) return undefined;
  const { readyMs } = entry;
  return { readyMs: typeof readyMs === "number" && readyMs >= 0 ? readyMs : undefined };
}

function cachedTools(entry: JsonValue | undefined): CachedTools | undefined {
  if (!isJsonObject(entry)) return undefined;
  const { serverVersion, tools } = entry;
  if (typeof serverVersion !== "string" || !Array.isArray(tools)) return undefined;
  const read = tools.flatMap((raw): McpTool[] => {
    const one = readTool(raw);
    return one.ok ? [one.item] : [];
  });
  return { serverVersion, tools: read };
}

/** Definitions and nothing else, whatever more the object may one day carry. */
function asJson(tool: McpTool): JsonObject {
  const { name, title, description, inputSchema, outputSchema, annotations, taskSupport } = tool;
  return {
    name,
    ...defined({ title }),
    description,
    inputSchema,
    ...defined({
      outputSchema,
      annotations: annotations === undefined ? undefined : { ...annotations },
      execution: taskSupport === undefined ? undefined : { taskSupport },
    }),
  };
}

/** The cache itself, unless a trace is recorded or replayed. */
export function recordedCache(cache: ServerCache, world: World): ServerCache {
  if (!world.trace && !world.replay) return cache;
  const ask = async <T>(
    what: string,
    fingerprint: string,
    work: () => Promise<T>,
    read: Read<T>,
  ): Promise<T | undefined> =>
    await recorded(world, { ask: `cached ${what}`, about: fingerprint, work, read }).catch(() => undefined);
  return {
    writeEra: (fingerprint, era) => cache.writeEra(fingerprint, era),
    writeTools: (fingerprint, tools) => cache.writeTools(fingerprint, tools),
    writeAsks: async (fingerprint) => await cache.writeAsks?.(fingerprint),
    writeStart: async (fingerprint, start) => await cache.writeStart?.(fingerprint, start),
    readStart: (fingerprint) => {
      const work = async () => (await cache.readStart?.(fingerprint)) ?? null;
      return ask("start", fingerprint, work, knownStart).then((known) => known ?? undefined);
    },
    readEra: (fingerprint) => ask("era", fingerprint, () => cache.readEra(fingerprint), eraOf),
    readTools: (fingerprint) => ask("tools", fingerprint, () => cache.readTools(fingerprint), cachedTools),
    readAsks: async (fingerprint) =>
      (await ask(
        "asks",
        fingerprint,
        async () => (await cache.readAsks?.(fingerprint)) ?? false,
        (asks) => asks === true,
      )) ?? false,
  };
}

type Read<T> = (recorded: JsonValue) => T | undefined;

function eraOf(recorded: JsonValue | undefined): "legacy" | "modern" | undefined {
  return recorded === "legacy" || recorded === "modern" ? recorded : undefined;
}
