// write_file: a whole file, new or replaced; and what every tool that changes a file shares: preview, saving, the diff.
import { defined } from "../base/json/defined.js";
import type { ToolOutcome } from "../tools/index.js";
import { type Fields, textField, type Values } from "./fields.js";
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

export interface FileChange {
  readonly place: LocatedPath;
  /** Undefined: there was no file, or its content is no text. */
  readonly oldText: string | undefined;
  readonly newText: string;
  /** The content the change was made from (`Texts.basisOf`). */
  readonly basis: string;
  /** The old content is no text, so no diff can be shown. */
  readonly isReplaced?: boolean;
}

/** The change a call would make; nothing is written. Throws a sentence for the model. */
type PlanChange<A> = (args: A, context: BuiltinContext, signal: AbortSignal) => Promise<FileChange>;

/** How a tool that changes one file is previewed and run. */
export function changing<F extends Fields>(
  plan: PlanChange<Values<F>>,
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
  const saved = await texts.save(place, newText, run.signal);
  if (saved.kind === "unknown") return { kind: "unknown", reason: saved.reason };
  if (saved.kind === "failed") return failed(saved.reason);
  if (oldText === undefined) return done(`${change.isReplaced ? "Replaced" : "Created"} ${shown}: ${bytes} bytes.`);
  if (diff.text === "") return done(`${shown} already has this text.`);
  return done(`Changed ${shown}: ${diff.added} lines added, ${diff.removed} removed.\n${diff.text}`);
}

function presentChange(change: FileChange, title: string, line: number): BuiltinPresentation {
  const { place, oldText, newText, isReplaced } = change;
  const isShown = !isReplaced && (oldText?.length ?? 0) + newText.length <= BUILTIN_LIMITS.diffMaxBytes;
  const diff = isShown ? { path: place.path, newText, ...defined({ oldText }) } : undefined;
  return { kind: "edit", title, locations: [{ path: place.path, line }], ...defined({ diff }) };
}

const fields = {
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
  fields,
  look: ({ path }, { folders }) => ({ kind: "edit", title: `Write ${folders.show(path)}`, path }),
  ...changing<typeof fields>(async ({ path, content }, { folders, texts }, signal) => {
    const place = await folders.place(path);
    if (place.found && place.found.kind !== "file") throw new Error(`${folders.show(path)} is not a file.`);
    const before = await texts.load(place, signal);
    const oldText = before.kind === "text" ? before.text : undefined;
    const basis = await texts.basisOf(place, before);
    return { place, oldText, newText: content, basis, isReplaced: before.kind === "unusable" };
  }),
});
