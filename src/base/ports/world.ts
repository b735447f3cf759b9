// The World port: everything outside the process that rooms may touch. `world/` builds the real one, `testing/` the fake one.
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Duplex, Readable, Writable } from "node:stream";
import type { Telemetry, WireReplay, WireTrace } from "./trace.js";

export interface Timer {
  clear(): void;
}

/** A signal that fires at a deadline or with its parent; `clear` frees the timer and the parent's listener. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** True once the time ran out (and not because the parent aborted). */
  readonly expired: boolean;
  clear(): void;
}

export interface SpawnRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Windows only: the arguments are quoted already, as `cmd.exe` wants them. */
  readonly isVerbatim?: boolean;
  /** It only holds the process that matters, and ends with that: SIGTERM is for those it holds, not for itself. */
  readonly isKeeper?: boolean;
  /** Folders that starting it makes. Removed after its end where they are empty and no process has something mounted there. */
  readonly madeFolders?: readonly string[];
}

export type ChildExit =
  | { readonly kind: "exited"; readonly code: number | null; readonly signal: string | null }
  | { readonly kind: "not_started"; readonly error: Error };

/** A child that leads a process group of its own, so that its whole tree can be signalled. */
export interface Child {
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles once, also when the child never started. */
  readonly exited: Promise<ChildExit>;
  /** Signals the whole group; a group that is gone is not an error. */
  signalGroup(signal: "SIGTERM" | "SIGKILL"): void;
  /** True while any process of the group lives, the child itself or one it left behind. */
  isGroupAlive(): boolean;
  /**
   * Signals what the child started and what then left its group (daemons), as far as the system shows it, and says how
   * many there were. Signal 0 only counts.
   */
  signalStrays(signal: "SIGTERM" | "SIGKILL" | 0): Promise<number>;
  /** Nothing of it is left: it need not be watched over any more. */
  release(): Promise<void>;
}

/** A thread of its own for work that would hold this one up. It never keeps the process alive by itself. */
export interface Thread {
  post(message: unknown): void;
  /** Set once, before the first `post`. */
  listen(listener: ThreadListener): void;
  /** Ends it whatever it is doing. Idempotent. */
  end(): void;
}

export interface ThreadListener {
  onMessage(message: unknown): void;
  /** It ended without `end` having been called. */
  onFailed(error: Error): void;
}

/** An append-only file: `write` is synchronous, so what was written survives a crash of this process. */
export interface AppendFile {
  /** `keepsTime`: the file counts as changed when it did before. */
  write(text: string, options?: { readonly keepsTime?: boolean }): void;
  /** Forces what was written to the disk. */
  sync(): void;
  close(): void;
}

export interface FileEntry {
  readonly name: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly modifiedMs: number;
}

/** What a path leads to, links followed. */
export interface FoundPath {
  /** Free of links and in the disk's own spelling: two ways to one thing have the same. */
  readonly realPath: string;
  readonly kind: "file" | "folder" | "other";
  readonly bytes: number;
  /** Permission bits. */
  readonly mode: number;
  /** The number of the user it belongs to, where that is not the user of this process. */
  readonly foreignOwner?: number;
}

/** What lies at a path itself: a link is a link, whatever it leads to. */
export type EntryKind = "file" | "folder" | "link" | "other";

export interface FolderEntry {
  readonly name: string;
  readonly kind: EntryKind;
}

