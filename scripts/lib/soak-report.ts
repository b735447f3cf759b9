// What a soak reports, and how its last result is kept in docs/soak.md: one section each, replaced as a whole.

export interface SoakReport {
  readonly passed: number;
  readonly failed: number;
  /** What is worth keeping, each a line of Markdown. */
  readonly notes: readonly string[];
}

/** `scripts/soak/<name>.ts` exports this as `soak`. Progress goes to stdout while it runs. */
export type Soak = (args: readonly string[]) => Promise<SoakReport>;

export interface SoakFacts {
  readonly date: string;
  readonly commit: string;
  readonly machine: string;
  readonly command: string;
}

const TITLE = "# Soak results\n\nThe last run of each soak, by `npm run soak -- <name>`.\n";

export function withSection(document: string, name: string, report: SoakReport, facts: SoakFacts): string {
  const { date, commit, machine, command } = facts;
  const section = [
    `## ${name}`,
    "",
    `${report.passed} passed, ${report.failed} failed; ${date}, commit ${commit}, ${machine}, \`${command}\``,
    "",
    ...report.notes,
    "",
  ].join("\n");
  const [head = "", ...sections] = (document === "" ? TITLE : document).split(/^(?=## )/m);
  const others = sections.filter((text) => !text.startsWith(`## ${name}\n`));
  return [head.trimEnd(), ...[...others, section].sort().map((text) => text.trimEnd())].join("\n\n").concat("\n");
}
