// Waiting for a provider: as long as it says, within bounds, in sight, and never once something of the answer was seen.
import { expect, test } from "vitest";
import { answers, eventsOf, fails, run, scripted } from "../../test/scripted-turn.js";
import type { ErrorCode } from "../base/errors.js";
import { fakeWorld } from "../testing/index.js";
import { ENGINE_LIMITS } from "./limits.js";

test.each(["model.rate_limited", "model.overloaded", "model.unavailable"] as const)(
  "%s before the answer began is waited out, in sight",
  async (code) => {
    const model = scripted(fails(code), fails(code), answers("there"));
    const { end, events } = await run(model);
    expect(end.stopReason).toBe("end_turn");
    const waits = eventsOf(events, "waiting");
    expect(waits).toMatchObject([
      { code, reason: `scripted ${code}`, attempt: 1, attempts: ENGINE_LIMITS.modelRetry.attempts },
      { code, attempt: 2 },
    ]);
    expect(model.requests).toHaveLength(3);
  },
);

test("the wait is the one the provider asks for, and a little more", async () => {
  const world = fakeWorld();
  const model = scripted(fails("model.rate_limited", { retryAfterMs: 20_000 }), answers("there"));
  const startMs = world.now();
  const { events } = await run(model, { world });
  const [wait] = eventsOf(events, "waiting");
  expect(wait?.untilMs).toBeGreaterThanOrEqual(startMs + 20_000);
  expect(wait?.untilMs).toBeLessThan(startMs + 21_001);
  expect(world.now()).toBe(wait?.untilMs);
  expect(world.clock.pendingTimers).toBe(0);
});

test("without a word from the provider the waits grow, with jitter", async () => {
  const world = fakeWorld();
  const waits: number[] = [];
  const onEvent = (event: { kind: string; untilMs?: number }) => {
    if (event.kind === "waiting") waits.push((event.untilMs ?? 0) - world.now());
  };
  const failed = run(scripted(fails("model.overloaded")), { world, onEvent });
  await expect(failed).rejects.toMatchObject({ code: "model.overloaded" });
  expect(waits).toHaveLength(ENGINE_LIMITS.modelRetry.attempts - 1);
  for (const [index, waitMs] of waits.entries()) {
    const step = ENGINE_LIMITS.modelRetry.firstMs * ENGINE_LIMITS.modelRetry.factor ** index;
    expect(waitMs).toBeGreaterThanOrEqual(step / 2);
    expect(waitMs).toBeLessThanOrEqual(step);
  }
});

test("a wait longer than anybody would sit through is an error at once", async () => {
  const model = scripted(fails("model.rate_limited", { retryAfterMs: ENGINE_LIMITS.modelWaitMaxMs + 1 }));
  await expect(run(model)).rejects.toMatchObject({ code: "model.rate_limited" });
  expect(model.requests).toHaveLength(1);
});

test.each<ErrorCode>(["model.unauthorized", "model.quota", "model.unknown", "model.broken_stream"])(
  "%s does not pass by itself, and is told at once",
  async (code) => {
    const model = scripted(fails(code));
    await expect(run(model)).rejects.toMatchObject({ code });
    expect(model.requests).toHaveLength(1);
  },
);

test.each([
  { kind: "text", text: "a" } as const,
  { kind: "thought", text: "a" } as const,
  { kind: "tool_input", callId: "c", name: "mcp__s__t", delta: "{" } as const,
])("once $kind was seen nothing is asked again as if nothing had happened", async (seen) => {
  const model = scripted(fails("model.overloaded", { after: [seen] }), answers("again"));
  await expect(run(model)).rejects.toMatchObject({ code: "model.overloaded" });
  expect(model.requests).toHaveLength(1);
});

test("a cancel ends the wait at once", async () => {
  const world = fakeWorld();
  const controller = new AbortController();
  const startMs = world.now();
  const { end } = await run(scripted(fails("model.rate_limited", { retryAfterMs: 60_000 })), {
    world,
    signal: controller.signal,
    onEvent: () => controller.abort(),
  });
  expect(end.stopReason).toBe("cancelled");
  expect(world.clock.pendingTimers).toBe(0);
  // The harness moves the clock when it hears of a wait; the turn itself was over before.
  expect(world.now() - startMs).toBeLessThanOrEqual(61_000);
});
