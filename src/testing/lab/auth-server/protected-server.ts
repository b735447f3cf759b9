// An MCP server over HTTP that requires an access token for every request, and more scopes for some tools.
import type { IncomingMessage, ServerResponse } from "node:http";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../../base/json/json.js";
import type { Behaviour, ToolScript } from "../../kit/mcp-server/behaviour.js";
import { echoTool } from "../../kit/mcp-server/behaviour.js";
import { type HttpServerOptions, type ScriptedHttpServer, scriptedHttpServer } from "../../kit/mcp-server/http.js";
import type { LabPlace } from "./options.js";
import type { AuthServer } from "./server.js";
import type { TokenFacts } from "./tokens.js";

export interface ProtectedServerOptions extends LabPlace {
  /** Whose tokens it takes; all of them are named in its metadata. */
  readonly authServers: readonly AuthServer[];
  /** What it offers besides `whoami`; a tool that echoes when left out. */
  readonly behaviour?: Behaviour;
  readonly http?: Omit<HttpServerOptions, "gate" | "bearer">;
  /** What every request needs. Nothing but a token when left out. */
  readonly scopes?: readonly string[];
  /** What a call of that tool needs besides. */
  readonly toolScopes?: Readonly<Record<string, readonly string[]>>;
  /** Whether a challenge names the scopes it wants. True when left out. */
  readonly challengesScope?: boolean;
  /** Where its metadata is found: below its path, at the root, or nowhere. `path` when left out. */
  readonly metadataAt?: "path" | "root" | "nowhere";
  /** The `resource_metadata` of challenges: left out for the true one, null for none. */
  readonly metadataUrl?: string | null;
  /** Laid over its metadata; null takes a field away. */
  readonly metadata?: JsonObject;
  /** Accepts tokens for any resource, as careless servers do. */
  readonly takesAnyResource?: boolean;
}

/** A call that was let through, with the token it came with. */
export interface Admission {
  readonly account: string;
  readonly token: string;
  readonly scopes: readonly string[];
  readonly method: string | undefined;
  readonly tool: string | undefined;
}

export interface Turned {
  readonly status: number;
  readonly why: string;
  readonly tool: string | undefined;
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";
const WHOAMI: ToolScript = {
  name: "whoami",
  description: "Says whose account the token is for (whoami).",
  reply: { kind: "text", text: "nobody" },
};

export class ProtectedServer implements AsyncDisposable {
  readonly admissions: Admission[] = [];
  /** The refused requests. */
  readonly turned: Turned[] = [];
  readonly http: ScriptedHttpServer;
  #options: ProtectedServerOptions;

  constructor(http: ScriptedHttpServer, options: ProtectedServerOptions) {
    this.http = http;
    this.#options = options;
  }

