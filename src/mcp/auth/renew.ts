// Renews the grant of a connection in the way it was had: by its refresh token, by the machine's own credentials, or by the identity provider.

import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { enterpriseTokens } from "./enterprise.js";
import { OAuthHttp } from "./http.js";
import { machineTokens } from "./machine.js";
import type { Grant, OAuthOptions } from "./port.js";
import { type Answer, NOT_ENDED, type Renewal, type Renewed, refresh, renewalRequest, replaceKept } from "./refresh.js";
import { resourceOf } from "./resource.js";
import { needsNoPage } from "./settings.js";
import { grantOf } from "./token.js";

export interface ConnectionRenewal extends Renewal, Pick<OAuthOptions, "account" | "person" | "command"> {
  /** As the person calls it. */
  readonly server: string;
}

/** Rejects as `replaceKept` does. */
export async function renew(renewal: ConnectionRenewal, signal: AbortSignal): Promise<Renewed> {
  return await replaceKept(renewal, (current) => replace(renewal, current), signal);
}

async function replace(renewal: ConnectionRenewal, current: Grant): Promise<Answer> {
  const { settings } = renewal;
  if (settings.grant === "enterprise") return await vouchedFor(renewal, current);
  if (!needsNoPage(settings)) return await refresh(renewal, current);
  using http = new OAuthHttp(renewal);
  const { resourceIndicator, scope } = current;
  const request = renewalRequest(renewal, current);
  const tokens = await machineTokens(http, { ...request, resourceIndicator, scope }, NOT_ENDED);
  return { grant: grantOf(tokens, { ...current, ...request }, renewal.world.now()) };
}

/** Where the provider no longer vouches, only the person or the configuration can help: the grant stays for what it is worth. */
async function vouchedFor(renewal: ConnectionRenewal, current: Grant): Promise<Answer> {
  const { world, key, serverUrl, server, allowHosts, urlSource, store, settings, account, person, command } = renewal;
  using http = new OAuthHttp(renewal);
  const request = renewalRequest(renewal, current);
  const { scope, audience = key.issuer, resourceIndicator = resourceOf(serverUrl) } = current;
  const asker = {
    world,
    oauth: { store, settings, account, person, command },
    server,
    ...defined({ allowHosts, urlSource: urlSource || undefined }),
  };
  try {
    const { tokens } = await enterpriseTokens(
      http,
      { ...request, scope, resourceIndicator, audience, asker },
      NOT_ENDED,
    );
    return { grant: grantOf(tokens, { ...current, ...request }, world.now()) };
  } catch (thrown) {
    if (!(thrown instanceof TenonError) || thrown.code !== "mcp.unauthorized") throw thrown;
    return { grant: current, why: thrown.message };
  }
}
