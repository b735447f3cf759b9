// Logging in to remote servers and out again. The protocol is loaded with the first log-in.
import type { RemoteSpec } from "../spec.js";
import type { LoggedIn, LoggedOut, LoginOptions, LogoutOptions } from "./port.js";

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
