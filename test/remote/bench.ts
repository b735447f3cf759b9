// For the tests of the remote transport: servers and transports that are closed after each test, with nothing left behind.
import { afterEach, beforeEach, expect } from "vitest";
import type { RemoteSpec } from "../../src/mcp/spec.js";
import { type LeakCheck, leakCheck } from "../../src/testing/kit/leaks.js";
import { type Behaviour, echoTool } from "../../src/testing/kit/mcp-server/behaviour.js";
import {
  type HttpServerOptions,
  type ScriptedHttpServer,
  scriptedHttpServer,
} from "../../src/testing/kit/mcp-server/http.js";
import { TestTransport, type TestTransportOptions } from "./test-transport.js";

export { closeListener, listenOnLoopback } from "../../src/testing/kit/loopback.js";

export const ECHO: Behaviour = { tools: [echoTool()] };
export const jsonType: Readonly<Record<string, string>> = { "content-type": "application/json" };

export interface Bench {
  own(owned: AsyncDisposable): void;
  serve(behaviour?: Behaviour, options?: HttpServerOptions): Promise<ScriptedHttpServer>;
  transportTo(
    server: { readonly url: string },
    spec?: Partial<RemoteSpec>,
    options?: TestTransportOptions,
  ): TestTransport;
  /** Initialised in the legacy era. */
  legacy(
    server: { readonly url: string },
    spec?: Partial<RemoteSpec>,
    options?: TestTransportOptions,
  ): Promise<TestTransport>;
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
  const transportTo: Bench["transportTo"] = (server, spec = {}, options) => {
    const transport = new TestTransport({ url: server.url, ...spec }, options);
    own(transport);
    return transport;
  };
  return {
    own,
    transportTo,
    serve: async (behaviour = ECHO, options) => {
      const server = await scriptedHttpServer(behaviour, options);
      own(server);
      return server;
    },
    legacy: async (server, spec, options) => {
      const transport = transportTo(server, spec, options);
      expect((await transport.initialize()).kind).toBe("result");
      return transport;
    },
  };
}