export interface Files {
  /** Undefined when there is nothing. Rejects when that cannot be determined. */
  find(path: string): Promise<FoundPath | undefined>;
  /** What the link at exactly this path says, also when it leads to nothing; undefined when there is no link there. */
  linkTarget(path: string): Promise<string | undefined>;
  openAppend(path: string): AppendFile;
  readText(path: string): Promise<string>;
  /** A part of a file. Fewer bytes than asked for only at its end. */
  readBytes(path: string, range: { readonly start: number; readonly length: number }): Promise<Uint8Array>;
  /** Links not followed. Undefined when there is nothing. Rejects when that cannot be determined. */
  kindOf(path: string): Promise<EntryKind | undefined>;
  /** Everything in a folder, links not followed, in no order. Rejects when it cannot be read. */
  entries(folder: string): Promise<readonly FolderEntry[]>;
  /**
   * Replaces a file of the person's own as a whole: its permissions stay, a new one and the folders on the way get the
   * usual ones. A link in its place is replaced, not followed. A character device or a pipe is written into.
   */
  saveText(path: string, text: string): Promise<void>;
  /**
   * Replaces a file as a whole: a reader finds the old text or the new one. Private to this user unless `mode` is given.
   * Rejects for a device, a pipe or a socket, and for a link to one.
   */
  writeAtomic(path: string, text: string, mode?: number): Promise<void>;
  /**
   * The same from parts, each asked for when the one before is written: a long text is never made ready all at once, and
   * the event loop is free in between.
   */
  writeParts(path: string, parts: Iterable<Uint8Array>): Promise<void>;
  /** A private file with what is in another, which may be removed afterwards: the same bytes on the disk where that is possible. */
  adopt(from: string, path: string): Promise<void>;
  /**
   * Makes a private file; false when something of that name is there already. Of several who try, one succeeds, and whoever reads
   * the file finds the whole text (where the file system has hard links).
   */
  createNew(path: string, text: string): Promise<boolean>;
  /** The files (no folders) in a folder; none when there is no such folder. */
  list(folder: string): Promise<readonly FileEntry[]>;
  /**
   * Whether a file (no folder) is there; at once, since a command is looked up while a server is started. Never throws: a
   * path that cannot be looked at, for whatever reason, is neither a file nor a folder.
   */
  isFile(path: string): boolean;
  /** Another one as soon as the file is replaced; undefined when none is there. At once; throws when that cannot be determined. */
  markOf(path: string): string | undefined;
  isFolder(path: string): boolean;
  /** A private folder for what lives no longer than this process, which is gone with it however it ends. */
  scratchFolder(): string;
  /** A file or folder with all that is in it; one that is not there is no error. */
  remove(path: string): Promise<void>;
}

export interface Watch {
  close(): void;
}

/** The processes of this machine, as far as one may ask about those of others. */
export interface Processes {
  /** Of this one. */
  readonly ownId: number;
  /**
   * The same for as long as the process lives, and another one for the next process that gets the number, where the system
   * shows that. Undefined when there is no such process.
   */
  identityOf(id: number): string | undefined;
  /** What the machine, or the container around this process, has of it. */
  readonly memoryBytes: number;
  /**
   * The memory that is resident for each of these processes, its group and its descendants. Undefined where the system does
   * not show that; a process that is gone has none.
   */
  memoryOf(ids: readonly number[]): ReadonlyMap<number, number> | undefined;
}

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** One HTTP request as it goes out, without its body. */
export interface HttpHead {
  readonly method: string;
  readonly hostname: string;
  readonly port: string;
  /** Path and query. */
  readonly path: string;
  /** The name the certificate must be for; empty for addresses and without TLS. */
  readonly servername: string;
  /** Names and values in turn, `host` among them. */
  readonly headers: readonly string[];
}

export interface HttpPoolOptions {
  readonly isTls: boolean;
  /** What the name of the server stands for: nothing else is dialled. Not needed for a server named by its address. */
  readonly addresses: readonly ResolvedAddress[];
  /** Idle connections are dropped after this, or earlier if the server says that it does. */
  readonly maxIdleMs: number;
}

/** Connections to one server, kept for the next request. Certificates are checked, whatever the environment says. */
export interface HttpPool {
  /** Throws for a header that cannot be sent. The caller ends it, with its body. */
  request(head: HttpHead): ClientRequest;
  /** Whether the connection of this request ever stood: if not, nothing of it can have arrived. */
  wasConnected(request: ClientRequest): boolean;
  /** Ends every connection, also those in use. */
  close(): void;
}

/** A request to a listener; its body is not read. */
export interface LoopbackRequest {
  readonly method: string;
  /** Path and query, as they were sent. */
  readonly target: string;
  /** The `Host` header; empty when there is none. */
  readonly host: string;
}

export interface LoopbackAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Disposing it ends every connection, after the answers under way are out. */
export interface LoopbackListener extends AsyncDisposable {
  readonly port: number;
}

/** At an address of this machine (port 0: any that is free), or a socket in a folder that must be there already. */
export type ServePlace = { readonly host: string; readonly port: number } | { readonly path: string };

export interface ServeOptions {
  readonly place: ServePlace;
  /** PEM texts. */
  readonly tls?: { readonly certificate: string; readonly key: string };
  readonly maxHeadBytes: number;
  /** For the head of a request, and for the TLS handshake before it. */
  readonly headMs: number;
  /** For a whole request, its body included. */
  readonly requestMs: number;
  /** A connection above this is ended at once. */
  readonly maxConnections: number;
}

