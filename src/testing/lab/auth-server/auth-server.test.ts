// The lab itself, driven by the MCP SDK's own client and by hand: what it lets through, what it refuses, what it counts.
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import { type LeakCheck, leakCheck } from "../../kit/leaks.js";
import type { AuthServerOptions } from "./options.js";
import { canary, logIn, visit } from "./peers.js";
import { type ProtectedServer, type ProtectedServerOptions, protectedServer } from "./protected-server.js";
import { type AuthServer, authServer } from "./server.js";

const open: AsyncDisposable[] = [];
let leaks: LeakCheck;

beforeEach(async () => {
  leaks = await leakCheck();
});

afterEach(async () => {
  for (const owned of open.splice(0).reverse()) await owned[Symbol.asyncDispose]();
  await leaks.verify();
});

const REDIRECT = "http://127.0.0.1:9/callback";
const RESOURCE = "https://mcp.example/mcp";

async function server(options?: AuthServerOptions): Promise<AuthServer> {
  const made = await authServer(options);
  open.push(made);
  return made;
}

async function resource(options: ProtectedServerOptions): Promise<ProtectedServer> {
  const made = await protectedServer(options);
  open.push(made);
  return made;
}

async function post(
  url: string,
  params: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<JsonObject> {
  const response = await fetch(url, { method: "POST", body: new URLSearchParams(params), headers });
  const parsed = parseJson(await response.text());
  return { status: response.status, ...(parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}) };
}

const PUBLIC: AuthServerOptions = { clients: [{ clientId: "app", redirectUris: [REDIRECT] }] };

interface Flow {
  readonly url: string;
  readonly verifier: string;
}

function authorization(auth: AuthServer, changes: Record<string, string> = {}): Flow {
  const verifier = randomBytes(32).toString("base64url");
  const url = new URL(auth.endpoints.places.authorize);
  const params = {
    response_type: "code",
    client_id: "app",
    redirect_uri: REDIRECT,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    resource: RESOURCE,
    state: "s1",
    ...changes,
  };
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return { url: url.href, verifier };
}

async function codeOf(flow: Flow): Promise<string> {
  return new URL(await visit(flow.url)).searchParams.get("code") ?? "";
}

function exchange(code: string, verifier: string, changes: Record<string, string> = {}): Record<string, string> {
  const base = { grant_type: "authorization_code", client_id: "app", redirect_uri: REDIRECT, resource: RESOURCE };
  return { ...base, code, code_verifier: verifier, ...changes };
}

async function loggedIn(auth: AuthServer): Promise<{ readonly access: string; readonly refresh: string }> {
  const flow = authorization(auth);
  const answer = await post(auth.endpoints.places.token, exchange(await codeOf(flow), flow.verifier));
  return { access: String(answer["access_token"]), refresh: String(answer["refresh_token"]) };
}

function refreshing(token: string): Record<string, string> {
  return { grant_type: "refresh_token", refresh_token: token, client_id: "app", resource: RESOURCE };
}

test("a code is good once, for its client, redirect, resource and verifier", async () => {
  const auth = await server(PUBLIC);
  const flow = authorization(auth);
  const back = new URL(await visit(flow.url));
  expect(Object.fromEntries(back.searchParams)).toMatchObject({ state: "s1", iss: auth.issuer });
  const code = back.searchParams.get("code") ?? "";
  expect(await post(auth.endpoints.places.token, exchange(code, flow.verifier))).toMatchObject({
    status: 200,
    expires_in: 3600,
  });
  expect(await post(auth.endpoints.places.token, exchange(code, flow.verifier))).toMatchObject({
    error: "invalid_grant",
  });
  expect(auth.endpoints.tokens.all.map(({ state }) => state)).toEqual(["revoked", "revoked"]);

  const wrong: Record<string, string>[] = [
    { code_verifier: "x".repeat(43) },
    { redirect_uri: "http://127.0.0.1:9/other" },
    { resource: "https://other.example" },
    { code: "code-unknown" },
  ];
  for (const changes of wrong) {
    const next = authorization(auth);
    const answer = await post(auth.endpoints.places.token, exchange(await codeOf(next), next.verifier, changes));
    expect(answer, JSON.stringify(changes)).toMatchObject({ status: 400, error: "invalid_grant" });
  }
});

