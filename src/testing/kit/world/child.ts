// A child process that is none: streams in memory, and a tree that ends the way the test wants.
import { PassThrough } from "node:stream";
import { messageOf } from "../../../base/errors.js";
import { parseJson } from "../../../base/json/json.js";
import { LineSplitter } from "../../../base/json/ndjson.js";
import type { Child, ChildExit, SpawnRequest, Timer } from "../../../base/ports/world.js";
import type { Behaviour } from "../mcp-server/behaviour.js";
import { parseBehaviour } from "../mcp-server/check-behaviour.js";
import { assertPossible, type HostLimits, MAX_LINE_BYTES } from "../mcp-server/host.js";
import { ScriptedPeer } from "../mcp-server/peer.js";

export interface FakeChildOptions {
  /** Stays when its input ends. */
  readonly ignoresEof?: boolean;
  /** Stays when its group gets SIGTERM. */
  readonly ignoresSigterm?: boolean;
}

/** A process that the child started, and that stays when the child ends. */
export interface GroupMember {
  readonly ignoresSigterm?: boolean;
}

let lastPid = 100_000;

export class FakeChild implements Child {
  readonly request: SpawnRequest;
  readonly pid: number | undefined;
  readonly stdin: PassThrough = new PassThrough();
  readonly stdout: PassThrough = new PassThrough();
  readonly stderr: PassThrough = new PassThrough();
  readonly exited: Promise<ChildExit>;
  /** Signals its group got, in order. */
  readonly signals: ("SIGTERM" | "SIGKILL")[] = [];
  readonly #options: FakeChildOptions;
  #settle: (exit: ChildExit) => void = () => {};
  #isAlive: boolean;
  /** Other processes of its group. */
  #others: GroupMember[] = [];
  /** Processes it started that left its group. */
  #strays: GroupMember[] = [];
  /** What is resident of its tree, for tests to set. */
  memoryBytes: number = 50 * 2 ** 20;
  /** Whether it was given up as ended for good. */
  isReleased = false;

  /** With `startError` it is a child that could not be started: no pid, and `exited` tells why. */
  constructor(request: SpawnRequest, options: FakeChildOptions = {}, startError?: Error) {
    this.request = request;
    this.#options = options;
    this.exited = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.pid = startError ? undefined : ++lastPid;
    this.#isAlive = !startError;
    if (startError) this.#end({ kind: "not_started", error: startError });
    else if (!options.ignoresEof) this.#exitAtEof();
  }

  isGroupAlive(): boolean {
    return this.#isAlive || this.#others.length > 0;
  }

  signalGroup(signal: "SIGTERM" | "SIGKILL"): void {
    if (!this.isGroupAlive()) return;
    this.signals.push(signal);
    const isKill = signal === "SIGKILL";
    this.#others = this.#others.filter((member) => member.ignoresSigterm && !isKill);
    if (isKill || !this.#options.ignoresSigterm) this.exit(null, signal);
  }

  startInGroup(member: GroupMember = {}): void {
    this.#others.push(member);
  }

  startAsDaemon(member: GroupMember = {}): void {
    this.#strays.push(member);
  }

  async signalStrays(signal: "SIGTERM" | "SIGKILL" | 0): Promise<number> {
    const found = this.#strays.length;
    if (signal !== 0) this.#strays = this.#strays.filter((stray) => stray.ignoresSigterm && signal !== "SIGKILL");
    return found;
  }

  async release(): Promise<void> {
    this.isReleased = true;
  }

  /** The child itself ends; others of its group stay. */
  exit(code: number | null, signal: string | null = null): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    this.#end({ kind: "exited", code, signal });
  }

  /** Either event may be the only one: without a reader there is no `end`, and unread input delays it. */
  #exitAtEof(): void {
    this.stdin.on("end", () => this.exit(0));
    this.stdin.on("finish", () => {
      if (this.stdin.readableLength === 0) this.exit(0);
    });
  }

  #end(exit: ChildExit): void {
    this.stdout.end();
    this.stderr.end();
    this.stdin.destroy();
    this.#settle(exit);
  }
}

const LIMITS: HostLimits = {
  place: "behind a fake child: nothing hands it to the test, and it has no file",
  steps: ["hold"],
  replies: ["held"],
  fields: ["recordFile", "recordEnv", "maxLifetimeMs"],
};

export function scriptedChild(
  request: SpawnRequest,
  behaviour: Behaviour,
  after: (delayMs: number, run: () => void) => Timer,
): FakeChild {
  const checked = parseBehaviour(behaviour);
  assertPossible(checked, LIMITS);
  const child = new FakeChild(request, {
    ignoresEof: checked.ignoresEof === true,
    ignoresSigterm: checked.ignoresSigterm === true,
  });
  const write = (stream: "stdout" | "stderr", text: string) => {
    if (child[stream].writable) child[stream].write(text);
  };
  const peer = new ScriptedPeer(checked, {
    send: (message) => write("stdout", `${JSON.stringify(message)}\n`),
    garbage: (text) => write("stdout", `${text}\n`),
    stderr: (text) => write("stderr", text),
    after,
    crash: ({ exitCode, signal, stderr }) => {
      if (stderr !== undefined) write("stderr", `${stderr}\n`);
      child.exit(signal === undefined ? (exitCode ?? 1) : null, signal ?? null);
    },
    spawnChildren: async ({ count, ownSession, ignoresSigterm }) => {
      const member = { ignoresSigterm: ignoresSigterm === true };
      for (let started = 0; started < count; started++) {
        if (ownSession) child.startAsDaemon(member);
        else child.startInGroup(member);
      }
    },
    facts: () => ({ envNames: Object.keys(request.env), cwd: request.cwd, pid: child.pid ?? 0, children: [] }),
    hold: () => {},
    bug: (error) => write("stderr", `scripted MCP server: ${messageOf(error)}\n`),
  });
  const lines = new LineSplitter(MAX_LINE_BYTES);
  child.stdin.on("data", (chunk: Uint8Array) => {
    for (const line of lines.push(chunk)) {
      const parsed = line.kind === "line" ? parseJson(line.text) : undefined;
      if (parsed?.ok) peer.receive(parsed.value);
    }
  });
  child.exited.then(() => peer.close()).catch((error: unknown) => write("stderr", messageOf(error)));
  return child;
}
