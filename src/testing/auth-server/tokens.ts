// Every token the lab's server has given, and what became of it.
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
  readonly state: TokenState;
}

interface Kept extends Permit {
  readonly token: string;
  readonly kind: "access" | "refresh";
  /** All tokens that came of one log-in. */
  readonly family: number;
  expiresAtMs: number;
  end: "revoked" | "used" | undefined;
}

export interface Issued {
  readonly access: string;
  readonly refresh: string | undefined;
}

export class TokenBook {
  readonly #tokens = new Map<string, Kept>();
  readonly #now: () => number;
  #families = 0;
  #reuses = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** How often a refresh token came that had been used before. */
  get reuses(): number {
    return this.#reuses;
  }

  get all(): readonly TokenFacts[] {
    return [...this.#tokens.values()].map((kept) => this.#facts(kept));
  }

  newFamily(): number {
    return ++this.#families;
  }

  issue(permit: Permit, family: number, options: { readonly lifetimeMs: number; readonly refresh: boolean }): Issued {
    const access = this.#keep(permit, "access", family, this.#now() + options.lifetimeMs);
    const refresh = options.refresh ? this.#keep(permit, "refresh", family, Number.POSITIVE_INFINITY) : undefined;
    return { access, refresh };
  }

  /** `reused` is counted; whether it ends the family is the server's rule. */
  takeRefresh(
    token: string,
    rules: { readonly rotates: boolean; readonly reuseRevokes: boolean },
  ):
    | { readonly kind: "good"; readonly permit: Permit; readonly family: number }
    | { readonly kind: "bad"; why: string } {
    const kept = this.#tokens.get(token);
    if (kept?.kind !== "refresh") return { kind: "bad", why: "the refresh token is unknown" };
    if (kept.end === "used") {
      this.#reuses += 1;
      if (rules.reuseRevokes) this.revokeWhere((facts) => facts.family === kept.family);
      return { kind: "bad", why: "the refresh token has been used before" };
    }
    if (kept.end === "revoked") return { kind: "bad", why: "the refresh token has been revoked" };
    if (rules.rotates) kept.end = "used";
    return { kind: "good", permit: kept, family: kept.family };
  }

  find(token: string): TokenFacts | undefined {
    const kept = this.#tokens.get(token);
    return kept && this.#facts(kept);
  }

  familyOf(token: string): number | undefined {
    return this.#tokens.get(token)?.family;
  }

  expireAccess(): void {
    for (const kept of this.#tokens.values()) if (kept.kind === "access") kept.expiresAtMs = this.#now();
  }

  /** A used refresh token stays used: that it comes again is worth more to know. */
  revokeWhere(test: (token: Readonly<Kept>) => boolean): void {
    for (const kept of this.#tokens.values()) if (test(kept)) kept.end ??= "revoked";
  }

  #keep(permit: Permit, kind: "access" | "refresh", family: number, expiresAtMs: number): string {
    const token = `${kind}-${randomBytes(18).toString("base64url")}`;
    const { account, clientId, scopes, resource } = permit;
    this.#tokens.set(token, { account, clientId, scopes, resource, token, kind, family, expiresAtMs, end: undefined });
    return token;
  }

  #facts(kept: Kept): TokenFacts {
    const { account, clientId, scopes, resource, token, kind } = kept;
    const state = kept.end ?? (this.#now() >= kept.expiresAtMs ? "expired" : "active");
    return { account, clientId, scopes, resource, token, kind, state };
  }
}