test("an authorization request that breaks a rule goes back with its error, or nowhere at all", async () => {
  const auth = await server({ ...PUBLIC, resources: [RESOURCE] });
  for (const [name, value, error] of [
    ["code_challenge_method", "plain", "invalid_request"],
    ["code_challenge", "short", "invalid_request"],
    ["resource", "https://other.example", "invalid_target"],
    ["response_type", "token", "unsupported_response_type"],
  ] as const) {
    const back = new URL(await visit(authorization(auth, { [name]: value }).url));
    expect(back.searchParams.get("error"), name).toBe(error);
  }
  await expect(visit(authorization(auth, { redirect_uri: "https://evil.example/" }).url)).rejects.toThrow("400");
  await expect(visit(authorization(auth, { client_id: "nobody" }).url)).rejects.toThrow("400");
  auth.script({ denies: true });
  expect(await visit(authorization(auth).url)).toContain("error=access_denied");
});

test("the issuer of a response is right, wrong or missing, as told", async () => {
  const auth = await server({ ...PUBLIC, issuerPath: "/tenant" });
  const issOf = async () => new URL(await visit(authorization(auth).url)).searchParams.get("iss");
  expect(await issOf()).toBe(`${auth.origin}/tenant`);
  auth.script({ iss: "https://other.example" });
  expect(await issOf()).toBe("https://other.example");
  auth.script({ iss: "missing" });
  expect(await issOf()).toBeNull();
});

test("a refresh token is good once; the second use is counted and ends the log-in", async () => {
  const auth = await server(PUBLIC);
  const { access, refresh } = await loggedIn(auth);
  const first = await post(auth.endpoints.places.token, refreshing(refresh));
  expect(first).toMatchObject({ status: 200, refresh_token: expect.not.stringMatching(refresh) });
  expect(auth).toMatchObject({ refreshCount: 1, reuseCount: 0 });
  expect(await post(auth.endpoints.places.token, refreshing(refresh))).toMatchObject({
    status: 400,
    error: "invalid_grant",
  });
  expect(auth).toMatchObject({ refreshCount: 1, reuseCount: 1 });
  expect(auth.endpoints.tokens.find(access)?.state).toBe("revoked");
  expect(await post(auth.endpoints.places.token, refreshing(String(first["refresh_token"])))).toMatchObject({
    error: "invalid_grant",
  });
});

test("held refreshes race as real ones do: of two with one token, one wins", async () => {
  const auth = await server({ ...PUBLIC, reuseRevokes: false });
  const { refresh } = await loggedIn(auth);
  const held = auth.hold("token");
  const both = Promise.all([
    post(auth.endpoints.places.token, refreshing(refresh)),
    post(auth.endpoints.places.token, refreshing(refresh)),
  ]);
  await held.arrived(2);
  expect(auth.refreshCount).toBe(0);
  held.release();
  expect((await both).map(({ status }) => String(status)).sort()).toEqual(["200", "400"]);
  expect(auth).toMatchObject({ refreshCount: 1, reuseCount: 1 });
});

test("a refresh held after has been done: the token is used, and only the answer is missing", async () => {
  const auth = await server(PUBLIC);
  const { refresh } = await loggedIn(auth);
  const held = auth.hold("token", "after");
  const answer = post(auth.endpoints.places.token, refreshing(refresh));
  await held.arrived(1);
  await expect.poll(() => auth.refreshCount).toBe(1);
  expect(auth.endpoints.tokens.find(refresh)?.state).toBe("used");
  held.release();
  expect(await answer).toMatchObject({ status: 200 });
});

test("both go by the name they are given, wherever they listen", async () => {
  const auth = await server({ ...PUBLIC, hostname: "auth.example" });
  const mcp = await resource({ authServers: [auth], hostname: "mcp.example" });
  expect(auth.issuer).toMatch(/^http:\/\/auth\.example:\d+$/u);
  const response = await fetch(mcp.metadataUrl.replace("mcp.example", "127.0.0.1"));
  expect(await response.json()).toMatchObject({ resource: mcp.url, authorization_servers: [auth.issuer] });
  expect(new URL(mcp.url).host).toBe(mcp.host);
});

test("tokens expire and are revoked when told, of one account or of all", async () => {
  const auth = await server(PUBLIC);
  const alice = await loggedIn(auth);
  auth.script({ account: "bob" });
  const bob = await loggedIn(auth);
  expect(auth.endpoints.tokens.find(bob.access)).toMatchObject({ account: "bob", state: "active" });
  auth.revokeTokens("alice");
  expect([auth.endpoints.tokens.find(alice.access)?.state, auth.endpoints.tokens.find(bob.access)?.state]).toEqual([
    "revoked",
    "active",
  ]);
  auth.endpoints.tokens.expireAccess();
  expect(auth.endpoints.tokens.find(bob.access)?.state).toBe("expired");
  expect(auth.endpoints.tokens.find(bob.refresh)?.state).toBe("active");
  await post(auth.endpoints.places.revoke, { token: bob.refresh });
  expect(auth.endpoints.tokens.find(bob.refresh)?.state).toBe("revoked");
  for (const { token } of auth.endpoints.tokens.all) expect(auth.endpoints.secrets).toContain(token);
});

