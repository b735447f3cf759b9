// A World in which exactly one operation fails, in a chosen way: for running a program once per operation and fault.
import { type ClientRequest, request as httpRequest } from "node:http";
import { Duplex } from "node:stream";
import type {
  AppendFile,
  Child,
  Fetch,
  Files,
  HttpPool,
  HttpPoolOptions,
  SpawnRequest,
  Thread,
  ThreadListener,
  World,
} from "../../base/ports/world.js";
import { FakeChild } from "../kit/world/child.js";
import { systemError } from "../kit/world/files.js";

type FileOperation = keyof Files | "write" | "sync" | "close";
type OtherOperation = "spawn" | "thread" | "fetch" | "lookup" | "listen" | "serve" | "request" | "watch";
export type Operation = `files.${FileOperation}` | OtherOperation;

type ErrorName = `E${"NOENT" | "NOTDIR" | "ACCES" | "LOOP" | "NAMETOOLONG" | "MFILE" | "NOSPC" | "ROFS" | "IO"}`;

/**
 * `torn`: half of the text is there, then an error. `short`: all but the last bytes. `slow`: it takes longer than any deadline.
 * `exit`: the process ends at once. `full`: this write and all later ones find no room. `reset`, `stall`, `dns`: the network.
 */
export type Fault =
  | ErrorName
  | "EAGAIN"
  | "EADDRINUSE"
  | "torn"
  | "short"
  | "slow"
  | "full"
  | "exit"
  | "reset"
  | "stall"
  | "dns";

const BAD_PATHS: readonly Fault[] = ["ENOTDIR", "EACCES", "ELOOP", "ENAMETOOLONG", "EMFILE"];
const READS: readonly Fault[] = ["ENOENT", ...BAD_PATHS, "EIO"];
const WRITES: readonly Fault[] = [...BAD_PATHS, "ENOSPC", "EROFS", "EIO", "full"];
const ATOMIC: readonly Fault[] = [...WRITES, "torn", "short", "slow"];
/** A total question has one other answer. */
const NOTHING: readonly Fault[] = ["ENOENT"];
/** A missing thing is an answer; the others are errors. */
const QUESTIONS: readonly Fault[] = ["ENOENT", "EACCES", "EMFILE", "EIO"];
const REQUESTS: readonly Fault[] = ["reset", "stall", "dns"];

/** Every fault that an operation can show. */
export const FITTING: Readonly<Record<Operation, readonly Fault[]>> = {
  "files.find": QUESTIONS,
  "files.linkTarget": QUESTIONS,
  "files.kindOf": QUESTIONS,
  "files.isFile": NOTHING,
  "files.isFolder": NOTHING,
  "files.markOf": ["EACCES", "EMFILE", "EIO"],
  "files.list": NOTHING,
  "files.readText": READS,
  "files.readBytes": READS,
  "files.entries": READS,
  "files.openAppend": WRITES,
  "files.write": ["ENOSPC", "EIO", "torn", "short", "full"],
  "files.sync": ["ENOSPC", "EIO"],
  "files.close": ["EIO", "ENOSPC"],
  "files.saveText": ATOMIC,
  "files.writeAtomic": ATOMIC,
  "files.writeParts": ATOMIC,
  "files.adopt": [...ATOMIC, "ENOENT"],
  "files.createNew": ATOMIC,
  "files.scratchFolder": ["ENOENT", "EACCES", "ENOSPC", "EROFS", "EMFILE"],
  "files.remove": ["EACCES", "EROFS", "EIO", "EMFILE"],
  spawn: ["EAGAIN", "EMFILE", "ENOENT", "EACCES", "exit"],
  thread: ["EAGAIN", "exit"],
  fetch: REQUESTS,
  request: REQUESTS,
  lookup: ["dns", "stall"],
  listen: ["EADDRINUSE", "EMFILE", "EACCES"],
  serve: ["EADDRINUSE", "EMFILE", "EACCES"],
  // A path that cannot be watched is polled: no change is reported at once.
  watch: ["stall"],
};

