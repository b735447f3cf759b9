// The fenced blocks of the documents, which the tests check and run.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

export const ROOT: string = join(import.meta.dirname, "../..");

export interface Block {
  /** From the root of the repository. */
  readonly file: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

export interface ShellLine {
  readonly file: string;
  readonly line: number;
  /** Without its comment. */
  readonly command: string;
  /** What it must exit with: said in its comment as `exit N`. */
  readonly exit: number;
}

/** What people read to use Tenon: records of decisions and of measurements are not among it. */
export function documents(): readonly string[] {
  const skipped = new Set(["docs/decisions", "docs/benchmarks.md", "docs/soak.md"]);
  const walk = (folder: string): string[] =>
    readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (skipped.has(path)) return [];
      return entry.isDirectory() ? walk(path) : path.endsWith(".md") ? [path] : [];
    });
  return ["README.md", ...walk("docs").sort()];
}

export function blocksIn(file: string): readonly Block[] {
  const lines = readFileSync(join(ROOT, file), "utf8").split("\n");
  const blocks: Block[] = [];
  let open: { language: string; line: number; text: string[] } | undefined;
  for (const [index, line] of lines.entries()) {
    const fence = /^```(\w*)\s*$/u.exec(line);
    if (fence && !open) open = { language: fence[1] ?? "", line: index + 1, text: [] };
    else if (fence && open) {
      blocks.push({ file, language: open.language, line: open.line, text: open.text.join("\n") });
      open = undefined;
    } else open?.text.push(line);
  }
  return blocks;
}

export function shellLines({ file, line, text }: Block): readonly ShellLine[] {
  return text.split("\n").flatMap((written, index): ShellLine[] => {
    const [, command = "", comment = ""] = /^(.*?)(?:\s+#\s(.*))?$/u.exec(written.trim()) ?? [];
    if (command === "" || command.startsWith("#")) return [];
    const exit = Number(/\bexit (\d+)/u.exec(comment)?.[1] ?? 0);
    return [{ file, line: line + index + 1, command, exit }];
  });
}

/** Where a document's links lead that stay in the repository. */
export function localLinks(file: string): readonly string[] {
  const text = readFileSync(join(ROOT, file), "utf8").replaceAll(/^```[\s\S]*?^```/gmu, "");
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/gu)].map(([, target = ""]) => target);
  const folder = join(ROOT, file, "..");
  return links
    .filter((target) => !/^[a-z]+:|^#/u.test(target))
    .map((target) => relative(ROOT, join(folder, target.replace(/#.*$/u, ""))));
}
