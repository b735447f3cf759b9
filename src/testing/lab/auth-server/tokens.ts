// Every token the lab's authorization server has issued, and its state.
import { randomBytes } from "node:crypto";

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
  readonly #now: () => number;
  #families = 0;
  #reuses = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** How often a used refresh token was sent again. */
  get reuses(): number {
    return this.#reuses;
  }

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
    this.#tokens.set(token, { ...permit, token, kind, family, expiresAtMs: this.#now() + lifetimeMs, end: undefined });
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
      this.#reuses += 1;
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
    return { ...facts, state: end ?? (this.#now() >= expiresAtMs ? "expired" : "active") };
  }

  expireAccess(): void {
    for (const issued of this.#tokens.values()) if (issued.kind === "access") issued.expiresAtMs = this.#now();
  }

  /** A used refresh token stays used, so that its reuse is still noticed. */
  revokeWhere(test: (token: Readonly<Issued>) => boolean): void {
    for (const issued of this.#tokens.values()) if (test(issued)) issued.end ??= "revoked";
  }
}