export interface PlannedFault {
  readonly operation: Operation;
  /** Which one of this kind, from 1. */
  readonly nth: number;
  readonly fault: Fault;
}

const QUIET_MS = 10;

/** Longer than any deadline of a file operation, shorter than a person's patience. */
const SLOW_MS = 30_000;

export class FaultyWorld {
  readonly world: World;
  readonly #base: World;
  readonly #baseFiles: Files;
  /** How often each operation was asked for. */
  readonly counts: Map<Operation, number> = new Map();
  /** The operation that failed, with its subject; undefined when it has not come to that. */
  hit: string | undefined;
  #plan: PlannedFault | undefined;
  #isCounting = true;
  #isFull = false;
  /** Requests that are under way outside of this process's memory: time must not pass for them. */
  #outside = 0;
  /** When a socket was last heard of: the rest of an answer follows its beginning. */
  #outsideMs = -QUIET_MS;

  /** `files`: other files than those of the World below. */
  constructor(
    base: World,
    { plan, files = base.files }: { readonly plan?: PlannedFault; readonly files?: Files } = {},
  ) {
    this.#base = base;
    this.#baseFiles = files;
    this.#plan = plan;
    this.world = this.#wrapped();
  }

  /** Something is under way that no fake clock knows of: a real disk, thread or socket. */
  get isBusyOutside(): boolean {
    return this.#outside > 0 || performance.now() - this.#outsideMs < QUIET_MS;
  }

  pause(): void {
    this.#isCounting = false;
  }

  resume(): void {
    this.#isCounting = true;
  }

  /** From now on nothing fails, and nothing is counted. */
  heal(): void {
    this.#plan = undefined;
    this.#isFull = false;
    this.#isCounting = false;
  }

  #fails(operation: Operation, subject: string): Fault | undefined {
    if (this.#isFull && FITTING[operation].includes("full")) return "full";
    if (!this.#isCounting) return undefined;
    const count = (this.counts.get(operation) ?? 0) + 1;
    this.counts.set(operation, count);
    if (this.#plan?.operation !== operation || this.#plan.nth !== count) return undefined;
    this.hit = `${operation} ${subject}`;
    this.#isFull = this.#plan.fault === "full";
    return this.#plan.fault;
  }

  /** The same, with `slow` waited out: it is no failure. */
  async #slowed(operation: Operation, subject: string): Promise<Fault | undefined> {
    const fault = this.#fails(operation, subject);
    if (fault !== "slow") return fault;
    await new Promise<void>((resolve) => this.#base.after(SLOW_MS, resolve));
    return undefined;
  }

  /** Throws the planned error of an operation that can only fail with one. */
  #demand(operation: Operation, subject: string): void {
    const fault = this.#fails(operation, subject);
    if (fault !== undefined) throw errno(fault, subject);
  }

  #wrapped(): World {
    const base = this.#base;
    return {
      now: () => base.now(),
      monotonicMs: () => base.monotonicMs(),
      after: (delayMs, run) => base.after(delayMs, run),
      soon: (run) => base.soon(run),
      deadline: (timeoutMs, parent) => base.deadline(timeoutMs, parent),
      processes: base.processes,
      randomBytes: (count) => base.randomBytes(count),
      random: () => base.random(),
      env: base.env,
      platform: base.platform,
      log: base.log,
      spawn: (request) => this.#spawn(request),
      thread: (script, data) => this.#thread(script, data),
      fetch: this.#fetch,
      lookup: async (host) => {
        const fault = this.#fails("lookup", host);
        if (fault === "stall") return await never(undefined);
        if (fault !== undefined) throw networkError(fault, host);
        return await base.lookup(host);
      },
      httpPool: (options) => this.#httpPool(options),
      listen: async (port, answer) => {
        this.#demand("listen", `listen 127.0.0.1:${port}`);
        return await base.listen(port, answer);
      },
      serve: async (options, handlers) => {
        this.#demand("serve", "serve");
        return await base.serve(options, handlers);
      },
      files: this.#files(),
      watch: (path, onChange) =>
        this.#fails("watch", path) === undefined ? base.watch(path, onChange) : { close: () => {} },
    };
  }

