// What people and models read when a server lets nobody in: what is missing, and which command brings it.
import { TenonError, toTenonError } from "../../base/errors.js";
import type { Challenge } from "../transport/http/request-access.js";
import { loginCommand, visible } from "./words.js";

/** Whom one is to log in to, and the command for it where that is not by its name. */
export interface Denied {
  readonly name: string;
  readonly command?: string | undefined;
}

interface Refused {
  readonly status: number;
  readonly challenge: Challenge | undefined;
}

/** A log-in that no longer works. */
export interface Ended {
  readonly issuer: string;
  readonly why: string | undefined;
}

export function deniedLogin(server: Denied, refused: Refused, ended: Ended | undefined): TenonError {
  const said = wordsOf(refused);
  if (!ended) return denial(server, `the server wants a log-in (${said})`);
  const { issuer, why } = ended;
  const cause = why === undefined ? said : `${said}; it could not be renewed: ${why}`;
  return denial(server, `the log-in at ${visible(issuer)} has expired or was revoked (${cause})`);
}

export function deniedScope(server: Denied, scope: string | undefined): TenonError {
  const what = scope === undefined ? "a right the server does not name" : `the scope "${visible(scope)}"`;
  return denial(server, `the log-in lacks ${what}, which this needs (403 Forbidden)`);
}

/** A log-in that was begun and came to nothing. */
export function unfinished(server: Denied, thrown: unknown): TenonError {
  const error = toTenonError(thrown, "mcp.unauthorized");
  if (error.code === "cancelled") return denial(server, "the log-in was not finished");
  return new TenonError(error.code, `logging in failed: ${error.message}`, { cause: error, hint: error.hint });
}

/** The command stands in the message too: of a failed call, that is all a model is given. */
function denial({ name, command = loginCommand(name) }: Denied, text: string): TenonError {
  return new TenonError("mcp.unauthorized", `${text}; log in with \`${command}\``, {
    hint: `Log in with \`${command}\`; the next call then works.`,
  });
}

function wordsOf({ status, challenge }: Refused): string {
  const { error, errorDescription } = challenge ?? {};
  const line = status === 403 ? "403 Forbidden" : "401 Unauthorized";
  const words = [error, errorDescription].filter((word) => word !== undefined).join(": ");
  return words === "" ? line : `${line}, ${visible(words)}`;
}
