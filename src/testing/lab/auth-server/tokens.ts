// The tokens of the lab's authorization server and their state; and its JWTs.
import { createPublicKey, type KeyObject, randomBytes, sign, verify } from "node:crypto";
import { type JsonObject, parseObject } from "../../../base/json/json.js";

/** What a log-in allows. */
export interface Permit {
  readonly account: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly resource: string | undefined;
}

export type TokenState = "active" | "expired" | "revoked" | "used";

export interface TokenFacts extends Permit {
  readonly token: string;
  readonly kind: "access" | "refresh";
  /** The same for all tokens of one log-in. */
  readonly family: number;
  readonly state: TokenState;
}

interface Issued extends Omit<TokenFacts, "state"> {
  expiresAtMs: number;
  end: "revoked" | "used" | undefined;
}

export class TokenTable {
  readonly #tokens = new Map<string, Issued>();
  /** How often a used refresh token was sent again: a lost race, or a theft. */
  reuses = 0;
  #families = 0;

  get all(): readonly TokenFacts[] {
    return [...this.#tokens.keys()].flatMap((token) => this.find(token) ?? []);
  }

  newFamily(): number {
    return ++this.#families;
  }

  issue(
    { account, clientId, scopes, resource }: Permit,
    kind: TokenFacts["kind"],
    family: number,
    lifetimeMs: number = Number.POSITIVE_INFINITY,
  ): string {
    const token = `${kind}-${randomBytes(18).toString("base64url")}`;
    const permit = { account, clientId, scopes, resource };
    this.#tokens.set(token, { ...permit, token, kind, family, expiresAtMs: Date.now() + lifetimeMs, end: undefined });
    return token;
  }

  /** What the refresh token allows, or why it is refused. A reuse is counted; the options say whether it revokes the log-in. */
  takeRefresh(
    token: string,
    rules: { readonly rotates: boolean; readonly reuseRevokes: boolean },
  ): (Permit & { readonly family: number }) | string {
    const issued = this.#tokens.get(token);
    if (issued?.kind !== "refresh") return "the refresh token is unknown";
    if (issued.end === "used") {
      this.reuses += 1;
      if (rules.reuseRevokes) this.revokeWhere(({ family }) => family === issued.family);
      return "the refresh token has been used before";
    }
    if (issued.end === "revoked") return "the refresh token has been revoked";
    if (rules.rotates) issued.end = "used";
    return issued;
  }

  find(token: string): TokenFacts | undefined {
    const issued = this.#tokens.get(token);
    if (!issued) return undefined;
    const { expiresAtMs, end, ...facts } = issued;
    return { ...facts, state: end ?? (Date.now() >= expiresAtMs ? "expired" : "active") };
  }

  /** Refreshing still works. */
  expireAccess(): void {
    for (const issued of this.#tokens.values()) if (issued.kind === "access") issued.expiresAtMs = Date.now();
  }

  /** A used refresh token stays used, so that its reuse is still noticed. */
  revokeWhere(test: (token: Readonly<Issued>) => boolean): void {
    for (const issued of this.#tokens.values()) if (test(issued)) issued.end ??= "revoked";
  }
}

interface SignedJwt {
  readonly header: JsonObject;
  readonly claims: JsonObject;
  readonly isGenuine: boolean;
}

export function signedJwt(claims: JsonObject, key: KeyObject, type: string): string {
  const text = [{ alg: "ES256", typ: type }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}

/** Undefined when it is none. */
export function readJwt(jwt: string, publicKey: string): SignedJwt | undefined {
  const [head = "", body = "", signature = "", ...rest] = jwt.split(".");
  const header = decoded(head);
  const claims = decoded(body);
  if (!header || !claims || rest.length > 0) return undefined;
  const key = createPublicKey(publicKey);
  const isGenuine = isSignatureGood(header["alg"], key, `${head}.${body}`, Buffer.from(signature, "base64url"));
  return { header, claims, isGenuine };
}

export function isFor(claims: JsonObject, audiences: readonly string[]): boolean {
  const { aud } = claims;
  const named = typeof aud === "string" ? [aud] : Array.isArray(aud) ? aud : [];
  return named.some((audience) => audiences.includes(String(audience)));
}

function isSignatureGood(alg: unknown, key: KeyObject, text: string, signature: Buffer): boolean {
  const data = Buffer.from(text);
  const ecKey = { key, dsaEncoding: "ieee-p1363" } as const;
  if (alg === "ES256" || alg === "ES384") return verify(alg === "ES256" ? "sha256" : "sha384", data, ecKey, signature);
  if (alg === "RS256") return key.asymmetricKeyType === "rsa" && verify("sha256", data, key, signature);
  return alg === "EdDSA" && key.asymmetricKeyType === "ed25519" && verify(null, data, key, signature);
}

function decoded(part: string): JsonObject | undefined {
  return parseObject(Buffer.from(part, "base64url").toString("utf8"));
}
