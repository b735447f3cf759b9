// list_folder: the entries of one folder.
import { join } from "node:path";
import type { FolderEntry } from "../base/ports/world.js";
import { pathField } from "./fields.js";
import { BUILTIN_LIMITS } from "./limits.js";
import { type BuiltinContext, type BuiltinTool, builtinTool, done, failed, READ_ONLY } from "./tool.js";

export const listFolder: BuiltinTool = builtinTool({
  name: "list_folder",
  title: "List a folder",
  description:
    "Lists what is directly in a folder, hidden things included: folders first (with a slash), files with their sizes in bytes.",
  annotations: READ_ONLY,
  fields: {
    path: pathField("The folder: absolute, or relative to the session's directory, which is the default."),
  },
  look: ({ path }, { folders }) => ({ kind: "read", title: `List ${folders.show(path)}`, path }),
  run: async ({ path }, { signal }, context) => {
    const { found, realPath } = await context.folders.place(path);
    const shown = context.folders.show(path);
    if (!found) return failed(`There is no folder ${shown}.`);
    if (found.kind !== "folder") return failed(`${shown} is not a folder; use read_file for files.`);
    const entries = [...(await context.world.files.entries(realPath))].sort(byKindAndName);
    if (entries.length === 0) return done(`${shown} is empty.`);
    signal.throwIfAborted();
    const listed = entries.slice(0, BUILTIN_LIMITS.folderMaxEntries);
    const lines = await Promise.all(listed.map((entry) => describeEntry(entry, realPath, context)));
    const left = entries.length - listed.length;
    return done([...lines, ...(left > 0 ? [`[${left} more entries are not listed]`] : [])].join("\n"));
  },
});

function byKindAndName(one: FolderEntry, other: FolderEntry): number {
  const folders = Number(other.kind === "folder") - Number(one.kind === "folder");
  return folders || (one.name < other.name ? -1 : 1);
}

/** Where a link leads is not shown: it may lie outside of the session's directories. */
async function describeEntry({ name, kind }: FolderEntry, folder: string, { world }: BuiltinContext): Promise<string> {
  if (kind === "folder") return `${name}/`;
  if (kind !== "file") return `${name} (${kind === "link" ? "link" : "neither file nor folder"})`;
  const found = await world.files.find(join(folder, name)).catch(() => undefined); // gone since the listing
  return found ? `${name} (${found.bytes})` : name;
}
