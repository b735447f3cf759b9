// Error messages about log-ins for people and models: what is missing, and the command that logs in.
import { TenonError, toTenonError } from "../../base/errors.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import { visibleText } from "../transport/http/refusal.js";
import type { Challenge } from "../transport/http/request-access.js";

export function visible(text: string): string {
  return visibleText(text, OAUTH_LIMITS.wordsChars);
}

/** The command that logs in. Names are quoted if a shell would split them. */
export function loginCommand(server: string): string {
  return /^[\w.@/-]+$/u.test(server) ? `tenon mcp login ${server}` : `tenon mcp login "${visible(server)}"`;
}

/** A log-in failed in a way that only its author or another attempt can solve. */
export function loginRefused(text: string, hint = "Try again, or tell the author of the server."): TenonError {
  return new TenonError("mcp.unauthorized", text, { hint });
}

/** The server that needs a log-in, with its command if that is not by its name. */
export interface LoginSubject {
  readonly name: string;
  readonly command?: string | undefined;
}

/** A log-in that no longer works. */
export interface EndedLogin {
  readonly issuer: string;
  readonly why: string | undefined;
}

export function loginNeeded(
  server: LoginSubject,
  { status, challenge }: { readonly status: number; readonly challenge: Challenge | undefined },
  ended: EndedLogin | undefined,
): TenonError {
  const { error, errorDescription } = challenge ?? {};
  const line = status === 403 ? "403 Forbidden" : "401 Unauthorized";
  const words = [error, errorDescription].filter((word) => word !== undefined).join(": ");
  const answer = words === "" ? line : `${line}, ${visible(words)}`;
  if (!ended) return withCommand(server, `the server wants a log-in (${answer})`);
  const { issuer, why } = ended;
  const cause = why === undefined ? answer : `${answer}; it could not be renewed: ${why}`;
  return withCommand(server, `the log-in at ${visible(issuer)} has expired or was revoked (${cause})`);
}

export function scopeNeeded(server: LoginSubject, scope: string | undefined): TenonError {
  const missing = scope === undefined ? "a right the server does not name" : `the scope "${visible(scope)}"`;
  return withCommand(server, `the log-in lacks ${missing}, which this needs (403 Forbidden)`);
}

/** A log-in was started and failed or was cancelled. */
export function loginFailed(server: LoginSubject, thrown: unknown): TenonError {
  const error = toTenonError(thrown, "mcp.unauthorized");
  if (error.code === "cancelled") return withCommand(server, "the log-in was not finished");
  return new TenonError(error.code, `logging in failed: ${error.message}`, { cause: error, hint: error.hint });
}

/** The command is in the message too: a model sees only the message of a failed call. */
function withCommand({ name, command = loginCommand(name) }: LoginSubject, text: string): TenonError {
  return new TenonError("mcp.unauthorized", `${text}; log in with \`${command}\``, {
    hint: `Log in with \`${command}\`; the next call then works.`,
  });
}
