// Whole log-ins against a real authorization server: every kind of client, every way, and what must not pass.
import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { lab, never, specOf } from "../../../test/oauth/bench.js";
import type { World } from "../../base/ports/world.js";
import { canary } from "../../testing/lab/index.js";
import { login, logout } from "./index.js";
import type { DevicePrompt } from "./port.js";

const bench = lab();

test("a person logs in: registered, with PKCE, resource, scope, and the grant is kept", async () => {
  const auth = await bench.authServer({ scopes: ["mcp", "offline_access"], refreshTokens: "offline_access" });
  const mcp = await bench.protectedServer({ authServers: [auth], scopes: ["mcp"] });
  const oauth = { ...bench.oauth(), way: bench.visitor };
  const done = await login(specOf(mcp), { world: bench.world, oauth }, never);
  expect(done).toMatchObject({
    key: { issuer: auth.issuer, resource: mcp.url, account: "default" },
    scope: "mcp offline_access",
    isRenewable: true,
  });
  expect(auth.recordsOf("authorize")[0]?.params).toMatchObject({
    response_type: "code",
    code_challenge_method: "S256",
    resource: mcp.url,
    scope: "mcp offline_access",
    prompt: "consent",
  });
  expect(auth.recordsOf("register")[0]?.json).toMatchObject({
    client_name: "Tenon",
    application_type: "native",
    token_endpoint_auth_method: "none",
    redirect_uris: [bench.visitor.redirectUri],
  });
  expect(await bench.grants.read(done.key)).toMatchObject({
    tokenEndpoint: auth.endpoints.places.token,
    resourceIndicator: mcp.url,
    scope: "mcp offline_access",
  });
  expect(bench.visitor.starts).toEqual([{ server: "web", issuer: auth.issuer, redirectUris: [], namesIssuer: true }]);
});

test("a registration serves the next log-in too, unless the way back is another one", async () => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth] });
  await bench.login(specOf(mcp), bench.oauth());
  await bench.login(specOf(mcp), bench.oauth());
  expect(auth.recordsOf("register")).toHaveLength(1);
  expect(bench.visitor.starts[1]?.redirectUris).toEqual([bench.visitor.redirectUri]);
  bench.visitor.redirectUri = "http://127.0.0.1:9/other";
  await bench.login(specOf(mcp), bench.oauth());
  expect(auth.recordsOf("register")).toHaveLength(2);
});

test("a registration the server has forgotten is made anew the next time", async () => {
  const auth = await bench.authServer({ registration: "secret" });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  await bench.login(specOf(mcp), bench.oauth());
  auth.misbehave(
    "token",
    {
      kind: "answer",
      status: 401,
      headers: { "content-type": "application/json" },
      body: '{"error":"invalid_client"}',
    },
    1,
  );
  await expect(bench.login(specOf(mcp), bench.oauth())).rejects.toMatchObject({ code: "mcp.unauthorized" });
  await bench.login(specOf(mcp), bench.oauth());
  expect(auth.recordsOf("register")).toHaveLength(2);
});

test.each(["client_secret_basic", "client_secret_post"] as const)(
  "a client of one's own, known by %s",
  async (authMethod) => {
    const auth = await bench.authServer({
      registration: "none",
      clients: [{ clientId: "mine", clientSecret: "s3cr:t&", authMethod }],
      metadata: { token_endpoint_auth_methods_supported: [authMethod] },
    });
    const mcp = await bench.protectedServer({ authServers: [auth] });
    const settings = { clientId: "mine", clientSecret: "s3cr:t&" };
    expect(await bench.login(specOf(mcp), bench.oauth(settings))).toMatchObject({ isRenewable: true });
    expect(auth.recordsOf("register")).toHaveLength(0);
  },
);

test("a client known by the URL of its metadata", async () => {
  const url = "https://tenon.example/client.json";
  const auth = await bench.authServer({ clientDocuments: { [url]: { redirect_uris: [bench.visitor.redirectUri] } } });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  await bench.login(specOf(mcp), bench.oauth({ clientMetadataUrl: url }));
  expect(auth.recordsOf("authorize")[0]?.params["client_id"]).toBe(url);
  expect(auth.recordsOf("register")).toHaveLength(0);
});

