// Enterprise-managed authorization: the identity provider vouches for the person, with an ID token of the environment or a log-in there.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ClientApp, methods } from "@agentclientprotocol/sdk";
import { expect } from "vitest";
import type { JsonObject } from "../../src/base/json/json.js";
import { logIn } from "../../src/testing/lab/index.js";
import { OAuthStage } from "./oauth/stage.js";
import { scenario } from "./scenario.js";

const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const CLIENT = { clientId: "tenon-there", clientSecret: "secret-there-1234" };
const AT_IDP = { clientId: "tenon-idp", clientSecret: "secret-idp-1234" };
const WHOAMI = ["chat", "-p", "mcp__web__whoami", "--yes"];

async function enterprise(idTokenMs = 3_600_000): Promise<OAuthStage> {
  return await OAuthStage.open({
    idp: {
      requiresResource: false,
      scopes: ["openid", "offline_access"],
      clients: [AT_IDP],
      registration: "none",
      identity: { clientIdThere: CLIENT.clientId, idTokenMs },
    },
    auth: { clients: [CLIENT], registration: "none" },
    server: { scopes: ["mcp"] },
  });
}

/** The secrets stand in the environment, so that the one place where they may be found is none of the files. */
function configure(stage: OAuthStage, more: JsonObject = {}): void {
  const idp = { issuer: stage.idp.issuer, clientId: AT_IDP.clientId, clientSecret: "${IDP_SECRET}", ...more };
  const { clientId } = CLIENT;
  stage.configure({ web: { oauth: { grant: "enterprise", clientId, clientSecret: "${CLIENT_SECRET}", idp } } });
}

const SECRETS = { CLIENT_SECRET: CLIENT.clientSecret, IDP_SECRET: AT_IDP.clientSecret };

/** What the MCP server and its authorization server were told of what is the identity provider's alone. */
function strayed({ auth, mcp }: OAuthStage, idToken: string): readonly string[] {
  const heard = JSON.stringify([auth.records, mcp.http.requests]);
  return [idToken, AT_IDP.clientSecret].filter((secret) => heard.includes(secret));
}

scenario(
  ["U5", "U15"],
  "with an ID token of the environment a session's tool works, and only the identity provider ever sees that token",
  async () => {
    await using stage = await enterprise();
    configure(stage, { idToken: "${ID_TOKEN}" });
    const idToken = stage.idp.endpoints.idToken({ account: "alice", clientId: AT_IDP.clientId });
    const env = { ...SECRETS, ID_TOKEN: idToken };
    {
      await using client = await stage.agent({ env });
      await client.initialize();
      const { sessionId } = await client.newSession({ cwd: stage.home.path });
      await client.prompt(sessionId, "mcp__web__whoami");
      expect(client.text(sessionId)).toContain("you are alice");
      stage.auth.endpoints.tokens.expireAccess();
      await client.prompt(sessionId, "mcp__web__whoami");
      expect(client.text(sessionId).match(/you are alice/gu)).toHaveLength(2);
      expect(stage.leaks(client.stderr(), ...client.lines.map(({ text }) => text))).toEqual([]);
    }
    const [first] = stage.idp.recordsOf("token", EXCHANGE);
    expect(first?.params).toMatchObject({
      subject_token: idToken,
      audience: stage.auth.issuer,
      resource: stage.mcp.url,
      scope: "mcp",
    });
    expect(strayed(stage, idToken)).toEqual([]);
    expect(stage.browsed).toEqual([]);

    const trace = join(stage.home.path, "trace.ndjson");
    await stage.tenon([...WHOAMI, "--trace", trace], env);
    stage.auth.script({ trusts: [] });
    stage.auth.revokeTokens();
    const refused = await stage.tenon([...WHOAMI, "--trace", trace], env);
    expect(refused.stdout + refused.stderr).toContain(
      `the authorization server ${stage.auth.issuer} refused the assertion`,
    );
    expect(readFileSync(trace, "utf8")).toContain("whoami");
    expect(stage.leaks()).toEqual([]);
  },
);

