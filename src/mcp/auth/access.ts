// A connection's way in: the token for its next request, and what to do when the server refuses it.

import { orAborted } from "../../base/async/deadline.js";
import { messageOf, TenonError, toTenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import type { KnownSecrets } from "../../base/text/secrets.js";
import type { RemoteSpec } from "../spec.js";
import type { Refusal, RequestAccess } from "../transport/http/request-access.js";
import { type Denied, deniedLogin, deniedScope, type Ended, unfinished } from "./denial.js";
import { dpopProof } from "./dpop.js";
import type { Grant, GrantKey, OAuthOptions } from "./port.js";
import { resourceOf } from "./resource.js";
import { covers, scopesOf } from "./scopes.js";
import { needsNoPage } from "./settings.js";

export interface AccessOptions {
  readonly world: World;
  readonly oauth: OAuthOptions;
  readonly allowHosts?: readonly string[];
  readonly urlSource?: "typed" | "project";
  /** Learns what it is given: no error of the server says it. */
  readonly secrets?: KnownSecrets;
}

interface Outcome {
  /** There is another token now. */
  readonly isNew: boolean;
  /** And it was given just now. */
  readonly isFresh: boolean;
  /** Why there is not, in the authorization server's words. */
  readonly why?: string;
}

interface Held {
  readonly key: GrantKey;
  readonly grant: Grant;
}

export class Access implements RequestAccess {
  readonly #spec: RemoteSpec;
  readonly #options: AccessOptions;
  readonly #life = new AbortController();
  readonly #renewals = new Set<Promise<unknown>>();
  /** What is known to be kept; undefined before anybody has looked, null when there was nothing. */
  #held: Held | null | undefined;
  /** Tells when what is kept has changed; only while there is something. */
  #watch: { close(): void } | undefined;
  #mayBeGone = false;
  #renewing: Promise<string | undefined> | undefined;
  /** Requests refused with the same token wait for the same cure. */
  readonly #curing = new Map<string, Promise<"again" | TenonError>>();
  /** A token that has not been seen to work: another one from the same source would be no better. */
  #unproven: { readonly token: string; readonly source: "renewal" | "log-in" } | undefined;
  /** A log-in that came to nothing: nobody is asked again by itself. */
  #failure: TenonError | undefined;
  /** The log-in there was, which is over: so that whoever asks next hears that too. */
  #ended: Ended | undefined;
  #nonce: string | undefined;
  readonly #triedScopes = new Set<string>();

  constructor(spec: RemoteSpec, options: AccessOptions) {
    this.#spec = spec;
    this.#options = options;
  }

  /** At once where nothing has to be read or renewed first; none where nobody has logged in. */
  token(): string | undefined | Promise<string | undefined> {
    if (this.#held === undefined) return this.#firstToken();
    if (this.#held === null) return undefined;
    return this.#mayBeGone ? this.#tokenIfKept(this.#held) : this.#usable(this.#held);
  }

  /** What a request with the token carries; proofs are made for it alone. */
  headers(token: string, { method, url }: { readonly method: string; readonly url: string }): string[] {
    const { accessToken, dpopKey: key } = this.#held?.grant ?? {};
    if (key === undefined || accessToken !== token) return ["authorization", `Bearer ${token}`];
    const { world } = this.#options;
    const proof = dpopProof({ world, key, method, url, token, nonce: this.#nonce });
    return ["authorization", `DPoP ${token}`, "dpop", proof];
  }

  /** The server wants this word in proofs from now on. True when it is a new one. */
  takeNonce(nonce: string): boolean {
    const isNew = this.#nonce !== nonce;
    this.#nonce = nonce;
    return isNew;
  }

  /** The server took it. */
  worked(token: string | undefined): void {
    if (token === undefined) return;
    if (this.#unproven?.token === token) this.#unproven = undefined;
    this.#failure = undefined;
  }

  /** Whether the request is to be sent again, with the `token` there is then; if not, why. Never rejects. */
  refused(refusal: Refusal): Promise<"again" | TenonError> {
    const key = `${refusal.status} ${refusal.token ?? ""}`;
    const under = this.#curing.get(key);
    if (under) return under;
    const curing = this.#cure(refusal)
      .catch((thrown: unknown) => toTenonError(thrown, "mcp.unauthorized"))
      .finally(() => this.#curing.delete(key));
    this.#curing.set(key, curing);
    return curing;
  }

  /** Ends a log-in at once. A renewal is waited for, for a moment, and goes on by itself if it takes longer. */
  async close(): Promise<void> {
    this.#life.abort(new TenonError("cancelled", "the connection has been closed"));
    this.#watch?.close();
    if (this.#renewals.size === 0) return;
    using patience = this.#options.world.deadline(OAUTH_LIMITS.closeMs);
    await orAborted(Promise.allSettled(this.#renewals), patience.signal).catch(() => undefined);
  }

  /** Most servers want no log-in: one that cannot be read must not keep anybody from those. */
  async #firstToken(): Promise<string | undefined> {
    try {
      const held = await this.#look();
      return held && (await this.#usable(held));
    } catch (thrown) {
      this.#options.world.log.warn("oauth.unread", { server: this.#spec.name, error: messageOf(thrown) });
      return undefined;
    }
  }

  /** Who has logged out has logged out of open connections too, also where the server still takes the token. */
  async #tokenIfKept(held: Held): Promise<string | undefined> {
    this.#mayBeGone = false;
    const { store, account } = this.#options.oauth;
    const keys = await store.find(resourceOf(this.#spec.url), account).catch(() => [held.key]); // cannot be told now
    if (keys.length === 0 && this.#held === held) this.#take(undefined);
    return this.#held ? await this.#usable(this.#held) : undefined;
  }

  /** A token that is still good is used while it is renewed: an authorization server that hangs then costs no call. */
  #usable({ key, grant }: Held): string | Promise<string | undefined> {
    const due = this.#renewalDue(grant);
    if (due === "not_yet") return grant.accessToken;
    this.#renewing ??= this.#renewAhead({ key, grant }).finally(() => {
      this.#renewing = undefined;
    });
    return due === "meanwhile" ? grant.accessToken : this.#renewing;
  }

  #renewalDue({ expiresAtMs, obtainedAtMs, refreshToken }: Grant): "not_yet" | "meanwhile" | "first" {
    if (expiresAtMs === undefined) return "not_yet";
    if (refreshToken === undefined && !this.#needsNobody) return "not_yet";
    const { ms, share, waitShare } = OAUTH_LIMITS.renewAhead;
    const lifeMs = obtainedAtMs === undefined ? Number.POSITIVE_INFINITY : expiresAtMs - obtainedAtMs;
    const aheadMs = Math.min(ms, lifeMs * share);
    const leftMs = expiresAtMs - this.#options.world.now();
    if (leftMs > aheadMs) return "not_yet";
    return leftMs > aheadMs * waitShare ? "meanwhile" : "first";
  }

  get #needsNobody(): boolean {
    return needsNoPage(this.#options.oauth.settings);
  }

  /** A token that still has some time is used when renewing fails; so is one that has none, since only the server decides. */
  async #renewAhead(held: Held): Promise<string | undefined> {
    try {
      const { isFresh } = await this.#renew(held, false);
      const now = this.#held;
      // Somebody else had renewed it, and that may be long ago too.
      if (
        !isFresh &&
        now &&
        now.grant.accessToken !== held.grant.accessToken &&
        this.#renewalDue(now.grant) !== "not_yet"
      ) {
        await this.#renew(now, false);
      }
    } catch (thrown) {
      const { code, message } = toTenonError(thrown, "mcp.unavailable");
      this.#options.world.log.warn("oauth.not_renewed", { server: this.#spec.name, code, error: message });
    }
    return this.#held?.grant.accessToken;
  }

  #renew(held: Held, isRefused: boolean): Promise<Outcome> {
    const renewal = this.#replace(held, isRefused).finally(() => this.#renewals.delete(renewal));
    this.#renewals.add(renewal);
    return renewal;
  }

  async #replace({ key, grant }: Held, isRefused: boolean): Promise<Outcome> {
    const { renew } = await import("./renew.js");
    const { world, oauth } = this.#options;
    const staleToken = grant.accessToken;
    const { url: serverUrl, name: server } = this.#spec;
    const renewal = { ...this.#options, serverUrl, server, ...oauth, key, staleToken, isRefused };
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

  async #look(): Promise<Held | undefined> {
    const { store, account } = this.#options.oauth;
    const [key] = await store.find(resourceOf(this.#spec.url), account);
    const grant = key && (await store.read(key));
    this.#take(grant && { key, grant });
    return this.#held ?? undefined;
  }

  #take(held: Held | undefined): void {
    this.#held = held ?? null;
    if (!held) return;
    this.#ended = undefined;
    this.#follow();
    const { accessToken, refreshToken, client, dpopKey } = held.grant;
    const secrets = [accessToken, refreshToken, client.clientSecret, dpopKey].filter((secret) => secret !== undefined);
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

  async #cure(refusal: Refusal): Promise<"again" | TenonError> {
    const held = await this.#look();
    if (held && held.grant.accessToken !== refusal.token) return "again"; // somebody else has been given a new one
    if (refusal.status === 403 && held) return await this.#stepUp(held, refusal);
    if (!held) return await this.#logIn(refusal, deniedLogin(this.#denied, refusal, this.#ended));
    const isUnproven = this.#unproven?.token === held.grant.accessToken;
    const renewed: Outcome = isUnproven ? { isNew: false, isFresh: false } : await this.#renew(held, true);
    if (renewed.isNew) return "again";
    const { why } = renewed;
    return await this.#logIn(refusal, deniedLogin(this.#denied, refusal, { issuer: held.key.issuer, why }));
  }

  /** The scope that is missing is asked for once; where nobody can be asked now, the next log-in asks for it. */
  async #stepUp({ key, grant }: Held, refusal: Refusal): Promise<"again" | TenonError> {
    const wanted = refusal.challenge?.scope;
    const denial = deniedScope(this.#denied, wanted);
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

  get #denied(): Denied {
    return { name: this.#spec.name, command: this.#options.oauth.command };
  }

  get #mayLogIn(): boolean {
    return this.#options.oauth.way !== undefined || this.#needsNobody;
  }

  async #logIn(refusal: Refusal, denial: TenonError): Promise<"again" | TenonError> {
    if (!this.#mayLogIn) return denial;
    if (this.#failure) return this.#failure;
    const { token } = refusal;
    if (refusal.status === 401 && token !== undefined && this.#isFromLogIn(token)) return denial;
    const { logIn } = await import("./flow.js");
    try {
      await logIn(this.#spec, this.#options, this.#life.signal, refusal);
    } catch (thrown) {
      const failure = unfinished(this.#denied, thrown);
      if (failure.code === "mcp.unauthorized") this.#failure = failure;
      return failure;
    }
    const held = await this.#look();
    if (!held || held.grant.accessToken === token) return denial;
    this.#unproven = { token: held.grant.accessToken, source: "log-in" };
    return "again";
  }

  #isFromLogIn(token: string): boolean {
    return this.#unproven?.token === token && this.#unproven.source === "log-in";
  }
}
