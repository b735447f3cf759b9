// Whatever sessions do at a server they share, in whatever order: nobody answers for another, and nothing is left behind.
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Guest, PoolBench, textOf } from "../../../test/pool-bench.js";
import { POOL_LIMITS } from "../limits.js";
import type { CallOutcome } from "../protocol/call.js";

interface Deed {
  readonly who: number;
  readonly what: "echo" | "ask" | "slow" | "stubborn" | "leave";
  readonly afterMs: number;
  readonly cancelAfterMs: number | undefined;
}

const deed: fc.Arbitrary<Deed> = fc.record({
  who: fc.integer({ min: 0, max: 3 }),
  what: fc.constantFrom("echo", "ask", "slow", "stubborn", "leave"),
  afterMs: fc.integer({ min: 0, max: 4_000 }),
  cancelAfterMs: fc.option(fc.integer({ min: 0, max: 3_000 }), { nil: undefined }),
});

/** The server's own words on who answered it: an answer carries the name of the session it came from. */
function namesIn(outcome: CallOutcome): readonly string[] {
  return [...textOf(outcome).matchAll(/\bg\d+\b/gu)].map(([name]) => name);
}

interface Made {
  readonly guest: Guest;
  readonly what: Deed["what"];
  readonly outcome: Promise<CallOutcome>;
}

async function act(bench: PoolBench, deeds: readonly Deed[]): Promise<{ guests: Guest[]; made: Made[] }> {
  const guests = [...(await bench.guests(4))];
  const all = [...guests];
  const made: Made[] = [];
  const left: Promise<void>[] = [];
  for (const { who, what, afterMs, cancelAfterMs } of deeds) {
    await bench.world.advance(afterMs);
    const guest = guests[who];
    if (!guest) continue;
    if (what === "leave") {
      left.push(guest.server.leave());
      const next = bench.guest(`g${all.length + 1}`);
      guests[who] = next;
      all.push(next);
      continue;
    }
    const cancel = new AbortController();
    if (cancelAfterMs !== undefined) bench.world.after(cancelAfterMs, () => cancel.abort());
    made.push({ guest, what, outcome: guest.call(what, cancel.signal) });
  }
  await bench.world.advance(POOL_LIMITS.askerWaitMs * 4);
  await Promise.all(left);
  return { guests: all, made };
}

test("every answer comes from the session that was asked for, and no session is asked more than it caused", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { maxLength: 14 }), async (deeds) => {
      await using bench = new PoolBench();
      const { guests, made } = await act(bench, deeds);
      for (const { guest, outcome } of made) {
        for (const name of namesIn(await outcome)) expect(name).toBe(guest.name);
      }
      for (const guest of guests) {
        const own = made.filter((one) => one.guest === guest && (one.what === "ask" || one.what === "stubborn"));
        expect(guest.asked.length).toBeLessThanOrEqual(own.length);
      }
      for (const guest of guests) await bench.after(20_000, guest.server.close());
      await bench.world.advance(POOL_LIMITS.idleMs + 20_000);
      expect(bench.living).toBe(0);
      expect(bench.world.clock.pendingTimers).toBe(0);
    }),
    { numRuns: 60 },
  );
}, 60_000);
