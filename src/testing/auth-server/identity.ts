// The lab's server as an identity provider: ID tokens, and what they are exchanged for (ID-JAG); and as one that believes another.
import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import type { JsonObject } from "../../base/json/json.js";
import { grantedScopes } from "./authorize.js";
import { type AuthAnswer, type AuthParams, type AuthServerOptions, type LabClient, refusal } from "./options.js";
import { isFor, readJwt, signedJwt } from "./signed-jwt.js";
import type { Permit } from "./tokens.js";

export const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
export const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token";
const JAG_TYPE = "oauth-id-jag+jwt";
const JAG_SECONDS = 300;
const ID_TOKEN_MS = 3_600_000;

export interface IdentityContext {
  readonly issuer: string;
  readonly options: AuthServerOptions;
  readonly nowMs: number;
}

export class IdentityDesk {
  readonly #given: string[] = [];
  readonly #seen = new Set<unknown>();
  #pair: { readonly privateKey: KeyObject; readonly publicKey: KeyObject } | undefined;

  /** Every JWT it has given. */
  get secrets(): readonly string[] {
    return this.#given;
  }

  /** PEM: who has it can tell what this server has signed. */
  get publicKey(): string {
    return this.#keys.publicKey.export({ type: "spki", format: "pem" }).toString();
  }

  idToken({ account, clientId }: Pick<Permit, "account" | "clientId">, context: IdentityContext): string {
    const { idTokenMs = ID_TOKEN_MS } = context.options.identity ?? {};
    const seconds = Math.floor(context.nowMs / 1_000);
    const exp = Math.floor((context.nowMs + idTokenMs) / 1_000);
    return this.#sign({ iss: context.issuer, sub: account, aud: clientId, iat: seconds, exp }, "JWT");
  }

  /** RFC 8693: an ID token for a word to another authorization server. */
  exchange(params: AuthParams, client: LabClient, context: IdentityContext): AuthAnswer {
    const { identity } = context.options;
    if (!identity) return refusal("unsupported_grant_type", "this server is no identity provider");
    const { subject_token: token = "", subject_token_type: type, requested_token_type: wanted } = params;
    const { audience, resource } = params;
    if (type !== ID_TOKEN) return refusal("invalid_request", `subject_token_type is ${type}`);
    if (wanted !== ID_JAG) return refusal("invalid_request", `requested_token_type is ${wanted}`);
    if (audience === undefined || resource === undefined) return refusal("invalid_request", "no audience or resource");
    const person = this.#personIn(token, client, context);
    if (typeof person !== "string") return person;
    if (identity.audiences && !identity.audiences.includes(audience))
      return refusal("invalid_target", `nobody is vouched for to ${audience}`);
    const seconds = Math.floor(context.nowMs / 1_000);
    const jag = this.#sign(
      {
        iss: context.issuer,
        sub: person,
        aud: audience,
        client_id: identity.clientIdThere ?? client.clientId,
        resource,
        scope: params["scope"] ?? "",
        jti: randomBytes(12).toString("base64url"),
        iat: seconds,
        exp: seconds + JAG_SECONDS,
      },
      JAG_TYPE,
    );
    const body = {
      access_token: jag,
      issued_token_type: identity.issuedType ?? ID_JAG,
      token_type: "N_A",
      expires_in: JAG_SECONDS,
    };
    return { status: 200, headers: { "cache-control": "no-store" }, body };
  }

  /** RFC 7523: what somebody trusted says of a person, for this server and this client, and once. */
  believed(params: AuthParams, client: LabClient, context: IdentityContext): Permit | AuthAnswer {
    const { trusts = [] } = context.options;
    const bad = (why: string) => refusal("invalid_grant", why);
    const jwts = trusts.map((provider) => ({ provider, read: readJwt(params["assertion"] ?? "", provider.publicKey) }));
    const { provider, read } = jwts.find(({ read: one }) => one?.isGenuine) ?? {};
    if (!provider || !read) return bad("the assertion is by nobody who is trusted here");
    const { claims, header } = read;
    const { iss, sub, exp, jti, resource, scope } = claims;
    if (header["typ"] !== JAG_TYPE) return bad(`the assertion is a ${JSON.stringify(header["typ"])}`);
    if (iss !== provider.issuer) return bad(`the assertion is by ${JSON.stringify(iss)}`);
    if (!isFor(claims, [context.issuer])) return bad(`the assertion is for ${JSON.stringify(claims["aud"])}`);
    if (claims["client_id"] !== client.clientId)
      return bad(`the assertion is for the client ${JSON.stringify(claims["client_id"])}`);
    if (typeof exp !== "number" || exp * 1_000 <= context.nowMs) return bad("the assertion has expired");
    if (jti === undefined || this.#seen.has(jti)) return bad("the assertion has been used before");
    this.#seen.add(jti);
    if (typeof sub !== "string" || typeof resource !== "string") return bad("the assertion is about nobody");
    if (params["resource"] !== undefined && params["resource"] !== resource)
      return refusal("invalid_target", "the assertion is for another resource");
    const scopes = grantedScopes(typeof scope === "string" ? scope : "", context.options);
    return { account: sub, clientId: client.clientId, scopes, resource };
  }

  #personIn(idToken: string, client: LabClient, { issuer, nowMs }: IdentityContext): string | AuthAnswer {
    const read = readJwt(idToken, this.publicKey);
    if (!read?.isGenuine) return refusal("invalid_grant", "the ID token is not of this server");
    const { iss, sub, exp } = read.claims;
    if (iss !== issuer || typeof sub !== "string")
      return refusal("invalid_grant", "the ID token is not of this server");
    if (!isFor(read.claims, [client.clientId])) return refusal("invalid_grant", "the ID token is for another client");
    if (typeof exp !== "number" || exp * 1_000 <= nowMs) return refusal("invalid_grant", "the ID token has expired");
    return sub;
  }

  #sign(claims: JsonObject, type: string): string {
    const jwt = signedJwt(claims, this.#keys.privateKey, type);
    this.#given.push(jwt);
    return jwt;
  }

  get #keys(): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
    this.#pair ??= generateKeyPairSync("ec", { namedCurve: "P-256" });
    return this.#pair;
  }
}
