// Tokens for programs that act for themselves: client credentials, or an assertion they were given. No person is needed.
import { TenonError } from "../../base/errors.js";
import type { OAuthHttp } from "./http.js";
import { JWT_BEARER, requestToken, type TokenRequest, type Tokens } from "./token.js";

export interface MachineQuery extends Omit<TokenRequest, "params"> {
  readonly scope: string | undefined;
  readonly resourceIndicator: string | undefined;
}

/** Asked once: what refuses a machine's credentials refuses them again. */
export async function machineTokens(http: OAuthHttp, query: MachineQuery, signal: AbortSignal): Promise<Tokens> {
  const { settings, scope, resourceIndicator: resource } = query;
  const params =
    settings.grant === "jwt_bearer"
      ? { grant_type: JWT_BEARER, assertion: settings.assertion, scope, resource }
      : { grant_type: "client_credentials", scope, resource };
  const answer = await requestToken(http, { ...query, params }, signal);
  if (answer.kind === "tokens") return answer.tokens;
  const text = `the authorization server refused the client's own credentials: ${answer.words}`;
  throw new TenonError("mcp.unauthorized", text, { hint: "Check the oauth settings of the server." });
}
