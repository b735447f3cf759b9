// Supplies the tokens of one connection: reads and renews them, and recovers when the server refuses one.

import { orAborted } from "../../base/async/deadline.js";
import { messageOf, TenonError, toTenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import type { KnownSecrets } from "../../base/text/secrets.js";
import type { RemoteSpec } from "../spec.js";
import type { Refusal, RequestAccess } from "../transport/http/request-access.js";
import { dpopProof } from "./jwt.js";
import { type EndedLogin, type LoginSubject, loginFailed, loginNeeded, scopeNeeded } from "./messages.js";
import { type Grant, type GrantKey, grantSecrets, type LoginOptions, needsNoPage, resourceOf } from "./port.js";
import { covers, scopesOf } from "./scopes.js";

export interface AccessOptions extends LoginOptions {
  /** Learns the tokens, so that no error of the server repeats them. */
  readonly secrets?: KnownSecrets;
}

interface RenewalOutcome {
  /** There is another token now. */
  readonly isNew: boolean;
  /** It was issued just now, by this renewal. */
  readonly isFresh: boolean;
  /** Why there is none, in the authorization server's words. */
  readonly why?: string;
}

interface Login {
  readonly key: GrantKey;
  readonly grant: Grant;
}

export class Access implements RequestAccess {
  readonly #spec: RemoteSpec;
  readonly #options: AccessOptions;
  readonly #life = new AbortController();
  readonly #renewals = new Set<Promise<unknown>>();
  /** The stored log-in; undefined before the first read, null if there was none. */
  #login: Login | null | undefined;
  /** Reports changes of the store; only while there is a log-in. */
  #watch: { close(): void } | undefined;
  #mayBeGone = false;
  #renewing: Promise<string | undefined> | undefined;
  /** Requests refused with the same token wait for the same recovery. */
  readonly #recoveries = new Map<string, Promise<"again" | TenonError>>();
  /** A token that no request has succeeded with yet: another one from the same source would be no better. */
  #unproven: { readonly token: string; readonly source: "renewal" | "log-in" } | undefined;
  /** A failed log-in: the connection does not start another one. */
  #failure: TenonError | undefined;
  /** The previous log-in, which has ended: later errors mention it too. */
  #ended: EndedLogin | undefined;
  #nonce: string | undefined;
  readonly #triedScopes = new Set<string>();

  constructor(spec: RemoteSpec, options: AccessOptions) {
    this.#spec = spec;
    this.#options = options;
  }

  token(): string | undefined | Promise<string | undefined> {
    if (this.#login === undefined) return this.#firstToken();
    if (this.#login === null) return undefined;
    return this.#mayBeGone ? this.#tokenIfKept(this.#login) : this.#usable(this.#login);
  }

  headers(token: string, { method, url }: { readonly method: string; readonly url: string }): string[] {
    const { accessToken, dpopKey: key } = this.#login?.grant ?? {};
    if (key === undefined || accessToken !== token) return ["authorization", `Bearer ${token}`];
    const { world } = this.#options;
    const proof = dpopProof({ world, key, method, url, token, nonce: this.#nonce });
    return ["authorization", `DPoP ${token}`, "dpop", proof];
  }

  takeNonce(nonce: string): boolean {
    const isNew = this.#nonce !== nonce;
    this.#nonce = nonce;
    return isNew;
  }

  worked(token: string | undefined): void {
    if (token === undefined) return;
    if (this.#unproven?.token === token) this.#unproven = undefined;
    this.#failure = undefined;
  }

  refused(refusal: Refusal): Promise<"again" | TenonError> {
    const { status, token } = refusal;
    const key = `${status} ${token ?? ""}`;
    // Without a token: sent while the refused one was taken away. The log-in that follows is for this request too.
    const [other] = token === undefined && status === 401 ? this.#recoveries.values() : [];
    const current = this.#recoveries.get(key) ?? other;
    if (current) return current;
    const recovery = this.#recover(refusal)
      .catch((thrown: unknown) => toTenonError(thrown, "mcp.unauthorized"))
      .finally(() => this.#recoveries.delete(key));
    this.#recoveries.set(key, recovery);
    return recovery;
  }

  /** Cancels a log-in. Waits briefly for a renewal, which continues if it takes longer. */
  async close(): Promise<void> {
    this.#life.abort(new TenonError("cancelled", "the connection has been closed"));
    this.#watch?.close();
    if (this.#renewals.size === 0) return;
    using patience = this.#options.world.deadline(OAUTH_LIMITS.closeMs);
    await orAborted(Promise.allSettled(this.#renewals), patience.signal).catch(() => undefined);
  }

  /** A log-in that cannot be read must not block servers that need none. */
  async #firstToken(): Promise<string | undefined> {
    try {
      const login = await this.#look();
      return login && (await this.#usable(login));
    } catch (thrown) {
      this.#options.world.log.warn("oauth.unread", { server: this.#spec.name, error: messageOf(thrown) });
      return undefined;
    }
  }

  /** A log-out applies to open connections too, also if the server would still accept the token. */
  async #tokenIfKept(login: Login): Promise<string | undefined> {
    this.#mayBeGone = false;
    const { store, account } = this.#options.oauth;
    const keys = await store.find(resourceOf(this.#spec.url), account).catch(() => [login.key]); // unknown: assume it is still stored
    if (keys.length === 0 && this.#login === login) this.#take(undefined);
    return this.#login ? await this.#usable(this.#login) : undefined;
  }

  /** A valid token is used while it is renewed, so that an authorization server that hangs delays no call. */
  #usable({ key, grant }: Login): string | Promise<string | undefined> {
    const due = this.#renewalDue(grant);
    if (due === "not_yet") return grant.accessToken;
    this.#renewing ??= this.#renewAhead({ key, grant }).finally(() => {
      this.#renewing = undefined;
    });
    return due === "meanwhile" ? grant.accessToken : this.#renewing;
  }

  #renewalDue({ expiresAtMs, obtainedAtMs, refreshToken }: Grant): "not_yet" | "meanwhile" | "first" {
    if (expiresAtMs === undefined) return "not_yet";
    if (refreshToken === undefined && !this.#needsNoPage) return "not_yet";
    const { ms, share, waitShare } = OAUTH_LIMITS.renewAhead;
    const lifeMs = obtainedAtMs === undefined ? Number.POSITIVE_INFINITY : expiresAtMs - obtainedAtMs;
    const aheadMs = Math.min(ms, lifeMs * share);
    const leftMs = expiresAtMs - this.#options.world.now();
    if (leftMs > aheadMs) return "not_yet";
    return leftMs > aheadMs * waitShare ? "meanwhile" : "first";
  }

  get #needsNoPage(): boolean {
    return needsNoPage(this.#options.oauth.settings);
  }

  /** If the renewal fails, the old token is used, expired or not: only the server decides about it. */
  async #renewAhead(login: Login): Promise<string | undefined> {
    try {
      const { isFresh } = await this.#renew(login, false);
      const now = this.#login;
      // Another process had renewed it, and that token may be due too.
      if (
        !isFresh &&
        now &&
        now.grant.accessToken !== login.grant.accessToken &&
        this.#renewalDue(now.grant) !== "not_yet"
      ) {
        await this.#renew(now, false);
      }
    } catch (thrown) {
      const { code, message } = toTenonError(thrown, "mcp.unavailable");
      this.#options.world.log.warn("oauth.not_renewed", { server: this.#spec.name, code, error: message });
    }
    return this.#login?.grant.accessToken;
  }

  #renew(login: Login, isRefused: boolean): Promise<RenewalOutcome> {
    const renewal = this.#replace(login, isRefused).finally(() => this.#renewals.delete(renewal));
    this.#renewals.add(renewal);
    return renewal;
  }

  async #replace({ key, grant }: Login, isRefused: boolean): Promise<RenewalOutcome> {
    const { renew } = await import("./flow.js");
    const { world, oauth } = this.#options;
    const staleToken = grant.accessToken;
    const { url: serverUrl, name: server } = this.#spec;
    const person = { ...this.#options, server };
    const renewal = { ...this.#options, ...oauth, serverUrl, key, staleToken, isRefused, person };
    const { grant: now, why, isFresh } = await renew(renewal, this.#life.signal);
    this.#take(now && { key, grant: now });
    if (!now) this.#ended = { issuer: key.issuer, why };
    if (now && isFresh) {
      this.#unproven = { token: now.accessToken, source: "renewal" };
      world.log.debug("oauth.renewed", { server: this.#spec.name });
    }
    const isNew = now !== undefined && now.accessToken !== staleToken;
    return { isNew, isFresh, ...defined({ why }) };
  }

  async #look(): Promise<Login | undefined> {
    const { store, account } = this.#options.oauth;
    const [key] = await store.find(resourceOf(this.#spec.url), account);
    const grant = key && (await store.read(key));
    this.#take(grant && { key, grant });
    return this.#login ?? undefined;
  }

  #take(login: Login | undefined): void {
    this.#login = login ?? null;
    if (!login) return;
    this.#ended = undefined;
    this.#follow();
    const secrets = grantSecrets(login.grant);
    this.#options.world.trace?.hide(secrets);
    this.#options.secrets?.learn(secrets);
  }

  #follow(): void {
    const { store, account } = this.#options.oauth;
    if (this.#watch || this.#life.signal.aborted) return;
    this.#watch = store.watch?.(resourceOf(this.#spec.url), account, () => {
      this.#mayBeGone = true;
    });
  }

  async #recover(refusal: Refusal): Promise<"again" | TenonError> {
    const login = await this.#look();
    if (login && login.grant.accessToken !== refusal.token) return "again"; // another process has renewed it
    if (refusal.status === 403 && login) return await this.#stepUp(login, refusal);
    if (!login) return await this.#logIn(refusal, loginNeeded(this.#subject, refusal, this.#ended));
    const isUnproven = this.#unproven?.token === login.grant.accessToken;
    const renewed: RenewalOutcome = isUnproven ? { isNew: false, isFresh: false } : await this.#renew(login, true);
    if (renewed.isNew) return "again";
    const { why } = renewed;
    return await this.#logIn(refusal, loginNeeded(this.#subject, refusal, { issuer: login.key.issuer, why }));
  }

  /** Requests a missing scope once; if nobody can log in now, the next log-in requests it. */
  async #stepUp({ key, grant }: Login, refusal: Refusal): Promise<"again" | TenonError> {
    const wanted = refusal.challenge?.scope;
    const denial = scopeNeeded(this.#subject, wanted);
    if (wanted === undefined || wanted.length > OAUTH_LIMITS.scopeChars || covers(grant.scope, wanted)) return denial;
    if (this.#mayLogIn) {
      if (this.#triedScopes.has(wanted) || this.#triedScopes.size >= OAUTH_LIMITS.stepUps) return denial;
      this.#triedScopes.add(wanted);
      return await this.#logIn(refusal, denial);
    }
    const note = async (current: Grant | undefined): Promise<Grant | undefined> => {
      if (!current || covers(current.missingScope, wanted)) return current;
      const all = [...new Set([...scopesOf(current.missingScope), ...scopesOf(wanted)])].join(" ");
      return { ...current, missingScope: all.length > OAUTH_LIMITS.scopeChars ? wanted : all };
    };
    await this.#options.oauth.store.update(key, note, this.#life.signal);
    return denial;
  }

  get #subject(): LoginSubject {
    return { name: this.#spec.name, command: this.#options.oauth.command };
  }

  get #mayLogIn(): boolean {
    return this.#options.oauth.way !== undefined || this.#needsNoPage;
  }

  async #logIn(refusal: Refusal, denial: TenonError): Promise<"again" | TenonError> {
    if (!this.#mayLogIn) return denial;
    if (this.#failure) return this.#failure;
    const { token } = refusal;
    const isFromLogIn = token !== undefined && this.#unproven?.token === token && this.#unproven.source === "log-in";
    if (refusal.status === 401 && isFromLogIn) return denial;
    const { logIn } = await import("./flow.js");
    try {
      await logIn(this.#spec, this.#options, this.#life.signal, refusal);
    } catch (thrown) {
      const failure = loginFailed(this.#subject, thrown);
      if (failure.code === "mcp.unauthorized") this.#failure = failure;
      return failure;
    }
    const login = await this.#look();
    if (!login || login.grant.accessToken === token) return denial;
    this.#unproven = { token: login.grant.accessToken, source: "log-in" };
    return "again";
  }
}
