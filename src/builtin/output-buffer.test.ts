// However output comes and is looked at, nothing is shown twice and nothing is lost unnamed.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { OutputBuffer, terminalText } from "./run-command.js";

const GAP = /\n\[… (\d+) characters left out …\]\n/u;

test("for any pieces and any places to look from", () => {
  const pieces = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 12 }));
  fc.assert(
    fc.property(pieces, fc.nat(120), (all, since) => {
      const buffer = new OutputBuffer({ headChars: 5, tailChars: 7 });
      for (const piece of all) buffer.push(piece);
      const whole = all.join("");
      const { text, nextChar } = buffer.since(since);
      expect(nextChar).toBe(whole.length);
      const gap = Number(GAP.exec(text)?.[1] ?? 0);
      const [start = "", end = ""] = gap > 0 ? text.split(GAP).filter((_, index) => index !== 1) : [text, ""];
      const wanted = whole.slice(since);
      expect(start.length + gap + end.length).toBe(wanted.length);
      expect(wanted.startsWith(start) && wanted.endsWith(end)).toBe(true);
      expect(start.length + end.length).toBeLessThanOrEqual(12);
    }),
  );
});

test.each([
  ["10%\r50%\rdone\r\nnext", "done\nnext"],
  ["\r\r\n", "\n"],
  ["\u001b]0;title\u0007\u001b[1mx\u001b[0m", "x"],
])("%j looks like %j in the end", (output, shown) => {
  expect(terminalText(output)).toBe(shown);
});
