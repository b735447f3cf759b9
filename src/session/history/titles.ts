// Titles people gave their sessions: each in a file beside its journal, so that a listing need not read all of that.
import { join } from "node:path";
import { TenonError } from "../../base/errors.js";
import type { SessionId } from "../../base/id.js";
import { markForeign } from "../../base/text/marking.js";
import { SESSION_LIMITS } from "../limits.js";

export const TITLE_EXTENSION = ".title";

export function titleFile(folder: string, id: SessionId): string {
  return join(folder, `${id}${TITLE_EXTENSION}`);
}

/** On one line, and not longer than a list has room for. Throws `session.invalid_request` when nothing is left of it. */
export function givenTitle(words: string): string {
  const line = markForeign(words).replaceAll(/\s+/gu, " ").trim();
  if (line === "") throw new TenonError("session.invalid_request", "the title is empty");
  const characters = Array.from(line);
  if (characters.length <= SESSION_LIMITS.journal.titleChars) return line;
  return `${characters.slice(0, SESSION_LIMITS.journal.titleChars).join("").trimEnd()}…`;
}