  #files(): Files {
    const files = this.#baseFiles;
    const ask = async <T>(name: FileOperation, path: string, work: () => Promise<T>): Promise<T> => {
      this.#demand(`files.${name}`, path);
      return await this.#away(work);
    };
    const question = async <T>(name: FileOperation, path: string, work: () => Promise<T | undefined>) => {
      const fault = this.#fails(`files.${name}`, path);
      if (fault === undefined) return await this.#away(work);
      if (fault === "ENOENT") return undefined;
      throw errno(fault, path);
    };
    const atomic = async <T>(name: FileOperation, path: string, text: string, work: () => Promise<T>): Promise<T> => {
      const fault = await this.#slowed(`files.${name}`, path);
      if (fault === undefined) return await this.#away(work);
      // A file is replaced by a rename: the torn text is a draft of another name, which a full disk may keep.
      if (fault === "torn" || fault === "short") await files.writeAtomic(`${path}.draft.tmp`, partOf(text, fault));
      throw errno(fault, path);
    };
    return {
      find: (path) => question("find", path, () => files.find(path)),
      linkTarget: (path) => question("linkTarget", path, () => files.linkTarget(path)),
      kindOf: (path) => question("kindOf", path, () => files.kindOf(path)),
      isFile: (path) => this.#fails("files.isFile", path) === undefined && files.isFile(path),
      isFolder: (path) => this.#fails("files.isFolder", path) === undefined && files.isFolder(path),
      markOf: (path) => {
        this.#demand("files.markOf", path);
        return files.markOf(path);
      },
      list: async (folder) =>
        this.#fails("files.list", folder) === undefined ? await this.#away(() => files.list(folder)) : [],
      readText: (path) => ask("readText", path, () => files.readText(path)),
      readBytes: (path, range) => ask("readBytes", path, () => files.readBytes(path, range)),
      entries: (folder) => ask("entries", folder, () => files.entries(folder)),
      remove: (path) => ask("remove", path, () => files.remove(path)),
      saveText: (path, text) => atomic("saveText", path, text, () => files.saveText(path, text)),
      writeAtomic: (path, text, mode) =>
        atomic("writeAtomic", path, text, () => files.writeAtomic(path, text, ...(mode === undefined ? [] : [mode]))),
      writeParts: (path, parts) => atomic("writeParts", path, "part", () => files.writeParts(path, parts)),
      adopt: (from, path) => atomic("adopt", path, "", () => files.adopt(from, path)),
      createNew: (path, text) => this.#createNew(path, text),
      openAppend: (path) => this.#openAppend(path),
      scratchFolder: () => {
        this.#demand("files.scratchFolder", "scratch");
        return files.scratchFolder();
      },
    };
  }

  /** It is not replaced but made: what was torn is there under its own name. */
  async #createNew(path: string, text: string): Promise<boolean> {
    const files = this.#baseFiles;
    const fault = await this.#slowed("files.createNew", path);
    if (fault === undefined) return await this.#away(() => files.createNew(path, text));
    if ((fault === "torn" || fault === "short") && !(await files.createNew(path, partOf(text, fault)))) return false;
    throw errno(fault, path);
  }

  #openAppend(path: string): AppendFile {
    this.#demand("files.openAppend", path);
    const file = this.#baseFiles.openAppend(path);
    return {
      write: (text, options) => {
        const failed = this.#fails("files.write", path);
        if (failed === undefined) return file.write(text, options);
        if (failed === "torn" || failed === "short") file.write(partOf(text, failed));
        throw errno(failed, path);
      },
      sync: () => {
        this.#demand("files.sync", path);
        file.sync();
      },
      // The descriptor is gone also when closing tells of an error.
      close: () => {
        const failed = this.#fails("files.close", path);
        file.close();
        if (failed !== undefined) throw errno(failed, path);
      },
    };
  }

  #spawn(request: SpawnRequest): Child {
    const fault = this.#fails("spawn", request.command);
    if (fault === undefined) return this.#base.spawn(request);
    if (fault !== "exit") return new FakeChild(request, {}, errno(fault, `spawn ${request.command}`));
    const child = new FakeChild(request);
    child.exit(1);
    return child;
  }

  #thread(script: URL, data: unknown): Thread {
    const fault = this.#fails("thread", "");
    if (fault !== undefined) {
      const fail = (listener: ThreadListener) => this.#base.soon(() => listener.onFailed(errno(fault, "a thread")));
      return { post: () => {}, listen: fail, end: () => {} };
    }
    const thread = this.#base.thread(script, data);
    let waiting = 0;
    const done = (): void => {
      this.#outside -= waiting;
      waiting = 0;
    };
    return {
      post: (message) => {
        waiting += 1;
        this.#outside += 1;
        thread.post(message);
      },
      listen: (listener) =>
        thread.listen({
          onMessage: before(done, (message: unknown) => listener.onMessage(message)),
          onFailed: before(done, (error: Error) => listener.onFailed(error)),
        }),
      end: before(done, () => thread.end()),
    };
  }

  readonly #fetch: Fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const fault = this.#fails("fetch", url);
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    if (fault === "stall") return await never(signal ?? undefined);
    if (fault !== undefined) throw new TypeError("fetch failed", { cause: networkError(fault, url) });
    try {
      return await this.#away(() => this.#base.fetch(input, init));
    } finally {
      this.#outsideMs = performance.now();
    }
  };

  async #away<T>(work: () => Promise<T>): Promise<T> {
    this.#outside += 1;
    try {
      return await work();
    } finally {
      this.#outside -= 1;
    }
  }

  #httpPool(options: HttpPoolOptions): HttpPool {
    const pool = this.#base.httpPool(options);
    return {
      request: (head) => {
        const fault = this.#fails("request", `${head.method} ${head.hostname}${head.path}`);
        if (fault !== undefined) return brokenRequest(fault, head.hostname);
        const request = pool.request(head);
        this.#outside += 1;
        let isUnderWay = true;
        const over = () => {
          if (isUnderWay) this.#outside -= 1;
          isUnderWay = false;
          this.#outsideMs = performance.now();
        };
        // An answer that stays open (a stream of events) is no longer waited for.
        request.once("response", over);
        request.once("close", over);
        return request;
      },
      wasConnected: (request) => pool.wasConnected(request),
      close: () => pool.close(),
    };
  }
}

