// A person logs in on a page, of an authorization server or an identity provider: in a browser, or on another device.
import * as protocol from "oauth4webapi";
import { orAborted, sleep } from "../../base/async/deadline.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import { clientAuthentication, knownClient, registerClient, storedClient } from "./client.js";
import type { Discovered } from "./discovery.js";
import { type OAuthHttp, OAuthRefusal } from "./http.js";
import { loginRefused, visible } from "./messages.js";
import type { DevicePrompt, DeviceWay, LoginOptions, LoginWay, OAuthClient, RedirectWay } from "./port.js";
import { scopesOf } from "./scopes.js";
import { requestToken, type TokenContext, type Tokens } from "./tokens.js";

/** The values that all steps of one log-in share. */
export interface Flow {
  /** The name of the MCP server in the configuration. */
  readonly name: string;
  readonly options: LoginOptions;
  readonly http: OAuthHttp;
  readonly found: Discovered;
  readonly tokenEndpoint: string;
  readonly scope: string | undefined;
  readonly dpopKey?: string | undefined;
  readonly wantsIdToken?: boolean;
}

export interface Obtained {
  readonly client: OAuthClient;
  readonly tokens: Tokens;
}

/** Rejects with `mcp.unauthorized` if the person or the authorization server refused, or the person took too long. */
export async function logInOnPage(flow: Flow, way: LoginWay): Promise<Obtained> {
  return way.kind === "device" ? await onDevice(flow, way) : await inBrowser(flow, way);
}

export function tokenContext(flow: Flow, client: OAuthClient): TokenContext {
  const { tokenEndpoint: endpoint, options, found, dpopKey, wantsIdToken = false } = flow;
  return { endpoint, client, settings: options.oauth.settings, issuer: found.server.issuer, dpopKey, wantsIdToken };
}

async function inBrowser(flow: Flow, way: RedirectWay): Promise<Obtained> {
  const { http, found, name, options } = flow;
  const { signal } = http;
  const { issuer, server } = found;
  pageOf(found);
  const known = knownClient(flow);
  const stored = known ? undefined : await storedClient(flow);
  const redirectUris = stored?.redirectUris ?? [];
  const namesIssuer = server.authorization_response_iss_parameter_supported === true || undefined;
  await using attempt = await way.start({ server: name, issuer, redirectUris, ...defined({ namesIssuer }) }, signal);
  const { redirectUri } = attempt;
  const isStored = stored !== undefined && redirectUris.includes(redirectUri);
  const client = known ?? (isStored ? stored : await registerClient(flow, redirectUri));
  const state = protocol.generateRandomState();
  const verifier = protocol.generateRandomCodeVerifier();
  const url = await authorizationUrl(flow, client, { redirectUri, state, verifier });
  const response = await orAborted(attempt.finish(url, signal), signal);
  const code = readCode(server, { client_id: client.clientId }, response, state);
  options.world.trace?.hide([code, verifier]);
  const params = { code, redirect_uri: redirectUri, code_verifier: verifier, resource: found.resourceIndicator };
  const request = { ...tokenContext(flow, client), grantType: "authorization_code", params };
  const tokens = await requestToken(http, request);
  if (!(tokens instanceof OAuthRefusal)) return { client, tokens };
  // The server has forgotten the registration: the next log-in registers again.
  if (isStored && tokens.error === "invalid_client") await options.oauth.store.writeClient(issuer, undefined);
  throw loginRefused(`the authorization server gave no token: ${tokens.words}`);
}

/** The URL of the log-in page. Throws `mcp.unauthorized` if there is none, or the server does not support PKCE. */
function pageOf({ server }: Discovered): string {
  const { issuer, authorization_endpoint: page, code_challenge_methods_supported: methods } = server;
  if (page === undefined) throw loginRefused(`${visible(issuer)} has no page to log in at`);
  if (methods?.includes("S256")) return page;
  throw loginRefused(`${visible(issuer)} does not offer PKCE with S256: without it a log-in could be stolen`);
}

async function authorizationUrl(
  { http, found, scope }: Flow,
  { clientId }: OAuthClient,
  { redirectUri, state, verifier }: Readonly<Record<"redirectUri" | "state" | "verifier", string>>,
): Promise<URL> {
  const url = new URL(http.check(pageOf(found), "the page to log in at"));
  const params = defined({
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: await protocol.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    scope,
    resource: found.resourceIndicator,
    // OpenID Connect requires consent for tokens that outlive the person's session.
    prompt: scopesOf(scope).includes("offline_access") ? "consent" : undefined,
  });
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url;
}

