// `tenon doctor`: looks at everything a session here needs, and ends with what to do.

import type { Given, Values } from "../../command.js";
import { type CommandContext, print, printJson } from "../../context.js";
import { EXIT } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { progress } from "../../terminal/screen.js";
import type { Palette } from "../../terminal/stream.js";
import { displayWidth, visible, visibleLine, wrapText } from "../../terminal/text.js";
import { liveConfig, visitAll } from "../mcp/visit.js";
import {
  checkCommandEnvironment,
  checkConfiguration,
  checkEditor,
  checkEditors,
  checkEntries,
  checkFolders,
  checkKeyring,
  checkModels,
  checkNode,
  checkSandbox,
  checkServers,
  checkTrust,
  type Finding,
} from "./checks.js";

export async function runDoctor(
  { values }: Given<Values<"json" | "no-connect">>,
  context: CommandContext,
): Promise<number> {
  const findings = await examine(context, values["no-connect"] !== true);
  if (values.json === true) printJson(context, findingsJson(findings));
  else print(context, findingLines(findings, context));
  return findings.some(({ state }) => state === "wrong") ? EXIT.failed : EXIT.done;
}

async function examine(context: CommandContext, mayConnect: boolean): Promise<readonly Finding[]> {
  const config = await liveConfig(context);
  const looked = mayConnect ? await visitAll(config, context, { timeoutMs: CLI_LIMITS.connectMs }) : undefined;
  using _shown = progress(context, "Looking at this machine…");
  const [folders, models, sandbox, keyring, editor, editors] = await Promise.all([
    checkFolders(context),
    checkModels(config, context),
    checkSandbox(config, context),
    checkKeyring(config, context),
    checkEditor(context),
    checkEditors(context),
  ]);
  return [
    checkNode(),
    ...checkConfiguration(config, context),
    checkTrust(config),
    ...models,
    ...(looked ? checkServers(looked) : checkEntries(config)),
    sandbox,
    ...checkCommandEnvironment(config, context),
    ...keyring,
    ...folders,
    editor,
    editors,
  ];
}

// The doctor's findings, for people and for programs; what to do comes last, where it is read.

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
