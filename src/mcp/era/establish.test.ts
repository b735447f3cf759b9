// From an open wire to a link: the probe, its fallbacks, remembered eras, and nothing left open when it fails.
import { describe, expect, test } from "vitest";
import { TenonError } from "../../base/errors.js";
import type { JsonObject, JsonValue } from "../../base/json.js";
import { LIMITS } from "../../base/limits.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import type { ConnectionOptions, ServerCache } from "../options.js";
import type { OutgoingMessage, RpcId } from "../rpc/json-rpc.js";
import type { Agreement, RequestLoss, Wire, WireListener } from "../rpc/wire.js";
import type { ServerSpec } from "../spec.js";
import { MODERN_VERSION } from "./envelope.js";
import { establishOver } from "./establish.js";
import type { Link } from "./link.js";

/** What a scripted server does with a request: an answer, a loss of it, the end of the wire, or nothing. */
type Reaction =
  | { readonly result: JsonObject }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: JsonValue } }
  | { readonly loss: RequestLoss }
  | { readonly closed: TenonError }
  | undefined;

type Script = (method: string, params: JsonObject) => Reaction;

class ScriptedWire implements Wire {
  readonly sent: OutgoingMessage[] = [];
  readonly agreements: Agreement[] = [];
  readonly stderrTail = "its last words";
  isClosed = false;
  listener: WireListener | undefined;
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  get methods(): string[] {
    return this.sent.map((message) => ("method" in message ? message.method : "an answer"));
  }

  start(listener: WireListener): void {
    this.listener = listener;
  }

  send(message: OutgoingMessage): void {
    this.sent.push(message);
    if (!("method" in message && "id" in message)) return;
    const { id, method, params = {} } = message;
    queueMicrotask(() => this.#react(id, this.#script(method, params)));
  }

  #react(id: RpcId, reaction: Reaction): void {
    if (!reaction || this.isClosed) return;
    if ("result" in reaction) this.listener?.onMessage({ kind: "result", id, result: reaction.result });
    else if ("error" in reaction) this.listener?.onMessage({ kind: "error", id, error: reaction.error });
    else if ("loss" in reaction) this.listener?.onRequestLost(id, reaction.loss);
    else this.listener?.onClosed(reaction.closed);
  }

  cancel(id: RpcId): void {
    this.sent.push({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
  }

  agreed(agreement: Agreement): void {
    this.agreements.push(agreement);
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

const DISCOVERED = { supportedVersions: [MODERN_VERSION], capabilities: { tools: {} }, resultType: "complete" };
const INITIALIZED = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "old", version: "1" } };
const NOT_FOUND = { error: { code: -32601, message: "Method not found" } };
const MODERN_ONLY = { error: { code: -32022, message: "no", data: { supported: [MODERN_VERSION] } } };

const legacy: Script = (method) => (method === "initialize" ? { result: INITIALIZED } : NOT_FOUND);
const modern: Script = (method) => (method === "server/discover" ? { result: DISCOVERED } : MODERN_ONLY);

const STDIO: ServerSpec = { kind: "stdio", name: "given", command: "server", args: [], env: {} };
const HTTP: ServerSpec = { kind: "http", name: "given", url: "https://example.com/mcp", headers: {} };

function cacheOf(era?: "legacy" | "modern"): ServerCache & { readonly written: string[] } {
  const written: string[] = [];
  return {
    written,
    readEra: async () => era,
    writeEra: async (_, verdict) => {
      written.push(verdict);
    },
    readTools: async () => undefined,
    writeTools: async () => {},
  };
}

interface Bench {
  readonly world: FakeWorld;
  readonly wires: ScriptedWire[];
  readonly abort: AbortController;
  readonly link: Promise<Link>;
}

/** Each wire opened gets the next script; the last one again and again. */
function establishing(scripts: readonly Script[], spec: ServerSpec, more: Partial<ConnectionOptions> = {}): Bench {
  const world = fakeWorld();
  const wires: ScriptedWire[] = [];
  const abort = new AbortController();
  const options = { world, cwd: "/", client: { name: "tenon", version: "1.2.3" }, ...more };
  const open = () => {
    const wire = new ScriptedWire(scripts[Math.min(wires.length, scripts.length - 1)] ?? legacy);
    wires.push(wire);
    return wire;
  };
  const life = { signal: abort.signal, grace: () => LIMITS.closeGrace };
  const link = establishOver(open, { spec, options, life });
  link.catch(() => {}); // looked at later
  return { world, wires, abort, link };
}

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
    await world.advance(LIMITS.probeTimeoutMs + LIMITS.connectTimeoutMs / 2 + LIMITS.probeRestartMs);
    expect((await link).agreement.era).toBe("legacy");
    expect(wires[0]?.isClosed).toBe(true);
    expect(wires[1]?.methods).toEqual(["initialize", "notifications/initialized"]);
  });

  test("met with an exit over stdio starts another process as legacy", async () => {
    const exit = new TenonError("mcp.connection_lost", "it exited with code 1");
    const { link, wires, world } = establishing([() => ({ closed: exit }), legacy], STDIO);
    await world.advance(LIMITS.probeRestartMs - 1);
    expect(wires).toHaveLength(1);
    await world.advance(1);
    expect((await link).agreement.era).toBe("legacy");
    expect(wires).toHaveLength(2);
  });

  test("met with exits all the time fails with the last one's words, as a failure to connect", async () => {
    const exit = new TenonError("mcp.connection_lost", "it exited with code 1: no API key");
    const { link, wires, world } = establishing([() => ({ closed: exit })], STDIO);
    link.catch(() => {}); // heard below
    await world.advance(LIMITS.probeRestartMs);
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
  const life = { signal: AbortSignal.abort(), grace: () => LIMITS.closeGrace };
  const options = { world: fakeWorld(), cwd: "/", client: { name: "t", version: "1" } };
  const open = () => {
    throw new Error("opened");
  };
  await expect(establishOver(open, { spec: STDIO, options, life })).rejects.toMatchObject({
    code: "mcp.connect_failed",
  });
});
