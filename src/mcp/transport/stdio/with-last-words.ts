// An error about a server, with what the server itself said last on its stderr: that is where most write what is wrong.
import { TenonError } from "../../../base/errors.js";

/** As it is where there is nothing to add, or its words are in it already. */
export function withLastWords(error: TenonError, stderrTail: string): TenonError {
  const { code, message, hint, retryAfterMs } = error;
  if (stderrTail === "" || message.includes(stderrTail)) return error;
  const patience = retryAfterMs === undefined ? {} : { retryAfterMs };
  return new TenonError(code, `${message}; its stderr ends: ${stderrTail}`, { cause: error, hint, ...patience });
}
