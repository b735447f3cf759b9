// Nodes on one PostgreSQL, and a wire between that breaks at the worst moment.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep } from "../src/base/async/deadline.js";
import type { SessionId } from "../src/base/id.js";
import type { World } from "../src/base/ports/world.js";
import { openPostgresStore, type PostgresStoreOptions } from "../src/postgres/index.js";
import type { JournalEntry } from "../src/session/journal/entry.js";
import { Journal } from "../src/session/journal/journal.js";
import { sessionId } from "../src/session/store/file-store.js";
import type { OwnedSession, SessionStore } from "../src/session/store/session-store.js";
import { fakeWorld } from "../src/testing/index.js";
import { nodeWorld } from "../src/world/index.js";
import type { SchedulePlace } from "./log-schedules.js";
import type { Postgres } from "./postgres.js";

/** The name of the prepared statement, as the protocol has it. */
const APPEND = "append\0";
const SOCKET = ".s.PGSQL.5432";

type Cut = "before" | "after";

/** A socket before that of PostgreSQL: cuts connections before an append comes there, or before its answer comes here. */
export class FaultyWire implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "tenon-wire-"));
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #cuts: Cut[] = [];
  /** Appends wait for it at the database's side. */
  #held: Promise<void> | undefined;
  #holdsAppends = false;
  #words: string | undefined;
  #lastWords: string | undefined;
  #onLastAnswer: () => void = () => {};
  cutCount = 0;

  private constructor(socketDir: string) {
    this.#server = createServer((client) => this.#join(client, connect(join(socketDir, SOCKET))));
  }

  static async open({ socketDir }: Pick<Postgres, "socketDir">): Promise<FaultyWire> {
    const wire = new FaultyWire(socketDir);
    wire.#server.listen(join(wire.#folder, SOCKET));
    await once(wire.#server, "listening");
    return wire;
  }

  /** Of the same database, by this wire. */
  url(url: string): string {
    return url.replace(/host=[^&]*/u, `host=${encodeURIComponent(this.#folder)}`);
  }

  /** The next appends, one each. */
  cut(...cuts: readonly Cut[]): void {
    this.#cuts.push(...cuts);
  }

  /** The answer to the next statement with these words does not come. */
  cutAfter(words: string): void {
    this.#words = words;
  }

  /** The answer to the next statement with these words is held until the database ends its connection. Resolves with its begin. */
  async lastAnswer(words: string): Promise<void> {
    this.#lastWords = words;
    await new Promise<void>((resolve) => (this.#onLastAnswer = resolve));
  }

  heal(): void {
    this.#cuts.length = 0;
  }

  /** Appends, or the answers to them, come only when the result is called. */
  hold(what: "appends" | "answers"): () => void {
    let release = () => {};
    this.#holdsAppends = what === "appends";
    this.#held = new Promise<void>((resolve) => (release = resolve));
    return () => {
      this.#held = undefined;
      release();
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const one of this.#sockets) one.destroy();
    await closed;
    rmSync(this.#folder, { recursive: true });
  }

  #join(client: Socket, server: Socket): void {
    let isCutAtAnswer = false;
    let held: Promise<void> | undefined;
    let last: Buffer[] | undefined;
    const end = () => {
      if (!last) client.destroy(); // else it gets the rest first
      server.destroy();
    };
    for (const one of [client, server]) {
      this.#sockets.add(one);
      one.on("error", end);
      one.on("close", () => {
        this.#sockets.delete(one);
        end();
      });
    }
    client.on("data", (chunk: Buffer) => {
      if (chunk.includes(APPEND)) {
        if (this.#held && this.#holdsAppends) {
          this.#held.then(() => server.write(chunk)).catch(end);
          return;
        }
        held = this.#held;
        const cut = this.#cuts.shift();
        if (cut) this.cutCount += 1;
        if (cut === "before") return end();
        isCutAtAnswer = cut === "after";
      }
      if (this.#words !== undefined && chunk.includes(this.#words)) {
        this.#words = undefined;
        isCutAtAnswer = true;
      }
      if (this.#lastWords !== undefined && chunk.includes(this.#lastWords)) {
        this.#lastWords = undefined;
        last = [];
      }
      server.write(chunk);
    });
    server.on("end", () => {
      if (last) client.end(Buffer.concat(last));
    });
    server.on("data", (chunk: Buffer) => {
      if (isCutAtAnswer) return end();
      if (last) {
        if (last.push(chunk) === 1) this.#onLastAnswer();
        return;
      }
      if (held) held.then(() => client.write(chunk)).catch(end);
      else client.write(chunk);
    });
  }
}

/** Sessions for random schedules, each new, on nodes that stay: `process` goes from one to the next. */
export async function schedulesOverPostgres(
  postgres: Postgres,
): Promise<{ readonly makePlace: () => SchedulePlace } & AsyncDisposable> {
  const url = await postgres.database();
  const wire = await FaultyWire.open(postgres);
  const world = nodeWorld({ log: fakeWorld().log });
  const nodes = await Promise.all(
    ["a", "b", "c"].map((name) =>
      openPostgresStore({ world, url: wire.url(url), node: { name, roots: [] }, leaseMs: 60_000 }),
    ),
  );
  const stores = nodes.map((node) => node.account("me").sessions);
  let [sessions, next] = [0, 0];
  return {
    makePlace: () => {
      sessions += 1;
      const id = sessionId(`s${sessions}`);
      return {
        id,
        settle: () => sleep(world, 3, new AbortController().signal), // an append or a read takes one
        process: () => {
          next += 1;
          const store = stores[next % stores.length];
          if (!store) throw new Error("there are nodes");
          return store;
        },
        takeAway: async ({ owned }, isAlive) => {
          await postgres.query(`update tenon_session set owner = null, epoch = epoch + 1 where id = '${id}'`, url);
          if (!isAlive) await owned.release(); // the node itself lives on, and forgets it
        },
        fail: (isFailing) => (isFailing ? wire.cut("before", "after", "after", "before") : wire.heal()),
      };
    },
    [Symbol.asyncDispose]: async () => {
      for (const node of nodes) await node[Symbol.asyncDispose]();
      await wire[Symbol.asyncDispose]();
    },
  };
}

/** Whose log nobody reads. */
export const world: World = nodeWorld({ log: fakeWorld().log });

export const about = (id: string): { readonly id: SessionId; readonly cwd: string } => ({
  id: sessionId(id),
  cwd: "/project",
});

export const said = (text: string): JournalEntry => ({ kind: "text", text });

export function journalOf(sink: OwnedSession): Journal {
  return new Journal({ world: { now: () => 1_000, log: world.log }, sink });
}

export async function textsOf(store: SessionStore, id: string): Promise<readonly string[]> {
  const texts: string[] = [];
  await store.readAll(id, (record) => {
    if (record.kind === "text") texts.push(record.text);
  });
  return texts;
}

/** Closed with the test: a node of an own database, or of the given one. */
export async function openNode(
  name: string,
  options: Partial<PostgresStoreOptions> & { readonly url: string },
): Promise<Awaited<ReturnType<typeof openPostgresStore>> & { readonly sessions: SessionStore }> {
  const store = await openPostgresStore({ world, node: { name, roots: [] }, ...options });
  return { ...store, sessions: store.account("me").sessions };
}
