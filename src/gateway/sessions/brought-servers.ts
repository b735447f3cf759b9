// The servers that the clients of one session brought: one set, and who brought each of them.
import { defined } from "../../base/json/defined.js";
import { canonicalJson, type JsonValue } from "../../base/json/json.js";
import type { GivenServers, NewSession, Session } from "../../session/index.js";
import { GATEWAY_LIMITS } from "../limits.js";

type GivenServer = GivenServers["servers"][number];

export class BroughtServers {
  readonly #session: Pick<Session, "setServers" | "notice" | "state">;
  /** Of all clients so far, by name. */
  #given: GivenServers;
  /** Who brought each of them, by name. */
  readonly #declarers: Map<string, string | undefined>;

  constructor(
    session: Pick<Session, "setServers" | "notice" | "state">,
    given: NewSession,
    client: string | undefined,
  ) {
    const { servers = [], rejected, includes, required } = given;
    this.#session = session;
    this.#given = { servers, ...defined({ rejected, includes, required }) };
    this.#declarers = new Map(servers.map(({ name }) => [name, client]));
  }

  /** In the place of all others. */
  async replace(given: GivenServers, client: string | undefined): Promise<void> {
    this.#declarers.clear();
    for (const { name } of given.servers) this.#declarers.set(name, client);
    await this.#give(given);
  }

  /**
   * Servers that a client brings come to those that are there. One of the same name stays as it is while a turn may use it or the
   * client that brought it is there.
   */
  async join(
    request: Partial<GivenServers>,
    client: string | undefined,
    isHere: (client: string | undefined) => boolean,
  ): Promise<void> {
    const given = this.#given;
    const known = new Map(given.servers.map((spec) => [spec.name, spec]));
    const wanted = (request.servers ?? []).filter((spec) =>
      this.#isFresh(spec, known.get(spec.name), { client, isHere }),
    );
    const fresh = this.#thatFit(wanted, known);
    const names = new Set([...given.servers, ...(given.rejected ?? [])].map(({ name }) => name));
    const room = Math.max(0, GATEWAY_LIMITS.sessions.servers - (given.rejected?.length ?? 0));
    const rejected = (request.rejected ?? []).filter(({ name }) => !names.has(name)).slice(0, room);
    if (fresh.length === 0 && rejected.length === 0) return;
    const freshNames = new Set(fresh.map(({ name }) => name));
    const isFresh = (name: string) => freshNames.has(name);
    const includes = Object.fromEntries(Object.entries(request.includes ?? {}).filter(([name]) => isFresh(name)));
    const brought = { servers: fresh, rejected, includes, required: (request.required ?? []).filter(isFresh) };
    for (const { name } of fresh) this.#declarers.set(name, client);
    await this.#give(mergedServers(given, brought));
  }

  /** A client that joins again and again, with other servers each time, must not make a session that stalls all others. */
  #thatFit(wanted: readonly GivenServer[], known: ReadonlyMap<string, GivenServer>): readonly GivenServer[] {
    const { servers: most } = GATEWAY_LIMITS.sessions;
    let room = most - known.size;
    const fitting = wanted.filter(({ name }) => known.has(name) || room-- > 0);
    const surplus = wanted.length - fitting.length;
    if (surplus > 0) {
      const words = `The clients of a session may bring ${most} servers in all: ${surplus} of a client that joined are left out.`;
      this.#session.notice("warning", words);
    }
    return fitting;
  }

  #isFresh(
    spec: GivenServer,
    known: GivenServer | undefined,
    {
      client,
      isHere,
    }: { readonly client: string | undefined; readonly isHere: (client: string | undefined) => boolean },
  ): boolean {
    const { name } = spec;
    if (!known) return true;
    if (isSameServer(known, spec)) return false;
    const declarer = this.#declarers.get(name);
    const isInUse = this.#session.state !== "idle" || (declarer !== client && isHere(declarer));
    if (!isInUse) return true;
    const words = `A client that joined has another server "${name}" than this session: the one that is there is in use, and stays.`;
    this.#session.notice("warning", words);
    return false;
  }

  async #give(given: GivenServers): Promise<void> {
    await this.#session.setServers(given);
    this.#given = given;
  }
}

function isSameServer(one: GivenServer, other: GivenServer): boolean {
  const [first, second]: JsonValue[] = JSON.parse(JSON.stringify([one, other]));
  return canonicalJson(first ?? null) === canonicalJson(second ?? null);
}

/** By name, the later one counts. */
function mergedServers(one: GivenServers, other: Partial<GivenServers>): GivenServers {
  const named = (given: Partial<GivenServers>) => (given.servers ?? []).map((spec) => [spec.name, spec] as const);
  const servers = new Map([...named(one), ...named(other)]);
  const rejected = new Map([...(one.rejected ?? []), ...(other.rejected ?? [])].map((entry) => [entry.name, entry]));
  return {
    servers: [...servers.values()],
    rejected: [...rejected.values()].filter(({ name }) => !servers.has(name)),
    includes: { ...one.includes, ...other.includes },
    required: [...new Set([...(one.required ?? []), ...(other.required ?? [])])],
  };
}
