// Logging out: the grant is forgotten here, and its tokens are taken back there (RFC 7009) where that is offered.
import { messageOf } from "../../base/errors.js";
import type { RemoteSpec } from "../spec.js";
import { proveClient } from "./client-auth.js";
import { OAuthHttp } from "./http.js";
import { identityKey, placesOf, providerOf } from "./identity.js";
import type { LoggedOut, LogoutOptions } from "./login.js";
import type { Grant, GrantKey } from "./port.js";
import { resourceOf } from "./resource.js";
import { formOf } from "./token.js";

/** See `logout`. */
export async function logOut(
  spec: RemoteSpec,
  options: LogoutOptions,
  signal: AbortSignal,
): Promise<readonly LoggedOut[]> {
  const { store, account } = options.oauth;
  const done: LoggedOut[] = [];
  const keys = await store.find(resourceOf(spec.url), account);
  for (const key of [...keys, ...(await identityKeys(options))]) {
    const forgotten: Grant[] = [];
    // First of all: whatever the server says, nothing uses it from here on.
    const forget = async (current: Grant | undefined): Promise<undefined> => {
      if (current) forgotten.push(current);
    };
    await store.update(key, forget, signal);
    await store.writeClient(key.issuer, undefined);
    for (const grant of forgotten) done.push(await revoke(spec, options, { key, grant, signal }));
  }
  return done;
}

/** Who stays logged in at the identity provider is logged in here again with the next call. */
async function identityKeys({ oauth }: LogoutOptions): Promise<readonly GrantKey[]> {
  if (oauth.settings.grant !== "enterprise") return [];
  const { resource, account } = identityKey(oauth.settings, oauth);
  return await oauth.store.find(resource, account);
}

interface Revocation {
  readonly key: GrantKey;
  readonly grant: Grant;
  readonly signal: AbortSignal;
}

async function revoke(
  spec: RemoteSpec,
  options: LogoutOptions,
  { key, grant, signal }: Revocation,
): Promise<LoggedOut> {
  const { revocationEndpoint: url, client, refreshToken, accessToken } = grant;
  if (url === undefined) return { key, revocation: "not_offered" };
  const { world, oauth } = options;
  try {
    const isIdentity = grant.idToken !== undefined;
    using http = new OAuthHttp(
      isIdentity ? placesOf(providerOf(oauth.settings), options) : { ...options, serverUrl: spec.url },
    );
    // The refresh token takes its access tokens with it where servers follow the standard's advice; both are named.
    const tokens = [
      ...(refreshToken === undefined ? [] : [{ token: refreshToken, token_type_hint: "refresh_token" }]),
      { token: accessToken, token_type_hint: "access_token" },
    ];
    for (const token of tokens) {
      const proof = proveClient(client, { world, settings: oauth.settings, issuer: key.issuer });
      const params = formOf({ ...token, ...proof.params });
      const { status } = await http.postForm({ url, params, headers: proof.headers }, "the revocation", signal);
      if (status < 200 || status > 299) return { key, revocation: "failed", reason: `status ${status}` };
    }
    return { key, revocation: "done" };
  } catch (thrown) {
    return { key, revocation: "failed", reason: messageOf(thrown) };
  }
}
