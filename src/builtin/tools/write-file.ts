// write_file: a file as a whole, new or in the place of the old one.
import { textField } from "../fields.js";
import type { BuiltinPresentation } from "../presentation.js";
import { type BuiltinContext, type BuiltinTool, builtinTool } from "../tool.js";
import { changing, type PlannedChange } from "./changed-file.js";

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
