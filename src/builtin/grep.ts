// grep: lines of files that match a regular expression.
import { join, relative } from "node:path";
import { LIMITS } from "../base/limits.js";
import type { World } from "../base/ports/world.js";
import { compilePathGlob } from "../base/text/glob.js";
import { choiceField, flagField, integerField, optionalTextField, textField } from "./fields.js";
import type { Place } from "./folders.js";
import { findRipgrep, type Grep, GrepHere, type GrepRequest, type Hit, Ripgrep, showHit } from "./grep-engines.js";
import { BUILTIN_LIMITS } from "./limits.js";
import { type BuiltinContext, type BuiltinTool, builtinTool, done, failed } from "./tool.js";

const pattern = textField("pattern", "A regular expression, matched line by line.", {
  maxChars: BUILTIN_LIMITS.lineMaxChars,
});
const path = optionalTextField("path", "The file or folder to search; the session's directory by default.");
const glob = optionalTextField("glob", "Only files whose path matches this glob, such as `*.ts` or `src/**/*.css`.");
const ignoreCase = flagField("ignore_case", "Upper and lower case are the same.");
const literal = flagField("literal", "The pattern is plain text, not a regular expression.");
const context = integerField("context", "Lines to show around each match.", { min: 0, max: 20, fallback: 0 });
const output = choiceField("output", "The matching lines, or only the names of the files that have any.", {
  values: ["lines", "files"],
  fallback: "lines",
});
const limit = integerField("limit", "The most matches (or files) to show.", {
  min: 1,
  max: BUILTIN_LIMITS.searchResults.max,
  fallback: BUILTIN_LIMITS.searchResults.usual,
});
const includeIgnored = flagField("include_ignored", "Search also what .gitignore files leave out, and node_modules.");

interface Arguments {
  readonly pattern: string;
  readonly path: string;
  readonly glob: string | undefined;
  readonly ignoreCase: boolean;
  readonly literal: boolean;
  readonly context: number;
  readonly output: "lines" | "files";
  readonly limit: number;
  readonly includeIgnored: boolean;
}

export const grep: BuiltinTool<"grep"> = builtinTool<"grep", Arguments>({
  name: "grep",
  title: "Search in files",
  description:
    "Searches the text of files, saved ones only, line by line with a regular expression. Shows matching lines by file " +
    "with their numbers. What .gitignore leaves out and binary files are not searched.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  fields: [pattern, path, glob, ignoreCase, literal, context, output, limit, includeIgnored],
  parse: (given) => ({
    pattern: pattern.from(given),
    path: path.from(given) ?? ".",
    glob: glob.from(given),
    ignoreCase: ignoreCase.from(given),
    literal: literal.from(given),
    context: context.from(given),
    output: output.from(given),
    limit: limit.from(given),
    includeIgnored: includeIgnored.from(given),
  }),
  describe: (args, { folders }) => ({
    kind: "search",
    title: `Search for ${JSON.stringify(args.pattern)} in ${folders.show(args.path)}`,
    locations: [{ path: folders.absolute(args.path) }],
  }),
  run: async (args, { signal }, builtin) => {
    const { folders, world } = builtin;
    const compiled = compilePattern(args);
    if (!(compiled instanceof RegExp)) return failed(`The pattern is not a valid regular expression: ${compiled}`);
    const globbed = args.glob === undefined ? undefined : compilePathGlob(args.glob);
    if (globbed && !globbed.ok) return failed(`The glob cannot be used: ${globbed.reason}.`);
    const placed = await folders.locate(args.path);
    if (!placed.ok) return failed(placed.reason);
    const { found, realPath } = placed.place;
    if (!found) return failed(`There is no file or folder ${folders.show(args.path)}.`);
    if (found.kind === "other") return failed(`${folders.show(args.path)} is neither a file nor a folder.`);
    const search = start(world, {
      ...args,
      pattern: compiled,
      source: args.pattern,
      isLiteral: args.literal,
      start: realPath,
      isFolder: found.kind === "folder",
      context: args.output === "files" ? 0 : args.context,
      signal,
    });
    const lines = await collect(search, args, (hit) => shownPath(hit, placed.place, builtin));
    return done(lines.join("\n"));
  },
});

/** What ripgrep's own engine does not have: looking around, and back. */
const NEEDS_BACKTRACKING = /\(\?<?[=!]|\\[1-9]/u;

function start(world: World, request: GrepRequest): Grep {
  const needsUs = !request.isLiteral && NEEDS_BACKTRACKING.test(request.source);
  const program = needsUs ? undefined : findRipgrep(world);
  return program === undefined ? new GrepHere(world, request) : new Ripgrep(world, program, request);
}

/** The words of what is wrong, when something is. `(?i)` at the start is what other tools take for `ignore_case`. */
function compilePattern({ pattern: source, literal: isLiteral, ignoreCase: isCaseless }: Arguments): RegExp | string {
  const inline = !isLiteral && source.startsWith("(?i)");
  const body = inline ? source.slice(4) : source;
  try {
    const expression = isLiteral ? body.replaceAll(/[\\^$.*+?()[\]{}|/-]/gu, "\\$&") : body;
    return new RegExp(expression, isCaseless || inline ? "i" : "");
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

/** A file that was searched by its own name is shown by it, one in a folder by the way the folder was named. */
function shownPath(hit: Hit, place: Place, { folders }: BuiltinContext): string {
  return folders.show(join(place.path, relative(place.realPath, hit.path)));
}

async function collect(search: Grep, args: Arguments, show: (hit: Hit) => string): Promise<readonly string[]> {
  const lines: string[] = [];
  let matches = 0;
  let bytes = 0;
  let file = "";
  let last = 0;
  let isMore = false;
  for await (const hit of search.hits()) {
    const isNewFile = hit.path !== file;
    const counts = args.output === "files" ? isNewFile : !hit.isContext;
    isMore = (counts && matches === args.limit) || bytes > LIMITS.resultMaxBytes;
    if (isMore) break;
    if (counts) matches += 1;
    const isGap = args.context > 0 && hit.line > last + 1;
    const added = args.output === "files" ? (isNewFile ? [show(hit)] : []) : linesOf(hit, isNewFile, isGap, show);
    file = hit.path;
    last = hit.line;
    lines.push(...added);
    bytes += added.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  }
  const more = isMore ? ["There is more: take a narrower pattern, glob or folder."] : [];
  const notes = [...more, ...search.notes].map((note) => `[${note}]`);
  return [...(lines.length === 0 ? ["Nothing was found."] : lines), ...notes];
}

/** Under the name of its file; a gap between two places of a file is marked. */
function linesOf(hit: Hit, isNewFile: boolean, isGap: boolean, show: (hit: Hit) => string): readonly string[] {
  if (isNewFile) return [show(hit), showHit(hit)];
  return isGap ? ["--", showHit(hit)] : [showHit(hit)];
}
