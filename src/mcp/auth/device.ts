// The device grant (RFC 8628): the person types a code on any device, and we ask until they have.

import { sleep } from "../../base/async/deadline.js";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonValue } from "../../base/json/json.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import { proveClient } from "./client-auth.js";
import type { OAuthHttp } from "./http.js";
import type { DevicePrompt, DeviceWay } from "./port.js";
import { formOf, requestToken, type TokenAnswer, type TokenRequest, type Tokens } from "./token.js";
import { visible } from "./words.js";

export interface DeviceQuery extends Omit<TokenRequest, "params"> {
  readonly deviceEndpoint: string | undefined;
  readonly server: string;
  readonly scope: string | undefined;
  readonly resourceIndicator: string | undefined;
}

interface DeviceCode {
  readonly prompt: DevicePrompt;
  readonly deviceCode: string;
  readonly everyMs: number;
}

const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code";

/** Rejects with `mcp.unauthorized` when the person said no or took too long. */
export async function authorizeDevice(
  http: OAuthHttp,
  query: DeviceQuery,
  { way, signal }: { readonly way: DeviceWay; readonly signal: AbortSignal },
): Promise<Tokens> {
  const { prompt, deviceCode, everyMs } = await requestCode(http, query, signal);
  await way.show(prompt);
  const after = (delayMs: number, run: () => void) => http.world.after(delayMs, run);
  const params = { grant_type: GRANT_TYPE, device_code: deviceCode, resource: query.resourceIndicator };
  let waitMs = everyMs;
  while (http.world.now() + waitMs < prompt.expiresAtMs) {
    await sleep(after, waitMs, signal);
    const answer = await ask(http, { ...query, params }, signal);
    if (answer?.kind === "tokens") return answer.tokens;
    // Told to, or not reached at all: out of its way.
    if (!answer || answer.error === "slow_down") waitMs += OAUTH_LIMITS.device.slowerMs;
    else if (answer.error !== "authorization_pending") throw refused(`the log-in was refused: ${answer.words}`);
  }
  throw refused("nobody has typed the code in time");
}

/** Undefined when the server could not be asked just now: the next time may do. */
async function ask(http: OAuthHttp, request: TokenRequest, signal: AbortSignal): Promise<TokenAnswer | undefined> {
  try {
    return await requestToken(http, request, signal);
  } catch (thrown) {
    if (thrown instanceof TenonError && thrown.code === "mcp.unavailable" && !signal.aborted) return undefined;
    throw thrown;
  }
}

async function requestCode(http: OAuthHttp, query: DeviceQuery, signal: AbortSignal): Promise<DeviceCode> {
  const { deviceEndpoint, client, scope, resourceIndicator, issuer } = query;
  if (deviceEndpoint === undefined) throw refused(`${visible(issuer)} offers no log-in on another device`);
  const proof = proveClient(client, { world: http.world, settings: query.settings, issuer });
  const params = formOf({ scope, resource: resourceIndicator, ...proof.params });
  const what = "the request for a device code";
  const { status, json } = await http.postForm({ url: deviceEndpoint, params, headers: proof.headers }, what, signal);
  const code = readCode(http, query, json);
  if (code) return code;
  const said = isJsonObject(json) && typeof json["error"] === "string" ? `: ${visible(json["error"])}` : "";
  throw refused(`${visible(issuer)} gave no device code (status ${status}${said})`);
}

function readCode(http: OAuthHttp, { server }: DeviceQuery, json: JsonValue | undefined): DeviceCode | undefined {
  if (!isJsonObject(json)) return undefined;
  const { device_code: deviceCode, user_code: userCode, verification_uri_complete: complete, interval } = json;
  const uri = json["verification_uri"] ?? json["verification_url"]; // the draft's name, which some still use
  if (typeof deviceCode !== "string" || typeof userCode !== "string" || typeof uri !== "string") return undefined;
  const { everyMs, leastMs } = OAUTH_LIMITS.device;
  const seconds = Number(json["expires_in"] ?? Number.NaN);
  const lifeMs = Math.min(Number.isFinite(seconds) ? seconds * 1000 : Number.POSITIVE_INFINITY, OAUTH_LIMITS.loginMs);
  const page = "the page for the device code";
  return {
    deviceCode,
    everyMs: typeof interval === "number" && interval > 0 ? Math.max(interval * 1000, leastMs) : everyMs,
    prompt: {
      server,
      userCode: visible(userCode),
      verificationUri: http.check(uri, page),
      ...defined({ verificationUriComplete: typeof complete === "string" ? http.check(complete, page) : undefined }),
      expiresAtMs: http.world.now() + lifeMs,
    },
  };
}

function refused(text: string): TenonError {
  return new TenonError("mcp.unauthorized", text, { hint: "Try again, or log in with a browser." });
}
