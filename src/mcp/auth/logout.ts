// Logging out: removes the stored grants, and has their tokens revoked (RFC 7009) if the server offers that.
import * as protocol from "oauth4webapi";
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
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

async function revoke(
  spec: RemoteSpec,
  options: LogoutOptions,
  { key, grant, signal }: { readonly key: GrantKey; readonly grant: Grant; readonly signal: AbortSignal },
): Promise<Omit<LoggedOut, "key">> {
  const { client, refreshToken, accessToken, idToken, revocationEndpoint: endpoint } = grant;
  if (endpoint === undefined) return { revocation: "not_offered" };
  const { world, oauth } = options;
  const server = { issuer: key.issuer, revocation_endpoint: endpoint };
  const known = { client_id: client.clientId };
  // Not every server revokes the access tokens with the refresh token.
  const tokens = defined({ refresh_token: refreshToken, access_token: accessToken });
  try {
    const isIdentity = idToken !== undefined;
    const rules = isIdentity
      ? providerAddresses(providerOf(oauth.settings), options)
      : { ...options, serverUrl: spec.url };
    using http = new OAuthHttp(rules, signal);
    const authentication = clientAuthentication(client, { world, settings: oauth.settings, issuer: key.issuer });
    for (const [token_type_hint, token] of Object.entries(tokens)) {
      const additionalParameters = { token_type_hint };
      const answer = await http.perform({
        endpoint,
        what: "the revocation",
        send: (sending) =>
          protocol.revocationRequest(server, known, authentication, token, { ...sending, additionalParameters }),
        read: protocol.processRevocationResponse,
      });
      if (answer instanceof OAuthRefusal) return { revocation: "failed", reason: answer.words };
    }
    return { revocation: "done" };
  } catch (thrown) {
    return { revocation: "failed", reason: messageOf(thrown) };
  }
}
