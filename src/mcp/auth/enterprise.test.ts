// An identity provider vouches for the person: what it is asked, what nobody else is told, and what is said when one of the two refuses.
import { afterEach, describe, expect, test } from "vitest";
import { anyhow, lab, never, settled, specOf } from "../../../test/oauth/bench.js";
import { type AuthServer, type AuthServerOptions, canary, type ProtectedServer } from "../../testing/lab/index.js";
import { logOut } from "./logout.js";
import type { IdentityProvider, OAuthOptions } from "./port.js";

const bench = lab();
const CLIENT = { clientId: "tenon-there", clientSecret: "secret-there-1234" };
const AT_IDP = { clientId: "tenon-idp", clientSecret: "secret-idp-1234" };
const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

interface Enterprise {
  readonly idp: AuthServer;
  readonly auth: AuthServer;
  readonly mcp: ProtectedServer;
}

const opened: Enterprise[] = [];
/** Whatever a test does: who the person is, only the identity provider is told. */
afterEach(() => {
  for (const { idp, auth, mcp } of opened.splice(0)) {
    const heard = JSON.stringify([auth.records, mcp.http.requests]);
    const told = [AT_IDP.clientSecret, ...idTokensOf(idp)].filter((secret) => heard.includes(secret));
    if (told.length > 0) throw new Error(`others were told: ${told.join(", ")}`);
  }
});

/** Those it has given, but not what they were exchanged for. */
function idTokensOf(idp: AuthServer): readonly string[] {
  return idp.endpoints.secrets.filter((secret) => secret.startsWith("eyJ") && !secret.startsWith(JAG_HEAD));
}
const JAG_HEAD = Buffer.from('{"alg":"ES256","typ":"oauth-id-jag+jwt"}').toString("base64url");

async function enterprise(identity: AuthServerOptions["identity"] = {}): Promise<Enterprise> {
  const idp = await bench.authServer({
    requiresResource: false,
    scopes: ["openid", "offline_access"],
    clients: [AT_IDP],
    registration: "none",
    identity: { clientIdThere: CLIENT.clientId, ...identity },
  });
  const auth = await bench.authServer({ clients: [CLIENT], registration: "none", trusts: [idp.asProvider] });
  const mcp = await bench.protectedServer({ authServers: [auth], scopes: ["mcp"] });
  const all = { idp, auth, mcp };
  opened.push(all);
  return all;
}

function settingsOf({ idp }: Pick<Enterprise, "idp">, more: Partial<IdentityProvider> = {}): OAuthOptions {
  return bench.oauth({ ...CLIENT, grant: "enterprise", idp: { ...AT_IDP, issuer: idp.issuer, ...more } });
}

function knownAs(all: Enterprise, account = "alice"): OAuthOptions {
  return settingsOf(all, { idToken: all.idp.endpoints.idToken({ account, clientId: AT_IDP.clientId }) });
}

async function whoami(mcp: ProtectedServer, oauth: OAuthOptions): Promise<string> {
  return textOf(await bench.connect(specOf(mcp), oauth).call("whoami", {}, anyhow));
}

function textOf(outcome: Awaited<ReturnType<ReturnType<typeof bench.connect>["call"]>>): string {
  if (outcome.kind !== "answered") return "error" in outcome ? outcome.error.message : outcome.kind;
  const [block] = outcome.content;
  return block?.type === "text" ? block.text : "";
}

