// The end of a text, from a whole word on where its beginning is lost.
import { expect, test } from "vitest";
import { Tail } from "./short-run.js";

function tailOf(maxBytes: number, ...chunks: readonly string[]): string {
  const tail = new Tail(maxBytes);
  for (const chunk of chunks) tail.push(Buffer.from(chunk));
  return tail.text;
}

test("all of it while it fits", () => {
  expect(tailOf(20, "one two", " three\n")).toBe("one two three");
});

test("a word that was cut in two is left out: it may be what is left of a secret", () => {
  expect(tailOf(12, "token=hunter2-and-more was", " bad")).toBe("was bad");
  expect(tailOf(12, "token=hunter2-and-more was bad")).toBe("was bad");
  expect(tailOf(4, "nothing-else")).toBe("else");
});
