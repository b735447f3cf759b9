// The slow job reports each step and stops where it is cancelled.
import { describe, expect, it } from "vitest";
import { runSlowJob } from "./slow-job.js";

describe("runSlowJob", () => {
  it("pauses before and reports after every step", async () => {
    const happened: string[] = [];
    const done = await runSlowJob(
      { steps: 3, stepMs: 250 },
      {
        signal: new AbortController().signal,
        pause: async (delayMs) => {
          happened.push(`pause ${delayMs}`);
        },
        onProgress: async (step, total) => {
          happened.push(`${step}/${total}`);
        },
      },
    );
    expect(done).toBe(3);
    expect(happened).toEqual(["pause 250", "1/3", "pause 250", "2/3", "pause 250", "3/3"]);
  });

  it("ends with the reason of the cancellation and does no further step", async () => {
    const cancel = new AbortController();
    const reported: number[] = [];
    const job = runSlowJob(
      { steps: 5, stepMs: 1 },
      {
        signal: cancel.signal,
        pause: async () => {},
        onProgress: async (step) => {
          reported.push(step);
          if (step === 2) cancel.abort(new Error("enough"));
        },
      },
    );
    await expect(job).rejects.toThrow("enough");
    expect(reported).toEqual([1, 2]);
  });
});
