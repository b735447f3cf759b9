// What an entry may say about logging in, who may say it, and what of it is shown.
import { describe, expect, it } from "vitest";
import { fakeWorld } from "../testing/index.js";
import { layerOf } from "./layers/read-layer.js";
import * as schemas from "./layers/schema.js";
import { loadConfig, secretsIn } from "./load-config.js";
import { maskEntry } from "./secrets/mask.js";

const URL_OF_IT = "https://mcp.example/mcp";
const IDP = { issuer: "https://idp.example", clientId: "x" };

async function load(entry: object) {
  const world = fakeWorld({
    env: { TENON_HOME: "/home", SECRET: "s3cret" },
    files: { "/home/config.json": JSON.stringify({ mcpServers: { it: { url: URL_OF_IT, ...entry } } }) },
  });
  const resolveSecret = async () => "from the keyring";
  return await loadConfig({ world, cwd: "/project", resolveSecret });
}

function project(entry: object) {
  const text = JSON.stringify({ mcpServers: { it: { url: URL_OF_IT, ...entry } } });
  return layerOf(text, { kind: "project", path: "/p/.tenon/config.json", isShared: false }, schemas);
}

describe("oauth in an entry", () => {
  it("reaches the connection with its references filled in, and its secrets are known as such", async () => {
    const oauth = {
      issuer: "https://as.example",
      clientId: "${ID:-mine}",
      clientSecret: "${SECRET}",
      privateKey: "keyring:key",
      scopes: ["read"],
      grant: "client_credentials",
      signingAlgorithm: "RS256",
      keyId: "k1",
      authMethod: "private_key_jwt",
      callbackPort: 4_000,
    };
    const { servers, problems } = await load({ oauth, account: "work" });
    expect(problems).toEqual([]);
    const [server] = servers;
    if (server?.status !== "ready") throw new Error("it is ready");
    expect(server.settings).toMatchObject({
      account: "work",
      oauth: { ...oauth, clientId: "mine", clientSecret: "s3cret", privateKey: "from the keyring" },
    });
    expect(server.settings.secrets).toEqual(expect.arrayContaining(["s3cret", "from the keyring"]));
    expect(JSON.stringify(server.spec)).not.toContain("s3cret");
  });

  it("names the identity provider of an enterprise, whose secrets are secrets too", async () => {
    const idp = {
      issuer: "https://idp.example",
      tokenEndpoint: "https://idp.example/token",
      clientId: "${ID:-at-idp}",
      clientSecret: "keyring:idp",
      authMethod: "client_secret_post",
      idToken: "${SECRET}",
    };
    const config = await load({ oauth: { grant: "enterprise", clientId: "there", idp } });
    expect(config.problems).toEqual([]);
    const [server] = config.servers;
    if (server?.status !== "ready") throw new Error("it is ready");
    expect(server.settings.oauth).toEqual({
      grant: "enterprise",
      clientId: "there",
      idp: { ...idp, clientId: "at-idp", clientSecret: "from the keyring", idToken: "s3cret" },
    });
    const literal = await load({ oauth: { grant: "enterprise", idp: { ...idp, idToken: "literal token" } } });
    expect(secretsIn(config)).toEqual(expect.arrayContaining(["s3cret", "from the keyring"]));
    expect(secretsIn(literal)).toContain("literal token");
  });

  it.each([
    [{ grant: "enterprise" }, 'oauth must have both "grant": "enterprise" and idp, or neither'],
    [{ idp: { issuer: "https://idp.example", clientId: "x" } }, 'must have both "grant": "enterprise" and idp'],
    [{ grant: "enterprise", idp: { clientId: "x" } }, "oauth.idp must have an issuer, or a tokenEndpoint"],
    [
      { grant: "enterprise", idp: { clientId: "x", tokenEndpoint: "https://idp.example/token" } },
      "oauth.idp must have an issuer to log in at, or an idToken",
    ],
    [{ grant: "enterprise", idp: { issuer: "https://idp.example" } }, "oauth.idp.clientId"],
  ])("says what is missing: %j", async (oauth, message) => {
    const { servers, problems } = await load({ oauth });
    expect(servers).toMatchObject([{ status: "invalid" }]);
    expect(problems.map((problem) => problem.message).join("\n")).toContain(message);
  });

  it.each([
    ["an unknown key", { clientID: "x" }],
    ["a port that is none", { callbackPort: 70_000 }],
    ["a document that is not on the web", { clientMetadataUrl: "http://plain.example/client.json" }],
    ["a grant nobody knows", { grant: "password" }],
  ])("is refused with %s", async (_what, oauth) => {
    const { servers } = await load({ oauth });
    expect(servers).toMatchObject([{ name: "it", status: "invalid" }]);
  });

  it("is told to have no place in the entry of a server that is started here", async () => {
    const { problems } = await load({ url: undefined, command: "run", oauth: { clientId: "x" } });
    expect(problems.map(({ message }) => message)).toEqual([expect.stringContaining('unknown key "oauth"')]);
  });

  it("shows no secret", () => {
    const oauth = { clientId: "me", clientSecret: "s3cret", privateKey: "-----BEGIN", assertion: "a.b.c", keyId: "k" };
    expect(maskEntry({ oauth })).toEqual({
      oauth: { clientId: "me", clientSecret: "********", privateKey: "********", assertion: "********", keyId: "k" },
    });
    const idp = { issuer: "https://idp.example", clientId: "me", clientSecret: "s3cret", idToken: "a.b.c" };
    expect(maskEntry({ oauth: { idp } })).toEqual({
      oauth: { idp: { ...idp, clientSecret: "********", idToken: "********" } },
    });
    expect(maskEntry({ oauth: { clientSecret: "${SECRET}" } })).toEqual({ oauth: { clientSecret: "${SECRET}" } });
  });
});

describe("oauth in a project's entry", () => {
  it("takes what can be seen when it is approved", () => {
    const { servers } = project({ oauth: { clientId: "public", scopes: ["read"], clientSecret: "${TEAM_SECRET}" } });
    expect(servers).toHaveLength(1);
  });

  it.each([
    [{ clientSecret: "!cat ~/.ssh/id" }, /cannot run a command/u],
    [{ privateKey: "keyring:key" }, /cannot read the user's keyring/u],
    [{ assertion: "keyring:key" }, /cannot read the user's keyring/u],
    [{ clientId: "{file:/etc/passwd}" }, /must be written out/u],
    [{ grant: "enterprise", idp: { ...IDP, idToken: "keyring:id" } }, /cannot read the user's keyring/u],
    [{ grant: "enterprise", idp: { ...IDP, clientSecret: "!cat ~/.ssh/id" } }, /cannot run a command/u],
    [{ grant: "enterprise", idp: { ...IDP, clientId: "{file:/etc/passwd}" } }, /must be written out/u],
  ])("does not reach into what is the user's: %s", (oauth, reason) => {
    const { servers, problems } = project({ oauth });
    expect(servers).toEqual([]);
    expect(problems.map(({ message }) => message).join("\n")).toMatch(reason);
  });
});