test("client credentials need the secret, in the registered way", async () => {
  const auth = await server({ clients: [{ clientId: "robot", clientSecret: "s%3cret" }] });
  const params = { grant_type: "client_credentials", resource: RESOURCE, scope: "read" };
  const basic = (secret: string) => ({
    authorization: `Basic ${Buffer.from(`robot:${encodeURIComponent(secret)}`).toString("base64")}`,
  });
  expect(await post(auth.endpoints.places.token, params, basic("s%3cret"))).toMatchObject({
    status: 200,
    scope: "read",
  });
  expect(auth.endpoints.tokens.all).toMatchObject([{ account: "robot", kind: "access" }]);
  expect(await post(auth.endpoints.places.token, params, basic("wrong"))).toMatchObject({
    status: 401,
    error: "invalid_client",
  });
  const inBody = { ...params, client_id: "robot", client_secret: "s%3cret" };
  expect(await post(auth.endpoints.places.token, inBody)).toMatchObject({ status: 401, error: "invalid_client" });
});

test("a client assertion is believed once, when its key, audience and times are right", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
  const auth = await server({ clients: [{ clientId: "robot", authMethod: "private_key_jwt", publicKey: pem }] });
  const seconds = Math.floor(Date.now() / 1_000);
  const good = { iss: "robot", sub: "robot", aud: auth.issuer, exp: seconds + 60, iat: seconds, jti: "1" };
  const encode = (value: JsonObject) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const ask = async (claims: JsonObject, key = privateKey) => {
    const text = `${encode({ alg: "ES256" })}.${encode(claims)}`;
    const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }).toString("base64url");
    return await post(auth.endpoints.places.token, {
      grant_type: "client_credentials",
      resource: RESOURCE,
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: `${text}.${signature}`,
    });
  };
  expect(await ask(good)).toMatchObject({ status: 200 });
  const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  expect(await ask({ ...good, jti: "2" }, stranger)).toMatchObject({
    error_description: expect.stringContaining("signature"),
  });
  for (const [claims, words] of [
    [good, "used before"],
    [{ ...good, jti: "3", aud: "https://other.example" }, "not for this server"],
    [{ ...good, jti: "4", exp: seconds - 1 }, "expired"],
    [{ ...good, jti: "5", sub: "other" }, "no client"],
    [{ ...good, jti: "" }, "no id"],
  ] as const) {
    expect(await ask(claims), words).toMatchObject({ status: 401, error_description: expect.stringContaining(words) });
  }
});

test("the device flow is pending, slows down, and is approved at its poll", async () => {
  const auth = await server({ ...PUBLIC, device: { approvedAtPoll: 3, slowsDown: true }, account: "carol" });
  const started = await post(auth.endpoints.places.device, { client_id: "app", scope: "a", resource: RESOURCE });
  const poll = async () =>
    await post(auth.endpoints.places.token, {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: String(started["device_code"]),
      client_id: "app",
      resource: RESOURCE,
    });
  const answers = [await poll(), await poll(), await poll(), await poll()];
  expect(answers.map(({ status, error }) => error ?? status)).toEqual([
    "slow_down",
    "authorization_pending",
    200,
    "invalid_grant",
  ]);
  expect(auth.endpoints.tokens.all).toContainEqual(expect.objectContaining({ account: "carol", scopes: ["a"] }));
});

test("metadata is where it should be, says what it is told, and takes away what is null", async () => {
  const auth = await server({
    issuerPath: "/t",
    metadata: { token_endpoint: "http://x.example/", registration_endpoint: null },
  });
  const at = async (path: string) => (await fetch(`${auth.origin}${path}`)).json();
  const found = await at("/.well-known/oauth-authorization-server/t");
  expect(found).toMatchObject({ issuer: auth.issuer, token_endpoint: "http://x.example/" });
  expect(found).not.toHaveProperty("registration_endpoint");
  expect(await at("/t/.well-known/openid-configuration")).toEqual(found);
  auth.script({ metadataAt: [] });
  expect((await fetch(`${auth.origin}/.well-known/oauth-authorization-server/t`)).status).toBe(404);
  expect(auth.recordsOf("metadata")).toHaveLength(3);
});

