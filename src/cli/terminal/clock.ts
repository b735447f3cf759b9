// Time as the terminal needs it: durations, a tick for the spinner, and one bound; tests bring their own.

export interface Clock {
  /** Milliseconds that never jump. */
  now(): number;
  /** Runs again and again until the returned function is called; never keeps the process alive. */
  every(intervalMs: number, run: () => void): () => void;
  /** Runs once unless the returned function is called first. */
  after(delayMs: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  every: (intervalMs, run) => {
    const timer = setInterval(run, intervalMs).unref();
    return () => clearInterval(timer);
  },
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

const SECOND_MS = 1_000;
const MINUTE_S = 60;

/** `120 ms`, `1.2 s`, `2 m 05 s`: as short as it stays honest. */
export function formatElapsed(elapsedMs: number): string {
  if (elapsedMs < SECOND_MS) return `${Math.round(elapsedMs)} ms`;
  if (elapsedMs < MINUTE_S * SECOND_MS) return `${(Math.floor(elapsedMs / 100) / 10).toFixed(1)} s`;
  const seconds = Math.floor(elapsedMs / SECOND_MS);
  return `${Math.floor(seconds / MINUTE_S)} m ${String(seconds % MINUTE_S).padStart(2, "0")} s`;
}
