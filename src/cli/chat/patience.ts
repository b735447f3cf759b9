// Where nobody can simply ask again, the first prompt waits for servers that may have to download themselves first.
import type { Clock } from "../terminal/clock.js";
import type { Palette } from "../terminal/palette.js";
import type { Screen } from "../terminal/screen.js";
import { visibleLine } from "../terminal/visible.js";
import { unlessAborted } from "./interrupts.js";
import type { ServerReport } from "./status.js";

export interface PatienceOptions {
  readonly servers: readonly string[];
  readonly status: () => Promise<readonly ServerReport[]>;
  readonly clock: Clock;
  readonly screen: Screen;
  readonly palette: Palette;
  readonly quit: AbortSignal;
}

const LOOK_EVERY_MS = 100;
/** Shorter waits need no words. */
const TELL_AFTER_MS = 2_000;
/** A server that is not even known by now will not be. */
const UNKNOWN_MS = 5_000;
/** `npx` took up to 46 s to fetch a server and what it needs. */
const LONGEST_MS = 90_000;

export async function awaitServers(options: PatienceOptions): Promise<void> {
  const { servers, status, clock, screen, palette, quit } = options;
  const startedMs = clock.now();
  let isTold = false;
  while (servers.length > 0 && !quit.aborted) {
    const elapsedMs = clock.now() - startedMs;
    const reports = await status();
    const waiting = servers.filter((name) => {
      const state = reports.find((report) => report.name === name)?.state;
      return state === undefined ? elapsedMs < UNKNOWN_MS : state === "connecting";
    });
    if (waiting.length === 0 || elapsedMs >= LONGEST_MS) return;
    if (!isTold && elapsedMs >= TELL_AFTER_MS) {
      isTold = true;
      const names = waiting.map((name) => visibleLine(name)).join(", ");
      screen.line(palette.dim(`Waiting for ${names}, which may be downloading. Ctrl-C quits.`));
    }
    const pause = new Promise<true>((resolve) => {
      clock.after(LOOK_EVERY_MS, () => resolve(true));
    });
    await unlessAborted(pause, quit);
  }
}
