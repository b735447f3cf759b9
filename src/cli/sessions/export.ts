// `tenon sessions export`: one conversation as Markdown, HTML or JSON, to the output or into a file.
import { extname, resolve } from "node:path";
import { messageOf, TenonError } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import { type CommandContext, print, printJson } from "../configuration/context.js";
import { EXIT } from "../exit.js";
import type { Given } from "../table/command.js";
import { misused } from "../table/parse.js";
import { visible, visibleLine } from "../terminal/visible.js";
import { talkHtml } from "./html.js";
import { talkMarkdown } from "./markdown.js";
import { talkJson } from "./show.js";
import { readTalk, type Talk } from "./talk.js";

interface Values {
  readonly json?: boolean | undefined;
  readonly format?: string | undefined;
  readonly output?: string | undefined;
  readonly force?: boolean | undefined;
}

type Format = "markdown" | "html" | "json";

const BY_NAME: Readonly<Record<string, Format>> = {
  ".html": "html",
  ".htm": "html",
  ".json": "json",
  ".md": "markdown",
};

export async function runSessionExport({ values, words }: Given<Values>, context: CommandContext): Promise<number> {
  const { output, force } = values;
  const format = formatOf(values);
  const talk = await readTalk(words[0] ?? "", context);
  const text = written(talk, format);
  if (output === undefined) {
    // A terminal would obey what is in it; a file or a pipe gets it as it is.
    context.output.write("isTTY" in context.output && context.output.isTTY === true ? visible(text) : text);
    return EXIT.done;
  }
  const path = resolve(context.cwd, output);
  const { files } = context.world;
  if (force !== true && (await files.kindOf(path)) !== undefined) {
    throw new TenonError("config.invalid", `${path} is there already`, { hint: "Add --force to replace it." });
  }
  await files.saveText(path, text).catch((error: unknown) => {
    throw new TenonError("config.unreadable", `${path} cannot be written: ${messageOf(error)}`, { cause: error });
  });
  if (values.json === true) printJson(context, { file: path, format, session: talk.session.id });
  else print(context, [`${visibleLine(talk.session.title)} written to ${visibleLine(path)}`]);
  return EXIT.done;
}

/** What is said, then what the file's name says; `--json` without a file is the format. */
function formatOf({ format, output, json }: Values): Format {
  if (format === "markdown" || format === "html" || format === "json") return format;
  if (format !== undefined) throw misused("--format must be markdown, html or json");
  if (output === undefined && json === true) return "json";
  return (output === undefined ? undefined : BY_NAME[extname(output).toLowerCase()]) ?? "markdown";
}

function written(talk: Talk, format: Format): string {
  switch (format) {
    case "markdown":
      return talkMarkdown(talk);
    case "html":
      return talkHtml(talk);
    case "json":
      return `${JSON.stringify(talkJson(talk), undefined, 2)}\n`;
    default:
      return unreachable(format);
  }
}
