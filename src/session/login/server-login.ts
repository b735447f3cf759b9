// What logging in to one server of a session needs: whose log-ins it may use, and where its pages may lead.
import { defined } from "../../base/json/defined.js";
import { grantAccount } from "../../config/index.js";
import type { GrantStore, LoginOptions, OAuthSettings, RemoteSpec, ServerSpec } from "../../mcp/index.js";
import type { ToolOrigin } from "../../tools/index.js";

/** What is known of a server's log-in before it is opened. */
export interface LoginSettings {
  /** In its grants' keys. */
  readonly account: string;
  /** Whose log-in at an identity provider; the account's own unless given. */
  readonly person?: string;
  readonly settings: OAuthSettings;
}

export type ServerLogin = Omit<LoginOptions, "world">;

export interface LoginSubject extends Pick<ServerLogin, "allowHosts" | "urlSource"> {
  readonly spec: ServerSpec;
  readonly origin: ToolOrigin;
  readonly login?: LoginSettings | undefined;
}

/** Undefined for a server one cannot log in to: it is local, or its entry says with which token it is called. */
export function serverLogin(subject: LoginSubject, store: GrantStore | undefined): ServerLogin | undefined {
  const { spec, origin, login, allowHosts, urlSource } = subject;
  if (!store || !isLogInable(spec)) return undefined;
  const mine = origin === "user" || origin === "project" ? origin : "client";
  const known: LoginSettings = login ?? { account: grantAccount({ origin: mine }), settings: {} };
  return {
    oauth: { ...known, store, command: loginCommand(spec, origin) },
    ...defined({ allowHosts, urlSource: urlSource || undefined }),
  };
}

/**
 * What logs in on the command line. An editor's servers stand in no file of ours: they go by their address, but for its
 * query: that may hold a key, and the words go to the model and the journal.
 */
export function loginCommand(spec: ServerSpec, origin: ToolOrigin): string {
  const isConfigured = origin === "user" || origin === "project";
  const subject = !isConfigured && "url" in spec ? spec.url.replace(/[?#].*$/su, "?…") : spec.name;
  return `tenon mcp login ${/^[\w.:/-]+$/u.test(subject) ? subject : JSON.stringify(subject)}`;
}

/** A remote server that is not given its credentials otherwise. */
export function isLogInable(spec: ServerSpec): spec is RemoteSpec {
  if (spec.kind !== "http" && spec.kind !== "sse") return false;
  const hasHeader = Object.keys(spec.headers).some((name) => name.toLowerCase() === "authorization");
  return spec.auth === undefined && !hasHeader;
}
