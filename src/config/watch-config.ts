// Configurations that follow their files. Each directory is read and watched once, for all sessions of a host in it.
import { Cell, type ReadonlyCell } from "../base/async/cell.js";
import { orAborted } from "../base/async/deadline.js";
import { Scope } from "../base/async/scope.js";
import type { Timer, Watch } from "../base/ports/world.js";
import type * as Layers from "./collect-layers.js";
import type { ConfigRequest, LayerSet } from "./collect-layers.js";
import { CONFIG_LIMITS } from "./limits.js";
import type * as Loading from "./load-config.js";
import type { EffectiveConfig, LoadRequest } from "./load-config.js";
import { Secrets } from "./secrets/secrets.js";

type ClientServers = ConfigRequest["clientServers"];

export interface WatchRequest extends LoadRequest {
  /** Watches each directory once for all requests that give the same object. */
  readonly shared?: SharedConfigs;
}

/** Loads, then watches. The first value is there at once; servers whose secrets take longer come with a later one. */
export async function watchConfig(request: WatchRequest): Promise<ConfigWatch> {
  return await (request.shared ?? new SharedConfigs()).watch(request);
}

/** The directories that sessions of one host have open. Sessions differ only in the servers their client sent. */
export class SharedConfigs {
  readonly #directories = new Map<string, DirectoryConfig>();

  async watch(request: LoadRequest): Promise<ConfigWatch> {
    // Programs that read no configuration do without what reads it.
    const [{ readLayers }, { loadWith }] = await Promise.all([
      import("./collect-layers.js"),
      import("./load-config.js"),
    ]);
    const key = JSON.stringify([request.cwd, request.commandLine]);
    const forget = () => this.#directories.delete(key);
    const directory = this.#directories.get(key) ?? new DirectoryConfig(request, { readLayers, loadWith }, forget);
    this.#directories.set(key, directory);
    return await directory.open(request.clientServers);
  }
}

type Reading = Pick<typeof Layers, "readLayers"> & Pick<typeof Loading, "loadWith">;

/** The files of one directory: read once for each change, watched while a session uses them. */
class DirectoryConfig {
  readonly #request: LoadRequest;
  readonly #reading: Reading;
  readonly secrets: Secrets;
  /** How each session reloads. */
  readonly sessions: Set<() => Promise<void>> = new Set();
  readonly #scope: Scope;
  readonly #onUnused: () => void;
  readonly #watches = new Map<string, Watch>();
  /** Loads under way, by the client's servers. */
  readonly #loading = new Map<string, Promise<EffectiveConfig>>();
  #layers: Promise<LayerSet> | undefined;
  #timer: Timer | undefined;
  #openCount = 0;
  #isWaiting = false;

  constructor(request: LoadRequest, reading: Reading, onUnused: () => void) {
    this.#request = request;
    this.#reading = reading;
    this.secrets = new Secrets(request.world, request.resolveSecret);
    this.#scope = new Scope(request.world.log);
    this.#onUnused = onUnused;
  }

  async open(clientServers: ClientServers): Promise<ConfigWatch> {
    this.#openCount += 1;
    if (this.secrets.forgetFailures()) this.#loading.clear(); // a new session asks again, and not by a load that has a failure already
    const first = await this.load(clientServers).catch(async (error: unknown) => {
      await this.close(); // as if it had never been opened: the next session tries again
      throw error;
    });
    // Between the first load and the first watch a file may have changed unseen.
    if (this.sessions.size === 0) this.#reloadSoon();
    return new ConfigWatch(this, clientServers, first);
  }

