// Logging in to remote servers and out again. The protocol is loaded with the first log-in.
import { messageOf, type TenonError } from "../../base/errors.js";
import type { World } from "../../base/ports/world.js";
import { isRemote, type RemoteSpec, type ServerSpec } from "../spec.js";
import {
  type LoggedIn,
  type LoggedOut,
  type LoginOptions,
  type LogoutOptions,
  type OAuthOptions,
  resourceOf,
} from "./port.js";

/**
 * Rejects with `mcp.unauthorized` if the log-in was refused, `mcp.url_refused` if metadata names a forbidden address,
 * `mcp.unavailable` or `mcp.protocol` if a server fails, `cancelled` with the signal.
 */
export async function login(spec: RemoteSpec, options: LoginOptions, signal: AbortSignal): Promise<LoggedIn> {
  const { logIn } = await import("./flow.js");
  return await logIn(spec, options, signal);
}

/** Removes every log-in of this account at the server, and has each revoked if offered. None is not an error. */
export async function logout(
  spec: RemoteSpec,
  options: LogoutOptions,
  signal: AbortSignal,
): Promise<readonly LoggedOut[]> {
  const { logOut } = await import("./logout.js");
  return await logOut(spec, options, signal);
}

/** The part of a connection's options that log-ins need. */
export interface LoginWatch {
  readonly world: World;
  readonly oauth?: OAuthOptions;
}

/** Calls `onChange` when a log-in may have appeared, until disposed of. Undefined if a log-in would not help. */
export function watchForLogin(
  spec: ServerSpec,
  { oauth }: LoginWatch,
  { cause, onChange }: { readonly cause: TenonError | undefined; readonly onChange: () => void },
): Disposable | undefined {
  const resource = resourceToLogIn(spec, oauth, cause);
  if (!oauth?.store.watch || resource === undefined) return undefined;
  const watch = oauth.store.watch(resource, oauth.account, onChange);
  return { [Symbol.dispose]: () => watch.close() };
}

/** Whether a log-in exists now for a server that refused the connection. Never rejects. */
export async function hasLogin(spec: ServerSpec, options: LoginWatch, cause: TenonError): Promise<boolean> {
  const { oauth, world } = options;
  const resource = resourceToLogIn(spec, oauth, cause);
  if (!oauth || resource === undefined) return false;
  try {
    return (await oauth.store.find(resource, oauth.account)).length > 0;
  } catch (thrown) {
    world.log.warn("oauth.unread", { server: spec.name, error: messageOf(thrown) });
    return false;
  }
}

function resourceToLogIn(
  spec: ServerSpec,
  oauth: OAuthOptions | undefined,
  cause: TenonError | undefined,
): string | undefined {
  const needsLogin = oauth !== undefined && cause?.code === "mcp.unauthorized" && isRemote(spec);
  return needsLogin ? resourceOf(spec.url) : undefined;
}
