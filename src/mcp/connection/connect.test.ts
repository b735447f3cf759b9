// From an open wire to a link: the probe, its fallbacks, remembered eras, and nothing left open when it fails.
import { describe, expect, test } from "vitest";
import {
  cacheOf,
  DISCOVERED,
  establishing,
  HTTP,
  INITIALIZED,
  legacy,
  MODERN_ONLY,
  modern,
  NOT_FOUND,
  type Script,
  STDIO,
} from "../../../test/establishing.js";
import { TenonError } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import { fakeWorld } from "../../testing/index.js";
import { MCP_LIMITS } from "../limits.js";
import { SpillDirectory } from "../transport/large/spilled.js";
import { MODERN_VERSION } from "../versions.js";
import { connectOver } from "./connect.js";

describe("the probe", () => {
  test("finds a modern server with one request, and the envelope says who asks", async () => {
    const { link, wires } = establishing([modern], STDIO, { peer: { roots: () => [] } });
    expect((await link).agreement).toEqual({ era: "modern", protocolVersion: MODERN_VERSION });
    expect(wires.map(({ methods }) => methods)).toEqual([["server/discover"]]);
    expect(wires[0]?.agreements).toEqual([{ era: "modern", protocolVersion: MODERN_VERSION }]);
    expect(wires[0]?.sent[0]).toMatchObject({
      params: {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
          "io.modelcontextprotocol/clientInfo": { name: "tenon", version: "1.2.3" },
          "io.modelcontextprotocol/clientCapabilities": { roots: {} },
        },
      },
    });
  });

  test("of a legacy server goes on in place with initialize, and the version is agreed before `initialized`", async () => {
    const { link, wires } = establishing([legacy], STDIO, { peer: { sample: async () => ({}) } });
    expect(await link).toMatchObject({
      agreement: { era: "legacy", protocolVersion: "2025-11-25" },
      server: { name: "old", version: "1" },
    });
    expect(wires.map(({ methods }) => methods)).toEqual([
      ["server/discover", "initialize", "notifications/initialized"],
    ]);
    expect(wires[0]?.sent[1]).toMatchObject({
      params: {
        protocolVersion: "2025-11-25",
        capabilities: { sampling: {} },
        clientInfo: { name: "tenon", version: "1.2.3" },
      },
    });
    expect(wires[0]?.agreements).toHaveLength(1);
  });

  test("is repeated once when the server refuses the version it names itself", async () => {
    let asked = 0;
    const { link, wires } = establishing([() => (asked++ === 0 ? MODERN_ONLY : { result: DISCOVERED })], HTTP);
    expect((await link).agreement.era).toBe("modern");
    expect(wires[0]?.methods).toEqual(["server/discover", "server/discover"]);
    const stubborn = establishing([() => MODERN_ONLY], HTTP);
    await expect(stubborn.link).rejects.toMatchObject({ code: "mcp.unsupported_version" });
    expect(stubborn.wires[0]).toMatchObject({ isClosed: true, methods: ["server/discover", "server/discover"] });
  });

  test("met with silence over stdio is followed by initialize in place: the server may only be starting up", async () => {
    const cache = cacheOf();
    const { link, wires, world } = establishing([() => undefined], STDIO, { cache });
    await world.advance(LIMITS.probeTimeoutMs);
    expect(wires[0]?.methods).toEqual(["server/discover", "notifications/cancelled", "initialize"]);
    await world.advance(LIMITS.connectTimeoutMs / 2 - 1); // as long as `npx` may need
    expect(wires).toHaveLength(1);
    wires[0]?.listener?.onMessage({ kind: "result", id: 2, result: INITIALIZED });
    expect((await link).agreement.era).toBe("legacy");
    expect(cache.written).toEqual([]); // it was not asked properly
  });

  test("met with silence for good ends that process and starts another one as legacy", async () => {
    const { link, wires, world } = establishing([() => undefined, legacy], STDIO);
    await world.advance(LIMITS.probeTimeoutMs + LIMITS.connectTimeoutMs / 2 + MCP_LIMITS.probeRestartMs);
    expect((await link).agreement.era).toBe("legacy");
    expect(wires[0]?.isClosed).toBe(true);
    expect(wires[1]?.methods).toEqual(["initialize", "notifications/initialized"]);
  });

  test("met with an exit over stdio starts another process as legacy", async () => {
    const exit = new TenonError("mcp.connection_lost", "it exited with code 1");
    const { link, wires, world } = establishing([() => ({ closed: exit }), legacy], STDIO);
    await world.advance(MCP_LIMITS.probeRestartMs - 1);
    expect(wires).toHaveLength(1);
    await world.advance(1);
    expect((await link).agreement.era).toBe("legacy");
    expect(wires).toHaveLength(2);
  });

  test("met with exits all the time fails with the last one's words, as a failure to connect", async () => {
    const exit = new TenonError("mcp.connection_lost", "it exited with code 1: no API key");
    const { link, wires, world } = establishing([() => ({ closed: exit })], STDIO);
    link.catch(() => {}); // heard below
    await world.advance(MCP_LIMITS.probeRestartMs);
    await expect(link).rejects.toMatchObject({ code: "mcp.connect_failed", message: /no API key/ });
    expect(wires.map(({ isClosed }) => isClosed)).toEqual([true, true]);
  });

  test("of a command that does not exist is not tried twice", async () => {
    const missing = new TenonError("mcp.spawn_failed", "no such command");
    const { link, wires } = establishing([() => ({ closed: missing })], STDIO);
    await expect(link).rejects.toMatchObject({ code: "mcp.spawn_failed" });
    expect(wires).toHaveLength(1);
  });

  test("answered over HTTP with a page or an error status goes on as legacy on the same URL", async () => {
    for (const httpStatus of [200, 202, 404, 500]) {
      const loss = { error: new TenonError("mcp.protocol", "no message"), wasSent: true, httpStatus };
      const cache = cacheOf();
      const { link, wires } = establishing(
        [(method) => (method === "initialize" ? { result: INITIALIZED } : { loss })],
        HTTP,
        {
          cache,
        },
      );
      expect((await link).agreement.era).toBe("legacy");
      expect(wires).toHaveLength(1);
      expect(cache.written).toEqual(["legacy"]);
    }
  });

  test("of a modern server that is slow to start is put once more when it knows no initialize", async () => {
    const cache = cacheOf();
    let asked = 0;
    const slow: Script = (method) => {
      if (method !== "server/discover") return NOT_FOUND;
      asked += 1;
      return asked === 1 ? undefined : { result: DISCOVERED };
    };
    const { link, wires, world } = establishing([slow], STDIO, { cache });
    await world.advance(LIMITS.probeTimeoutMs);
    expect((await link).agreement.era).toBe("modern");
    expect(wires).toHaveLength(1);
    expect(cache.written).toEqual(["modern"]);
  });

  test("met with silence over stdio is remembered once it is certain that no answer is only late", async () => {
    const silent: Script = (method) => (method === "initialize" ? { result: INITIALIZED } : undefined);
    for (const isLate of [false, true]) {
      const cache = cacheOf();
      const { link, wires, world } = establishing([silent], STDIO, { cache });
      await world.advance(LIMITS.probeTimeoutMs);
      const { wire } = await link;
      if (isLate) wires[0]?.listener?.onMessage({ kind: "result", id: 1, result: DISCOVERED });
      await world.advance(LIMITS.probeTimeoutMs - 1);
      expect(cache.written).toEqual([]);
      await world.advance(1);
      expect(cache.written).toEqual(isLate ? [] : ["legacy"]);
      await wire.close(LIMITS.closeGrace);
    }
    const cache = cacheOf();
    const { link, world } = establishing([silent], STDIO, { cache });
    await world.advance(LIMITS.probeTimeoutMs);
    await (await link).wire.close(LIMITS.closeGrace);
    await world.advance(LIMITS.probeTimeoutMs);
    expect([cache.written, world.clock.pendingTimers]).toEqual([[], 0]);
  });

  test("met with silence over HTTP tries the legacy way without remembering it, and ignores the late answer", async () => {
    const cache = cacheOf();
    const silent: Script = (method) => (method === "initialize" ? { result: INITIALIZED } : undefined);
    const { link, wires, world } = establishing([silent], HTTP, { cache });
    await world.advance(LIMITS.probeTimeoutMs);
    const made = await link;
    wires[0]?.listener?.onMessage({ kind: "result", id: 1, result: DISCOVERED });
    expect(made).toMatchObject({ agreement: { era: "legacy" }, counters: { strayAnswers: 1 } });
    expect(cache.written).toEqual([]);
  });

  test("without credentials or network says so and decides nothing", async () => {
    for (const code of ["mcp.unauthorized", "mcp.unavailable"] as const) {
      const cache = cacheOf();
      const loss = { error: new TenonError(code, "no"), wasSent: code === "mcp.unauthorized" };
      const { link, wires } = establishing([() => ({ loss })], HTTP, { cache });
      await expect(link).rejects.toMatchObject({ code });
      expect(wires[0]?.methods).toEqual(["server/discover"]);
      expect([wires[0]?.isClosed, cache.written]).toEqual([true, []]);
    }
  });
});

