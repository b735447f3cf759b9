// What follows from a server's settings: who has to be there for its log-in, and what of them must not be seen.
import type { OAuthSettings } from "./port.js";

/** The authorization server is asked for tokens without a page of its own, now and whenever they end. */
export function needsNoPage({ grant = "authorization_code" }: OAuthSettings): boolean {
  return grant !== "authorization_code";
}

/** Whether a person may have to log in: at the authorization server, or at the identity provider. */
export function isForPeople({ grant = "authorization_code", idp }: OAuthSettings): boolean {
  return grant === "authorization_code" || (grant === "enterprise" && idp?.idToken === undefined);
}

export function settingsSecrets({ clientSecret, privateKey, assertion, idp }: OAuthSettings): readonly string[] {
  const all = [clientSecret, privateKey, assertion, idp?.clientSecret, idp?.idToken];
  return all.filter((secret) => secret !== undefined);
}
