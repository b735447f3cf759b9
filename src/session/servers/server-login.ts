// The log-in options of one server of a session: whose log-ins it may use, and which addresses are allowed.
import { defined } from "../../base/json/defined.js";
import { grantAccount } from "../../config/index.js";
import type { GrantStore, LoginOptions, OAuthSettings, RemoteSpec, ServerSpec } from "../../mcp/index.js";
import type { ToolOrigin } from "../../tools/index.js";
import type { WantedServer } from "./entry.js";

/** The log-in settings of a server entry. */
export interface LoginSettings {
  /** The account in its grant keys. */
  readonly account: string;
  /** The account at the identity provider; `account` unless given. */
  readonly person?: string;
  readonly settings: OAuthSettings;
}

export type ServerLogin = Omit<LoginOptions, "world">;

/** Undefined for a server without log-in: it is local, or its entry has a token. */
export function serverLogin(
  { spec, origin, login, settings = {} }: WantedServer,
  store: GrantStore | undefined,
): ServerLogin | undefined {
  if (!store || !isLogInable(spec)) return undefined;
  const { allowHosts } = settings;
  const urlSource = spec.mustBePublic === true ? "project" : settings.urlSource;
  const mine = origin === "user" || origin === "project" ? origin : "client";
  const known: LoginSettings = login ?? { account: grantAccount({ origin: mine }), settings: {} };
  return {
    oauth: { ...known, store, command: loginCommand(spec, origin) },
    ...defined({ allowHosts, urlSource }),
  };
}

/**
 * The command that logs in. Servers of an editor are not in the configuration, so they are named by their address, without
 * its query: that may hold a key, and the text reaches the model and the journal.
 */
export function loginCommand(spec: ServerSpec, origin: ToolOrigin): string {
  const isConfigured = origin === "user" || origin === "project";
  const subject = !isConfigured && "url" in spec ? spec.url.replace(/[?#].*$/su, "?…") : spec.name;
  return `tenon mcp login ${/^[\w.:/-]+$/u.test(subject) ? subject : JSON.stringify(subject)}`;
}

/** A remote server without credentials in its entry. */
export function isLogInable(spec: ServerSpec): spec is RemoteSpec {
  if (spec.kind !== "http" && spec.kind !== "sse") return false;
  const hasHeader = Object.keys(spec.headers).some((name) => name.toLowerCase() === "authorization");
  return spec.auth === undefined && !hasHeader;
}