  /** The files are read once between two changes; approvals and programs are looked at again, since nothing watches those. */
  async load(clientServers: ClientServers): Promise<EffectiveConfig> {
    const key = JSON.stringify(clientServers ?? []);
    const loading = this.#loading.get(key) ?? this.#loadNow(clientServers);
    this.#loading.set(key, loading);
    try {
      const config = await loading;
      this.#follow(config);
      return config;
    } catch (error) {
      this.#layers = undefined; // a failure is not kept
      throw error;
    } finally {
      if (this.#loading.get(key) === loading) this.#loading.delete(key);
    }
  }

  async #loadNow(clientServers: ClientServers): Promise<EffectiveConfig> {
    const { readLayers, loadWith } = this.#reading;
    this.#layers ??= readLayers(this.#request);
    using patience = this.#request.world.deadline(CONFIG_LIMITS.secretPatienceMs);
    const request = { ...this.#request, clientServers: clientServers ?? [] };
    return await loadWith(request, this.secrets, patience.signal, this.#layers);
  }

  /** What was read is read again when next wanted. */
  invalidate(): void {
    this.#layers = undefined;
    this.#loading.clear();
  }

  async close(): Promise<void> {
    this.#openCount -= 1;
    if (this.#openCount > 0) return;
    this.#onUnused();
    this.#timer?.clear();
    for (const watch of this.#watches.values()) watch.close();
    this.#watches.clear();
    await this.#scope.close();
  }

  /** Editors write in several steps, and people save twice: one load for all that comes close together. */
  #reloadSoon(): void {
    if (this.#scope.isClosed) return;
    this.#timer?.clear();
    this.#timer = this.#request.world.after(CONFIG_LIMITS.configQuietMs, () => {
      this.#scope.run("reload the configuration", () => this.reloadAll());
    });
  }

  async reloadAll(): Promise<void> {
    this.invalidate();
    await Promise.all([...this.sessions].map((reload) => reload()));
  }

  #follow({ watched, servers }: EffectiveConfig): void {
    if (this.#scope.isClosed) return;
    for (const [path, watch] of this.#watches) {
      if (watched.includes(path)) continue;
      watch.close();
      this.#watches.delete(path);
    }
    for (const path of watched) {
      if (this.#watches.has(path)) continue;
      const watch = this.#request.world.watch(path, () => {
        this.invalidate();
        this.secrets.forgetFailures();
        this.#reloadSoon();
      });
      this.#watches.set(path, watch);
    }
    const isWaiting = servers.some((server) => server.status === "disabled" && server.isWaiting);
    if (!isWaiting || this.#isWaiting) return;
    this.#isWaiting = true;
    this.#scope.run("wait for secrets", async (signal) => {
      await orAborted(this.secrets.idle(), signal).catch(() => undefined);
      this.#isWaiting = false;
      this.#reloadSoon();
    });
  }
}

/** The configuration of one session. */
export class ConfigWatch implements AsyncDisposable {
  readonly #directory: DirectoryConfig;
  readonly #config: Cell<EffectiveConfig>;
  readonly #reload = () => this.#load();
  #clientServers: ClientServers;
  #loading: Promise<void> | undefined;
  #isStale = false;
  #isClosed = false;

  constructor(directory: DirectoryConfig, clientServers: ClientServers, first: EffectiveConfig) {
    this.#directory = directory;
    this.#clientServers = clientServers;
    this.#config = new Cell(first);
    directory.sessions.add(this.#reload);
  }

  /** Changes only when something in it really did. */
  get config(): ReadonlyCell<EffectiveConfig> {
    return this.#config;
  }

  /** Reads everything again now: after an approval, or after the client sent other servers. */
  async reload(change: Pick<ConfigRequest, "clientServers"> = {}): Promise<EffectiveConfig> {
    this.#clientServers = change.clientServers ?? this.#clientServers;
    this.#directory.secrets.forgetFailures();
    this.#directory.invalidate();
    await this.#load();
    return this.#config.value;
  }

  /** A server refused these values: those that a command or the keyring gave are fetched again, for all sessions that have them. */
  async refetch(values: readonly string[]): Promise<void> {
    if (!this.#directory.secrets.forgetValues(values)) return;
    this.#directory.secrets.forgetFailures();
    await this.#directory.reloadAll();
  }

  /** Reads everything again when something could not be read: no change of a file tells that the disk works again. */
  async retry(): Promise<void> {
    if (!this.#config.value.problems.some(({ severity }) => severity === "error")) return;
    this.#directory.invalidate();
    await this.#load();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#directory.sessions.delete(this.#reload);
    await this.#directory.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** One load at a time; a change that comes during one is followed by another. */
  async #load(): Promise<void> {
    this.#isStale = true;
    this.#loading ??= this.#loadUntilFresh().finally(() => {
      this.#loading = undefined;
    });
    await this.#loading;
  }

  async #loadUntilFresh(): Promise<void> {
    while (this.#isStale && !this.#isClosed) {
      this.#isStale = false;
      const config = this.#withoutLoss(await this.#directory.load(this.#clientServers));
      if (this.#isClosed) return;
      if (JSON.stringify(config) !== JSON.stringify(this.#config.value)) this.#config.set(config);
    }
  }

  /** A disk that fails for a moment takes away no server and no rule: what held before holds until the files can be read. */
  #withoutLoss(loaded: EffectiveConfig): EffectiveConfig {
    const unread = loaded.problems.filter(({ isUnread }) => isUnread === true);
    if (unread.length === 0) return loaded;
    const { value: before } = this.#config;
    return { ...before, problems: [...before.problems.filter(({ isUnread }) => !isUnread), ...unread] };
  }
}
