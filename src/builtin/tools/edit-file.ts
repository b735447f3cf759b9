// edit_file: exact replacements in a file, all of them or none.

import { applyEdits, type TextEdit } from "../edit/apply-edits.js";
import { flagField, listField, textField } from "../fields.js";
import { BUILTIN_LIMITS } from "../limits.js";
import type { BuiltinPresentation } from "../presentation.js";
import { type BuiltinContext, type BuiltinTool, builtinTool } from "../tool.js";
import { changing, type PlannedChange } from "./changed-file.js";

const path = textField("path", "The file: absolute, or relative to the session's directory.");
const oldText = textField("old_text", "The text to replace, exactly as it is in the file, without line numbers.");
const newText = textField("new_text", "What to put in its place; empty to delete it.", { mayBeEmpty: true });
const replaceAll = flagField("replace_all", "Replace every occurrence instead of demanding that there is only one.");
const edits = listField<TextEdit>("edits", "The replacements, in order: each works on what the ones before it made.", {
  min: 1,
  max: BUILTIN_LIMITS.editMaxEdits,
  fields: [oldText, newText, replaceAll],
  read: (given) => ({
    oldText: oldText.from(given),
    newText: newText.from(given),
    replaceAll: replaceAll.from(given),
  }),
});

interface Arguments {
  readonly path: string;
  readonly edits: readonly TextEdit[];
}

export const editFile: BuiltinTool<"edit_file"> = builtinTool<"edit_file", Arguments>({
  name: "edit_file",
  title: "Edit a file",
  description:
    "Replaces exact pieces of text in a file. Each old_text must occur exactly once (take in lines around it to make it " +
    "unique), unless replace_all is set. Either all edits are made or none. Line endings of the file are kept. " +
    "Answers with a diff.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  fields: [path, edits],
  parse: (given) => ({ path: path.from(given), edits: edits.from(given) }),
  ...changing({ describe, plan }),
});

function describe(args: Arguments, { folders }: BuiltinContext): BuiltinPresentation {
  return { kind: "edit", title: `Edit ${folders.show(args.path)}`, locations: [{ path: folders.absolute(args.path) }] };
}

async function plan(args: Arguments, { folders, texts }: BuiltinContext, signal: AbortSignal): Promise<PlannedChange> {
  const placed = await folders.locate(args.path);
  if (!placed.ok) return placed;
  const { place } = placed;
  const shown = folders.show(args.path);
  const before = await texts.load(place, signal);
  if (before.kind === "absent") return { ok: false, reason: `There is no file ${shown}; write_file makes one.` };
  if (before.kind === "unusable") return { ok: false, reason: before.reason };
  const edited = applyEdits(before.text, args.edits);
  if (!edited.ok) return { ok: false, reason: `${shown} was not changed. ${edited.reason}` };
  const basis = await texts.basisOf(place, before);
  return { ok: true, change: { place, oldText: before.text, newText: edited.text, basis } };
}