test("faults, redirects and a canary that counts", async () => {
  const auth = await server();
  const bird = await canary();
  open.push(bird);
  auth.misbehave("metadata", { kind: "answer", status: 302, headers: { location: `${bird.origin}/x` } }, 1);
  const url = `${auth.origin}/.well-known/oauth-authorization-server`;
  expect(bird.connections).toBe(0);
  await fetch(url);
  expect(bird).toMatchObject({ connections: 1, requests: ["GET /x"] });
  expect((await fetch(url)).status).toBe(200);
});

/** The SDK's client as the peer: it knows nothing of this lab. */
function provider(found: { url?: URL }): OAuthClientProvider {
  const kept: { client?: never; tokens?: never; verifier: string } = { verifier: "" };
  return {
    redirectUrl: REDIRECT,
    clientMetadata: { redirect_uris: [REDIRECT], client_name: "test", token_endpoint_auth_method: "none" },
    state: () => "state",
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void Object.assign(kept, { client }),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void Object.assign(kept, { tokens }),
    redirectToAuthorization: (url) => void (found.url = url),
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
  };
}

test("the SDK's client logs in by registration and calls; the server knows whose token it is", async () => {
  const auth = await server({ account: "bob" });
  const mcp = await resource({ authServers: [auth], scopes: ["mcp"] });
  const found: { url?: URL } = {};
  const authProvider = provider(found);
  const connect = async () => {
    const client = new Client({ name: "test", version: "1" });
    const transport = new StreamableHTTPClientTransport(new URL(mcp.url), { authProvider });
    open.push({ [Symbol.asyncDispose]: () => client.close() });
    return { client, transport };
  };
  const first = await connect();
  await expect(first.client.connect(first.transport)).rejects.toThrow(UnauthorizedError);
  const back = new URL(await visit(found.url ?? ""));
  await first.transport.finishAuth(back.searchParams);
  const second = await connect();
  await second.client.connect(second.transport);
  expect(await second.client.callTool({ name: "whoami" })).toMatchObject({ content: [{ text: "you are bob" }] });
  expect(auth.recordsOf("register")).toHaveLength(1);
  expect(auth.recordsOf("authorize")).toMatchObject([{ params: { resource: mcp.url, scope: "mcp" } }]);
  expect(mcp.admissions.at(-1)).toMatchObject({ account: "bob", tool: "whoami" });
});

test("the protected server says what is missing: a token, a good one, the right audience, a scope", async () => {
  const auth = await server(PUBLIC);
  const mcp = await resource({ authServers: [auth], scopes: ["mcp"], toolScopes: { echo: ["write"] } });
  const call = async (token?: string) => {
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: {} } };
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(mcp.url, { method: "POST", body: JSON.stringify(message), headers });
    return { status: response.status, challenge: response.headers.get("www-authenticate") ?? "" };
  };
  expect(await call()).toMatchObject({ status: 401, challenge: expect.stringContaining(mcp.metadataUrl) });
  const flow = authorization(auth, { scope: "mcp", resource: mcp.url });
  const answer = await post(
    auth.endpoints.places.token,
    exchange(await codeOf(flow), flow.verifier, { resource: mcp.url }),
  );
  const token = String(answer["access_token"]);
  const lacking = await call(token);
  expect(lacking.status).toBe(403);
  expect(lacking.challenge).toContain('error="insufficient_scope"');
  expect(lacking.challenge).toContain('scope="mcp write"');
  const { access } = await loggedIn(auth);
  expect(await call(access)).toMatchObject({ status: 401 });
  auth.endpoints.tokens.expireAccess();
  expect(await call(token)).toMatchObject({ status: 401, challenge: expect.stringContaining("invalid_token") });
  expect(mcp.turned.map(({ why }) => why)).toEqual([
    "no token",
    "the token lacks write",
    `the token is for ${RESOURCE}`,
    "the token is expired",
  ]);
});

test("the browser goes all the way back to who waits", async () => {
  const auth = await server(PUBLIC);
  const waiting = await canary();
  open.push(waiting);
  const flow = authorization(auth, { redirect_uri: `${waiting.origin}/callback` });
  expect(await logIn(flow.url)).toMatchObject({ status: 200 });
  expect(waiting.requests).toEqual([expect.stringMatching(/^GET \/callback\?state=s1&iss=.*&code=code-/u)]);
});