describe("with the ID token of the configuration", () => {
  test("the provider is asked for a word to the server's own authorization server, and nobody for anything else", async () => {
    const all = await enterprise();
    const { idp, auth, mcp } = all;
    const oauth = knownAs(all);
    expect(await whoami(mcp, oauth)).toBe("you are alice");
    const [asked, ...more] = idp.recordsOf("token", EXCHANGE);
    expect(more).toEqual([]);
    expect(asked?.params).toEqual({
      grant_type: EXCHANGE,
      requested_token_type: "urn:ietf:params:oauth:token-type:id-jag",
      subject_token: oauth.settings.idp?.idToken,
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
      audience: auth.issuer,
      resource: mcp.url,
      scope: "mcp",
    });
    expect(auth.recordsOf("token").map(({ params }) => params["grant_type"])).toEqual([BEARER]);
    expect(auth.recordsOf("authorize")).toEqual([]);
    expect(JSON.stringify(auth.records)).not.toContain(AT_IDP.clientId);
    expect(JSON.stringify(idp.records)).not.toContain(CLIENT.clientId);
  });

  test("a token that ends is had anew, without anybody", async () => {
    const all = await enterprise();
    const { idp, auth, mcp } = all;
    const connection = bench.connect(specOf(mcp), knownAs(all));
    expect(textOf(await connection.call("whoami", {}, anyhow))).toBe("you are alice");
    auth.endpoints.tokens.expireAccess();
    expect(textOf(await connection.call("whoami", {}, anyhow))).toBe("you are alice");
    expect(idp.recordsOf("token", EXCHANGE).map(({ params }) => params["audience"])).toEqual([
      auth.issuer,
      auth.issuer,
    ]);
  });

  test("only the token endpoint need be known", async () => {
    const all = await enterprise();
    const { tokenEndpoint: _none, issuer: _issuer, ...idp } = { ...AT_IDP, ...knownAs(all).settings.idp };
    const oauth = bench.oauth({
      ...CLIENT,
      grant: "enterprise",
      idp: { ...idp, tokenEndpoint: all.idp.endpoints.places.token },
    });
    expect(await whoami(all.mcp, oauth)).toBe("you are alice");
    expect(all.idp.recordsOf("metadata")).toEqual([]);
  });

  test("one that has expired is told with its hour, and is not sent", async () => {
    const all = await enterprise();
    all.idp.script({ identity: { idTokenMs: -60_000 } });
    const said = await whoami(all.mcp, knownAs(all));
    expect(said).toMatch(
      /the ID token for the identity provider http\S+ has expired \(\d{4}-\d\d-\d\d \d\d:\d\d UTC\)/u,
    );
    expect(said).toContain("oauth.idp.idToken of the server needs a new one");
    expect(all.idp.records).toEqual([]);
  });

  test("one that expires in a session is told when the access token has ended too", async () => {
    const all = await enterprise();
    const connection = bench.connect(specOf(all.mcp), knownAs(all));
    expect(await settled(connection)).toBe("ready");
    all.auth.endpoints.tokens.expireAccess();
    const refusal = { error: "invalid_request", error_description: "the ID token has expired" };
    all.idp.misbehave("token", { kind: "answer", status: 400, body: JSON.stringify(refusal) });
    expect(await connection.call("whoami", {}, anyhow)).toMatchObject({
      kind: "failed",
      error: {
        code: "mcp.unauthorized",
        message: expect.stringContaining("gave no assertion"),
        hint: expect.stringContaining("renew it where oauth.idp.idToken takes it from"),
      },
    });
  });

  test("one of another provider is not sent to this one", async () => {
    const all = await enterprise();
    const other = await enterprise();
    const oauth = settingsOf(all, {
      idToken: other.idp.endpoints.idToken({ account: "alice", clientId: AT_IDP.clientId }),
    });
    expect(await whoami(all.mcp, oauth)).toContain(`the ID token is one of ${other.idp.issuer}, not of`);
    expect(all.idp.records).toEqual([]);
  });
});

