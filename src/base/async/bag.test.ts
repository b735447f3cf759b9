// A bag against a Set.
import fc from "fast-check";
import { expect, test } from "vitest";
import { Bag } from "./bag.js";

test("holds what a Set would hold, in the same order, whatever is added and deleted", () => {
  const step = fc.record({ isAdded: fc.boolean(), item: fc.integer({ min: 0, max: 150 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const bag = new Bag<number>();
      const set = new Set<number>();
      for (const { isAdded, item } of steps) {
        if (isAdded) {
          bag.add(item);
          set.add(item);
        } else expect(bag.delete(item)).toBe(set.delete(item));
      }
      expect([...bag]).toEqual([...set]);
      expect(bag.size).toBe(set.size);
    }),
  );
});

test("more than a few at once come and go in order", () => {
  const bag = new Bag<number>();
  for (let item = 0; item < 200; item++) bag.add(item);
  for (let item = 0; item < 190; item++) bag.delete(item);
  bag.add(7).add(195);
  expect([...bag]).toEqual([190, 191, 192, 193, 194, 195, 196, 197, 198, 199, 7]);
  for (const item of bag) bag.delete(item);
  expect([...bag.add(1)]).toEqual([1]);
});
