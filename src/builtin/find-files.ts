// find_files and list_folder: files by a glob, and the entries of one folder.
import { isAbsolute, join } from "node:path";
import { Pace } from "../base/async/pace.js";
import { LIMITS } from "../base/limits.js";
import type { FolderEntry } from "../base/ports/world.js";
import { compilePathGlob } from "../base/text/glob.js";
import { flagField, integerField, pathField, textField } from "./fields.js";
import { BUILTIN_LIMITS } from "./limits.js";
import { type BuiltinContext, type BuiltinTool, builtinTool, done, failed, READ_ONLY } from "./tool.js";
import { Walk } from "./walk.js";

const { usual: fallback, max } = BUILTIN_LIMITS.searchResults;

export const findFiles: BuiltinTool = builtinTool({
  name: "find_files",
  title: "Find files",
  description:
    "Finds files by a glob, below a folder, in the order of their paths. What .gitignore leaves out is not looked at, " +
    "links are not followed. To search in the text of files use grep.",
  annotations: READ_ONLY,
  fields: {
    pattern: textField(
      "A glob: `*.ts` finds names at any depth, `src/**/*.test.ts` paths from the folder. `*`, `?`, `[a-z]`, `{a,b}`, `**`.",
      { maxChars: LIMITS.glob.maxChars },
    ),
    path: pathField("The folder to look in; the session's directory by default."),
    limit: integerField("The most files to name.", { min: 1, max, fallback }),
    includeIgnored: flagField("Look also at what .gitignore files leave out, and in node_modules."),
  },
  look: ({ pattern, path }, { folders }) => {
    return { kind: "search", title: `Find ${pattern} in ${folders.show(path)}`, path };
  },
  run: async ({ pattern, path, limit, includeIgnored }, { signal }, { folders, world }) => {
    if (isAbsolute(pattern)) return failed("The pattern must not be an absolute path: give the folder as path.");
    const compiled = compilePathGlob(pattern);
    if (!compiled.ok) return failed(`The pattern cannot be used: ${compiled.reason}.`);
    const place = await folders.place(path);
    if (place.found?.kind !== "folder") return failed(`There is no folder ${folders.show(path)}.`);
    const walk = new Walk(world, { start: place.realPath, includeIgnored, signal });
    const pace = Pace.of(world);
    const names: string[] = [];
    let isMore = false;
    for await (const entry of walk.entries()) {
      if (!(await pace.run(() => compiled.matches(entry.path)))) continue;
      isMore = names.length === limit;
      if (isMore) break;
      names.push(folders.show(join(place.path, entry.path)));
    }
    const more = isMore ? [`There are more than ${limit}: take a narrower pattern or a higher limit.`] : [];
    const notes = [...more, ...walk.notes].map((note) => `[${note}]`);
    return done([...(names.length === 0 ? ["No files were found."] : names), ...notes].join("\n"));
  },
});

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
