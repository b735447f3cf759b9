// write_file and edit_file: a whole file, or exact replacements in one; each with a preview and a diff of the change.
import { defined } from "../base/json/defined.js";
import type { ToolOutcome } from "../tools/index.js";
import { type Fields, flagField, listField, textField, type Values } from "./fields.js";
import type { LocatedPath } from "./folders.js";
import { BUILTIN_LIMITS } from "./limits.js";
import type { BuiltinPresentation } from "./ports.js";
import {
  type BuiltinContext,
  type BuiltinRun,
  type BuiltinTool,
  builtinTool,
  done,
  failed,
  type ToolSpec,
} from "./tool.js";
import { unifiedDiff } from "./unified-diff.js";

interface FileChange {
  readonly place: LocatedPath;
  /** Undefined: there was no file, or its content is no text. */
  readonly oldText: string | undefined;
  readonly newText: string;
  /** The content the change was made from (`Texts.basisOf`). */
  readonly basis: string;
  /** The old content is no text, so no diff can be shown. */
  readonly isReplaced?: boolean;
}

/** How a tool that changes one file is previewed and run. `plan` writes nothing, and throws a sentence for the model. */
function changing<F extends Fields>(
  plan: (args: Values<F>, context: BuiltinContext, signal: AbortSignal) => Promise<FileChange>,
): Required<Pick<ToolSpec<F>, "preview" | "run">> {
  return {
    preview: async (args, { title }, context, signal) => {
      const change = await plan(args, context, signal);
      const { firstLine } = unifiedDiff(change.oldText ?? "", change.newText);
      return { ...presentChange(change, title, firstLine), basis: change.basis };
    },
    run: async (args, run, context, { title }) => {
      const change = await plan(args, context, run.signal);
      if (run.expected === undefined || run.expected === change.basis) {
        return await saveChange(change, title, run, context);
      }
      return changedMeanwhile(context.folders.show(change.place.path), "after it was allowed");
    },
  };
}

function changedMeanwhile(shown: string, when: string): ToolOutcome {
  return { kind: "refused", reason: `${shown} changed ${when}, so nothing was written. Read it again.` };
}

/** Exactly one outcome; the diff is shown even when the file cannot be written. */
async function saveChange(
  change: FileChange,
  title: string,
  run: BuiltinRun,
  { folders, texts }: BuiltinContext,
): Promise<ToolOutcome> {
  const { place, oldText, newText } = change;
  const shown = folders.show(place.path);
  const bytes = Buffer.byteLength(newText);
  if (bytes > BUILTIN_LIMITS.editMaxBytes) {
    return failed(`The text has ${bytes} bytes; at most ${BUILTIN_LIMITS.editMaxBytes} are written.`);
  }
  const diff = unifiedDiff(oldText ?? "", newText);
  // Shown before it is done: an editor that is asked to write then has the diff on the card already.
  run.present(presentChange(change, title, diff.firstLine));
  if (!(await texts.isStill(place, change.basis, run.signal))) {
    return changedMeanwhile(shown, "while the call was made");
  }
  const problem = await texts.save(place, newText, run.signal);
  if (problem) return problem;
  if (oldText === undefined) return done(`${change.isReplaced ? "Replaced" : "Created"} ${shown}: ${bytes} bytes.`);
  if (diff.text === "") return done(`${shown} already has this text.`);
  return done(
    `Changed ${shown}: ${diff.added} ${diff.added === 1 ? "line" : "lines"} added, ${diff.removed} removed.\n${diff.text}`,
  );
}

function presentChange(change: FileChange, title: string, line: number): BuiltinPresentation {
  const { place, oldText, newText, isReplaced } = change;
  const isShown = !isReplaced && (oldText?.length ?? 0) + newText.length <= BUILTIN_LIMITS.diffMaxBytes;
  const diff = isShown ? { path: place.path, newText, ...defined({ oldText }) } : undefined;
  return { kind: "edit", title, locations: [{ path: place.path, line }], ...defined({ diff }) };
}

const writeFields = {
  path: textField("The file: absolute, or relative to the session's directory."),
  content: textField("The whole text of the file.", { mayBeEmpty: true }),
};

export const writeFile: BuiltinTool = builtinTool({
  name: "write_file",
  title: "Write a file",
  description:
    "Writes a file as a whole: makes it, with the folders on the way, or replaces what it holds. " +
    "To change a part of a file use edit_file.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  fields: writeFields,
  look: ({ path }, { folders }) => ({ kind: "edit", title: `Write ${folders.show(path)}`, path }),
  ...changing<typeof writeFields>(async ({ path, content }, { folders, texts }, signal) => {
    const place = await folders.place(path);
    if (place.found && place.found.kind !== "file") throw new Error(`${folders.show(path)} is not a file.`);
    const before = await texts.load(place, signal);
    const oldText = before.kind === "text" ? before.text : undefined;
    const basis = await texts.basisOf(place, before);
    return { place, oldText, newText: content, basis, isReplaced: before.kind === "unusable" };
  }),
});