function before<Args extends unknown[]>(first: () => void, then: (...args: Args) => void): (...args: Args) => void {
  return (...args) => {
    first();
    then(...args);
  };
}

function partOf(text: string, fault: Fault): string {
  return fault === "short" ? text.slice(0, -1) : text.slice(0, Math.floor(text.length / 2));
}

function errno(fault: Fault, subject: string): Error {
  const code = fault === "full" || fault === "short" ? "ENOSPC" : /^E[A-Z]/.test(fault) ? fault : "EIO";
  return systemError(code, subject);
}

function networkError(fault: Fault, subject: string): Error {
  const code = fault === "dns" ? "ENOTFOUND" : "ECONNRESET";
  const words = fault === "dns" ? `getaddrinfo ENOTFOUND ${subject}` : "read ECONNRESET";
  return Object.assign(new Error(words), { code });
}

async function never(signal: AbortSignal | undefined): Promise<never> {
  return await new Promise<never>((_, reject) => {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** A request on a connection that never stands, breaks, or says nothing: nothing is opened. */
function brokenRequest(fault: Fault, host: string): ClientRequest {
  const socket = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
  const request = httpRequest({ hostname: host, createConnection: () => socket });
  request.on("error", () => {}); // reported to the sender
  if (fault !== "stall") request.once("socket", () => setImmediate(() => socket.destroy(networkError(fault, host))));
  return request;
}
