// Two signals as one: it aborts with the first of them, and nothing of it stays behind on either.
import { expect, test } from "vitest";
import { abortListeners } from "../../base/async/scope.js";
import { joinSignals } from "./shared-link.js";

test("it aborts with the first, with its reason, and once", () => {
  const [one, other] = [new AbortController(), new AbortController()];
  using joined = joinSignals(one.signal, other.signal);
  other.abort("enough");
  one.abort("too late");
  expect(joined.signal.aborted).toBe(true);
  expect(joined.signal.reason).toBe("enough");
  expect(joinSignals(one.signal, other.signal).signal.reason).toBe("too late");
});

test("however often it is done, a signal that lives on has nothing of it", () => {
  const [lasting, call] = [new AbortController(), new AbortController()];
  for (let count = 0; count < 100; count++) {
    using joined = joinSignals(call.signal, lasting.signal);
    expect(joined.signal.aborted).toBe(false);
  }
  expect(abortListeners(lasting.signal).size).toBe(0);
  const joined = joinSignals(call.signal, lasting.signal);
  call.abort();
  expect(joined.signal.aborted).toBe(true);
  expect(abortListeners(lasting.signal).size).toBe(0);
});