/** Why a connection was ended before it brought a request. */
export type ServeRefusal = "too_many" | "head_too_large" | "too_slow" | "malformed";

export interface ServeHandlers {
  /** No body has been read yet. */
  onRequest(request: IncomingMessage, response: ServerResponse): void;
  /** The connection is the handler's from now on. */
  onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  onRefused(reason: ServeRefusal, remoteAddress: string): void;
}

/** Disposing it takes no more connections, and ends those that are open after a moment for what is under way. */
export interface ServedPlace extends AsyncDisposable {
  /** `127.0.0.1:4711`, or the path of the socket. */
  readonly address: string;
  /** 0 for a socket. */
  readonly port: number;
}

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * Everything outside of the process: time, processes, files, the network. Tests give a fake one.
 *
 * @example
 * const runtime = await createRuntime({ model: "offline/operator", world: fakeWorld() });
 */
export interface World {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that never jump, for durations. */
  monotonicMs(): number;
  after(delayMs: number, run: () => void): Timer;
  /** As soon as all that is ready to run has run: what comes in one go can be dealt with as one. */
  soon(run: () => void): void;
  deadline(timeoutMs: number, parent?: AbortSignal): Deadline;
  /** Never throws: a child that cannot be started says so by its `exited`. */
  spawn(request: SpawnRequest): Child;
  /** Runs a worker file (`new URL("./x-worker.mjs", import.meta.url)`) in a thread of its own; `data` is its `workerData`. */
  thread(script: URL, data: unknown): Thread;
  readonly fetch: Fetch;
  /** Every address of a host name, in the order to try them. Rejects when there is none. */
  lookup(host: string): Promise<readonly ResolvedAddress[]>;
  httpPool(options: HttpPoolOptions): HttpPool;
  /** Answers HTTP at 127.0.0.1 and nowhere else; port 0 is any that is free. Rejects when the port is taken. */
  listen(port: number, answer: (request: LoopbackRequest) => LoopbackAnswer): Promise<LoopbackListener>;
  /** Rejects with the error of the system, `EADDRINUSE` among others; then the message says who listens there, if that is known. */
  serve(options: ServeOptions, handlers: ServeHandlers): Promise<ServedPlace>;
  readonly files: Files;
  readonly processes: Processes;
  /**
   * Calls back after a file, or a folder or something directly in it, appeared, changed or vanished; also when the folders
   * above it are not there yet, and when an editor replaces the file. It may call too often. Never keeps the process alive.
   */
  watch(path: string, onChange: () => void): Watch;
  randomBytes(count: number): Uint8Array;
  /** A number in [0, 1), for jitter. */
  random(): number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly log: Log;
  /** Where the messages that cross a wire are recorded; only where a person has asked for it. */
  readonly trace?: WireTrace;
  /** Where a recorded run is run again: nothing is started, sent or changed then. */
  readonly replay?: WireReplay;
  readonly telemetry?: Telemetry;
}

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/**
 * Where Tenon logs: an event by name, with fields.
 *
 * @example
 * const log: Log = { debug() {}, info() {}, warn: console.warn, error: console.error };
 */
export type Log = Readonly<Record<LogLevel, (event: string, fields?: LogFields) => void>>;

interface LogOptions {
  readonly level: LogLevel;
  readonly now: () => number;
  /** Gets one finished line, newline included. What it throws is dropped: nothing may fail because it was logged. */
  readonly write: (line: string) => void;
}

/** One JSON object a line: `{"t":"…","level":"warn","event":"server.failed","server":"files",…}`. */
export function createLog(options: LogOptions): Log {
  const lowest = LOG_LEVELS.indexOf(options.level);
  const line = (level: LogLevel) => {
    if (LOG_LEVELS.indexOf(level) < lowest) return () => {};
    return (event: string, fields: LogFields = {}) => {
      try {
        const head = { t: new Date(options.now()).toISOString(), level, event };
        options.write(`${escapeUnseen(JSON.stringify({ ...head, ...fields, ...head }))}\n`);
      } catch {
        // A full disk or a closed stderr: there is nowhere left to say so.
      }
    };
  };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

let shared: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Of the World made last: for code of `base` that is given no log, and must report a bug it contained. */
export function sharedLog(): Log {
  return shared;
}

export function shareLog(log: Log): void {
  shared = log;
}

/** JSON leaves C1 controls, bidi marks and invisible characters as they are; a server's words must not steer a terminal. */
export function escapeUnseen(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (unseen) => unseen.split("").map(escaped).join(""));
}
