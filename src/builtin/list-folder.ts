// list_folder: what is directly in a folder.
import { join } from "node:path";
import type { FolderEntry } from "../base/ports/world.js";
import { optionalTextField } from "./fields.js";
import { BUILTIN_LIMITS } from "./limits.js";
import { type BuiltinContext, type BuiltinTool, builtinTool, done, failed } from "./tool.js";

const path = optionalTextField(
  "path",
  "The folder: absolute, or relative to the session's directory, which is the default.",
);

export const listFolder: BuiltinTool<"list_folder"> = builtinTool({
  name: "list_folder",
  title: "List a folder",
  description:
    "Lists what is directly in a folder, hidden things included: folders first (with a slash), files with their sizes in bytes.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  fields: [path],
  parse: (given) => ({ path: path.from(given) ?? "." }),
  describe: (args, { folders }) => ({
    kind: "read",
    title: `List ${folders.show(args.path)}`,
    locations: [{ path: folders.absolute(args.path) }],
  }),
  run: async (args, { signal }, context) => {
    const placed = await context.folders.locate(args.path);
    if (!placed.ok) return failed(placed.reason);
    const { found, realPath } = placed.place;
    const shown = context.folders.show(args.path);
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

/** Of a link nothing is told but that it is one: where it leads may be none of the session's business. */
async function describeEntry({ name, kind }: FolderEntry, folder: string, { world }: BuiltinContext): Promise<string> {
  switch (kind) {
    case "folder":
      return `${name}/`;
    case "link":
      return `${name} (link)`;
    case "other":
      return `${name} (neither file nor folder)`;
    case "file": {
      const found = await world.files.find(join(folder, name)).catch(() => undefined); // gone since the listing
      return found ? `${name} (${found.bytes})` : name;
    }
  }
}
