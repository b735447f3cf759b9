// Watches this process from inside: how long its event loop was held up by its own work, and how far its memory grew.
import { closeSync, openSync, readSync } from "node:fs";

const TICK_MS = 5;
const TICKS_A_LOOK = 4;
const NANOSECONDS = 1e6;
const MEGABYTE = 1024 * 1024;

export interface Observed {
  /** The longest the loop was not free for anyone, waiting for a processor left out. */
  readonly blockedMs: number;
  /** How much of that was computing; the rest was spent in the kernel's hands. */
  readonly computedMs: number;
  /** The longest time between two turns as the clock has it: on a busy machine this is mostly the machine. */
  readonly longestGapMs: number;
  /** At its highest, garbage that nobody has collected yet included. */
  readonly grownMb: number;
  /** What is really held, when it was last looked at. */
  readonly heldMb: number;
  readonly ticks: number;
}

/**
 * A timer every few milliseconds. Linux says of each thread how long it was ready to run and had no processor; that much
 * of a gap is the machine's doing. What is left is ours: computing, collecting garbage, waiting for a disk.
 */
export class Probe {
  readonly #schedule = new ScheduleFile();
  readonly #start: Memory;
  #timer: NodeJS.Timeout | undefined;
  #lastMs = 0;
  #last: Schedule = { runMs: 0, delayMs: 0 };
  #blockedMs = 0;
  #computedMs = 0;
  #gapMs = 0;
  #ticks = 0;
  #grownBytes = 0;
  #heldBytes = 0;

  constructor() {
    this.#start = memory();
    this.#mark();
    this.#next();
  }

  end(): Observed {
    clearTimeout(this.#timer);
    this.#schedule.close();
    return {
      blockedMs: Math.round(this.#blockedMs),
      computedMs: Math.round(this.#computedMs),
      longestGapMs: Math.round(this.#gapMs),
      grownMb: Math.round(this.#grownBytes / MEGABYTE),
      heldMb: Math.round(this.#heldBytes / MEGABYTE),
      ticks: this.#ticks,
    };
  }

  /** Looks at what is held once all garbage is gone. The time that takes is nobody's fault, and is left out. */
  weigh(): void {
    clearTimeout(this.#timer);
    globalThis.gc?.();
    this.#heldBytes = memory().usedBytes - this.#start.usedBytes;
    this.#mark();
    this.#next();
  }

  #next(): void {
    this.#timer = setTimeout(() => {
      this.#tick();
      this.#next();
    }, TICK_MS);
  }

  #tick(): void {
    const now = this.#schedule.read();
    const gapMs = performance.now() - this.#lastMs - TICK_MS;
    const blockedMs = gapMs - (now.delayMs - this.#last.delayMs);
    this.#gapMs = Math.max(this.#gapMs, gapMs);
    if (blockedMs > this.#blockedMs) {
      this.#blockedMs = blockedMs;
      this.#computedMs = now.runMs - this.#last.runMs;
    }
    if (this.#ticks % TICKS_A_LOOK === 0) this.#look();
    this.#ticks += 1;
    this.#mark();
  }

  #look(): void {
    const { processBytes, heapBytes } = memory();
    const grown = [processBytes - this.#start.processBytes, heapBytes - this.#start.heapBytes];
    this.#grownBytes = Math.max(this.#grownBytes, ...grown);
  }

  #mark(): void {
    this.#last = this.#schedule.read();
    this.#lastMs = performance.now();
  }
}

interface Memory {
  readonly processBytes: number;
  /** Of the process only what JavaScript has. What an earlier cell took is not given back by the process, but by this. */
  readonly heapBytes: number;
  readonly usedBytes: number;
}

function memory(): Memory {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  return { processBytes: rss, heapBytes: heapTotal + external, usedBytes: heapUsed + external };
}

interface Schedule {
  /** How long the main thread has run, and how long it has waited for a processor. */
  readonly runMs: number;
  readonly delayMs: number;
}

/** What Linux says of the main thread; nothing elsewhere. */
class ScheduleFile {
  readonly #buffer = Buffer.alloc(256);
  readonly #file: number | undefined = open("/proc/self/schedstat");

  read(): Schedule {
    if (this.#file === undefined) return { runMs: 0, delayMs: 0 };
    const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, 0);
    const [run, delay] = this.#buffer.toString("latin1", 0, length).split(" ");
    return { runMs: Number(run) / NANOSECONDS, delayMs: Number(delay) / NANOSECONDS };
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

function open(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch {
    return undefined; // not Linux: then the whole gap counts
  }
}
