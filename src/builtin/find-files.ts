// find_files: files by a glob, below a folder.
import { isAbsolute, join } from "node:path";
import { Pace } from "../base/async/pace.js";
import { LIMITS } from "../base/limits.js";
import { compilePathGlob } from "../base/text/glob.js";
import { flagField, integerField, optionalTextField, textField } from "./fields.js";
import { BUILTIN_LIMITS } from "./limits.js";
import { type BuiltinTool, builtinTool, done, failed } from "./tool.js";
import { Walk } from "./walk.js";

const pattern = textField(
  "pattern",
  "A glob: `*.ts` finds names at any depth, `src/**/*.test.ts` paths from the folder. `*`, `?`, `[a-z]`, `{a,b}`, `**`.",
  { maxChars: LIMITS.glob.maxChars },
);
const path = optionalTextField("path", "The folder to look in; the session's directory by default.");
const limit = integerField("limit", "The most files to name.", {
  min: 1,
  max: BUILTIN_LIMITS.searchResults.max,
  fallback: BUILTIN_LIMITS.searchResults.usual,
});
const includeIgnored = flagField(
  "include_ignored",
  "Look also at what .gitignore files leave out, and in node_modules.",
);

export const findFiles: BuiltinTool<"find_files"> = builtinTool({
  name: "find_files",
  title: "Find files",
  description:
    "Finds files by a glob, below a folder, in the order of their paths. What .gitignore leaves out is not looked at, " +
    "links are not followed. To search in the text of files use grep.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  fields: [pattern, path, limit, includeIgnored],
  parse: (given) => ({
    pattern: pattern.from(given),
    path: path.from(given) ?? ".",
    limit: limit.from(given),
    includeIgnored: includeIgnored.from(given),
  }),
  describe: (args, { folders }) => ({
    kind: "search",
    title: `Find ${args.pattern} in ${folders.show(args.path)}`,
    locations: [{ path: folders.absolute(args.path) }],
  }),
  run: async (args, { signal }, { folders, world }) => {
    if (isAbsolute(args.pattern)) return failed("The pattern must not be an absolute path: give the folder as path.");
    const compiled = compilePathGlob(args.pattern);
    if (!compiled.ok) return failed(`The pattern cannot be used: ${compiled.reason}.`);
    const placed = await folders.locate(args.path);
    if (!placed.ok) return failed(placed.reason);
    const { found, realPath } = placed.place;
    if (found?.kind !== "folder") return failed(`There is no folder ${folders.show(args.path)}.`);
    const walk = new Walk(world, { start: realPath, includeIgnored: args.includeIgnored, signal });
    const pace = Pace.of(world);
    const names: string[] = [];
    let isMore = false;
    for await (const entry of walk.entries()) {
      if (!(await pace.run(() => compiled.matches(entry.path)))) continue;
      isMore = names.length === args.limit;
      if (isMore) break;
      names.push(folders.show(join(placed.place.path, entry.path)));
    }
    const more = isMore ? [`There are more than ${args.limit}: take a narrower pattern or a higher limit.`] : [];
    const notes = [...more, ...walk.notes].map((note) => `[${note}]`);
    return done([...(names.length === 0 ? ["No files were found."] : names), ...notes].join("\n"));
  },
});
