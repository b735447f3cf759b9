// A job that takes its time: one pause a step, progress after each, and an end at once when it is cancelled.

export interface SlowJob {
  readonly steps: number;
  readonly stepMs: number;
}

export interface SlowJobPorts {
  readonly signal: AbortSignal;
  /** Rejects with the signal's reason when it aborts. */
  readonly pause: (delayMs: number, signal: AbortSignal) => Promise<void>;
  readonly onProgress: (done: number, total: number) => Promise<void>;
}

/** Resolves with the number of steps done; rejects with the signal's reason when it is cancelled. */
export async function runSlowJob(job: SlowJob, ports: SlowJobPorts): Promise<number> {
  for (let done = 0; done < job.steps; ) {
    ports.signal.throwIfAborted();
    await ports.pause(job.stepMs, ports.signal);
    done += 1;
    await ports.onProgress(done, job.steps);
  }
  return job.steps;
}