const editFields = {
  path: textField("The file: absolute, or relative to the session's directory."),
  edits: listField("The replacements, in order: each works on what the ones before it made.", {
    min: 1,
    max: BUILTIN_LIMITS.editMaxEdits,
    fields: {
      oldText: textField("The text to replace, exactly as it is in the file, without line numbers."),
      newText: textField("What to put in its place; empty to delete it.", { mayBeEmpty: true }),
      replaceAll: flagField("Replace every occurrence instead of demanding that there is only one."),
    },
  }),
};

export const editFile: BuiltinTool = builtinTool({
  name: "edit_file",
  title: "Edit a file",
  description:
    "Replaces exact pieces of text in a file. Each old_text must occur exactly once (take in lines around it to make it " +
    "unique), unless replace_all is set. Either all edits are made or none. Line endings of the file are kept. " +
    "Answers with a diff.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  fields: editFields,
  look: ({ path }, { folders }) => ({ kind: "edit", title: `Edit ${folders.show(path)}`, path }),
  ...changing<typeof editFields>(async ({ path, edits }, { folders, texts }, signal) => {
    const place = await folders.place(path);
    const shown = folders.show(path);
    const before = await texts.load(place, signal);
    if (before.kind === "absent") throw new Error(`There is no file ${shown}; write_file makes one.`);
    if (before.kind === "unusable") throw new Error(before.reason);
    const edited = applyEdits(before.text, edits);
    if (!edited.ok) throw new Error(`${shown} was not changed. ${edited.reason}`);
    return { place, oldText: before.text, newText: edited.text, basis: await texts.basisOf(place, before) };
  }),
});

export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

/** `places`: how many places were changed in all. */
export type Edited =
  | { readonly ok: true; readonly text: string; readonly places: number }
  | { readonly ok: false; readonly reason: string };

/** Each edit works on the result of the ones before it. */
export function applyEdits(text: string, edits: readonly TextEdit[]): Edited {
  let current = text;
  let places = 0;
  for (const [index, edit] of edits.entries()) {
    const result = applyEdit(current, edit);
    if (!result.ok && edits.length === 1) return result;
    if (!result.ok) {
      return {
        ok: false,
        reason: `Edit ${index + 1} of ${edits.length}: ${result.reason} None of the edits was made.`,
      };
    }
    current = result.text;
    places += result.places;
  }
  if (current === text) return { ok: false, reason: "The edits leave the text as it is." };
  return { ok: true, text: current, places };
}

function applyEdit(text: string, { oldText, newText, replaceAll }: TextEdit): Edited {
  if (oldText === newText) return { ok: false, reason: "old_text and new_text are the same." };
  const crlfs = startsOf(text, "\r\n").map((at, index) => at - index); // where they are once each is a LF
  const content = plain(text);
  const wanted = plain(oldText);
  const starts = startsOf(content, wanted);
  if (starts.length === 0) return { ok: false, reason: `old_text was not found.${nearby(content, wanted)}` };
  if (starts.length > 1 && !replaceAll) {
    const lines = starts.slice(0, 10).map((start) => startsOf(content.slice(0, start), "\n").length + 1);
    const reason = `old_text was found ${starts.length} times, at lines ${lines.join(", ")}${starts.length > 10 ? ", …" : ""}. Take in more of the text around it so that it is unique, or set replace_all.`;
    return { ok: false, reason };
  }
  const ending = usesCrlf(text) ? "\r\n" : "\n";
  const parts: string[] = [];
  let done = 0;
  for (const start of starts) {
    parts.push(text.slice(done, originalPlace(start, crlfs)), plain(newText).replaceAll("\n", ending));
    done = originalPlace(start + wanted.length, crlfs);
  }
  parts.push(text.slice(done));
  return { ok: true, text: parts.join(""), places: starts.length };
}

/** Most line ends of the text are CRLF. */
export function usesCrlf(text: string): boolean {
  const crlf = startsOf(text, "\r\n").length;
  return crlf > 0 && crlf * 2 >= startsOf(text, "\n").length;
}

function plain(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

/** A place of the text with LF only, in the original; a place before a line end is the place before its CR. */
function originalPlace(at: number, crlfs: readonly number[]): number {
  let low = 0;
  let high = crlfs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((crlfs[middle] ?? at) < at) low = middle + 1;
    else high = middle;
  }
  return at + low;
}

/** Without overlaps, from the left. */
function startsOf(text: string, wanted: string): number[] {
  const starts: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) starts.push(at);
  return starts;
}

/** The most common mistake is indentation. Only the first line is looked for, its spaces aside. */
function nearby(text: string, wanted: string): string {
  const lines = wanted.split("\n").map((part) => part.trim());
  const line = lines.find((part) => part !== "");
  if (line === undefined) return "";
  const at = text.split("\n").findIndex((candidate) => candidate.trim() === line);
  if (at === -1) return " Read the file again: it may have changed.";
  return ` Its first line is like line ${at + 1}, but what follows or its spaces differ: copy it exactly, without line numbers.`;
}
