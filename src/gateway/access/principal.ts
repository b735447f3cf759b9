// Whose connection it is, and what each method needs. Assigned by the gateway before anything of the client is read.
import { createHmac, timingSafeEqual } from "node:crypto";
import { sep } from "node:path";
import { TenonError } from "../../base/errors.js";
import { uuidV7 } from "../../base/id.js";
import { isJsonObject, type JsonValue } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import type { Scope } from "../protocol.js";

export const SCOPES: readonly Scope[] = ["read", "prompt", "approve", "tools", "admin"];

export interface Principal {
  readonly account: string;
  readonly scopes: ReadonlySet<Scope>;
  /** For people: the name of the token, or "this machine". */
  readonly name: string;
  /** Undefined for the user of this machine. */
  readonly tokenId?: string;
  /** Of a browser: the token that let it in. They have their limits together. */
  readonly parentId?: string;
  /** Over the unix socket: the same user of the same machine. */
  readonly isLocal: boolean;
  /** Milliseconds since the epoch; the connection ends then. */
  readonly expiresAt?: number;
}

/** The user of the machine, whose sessions are those of `tenon acp` too. */
export const OWN_ACCOUNT = "me";

/** Over the unix socket. */
export const LOCAL_PRINCIPAL: Principal = {
  account: OWN_ACCOUNT,
  scopes: new Set(SCOPES),
  name: "this machine",
  isLocal: true,
};

/** Safe as the name of a folder. */
export function isAccountName(text: string): boolean {
  return /^[a-z0-9][a-z0-9._-]{0,63}$/u.test(text);
}

const METHODS: Readonly<Record<Scope, readonly string[]>> = {
  read: [
    ...["initialize", "authenticate", "logout", "session/list", "session/load", "session/resume", "session/close"],
    ...["session/status", "_tenon/mcp/status", "_tenon/session/view", "_tenon/session/records", "_tenon/session/tools"],
    ...["_tenon/gateway/watch", "_tenon/gateway/status", "$/cancel_request"],
  ],
  prompt: [
    ...["session/new", "session/prompt", "session/cancel", "session/fork", "session/set_mode"],
    ...["session/set_config_option", "session/set_title", "session/delete"],
  ],
  approve: ["_tenon/question/answer"],
  tools: [
    ...["_tenon/session/set_mcp_servers", "_tenon/session/set_tools", "mcp/message", "_tenon/tool/progress"],
    ...["_tenon/session/call_tool", "_tenon/mcp/restart", "_tenon/mcp/login"],
  ],
  admin: ["_tenon/gateway/tokens", "_tenon/gateway/page", "_tenon/gateway/stop"],
};

const CALL_TOOL = "_tenon/session/call_tool";

const SCOPE_OF = new Map(SCOPES.flatMap((scope) => METHODS[scope].map((method) => [method, scope] as const)));

export function isMethod(name: string): boolean {
  return SCOPE_OF.has(name);
}

/** Every method needs a scope: one that is not listed needs `admin`, so that a new one is closed until it is listed. */
export function scopesOf(method: string, params: JsonValue | undefined): readonly Scope[] {
  const own = SCOPE_OF.get(method) ?? "admin";
  const servers = isJsonObject(params) ? params["mcpServers"] : undefined;
  const hasServers = Array.isArray(servers) ? servers.length > 0 : servers !== undefined && servers !== null;
  if (method === CALL_TOOL) return [own, "prompt"]; // it is a turn
  return hasServers && own !== "tools" ? [own, "tools"] : [own];
}

/** Why a principal may not call a method, for the client; undefined when it may. */
export function denial(principal: Principal, method: string, params: JsonValue | undefined): TenonError | undefined {
  const missing = scopesOf(method, params).find((scope) => !principal.scopes.has(scope));
  if (missing !== undefined) {
    const what = missing === "tools" && SCOPE_OF.get(method) !== "tools" ? `${method} with servers` : method;
    return new TenonError("access.denied", `${what} needs the scope "${missing}", which this token does not have`, {
      hint: `Use a token with it: tenon gateway token create NAME --scopes ${[...principal.scopes, missing].join(",")}`,
    });
  }
  if (method === "initialize" && !principal.isLocal && hasEnvironment(params)) {
    return new TenonError("access.denied", "an environment is taken over the unix socket of this machine only", {
      hint: "Leave _meta.tenon.env out.",
    });
  }
  return undefined;
}

function hasEnvironment(params: JsonValue | undefined): boolean {
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  const ours = isJsonObject(meta) ? meta["tenon"] : undefined;
  return isJsonObject(ours) && ours["env"] !== undefined;
}

/**
 * The real path of a directory that a session may be in: below one of the roots after all links, or anywhere when there are none.
 * Throws `session.invalid_request`. The session must use what is returned: a link may lead elsewhere a moment later.
 */
export async function allowedDirectory(world: World, path: string, roots: readonly string[]): Promise<string> {
  const fail = (why: string): never => {
    const where = roots.length === 0 ? "" : `; sessions may be in ${roots.join(", ")}`;
    throw new TenonError("session.invalid_request", `${path} ${why} on this machine${where}`, {
      hint: "Give a directory of the machine that the gateway runs on.",
    });
  };
  const found = await world.files.find(path).catch(() => undefined);
  if (found?.kind !== "folder") return fail(found ? "is no directory" : "is not there");
  if (roots.length === 0) return found.realPath;
  for (const root of roots) {
    const real = (await world.files.find(root).catch(() => undefined))?.realPath;
    if (real !== undefined && (found.realPath === real || found.realPath.startsWith(withSeparator(real))))
      return found.realPath;
  }
  return fail("is outside of the directories that are allowed");
}

function withSeparator(folder: string): string {
  return folder.endsWith(sep) ? folder : folder + sep;
}

/**
 * Ids of clients with a secret key each, so that a client takes up its identity after a reconnect, also after a restart of the
 * gateway. The key is computed from a secret of this gateway: nothing is kept for a client.
 */
export class ClientKeys {
  readonly #world: Pick<World, "now" | "randomBytes">;
  readonly #secret: string;

  /** The secret is the same at every gateway that shares a store. */
  constructor(world: Pick<World, "now" | "randomBytes">, secret: string) {
    this.#world = world;
    this.#secret = secret;
  }

  issue(account: string): { readonly id: string; readonly key: string } {
    const id = uuidV7(this.#world.now(), (bytes) => this.#world.randomBytes(bytes));
    return { id, key: this.#keyOf(account, id) };
  }

  /** False for an id or a key of another account, and for any that were not issued here. */
  isIssued(account: string, id: string, key: string): boolean {
    const [expected, given] = [Buffer.from(this.#keyOf(account, id)), Buffer.from(key)];
    return expected.length === given.length && timingSafeEqual(expected, given);
  }

  #keyOf(account: string, id: string): string {
    return createHmac("sha256", this.#secret).update(`${account}\n${id}`).digest("base64url");
  }
}
