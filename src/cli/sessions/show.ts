// `tenon sessions show`: one conversation, read in the terminal.
import { type CommandContext, print, printJson, warn } from "../configuration/context.js";
import { EXIT } from "../exit.js";
import type { Given } from "../table/command.js";
import type { Palette } from "../terminal/palette.js";
import { visible, visibleLine } from "../terminal/visible.js";
import { clipToWidth } from "../terminal/width.js";
import { timeText } from "./list.js";
import { readTalk, type Talk, type TalkItem } from "./talk.js";

interface Values {
  readonly json?: boolean | undefined;
}

/** More of a tool's answer is in the export. */
const RESULT_LINES = 6;

export async function runSessionShow({ values, words }: Given<Values>, context: CommandContext): Promise<number> {
  const talk = await readTalk(words[0] ?? "", context);
  if (values.json === true) printJson(context, talkJson(talk));
  else {
    const { title, cwd, updatedMs, id } = talk.session;
    const { palette } = context;
    print(context, [
      palette.bold(visibleLine(title)),
      palette.dim(`${id}  ${visibleLine(cwd)}  ${timeText(updatedMs)}`),
      ...talk.items.flatMap((item) => ["", ...itemLines(item, context)]),
    ]);
  }
  for (const problem of talk.problems) warn(context, problem);
  return EXIT.done;
}

export function talkJson({ session, items, problems }: Talk): object {
  const { id, title, cwd, updatedMs } = session;
  return { id, title, cwd, updated: new Date(updatedMs).toISOString(), items, problems };
}

function itemLines(item: TalkItem, style: { readonly columns: number; readonly palette: Palette }): readonly string[] {
  const { palette, columns } = style;
  switch (item.kind) {
    case "prompt":
      return visible(item.text)
        .split("\n")
        .map((line) => palette.bold(`> ${line}`));
    case "answer":
      return visible(item.text).split("\n");
    case "thought":
    case "note":
      return visible(item.text)
        .split("\n")
        .map((line) => palette.dim(line));
    case "call": {
      const given = item.arguments.replaceAll(/\s+/gu, " ");
      const head = clipToWidth(visibleLine(`• ${item.tool} ${given}`), columns);
      const lines = item.text === "" ? [] : visible(item.text).split("\n");
      const cut = lines.length > RESULT_LINES ? [`… ${lines.length - RESULT_LINES} more lines`] : [];
      return [
        palette.cyan(head),
        ...[...lines.slice(0, RESULT_LINES), ...cut, ...(item.outcome === "done" ? [] : [item.outcome])].map((line) =>
          palette.dim(`  ${line}`),
        ),
      ];
    }
  }
}
