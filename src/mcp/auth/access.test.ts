// Tokens in the life of a connection: renewed once, stepped up once, and when they end, somebody is told what to do.
import { expect, test } from "vitest";
import { anyhow, lab, never, openLoggedIn, settled, specOf, textOf } from "../../../test/oauth/bench.js";
import type { WireTrace } from "../../base/ports/trace.js";
import { echoTool, scriptedHttpServer } from "../../testing/index.js";
import type { ProtectedServerOptions } from "../../testing/lab/index.js";

const bench = lab();

const open = (options: ProtectedServerOptions) => openLoggedIn(bench, options);

test("a kept log-in is used from the first request on", async () => {
  const auth = await bench.authServer();
  const { mcp, connection } = await open({ authServers: [auth] });
  expect(textOf(await connection.call("whoami", {}, anyhow))).toBe("you are alice");
  // One without a token, by the log-in itself, to hear what the server wants.
  expect(mcp.turned.map(({ why }) => why)).toEqual(["no token"]);
});

test.each(["http", "sse"] as const)("over %s, five calls after the token expired renew it once", async (kind) => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({
    authServers: [auth],
    ...(kind === "sse" ? { http: { transport: "sse" } } : {}),
  });
  const spec = specOf(mcp, { kind });
  await bench.login(spec, bench.oauth());
  const connection = bench.connect(spec, bench.oauth());
  expect(await settled(connection)).toBe("ready");
  auth.endpoints.tokens.expireAccess();
  const calls = Array.from({ length: 5 }, (_, index) => connection.call("echo", { text: String(index) }, anyhow));
  for (const outcome of await Promise.all(calls)) expect(outcome.kind).toBe("answered");
  expect(auth.refreshCount).toBe(1);
  expect(auth.reuseCount).toBe(0);
});

test("an authorization server in trouble costs the call, not the log-in", async () => {
  const auth = await bench.authServer();
  const { connection } = await open({ authServers: [auth] });
  auth.endpoints.tokens.expireAccess();
  auth.misbehave("token", { kind: "answer", status: 503 }, 1);
  expect(await connection.call("whoami", {}, anyhow)).toMatchObject({
    kind: "failed",
    error: { code: "mcp.unavailable" },
  });
  expect(textOf(await connection.call("whoami", {}, anyhow))).toBe("you are alice");
});

test("a token that the server says back reaches nobody", async () => {
  const auth = await bench.authServer();
  const { mcp, key, connection } = await open({ authServers: [auth] });
  const { accessToken = "" } = (await bench.grants.read(key)) ?? {};
  const body = `{"token": "${accessToken}", "said": "${Buffer.from(accessToken).toString("base64")}"}`;
  mcp.http.misbehave({ method: "tools/call" }, { kind: "answer", status: 500, body }, 1);
  const outcome = await connection.call("whoami", {}, anyhow);
  expect(outcome).toMatchObject({
    error: { message: expect.stringContaining('{"token": "[redacted]", "said": "[redacted]') },
  });
});

test("a log-in that ends in a session says so, and the next call works after a new one", async () => {
  const auth = await bench.authServer();
  const { mcp, connection } = await open({ authServers: [auth] });
  auth.revokeTokens();
  const outcome = await connection.call("whoami", {}, anyhow);
  expect(outcome).toMatchObject({
    kind: "failed",
    error: {
      code: "mcp.unauthorized",
      message: expect.stringMatching(/has expired or was revoked .*invalid_grant.*tenon mcp login web/su),
    },
  });
  expect(bench.grants.all).toEqual([]);
  expect(connection.state.value.kind).toBe("ready");
  await bench.login(specOf(mcp), bench.oauth());
  expect(textOf(await connection.call("whoami", {}, anyhow))).toBe("you are alice");
});

test("a registration the server has forgotten costs the log-in, and the next one is registered anew", async () => {
  const auth = await bench.authServer({ registration: "secret" });
  const { mcp, key, connection } = await open({ authServers: [auth] });
  auth.endpoints.tokens.expireAccess();
  auth.endpoints.forgetClients();
  expect(await connection.call("whoami", {}, anyhow)).toMatchObject({ error: { code: "mcp.unauthorized" } });
  expect(await bench.grants.read(key)).toBeUndefined();
  await bench.login(specOf(mcp), bench.oauth());
  expect(textOf(await connection.call("whoami", {}, anyhow))).toBe("you are alice");
});

