// `tenon doctor`: checks everything a session here needs, and ends with what to do.
import type { Run, Values } from "../../command.js";
import { type CommandContext, print, printJson } from "../../context.js";
import { EXIT } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { progress } from "../../terminal/screen.js";
import type { Palette } from "../../terminal/stream.js";
import { displayWidth, visible, visibleLine, wrapText } from "../../terminal/text.js";
import { inspectAll, liveConfig } from "../mcp/inspect.js";
import {
  checkCommandEnvironment,
  checkConfiguration,
  checkEditor,
  checkEditors,
  checkFolders,
  checkKeyring,
  checkModels,
  checkNode,
  checkSandbox,
  checkServers,
  checkTrust,
  type Finding,
} from "./checks.js";

export const runDoctor: Run<Values<"json" | "no-connect">> = async ({ values }, context) => {
  const findings = await examine(context, values["no-connect"] !== true);
  const isWell = findings.every(({ state }) => state !== "wrong");
  if (values.json === true) {
    const shown = findings.map(({ id, subject, state, text, cures = [] }) => ({ id, subject, state, text, cures }));
    printJson(context, { isWell, findings: shown });
  } else print(context, findingLines(findings, context));
  return isWell ? EXIT.done : EXIT.failed;
};

async function examine(context: CommandContext, mayConnect: boolean): Promise<readonly Finding[]> {
  const config = await liveConfig(context);
  const servers = mayConnect
    ? await inspectAll(config, context, { timeoutMs: CLI_LIMITS.connectMs })
    : config.servers.map((server) => ({ server }));
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
    ...checkServers(servers),
    sandbox,
    ...checkCommandEnvironment(config, context),
    ...keyring,
    ...folders,
    editor,
    editors,
  ];
}

const MARKS: Readonly<Record<Finding["state"], { readonly sign: string; readonly style: keyof Palette }>> = {
  ok: { sign: "✓", style: "green" },
  odd: { sign: "!", style: "yellow" },
  wrong: { sign: "✗", style: "red" },
  unused: { sign: "–", style: "dim" },
};

/** A subject wider than this pushes its text to the next line. */
const SUBJECT_COLUMNS = 24;

/** The findings, and below them what to do: that is read last. */
function findingLines(findings: readonly Finding[], { columns, palette }: CommandContext): readonly string[] {
  const widths = findings.map(({ subject }) => displayWidth(visibleLine(subject)));
  const width = Math.min(SUBJECT_COLUMNS, Math.max(...widths));
  const margin = " ".repeat(width + 4);
  const textWidth = Math.max(30, Math.min(columns, 120) - margin.length);
  const lines = findings.flatMap(({ state, subject, text }) => {
    const { sign, style } = MARKS[state];
    const name = visibleLine(subject);
    const texts = visible(text).split("\n");
    const [first = "", ...more] = texts.flatMap((line) => wrapText(line.trimEnd(), textWidth));
    const head = `${palette[style](sign)} ${name.padEnd(width)}`;
    const rest = more.map((line) => margin + line);
    return displayWidth(name) > width ? [head, margin + first, ...rest] : [`${head}  ${first}`, ...rest];
  });
  return [...lines, "", ...toDo(findings, palette)];
}

/** Wrong findings first, then odd ones: each with its cures. */
function toDo(findings: readonly Finding[], palette: Palette): readonly string[] {
  const wrong = findings.filter(({ state }) => state === "wrong");
  const odd = findings.filter(({ state, cures = [] }) => state === "odd" && cures.length > 0);
  if (wrong.length === 0 && odd.length === 0) return [palette.green("All is well.")];
  const section = (title: string, ones: readonly Finding[]) => {
    const lines = ones.map(({ subject, cures = [] }, at) => {
      return `  ${at + 1}. ${visibleLine(subject)}: ${cures.map(visibleLine).join(", or ")}`;
    });
    return ones.length === 0 ? [] : [palette.bold(title), ...lines];
  };
  const count = `${wrong.length} ${wrong.length === 1 ? "thing is" : "things are"} wrong. What to do:`;
  return [...section(count, wrong), ...section("Worth a look:", odd)];
}
