// For the tests of the remote wire: servers and wires that are closed after each test, with nothing left behind.
import { afterEach, beforeEach, expect } from "vitest";
import type { RemoteSpec } from "../../src/mcp/spec.js";
import { type LeakCheck, leakCheck } from "../../src/testing/leaks/leaks.js";
import { type Behaviour, echoTool } from "../../src/testing/mcp-server/behaviour.js";
import {
  type HttpServerOptions,
  type ScriptedHttpServer,
  scriptedHttpServer,
} from "../../src/testing/mcp-server/http.js";
import { TestWire, type TestWireOptions } from "./test-wire.js";

export { closeListener, listenOnLoopback } from "../../src/testing/loopback.js";

export const ECHO: Behaviour = { tools: [echoTool()] };
export const jsonType: Readonly<Record<string, string>> = { "content-type": "application/json" };

export interface Bench {
  own(owned: AsyncDisposable): void;
  serve(behaviour?: Behaviour, options?: HttpServerOptions): Promise<ScriptedHttpServer>;
  wireTo(server: { readonly url: string }, spec?: Partial<RemoteSpec>, options?: TestWireOptions): TestWire;
  /** Initialised in the legacy era. */
  legacy(server: { readonly url: string }, spec?: Partial<RemoteSpec>, options?: TestWireOptions): Promise<TestWire>;
}

/** Registers the hooks of the test file that calls it. */
export function bench(): Bench {
  const open: AsyncDisposable[] = [];
  let leaks: LeakCheck;
  beforeEach(async () => {
    leaks = await leakCheck();
  });
  afterEach(async () => {
    for (const owned of open.splice(0).reverse()) await owned[Symbol.asyncDispose]();
    await leaks.verify();
  });
  const own = (owned: AsyncDisposable) => {
    open.push(owned);
  };
  const wireTo: Bench["wireTo"] = (server, spec = {}, options) => {
    const wire = new TestWire({ url: server.url, ...spec }, options);
    own(wire);
    return wire;
  };
  return {
    own,
    wireTo,
    serve: async (behaviour = ECHO, options) => {
      const server = await scriptedHttpServer(behaviour, options);
      own(server);
      return server;
    },
    legacy: async (server, spec, options) => {
      const wire = wireTo(server, spec, options);
      expect((await wire.initialize()).kind).toBe("result");
      return wire;
    },
  };
}
