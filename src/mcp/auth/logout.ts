// Logging out: removes the stored grants, and has their tokens revoked (RFC 7009) if the server offers that.
import * as protocol from "oauth4webapi";
import { messageOf } from "../../base/errors.js";
import type { RemoteSpec } from "../spec.js";
import { clientAuthentication } from "./client.js";
import { identityKey, providerAddresses, providerOf } from "./enterprise.js";
import { OAuthHttp, OAuthRefusal } from "./http.js";
import { type Grant, type GrantKey, type LoggedOut, type LogoutOptions, resourceOf } from "./port.js";

/** See `logout`. */
export async function logOut(
  spec: RemoteSpec,
  options: LogoutOptions,
  signal: AbortSignal,
): Promise<readonly LoggedOut[]> {
  const { store, account, settings } = options.oauth;
  const keys = [...(await store.find(resourceOf(spec.url), account))];
  if (settings.grant === "enterprise") {
    // Otherwise the next call would log in here again.
    const identity = identityKey(settings, options.oauth);
    keys.push(...(await store.find(identity.resource, identity.account)));
  }
  const done: LoggedOut[] = [];
  for (const key of keys) {
    const removed: Grant[] = [];
    // Removed first: from here on nothing uses it, whatever the server answers.
    const remove = async (current: Grant | undefined): Promise<undefined> => {
      if (current) removed.push(current);
    };
    await store.update(key, remove, signal);
    await store.writeClient(key.issuer, undefined);
    for (const grant of removed) done.push({ key, ...(await revoke(spec, options, { key, grant, signal })) });
  }
  return done;
}

interface Revocation {
  readonly key: GrantKey;
  readonly grant: Grant;
  readonly signal: AbortSignal;
}

async function revoke(
  spec: RemoteSpec,
  options: LogoutOptions,
  revocation: Revocation,
): Promise<Omit<LoggedOut, "key">> {
  const { revocationEndpoint: endpoint } = revocation.grant;
  if (endpoint === undefined) return { revocation: "not_offered" };
  try {
    const refusal = await revokeAt(endpoint, spec, options, revocation);
    return refusal ? { revocation: "failed", reason: refusal.words } : { revocation: "done" };
  } catch (thrown) {
    return { revocation: "failed", reason: messageOf(thrown) };
  }
}

async function revokeAt(
  endpoint: string,
  spec: RemoteSpec,
  options: LogoutOptions,
  { key, grant, signal }: Revocation,
): Promise<OAuthRefusal | undefined> {
  const { client, refreshToken, accessToken, idToken } = grant;
  const { world, oauth } = options;
  using http = new OAuthHttp(
    idToken === undefined
      ? { ...options, serverUrl: spec.url }
      : providerAddresses(providerOf(oauth.settings), options),
  );
  const server = { issuer: key.issuer, revocation_endpoint: endpoint };
  const known = { client_id: client.clientId };
  const authentication = clientAuthentication(client, { world, settings: oauth.settings, issuer: key.issuer });
  // Not every server revokes the access tokens with the refresh token.
  const tokens = { refresh_token: refreshToken, access_token: accessToken };
  for (const [token_type_hint, token] of Object.entries(tokens)) {
    if (token === undefined) continue;
    const additionalParameters = { token_type_hint };
    const answer = await http.perform({
      endpoint,
      what: "the revocation",
      signal,
      send: (sending) =>
        protocol.revocationRequest(server, known, authentication, token, { ...sending, additionalParameters }),
      read: protocol.processRevocationResponse,
    });
    if (answer instanceof OAuthRefusal) return answer;
  }
  return undefined;
}
