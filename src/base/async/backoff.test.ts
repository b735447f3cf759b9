// The delays grow, stay under their cap and spread.
import fc from "fast-check";
import { expect, test } from "vitest";
import { backoffDelayMs } from "./deadline.js";

const backoff = { firstMs: 500, maxMs: 30_000, factor: 2 };

test("the step doubles from the first delay up to the cap; dice spread it over its upper half", () => {
  const delays = (dice: number) => [0, 1, 2, 5, 6, 7].map((attempt) => backoffDelayMs(backoff, attempt, dice));
  expect(delays(0)).toEqual([250, 500, 1_000, 8_000, 15_000, 15_000]);
  expect(delays(0.5)).toEqual([375, 750, 1_500, 12_000, 22_500, 22_500]);
  expect(delays(0.999_999_9)).toEqual([500, 1_000, 2_000, 16_000, 30_000, 30_000]);
});

test("an attempt before the first counts as the first", () => {
  expect(backoffDelayMs(backoff, -3, 0)).toBe(250);
});

test("any attempt gives a whole number between half the step and the cap, however large the power grows", () => {
  const shape = fc.record({
    firstMs: fc.nat(10_000),
    maxMs: fc.nat(100_000),
    factor: fc.double({ min: 1, max: 10, noNaN: true }),
  });
  fc.assert(
    fc.property(
      shape,
      fc.nat(100_000),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (any, attempt, dice) => {
        const delay = backoffDelayMs(any, attempt, dice);
        expect(Number.isInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(Math.floor(Math.min(any.firstMs, any.maxMs) / 2));
        expect(delay).toBeLessThanOrEqual(any.maxMs);
        expect(backoffDelayMs(any, attempt + 1, dice)).toBeGreaterThanOrEqual(delay);
      },
    ),
    { numRuns: 1_000 },
  );
});
