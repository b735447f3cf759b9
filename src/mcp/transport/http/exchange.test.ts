// Requests with a log-in's token where it is easy to forget it: standing streams, goodbyes, requests nobody waits for.
import { expect, test } from "vitest";
import { anyhow, lab, settled, specOf } from "../../../../test/oauth/bench.js";
import type { World } from "../../../base/ports/world.js";
import { echoTool, type HttpGate, type ScriptedHttpServer, scriptedHttpServer } from "../../../testing/index.js";
import { resourceOf } from "../../auth/port.js";

const bench = lab();

/** Lets in whoever has one of the tokens; goodbyes only if it is told to. */
async function guarded(tokens: Set<string>, takesGoodbyes = true): Promise<ScriptedHttpServer> {
  const gate: HttpGate = (request, response) => {
    const [, token = ""] = /^Bearer (.+)$/u.exec(request.headers.authorization ?? "") ?? [];
    if (tokens.has(token) && (takesGoodbyes || request.method !== "DELETE")) return false;
    response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    return true;
  };
  return bench.own(await scriptedHttpServer({ tools: [echoTool()] }, { gate, hasListenStream: true }));
}

function give(server: ScriptedHttpServer, accessToken: string): void {
  const key = { issuer: "https://as.example", resource: resourceOf(server.url), account: "default" };
  bench.grants.put(key, { accessToken, client: { clientId: "me" }, tokenEndpoint: "https://as.example/token" });
}

test("a standing stream that is refused comes back after the log-in, and the session goes on", async () => {
  const tokens = new Set(["first"]);
  const server = await guarded(tokens);
  give(server, "first");
  let isHurried = false;
  // From then on what waits for less than a call may take does not wait.
  const world: World = {
    ...bench.world,
    after: (ms, run) => bench.world.after(isHurried && ms < 60_000 ? 150 : ms, run),
  };
  const connection = bench.connect(specOf(server), bench.oauth(), world);
  expect((await connection.call("echo", {}, anyhow)).kind).toBe("answered");
  const opened = () =>
    server.requests.filter(({ method, headers }) => method === "GET" && headers.authorization === "Bearer second");
  tokens.clear();
  isHurried = true;
  server.endStreams();
  const refused = () => server.requests.filter(({ method }) => method === "GET").length;
  await expect.poll(refused).toBeGreaterThan(1);
  expect(await connection.call("echo", {}, anyhow)).toMatchObject({ error: { code: "mcp.unauthorized" } });
  tokens.add("second");
  give(server, "second");
  await expect.poll(() => opened().length).toBeGreaterThan(0);
  expect(connection.state.value.kind).toBe("ready");
  expect((await connection.call("echo", {}, anyhow)).kind).toBe("answered");
});

test("saying goodbye starts no log-in", async () => {
  const server = await guarded(new Set(["first"]), false);
  give(server, "first");
  const connection = bench.connect(specOf(server), bench.oauth({}, { way: bench.visitor }));
  expect((await connection.call("echo", {}, anyhow)).kind).toBe("answered");
  await connection.close();
  expect(server.requests.filter(({ method }) => method === "DELETE")).toHaveLength(1);
  expect(bench.visitor.starts).toEqual([]);
});

/** A connection whose tokens are good no more, so that its next call begins a log-in, which is held. */
async function revoked() {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth] });
  await bench.login(specOf(mcp), bench.oauth());
  const connection = bench.connect(specOf(mcp), bench.oauth({}, { way: bench.visitor }));
  expect(await settled(connection)).toBe("ready");
  await connection.call("whoami", {}, anyhow);
  auth.revokeTokens();
  const held = auth.hold("register");
  await bench.grants.writeClient(auth.issuer, undefined);
  return { mcp, connection, held };
}

test("a call that is cancelled while a log-in is under way ends at once, and the log-in goes on", async () => {
  const { connection, held } = await revoked();
  const giveUp = new AbortController();
  const cancelled = connection.call("whoami", {}, { ...anyhow, signal: giveUp.signal });
  const other = connection.call("whoami", {}, anyhow);
  await held.arrived(1);
  giveUp.abort();
  expect((await cancelled).kind).toBe("cancelled");
  held.release();
  expect((await other).kind).toBe("answered");
  expect(bench.visitor.urls).toHaveLength(2);
});

test("a call that begins while a log-in is under way, and so has no token, waits for that log-in", async () => {
  const { mcp, connection, held } = await revoked();
  const first = connection.call("whoami", {}, anyhow);
  await held.arrived(1);
  const refused = mcp.http.requests.length;
  const late = connection.call("whoami", {}, anyhow);
  await expect.poll(() => mcp.http.requests.length).toBeGreaterThan(refused);
  held.release();
  expect((await first).kind).toBe("answered");
  expect((await late).kind).toBe("answered");
  expect(bench.visitor.urls).toHaveLength(2);
});
