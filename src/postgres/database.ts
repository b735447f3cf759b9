// The way to PostgreSQL: a pool, connections for one purpose, and errors that say what was tried and what to do.
import pg from "pg";
import { Cell, type ReadonlyCell } from "../base/async/cell.js";
import { messageOf, TenonError } from "../base/errors.js";
import type { Timer, World } from "../base/ports/world.js";
import { POSTGRES_LIMITS } from "./limits.js";

export type DatabaseWorld = Pick<World, "log" | "after">;

export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
  /** Prepared under this name, once a connection. */
  readonly name?: string;
}

export type Row = Readonly<Record<string, unknown>>;

export interface DatabaseOptions {
  readonly world: DatabaseWorld;
  readonly url: string;
  /** By which its administrators know the connections. */
  readonly applicationName: string;
}

/** Rejects with `store.unavailable` or `config.invalid`; `cause` has the code of PostgreSQL. Nothing else reaches its users. */
export class Database implements AsyncDisposable {
  readonly #config: pg.ClientConfig;
  readonly #world: DatabaseWorld;
  /** For statements that take seconds. */
  readonly #pool: pg.Pool;
  /** For all others. */
  readonly #shared: Connection[] = [];
  #isClosed = false;
  readonly #names = new Map<string, string>();
  /** Its address without a password, for people. */
  readonly shown: string;
  readonly #problem = new Cell<string | undefined>(undefined);
  readonly #failing = new Map<string, string>();
  #failingTimer: Timer | undefined;

