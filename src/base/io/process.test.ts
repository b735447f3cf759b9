// The ladder of endTree, rung by rung: a scripted child on a clock that the test turns.
import { PassThrough, Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { createDeadline } from "../async/deadline.js";
import { LIMITS } from "../limits.js";
import type { Child, ChildExit, Log, Timer, World } from "../ports/world.js";
import { endTree } from "./process.js";

const GRACE = { stdinMs: 1_000, terminateMs: 500 };
const POLL = LIMITS.groupPollMs;

class Clock {
  nowMs = 0;
  readonly #due = new Map<object, { readonly atMs: number; readonly run: () => void }>();

  get timers(): number {
    return this.#due.size;
  }

  after(delayMs: number, run: () => void): Timer {
    const key = {};
    this.#due.set(key, { atMs: this.nowMs + delayMs, run });
    return { clear: () => this.#due.delete(key) };
  }

  /** Goes from timer to timer until none is left, letting promises settle in between. */
  async runAll(): Promise<void> {
    await settled();
    for (let next = this.#next(); next; next = this.#next()) {
      const [key, { atMs, run }] = next;
      this.nowMs = atMs;
      this.#due.delete(key);
      run();
      await settled();
    }
  }

  #next() {
    return [...this.#due].sort(([, a], [, b]) => a.atMs - b.atMs)[0];
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function refuse(): never {
  throw new Error("not part of this test");
}

function worldOn(clock: Clock, events: string[]): World {
  const say = (event: string) => {
    events.push(event);
  };
  const log: Log = { debug: say, info: say, warn: say, error: say };
  return {
    now: () => clock.nowMs,
    monotonicMs: () => clock.nowMs,
    after: (delayMs, run) => clock.after(delayMs, run),
    soon: refuse,
    deadline: (timeoutMs, parent) => createDeadline((ms, run) => clock.after(ms, run), timeoutMs, parent),
    spawn: refuse,
    thread: refuse,
    fetch: refuse,
    lookup: refuse,
    httpPool: refuse,
    listen: refuse,
    serve: refuse,
    processes: { ownId: 1, identityOf: refuse, memoryBytes: 0, memoryOf: refuse },
    files: {
      find: refuse,
      linkTarget: refuse,
      openAppend: refuse,
      readText: refuse,
      readBytes: refuse,
      kindOf: refuse,
      entries: refuse,
      saveText: refuse,
      writeAtomic: refuse,
      writeParts: refuse,
      adopt: refuse,
      createNew: refuse,
      list: refuse,
      isFile: refuse,
      isFolder: refuse,
      markOf: refuse,
      scratchFolder: refuse,
      remove: refuse,
    },
    watch: refuse,
    randomBytes: refuse,
    random: refuse,
    env: {},
    platform: "linux",
    log,
  };
}

interface Script {
  /** When, after which rung, the group is gone; a rung that is left out has no effect. */
  readonly afterEofMs?: number;
  readonly afterTermMs?: number;
  readonly afterKillMs?: number;
  readonly pid?: undefined;
  readonly stdin?: Writable;
  /** Daemons it left behind: how many TERMs and KILLs each takes before it is gone. */
  readonly strays?: readonly ("TERM" | "KILL" | "never")[];
}

class FakeChild implements Child {
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly exited: Promise<ChildExit> = new Promise(() => {}); // endTree must not hang on a child the kernel holds back
  readonly steps: string[] = [];
  readonly #clock: Clock;
  readonly #script: Script;
  #goneAtMs = Number.POSITIVE_INFINITY;
  #strays: readonly ("TERM" | "KILL" | "never")[];

  constructor(clock: Clock, script: Script) {
    this.#strays = script.strays ?? [];
    this.#clock = clock;
    this.#script = script;
    this.pid = "pid" in script ? undefined : 4_242;
    this.stdin = script.stdin ?? new PassThrough();
    this.stdin.on("finish", () => this.#step("EOF", script.afterEofMs));
  }

  signalGroup(signal: "SIGTERM" | "SIGKILL"): void {
    this.#step(signal, signal === "SIGTERM" ? this.#script.afterTermMs : this.#script.afterKillMs);
  }

  isGroupAlive(): boolean {
    return this.#clock.nowMs < this.#goneAtMs;
  }

  async signalStrays(signal: "SIGTERM" | "SIGKILL" | 0): Promise<number> {
    const found = this.#strays.length;
    if (found > 0 && signal !== 0) this.steps.push(`strays ${signal} at ${this.#clock.nowMs}`);
    if (signal === "SIGTERM") this.#strays = this.#strays.filter((stray) => stray !== "TERM");
    if (signal === "SIGKILL") this.#strays = this.#strays.filter((stray) => stray === "never");
    return found;
  }

  async release(): Promise<void> {
    this.steps.push("released");
  }

  #step(name: string, goneAfterMs: number | undefined): void {
    this.steps.push(`${name} at ${this.#clock.nowMs}`);
    if (goneAfterMs !== undefined) this.#goneAtMs = Math.min(this.#goneAtMs, this.#clock.nowMs + goneAfterMs);
  }
}

async function run(script: Script): Promise<{ child: FakeChild; clock: Clock; events: string[]; endedAtMs: number }> {
  const clock = new Clock();
  const events: string[] = [];
  const child = new FakeChild(clock, script);
  let endedAtMs = Number.NaN;
  let timersLeft = Number.NaN;
  const ending = endTree(child, worldOn(clock, events), GRACE).then(() => {
    endedAtMs = clock.nowMs;
    timersLeft = clock.timers;
  });
  await clock.runAll();
  expect(endedAtMs).not.toBeNaN();
  await ending;
  expect(timersLeft).toBe(0);
  return { child, clock, events, endedAtMs };
}

describe("endTree", () => {
  test("sends no signal to a group that leaves when its input ends", async () => {
    const { child, endedAtMs } = await run({ afterEofMs: 130 });
    expect(child.steps).toEqual(["EOF at 0", "released"]);
    expect(endedAtMs).toBeGreaterThanOrEqual(130);
    expect(endedAtMs).toBeLessThanOrEqual(130 + POLL);
  });

  test("sends TERM when the group is still there after the first grace, and waits again", async () => {
    const { child, endedAtMs } = await run({ afterTermMs: 100 });
    expect(child.steps).toEqual(["EOF at 0", "SIGTERM at 1000", "released"]);
    expect(endedAtMs).toBeLessThanOrEqual(1_100 + POLL);
  });

  test("sends KILL when TERM does not help either", async () => {
    const { child, endedAtMs, events } = await run({ afterKillMs: 10 });
    expect(child.steps).toEqual(["EOF at 0", "SIGTERM at 1000", "SIGKILL at 1500", "released"]);
    expect(endedAtMs).toBeLessThanOrEqual(1_510 + POLL);
    expect(events).toEqual([]);
  });

  test("does not wait for ever for what even KILL does not end, and says so in the log", async () => {
    const { child, endedAtMs, events } = await run({});
    expect(child.steps).toHaveLength(3);
    expect(endedAtMs).toBe(1_500 + LIMITS.killWaitMs);
    expect(events).toEqual(["process.group_remains"]);
  });

  test("takes a group that ends exactly at the grace as ended", async () => {
    expect((await run({ afterEofMs: GRACE.stdinMs })).child.steps).toEqual(["EOF at 0", "released"]);
  });

  test("does nothing for a child that never started", async () => {
    const { child, endedAtMs } = await run({ pid: undefined });
    expect([child.steps, endedAtMs]).toEqual([[], 0]);
  });

  test("survives a broken pipe at the end of input", async () => {
    const stdin = new Writable({ final: (done) => done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" })) });
    const { child } = await run({ stdin, afterTermMs: 0 });
    expect(child.steps).toEqual(["SIGTERM at 1000", "released"]);
  });

  test("reads away what the child still writes, so that a full pipe cannot hold it back", async () => {
    const { child } = await run({ afterEofMs: 0 });
    expect([child.stdout.readableFlowing, child.stderr.readableFlowing]).toEqual([true, true]);
  });

  test("ends daemons that left the group, with TERM as soon as the group is gone", async () => {
    const { child, endedAtMs } = await run({ afterEofMs: 0, strays: ["TERM", "TERM"] });
    expect(child.steps).toEqual(["EOF at 0", `strays SIGTERM at ${POLL}`, "released"]);
    expect(endedAtMs).toBe(POLL);
  });

  test("sends KILL to a daemon that TERM does not end", async () => {
    const { child, events } = await run({ afterEofMs: 0, strays: ["KILL", "TERM"] });
    const killed = `strays SIGKILL at ${POLL + LIMITS.strayTermMs}`;
    expect(child.steps).toEqual(["EOF at 0", `strays SIGTERM at ${POLL}`, killed, "released"]);
    expect(events).toEqual([]);
  });

  test("stays watched over when something cannot be ended, and says so", async () => {
    const { child, events } = await run({ afterEofMs: 0, strays: ["never"] });
    expect(child.steps).not.toContain("released");
    expect(events).toEqual(["process.group_remains"]);
  });

  test("never signals a group it has seen gone, though its number may live again", async () => {
    const { child, clock, events } = await run({ afterEofMs: 0 });
    child.isGroupAlive = () => true;
    await endTree(child, worldOn(clock, events), GRACE);
    expect(child.steps).toEqual(["EOF at 0", "released"]);
  });
});
