// A grant store in memory: it keeps the order of changes as a real one does, and forgets everything with the process.
import type { Grant, GrantKey, GrantStore, OAuthClient } from "./port.js";

export class MemoryGrants implements GrantStore {
  readonly #grants = new Map<string, { readonly key: GrantKey; readonly grant: Grant }>();
  readonly #clients = new Map<string, OAuthClient>();
  readonly #watchers = new Set<Pick<GrantKey, "resource" | "account"> & { readonly onChange: () => void }>();
  /** The last change of each grant: the next one of the same comes after it. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Every grant there is, the newest last. */
  get all(): readonly { readonly key: GrantKey; readonly grant: Grant }[] {
    return [...this.#grants.values()];
  }

  /** Watches that are still open. */
  get watchCount(): number {
    return this.#watchers.size;
  }

  async read(key: GrantKey): Promise<Grant | undefined> {
    return this.#grants.get(nameOf(key))?.grant;
  }

  async find(resource: string, account: string): Promise<readonly GrantKey[]> {
    const keys = this.all.map(({ key }) => key);
    return keys.filter((key) => key.resource === resource && key.account === account).reverse();
  }

  async update(
    key: GrantKey,
    change: (current: Grant | undefined) => Promise<Grant | undefined>,
    signal: AbortSignal,
  ): Promise<Grant | undefined> {
    const name = nameOf(key);
    const before = this.#last.get(name) ?? Promise.resolve();
    const changing = before.then(async () => {
      signal.throwIfAborted();
      const current = await this.read(key);
      const grant = await change(current);
      if (grant !== current) this.put(key, grant);
      return grant;
    });
    const settled = changing.catch(() => undefined);
    this.#last.set(name, settled);
    return await changing;
  }

  /** Changes it past everybody who waits, as a store whose lock has failed would. */
  put(key: GrantKey, grant: Grant | undefined): void {
    this.#grants.delete(nameOf(key));
    if (grant) this.#grants.set(nameOf(key), { key, grant });
    for (const { resource, account, onChange } of [...this.#watchers]) {
      if (resource === key.resource && account === key.account) onChange();
    }
  }

  async readClient(issuer: string): Promise<OAuthClient | undefined> {
    return this.#clients.get(issuer);
  }

  async writeClient(issuer: string, client: OAuthClient | undefined): Promise<void> {
    if (client) this.#clients.set(issuer, client);
    else this.#clients.delete(issuer);
  }

  watch(resource: string, account: string, onChange: () => void): { close(): void } {
    const watcher = { resource, account, onChange };
    this.#watchers.add(watcher);
    return { close: () => this.#watchers.delete(watcher) };
  }
}

function nameOf({ issuer, resource, account }: GrantKey): string {
  return JSON.stringify([issuer, resource, account]);
}
