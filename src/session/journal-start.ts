// How a session's journal begins: where it lies, its first line, and the title of the session.
import { type ContentBlock, plainText } from "../base/content.js";
import { LIMITS } from "../base/limits.js";
import { markHidden } from "../base/marking.js";
import type { NoticeLevel } from "./event.js";
import { journalFile } from "./history/stored-sessions.js";
import { Journal } from "./journal.js";
import type { SessionOptions } from "./options.js";

export function openJournal(options: SessionOptions, onNotice: (level: NoticeLevel, text: string) => void): Journal {
  const { world, id, cwd, additionalDirectories = [], history } = options;
  return new Journal({
    world,
    path: journalFile(options.stateDir, id),
    header: { id, cwd, ...(additionalDirectories.length > 0 ? { additionalDirectories } : {}) },
    ...(history ? { tail: history.tail } : {}),
    onLost: (reason) =>
      onNotice("warning", `This session is not recorded any more: its journal cannot be written (${reason})`),
  });
}

/** The beginning of the first prompt, on one line. */
export function titleOf(prompt: readonly ContentBlock[]): string {
  const line = markHidden(plainText(prompt)).replaceAll(/\s+/gu, " ").trim();
  if (line === "") return "(no words)";
  if (line.length <= LIMITS.journal.titleChars) return line;
  const start = line.slice(0, LIMITS.journal.titleChars).replace(/[\ud800-\udbff]$/u, ""); // half a character
  return `${start.trimEnd()}…`;
}