describe("initialize", () => {
  test("is asked again with the version the server names, once", async () => {
    const picky: Script = (method, params) => {
      if (method !== "initialize") return NOT_FOUND;
      if (params["protocolVersion"] === "2024-11-05")
        return { result: { ...INITIALIZED, protocolVersion: "2024-11-05" } };
      return { error: { code: -32602, message: "Unsupported protocol version", data: { supported: ["2024-11-05"] } } };
    };
    expect((await establishing([picky], STDIO).link).agreement.protocolVersion).toBe("2024-11-05");
  });

  test("answered with a version nobody knows fails for good and closes", async () => {
    const odd: Script = (method) =>
      method === "initialize" ? { result: { ...INITIALIZED, protocolVersion: "1.0" } } : NOT_FOUND;
    const { link, wires } = establishing([odd], STDIO);
    await expect(link).rejects.toMatchObject({ code: "mcp.unsupported_version" });
    expect(wires[0]?.isClosed).toBe(true);
    expect(wires[0]?.methods).not.toContain("notifications/initialized");
  });

  test("and the probe cannot send each other round in circles", async () => {
    const pingPong: Script = (method) => (method === "initialize" ? MODERN_ONLY : NOT_FOUND);
    const first = establishing([pingPong], STDIO);
    await expect(first.link).rejects.toMatchObject({ code: "mcp.unsupported_version" });
    const second = establishing([pingPong], STDIO, { cache: cacheOf("legacy") });
    await expect(second.link).rejects.toMatchObject({ code: "mcp.unsupported_version" });
    expect(second.wires[0]?.methods).toEqual(["initialize", "server/discover"]);
  });

  test("is never cancelled on the wire; giving up closes it and keeps the last words of stderr", async () => {
    const deaf: Script = (method) => (method === "initialize" ? undefined : NOT_FOUND);
    const { link, wires, world, abort } = establishing([deaf], STDIO);
    await world.advance(1_000);
    abort.abort(new DOMException("too late", "TimeoutError"));
    await expect(link).rejects.toMatchObject({ code: "mcp.connect_failed", message: /its last words/ });
    expect(wires[0]).toMatchObject({ isClosed: true, methods: ["server/discover", "initialize"] });
    expect(world.clock.pendingTimers).toBe(0);
  });
});

test("an attempt that is over before it begins opens nothing", async () => {
  const { link, wires } = establishing([legacy], STDIO);
  await link;
  expect(wires).toHaveLength(1);
  const world = fakeWorld();
  const life = { signal: AbortSignal.abort(), grace: () => LIMITS.closeGrace, spill: new SpillDirectory(world) };
  const options = { world, cwd: "/", client: { name: "t", version: "1" } };
  const open = () => {
    throw new Error("opened");
  };
  await expect(connectOver(open, { spec: STDIO, options, life })).rejects.toMatchObject({
    code: "mcp.connect_failed",
  });
});
