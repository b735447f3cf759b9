// The zod schema of `oauth` in a server's entry. Loaded with `schema.ts` only.
import * as z from "zod/v4";
import { type IdentityProviderEntry, OAUTH_GRANTS, type OAuthEntry } from "./entry.js";
import { references, secretReferences, text } from "./schema-words.js";

const address = z.url({ protocol: /^https?$/u, error: "must be an http or https address" });

const idp: z.ZodType<IdentityProviderEntry> = z
  .strictObject({
    issuer: address
      .optional()
      .describe("The identity provider, by which it is found. Secrets of idp, and the ID token, go to no other."),
    tokenEndpoint: address.optional().describe("Where tokens are exchanged, where the issuer does not say it itself."),
    clientId: text.describe(`The client you registered at the identity provider. ${references}`),
    clientSecret: text.optional().describe(`Its secret. ${secretReferences}`),
    authMethod: text
      .optional()
      .describe("token_endpoint_auth_method of that client; chosen from what the provider offers unless given."),
    idToken: text
      .optional()
      .describe(`The person's ID token; without it they log in at the identity provider. ${secretReferences}`),
  })
  .refine(({ issuer, tokenEndpoint }) => issuer !== undefined || tokenEndpoint !== undefined, {
    error: "must have an issuer, or a tokenEndpoint",
  })
  .refine(({ issuer, idToken }) => issuer !== undefined || idToken !== undefined, {
    error: "must have an issuer to log in at, or an idToken",
  });

const settings = z.strictObject({
  issuer: address
    .optional()
    .describe("The only authorization server these credentials are for; another one the server names never sees them."),
  clientId: text.optional().describe(`The client you registered at the authorization server. ${references}`),
  clientSecret: text.optional().describe(`Its secret. ${secretReferences}`),
  clientMetadataUrl: z
    .url({ protocol: /^https$/u, error: "must be an https address" })
    .optional()
    .describe("A client id metadata document to be known by instead."),
  scopes: z.array(text).optional().describe("What to ask for, instead of what the server says."),
  grant: z
    .enum(OAUTH_GRANTS)
    .optional()
    .describe(
      '"client_credentials" logs in as the client itself and "jwt_bearer" with an assertion, both without a person; with "enterprise" the identity provider of idp vouches for the person.',
    ),
  assertion: text.optional().describe(`The JWT a workload is known by, for jwt_bearer. ${secretReferences}`),
  idp: idp.optional().describe("Who vouches for the person, for enterprise."),
  privateKey: text.optional().describe(`PEM of the client's key, for private_key_jwt. ${secretReferences}`),
  signingAlgorithm: text.optional().describe("Of that key: ES256 unless given."),
  keyId: text.optional().describe("Which key it is (kid), where the server knows several."),
  authMethod: text
    .optional()
    .describe("token_endpoint_auth_method of the client; chosen from what the server offers unless given."),
  callbackPort: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe(
      "The port of http://127.0.0.1:<port>/callback, where only that one is registered; any free one unless given.",
    ),
});

export const oauthSchema: z.ZodType<OAuthEntry> = settings.refine(
  ({ grant, idp: provider }) => (grant === "enterprise") === (provider !== undefined),
  { error: 'must have both "grant": "enterprise" and idp, or neither' },
);
