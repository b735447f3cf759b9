// The device grant: how often it asks, when it slows down, and when it gives up.
import { expect, test } from "vitest";
import { lab, never, specOf } from "../../../test/oauth/bench.js";
import type { World } from "../../base/ports/world.js";
import { login } from "./index.js";

const bench = lab();

/** Nobody sleeps: each wait is over at once, and the clock has moved by as much. */
function hurried(): { readonly world: World; readonly waits: readonly number[] } {
  const waits: number[] = [];
  let aheadMs = 0;
  const world: World = {
    ...bench.world,
    now: () => bench.world.now() + aheadMs,
    after: (delayMs, run) => {
      waits.push(delayMs);
      aheadMs += delayMs;
      return bench.world.after(0, run);
    },
  };
  return { world, waits };
}

const way = { kind: "device", show: async () => {} } as const;

test("asked at the server's pace, and slower when it says so", async () => {
  const auth = await bench.authServer({ device: { approvedAtPoll: 3, intervalSeconds: 7, slowsDown: true } });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const { world, waits } = hurried();
  await login(specOf(mcp), { world, oauth: bench.oauth({}, { way }) }, never);
  expect(waits).toEqual([7_000, 12_000, 12_000]);
  expect(auth.recordsOf("device")[0]?.params["resource"]).toBe(mcp.url);
});

test("a server that fails in between is asked again, slower", async () => {
  const auth = await bench.authServer({ device: { approvedAtPoll: 1, intervalSeconds: 2 } });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  auth.misbehave("token", { kind: "answer", status: 502 }, 1);
  const { world, waits } = hurried();
  await login(specOf(mcp), { world, oauth: bench.oauth({}, { way }) }, never);
  expect(waits).toEqual([2_000, 7_000]);
});

test("a server that wants to be asked all the time is asked once a second", async () => {
  const auth = await bench.authServer({ device: { approvedAtPoll: 2, intervalSeconds: 0.001 } });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const { world, waits } = hurried();
  await login(specOf(mcp), { world, oauth: bench.oauth({}, { way }) }, never);
  expect(waits).toEqual([1_000, 1_000]);
});

test("a code nobody types ends with its time", async () => {
  const auth = await bench.authServer({ device: { approvedAtPoll: 1_000_000, intervalSeconds: 60 } });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const { world } = hurried();
  await expect(login(specOf(mcp), { world, oauth: bench.oauth({}, { way }) }, never)).rejects.toMatchObject({
    code: "mcp.unauthorized",
  });
  expect(bench.grants.all).toEqual([]);
});

test("a person who says no on the other device is the end of it", async () => {
  const auth = await bench.authServer({ device: { approvedAtPoll: 1, intervalSeconds: 1 }, denies: true });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const { world } = hurried();
  await expect(login(specOf(mcp), { world, oauth: bench.oauth({}, { way }) }, never)).rejects.toThrow("access_denied");
});

test("a page that is no page is not shown", async () => {
  const auth = await bench.authServer({ device: { approvedAtPoll: 1, intervalSeconds: 1 } });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const body = JSON.stringify({ device_code: "d", user_code: "u", verification_uri: "javascript:alert(1)" });
  auth.misbehave("device", { kind: "answer", status: 200, headers: { "content-type": "application/json" }, body });
  const shown: unknown[] = [];
  const { world } = hurried();
  const showing = { kind: "device", show: async (prompt: unknown) => void shown.push(prompt) } as const;
  const oauth = bench.oauth({}, { way: showing });
  await expect(login(specOf(mcp), { world, oauth }, never)).rejects.toMatchObject({ code: "mcp.url_refused" });
  expect(shown).toEqual([]);
});