scenario(["U11", "U15"], "an ID token that has expired is told with its hour and where it comes from", async () => {
  await using stage = await enterprise(-60_000);
  configure(stage, { idToken: "${ID_TOKEN}" });
  const idToken = stage.idp.endpoints.idToken({ account: "alice", clientId: AT_IDP.clientId });
  const env = { ...SECRETS, ID_TOKEN: idToken };
  await using client = await stage.agent({ env });
  await client.initialize({ clientCapabilities: { elicitation: { url: {} } } });
  const { sessionId } = await client.newSession({ cwd: stage.home.path });
  await client.prompt(sessionId, "mcp__web__whoami");
  const said = JSON.stringify(client.updates(sessionId));
  expect(said).toMatch(/the ID token for the identity provider http\S+ has expired \([-\d]+ [:\d]+ UTC\)/u);
  expect(said).toContain("oauth.idp.idToken of the server needs a new one");
  expect(client.text(sessionId)).not.toContain("you are");
  expect(stage.idp.records).toEqual([]);
  const login = await stage.tenon(["mcp", "login", "web"], env);
  expect(login).toMatchObject({ code: 4, stderr: expect.stringContaining("has expired") });
  expect(strayed(stage, idToken)).toEqual([]);
  expect(stage.leaks(client.stderr(), ...client.lines.map(({ text }) => text))).toEqual([]);
});

scenario(
  ["U4"],
  "in an editor the identity provider's page is shown once, and the tools of its servers come",
  async () => {
    await using stage = await enterprise();
    configure(stage);
    const pages: string[] = [];
    const extend = (app: ClientApp) =>
      app.onRequest(methods.client.elicitation.create, async ({ params }) => {
        if (params.mode === "url") pages.push(String(params.url));
        await logIn(pages.at(-1) ?? "");
        return { action: "accept" };
      });
    await using client = await stage.agent({ extend, env: SECRETS });
    await client.initialize({ clientCapabilities: { elicitation: { url: {} } } });
    const { sessionId } = await client.newSession({ cwd: stage.home.path });
    await client.prompt(sessionId, "mcp__web__whoami");
    expect(client.text(sessionId)).toContain("you are alice");
    stage.auth.revokeTokens();
    await client.prompt(sessionId, "mcp__web__whoami");
    expect(client.text(sessionId).match(/you are alice/gu)).toHaveLength(2);
    expect(pages).toEqual([expect.stringContaining(`${stage.idp.origin}/authorize?`)]);
  },
);

scenario(
  ["U2", "U11", "U17"],
  "a log-in at the identity provider serves the server, renews itself there, and is over after a logout",
  async () => {
    await using stage = await enterprise(3_000);
    configure(stage);
    const before = await stage.tenon(WHOAMI, SECRETS);
    expect(before.stdout + before.stderr).toContain("nobody is logged in at the identity provider");
    const login = await stage.login("web", [], SECRETS);
    expect(login.stderr).toContain(`${stage.idp.origin}/authorize?`);
    expect(stage.browsed).toHaveLength(1);
    expect((await stage.tenon(WHOAMI, SECRETS)).stdout).toContain("you are alice");

    const [idToken = ""] = stage.idp.endpoints.secrets.filter((secret) => secret.startsWith("eyJ"));
    const ended = Date.now() + 3_000;
    await expect.poll(() => Date.now() > ended, { timeout: 5_000 }).toBe(true);
    stage.auth.endpoints.tokens.expireAccess();
    const renewed = await stage.tenon(WHOAMI, SECRETS);
    expect(renewed.stdout, renewed.stderr).toContain("you are alice");
    expect(stage.idp.refreshCount).toBe(1);
    expect(stage.browsed).toHaveLength(1);
    expect(strayed(stage, idToken)).toEqual([]);

    const logout = await stage.tenon(["mcp", "logout", "web"], SECRETS);
    expect(logout.stdout).toContain(`Logged out of web at ${stage.idp.issuer}; it was revoked there too`);
    expect(stage.idp.endpoints.tokens.all.filter(({ state }) => state === "active")).toEqual([]);
    const after = await stage.tenon(WHOAMI, SECRETS);
    expect(after.stdout + after.stderr).toContain("tenon mcp login web");
    expect(stage.leaks()).toEqual([]);
  },
);
