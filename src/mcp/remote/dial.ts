// Where requests go: names are resolved once, addresses checked, and exactly the checked ones are dialled.
import { messageOf, TenonError } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import { checkUrl, isLoopbackHost, isPrivateAddress, type UrlSource } from "../../base/net-policy.js";
import type { HttpPool, ResolvedAddress, World } from "../../base/world.js";

/** A URL that passed the address rules. */
export interface Place {
  readonly url: URL;
  readonly mayBePrivate: boolean;
  /** The URL as a request names it: put together once, used for every request. */
  readonly target: {
    readonly hostname: string;
    readonly port: string;
    readonly path: string;
    readonly host: string;
    readonly servername: string;
  };
}

/** The same place with another path: it must be of the same origin. */
export function placeAt(place: Place, url: URL): Place {
  return { url, mayBePrivate: place.mayBePrivate, target: targetOf(url) };
}

function targetOf(url: URL): Place["target"] {
  const { protocol, port, host } = url;
  const hostname = url.hostname.replace(/^\[(.*)\]$/u, "$1");
  // Empty: addresses have no name to be shown a certificate for, and without TLS nobody asks.
  const servername = protocol === "https:" && !isAddress(url.hostname) ? hostname : "";
  return { hostname, port, path: `${url.pathname}${url.search}`, host, servername };
}

export class Dialler {
  readonly #world: World;
  readonly #allowHosts: readonly string[];
  readonly #pools = new Map<string, HttpPool>();
  readonly #resolving = new Map<string, Promise<HttpPool>>();
  #isClosed = false;

  constructor(world: World, allowHosts: readonly string[] = []) {
    this.#world = world;
    this.#allowHosts = allowHosts;
  }

  /** Throws `mcp.url_refused`. `from` is the URL whose answer led here. */
  check(url: string, source: UrlSource, from?: URL): Place {
    const verdict = checkUrl(url, { source, allowHosts: this.#allowHosts, ...(from ? { from } : {}) });
    if (!verdict.ok) throw new TenonError("mcp.url_refused", `the URL cannot be used: ${verdict.reason}`);
    return { url: verdict.url, mayBePrivate: verdict.mayBePrivate, target: targetOf(verdict.url) };
  }

  /** The connections to a place already resolved; undefined the first time. */
  known(place: Place): HttpPool | undefined {
    return this.#pools.get(keyOf(place));
  }

  /** Resolves the name, once. Rejects with `mcp.url_refused` or `mcp.unavailable`. */
  resolve(place: Place): Promise<HttpPool> {
    const key = keyOf(place);
    const under = this.#resolving.get(key);
    if (under) return under;
    const resolving = this.#resolve(place).then((pool) => {
      if (this.#isClosed) throw new TenonError("cancelled", "the connection has been closed");
      this.#pools.set(key, pool);
      return pool;
    });
    this.#resolving.set(key, resolving);
    // A name that could not be resolved now may be there later.
    resolving.catch(() => this.#resolving.delete(key));
    return resolving;
  }

  /** Ends every connection, also those in use. */
  close(): void {
    this.#isClosed = true;
    for (const pool of this.#pools.values()) pool.close();
  }

  async #resolve(place: Place): Promise<HttpPool> {
    const { url } = place;
    const addresses = isAddress(url.hostname) ? [] : await this.#addressesOf(place);
    const isTls = url.protocol === "https:";
    return this.#world.httpPool({ isTls, addresses, maxIdleMs: LIMITS.httpIdleSocketMs });
  }

  async #addressesOf({ url, mayBePrivate }: Place): Promise<readonly ResolvedAddress[]> {
    let found: readonly ResolvedAddress[];
    try {
      found = await this.#world.lookup(url.hostname);
    } catch (thrown) {
      throw new TenonError("mcp.unavailable", `the host "${url.hostname}" cannot be found: ${messageOf(thrown)}`, {
        cause: thrown,
      });
    }
    // Without TLS only this machine itself is trusted by its name, so that is what the name must lead to.
    const mustBeLocal = url.protocol === "http:" && isLoopbackHost(url.hostname);
    const usable = found.filter(
      ({ address }) => (mayBePrivate || !isPrivateAddress(address)) && (!mustBeLocal || isLoopbackHost(address)),
    );
    if (usable.length > 0) return usable;
    const why = mustBeLocal ? "does not lead to this machine" : "leads to no public address";
    throw new TenonError("mcp.url_refused", `the URL cannot be used: "${url.hostname}" ${why}`);
  }
}

function keyOf({ url, mayBePrivate }: Place): string {
  return mayBePrivate ? url.origin : `${url.origin} public`;
}

function isAddress(hostname: string): boolean {
  return hostname.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/u.test(hostname);
}
