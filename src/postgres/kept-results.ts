// Kept results of one session in PostgreSQL: in parts of 1 MB, written by the owner of the session alone.
import { sleep } from "../base/async/deadline.js";
import { TenonError } from "../base/errors.js";
import type { World } from "../base/ports/world.js";
import type { OwnedSession } from "../session/index.js";
import type { ByteRange, KeptResults } from "../tools/index.js";
import type { Database, Row } from "./database.js";
import { POSTGRES_LIMITS } from "./limits.js";

export interface ResultsOptions {
  readonly database: Pick<Database, "query">;
  readonly world: Pick<World, "files" | "after" | "monotonicMs">;
  readonly account: string;
  /** Once another has the session, nothing more is written. */
  readonly owned: Pick<OwnedSession, "id" | "epoch" | "settled" | "lost">;
}

const INDEX = "index";

/** Locks the session's row until the part is written: a takeover comes before it or after it. A part may come twice. */
const INSERT = `with owned as (select key from tenon_session where account = $1 and id = $2 and epoch = $6 for share)
  insert into tenon_kept (session, name, part, data) select key, $3, $4, $5 from owned
  on conflict (session, name, part) do update set data = excluded.data returning 1 as written`;
/** Of the session $1, $2 what is called $3. */
const NAMED = "session = (select key from tenon_session where account = $1 and id = $2) and name = $3";

/** What the database cannot take for a moment waits for it; then it is kept in memory. */
export class PostgresResults implements KeptResults {
  readonly place: string;
  readonly #options: ResultsOptions;
  /** Of the next line of the index. */
  #nextLine = 0;

  constructor(options: ResultsOptions) {
    this.#options = options;
    this.place = `tenon_kept of session ${options.owned.id}`;
  }

  async write(name: string, parts: Iterable<Uint8Array>): Promise<void> {
    await this.#write(name, evenParts(parts));
  }

  async adopt(name: string, path: string): Promise<void> {
    await this.#write(name, fileParts(this.#options.world, path));
  }

  async read(name: string, { start, length }: ByteRange): Promise<Uint8Array> {
    const size = POSTGRES_LIMITS.keptPartBytes;
    const end = start + length;
    const [first, last] = [Math.floor(start / size), Math.floor(Math.max(start, end - 1) / size)];
    const [row] = await this.#query(
      `select substring(string_agg(data, ''::bytea order by part) from $6 for $7) as data
       from tenon_kept where ${NAMED} and part between $4 and $5`,
      [name, first, last, start - first * size + 1, length],
    );
    const data = row?.["data"];
    if (data instanceof Uint8Array) return data;
    throw new TenonError("internal", `${name} is not kept any more`);
  }

  async remove(name: string): Promise<void> {
    const { epoch } = this.#options.owned; // of the next owner nothing is removed
    const owned = "select key from tenon_session where account = $1 and id = $2 and epoch = $4";
    await this.#query(`delete from tenon_kept where session = (${owned}) and name = $3`, [name, epoch]);
  }

  async index(): Promise<readonly string[]> {
    await this.#options.owned.settled;
    const rows = await this.#query(
      `select part, convert_from(data, 'UTF8') as line from tenon_kept where ${NAMED} order by part`,
      [INDEX],
    );
    this.#nextLine = Number(rows.at(-1)?.["part"] ?? -1) + 1;
    return rows.map(({ line }) => String(line));
  }

  async note(line: string): Promise<void> {
    const part = this.#nextLine;
    this.#nextLine += 1;
    await this.#insert([INDEX, part, Buffer.from(line)]);
  }

  close(): void {}

  async #write(name: string, parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
    await this.remove(name); // what an owner that broke off left of it
    let part = 0;
    try {
      for await (const data of parts) {
        await this.#insert([name, part, data]);
        part += 1;
      }
    } catch (error) {
      if (part > 0) await this.remove(name).catch(() => undefined); // it goes with the session otherwise
      throw error;
    }
  }

  async #insert(values: readonly unknown[]): Promise<void> {
    const { id, epoch } = this.#options.owned;
    const rows = await this.#query(INSERT, [...values, epoch]);
    if (rows.length === 0) throw new TenonError("session.superseded", `session "${id}" is another node's now`);
  }

  /** `values`: from $3 on. */
  async #query(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const { database, world, account, owned } = this.#options;
    const { id, lost } = owned;
    const untilMs = world.monotonicMs() + POSTGRES_LIMITS.keptWaitMs;
    for (;;) {
      try {
        return await database.query(text, [account, id, ...values]);
      } catch (error) {
        const isAway = error instanceof TenonError && error.code === "store.unavailable";
        if (!isAway || lost.aborted || world.monotonicMs() >= untilMs) throw error;
        await sleep(world, POSTGRES_LIMITS.keptRetryMs, lost);
      }
    }
  }
}

/** Of the same size but for the last, so that a place in the result says which part it is in. */
function* evenParts(pieces: Iterable<Uint8Array>): Generator<Uint8Array, void, void> {
  const size = POSTGRES_LIMITS.keptPartBytes;
  let held: Uint8Array[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    held.push(piece);
    bytes += piece.length;
    while (bytes >= size) {
      const all = Buffer.concat(held);
      yield all.subarray(0, size);
      held = [all.subarray(size)];
      bytes -= size;
    }
  }
  if (bytes > 0) yield Buffer.concat(held);
}

async function* fileParts({ files }: Pick<World, "files">, path: string): AsyncGenerator<Uint8Array, void, void> {
  const length = POSTGRES_LIMITS.keptPartBytes;
  for (let start = 0; ; start += length) {
    const data = await files.readBytes(path, { start, length });
    if (data.length > 0) yield data;
    if (data.length < length) return;
  }
}
