// Waiting in a program that watches others: by looking again, since processes, files and pipes announce nothing alike.

const LOOK_MS = 20;

export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Looks at once, then again and again; true as soon as it holds, false when the time is over. */
export async function waitUntil(holds: () => boolean, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  for (;;) {
    if (holds()) return true;
    const left = end - performance.now();
    if (left <= 0) return false;
    await pause(Math.min(LOOK_MS, left));
  }
}

/** The promise's value, or undefined when it takes longer. */
export async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function seconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