test("a client of one's own that is no longer known costs nothing but the call", async () => {
  const auth = await bench.authServer({ clients: [{ clientId: "mine", clientSecret: "s" }] });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const { key } = await bench.login(specOf(mcp), bench.oauth({ clientId: "mine", clientSecret: "s" }));
  const connection = bench.connect(specOf(mcp), bench.oauth({ clientId: "mine", clientSecret: "mistyped" }));
  await connection.call("whoami", {}, anyhow);
  auth.endpoints.tokens.expireAccess();
  expect(await connection.call("whoami", {}, anyhow)).toMatchObject({
    error: { code: "mcp.unauthorized", message: expect.stringContaining("client of the oauth settings") },
  });
  expect(await bench.grants.read(key)).toBeDefined();
});

test("a store that cannot be read keeps nobody from a server that wants no log-in", async () => {
  const server = bench.own(await scriptedHttpServer({ tools: [echoTool()] }));
  const broken = () => Promise.reject(new Error("the keyring is locked"));
  const store = { read: broken, find: broken, update: broken, readClient: broken, writeClient: broken };
  const connection = bench.connect(specOf(server), bench.oauth({}, { store }));
  expect((await connection.call("echo", {}, anyhow)).kind).toBe("answered");
});

test("a lost race never costs the winner's tokens", async () => {
  const auth = await bench.authServer({ reuseRevokes: false });
  const { key, connection } = await open({ authServers: [auth] });
  auth.endpoints.tokens.expireAccess();
  const held = auth.hold("token");
  const call = connection.call("whoami", {}, anyhow);
  await held.arrived(1);
  // Another process logs in meanwhile, past a lock that failed, and our refresh token is refused.
  const winner = {
    accessToken: "winner",
    refreshToken: "theirs",
    client: { clientId: "x" },
    tokenEndpoint: auth.endpoints.places.token,
  };
  bench.grants.put(key, winner);
  auth.revokeTokens();
  held.release();
  expect((await call).kind).toBe("failed");
  expect(bench.grants.all).toMatchObject([{ grant: { accessToken: "winner", refreshToken: "theirs" } }]);
});

test("closing a connection in the middle of a renewal loses nothing", async () => {
  const auth = await bench.authServer();
  const { key, connection } = await open({ authServers: [auth] });
  const before = await bench.grants.read(key);
  auth.endpoints.tokens.expireAccess();
  const held = auth.hold("token");
  const call = connection.call("whoami", {}, anyhow);
  await held.arrived(1);
  const closed = connection.close();
  held.release();
  await Promise.all([call, closed]);
  const after = await bench.grants.read(key);
  expect(after?.accessToken).not.toBe(before?.accessToken);
  expect(after?.refreshToken).not.toBe(before?.refreshToken);
});

test("without anybody to ask, a missing scope is named, and the next log-in brings it", async () => {
  const auth = await bench.authServer();
  const { mcp, connection } = await open({ authServers: [auth], scopes: ["mcp"], toolScopes: { echo: ["write"] } });
  expect(await connection.call("echo", {}, anyhow)).toMatchObject({
    kind: "failed",
    error: { code: "mcp.unauthorized", message: expect.stringMatching(/scope "mcp write".*tenon mcp login web/su) },
  });
  await bench.login(specOf(mcp), bench.oauth());
  expect(auth.recordsOf("authorize").at(-1)?.params["scope"]).toBe("mcp write");
  expect((await connection.call("echo", {}, anyhow)).kind).toBe("answered");
});

