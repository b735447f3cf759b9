// The clients of the lab's server: known beforehand, registered, or described by a document of their own; and their proofs.
import { randomBytes } from "node:crypto";
import { isLoopbackHost } from "../../base/io/net-policy.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { ASSERTION_TYPE, assertionProblem } from "./client-assertion.js";
import {
  type AuthAnswer,
  type AuthParams,
  type AuthServerOptions,
  type ClientAuthMethod,
  type LabClient,
  refusal,
} from "./options.js";

export interface ClientProof {
  readonly params: AuthParams;
  readonly authorization: string | undefined;
  readonly audiences: readonly string[];
  readonly nowMs: number;
}

const METHODS: readonly ClientAuthMethod[] = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"];

export class Clients {
  readonly #registered = new Map<string, LabClient>();
  readonly #seenAssertions = new Set<string>();
  readonly #options: () => AuthServerOptions;

  constructor(options: () => AuthServerOptions) {
    this.#options = options;
  }

  get secrets(): readonly string[] {
    const all = [...this.#registered.values(), ...(this.#options().clients ?? [])];
    return all.flatMap(({ clientSecret }) => (clientSecret === undefined ? [] : [clientSecret]));
  }

  find(clientId: string): LabClient | undefined {
    const { clients = [], clientDocuments = {} } = this.#options();
    const known = clients.find((client) => client.clientId === clientId) ?? this.#registered.get(clientId);
    const document = Object.hasOwn(clientDocuments, clientId) ? clientDocuments[clientId] : undefined;
    return known ?? (document && clientOf(clientId, document));
  }

  /** As after a server that lost its database: registered clients are unknown. */
  forget(): void {
    this.#registered.clear();
  }

  register(json: JsonObject | undefined): AuthAnswer {
    const { registration = "open" } = this.#options();
    if (registration === "none") return { status: 404, error: "no_registration" };
    if (!json) return refusal("invalid_client_metadata", "the body is no JSON object");
    const redirectUris = textsOf(json["redirect_uris"]);
    const grants = textsOf(json["grant_types"]);
    const needsRedirect = grants.length === 0 || grants.includes("authorization_code");
    if (needsRedirect && redirectUris.length === 0) return refusal("invalid_redirect_uri", "no redirect_uris");
    const asked = METHODS.find((method) => method === json["token_endpoint_auth_method"]);
    const authMethod =
      registration === "secret" && (asked ?? "none") === "none" ? "client_secret_basic" : (asked ?? "none");
    const clientId = `client-${randomBytes(8).toString("hex")}`;
    const secret = authMethod.startsWith("client_secret")
      ? `secret-${randomBytes(16).toString("base64url")}`
      : undefined;
    this.#registered.set(clientId, {
      clientId,
      redirectUris,
      authMethod,
      ...(secret !== undefined && { clientSecret: secret }),
    });
    const body = {
      ...json,
      client_id: clientId,
      token_endpoint_auth_method: authMethod,
      ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
    };
    return { status: 201, body };
  }

  /** The client that sent a request to the token endpoint, or why it is not believed. */
  authenticate(proof: ClientProof): LabClient | AuthAnswer {
    const { params } = proof;
    const basic = basicOf(proof.authorization);
    const assertion = params["client_assertion"];
    const clientId = basic?.user ?? params["client_id"] ?? subjectOf(assertion);
    const client = clientId === undefined ? undefined : this.find(clientId);
    if (!client) return refusal("invalid_client", `no client "${clientId ?? ""}"`, 401);
    const expected = client.authMethod ?? (client.clientSecret === undefined ? "none" : "client_secret_basic");
    const used = usedMethod(basic !== undefined, params);
    if (used !== expected) return refusal("invalid_client", `the client used ${used} instead of ${expected}`, 401);
    if (used === "private_key_jwt") return this.#believe(client, assertion ?? "", proof);
    const secret = basic?.password ?? params["client_secret"];
    if (used !== "none" && secret !== client.clientSecret) return refusal("invalid_client", "the secret is wrong", 401);
    return client;
  }

  #believe(client: LabClient, assertion: string, { params, audiences, nowMs }: ClientProof): LabClient | AuthAnswer {
    const { clientId, publicKey } = client;
    if (params["client_assertion_type"] !== ASSERTION_TYPE)
      return refusal("invalid_client", "client_assertion_type is wrong", 401);
    if (publicKey === undefined) return refusal("invalid_client", "the client has no public key", 401);
    const rules = { clientId, publicKey, audiences, nowMs, seen: this.#seenAssertions };
    const problem = assertionProblem(assertion, rules);
    return problem === undefined ? client : refusal("invalid_client", problem, 401);
  }
}

export function isClient(found: LabClient | AuthAnswer): found is LabClient {
  return "clientId" in found;
}

/** Exactly one of those registered, but for the port of a loopback address. */
export function mayRedirect(client: LabClient, uri: string): boolean {
  if (client.redirectUris === undefined) return URL.canParse(uri);
  return client.redirectUris.some((registered) => registered === uri || portless(registered) === portless(uri));
}

function portless(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !isLoopbackHost(url.hostname)) return text;
  url.port = "";
  return url.href;
}

function clientOf(clientId: string, document: JsonObject): LabClient {
  const method = METHODS.find((name) => name === document["token_endpoint_auth_method"]);
  return { clientId, redirectUris: textsOf(document["redirect_uris"]), authMethod: method ?? "none" };
}

function usedMethod(hasBasic: boolean, params: AuthParams): ClientAuthMethod {
  if (hasBasic) return "client_secret_basic";
  if (params["client_assertion"] !== undefined) return "private_key_jwt";
  return params["client_secret"] === undefined ? "none" : "client_secret_post";
}

function basicOf(header: string | undefined): { readonly user: string; readonly password: string } | undefined {
  const [, encoded] = /^Basic (.+)$/iu.exec(header ?? "") ?? [];
  if (encoded === undefined) return undefined;
  const [user = "", ...password] = Buffer.from(encoded, "base64").toString("utf8").split(":");
  return { user: decodeURIComponent(user), password: decodeURIComponent(password.join(":")) };
}

function subjectOf(assertion: string | undefined): string | undefined {
  const [, body = ""] = assertion?.split(".") ?? [];
  return /"sub":"([^"]+)"/u.exec(Buffer.from(body, "base64url").toString("utf8"))?.[1];
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}