  /** Where clients connect to, and the resource tokens are for. */
  get url(): string {
    const url = new URL(this.http.url);
    if (this.#options.hostname !== undefined) url.hostname = this.#options.hostname;
    return url.href;
  }

  /** `host:port`, for `allowHosts`. */
  get host(): string {
    return new URL(this.url).host;
  }

  get origin(): string {
    return new URL(this.url).origin;
  }

  get metadataUrl(): string {
    const { metadataAt = "path" } = this.#options;
    return `${this.origin}${WELL_KNOWN}${metadataAt === "path" ? new URL(this.url).pathname : ""}`;
  }

  script(changes: Partial<ProtectedServerOptions>): void {
    this.#options = { ...this.#options, ...changes };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.http[Symbol.asyncDispose]();
  }

  /** For the gate: true when the request has been answered here. */
  answers(request: IncomingMessage, response: ServerResponse, message: JsonObject | undefined): boolean {
    const { pathname } = new URL(request.url ?? "/", this.origin);
    if (pathname.startsWith(WELL_KNOWN)) return this.#tell(pathname, response);
    const params = isJsonObject(message?.["params"]) ? message["params"] : {};
    const isCall = message?.["method"] === "tools/call";
    const tool = isCall && typeof params["name"] === "string" ? params["name"] : undefined;
    const found = this.#judge(request.headers.authorization, tool);
    if ("why" in found) {
      this.turned.push({ status: found.status, why: found.why, tool });
      response.writeHead(found.status, { "www-authenticate": found.challenge, "content-type": "text/plain" }).end();
      return true;
    }
    const { account, token, scopes } = found;
    const method = typeof message?.["method"] === "string" ? message["method"] : undefined;
    this.admissions.push({ account, token, scopes, method, tool });
    if (tool !== WHOAMI.name) return false;
    const isModern = isJsonObject(params["_meta"]) && "io.modelcontextprotocol/protocolVersion" in params["_meta"];
    const result = {
      content: [{ type: "text", text: `you are ${account}` }],
      ...(isModern && { resultType: "complete" }),
    };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message?.["id"] ?? null, result }));
    return true;
  }

  #tell(pathname: string, response: ServerResponse): boolean {
    const { metadataAt = "path", metadata = {}, authServers, scopes } = this.#options;
    const isHere = metadataAt !== "nowhere" && `${this.origin}${pathname}` === this.metadataUrl;
    if (!isHere) {
      response.writeHead(404).end();
      return true;
    }
    const said = {
      resource: this.url,
      authorization_servers: authServers.map(({ issuer }) => issuer),
      bearer_methods_supported: ["header"],
      ...defined({ scopes_supported: scopes }),
      ...metadata,
    };
    const body = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null));
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    return true;
  }

  #judge(
    authorization: string | undefined,
    tool: string | undefined,
  ): TokenFacts | { readonly status: number; readonly why: string; readonly challenge: string } {
    const { authServers, takesAnyResource = false, scopes = [], toolScopes = {} } = this.#options;
    const [, token] = /^Bearer (.+)$/u.exec(authorization ?? "") ?? [];
    const extra = (tool !== undefined && Object.hasOwn(toolScopes, tool) && toolScopes[tool]) || [];
    const wanted = [...scopes, ...extra];
    const turn = (status: number, why: string, error?: string) => ({
      status,
      why,
      challenge: this.#challenge(wanted, error),
    });
    if (token === undefined) return turn(401, "no token");
    const facts = authServers.map((server) => server.endpoints.tokens.find(token)).find((found) => found !== undefined);
    if (facts?.kind !== "access") return turn(401, "the token is unknown", "invalid_token");
    if (facts.state !== "active") return turn(401, `the token is ${facts.state}`, "invalid_token");
    if (!takesAnyResource && facts.resource !== undefined && facts.resource !== this.url)
      return turn(401, `the token is for ${facts.resource}`, "invalid_token");
    const missing = wanted.filter((scope) => !facts.scopes.includes(scope));
    return missing.length === 0 ? facts : turn(403, `the token lacks ${missing.join(" ")}`, "insufficient_scope");
  }

  #challenge(scopes: readonly string[], error: string | undefined): string {
    const { metadataUrl, challengesScope = true } = this.#options;
    const parts = defined({
      error,
      resource_metadata: metadataUrl === null ? undefined : (metadataUrl ?? this.metadataUrl),
      scope: challengesScope && scopes.length > 0 ? scopes.join(" ") : undefined,
    });
    const words = Object.entries(parts).map(([name, value]) => `${name}="${value}"`);
    return ["Bearer", words.join(", ")].join(" ").trim();
  }
}

export async function protectedServer(options: ProtectedServerOptions): Promise<ProtectedServer> {
  const { behaviour = { tools: [echoTool()] }, http = {}, address } = options;
  const tools = [...(behaviour.tools ?? []), WHOAMI];
  // The URL is not known yet, so no request arrives before there is a server.
  const behind: { server?: ProtectedServer } = {};
  const gate: HttpServerOptions["gate"] = (...asked) => behind.server?.answers(...asked) ?? false;
  const listening = await scriptedHttpServer({ ...behaviour, tools }, { ...http, gate, ...defined({ address }) });
  behind.server = new ProtectedServer(listening, options);
  return behind.server;
}
