// Markdown as the reference pages need it.

/** Names of keys and options hold what Markdown takes for markup. */
export function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll(/\s+/gu, " ").trim();
}

export function code(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  if (rows.length === 0) return [];
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line), ""];
}

export function page(title: string, intro: readonly string[], body: readonly string[]): string {
  const lines = [
    `# ${title}`,
    "",
    ...intro,
    "",
    "Made by `npm run docs` from the code; do not edit it by hand.",
    "",
    ...body,
  ];
  return `${lines
    .join("\n")
    .replaceAll(/\n{3,}/gu, "\n\n")
    .trimEnd()}\n`;
}
