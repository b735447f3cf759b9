// The page a person is sent to: checks the request as a strict server does, approves at once, and goes back with a code.
import { createHash, randomBytes } from "node:crypto";
import { type Clients, mayRedirect } from "./clients.js";
import { type AuthAnswer, type AuthParams, type AuthServerOptions, type LabClient, refusal } from "./options.js";
import type { Permit } from "./tokens.js";

interface Code extends Permit {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly family: number;
  isUsed: boolean;
}

export interface CodeUse {
  readonly code: string | undefined;
  readonly client: LabClient;
  readonly redirectUri: string | undefined;
  readonly verifier: string | undefined;
  readonly resource: string | undefined;
}

const CHALLENGE = /^[A-Za-z0-9_-]{43}$/u;
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/u;

export class Codes {
  readonly #codes = new Map<string, Code>();
  readonly #verifiers: string[] = [];

  /** Codes and what proved them: secrets, all of them. */
  get secrets(): readonly string[] {
    return [...this.#codes.keys(), ...this.#verifiers];
  }

  give(permit: Permit, family: number, redirectUri: string, challenge: string): string {
    const code = `code-${randomBytes(18).toString("base64url")}`;
    this.#codes.set(code, { ...permit, family, redirectUri, challenge, isUsed: false });
    return code;
  }

  /** What the code stands for, or what is wrong; `again` when it was used before. */
  take(use: CodeUse): Code | { readonly why: string; readonly again?: number } {
    const code = use.code === undefined ? undefined : this.#codes.get(use.code);
    if (use.verifier !== undefined) this.#verifiers.push(use.verifier);
    if (!code) return { why: "the code is unknown" };
    if (code.isUsed) return { why: "the code has been used before", again: code.family };
    code.isUsed = true;
    if (code.clientId !== use.client.clientId) return { why: "the code was given to another client" };
    if (code.redirectUri !== use.redirectUri) return { why: "redirect_uri is not that of the authorization" };
    if (use.verifier === undefined || !VERIFIER.test(use.verifier))
      return { why: "code_verifier is missing or malformed" };
    const hash = createHash("sha256").update(use.verifier).digest("base64url");
    if (hash !== code.challenge) return { why: "code_verifier does not fit the challenge" };
    if (code.resource !== use.resource)
      return { why: `resource is ${use.resource}, the authorization was for ${code.resource}` };
    return code;
  }
}

export interface AuthorizeContext {
  readonly options: AuthServerOptions;
  readonly issuer: string;
  readonly clients: Clients;
  readonly codes: Codes;
  newFamily(): number;
}

export function authorize(params: AuthParams, context: AuthorizeContext): AuthAnswer {
  const { options, clients, codes, issuer } = context;
  const { client_id: clientId = "", redirect_uri: redirectUri = "", code_challenge: challenge = "", state } = params;
  const client = clients.find(clientId);
  // Without these two it is not safe to send anybody anywhere.
  if (!client) return refusal("invalid_client", `no client "${clientId}"`);
  if (!mayRedirect(client, redirectUri))
    return refusal("invalid_request", `redirect_uri "${redirectUri}" is not registered`);
  const back = (
    answer: Record<string, string>,
    error?: { readonly error: string; readonly detail: string },
  ): AuthAnswer => {
    const url = new URL(redirectUri);
    const { iss = "right" } = options;
    if (state !== undefined) url.searchParams.set("state", state);
    if (iss !== "missing") url.searchParams.set("iss", iss === "right" ? issuer : iss);
    for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value);
    return { status: 302, headers: { location: url.href }, ...error };
  };
  const problem = requestProblem(params, options);
  if (problem) return back({ error: problem.error, error_description: problem.detail }, problem);
  if (options.denies) return back({ error: "access_denied" }, { error: "access_denied", detail: "the person said no" });
  const { account = "alice" } = options;
  const permit = { account, clientId, scopes: grantedScopes(params["scope"], options), resource: params["resource"] };
  return back({ code: codes.give(permit, context.newFamily(), redirectUri, challenge) });
}

function requestProblem(params: AuthParams, options: AuthServerOptions): { error: string; detail: string } | undefined {
  const { response_type: type, code_challenge_method: method, code_challenge: challenge = "" } = params;
  if (type !== "code") return { error: "unsupported_response_type", detail: `response_type is ${type}` };
  if (method !== "S256") return { error: "invalid_request", detail: `code_challenge_method is ${method}, not S256` };
  if (!CHALLENGE.test(challenge)) return { error: "invalid_request", detail: "code_challenge is missing or malformed" };
  const resource = resourceProblem(params["resource"], options);
  return resource === undefined ? undefined : { error: "invalid_target", detail: resource };
}

export function resourceProblem(resource: string | undefined, options: AuthServerOptions): string | undefined {
  const { requiresResource = true, resources } = options;
  if (resource === undefined) return requiresResource ? "the request names no resource" : undefined;
  return resources && !resources.includes(resource) ? `no tokens are given for "${resource}"` : undefined;
}

export function grantedScopes(asked: string | undefined, { scopes }: AuthServerOptions): readonly string[] {
  const words = (asked ?? "").split(" ").filter((word) => word !== "");
  return scopes ? words.filter((word) => scopes.includes(word)) : words;
}
