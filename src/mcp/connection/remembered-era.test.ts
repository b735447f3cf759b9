// An era that is remembered: it saves the probe, and heals when it is not true any more.
import { describe, expect, test } from "vitest";
import {
  cacheOf,
  DISCOVERED,
  establishing,
  HTTP,
  legacy,
  modern,
  NOT_FOUND,
  type Reaction,
  type Script,
  STDIO,
} from "../../../test/establishing.js";
import { TenonError } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import type { ServerSpec } from "../spec.js";

describe("a remembered era", () => {
  test("of legacy saves the probe, and is not written again", async () => {
    const cache = cacheOf("legacy");
    const { link, wires } = establishing([legacy], STDIO, { cache });
    await link;
    expect(wires[0]?.methods).toEqual(["initialize", "notifications/initialized"]);
    expect(cache.written).toEqual([]);
  });

  test.each([STDIO, HTTP])("of legacy heals in place when the server is modern by now", async (spec) => {
    const cache = cacheOf("legacy");
    const { link, wires } = establishing([modern], spec, { cache });
    expect((await link).agreement.era).toBe("modern");
    expect(wires.map(({ methods }) => methods)).toEqual([["initialize", "server/discover"]]);
    expect(cache.written).toEqual(["modern"]);
  });

  test.each<[string, ServerSpec, Reaction]>([
    ["knows no initialize", STDIO, NOT_FOUND],
    ["misses its envelope", STDIO, { error: { code: -32602, message: "no _meta" } }],
    ["misses its headers", HTTP, { error: { code: -32020, message: "no Mcp-Method" } }],
    [
      "gives a bare 400",
      HTTP,
      { loss: { error: new TenonError("mcp.protocol", "400"), wasSent: false, httpStatus: 400 } },
    ],
  ])("of legacy heals in place when the server is modern by now and only %s", async (_, spec, refusal) => {
    const cache = cacheOf("legacy");
    const terse: Script = (method) => (method === "server/discover" ? { result: DISCOVERED } : refusal);
    const { link, wires } = establishing([terse], spec, { cache });
    expect((await link).agreement.era).toBe("modern");
    expect(wires.map(({ methods }) => methods)).toEqual([["initialize", "server/discover"]]);
    expect(cache.written).toEqual(["modern"]);
  });

  test("of legacy keeps the words of a server that refuses initialize and is not modern either", async () => {
    const locked: Script = (method) =>
      method === "initialize" ? { error: { code: -32000, message: "no licence" } } : undefined;
    const { link, wires, world } = establishing([locked], STDIO, { cache: cacheOf("legacy") });
    await world.advance(LIMITS.probeTimeoutMs);
    await expect(link).rejects.toMatchObject({ message: /no licence.*its stderr ends: its last words/ });
    expect(wires).toMatchObject([{ isClosed: true }]);
  });

  test.each<[string, Script]>([
    [
      "ends",
      (method) => (method === "initialize" ? { closed: new TenonError("mcp.connect_failed", "exit 3") } : undefined),
    ],
    ["is silent", () => undefined],
  ])("of legacy is forgotten when the server %s at it: the next attempt asks anew", async (_, script) => {
    const cache = cacheOf("legacy");
    const { link, world, abort } = establishing([script], STDIO, { cache });
    await world.advance(LIMITS.connectTimeoutMs);
    abort.abort();
    await expect(link).rejects.toMatchObject({ code: "mcp.connect_failed" });
    expect(cache.written).toEqual([undefined]);
  });

  test("of modern heals when the server is legacy by now, also when it is silent", async () => {
    const cache = cacheOf("modern");
    const { link } = establishing([legacy], STDIO, { cache });
    expect((await link).agreement.era).toBe("legacy");
    expect(cache.written).toEqual(["legacy"]);
    const silent = establishing([() => undefined, legacy], STDIO, { cache: cacheOf("modern") });
    await silent.world.advance(LIMITS.probeTimeoutMs);
    expect(silent.wires).toHaveLength(1); // known to be modern, it may take its time
    await silent.world.advance((LIMITS.connectTimeoutMs * 3) / 4);
    expect((await silent.link).agreement.era).toBe("legacy");
  });

  test("that cannot be read is no reason to fail", async () => {
    const cache = { ...cacheOf(), readEra: () => Promise.reject(new Error("disk gone")) };
    expect((await establishing([modern], STDIO, { cache }).link).agreement.era).toBe("modern");
  });

  test("that is read for ever does not outlive the attempt", async () => {
    const cache = { ...cacheOf(), readEra: () => new Promise<never>(() => {}) };
    const { link, wires, world, abort } = establishing([modern], STDIO, { cache });
    await world.settle();
    abort.abort();
    await expect(link).rejects.toMatchObject({ code: "mcp.connect_failed" });
    expect(wires.map(({ isClosed }) => isClosed)).toEqual([true]);
  });

  test("is not looked for with the SSE transport, which is legacy by nature", async () => {
    const spec: ServerSpec = { ...HTTP, kind: "sse" };
    const { link, wires } = establishing([legacy], spec);
    await link;
    expect(wires[0]?.methods).toEqual(["initialize", "notifications/initialized"]);
  });
});
