// The words of a permission question, for every client that shows it as text.
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import { markForeign } from "../../base/text/marking.js";
import { SESSION_LIMITS } from "../limits.js";
import type { PermissionQuestion } from "../ports.js";

/** What is to be read before answering, beside the arguments. */
export function questionNotes(question: PermissionQuestion): readonly string[] {
  const { reason, change, lock, isFormer, presentation, warnings = [] } = question;
  return [
    ...warnings.map((warning) => `Warning: ${warning}`),
    ...(presentation?.isRenewed
      ? ["The file changed while you were asked. This is the change as it would be now."]
      : []),
    ...(isFormer ? ['You allowed this tool in every project before; "always" now confirms it for this one.'] : []),
    ...(reason === undefined ? [] : [`Asked because ${reason}.`]),
    ...(change ? [lock === undefined ? "The tool changed since it was approved:" : `It ${lock}:`, ...change] : []),
  ];
}

/** Every argument by its name; further lines of a value are indented, so that none reads as another argument or a note. */
export function argumentLines(args: JsonObject): readonly string[] {
  const lines: string[] = [];
  const names = Object.keys(args);
  let room: number = LIMITS.shownArguments.maxChars;
  for (const [index, name] of names.entries()) {
    if (room <= 0) return [...lines, `… ${names.length - index} more arguments`];
    const line = `${shown(name).replaceAll("\n", " ")}: ${shown(args[name]).replaceAll("\n", "\n    ")}`;
    room -= line.length;
    lines.push(line);
  }
  return lines;
}

function shown(value: JsonValue | undefined): string {
  return markForeign(cutWords(typeof value === "string" ? value : (JSON.stringify(value) ?? "")));
}

/** Long words are cut, and say how much is missing. */
export function cutWords(words: string): string {
  const hidden = words.length - SESSION_LIMITS.questionArgumentChars;
  return hidden > 0 ? `${words.slice(0, SESSION_LIMITS.questionArgumentChars)}… (${hidden} more characters)` : words;
}
