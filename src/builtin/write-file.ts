// write_file: a file as a whole, new or in the place of the old one.

import { defined } from "../base/json/defined.js";
import type { ToolOutcome } from "../tools/index.js";
import { textField } from "./fields.js";
import type { Place } from "./folders.js";
import { BUILTIN_LIMITS } from "./limits.js";
import type { BuiltinPresentation } from "./ports.js";
import {
  type BuiltinContext,
  type BuiltinName,
  type BuiltinRun,
  type BuiltinTool,
  builtinTool,
  done,
  failed,
  type ToolSpec,
} from "./tool.js";
import { unifiedDiff } from "./unified-diff.js";

const path = textField("path", "The file: absolute, or relative to the session's directory.");
const content = textField("content", "The whole text of the file.", { mayBeEmpty: true });

interface Arguments {
  readonly path: string;
  readonly content: string;
}

export const writeFile: BuiltinTool<"write_file"> = builtinTool<"write_file", Arguments>({
  name: "write_file",
  title: "Write a file",
  description:
    "Writes a file as a whole: makes it, with the folders on the way, or replaces what it holds. " +
    "To change a part of a file use edit_file.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  fields: [path, content],
  parse: (given) => ({ path: path.from(given), content: content.from(given) }),
  ...changing({ describe, plan }),
});

function describe(args: Arguments, { folders }: BuiltinContext): BuiltinPresentation {
  return {
    kind: "edit",
    title: `Write ${folders.show(args.path)}`,
    locations: [{ path: folders.absolute(args.path) }],
  };
}

async function plan(args: Arguments, { folders, texts }: BuiltinContext, signal: AbortSignal): Promise<PlannedChange> {
  const placed = await folders.locate(args.path);
  if (!placed.ok) return placed;
  const { place } = placed;
  if (place.found && place.found.kind !== "file") {
    return { ok: false, reason: `${folders.show(args.path)} is not a file.` };
  }
  const before = await texts.load(place, signal);
  const oldText = before.kind === "text" ? before.text : undefined;
  const basis = await texts.basisOf(place, before);
  const isReplaced = before.kind === "unusable";
  return { ok: true, change: { place, oldText, newText: args.content, basis, isReplaced } };
}

// What writing and editing have in common: saving the new text, and telling model and person what changed.
export interface FileChange {
  readonly place: Place;
  /** Undefined: there was no file, or none whose text could be told. */
  readonly oldText: string | undefined;
  readonly newText: string;
  /** What it was made from (`Texts.basisOf`). */
  readonly basis: string;
  /** What was there was no text: then no diff can be shown. */
  readonly isReplaced?: boolean;
}

export type PlannedChange =
  | { readonly ok: true; readonly change: FileChange }
  /** A whole sentence for the model. */
  | { readonly ok: false; readonly reason: string };

interface Change<Arguments> {
  readonly describe: (args: Arguments, context: BuiltinContext) => BuiltinPresentation;
  /** What would become of the file; nothing is written. */
  readonly plan: (args: Arguments, context: BuiltinContext, signal: AbortSignal) => Promise<PlannedChange>;
}

type ChangeTool<Arguments> = Required<Pick<ToolSpec<BuiltinName, Arguments>, "describe" | "preview" | "run">>;

/** How a tool that changes one file is shown, previewed and run. */
export function changing<Arguments>({ describe, plan }: Change<Arguments>): ChangeTool<Arguments> {
  return {
    describe,
    preview: async (args, context, signal) => previewOf(await plan(args, context, signal), describe(args, context)),
    run: async (args, run, context) => {
      const planned = await plan(args, context, run.signal);
      if (!planned.ok) return failed(planned.reason);
      const { place, basis } = planned.change;
      if (run.expected !== undefined && run.expected !== basis) {
        return changedMeanwhile(context.folders.show(place.path), "after it was allowed");
      }
      return await saveChange(planned.change, describe(args, context).title, run, context);
    },
  };
}

/** How the change would look if it were made now. */
function previewOf(planned: PlannedChange, presentation: BuiltinPresentation): BuiltinPresentation {
  if (!planned.ok) return presentation;
  const { oldText = "", newText } = planned.change;
  const shown = presentChange(planned.change, presentation.title, unifiedDiff(oldText, newText).firstLine);
  return { ...shown, basis: planned.change.basis };
}

function changedMeanwhile(shown: string, when: string): ToolOutcome {
  return { kind: "refused", reason: `${shown} changed ${when}, so nothing was written. Read it again.` };
}

/** Exactly one outcome; the diff is shown whether or not the writing succeeds. */
async function saveChange(
  change: FileChange,
  title: string,
  run: BuiltinRun,
  context: BuiltinContext,
): Promise<ToolOutcome> {
  const { place, oldText, newText } = change;
  const { folders, texts } = context;
  const bytes = Buffer.byteLength(newText);
  if (bytes > BUILTIN_LIMITS.editMaxBytes) {
    return failed(`The text has ${bytes} bytes; at most ${BUILTIN_LIMITS.editMaxBytes} are written.`);
  }
  const diff = unifiedDiff(oldText ?? "", newText);
  // Shown before it is done: an editor that is asked to write then has the diff on the card already.
  run.present(presentChange(change, title, diff.firstLine));
  if (!(await texts.isStill(place, change.basis, run.signal))) {
    return changedMeanwhile(folders.show(place.path), "while the call was made");
  }
  const saved = await texts.save(place, newText, run.signal);
  if (saved.kind === "unknown") return { kind: "unknown", reason: saved.reason };
  if (saved.kind === "failed") return failed(saved.reason);
  const shown = folders.show(place.path);
  if (oldText === undefined) {
    const verb = change.isReplaced ? "Replaced" : "Created";
    return done(`${verb} ${shown}: ${bytes} bytes.`);
  }
  if (diff.text === "") return done(`${shown} already has this text.`);
  return done(`Changed ${shown}: ${diff.added} lines added, ${diff.removed} removed.\n${diff.text}`);
}

function presentChange(change: FileChange, title: string, line: number): BuiltinPresentation {
  const { place, oldText, newText, isReplaced } = change;
  const locations = [{ path: place.path, line }];
  const isShort = (oldText?.length ?? 0) + newText.length <= BUILTIN_LIMITS.diffMaxBytes;
  if (!isShort || isReplaced) return { kind: "edit", title, locations };
  const diff = { path: place.path, newText, ...defined({ oldText }) };
  return { kind: "edit", title, locations, diff };
}
