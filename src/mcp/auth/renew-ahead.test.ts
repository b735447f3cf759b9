// A token that is about to end is renewed while it is still used: nobody waits for it before they must.
import { expect, test } from "vitest";
import { anyhow, lab, never, openLoggedIn, settled, specOf, textOf } from "../../../test/oauth/bench.js";
import type { ProtectedServerOptions } from "../../testing/lab/index.js";
import type { Grant, GrantKey } from "./port.js";

const bench = lab();

const open = (options: ProtectedServerOptions) => openLoggedIn(bench, options);

async function change(key: GrantKey, how: (grant: Grant) => Grant): Promise<void> {
  await bench.grants.update(key, async (grant) => grant && how(grant), never);
}

/** An hour's token with so much time left. */
async function age(key: GrantKey, leftMs: number): Promise<void> {
  const expiresAtMs = bench.world.now() + leftMs;
  await change(key, (grant) => ({ ...grant, obtainedAtMs: expiresAtMs - 3_600_000, expiresAtMs }));
}

test("a token in its last seconds is renewed first, and the server never sees an old one", async () => {
  const auth = await bench.authServer();
  const { mcp, key, connection } = await open({ authServers: [auth] });
  await age(key, 5_000);
  const other = bench.connect(specOf(mcp), bench.oauth());
  expect(await settled(other)).toBe("ready");
  expect(auth.refreshCount).toBe(1);
  expect(mcp.turned).toHaveLength(1);
  // The first one still has the old token in hand, which the server no longer takes.
  auth.endpoints.tokens.expireAccess();
  expect(textOf(await connection.call("whoami", {}, anyhow))).toBe("you are alice");
});

test("while a token is good, an authorization server that hangs delays no call, and is asked once", async () => {
  const auth = await bench.authServer();
  const { mcp, key } = await open({ authServers: [auth] });
  const before = await bench.grants.read(key);
  await age(key, 30_000);
  const held = auth.hold("token");
  const connections = [0, 1].map(() => bench.connect(specOf(mcp), bench.oauth()));
  const calls = connections.flatMap((one) => [0, 1, 2].map(() => one.call("whoami", {}, anyhow)));
  // None of them ends before the test lets the authorization server answer, unless it goes with the token there is.
  expect((await Promise.all(calls)).map(textOf)).toEqual(calls.map(() => "you are alice"));
  await held.arrived(1);
  expect((await bench.grants.read(key))?.accessToken).toBe(before?.accessToken);
  held.release();
  await Promise.all(connections.map((one) => one.close()));
  expect(auth.refreshCount).toBe(1);
  expect(auth.reuseCount).toBe(0);
  expect((await bench.grants.read(key))?.accessToken).not.toBe(before?.accessToken);
  expect(mcp.turned).toHaveLength(1);
});

test("a renewal ahead that fails costs nothing while the token is good, and the next call tries again", async () => {
  const auth = await bench.authServer();
  const { mcp, key } = await open({ authServers: [auth] });
  await age(key, 30_000);
  auth.misbehave("token", { kind: "answer", status: 503 }, 1);
  const connection = bench.connect(specOf(mcp), bench.oauth());
  expect(await settled(connection)).toBe("ready");
  await expect
    .poll(async () => {
      expect(textOf(await connection.call("whoami", {}, anyhow))).toBe("you are alice");
      return auth.refreshCount;
    })
    .toBe(1);
});

test("a short-lived token is not renewed with every call", async () => {
  const auth = await bench.authServer({ accessTokenMs: 40_000 });
  const { connection } = await open({ authServers: [auth] });
  for (let count = 0; count < 3; count++) await connection.call("whoami", {}, anyhow);
  expect(auth.refreshCount).toBe(0);
});
