// What a token endpoint may answer, and what is made of it.
import { createServer, type Server } from "node:http";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { closeListener, listenOnLoopback } from "../../../test/remote/bench.js";
import type { JsonValue } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { type LeakCheck, leakCheck } from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import { OAuthHttp, OAuthRefusal } from "./http.js";
import { requestToken, type Tokens } from "./tokens.js";

const never = new AbortController().signal;
const world: World = { ...nodeWorld({ env: {} }), now: () => 1_000_000 };
let reply: { readonly status: number; readonly body: string } | "hang" = { status: 200, body: "" };
let server: Server;
let origin = "";
let leaks: LeakCheck;

beforeEach(async () => {
  leaks = await leakCheck();
  server = createServer((_request, response) => {
    if (reply !== "hang") response.writeHead(reply.status, { "content-type": "application/json" }).end(reply.body);
  });
  origin = new URL(await listenOnLoopback(server)).origin;
});

afterEach(async () => {
  await closeListener(server);
  await leaks.verify();
});

async function ask(body: JsonValue | string, status = 200, given: World = world): Promise<Tokens | OAuthRefusal> {
  reply = { status, body: typeof body === "string" ? body : JSON.stringify(body) };
  return await send(given);
}

async function send(given: World, signal: AbortSignal = never): Promise<Tokens | OAuthRefusal> {
  using http = new OAuthHttp({ world: given, serverUrl: origin }, signal);
  const asked = { grantType: "refresh_token", params: { refresh_token: "r", resource: undefined } };
  const request = { endpoint: `${origin}/token`, client: { clientId: "me" }, settings: {}, issuer: origin, ...asked };
  return await requestToken(http, request);
}

test.each([
  [{ access_token: "t", token_type: "bearer" }, { accessToken: "t" }],
  [
    { access_token: "t", token_type: "Bearer", expires_in: 60, refresh_token: "r2", scope: "a b" },
    { accessToken: "t", expiresAtMs: 1_060_000, refreshToken: "r2", scope: "a b" },
  ],
  [
    { access_token: "t", expires_in: "60" },
    { accessToken: "t", expiresAtMs: 1_060_000 },
  ],
  [{ access_token: "t", expires_in: null, refresh_token: null, scope: "" }, { accessToken: "t" }],
  [{ access_token: "t", expires_in: -5 }, { accessToken: "t" }],
])("%j brings %j", async (body, tokens) => {
  expect(await ask(body)).toEqual(tokens);
});

test.each([
  [400, { error: "invalid_grant", error_description: "gone\u001b[31m" }, "invalid_grant: gone [31m"],
  [401, { error: "invalid_client" }, "invalid_client"],
  [200, { error: "bad_verification_code" }, "bad_verification_code"],
])("%i %j is a refusal", async (status, body, words) => {
  const answer = await ask(body, status);
  expect(answer).toBeInstanceOf(OAuthRefusal);
  expect(answer).toMatchObject({ words });
});

test.each([
  [200, {}, "mcp.protocol"],
  [200, "<html>", "mcp.protocol"],
  [200, { access_token: "line\nbreak" }, "mcp.protocol"],
  [200, { access_token: 7 }, "mcp.protocol"],
  [200, { access_token: "t", token_type: "DPoP" }, "mcp.protocol"],
  [404, "", "mcp.protocol"],
  [400, { message: "no" }, "mcp.protocol"],
  [502, "<html>", "mcp.unavailable"],
  [429, "", "mcp.unavailable"],
])("%i %j is an error (%3$s)", async (status, body, code) => {
  await expect(ask(body, status)).rejects.toMatchObject({ code });
});

test("whatever comes: tokens, a refusal or one of our errors", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.constantFrom(200, 400, 500), async (body, status) => {
      const text = JSON.stringify(body);
      const outcome = await ask(text, status).catch((error: unknown) => error);
      expect(outcome).toSatisfy(
        (value) => "accessToken" in value || value instanceof OAuthRefusal || String(value.code).startsWith("mcp."),
      );
    }),
    { numRuns: 30 },
  );
});

test("one that never answers is given up in time, and at once when nobody waits any more", async () => {
  reply = "hang";
  const impatient: World = { ...world, deadline: (_ms, parent) => world.deadline(30, parent) };
  await expect(send(impatient)).rejects.toMatchObject({ code: "mcp.unavailable" });
  const giveUp = new AbortController();
  const asking = send(world, giveUp.signal);
  giveUp.abort(new Error("enough"));
  await expect(asking).rejects.toThrow("enough");
});

test("one that sends the client elsewhere is not followed", async () => {
  const elsewhere = createServer();
  const url = await listenOnLoopback(elsewhere);
  let visits = 0;
  elsewhere.on("connection", () => (visits += 1));
  server.removeAllListeners("request");
  server.on("request", (_request, response) => response.writeHead(307, { location: `${url}/token` }).end());
  await expect(send(world)).rejects.toMatchObject({ code: "mcp.url_refused" });
  expect(visits).toBe(0);
  await closeListener(elsewhere);
});
