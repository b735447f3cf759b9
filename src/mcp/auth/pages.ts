// A person logs in on a page: of an authorization server, or of their identity provider.
import { orAborted } from "../../base/async/deadline.js";
import { TenonError } from "../../base/errors.js";
import { checkServer, prepareAuthorization, readAuthorization } from "./authorize.js";
import { authorizeDevice } from "./device.js";
import type { Discovered } from "./discovery.js";
import type { OAuthHttp } from "./http.js";
import type { LoginOptions } from "./login.js";
import type { DeviceWay, LoginWay, OAuthClient, RedirectWay } from "./port.js";
import { type ClientQuery, keptClient, knownClient, registerClient } from "./registration.js";
import { requestToken, type TokenRequest, type Tokens } from "./token.js";

/** All that the steps of one log-in share. */
export interface Flow {
  /** The MCP server, as the person calls it. */
  readonly name: string;
  readonly options: LoginOptions;
  readonly http: OAuthHttp;
  readonly found: Discovered;
  readonly tokenEndpoint: string;
  readonly scope: string | undefined;
  readonly dpopKey?: string | undefined;
  readonly wantsIdToken?: boolean;
  readonly signal: AbortSignal;
}

export interface Obtained {
  readonly client: OAuthClient;
  readonly tokens: Tokens;
}

export async function onPage(flow: Flow, way: LoginWay): Promise<Obtained> {
  return way.kind === "device" ? await onDevice(flow, way) : await throughBrowser(flow, way);
}

async function onDevice(flow: Flow, way: DeviceWay): Promise<Obtained> {
  const { http, found, signal, name, options } = flow;
  const query = queryOf(flow);
  const known = knownClient(query) ?? (await keptClient(query, options.world.now()));
  // Nobody is sent back anywhere, but a registration without a redirect URI is refused by many.
  const client = known ?? (await registerClient(http, query, { redirectUri: "http://127.0.0.1/callback", signal }));
  const deviceEndpoint = found.server.deviceAuthorizationEndpoint;
  const device = { ...requestOf(flow, client), ...aimOf(flow), deviceEndpoint, server: name };
  return { client, tokens: await authorizeDevice(http, device, { way, signal }) };
}

async function throughBrowser(flow: Flow, way: RedirectWay): Promise<Obtained> {
  const { http, found, signal, name, options } = flow;
  const { issuer, server } = found;
  checkServer(server);
  const query = queryOf(flow);
  const known = knownClient(query);
  const kept = known ? undefined : await keptClient(query, options.world.now());
  const redirectUris = kept?.redirectUris ?? [];
  await using attempt = await way.start({ server: name, issuer, redirectUris }, signal);
  const { redirectUri } = attempt;
  const isKept = kept !== undefined && redirectUris.includes(redirectUri);
  const client = known ?? (isKept ? kept : await registerClient(http, query, { redirectUri, signal }));
  const authorization = prepareAuthorization(http, { server, clientId: client.clientId, redirectUri, ...aimOf(flow) });
  const response = await orAborted(attempt.finish(authorization.url, signal), signal);
  const code = readAuthorization(response, authorization, server);
  options.world.trace?.hide([code, authorization.verifier]);
  const params = {
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    code_verifier: authorization.verifier,
    resource: found.resourceIndicator,
  };
  const answer = await requestToken(http, { ...requestOf(flow, client), params }, signal);
  if (answer.kind === "tokens") return { client, tokens: answer.tokens };
  // It has forgotten the registration: the next log-in makes a new one.
  if (isKept && answer.error === "invalid_client") await options.oauth.store.writeClient(issuer, undefined);
  throw refused(`the authorization server gave no token: ${answer.words}`);
}

export function queryOf({ found, options: { oauth } }: Flow): ClientQuery {
  return { found, settings: oauth.settings, store: oauth.store };
}

export function requestOf(flow: Flow, client: OAuthClient): Omit<TokenRequest, "params"> {
  const { tokenEndpoint: endpoint, options, found, dpopKey, wantsIdToken = false } = flow;
  return { endpoint, client, settings: options.oauth.settings, issuer: found.server.issuer, dpopKey, wantsIdToken };
}

export function aimOf({ scope, found }: Flow): {
  readonly scope: string | undefined;
  readonly resourceIndicator: string | undefined;
} {
  return { scope, resourceIndicator: found.resourceIndicator };
}

export function refused(text: string): TenonError {
  return new TenonError("mcp.unauthorized", text, { hint: "Try again, or tell the author of the server." });
}
