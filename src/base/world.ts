// The World port: everything outside the process that rooms may touch. `world/` builds the real one, `testing/` the fake one.
import type { Readable, Writable } from "node:stream";
import type { Log } from "./log.js";

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
}

/** An append-only file: `write` is synchronous, so what was written survives a crash of this process. */
export interface AppendFile {
  write(text: string): void;
  /** Forces what was written to the disk. */
  sync(): void;
  close(): void;
}

export interface Files {
  openAppend(path: string): AppendFile;
  readText(path: string): Promise<string>;
}

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface World {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that never jump, for durations. */
  monotonicMs(): number;
  after(delayMs: number, run: () => void): Timer;
  deadline(timeoutMs: number, parent?: AbortSignal): Deadline;
  spawn(request: SpawnRequest): Child;
  readonly fetch: Fetch;
  readonly files: Files;
  randomBytes(count: number): Uint8Array;
  /** A number in [0, 1), for jitter. */
  random(): number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly log: Log;
}