  /** Throws `config.invalid` for an address that is none. */
  constructor({ world, url, applicationName }: DatabaseOptions) {
    this.#world = world;
    this.#config = configOf(url, applicationName);
    this.shown = shownAddress(this.#config);
    this.#pool = new pg.Pool({ ...this.#config, max: POSTGRES_LIMITS.connections.long });
    this.#pool.on("error", (error) => world.log.debug("database.connection_lost", { error: messageOf(error) }));
  }

  /** Why it cannot be used, once it has been so for longer than a moment, for people. */
  get problem(): ReadonlyCell<string | undefined> {
    return this.#problem;
  }

  /** What is tried again and again says how it goes; undefined: it works. */
  report(purpose: string, problem: string | undefined): void {
    if (problem === undefined) this.#failing.delete(purpose);
    else this.#failing.set(purpose, problem);
    const [first] = this.#failing.values();
    if (first === undefined || this.#problem.value !== undefined) {
      this.#failingTimer?.clear();
      this.#failingTimer = undefined;
      this.#problem.set(first);
    } else {
      this.#failingTimer ??= this.#world.after(POSTGRES_LIMITS.failingMs, () => {
        this.#failingTimer = undefined;
        this.#problem.set(this.#failing.values().next().value);
      });
    }
  }

  async query<T extends Row>(
    text: string,
    values: readonly unknown[] = [],
    timeoutMs: number = POSTGRES_LIMITS.answerMs,
  ): Promise<readonly T[]> {
    // While it is away nobody waits long for it.
    const withinMs = this.#failing.size === 0 ? timeoutMs : POSTGRES_LIMITS.connectMs;
    const statement = { name: this.#nameOf(text), text, values: [...values] };
    if (timeoutMs <= POSTGRES_LIMITS.answerMs) return await this.#sharedConnection().query<T>(statement, withinMs);
    try {
      const long = { ...statement, query_timeout: withinMs };
      return (await this.#pool.query<T>(long)).rows;
    } catch (error) {
      throw databaseError(error, this.shown);
    }
  }

  /**
   * It was silent for long: connections of before may stay so for seconds after it can be reached again, and what waits on them fails now.
   */
  reset(): void {
    for (const one of this.#shared.splice(0)) one[Symbol.dispose]();
  }

  /** The one with the fewest statements under way; a further one while all are busy. */
  #sharedConnection(): Connection {
    if (this.#isClosed) throw closed(this.shown);
    const [least] = [...this.#shared].sort((one, other) => one.underWay - other.underWay);
    if (least && (least.underWay === 0 || this.#shared.length >= POSTGRES_LIMITS.connections.shared)) return least;
    const { log } = this.#world;
    const made = new Connection(this.#config, { shown: this.shown, log, heard: undefined, isShared: true });
    this.#shared.push(made);
    return made;
  }

  /** Each is planned once a connection, not each time. There are only those that are written in this module. */
  #nameOf(text: string): string {
    const name = this.#names.get(text) ?? `q${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }

  /** For one purpose; it is made with the first statement, and again after it broke. `heard`: what it hears besides. */
  connection(heard?: Heard): Connection {
    return new Connection(this.#config, { shown: this.shown, log: this.#world.log, heard });
  }

  /** Whose statements do not wait long for a row that somebody else keeps locked. */
  impatientConnection(): Connection {
    const config = { ...this.#config, lock_timeout: POSTGRES_LIMITS.append.lockMs };
    return new Connection(config, { shown: this.shown, log: this.#world.log, heard: undefined });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#failingTimer?.clear();
    this.#isClosed = true;
    this.reset();
    if (this.#pool.ended) return;
    const ended = this.#pool.end();
    // A connection that says nothing any more holds nobody up.
    let timer: Timer | undefined;
    const late = new Promise<void>((resolve) => {
      timer = this.#world.after(POSTGRES_LIMITS.connectMs, resolve);
    });
    await Promise.race([ended, late]).finally(() => timer?.clear());
  }
}

/** Notifications of a channel, while the connection lives. */
interface Heard {
  readonly channel: string;
  readonly onNotification: (payload: string) => void;
}

interface ConnectionOptions {
  readonly shown: string;
  readonly log: World["log"];
  readonly heard: Heard | undefined;
  /** Statements are sent without waiting for the answers of those before. */
  readonly isShared?: boolean;
}

/** One statement at a time, unless it is shared. What a statement did whose connection broke is not known. */
export class Connection implements Disposable {
  readonly #config: pg.ClientConfig;
  readonly #shown: string;
  readonly #log: World["log"];
  readonly #heard: Heard | undefined;
  #client: pg.Client | undefined;
  #connecting: pg.Client | undefined;
  /** Asked for, and of those the ones that were sent. */
  #underWay = 0;
  #sent = 0;
  #isClosed = false;

  constructor(config: pg.ClientConfig, { shown, log, heard, isShared = false }: ConnectionOptions) {
    this.#config = isShared ? { ...config, pipeline: true } : config;
    this.#shown = shown;
    this.#log = log;
    this.#heard = heard;
  }

  async query<T extends Row>(
    { text, values = [], name }: Statement,
    timeoutMs: number = POSTGRES_LIMITS.answerMs,
  ): Promise<readonly T[]> {
    let client: pg.Client | undefined;
    this.#underWay += 1;
    try {
      client = await this.#connected();
      const config = { text, values: [...values], query_timeout: timeoutMs };
      this.#sent += 1;
      return (await client.query<T>(name === undefined ? config : { ...config, name })).rows;
    } catch (error) {
      if (sqlState(error) === undefined) this.#drop(client); // what it would answer next is the answer to another statement
      throw databaseError(error, this.#shown);
    } finally {
      this.#underWay -= 1;
      if (client) this.#sent -= 1;
    }
  }

  /** Statements without an answer, also those that wait for the connection. */
  get underWay(): number {
    return this.#underWay;
  }

  /** A statement is on its way to the database, or there. */
  get isAsking(): boolean {
    return this.#sent > 0;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#drop(this.#client);
  }

  async #connected(): Promise<pg.Client> {
    if (this.#isClosed) throw closed(this.#shown);
    if (this.#client) return this.#client;
    const client = new pg.Client(this.#config);
    const forget = () => {
      if (this.#client === client) this.#client = undefined;
    };
    client.on("error", (error) => {
      this.#log.debug("database.connection_lost", { error: messageOf(error) });
      forget();
    });
    client.on("end", forget);
    this.#client = client;
    this.#connecting = client;
    const heard = this.#heard;
    if (heard) client.on("notification", ({ payload = "" }) => heard.onNotification(payload));
    try {
      await client.connect().finally(() => {
        if (this.#connecting === client) this.#connecting = undefined;
      });
      const listen = { text: `listen ${heard?.channel}`, query_timeout: POSTGRES_LIMITS.connectMs };
      if (heard) await client.query(listen);
    } catch (error) {
      forget();
      await client.end().catch(() => undefined);
      throw error;
    }
    return client;
  }

  /** A connection that says nothing any more does not confirm its end either: nobody waits for that, nor for what was asked on it. */
  #drop(client: pg.Client | undefined): void {
    if (this.#client === client) this.#client = undefined;
    if (!client) return;
    // The driver never answers whoever waits for a connection that is ended before it is there.
    if (client !== this.#connecting) client.end().catch(() => undefined);
    if (this.#underWay > 0) client.connection.stream.destroy();
  }
}

function closed(shown: string): TenonError {
  return new TenonError("store.unavailable", `the connection to ${shown} is closed`);
}

const INT8 = 20;

/** Numbers of records and times are far below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (id, format): unknown => (id === INT8 ? Number : pg.types.getTypeParser(id, format)),
};

function configOf(url: string, applicationName: string): pg.ClientConfig {
  const invalid = (problem: string, cause?: unknown) =>
    new TenonError("config.invalid", `the address of the store is not one of PostgreSQL: ${problem}`, {
      hint: "Give it as postgres://user@host:port/database.",
      cause,
    });
  if (!/^postgres(?:ql)?:\/\//u.test(url)) throw invalid("it does not begin with postgres://");
  const mode = /[?&]sslmode=([^&]*)/u.exec(url)?.[1];
  const modes = ["disable", "require", "verify-ca", "verify-full", "no-verify"];
  if (mode !== undefined && !modes.includes(mode)) throw invalid(`sslmode is not one of ${modes.join(", ")}`);
  // The driver means the strictest by all three, and warns on stderr that this may change.
  const connectionString = url.replace(/([?&]sslmode=)(?:require|verify-ca)(?=&|$)/u, "$1verify-full");
  const { idleS, everyS, count } = POSTGRES_LIMITS.keepAlive;
  const config: pg.ClientConfig = {
    connectionString,
    types,
    application_name: applicationName,
    connectionTimeoutMillis: POSTGRES_LIMITS.connectMs,
    statement_timeout: POSTGRES_LIMITS.statementMs,
    keepAlive: true,
    // A node whose machine is gone says no good-bye: its connections, and what one of them may have locked, are free soon.
    // And no statement is to fail where this would wait: some databases have another default.
    options: `-c tcp_keepalives_idle=${idleS} -c tcp_keepalives_interval=${everyS} -c tcp_keepalives_count=${count} -c default_transaction_isolation=read\\ committed`,
  };
  try {
    new pg.Client(config).end().catch(() => undefined); // reads the address and the files it names, and connects nowhere
  } catch (error) {
    throw invalid(messageOf(error).replaceAll(url, "it"), error);
  }
  return config;
}

function shownAddress(config: pg.ClientConfig): string {
  const { user = "", host, port, database = "" } = new pg.Client(config);
  const place = host.startsWith("/") ? `[${host}]` : host;
  return `postgres://${user}@${place}:${port}/${database}`;
}

/**
 * A list of JSON texts as one text, which the statement splits: JSON has no line end. Given a list, the driver escapes each quote by
 * itself, and 30 MB of JSON stop this process for longer than its lease.
 */
export function joined(texts: readonly string[]): string {
  return texts.join("\n");
}

/** The code of PostgreSQL, as far as it answered. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (error instanceof TenonError) return sqlState(error.cause);
  return typeof code === "string" && /^[0-9A-Z]{5}$/u.test(code) && "severity" in Object(error) ? code : undefined;
}

type Explained = readonly [code: "store.unavailable" | "config.invalid", problem: string, hint: string];

const NO_RIGHTS: Explained = [
  "config.invalid",
  "does not give this user the rights that are needed",
  "As its administrator: grant create, usage on schema public to that user.",
];

/** By the code of PostgreSQL, or its first two characters. */
const BY_STATE: Readonly<Record<string, Explained>> = {
  "28": ["config.invalid", "refused the log-in", "Check user and password, and pg_hba.conf at the server."],
  "3D000": ["config.invalid", "has no such database", "Make it with createdb, or correct the name in the address."],
  "42501": NO_RIGHTS,
  "3F000": NO_RIGHTS,
  "25006": [
    "store.unavailable",
    "is read-only",
    "Give the address of the primary server, or switch default_transaction_read_only off.",
  ],
  "53100": ["store.unavailable", "has no room on its disk", "Free space there; what waits is written then."],
  "53300": ["store.unavailable", "has no connection left", "Raise max_connections: a node needs up to 14."],
  "53": ["store.unavailable", "is short of resources", "Look at its log."],
  "55P03": ["store.unavailable", "has something locked", "End the transaction that holds it: see pg_locks."],
  "57014": ["store.unavailable", "did not finish a statement in time", "Look at its load and at its locks."],
  "57": ["store.unavailable", "is being stopped, or starts", "Wait until it is there again."],
  "08": ["store.unavailable", "lost the connection", "Check the network connection to it."],
  "42P01": [
    "store.unavailable",
    "lacks a table of Tenon",
    "Restore its tables from a backup, or start the gateway again.",
  ],
};

const BY_SYSTEM_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOENT: "there is no such socket",
  ENOTFOUND: "there is no host of that name",
  EAI_AGAIN: "the name of the host cannot be looked up now",
  EHOSTUNREACH: "there is no way to that host",
  ENETUNREACH: "there is no way to that network",
  ETIMEDOUT: "it did not answer in time",
  EACCES: "this user may not use the socket",
  ECONNRESET: "the connection was cut",
};

/** What was tried, what came of it, and what to do. Never the password. */
function databaseError(error: unknown, shown: string): TenonError {
  if (error instanceof TenonError) return error;
  const state = sqlState(error);
  const message = messageOf(error);
  if (state !== undefined) {
    const known = BY_STATE[state] ?? BY_STATE[state.slice(0, 2)];
    if (!known)
      return new TenonError("internal", `PostgreSQL at ${shown} refused a statement: ${message}`, { cause: error });
    const [kind, problem, hint] = known;
    return new TenonError(kind, `PostgreSQL at ${shown} ${problem}: ${message}`, { hint, cause: error });
  }
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (/certificate|SSL|TLS|self.signed/iu.test(message)) {
    return new TenonError("config.invalid", `no protected connection to PostgreSQL at ${shown}: ${message}`, {
      hint: "Give sslrootcert=FILE with its authority's certificate, or sslmode=no-verify to trust whatever answers.",
      cause: error,
    });
  }
  const reason = BY_SYSTEM_CODE[/timeout/iu.test(message) ? "ETIMEDOUT" : code] ?? message;
  return new TenonError("store.unavailable", `PostgreSQL at ${shown} cannot be reached: ${reason}`, {
    hint: "Check that it runs, the address, and the network connection.",
    cause: error,
  });
}
