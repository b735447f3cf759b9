// Renewals under any schedule: connections over several stores of one folder, against a real server that forgives no second use.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import type { World } from "../src/base/ports/world.js";
import { DiskGrantStore } from "../src/config/index.js";
import { type GrantStore, type LoginWay, login, McpConnection, type RemoteSpec } from "../src/mcp/index.js";
import {
  type AuthServer,
  type AuthServerOptions,
  authServer,
  type ProtectedServer,
  protectedServer,
  visit,
} from "../src/testing/lab/index.js";
import { nodeWorld } from "../src/world/index.js";

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const world = nodeWorld({ log });
const signal = new AbortController().signal;

/** The person is at the page at once. */
const WAY: LoginWay = {
  kind: "redirect",
  start: async () => ({
    redirectUri: "http://127.0.0.1:9/callback",
    finish: async (url) => new URL(await visit(url)).searchParams,
    [Symbol.asyncDispose]: async () => {},
  }),
};

/** One person's folder of log-ins, looked at by several processes. */
class Bench implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "tenon-race-"));
  readonly auth: AuthServer;
  readonly mcp: ProtectedServer;
  readonly spec: RemoteSpec;
  readonly #connections: McpConnection[] = [];

  private constructor(auth: AuthServer, mcp: ProtectedServer) {
    this.auth = auth;
    this.mcp = mcp;
    this.spec = { kind: "http", name: "web", url: mcp.url, headers: {} };
  }

  static async open(options: AuthServerOptions = {}): Promise<Bench> {
    const auth = await authServer(options);
    const bench = new Bench(auth, await protectedServer({ authServers: [auth] }));
    const oauth = { store: bench.store(), account: "default", settings: {}, way: WAY };
    await login(bench.spec, { world, oauth, allowHosts: [auth.host] }, signal);
    return bench;
  }

  /** As each process has one of its own. */
  store(): GrantStore {
    return new DiskGrantStore({ world, dir: this.folder, keyring: "there is none here" });
  }

  connection(store: GrantStore, clock: World = world): McpConnection {
    const oauth = { store, account: "default", settings: {} };
    const options = {
      world: clock,
      cwd: "/",
      client: { name: "test", version: "1" },
      oauth,
      allowHosts: [this.auth.host],
    };
    const connection = new McpConnection(this.spec, options);
    this.#connections.push(connection);
    connection.start();
    return connection;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
    await this.mcp[Symbol.asyncDispose]();
    await this.auth[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function whoami(connection: McpConnection): Promise<string> {
  const outcome = await connection.call("whoami", {}, { signal, onProgress: () => {} });
  return outcome.kind === "failed" ? outcome.error.message : JSON.stringify(outcome);
}

const open: AsyncDisposable[] = [];

afterEach(async () => {
  for (const owned of open.splice(0).reverse()) await owned[Symbol.asyncDispose]();
});

async function opened(options?: AuthServerOptions): Promise<Bench> {
  const bench = await Bench.open(options);
  open.push(bench);
  return bench;
}

/** One wave: which connections call at once, and what has happened to the tokens before. */
interface Wave {
  readonly callers: readonly number[];
  readonly before: "nothing" | "expired" | "unavailable";
  /** The renewal is held until so many have been turned away. */
  readonly isHeld: boolean;
}

const CONNECTIONS = 6;
const wave: fc.Arbitrary<Wave> = fc.record({
  callers: fc.array(fc.nat({ max: CONNECTIONS - 1 }), { minLength: 1, maxLength: 8 }),
  before: fc.constantFrom("nothing", "expired", "expired", "unavailable"),
  isHeld: fc.boolean(),
});

test("whatever the schedule: at most one renewal a wave, no refresh token used twice, nobody logged out", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(wave, { minLength: 1, maxLength: 6 }), async (waves) => {
      await using bench = await Bench.open();
      const stores = [bench.store(), bench.store(), bench.store()];
      const connections = Array.from({ length: CONNECTIONS }, (_, index) =>
        bench.connection(stores[index % stores.length] ?? bench.store()),
      );
      for (const { state } of connections) await state.until(({ kind }) => kind === "ready", signal);
      for (const { callers, before, isHeld } of waves) {
        const renewedBefore = bench.auth.refreshCount;
        if (before !== "nothing") bench.auth.endpoints.tokens.expireAccess();
        if (before === "unavailable") bench.auth.misbehave("token", { kind: "answer", status: 503 }, 1);
        const held = isHeld && before === "expired" ? bench.auth.hold("token") : undefined;
        const calls = callers.map((index) => whoami(connections[index] ?? bench.connection(bench.store())));
        if (held) {
          await held.arrived(1);
          held.release();
        }
        const said = await Promise.all(calls);
        // One failure of the server may fail whoever waited for that very request, nobody else.
        if (before !== "unavailable") for (const text of said) expect(text).toContain("you are alice");
        expect(bench.auth.refreshCount - renewedBefore).toBeLessThanOrEqual(1);
        expect(bench.auth.reuseCount).toBe(0);
        bench.auth.behave();
      }
      bench.auth.endpoints.tokens.expireAccess();
      for (const connection of connections) expect(await whoami(connection)).toContain("you are alice");
      expect(bench.auth).toMatchObject({ reuseCount: 0 });
      expect(bench.auth.recordsOf("authorize")).toHaveLength(1);
    }),
    { numRuns: 10 },
  );
}, 60_000);

