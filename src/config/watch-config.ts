// A configuration that follows its files: edits, approvals given elsewhere, and secrets that came late, each told once.
import { Cell, type ReadonlyCell } from "../base/async/cell.js";
import { Scope } from "../base/async/scope.js";
import type { Timer, Watch } from "../base/ports/world.js";
import type { EffectiveConfig } from "./effective.js";
import { CONFIG_LIMITS } from "./limits.js";
import { type LoadRequest, loadWith } from "./load-config.js";
import type { ConfigRequest } from "./read-layers.js";
import { Secrets } from "./secrets/secrets.js";

export type ConfigChange = Pick<ConfigRequest, "clientServers" | "commandLine">;

/** Loads, then watches. The first value is there at once; servers whose secrets take longer come with a later one. */
export async function watchConfig(request: LoadRequest): Promise<ConfigWatch> {
  const secrets = new Secrets(request.world, request.resolveSecret);
  const watch = new ConfigWatch(request, secrets, await loadPatiently(request, secrets));
  return watch;
}

async function loadPatiently(request: ConfigRequest, secrets: Secrets): Promise<EffectiveConfig> {
  using patience = request.world.deadline(CONFIG_LIMITS.secretPatienceMs);
  return await loadWith(request, secrets, patience.signal);
}

export class ConfigWatch implements AsyncDisposable {
  readonly #secrets: Secrets;
  readonly #config: Cell<EffectiveConfig>;
  readonly #scope: Scope;
  readonly #watches = new Map<string, Watch>();
  #request: ConfigRequest;
  #timer: Timer | undefined;
  #loading: Promise<void> | undefined;
  #isStale = false;
  #isWaiting = false;

  constructor(request: ConfigRequest, secrets: Secrets, first: EffectiveConfig) {
    this.#request = request;
    this.#secrets = secrets;
    this.#config = new Cell(first);
    this.#scope = new Scope(request.world.log);
    this.#follow(first);
    // Between the first load and the first watch a file may have changed unseen.
    this.#soon();
  }

  /** Changes only when something in it really did. */
  get config(): ReadonlyCell<EffectiveConfig> {
    return this.#config;
  }

  /** Reads everything again now: after an approval, or after the client sent other servers. */
  async reload(change: Partial<ConfigChange> = {}): Promise<EffectiveConfig> {
    this.#request = { ...this.#request, ...change };
    this.#secrets.forgetFailures();
    await this.#load();
    return this.#config.value;
  }

  /** A server refused these values: those that a command or the keyring gave are fetched again, then everything is read again. */
  async refetch(values: readonly string[]): Promise<void> {
    if (this.#secrets.forgetValues(values)) await this.reload();
  }

  /** Reads everything again when something could not be read: no change of a file tells that the disk works again. */
  async retry(): Promise<void> {
    if (this.#config.value.problems.some(({ severity }) => severity === "error")) await this.#load();
  }

  async close(): Promise<void> {
    this.#timer?.clear();
    for (const watch of this.#watches.values()) watch.close();
    this.#watches.clear();
    await this.#scope.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #changed(): void {
    this.#secrets.forgetFailures();
    this.#soon();
  }

  /** Editors write in several steps, and people save twice: one load for all that comes close together. */
  #soon(): void {
    if (this.#scope.isClosed) return;
    this.#timer?.clear();
    this.#timer = this.#request.world.after(CONFIG_LIMITS.configQuietMs, () => {
      this.#scope.run("reload the configuration", () => this.#load());
    });
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
    while (this.#isStale && !this.#scope.isClosed) {
      this.#isStale = false;
      const loaded = await loadPatiently(this.#request, this.#secrets);
      if (this.#scope.isClosed) return;
      const config = this.#withoutLoss(loaded);
      this.#follow(config);
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

  #follow(config: EffectiveConfig): void {
    for (const [path, watch] of this.#watches) {
      if (config.watched.includes(path)) continue;
      watch.close();
      this.#watches.delete(path);
    }
    for (const path of config.watched) {
      if (this.#watches.has(path)) continue;
      this.#watches.set(
        path,
        this.#request.world.watch(path, () => this.#changed()),
      );
    }
    const isWaiting = config.servers.some((server) => server.status === "disabled" && server.isWaiting);
    if (!isWaiting || this.#isWaiting) return;
    this.#isWaiting = true;
    this.#scope.run("wait for secrets", async (signal) => {
      await Promise.race([this.#secrets.idle(), new Promise((done) => signal.addEventListener("abort", done))]);
      this.#isWaiting = false;
      this.#soon();
    });
  }
}