test("with somebody to ask, a missing scope is asked for once", async () => {
  const auth = await bench.authServer({ scopes: ["mcp"] });
  const mcp = await bench.protectedServer({ authServers: [auth], scopes: ["mcp"], toolScopes: { echo: ["write"] } });
  const connection = bench.connect(specOf(mcp), bench.oauth({}, { way: bench.visitor }));
  expect(await settled(connection)).toBe("ready");
  expect(bench.visitor.urls).toHaveLength(1);
  for (let count = 0; count < 3; count++) {
    expect(await connection.call("echo", {}, anyhow)).toMatchObject({ error: { code: "mcp.unauthorized" } });
  }
  expect(bench.visitor.urls).toHaveLength(2);
  expect(textOf(await connection.call("whoami", {}, anyhow))).toBe("you are alice");
});

test("a server that always wants yet another scope is not pleased for ever", async () => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const connection = bench.connect(specOf(mcp), bench.oauth({}, { way: bench.visitor }));
  expect(await settled(connection)).toBe("ready");
  for (let count = 0; count < 6; count++) {
    const headers = { "www-authenticate": `Bearer error="insufficient_scope", scope="more-${count}"` };
    mcp.http.misbehave({ method: "tools/call" }, { kind: "answer", status: 403, headers });
    await connection.call("echo", {}, anyhow);
    mcp.http.behave();
  }
  expect(bench.visitor.urls.length).toBeLessThanOrEqual(1 + 3);
});

test("nobody is asked again after saying no, until somebody has logged in", async () => {
  const auth = await bench.authServer({ denies: true });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const oauth = bench.oauth({}, { way: bench.visitor });
  const connection = bench.connect(specOf(mcp), oauth);
  expect(await settled(connection)).toBe("failed");
  expect(connection.lastError).toMatchObject({ code: "mcp.unauthorized", message: expect.stringContaining("denied") });
  expect(bench.visitor.urls).toHaveLength(1);
});

test("a token that the server refuses although it is new is not replaced for ever", async () => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth] });
  mcp.http.misbehave({}, { kind: "answer", status: 401 });
  const connection = bench.connect(specOf(mcp), bench.oauth({}, { way: bench.visitor }));
  expect(await settled(connection)).toBe("failed");
  expect(bench.visitor.urls.length).toBeLessThanOrEqual(1);
  expect(auth.recordsOf("token").length).toBeLessThanOrEqual(2);
});

test("client credentials are asked for when the server wants them, and again when they end", async () => {
  const auth = await bench.authServer({ clients: [{ clientId: "robot", clientSecret: "beep" }] });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const oauth = bench.oauth({ clientId: "robot", clientSecret: "beep", grant: "client_credentials" });
  const connection = bench.connect(specOf(mcp), oauth);
  expect(await settled(connection)).toBe("ready");
  auth.endpoints.tokens.expireAccess();
  const calls = [connection.call("whoami", {}, anyhow), connection.call("whoami", {}, anyhow)];
  for (const outcome of await Promise.all(calls)) expect(outcome.kind).toBe("answered");
  expect(auth.recordsOf("token", "client_credentials")).toHaveLength(2);
});

test("two accounts at one server do not meet", async () => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const first = bench.oauth();
  const second = bench.oauth({}, { account: "work" });
  await bench.login(specOf(mcp), first);
  auth.script({ account: "bob" });
  await bench.login(specOf(mcp), second);
  const alice = bench.connect(specOf(mcp), first);
  const bob = bench.connect(specOf(mcp), second);
  expect(textOf(await alice.call("whoami", {}, anyhow))).toBe("you are alice");
  expect(textOf(await bob.call("whoami", {}, anyhow))).toBe("you are bob");
});

test("a server that moves to another authorization server is logged in to there, and the old grant goes", async () => {
  const [first, second] = [await bench.authServer(), await bench.authServer()];
  const { mcp, key, connection } = await open({ authServers: [first] });
  mcp.script({ authServers: [second] });
  expect(await connection.call("whoami", {}, anyhow)).toMatchObject({ error: { code: "mcp.unauthorized" } });
  await bench.login(specOf(mcp), bench.oauth());
  expect(bench.grants.all.map(({ key: { issuer } }) => issuer)).toEqual([second.issuer]);
  expect(second.recordsOf("authorize")[0]?.params["client_id"]).not.toBe(
    first.recordsOf("authorize")[0]?.params["client_id"],
  );
  expect(textOf(await connection.call("whoami", {}, anyhow))).toBe("you are alice");
  expect(await bench.grants.read(key)).toBeUndefined();
});

