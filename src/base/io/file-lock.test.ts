// A lock that only its owner's release or death frees, in every order of the steps of those who want it.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fakeWorld } from "../../testing/index.js";
import type { Files, Processes } from "../ports/world.js";
import {
  type FileLock,
  type LockAttempt,
  type LockWait,
  type LockWorld,
  tryFileLock,
  withFileLock,
} from "./file-lock.js";

const LOCK = "/locks/it";
const DEAD = "77 identity-77 abcd\n";
const WAIT: LockWait = { waitMs: 90_000, everyMs: 25, heldTooLong: (heldBy) => new Error(`process ${heldBy} has it`) };

describe("a lock file", () => {
  it("is taken from a dead process at once, and given back after the work", async () => {
    const world = fakeWorld();
    world.files.write(LOCK, DEAD);
    expect(await withFileLock(world, LOCK, WAIT, async () => "done")).toBe("done");
    expect(world.files.paths).toEqual([]);
  });

  it("is taken from a process whose number another one has now", async () => {
    const world = fakeWorld();
    world.otherProcesses.set(77, "identity-new");
    world.files.write(LOCK, DEAD);
    expect(await withFileLock(world, LOCK, WAIT, async () => "done")).toBe("done");
  });

  it("is not taken from a living process, however long it holds it", async () => {
    const world = fakeWorld();
    world.otherProcesses.set(77, "identity-77");
    world.files.write(LOCK, DEAD);
    let hasRun = false;
    const waiting = withFileLock(world, LOCK, WAIT, async () => {
      hasRun = true;
    });
    await world.advance(60_000);
    expect(hasRun).toBe(false);
    world.otherProcesses.delete(77); // killed in the middle of it
    await world.advance(100);
    await waiting;
    expect(hasRun).toBe(true);
  });

  it("names the living process that owns it: at once, or after the wait", async () => {
    const world = fakeWorld();
    world.otherProcesses.set(77, "identity-77");
    world.files.write(LOCK, DEAD);
    expect(await tryFileLock(world, LOCK)).toEqual({ heldBy: 77 });
    const verdict = withFileLock(world, LOCK, WAIT, async () => {}).catch((error: unknown) => error);
    await world.advance(91_000);
    expect(await verdict).toMatchObject({ message: "process 77 has it" });
    expect(world.files.text(LOCK)).toBe(DEAD);
    expect(world.clock.pendingTimers).toBe(0);
  });

  it("is not waited for by one who gave up", async () => {
    const world = fakeWorld();
    world.otherProcesses.set(77, "identity-77");
    world.files.write(LOCK, DEAD);
    const controller = new AbortController();
    const waiting = withFileLock(world, LOCK, { ...WAIT, signal: controller.signal }, async () => {});
    const verdict = waiting.catch((error: unknown) => error);
    await world.settle();
    controller.abort(new Error("gave up"));
    expect(await verdict).toMatchObject({ message: "gave up" });
  });

  it("is not taken from one who is just writing it, but from one who died before", async () => {
    const world = fakeWorld();
    world.files.write(LOCK, "");
    let hasRun = false;
    const waiting = withFileLock(world, LOCK, WAIT, async () => {
      hasRun = true;
    });
    await world.advance(500);
    expect(hasRun).toBe(false);
    await world.advance(1_000);
    await waiting;
    expect(hasRun).toBe(true);
  });

  it("is no endless wait where a link that leads nowhere lies in its place", async () => {
    const world = fakeWorld();
    world.files.link(LOCK, "/nowhere");
    const verdict = tryFileLock(world, LOCK).catch((error: unknown) => error);
    await world.advance(3_000);
    expect(await verdict).toMatchObject({ code: "config.unreadable", message: expect.stringContaining(LOCK) });
  });

  it("leaves no file behind where processes died while they broke it", async () => {
    const world = fakeWorld();
    world.files.write(LOCK, DEAD);
    world.files.write(`${LOCK}.0123456789abcdef.break`, "78 identity-78 abcd\n");
    await withFileLock(world, LOCK, WAIT, async () => {});
    expect(world.files.paths).toEqual([]);
  });
});