test("credentials meant for one authorization server are never shown to another", async () => {
  const auth = await bench.authServer({ clients: [{ clientId: "robot", clientSecret: "beep" }] });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const settings = { clientId: "robot", clientSecret: "beep", grant: "client_credentials" } as const;
  const other = bench.oauth({ ...settings, issuer: "https://honest.example" });
  await expect(bench.login(specOf(mcp), other)).rejects.toThrow("not https://honest.example as configured");
  expect(auth.recordsOf("token")).toEqual([]);
  await bench.login(specOf(mcp), bench.oauth({ ...settings, issuer: `${auth.issuer}/` }));
});

test("a secret goes to another host than the server's own only where the user has named it", async () => {
  const auth = await bench.authServer({ clients: [{ clientId: "robot", clientSecret: "beep" }] });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const elsewhere = { ...specOf(mcp), url: mcp.url.replace("127.0.0.1", "localhost") };
  mcp.script({ metadata: { resource: elsewhere.url } });
  const settings = { clientId: "robot", clientSecret: "beep", grant: "client_credentials" } as const;
  await expect(bench.login(elsewhere, bench.oauth(settings))).rejects.toMatchObject({
    code: "mcp.unauthorized",
    hint: expect.stringContaining(`set oauth.issuer of the server to ${auth.issuer}`),
  });
  expect(auth.recordsOf("token")).toEqual([]);
  await expect(bench.login(elsewhere, bench.oauth({ ...settings, issuer: auth.issuer }))).resolves.toMatchObject({
    key: { issuer: auth.issuer },
  });
});

test("of several authorization servers the configured one is taken", async () => {
  const [first, second] = [await bench.authServer(), await bench.authServer()];
  const mcp = await bench.protectedServer({ authServers: [first, second] });
  const { key } = await bench.login(specOf(mcp), bench.oauth({ issuer: second.issuer }));
  expect(key.issuer).toBe(second.issuer);
  expect(first.records).toEqual([]);
});

test("where nobody can be registered, it says what to do", async () => {
  const auth = await bench.authServer({ registration: "none" });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  await expect(bench.login(specOf(mcp), bench.oauth())).rejects.toMatchObject({
    code: "mcp.unauthorized",
    message: expect.stringContaining("takes no registrations"),
    hint: expect.stringContaining("oauth.clientId"),
  });
});

test("client credentials with a secret need nobody", async () => {
  const auth = await bench.authServer({ clients: [{ clientId: "robot", clientSecret: "beep" }] });
  const mcp = await bench.protectedServer({ authServers: [auth], scopes: ["mcp"] });
  const oauth = bench.oauth({ clientId: "robot", clientSecret: "beep", grant: "client_credentials" });
  const done = await login(specOf(mcp), { world: bench.world, oauth }, never);
  expect(done).toMatchObject({ scope: "mcp", isRenewable: true });
  expect(auth.recordsOf("authorize")).toHaveLength(0);
});

test("client credentials with a key", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const client = {
    clientId: "robot",
    authMethod: "private_key_jwt",
    publicKey: publicKey.export({ type: "spki", format: "pem" }).toString(),
  } as const;
  const auth = await bench.authServer({ clients: [client] });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const oauth = bench.oauth({ clientId: "robot", privateKey: pem, grant: "client_credentials" });
  await login(specOf(mcp), { world: bench.world, oauth }, never);
  expect(auth.recordsOf("token")[0]?.answer?.status).toBe(200);
});

test("credentials that are refused are not tried twice", async () => {
  const auth = await bench.authServer({ clients: [{ clientId: "robot", clientSecret: "beep" }] });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const oauth = bench.oauth({ clientId: "robot", clientSecret: "wrong", grant: "client_credentials" });
  await expect(login(specOf(mcp), { world: bench.world, oauth }, never)).rejects.toMatchObject({
    code: "mcp.unauthorized",
    message: expect.stringContaining("invalid_client"),
  });
  expect(auth.recordsOf("token")).toHaveLength(1);
});

test("on another device: the code is shown, and asked for until it was typed", async () => {
  const auth = await bench.authServer({ device: { approvedAtPoll: 2, intervalSeconds: 0.01 } });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const shown: DevicePrompt[] = [];
  const way = { kind: "device", show: async (prompt: DevicePrompt) => void shown.push(prompt) } as const;
  const oauth = bench.oauth({}, { way });
  expect(await login(specOf(mcp), { world: bench.world, oauth }, never)).toMatchObject({ isRenewable: true });
  expect(shown).toHaveLength(1);
  expect(shown[0]).toMatchObject({ server: "web", userCode: expect.stringMatching(/./u) });
  expect(auth.recordsOf("register")[0]?.json?.["grant_types"]).toContain(
    "urn:ietf:params:oauth:grant-type:device_code",
  );
});