test.each([{ Authorization: "Bearer fixed" }, undefined])(
  "fixed credentials (%j) never start a log-in",
  async (headers) => {
    const auth = await bench.authServer();
    const mcp = await bench.protectedServer({ authServers: [auth] });
    const spec = specOf(mcp, headers ? { headers } : { auth: { type: "bearer", token: "fixed" } });
    const connection = bench.connect(spec, bench.oauth({}, { way: bench.visitor }));
    expect(await settled(connection)).toBe("failed");
    expect(connection.lastError?.message).toContain("refused the credentials");
    expect([...auth.records, ...bench.visitor.starts]).toEqual([]);
  },
);

test("a connection that was refused comes up by itself when somebody logs in", async () => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const connection = bench.connect(specOf(mcp), bench.oauth());
  expect(await settled(connection)).toBe("failed");
  expect(connection.lastError?.message).toContain("the server wants a log-in (401 Unauthorized); log in with");
  expect(bench.grants.watchCount).toBe(1);
  await bench.login(specOf(mcp), bench.oauth());
  await connection.state.until(({ kind }) => kind === "ready", never);
  expect(bench.grants.watchCount).toBe(1); // for the day it is logged out
  await connection.close();
  expect(bench.grants.watchCount).toBe(0);
});

test("who logs out elsewhere has logged out of an open connection too, though the token would still be taken", async () => {
  const auth = await bench.authServer();
  const { mcp, key, connection } = await open({ authServers: [auth] });
  const seen = mcp.turned.length;
  await bench.grants.update(key, async () => undefined, never);
  expect(await connection.call("whoami", {}, anyhow)).toMatchObject({
    kind: "failed",
    error: { code: "mcp.unauthorized" },
  });
  expect(mcp.turned.slice(seen).map(({ why }) => why)).toEqual(["no token"]);
  await bench.login(specOf(mcp), bench.oauth());
  expect(textOf(await connection.call("whoami", {}, anyhow))).toBe("you are alice");
});

test("and with a store that tells nobody, at the next call", async () => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const { grants } = bench;
  const store = {
    read: grants.read.bind(grants),
    find: grants.find.bind(grants),
    update: grants.update.bind(grants),
    readClient: grants.readClient.bind(grants),
    writeClient: grants.writeClient.bind(grants),
  };
  const connection = bench.connect(specOf(mcp), bench.oauth({}, { store }));
  expect(await settled(connection)).toBe("failed");
  expect((await connection.call("whoami", {}, anyhow)).kind).toBe("failed");
  await bench.login(specOf(mcp), bench.oauth());
  expect(textOf(await connection.call("whoami", {}, anyhow))).toBe("you are alice");
});

test("no token is told to the log, nor shown in an error", async () => {
  const lines: string[] = [];
  const write = (name: string, fields?: object) => void lines.push(JSON.stringify([name, fields]));
  const log = { debug: write, info: write, warn: write, error: write };
  const hidden: string[] = [];
  const trace: WireTrace = {
    record: () => {},
    hide: (values) => void hidden.push(...values),
    nextConnection: () => 1,
    nextQuestion: () => 1,
    modelFetch: (fetch) => fetch,
    within: (_session, run) => run(),
  };
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const oauth = bench.oauth({}, { way: bench.visitor });
  const connection = bench.connect(specOf(mcp), oauth, { ...bench.world, log, trace });
  expect(await settled(connection)).toBe("ready");
  auth.endpoints.tokens.expireAccess();
  await connection.call("whoami", {}, anyhow);
  auth.revokeTokens();
  auth.script({ denies: true });
  const outcome = await connection.call("whoami", {}, anyhow);
  const said = JSON.stringify(outcome) + lines.join("\n");
  expect(auth.endpoints.secrets.length).toBeGreaterThan(4);
  for (const secret of auth.endpoints.secrets) expect(said).not.toContain(secret);
  for (const { token } of auth.endpoints.tokens.all) expect(hidden).toContain(token);
});