describe("a refusal", () => {
  test("of the identity provider says that it was, to whom it would not vouch, and why", async () => {
    const all = await enterprise({ audiences: ["https://elsewhere.example"] });
    const login = bench.login(specOf(all.mcp), knownAs(all));
    await expect(login).rejects.toMatchObject({
      code: "mcp.unauthorized",
      message: `the identity provider ${all.idp.issuer} gave no assertion for ${all.auth.issuer}: invalid_target: nobody is vouched for to ${all.auth.issuer}`,
      hint: expect.stringContaining("administrator of the identity provider"),
    });
    expect(all.auth.recordsOf("token")).toEqual([]);
  });

  test("of the authorization server says that it was, and why", async () => {
    const all = await enterprise();
    all.auth.script({ trusts: [] });
    await expect(bench.login(specOf(all.mcp), knownAs(all))).rejects.toMatchObject({
      code: "mcp.unauthorized",
      message: expect.stringMatching(
        /^the authorization server \S+ refused the assertion of the identity provider \S+: /u,
      ),
      hint: expect.stringContaining("has to trust the identity provider"),
    });
  });

  test("never says the ID token back", async () => {
    const all = await enterprise();
    const oauth = knownAs(all);
    const idToken = oauth.settings.idp?.idToken ?? "";
    const refusal = { error: "invalid_grant", error_description: `not good: ${idToken}` };
    all.idp.misbehave("token", { kind: "answer", status: 400, body: JSON.stringify(refusal) });
    const failure: unknown = await bench.login(specOf(all.mcp), oauth).catch((error: unknown) => error);
    expect(String(failure)).toContain("not good:");
    expect(String(failure)).not.toContain(idToken.slice(0, 40));
  });

  test("something else than an identity assertion is not passed on", async () => {
    const all = await enterprise({ issuedType: "urn:ietf:params:oauth:token-type:access_token" });
    await expect(bench.login(specOf(all.mcp), knownAs(all))).rejects.toMatchObject({
      code: "mcp.protocol",
      message: expect.stringContaining("one of the type urn:ietf:params:oauth:token-type:access_token"),
    });
    expect(all.auth.recordsOf("token")).toEqual([]);
  });

  test("a provider in trouble is told as such", async () => {
    const all = await enterprise();
    all.idp.misbehave("token", { kind: "answer", status: 503 });
    await expect(bench.login(specOf(all.mcp), knownAs(all))).rejects.toMatchObject({
      code: "mcp.unavailable",
      message: expect.stringContaining("the token exchange at the identity provider"),
    });
  });
});

describe("what nobody may bring about", () => {
  test("a provider that redirects the exchange does not have the ID token carried there", async () => {
    const all = await enterprise();
    const bird = bench.own(await canary());
    all.idp.misbehave("token", { kind: "answer", status: 307, headers: { location: `${bird.origin}/token` } });
    await expect(bench.login(specOf(all.mcp), knownAs(all))).rejects.toMatchObject({ code: "mcp.url_refused" });
    expect(bird.connections).toBe(0);
  });

  test("a provider without TLS elsewhere is not asked", async () => {
    const all = await enterprise();
    const idToken = "e30.e30.x";
    await expect(
      bench.login(specOf(all.mcp), settingsOf(all, { issuer: "http://idp.example", idToken })),
    ).rejects.toMatchObject({ code: "mcp.url_refused" });
  });

  test("an authorization server that goes by another's name gets no word to that other one", async () => {
    const { idp } = await enterprise();
    const auth = await bench.authServer({ clients: [CLIENT], metadata: { issuer: "https://good.example" } });
    const spec = specOf({ url: `${auth.origin}/mcp` });
    const oauth = settingsOf(
      { idp },
      { idToken: idp.endpoints.idToken({ account: "alice", clientId: AT_IDP.clientId }) },
    );
    await expect(bench.login(spec, oauth, { status: 401 })).rejects.toMatchObject({
      code: "mcp.unauthorized",
      message: expect.stringContaining("calls itself https://good.example"),
    });
    expect(idp.records).toEqual([]);
  });
});