test("a server without the device flow says so", async () => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const oauth = bench.oauth({}, { way: { kind: "device", show: async () => {} } });
  await expect(login(specOf(mcp), { world: bench.world, oauth }, never)).rejects.toThrow("no log-in on another device");
});

test("a person who says no is the end of it", async () => {
  const auth = await bench.authServer({ denies: true });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  await expect(bench.login(specOf(mcp), bench.oauth())).rejects.toMatchObject({
    code: "mcp.unauthorized",
    message: expect.stringContaining("access_denied"),
  });
  expect(auth.recordsOf("token")).toHaveLength(0);
});

test.each([
  ["another state", (params: URLSearchParams) => params.set("state", "other"), 'unexpected "state"'],
  ["no state", (params: URLSearchParams) => params.delete("state"), '"state" missing'],
  ["another issuer", (params: URLSearchParams) => params.set("iss", "https://evil.example"), 'unexpected "iss"'],
  [
    "the issuer spelled otherwise",
    (params: URLSearchParams) => params.set("iss", `${params.get("iss")}/`),
    'unexpected "iss"',
  ],
  ["no issuer although promised", (params: URLSearchParams) => params.delete("iss"), '"iss" (issuer) missing'],
  ["no code", (params: URLSearchParams) => params.delete("code"), "holds no code"],
])("an answer with %s is not used", async (_name, change, words) => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth] });
  bench.visitor.change = change;
  await expect(bench.login(specOf(mcp), bench.oauth())).rejects.toMatchObject({ code: "mcp.unauthorized" });
  await expect(bench.login(specOf(mcp), bench.oauth())).rejects.toThrow(words);
  expect(auth.recordsOf("token")).toHaveLength(0);
  expect(bench.grants.all).toEqual([]);
});

test.each([
  ["another issuer", { issuer: "https://honest.example" }, "is that of another one"],
  ["no PKCE", { code_challenge_methods_supported: null }, "does not offer PKCE"],
  ["only plain PKCE", { code_challenge_methods_supported: ["plain"] }, "does not offer PKCE"],
  ["a page that is a script", { authorization_endpoint: "javascript:alert(1)" }, "only http and https"],
  ["a page that is a file", { authorization_endpoint: "file:///etc/passwd" }, "only http and https"],
  ["a page without TLS", { authorization_endpoint: "http://login.example/" }, "use https"],
  ["tokens at an internal address", { token_endpoint: "https://169.254.169.254/token" }, "not a public address"],
  ["no place for tokens", { token_endpoint: null }, "where tokens are had"],
])("an authorization server whose metadata has %s is not used", async (_name, metadata, words) => {
  const auth = await bench.authServer({ metadata });
  const mcp = await bench.protectedServer({ authServers: [auth] });
  await expect(bench.login(specOf(mcp), bench.oauth())).rejects.toThrow(words);
  expect(auth.recordsOf("token")).toHaveLength(0);
  expect(bench.grants.all).toEqual([]);
});

test.each(["resource_metadata", "authorization_servers", "authorization_endpoint", "registration_endpoint"])(
  "nothing is asked of an internal address that %s names",
  async (place) => {
    const bird = bench.own(await canary("127.0.0.2"));
    const auth = await bench.authServer(
      place.endsWith("_endpoint") ? { metadata: { [place]: `${bird.origin}/x` } } : {},
    );
    const mcp = await bench.protectedServer({
      authServers: [auth],
      ...(place === "resource_metadata" ? { metadataUrl: `${bird.origin}/x` } : {}),
      ...(place === "authorization_servers" ? { metadata: { authorization_servers: [bird.origin] } } : {}),
    });
    await expect(bench.login(specOf(mcp), bench.oauth())).rejects.toMatchObject({
      code: "mcp.url_refused",
      hint: expect.stringContaining("allowHosts"),
    });
    expect(bird.connections).toBe(0);
    expect(bench.visitor.urls).toEqual([]);
  },
);

