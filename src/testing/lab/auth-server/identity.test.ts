// The lab as identity provider and as one that believes it: strict about every word of an exchange.
import { afterEach, beforeEach, expect, test } from "vitest";
import { leakCheck } from "../../kit/leaks.js";
import { type AuthServer, authServer } from "./server.js";

const CLIENT = { clientId: "there" };
const AT_IDP = { clientId: "here" };
const RESOURCE = "https://mcp.example/mcp";
let idp: AuthServer;
let auth: AuthServer;
let leaks: Awaited<ReturnType<typeof leakCheck>>;

beforeEach(async () => {
  leaks = await leakCheck();
  idp = await authServer({ requiresResource: false, clients: [AT_IDP], identity: { clientIdThere: "there" } });
  auth = await authServer({ clients: [CLIENT, { clientId: "stranger" }], trusts: [idp.asProvider] });
});

afterEach(async () => {
  await auth[Symbol.asyncDispose]();
  await idp[Symbol.asyncDispose]();
  await leaks.verify();
});

type Form = Readonly<Record<string, string>>;

async function post(server: AuthServer, form: Form): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(server.endpoints.places.token, { method: "POST", body: new URLSearchParams(form) });
  const answer: Readonly<Record<string, unknown>> = JSON.parse(await response.text());
  return answer;
}

function exchange(changes: Form = {}): Promise<Readonly<Record<string, unknown>>> {
  return post(idp, {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    client_id: "here",
    subject_token: idp.endpoints.idToken({ account: "alice", clientId: "here" }),
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    requested_token_type: "urn:ietf:params:oauth:token-type:id-jag",
    audience: auth.issuer,
    resource: RESOURCE,
    ...changes,
  });
}

async function assertion(changes: Form = {}): Promise<string> {
  const { access_token: jag } = await exchange(changes);
  return String(jag);
}

function present(jag: string, changes: Form = {}): Promise<Readonly<Record<string, unknown>>> {
  const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer";
  return post(auth, { grant_type: grantType, client_id: "there", assertion: jag, resource: RESOURCE, ...changes });
}

test("an ID token is exchanged for a word that brings tokens once, for the person it is about", async () => {
  const answer = await exchange();
  expect(answer).toMatchObject({ issued_token_type: "urn:ietf:params:oauth:token-type:id-jag", token_type: "N_A" });
  const jag = String(answer["access_token"]);
  const { access_token: token, refresh_token: refresh } = await present(jag);
  expect(auth.endpoints.tokens.find(String(token))).toMatchObject({
    account: "alice",
    clientId: "there",
    resource: RESOURCE,
  });
  expect(refresh).toBeUndefined();
  expect(await present(jag)).toMatchObject({
    error: "invalid_grant",
    error_description: expect.stringContaining("before"),
  });
  expect(idp.endpoints.secrets).toContain(jag);
});

test.each([
  [{ subject_token: "a.b.c" }, "invalid_grant"],
  [{ subject_token_type: "urn:ietf:params:oauth:token-type:access_token" }, "invalid_request"],
  [{ requested_token_type: "urn:ietf:params:oauth:token-type:access_token" }, "invalid_request"],
  [{ client_id: "nobody" }, "invalid_client"],
])("%j is refused as %s", async (changes, error) => {
  expect(await exchange(changes)).toMatchObject({ error });
});

test("an ID token that has ended or is another client's is refused, and so is whom it does not vouch to", async () => {
  idp.script({ identity: { idTokenMs: -1_000 } });
  expect(await exchange()).toMatchObject({ error_description: expect.stringContaining("expired") });
  idp.script({ identity: { audiences: ["https://elsewhere.example"] } });
  expect(await exchange()).toMatchObject({ error: "invalid_target" });
  const others = idp.endpoints.idToken({ account: "alice", clientId: "another" });
  expect(await exchange({ subject_token: others })).toMatchObject({
    error_description: expect.stringContaining("another"),
  });
});

test("an assertion for another server, client or resource, or by somebody else, brings nothing", async () => {
  expect(await present(await assertion({ audience: "https://elsewhere.example" }))).toMatchObject({
    error: "invalid_grant",
  });
  expect(await present(await assertion(), { client_id: "stranger" })).toMatchObject({ error: "invalid_grant" });
  expect(await present(await assertion(), { resource: "https://other.example/" })).toMatchObject({
    error: "invalid_target",
  });
  expect(await present(idp.endpoints.idToken({ account: "alice", clientId: "there" }))).toMatchObject({
    error: "invalid_grant",
  });
  auth.script({ trusts: [] });
  expect(await present(await assertion())).toMatchObject({ error: "invalid_grant" });
});
