// Where requests go: names are resolved once, addresses checked, and exactly the checked ones are dialled.
import { messageOf, TenonError } from "../../../base/errors.js";
import { checkUrl, isLoopbackHost, isPrivateAddress, type UrlSource } from "../../../base/io/net-policy.js";
import { LIMITS } from "../../../base/limits.js";
import type { HttpPool, ResolvedAddress, World } from "../../../base/ports/world.js";

/** A URL that passed the address rules. */
export interface Place {
  readonly url: URL;
  readonly mayBePrivate: boolean;
  /** Places of one key share their connections. */
  readonly key: string;
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
  return placeOf(url, place.mayBePrivate);
}

function placeOf(url: URL, mayBePrivate: boolean): Place {
  const key = mayBePrivate ? url.origin : `${url.origin} public`;
  return { url, mayBePrivate, key, target: targetOf(url) };
}

function targetOf(url: URL): Place["target"] {
  const { protocol, port, host } = url;
  const hostname = url.hostname.replace(/^\[(.*)\]$/u, "$1");
  // Empty: addresses have no name to be shown a certificate for, and without TLS it is not used.
  const servername = protocol === "https:" && !isAddress(url.hostname) ? hostname : "";
  return { hostname, port, path: `${url.pathname}${url.search}`, host, servername };
}

interface Resolved {
  readonly pool: HttpPool;
  /** The pool reads these for each new connection. */
  readonly addresses: ResolvedAddress[];
  isStale: boolean;
}

export class Dialler {
  readonly #world: World;
  readonly #allowHosts: readonly string[];
  readonly #resolved = new Map<string, Resolved>();
  readonly #resolving = new Map<string, Promise<HttpPool>>();
  #isClosed = false;

  constructor(world: World, allowHosts: readonly string[] = []) {
    this.#world = world;
    this.#allowHosts = allowHosts;
  }

  /** Throws `mcp.url_refused`. `from` is the place whose answer led here: a name that must be public stays so. */
  check(url: string, source: UrlSource, from?: Place): Place {
    const origin = from ? { from: from.url, isFromPrivate: from.mayBePrivate } : {};
    const verdict = checkUrl(url, { source, allowHosts: this.#allowHosts, ...origin });
    if (!verdict.ok) throw new TenonError("mcp.url_refused", `the URL cannot be used: ${verdict.reason}`);
    return placeOf(verdict.url, verdict.mayBePrivate);
  }

  /** The connections to a place already resolved; undefined the first time, and after connecting failed. */
  known(place: Place): HttpPool | undefined {
    const resolved = this.#resolved.get(place.key);
    return resolved?.isStale === false ? resolved.pool : undefined;
  }

  /** Nobody is to be met where the name led: servers move, so the next request asks anew, by the same rules. */
  suspect(place: Place): void {
    const resolved = this.#resolved.get(place.key);
    if (resolved && !isAddress(place.url.hostname)) resolved.isStale = true;
  }

  /** Resolves the name, once for as long as it can be reached. Rejects with `mcp.url_refused` or `mcp.unavailable`. */
  resolve(place: Place): Promise<HttpPool> {
    const { key } = place;
    const under = this.#resolving.get(key);
    if (under) return under;
    const forget = () => this.#resolving.delete(key);
    const resolving = this.#resolve(place, key);
    this.#resolving.set(key, resolving);
    resolving.finally(forget).catch(() => {}); // reported by the promise that is returned
    return resolving;
  }

  /** Ends every connection, also those in use. */
  close(): void {
    this.#isClosed = true;
    for (const { pool } of this.#resolved.values()) pool.close();
  }

  async #resolve(place: Place, key: string): Promise<HttpPool> {
    const { url } = place;
    const found = isAddress(url.hostname) ? [] : await this.#addressesOf(place);
    if (this.#isClosed) throw new TenonError("cancelled", "the connection has been closed");
    const known = this.#resolved.get(key);
    if (known) {
      known.addresses.splice(0, known.addresses.length, ...found);
      known.isStale = false;
      return known.pool;
    }
    const addresses = [...found];
    const isTls = url.protocol === "https:";
    const pool = this.#world.httpPool({ isTls, addresses, maxIdleMs: LIMITS.httpIdleSocketMs });
    this.#resolved.set(key, { pool, addresses, isStale: false });
    return pool;
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

function isAddress(hostname: string): boolean {
  return hostname.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/u.test(hostname);
}
