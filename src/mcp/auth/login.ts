// Logging in to a remote server and out again, for whoever a person asks to.
import type { World } from "../../base/ports/world.js";
import type { RemoteSpec } from "../spec.js";
import type { GrantKey, OAuthOptions } from "./port.js";

export interface LoginOptions {
  readonly world: World;
  /** With the way to the person in it; a log-in without a person needs none. */
  readonly oauth: OAuthOptions;
  /** As in the connection's options. */
  readonly allowHosts?: readonly string[];
  readonly urlSource?: "typed" | "project";
}

export interface LoggedIn {
  readonly key: GrantKey;
  readonly scope?: string;
  readonly expiresAtMs?: number;
  /** Whether it renews itself without the person. */
  readonly isRenewable: boolean;
}

export interface LogoutOptions extends Omit<LoginOptions, "oauth"> {
  readonly oauth: Omit<OAuthOptions, "way">;
}

/** What became of each log-in that was kept for the server. */
export interface LoggedOut {
  readonly key: GrantKey;
  /** Whether the authorization server was told: it may offer no way, or be out of reach. The grant is gone from here either way. */
  readonly revocation: "done" | "not_offered" | "failed";
  /** Why it failed. */
  readonly reason?: string;
}

/**
 * Rejects with `mcp.unauthorized` when it came to nothing, `mcp.url_refused` when the server's metadata leads where it may
 * not, `mcp.unavailable` or `mcp.protocol` when its servers fail, `cancelled` with the signal.
 */
export async function login(spec: RemoteSpec, options: LoginOptions, signal: AbortSignal): Promise<LoggedIn> {
  const { logIn } = await import("./flow.js");
  return await logIn(spec, options, signal);
}

/** Forgets every log-in of this account at the server, and has each revoked where that is offered. None is not an error. */
export async function logout(
  spec: RemoteSpec,
  options: LogoutOptions,
  signal: AbortSignal,
): Promise<readonly LoggedOut[]> {
  const { logOut } = await import("./revoke.js");
  return await logOut(spec, options, signal);
}