test.each(["http://127.0.0.1", "http://localhost", "https://intranet.example", "https://[::1]", "https://0x7f.1"])(
  "a server out there does not lead to %s, by its metadata or by a redirect",
  async (place) => {
    const bird = bench.own(await canary());
    const { port } = new URL(bird.origin);
    const auth = await bench.authServer({ hostname: "auth.example" });
    const mcp = await bench.protectedServer({ authServers: [auth], hostname: "mcp.example" });
    const world: World = { ...bench.world, lookup: async () => [{ address: "127.0.0.1", family: 4 }] };
    const options = { world, oauth: bench.oauth({}, { way: bench.visitor }), allowHosts: [mcp.host, auth.host] };
    mcp.script({ metadataUrl: `${place}:${port}/x` });
    await expect(login(specOf(mcp), options, never)).rejects.toMatchObject({ code: "mcp.url_refused" });
    mcp.script({ metadataUrl: mcp.metadataUrl, metadata: { authorization_servers: [`${place}:${port}`] } });
    await expect(login(specOf(mcp), options, never)).rejects.toMatchObject({ code: "mcp.url_refused" });
    mcp.script({ metadata: {} });
    const headers = { location: `${place}:${port}/x` };
    auth.misbehave("metadata", { kind: "answer", status: 302, headers });
    await expect(login(specOf(mcp), options, never)).rejects.toMatchObject({ code: "mcp.url_refused" });
    expect(bird.connections).toBe(0);
    expect(bench.visitor.starts).toEqual([]);
  },
);

test("metadata about another resource is not followed", async () => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth], metadata: { resource: "https://bank.example/api" } });
  await expect(bench.login(specOf(mcp), bench.oauth())).rejects.toThrow("about another resource");
  expect(auth.records).toEqual([]);
});

test("a server that names its origin as the resource gets exactly that spelling", async () => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth], takesAnyResource: true });
  mcp.script({ metadata: { resource: mcp.origin } });
  const { key } = await bench.login(specOf(mcp), bench.oauth());
  expect(auth.recordsOf("token")[0]?.params["resource"]).toBe(mcp.origin);
  expect(key.resource).toBe(mcp.url);
});

test("a server with credentials of its own is not logged in to", async () => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const spec = specOf(mcp, { headers: { Authorization: "Bearer fixed" } });
  await expect(bench.login(spec, bench.oauth())).rejects.toMatchObject({ code: "mcp.invalid_spec" });
  expect(mcp.http.requests).toEqual([]);
});

test("logging out forgets the grant and takes the tokens back", async () => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const { key } = await bench.login(specOf(mcp), bench.oauth());
  const grant = await bench.grants.read(key);
  const gone = await logout(specOf(mcp), { world: bench.world, oauth: bench.oauth() }, never);
  expect(gone).toEqual([{ key, revocation: "done" }]);
  expect(bench.grants.all).toEqual([]);
  expect(auth.recordsOf("revoke").map(({ params }) => params["token"])).toEqual([
    grant?.refreshToken,
    grant?.accessToken,
  ]);
  expect(await logout(specOf(mcp), { world: bench.world, oauth: bench.oauth() }, never)).toEqual([]);
});

test("logging out works although the authorization server does not", async () => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth] });
  await bench.login(specOf(mcp), bench.oauth());
  auth.misbehave("revoke", { kind: "answer", status: 503 });
  const gone = await logout(specOf(mcp), { world: bench.world, oauth: bench.oauth() }, never);
  expect(gone).toMatchObject([{ revocation: "failed", reason: expect.stringContaining("status 503") }]);
  expect(bench.grants.all).toEqual([]);
});

test("a log-in that is given up leaves nothing behind", async () => {
  const auth = await bench.authServer();
  const mcp = await bench.protectedServer({ authServers: [auth] });
  const giveUp = new AbortController();
  const way = {
    kind: "redirect",
    start: async () => ({
      redirectUri: "http://127.0.0.1:9/callback",
      finish: () => new Promise<never>(() => giveUp.abort(new Error("given up"))),
      [Symbol.asyncDispose]: async () => {},
    }),
  } as const;
  const oauth = bench.oauth({}, { way });
  await expect(login(specOf(mcp), { world: bench.world, oauth }, giveUp.signal)).rejects.toThrow("given up");
  expect(bench.grants.all).toEqual([]);
});