/** The files and processes that several processes share. Every step of a file happens when the scheduler says. */
class SharedMachine {
  readonly world = fakeWorld();
  readonly owners = new Set<number>();
  readonly #living = new Set<number>();
  readonly #scheduler: fc.Scheduler;

  constructor(scheduler: fc.Scheduler) {
    this.#scheduler = scheduler;
  }

  /** A process of its own; once it is dead none of its steps happens any more. */
  process(id: number): LockWorld {
    this.#living.add(id);
    const processes: Processes = {
      ownId: id,
      identityOf: (other) => (this.#living.has(other) ? `born-${other}` : undefined),
      memoryBytes: 0,
      memoryOf: () => undefined,
    };
    const { world } = this;
    return {
      files: this.#stepped(id),
      processes,
      randomBytes: (count) => world.randomBytes(count),
      after: (_delayMs, run) => {
        const timer = { isSet: true };
        this.#step(id)
          .then(() => timer.isSet && run())
          .catch(() => {});
        return { clear: () => (timer.isSet = false) };
      },
      deadline: (ms, parent) => world.deadline(ms, parent),
      log: world.log,
    };
  }

  kill(id: number): void {
    this.#living.delete(id);
    this.owners.delete(id);
  }

  isAlive(id: number): boolean {
    return this.#living.has(id);
  }

  async #step(id: number): Promise<void> {
    await this.#scheduler.schedule(Promise.resolve());
    if (!this.#living.has(id)) await new Promise<never>(() => {});
  }

  #stepped(id: number): Files {
    const { files } = this.world;
    const stepped = <A extends readonly unknown[], R>(run: (...given: A) => Promise<R>) => {
      return async (...given: A): Promise<R> => {
        await this.#step(id);
        const result = await run(...given); // at once: the fake files do all of it before they first wait
        await this.#step(id);
        return result;
      };
    };
    const shared: Files = Object.create(files);
    return Object.assign(shared, {
      createNew: stepped((path: string, text: string) => files.createNew(path, text)),
      readText: stepped((path: string) => files.readText(path)),
      remove: stepped((path: string) => files.remove(path)),
      list: stepped((folder: string) => files.list(folder)),
    });
  }
}

interface Life {
  /** How often it takes the lock, works and gives it back. */
  readonly rounds: number;
  /** The step of the whole machine after which it is killed. */
  readonly diesAfter: number | undefined;
}

async function live(machine: SharedMachine, id: number, { rounds }: Life): Promise<void> {
  const world = machine.process(id);
  for (let round = 0; round < rounds; round++) {
    const attempt: LockAttempt = await tryFileLock(world, LOCK);
    const lock: FileLock | undefined = attempt.lock;
    if (!lock) continue;
    machine.owners.add(id);
    expect([...machine.owners]).toEqual([id]);
    await world.files.readText(LOCK);
    expect([...machine.owners]).toEqual([id]);
    machine.owners.delete(id);
    await lock.release();
  }
}

describe("a lock file, in every order of steps", () => {
  const lives = fc.array(
    fc.record({ rounds: fc.integer({ min: 1, max: 3 }), diesAfter: fc.option(fc.nat(40), { nil: undefined }) }),
    { minLength: 2, maxLength: 5 },
  );

  it("never has two living owners, though a dead one left it and others die at any step", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), lives, async (scheduler, given) => {
        const machine = new SharedMachine(scheduler);
        machine.world.files.write(LOCK, DEAD);
        const failures: unknown[] = [];
        for (const [index, life] of given.entries()) {
          live(machine, 100 + index, life).catch((error: unknown) => failures.push(error));
        }
        for (let step = 0; step < 2_000; step++) {
          await machine.world.settle();
          for (const [index, { diesAfter }] of given.entries()) if (diesAfter === step) machine.kill(100 + index);
          if (scheduler.count() === 0) break;
          await scheduler.waitNext(1);
        }
        expect(failures).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });
});