describe("with a log-in at the identity provider", () => {
  test("one page serves all servers, whatever the clients at their authorization servers are called", async () => {
    const all = await enterprise();
    const auth = await bench.authServer({ clients: [{ clientId: "other" }], trusts: [all.idp.asProvider] });
    const mcp = await bench.protectedServer({ authServers: [auth] });
    const person = { person: "me" };
    const { isRenewable } = await bench.login(specOf(all.mcp), { ...settingsOf(all), ...person });
    expect(isRenewable).toBe(true);
    expect(bench.visitor.starts).toMatchObject([{ server: "web", issuer: all.idp.issuer }]);
    expect(bench.visitor.urls[0]?.searchParams.get("scope")).toBe("openid offline_access");
    all.idp.script({ identity: { clientIdThere: "other" } });
    const settings = { ...settingsOf(all).settings, clientId: "other", authMethod: "none" };
    expect(await whoami(mcp, bench.oauth(settings, { account: "default as other", ...person }))).toBe("you are alice");
    expect(bench.visitor.starts).toHaveLength(1);
  });

  test("an ID token that ends is renewed by the provider's refresh token", async () => {
    const all = await enterprise({ idTokenMs: -1_000 });
    await bench.login(specOf(all.mcp), settingsOf(all)).catch(() => undefined);
    all.idp.script({ identity: { clientIdThere: CLIENT.clientId } });
    expect(await whoami(all.mcp, settingsOf(all))).toBe("you are alice");
    expect(all.idp.refreshCount).toBe(1);
    expect(bench.visitor.starts).toHaveLength(1);
  });

  test("where that brings none, or is refused, the person is told to log in, and then it works", async () => {
    const all = await enterprise({ idTokenMs: -1_000 });
    await bench.login(specOf(all.mcp), settingsOf(all)).catch(() => undefined);
    all.idp.script({ identity: { clientIdThere: CLIENT.clientId, refreshes: false } });
    const connection = bench.connect(specOf(all.mcp), settingsOf(all));
    expect(await settled(connection)).toBe("failed");
    expect(connection.lastError?.message).toMatch(
      /the log-in at the identity provider .* has ended \(.*no ID token\)/u,
    );
    expect(connection.lastError?.message).toContain("log in with `tenon mcp login web`");
    all.idp.revokeTokens();
    expect(await whoami(all.mcp, settingsOf(all))).toContain("log in with `tenon mcp login web`");
    await bench.login(specOf(all.mcp), settingsOf(all));
    expect(await whoami(all.mcp, settingsOf(all))).toBe("you are alice");
  });

  test("a kept one that the provider no longer takes leads to one page more, where a person is there", async () => {
    const all = await enterprise();
    await bench.login(specOf(all.mcp), settingsOf(all));
    const refusal = JSON.stringify({ error: "invalid_grant" });
    all.idp.misbehave("token", { kind: "answer", status: 400, body: refusal }, 1);
    await bench.login(specOf(all.mcp), settingsOf(all));
    expect(bench.visitor.starts).toHaveLength(2);
  });

  test("who has never logged in is told to", async () => {
    const all = await enterprise();
    const said = await whoami(all.mcp, settingsOf(all));
    expect(said).toContain(`nobody is logged in at the identity provider ${all.idp.issuer}`);
    expect(said).toContain("log in with `tenon mcp login web`");
  });

  test("an ID token for another client is not kept", async () => {
    const all = await enterprise();
    const body = JSON.stringify({
      access_token: "a",
      token_type: "Bearer",
      id_token: all.idp.endpoints.idToken({ account: "mallory", clientId: "another" }),
    });
    all.idp.misbehave("token", { kind: "answer", status: 200, headers: { "content-type": "application/json" }, body });
    await expect(bench.login(specOf(all.mcp), settingsOf(all))).rejects.toMatchObject({
      message: expect.stringContaining("is not by itself and for the client"),
    });
    expect(bench.grants.all).toEqual([]);
  });

  test("logging out forgets it and has it revoked: the next call would else be logged in again", async () => {
    const all = await enterprise();
    const oauth = settingsOf(all);
    await bench.login(specOf(all.mcp), oauth);
    expect(bench.grants.all).toHaveLength(2);
    const done = await logOut(specOf(all.mcp), { world: bench.world, oauth }, never);
    expect(done.map(({ key, revocation }) => [key.issuer, revocation])).toEqual([
      [all.auth.issuer, "done"],
      [all.idp.issuer, "done"],
    ]);
    expect(bench.grants.all).toEqual([]);
    expect(all.idp.endpoints.tokens.all.filter(({ state }) => state === "active")).toEqual([]);
  });
});
