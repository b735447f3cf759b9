// How the conformance client logs in: its settings by scenario, a person who follows redirects, and grants kept in memory.
import { type JsonObject, parseObject } from "../../src/base/json/json.js";
import type { IdentityProvider, OAuthOptions, OAuthSettings, RedirectWay } from "../../src/mcp/index.js";
import { MemoryGrants } from "../../src/mcp/index.js";

/** The one the suite expects of clients that have such a document. */
const METADATA_URL = "https://conformance-test.local/client-metadata.json";

/** What a scenario hands to the client. */
export function scenarioContext(): JsonObject {
  return parseObject(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") ?? {};
}

/** The scenario's name chooses the kind of credentials, and nothing else. */
export function scenarioLogin(): OAuthOptions {
  return { store: new MemoryGrants(), account: "default", settings: scenarioSettings(), way: ROBOT };
}

/** Empty where the scenario has no credentials for the client. */
export function scenarioSettings(): OAuthSettings {
  const context = scenarioContext();
  const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
  const clientId = text(context, "client_id");
  const issuer = text(context, "issuer");
  const client = {
    ...(clientId === undefined ? {} : { clientId }),
    ...(issuer === undefined ? {} : { issuer }),
    ...secretOf(context),
  };
  switch (scenario) {
    case "auth/basic-cimd":
      return { clientMetadataUrl: METADATA_URL };
    case "auth/client-credentials-basic":
      return { ...client, grant: "client_credentials" };
    case "auth/client-credentials-jwt":
      return { ...client, grant: "client_credentials", ...keyOf(context) };
    case "auth/wif-jwt-bearer":
      return { ...client, grant: "jwt_bearer", assertion: text(context, "valid_jwt") ?? "" };
    case "auth/enterprise-managed-authorization":
      return { ...client, grant: "enterprise", idp: providerOf(context) };
    default:
      return client;
  }
}

function providerOf(context: JsonObject): IdentityProvider {
  const issuer = text(context, "idp_issuer");
  const idToken = text(context, "idp_id_token");
  return {
    clientId: text(context, "idp_client_id") ?? "",
    ...(issuer === undefined ? {} : { issuer }),
    ...(idToken === undefined ? {} : { idToken }),
  };
}

function secretOf(context: JsonObject): Pick<OAuthSettings, "clientSecret"> {
  const clientSecret = text(context, "client_secret");
  return clientSecret === undefined ? {} : { clientSecret };
}

function keyOf(context: JsonObject): Pick<OAuthSettings, "privateKey" | "signingAlgorithm"> {
  const privateKey = text(context, "private_key_pem");
  const signingAlgorithm = text(context, "signing_algorithm");
  return {
    ...(privateKey === undefined ? {} : { privateKey }),
    ...(signingAlgorithm === undefined ? {} : { signingAlgorithm }),
  };
}

function text(context: JsonObject, name: string): string | undefined {
  const value = context[name];
  return typeof value === "string" ? value : undefined;
}

/** The suite's page sends everybody straight back; nobody need listen where to. */
const ROBOT: RedirectWay = {
  kind: "redirect",
  start: async () => ({
    redirectUri: "http://localhost:3000/callback",
    finish: async (url, signal) => {
      const response = await fetch(url, { redirect: "manual", signal });
      const location = response.headers.get("location");
      if (location === null) throw new Error(`the page sent nobody back: ${response.status}`);
      return new URL(location).searchParams;
    },
    [Symbol.asyncDispose]: async () => {},
  }),
};
