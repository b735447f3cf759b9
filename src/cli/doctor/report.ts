// The doctor's findings, for people and for programs; what to do comes last, where it is read.
import type { Palette } from "../terminal/palette.js";
import { visible, visibleLine } from "../terminal/visible.js";
import { displayWidth } from "../terminal/width.js";
import { wrapText } from "../terminal/wrap.js";
import type { Finding } from "./finding.js";

interface Style {
  readonly columns: number;
  readonly palette: Palette;
}

const MARKS: Readonly<Record<Finding["state"], { readonly sign: string; readonly style: keyof Palette }>> = {
  ok: { sign: "✓", style: "green" },
  odd: { sign: "!", style: "yellow" },
  wrong: { sign: "✗", style: "red" },
  unused: { sign: "–", style: "dim" },
};

/** A subject wider than this pushes its text to the next line. */
const SUBJECT_COLUMNS = 24;

export function findingLines(findings: readonly Finding[], style: Style): readonly string[] {
  const width = Math.min(
    SUBJECT_COLUMNS,
    Math.max(...findings.map(({ subject }) => displayWidth(visibleLine(subject)))),
  );
  return [...findings.flatMap((finding) => oneFinding(finding, width, style)), "", ...todo(findings, style)];
}

function oneFinding({ state, subject, text }: Finding, width: number, { columns, palette }: Style): readonly string[] {
  const { sign, style } = MARKS[state];
  const name = visibleLine(subject);
  const margin = " ".repeat(width + 4);
  const room = Math.max(30, Math.min(columns, 120) - margin.length);
  const [first = "", ...more] = visible(text)
    .split("\n")
    .flatMap((line) => wrapText(line.trimEnd(), room));
  const head = `${palette[style](sign)} ${name.padEnd(width)}`;
  const rest = more.map((line) => margin + line);
  return displayWidth(name) > width ? [head, margin + first, ...rest] : [`${head}  ${first}`, ...rest];
}

/** What is wrong first, then what is odd: each with its cures. */
function todo(findings: readonly Finding[], { palette }: Style): readonly string[] {
  const wrong = findings.filter(({ state }) => state === "wrong");
  const odd = findings.filter(({ state, cures = [] }) => state === "odd" && cures.length > 0);
  if (wrong.length === 0 && odd.length === 0) return [palette.green("All is well.")];
  const section = (title: string, ones: readonly Finding[]) =>
    ones.length === 0
      ? []
      : [
          palette.bold(title),
          ...ones.map(
            ({ subject, cures = [] }, at) =>
              `  ${at + 1}. ${visibleLine(subject)}: ${cures.map(visibleLine).join(", or ")}`,
          ),
        ];
  const count = `${wrong.length} ${wrong.length === 1 ? "thing is" : "things are"} wrong. What to do:`;
  return [...section(count, wrong), ...section("Worth a look:", odd)];
}

export function findingsJson(findings: readonly Finding[]): object {
  return {
    isWell: findings.every(({ state }) => state !== "wrong"),
    findings: findings.map(({ id, subject, state, text, cures = [] }) => ({ id, subject, state, text, cures })),
  };
}