/** The code in an authorization response to this request, from this server (`state` and `iss`, RFC 9207). */
function readCode(...response: Parameters<typeof protocol.validateAuthResponse>): string {
  try {
    const [code, ...more] = protocol.validateAuthResponse(...response).getAll("code");
    if (code !== undefined && code !== "" && more.length === 0) return code;
  } catch (thrown) {
    if (!(thrown instanceof protocol.AuthorizationResponseError)) {
      throw loginRefused(`the answer of the log-in page is not used: ${messageOf(thrown)}`);
    }
    const { error, error_description: description } = thrown;
    const words = description === undefined ? error : `${error}: ${description}`;
    throw loginRefused(`the authorization server refused the log-in: ${visible(words)}`);
  }
  throw loginRefused("the answer of the log-in page holds no code");
}

const ANOTHER_WAY = "Try again, or log in with a browser.";

/** The device grant (RFC 8628): the person types a code on any device, and Tenon polls until then. */
async function onDevice(flow: Flow, way: DeviceWay): Promise<Obtained> {
  const { http, found } = flow;
  const { world, signal } = http;
  const known = knownClient(flow) ?? (await storedClient(flow));
  // The redirect URI is not used, but many servers refuse a registration without one.
  const client = known ?? (await registerClient(flow, "http://127.0.0.1/callback"));
  const code = await requestDeviceCode(flow, client);
  const prompt = devicePrompt(flow, code);
  await way.show(prompt);
  const request = {
    ...tokenContext(flow, client),
    grantType: "urn:ietf:params:oauth:grant-type:device_code",
    params: { device_code: code.device_code, resource: found.resourceIndicator },
  };
  const { everyMs, leastMs, slowerMs } = OAUTH_LIMITS.device;
  let waitMs = code.interval === undefined ? everyMs : Math.max(code.interval * 1000, leastMs);
  while (world.now() + waitMs < prompt.expiresAtMs) {
    await sleep(world, waitMs, signal);
    const answer = await requestToken(http, request).catch((thrown: unknown) => {
      if (thrown instanceof TenonError && thrown.code === "mcp.unavailable" && !signal.aborted) return undefined;
      throw thrown;
    });
    if (answer && !(answer instanceof OAuthRefusal)) return { client, tokens: answer };
    // The server asked for it, or was not reachable.
    if (!answer || answer.error === "slow_down") waitMs += slowerMs;
    else if (answer.error !== "authorization_pending") {
      throw loginRefused(`the log-in was refused: ${answer.words}`, ANOTHER_WAY);
    }
  }
  throw loginRefused("nobody has typed the code in time", ANOTHER_WAY);
}

async function requestDeviceCode(flow: Flow, client: OAuthClient): Promise<protocol.DeviceAuthorizationResponse> {
  const { http, found, scope, options } = flow;
  const { server, resourceIndicator: resource } = found;
  const { issuer, device_authorization_endpoint: endpoint } = server;
  if (endpoint === undefined) throw loginRefused(`${visible(issuer)} offers no log-in on another device`, ANOTHER_WAY);
  const known = { client_id: client.clientId };
  const { settings } = options.oauth;
  const authentication = clientAuthentication(client, { world: http.world, settings, issuer });
  const answer = await http.perform({
    endpoint,
    what: "the request for a device code",
    secrets: [client.clientSecret],
    repair: repairedCode,
    send: (sending) =>
      protocol.deviceAuthorizationRequest(server, known, authentication, defined({ scope, resource }), sending),
    read: (response) => protocol.processDeviceAuthorizationResponse(server, known, response),
  });
  if (!(answer instanceof OAuthRefusal)) return answer;
  throw loginRefused(`${visible(issuer)} gave no device code (${answer.words})`, ANOTHER_WAY);
}

/** Servers leave out the expiry, or use `verification_url`, the name in the draft of RFC 8628. */
function repairedCode(json: JsonObject): JsonObject {
  const { verification_url: url, interval, expires_in: expires } = json;
  const { verification_uri: uri = url, verification_uri_complete: complete, device_code, user_code } = json;
  return {
    ...defined({
      device_code,
      user_code,
      verification_uri: uri,
      verification_uri_complete: typeof complete === "string" ? complete : undefined,
      interval: typeof interval === "number" && interval > 0 ? interval : undefined,
    }),
    expires_in: Number.isFinite(Number(expires ?? Number.NaN)) ? Number(expires) : OAUTH_LIMITS.loginMs / 1000,
  };
}

function devicePrompt({ http, name: server }: Flow, code: protocol.DeviceAuthorizationResponse): DevicePrompt {
  const { verification_uri: uri, verification_uri_complete: complete, expires_in: seconds } = code;
  const page = "the page for the device code";
  return {
    server,
    userCode: visible(code.user_code),
    verificationUri: http.check(uri, page),
    ...defined({ verificationUriComplete: complete === undefined ? undefined : http.check(complete, page) }),
    expiresAtMs: http.world.now() + Math.min(seconds * 1000, OAUTH_LIMITS.loginMs),
  };
}