test("five calls of one connection that were all turned away make one renewal", async () => {
  const bench = await opened();
  const connection = bench.connection(bench.store());
  expect(await whoami(connection)).toContain("you are alice");
  bench.auth.endpoints.tokens.expireAccess();
  const held = bench.auth.hold("token");
  const turned = bench.mcp.turned.length;
  const calls = [1, 2, 3, 4, 5].map(() => whoami(connection));
  await held.arrived(1);
  await expect.poll(() => bench.mcp.turned.length - turned).toBe(5);
  held.release();
  for (const text of await Promise.all(calls)) expect(text).toContain("you are alice");
  expect(bench.auth).toMatchObject({ refreshCount: 1, reuseCount: 0 });
});

test("closing the connection that renews costs nobody the log-in", async () => {
  const bench = await opened();
  const store = bench.store();
  const [leaving, staying] = [bench.connection(store), bench.connection(store)];
  await Promise.all([whoami(leaving), whoami(staying)]);
  bench.auth.endpoints.tokens.expireAccess();
  const held = bench.auth.hold("token", "after");
  const lost = whoami(leaving);
  await held.arrived(1);
  await expect.poll(() => bench.auth.refreshCount).toBe(1);
  // It is given a moment: the token it had is used up, and the new one must not go with it.
  const closing = leaving.close();
  const kept = whoami(staying);
  held.release();
  await Promise.all([lost, closing]);
  expect(await kept).toContain("you are alice");
  expect(await whoami(bench.connection(bench.store()))).toContain("you are alice");
  expect(bench.auth).toMatchObject({ refreshCount: 1, reuseCount: 0 });
});

test("a call that is cancelled while it waits for a renewal costs nobody the log-in", async () => {
  const bench = await opened();
  const connection = bench.connection(bench.store());
  await whoami(connection);
  bench.auth.endpoints.tokens.expireAccess();
  const held = bench.auth.hold("token", "after");
  const cancelling = new AbortController();
  const cancelled = connection.call("whoami", {}, { signal: cancelling.signal, onProgress: () => {} });
  await held.arrived(1);
  cancelling.abort();
  await cancelled;
  held.release();
  expect(await whoami(connection)).toContain("you are alice");
  expect(bench.auth).toMatchObject({ refreshCount: 1, reuseCount: 0 });
});

test.each([true, false])(
  "a connection that slept through a token's life takes no other's dead token for a new one (life told: %s)",
  async (saysExpiry) => {
    const bench = await opened({ saysExpiry });
    let aheadMs = 0;
    const clock = { ...world, now: () => world.now() + aheadMs };
    const [sleeping, busy] = [bench.connection(bench.store(), clock), bench.connection(bench.store())];
    await Promise.all([whoami(sleeping), whoami(busy)]);
    bench.auth.endpoints.tokens.expireAccess();
    expect(await whoami(busy)).toContain("you are alice");
    bench.auth.endpoints.tokens.expireAccess();
    aheadMs = 7_200_000;
    expect(await whoami(sleeping)).toContain("you are alice");
    expect(bench.auth).toMatchObject({ refreshCount: 2, reuseCount: 0 });
  },
);
