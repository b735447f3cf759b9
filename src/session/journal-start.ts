// How a session's journal begins: where it lies, its first line, and the title of the session.

import type { SessionId } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import { type ContentBlock, plainText } from "../base/text/content.js";
import { markForeign } from "../base/text/marking.js";
import type { NoticeLevel } from "./event.js";
import { journalFile } from "./history/stored-sessions.js";
import { headerLine, Journal } from "./journal.js";
import { SESSION_LIMITS } from "./limits.js";
import type { SessionOptions } from "./options.js";

export function openJournal(options: SessionOptions, onNotice: (level: NoticeLevel, text: string) => void): Journal {
  const { world, history } = options;
  const path = journalFile(options.stateDir, options.id);
  return new Journal({
    world,
    path,
    header: headerOf(options),
    ...(history ? { tail: history.tail } : { isBegun: world.files.isFile(path) }),
    onFailing: (reason) =>
      onNotice("warning", `The journal of this session cannot be written (${reason}): prompts fail until it can`),
  });
}

interface Beginning {
  readonly id: SessionId;
  readonly cwd: string;
  readonly additionalDirectories?: readonly string[];
}

/** A journal's name and first line, for whoever gives out a session's id before the session can be opened. */
export function journalStart(
  stateDir: string,
  beginning: Beginning,
  nowMs: number,
): { readonly path: string; readonly line: string } {
  return { path: journalFile(stateDir, beginning.id), line: headerLine(headerOf(beginning), nowMs) };
}

function headerOf({ id, cwd, additionalDirectories = [] }: Beginning): Parameters<typeof headerLine>[0] {
  return {
    id,
    cwd,
    ...defined({ additionalDirectories: additionalDirectories.length > 0 ? additionalDirectories : undefined }),
  };
}

/** The beginning of the first prompt, on one line. */
export function titleOf(prompt: readonly ContentBlock[]): string {
  const line = markForeign(plainText(prompt)).replaceAll(/\s+/gu, " ").trim();
  if (line === "") return "(no words)";
  if (line.length <= SESSION_LIMITS.journal.titleChars) return line;
  const start = line.slice(0, SESSION_LIMITS.journal.titleChars).replace(/[\ud800-\udbff]$/u, ""); // half a character
  return `${start.trimEnd()}…`;
}
