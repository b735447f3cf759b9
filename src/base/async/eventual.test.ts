// Values that are there are not waited for.
import { expect, test } from "vitest";
import { whenThere } from "./eventual.js";

test("a value that is there goes on at once, one that comes when it has come", async () => {
  expect(whenThere(1, (value) => value + 1)).toBe(2);
  const later = whenThere(Promise.resolve(1), (value) => value + 1);
  expect(later).toBeInstanceOf(Promise);
  expect(await later).toBe(2);
});
