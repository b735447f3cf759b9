// A provider that falls silent is given up, before the answer and in the middle of it; one that is only slow is not.
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Fetch } from "../base/ports/world.js";
import { fakeWorld, type LeakCheck, leakCheck } from "../testing/index.js";
import { withSilenceLimit } from "./providers/connection.js";

let leaks: LeakCheck;
beforeEach(async () => {
  leaks = await leakCheck();
});
afterEach(async () => {
  await leaks.verify();
});

const SILENCE_MS = 300_000;

function setUp() {
  const world = fakeWorld();
  let feed: ReadableStreamDefaultController<Uint8Array> | undefined;
  const signals: AbortSignal[] = [];
  const provider: Fetch = async (_, init) => {
    if (init?.signal) signals.push(init.signal);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        feed = controller;
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  const fetch = withSilenceLimit("a/model", provider, { clock: world, silenceMs: SILENCE_MS });
  const say = (text: string) => feed?.enqueue(new TextEncoder().encode(text));
  return { world, fetch, say, end: () => feed?.close(), signals };
}

test("no answer at all ends with a reason, and the request is aborted", async () => {
  const world = fakeWorld();
  let aborted: unknown;
  const never: Fetch = (_, init) =>
    new Promise((_resolve, reject) => {
      init?.signal?.addEventListener("abort", () => {
        aborted = init.signal?.reason;
        reject(new Error("aborted"));
      });
    });
  const fetch = withSilenceLimit("a/model", never, { clock: world, silenceMs: SILENCE_MS });
  const asked = fetch("https://provider.test").catch((thrown: unknown) => thrown);
  await world.clock.advance(SILENCE_MS);
  const thrown = await asked;
  expect(thrown).toMatchObject({ code: "model.unavailable", message: "a/model has sent nothing for 300 s." });
  expect(aborted).toBe(thrown);
  expect(world.clock.pendingTimers).toBe(0);
});

test("bytes at any distance below the limit go through; silence after them ends the answer", async () => {
  const { world, fetch, say, signals } = setUp();
  const reader = (await fetch("https://provider.test")).body?.getReader();
  for (let round = 0; round < 5; round++) {
    const read = reader?.read();
    await world.clock.advance(SILENCE_MS - 1);
    say(`${round}`);
    expect(new TextDecoder().decode((await read)?.value)).toBe(`${round}`);
  }
  await world.clock.advance(10 * SILENCE_MS); // nobody reads: that is not the provider's silence
  const last = reader?.read().catch((thrown: unknown) => thrown);
  await world.clock.advance(SILENCE_MS);
  expect(await last).toMatchObject({ code: "model.unavailable" });
  expect(signals[0]?.aborted).toBe(true);
  expect(world.clock.pendingTimers).toBe(0);
});

test("a whole answer, a cancelled one and an aborted one leave no timer", async () => {
  const whole = setUp();
  const response = await whole.fetch("https://provider.test");
  whole.say("all of it");
  whole.end();
  expect(await response.text()).toBe("all of it");
  expect(whole.world.clock.pendingTimers).toBe(0);

  const cancelled = setUp();
  await (await cancelled.fetch("https://provider.test")).body?.cancel();
  expect(cancelled.world.clock.pendingTimers).toBe(0);

  const aborted = setUp();
  const controller = new AbortController();
  await aborted.fetch("https://provider.test", { signal: controller.signal });
  controller.abort(new Error("by the person"));
  expect(aborted.signals[0]?.reason).toMatchObject({ message: "by the person" });
});
