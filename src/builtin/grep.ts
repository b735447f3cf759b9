// grep: lines of files that match a regular expression.
import { join, relative } from "node:path";
import { messageOf } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import type { World } from "../base/ports/world.js";
import { compilePathGlob } from "../base/text/glob.js";
import { choiceField, flagField, integerField, optionalTextField, pathField, textField } from "./fields.js";
import { findRipgrep, type GrepRequest, type Hit, ownHits, ripgrepHits } from "./grep-engines.js";
import { BUILTIN_LIMITS } from "./limits.js";
import { type BuiltinTool, builtinTool, done, failed, READ_ONLY } from "./tool.js";

const { usual: fallback, max } = BUILTIN_LIMITS.searchResults;

export const grep: BuiltinTool = builtinTool({
  name: "grep",
  title: "Search in files",
  description:
    "Searches the text of files, saved ones only, line by line with a regular expression. Shows matching lines by file " +
    "with their numbers. What .gitignore leaves out and binary files are not searched.",
  annotations: READ_ONLY,
  fields: {
    pattern: textField("A regular expression, matched line by line.", { maxChars: BUILTIN_LIMITS.lineMaxChars }),
    path: pathField("The file or folder to search; the session's directory by default."),
    glob: optionalTextField("Only files whose path matches this glob, such as `*.ts` or `src/**/*.css`."),
    ignoreCase: flagField("Upper and lower case are the same."),
    literal: flagField("The pattern is plain text, not a regular expression."),
    context: integerField("Lines to show around each match.", { min: 0, max: 20, fallback: 0 }),
    output: choiceField(
      "The matching lines, or only the names of the files that have any.",
      ["lines", "files"],
      "lines",
    ),
    limit: integerField("The most matches (or files) to show.", { min: 1, max, fallback }),
    includeIgnored: flagField("Search also what .gitignore files leave out, and node_modules."),
  },
  look: ({ pattern, path }, { folders }) => {
    return { kind: "search", title: `Search for ${JSON.stringify(pattern)} in ${folders.show(path)}`, path };
  },
  run: async (args, { signal }, { folders, world }) => {
    const { literal: isLiteral, output, pattern: source } = args;
    const pattern = compilePattern(source, isLiteral, args.ignoreCase);
    if (!(pattern instanceof RegExp)) return failed(`The pattern is not a valid regular expression: ${pattern}`);
    const globbed = args.glob === undefined ? undefined : compilePathGlob(args.glob);
    if (globbed && !globbed.ok) return failed(`The glob cannot be used: ${globbed.reason}.`);
    const { found, realPath, path } = await folders.place(args.path);
    if (!found) return failed(`There is no file or folder ${folders.show(args.path)}.`);
    if (found.kind === "other") return failed(`${folders.show(args.path)} is neither a file nor a folder.`);
    const context = output === "files" ? 0 : args.context;
    const isFolder = found.kind === "folder";
    const notes: string[] = [];
    const request = { ...args, pattern, source, isLiteral, start: realPath, isFolder, context, signal, notes };
    // A file in a folder is shown by the path through which the folder was named.
    const show = (hit: Hit) => folders.show(join(path, relative(realPath, hit.path)));
    const { lines, isMore } = await collect(hitsFor(world, request), args, show);
    const more = isMore ? ["There is more: take a narrower pattern, glob or folder."] : [];
    const ending = [...more, ...notes].map((note) => `[${note}]`);
    return done([...(lines.length === 0 ? ["Nothing was found."] : lines), ...ending].join("\n"));
  },
});

/** Lookaround and back references: ripgrep's own engine has neither. */
const NEEDS_BACKTRACKING = /\(\?<?[=!]|\\[1-9]/u;

function hitsFor(world: World, request: GrepRequest): AsyncGenerator<Hit> {
  const needsUs = !request.isLiteral && NEEDS_BACKTRACKING.test(request.source);
  const program = needsUs ? undefined : findRipgrep(world);
  return program === undefined ? ownHits(world, request) : ripgrepHits(world, program, request);
}

/** The problem in words, when there is one. `(?i)` at the start is how other tools spell `ignore_case`. */
function compilePattern(source: string, isLiteral: boolean, ignoreCase: boolean): RegExp | string {
  const isInline = !isLiteral && source.startsWith("(?i)");
  const body = isInline ? source.slice(4) : source;
  try {
    const expression = isLiteral ? body.replaceAll(/[\\^$.*+?()[\]{}|/-]/gu, "\\$&") : body;
    return new RegExp(expression, ignoreCase || isInline ? "i" : "");
  } catch (thrown) {
    return messageOf(thrown);
  }
}

interface CollectOptions {
  readonly output: "lines" | "files";
  readonly limit: number;
  readonly context: number;
}

async function collect(
  hits: AsyncIterable<Hit>,
  { output, limit, context }: CollectOptions,
  show: (hit: Hit) => string,
): Promise<{ readonly lines: readonly string[]; readonly isMore: boolean }> {
  const lines: string[] = [];
  let matches = 0;
  let bytes = 0;
  let file = "";
  let last = 0;
  let isMore = false;
  for await (const hit of hits) {
    const isNewFile = hit.path !== file;
    const counts = output === "files" ? isNewFile : !hit.isContext;
    isMore = (counts && matches === limit) || bytes > LIMITS.resultMaxBytes;
    if (isMore) break;
    if (counts) matches += 1;
    const isGap = !isNewFile && context > 0 && hit.line > last + 1;
    const head = isNewFile ? [show(hit)] : isGap && output === "lines" ? ["--"] : [];
    const added = output === "files" ? head : [...head, showHit(hit)];
    file = hit.path;
    last = hit.line;
    lines.push(...added);
    bytes += added.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  }
  return { lines, isMore };
}

const MAX_CHARS = 500;

/** A long line is shown around its beginning only: what matched may be anywhere in it. */
function showHit({ line, text, isContext }: Hit): string {
  const whole = text.replace(/\r?\n?$/u, "");
  const shown = whole.length > MAX_CHARS ? `${whole.slice(0, MAX_CHARS)}… [${whole.length} characters]` : whole;
  return `${line}${isContext ? "-" : ":"} ${shown}`;
}
