// `tenon sessions export`: one conversation as Markdown, HTML or JSON, to the output or into a file.
import { extname, resolve } from "node:path";
import { messageOf, TenonError } from "../../../base/errors.js";
import { misused, type Run, refused, type Values } from "../../command.js";
import { report } from "../../context.js";
import { isTerminal } from "../../terminal/stream.js";
import { visible, visibleLine } from "../../terminal/text.js";
import {
  type ConversationItem,
  conversationJson,
  readConversation,
  type StoredConversation,
  timeText,
  usageText,
} from "./sessions.js";

type ExportValues = Values<"json" | "force", "format" | "output">;

const FORMATS = {
  markdown: conversationMarkdown,
  html: async (conversation: StoredConversation) => {
    const { conversationHtml } = await import("./export-html.js"); // it brings the parser of Markdown
    return conversationHtml(conversation);
  },
  json: (conversation: StoredConversation) => `${JSON.stringify(conversationJson(conversation), undefined, 2)}\n`,
} as const;

type Format = keyof typeof FORMATS;

const BY_EXTENSION: Readonly<Record<string, Format>> = { ".html": "html", ".htm": "html", ".json": "json" };

export const runSessionExport: Run<ExportValues> = async ({ values, words }, context) => {
  const { output, force } = values;
  const format = formatOf(values);
  const conversation = await readConversation(words[0] ?? "", context);
  const text = await FORMATS[format](conversation);
  if (output === undefined) {
    // A terminal would obey control characters; a file or a pipe gets the text as it is.
    context.output.write(isTerminal(context.output) ? visible(text) : text);
    return;
  }
  const path = resolve(context.cwd, output);
  const { files } = context.world;
  if (force !== true && (await files.kindOf(path)) !== undefined) {
    throw refused(`${path} is there already`, "Add --force to replace it.");
  }
  await files.saveText(path, text).catch((error: unknown) => {
    throw new TenonError("config.unreadable", `${path} cannot be written: ${messageOf(error)}`, { cause: error });
  });
  const { id, title } = conversation.session;
  const line = `${visibleLine(title)} written to ${visibleLine(path)}`;
  report(context, values.json, { file: path, format, session: id }, [line]);
};

/** By `--format`, then by the file's name; `--json` without a file is the format. */
function formatOf({ format, output, json }: ExportValues): Format {
  if (format === "markdown" || format === "html" || format === "json") return format;
  if (format !== undefined) throw misused("--format must be markdown, html or json");
  if (output === undefined) return json === true ? "json" : "markdown";
  return BY_EXTENSION[extname(output).toLowerCase()] ?? "markdown";
}

// A conversation as Markdown. Whatever was said stays text: it cannot end the fence it stands in.

export function conversationMarkdown({ session, items, usage }: StoredConversation): string {
  const { id, title, cwd, updatedMs } = session;
  const head = [
    `# ${escaped(oneLine(title))}`,
    "",
    `Session \`${id}\` in ${code(cwd)}, last used ${timeText(updatedMs)} UTC${usage ? `, ${usageText(usage)}` : ""}`,
  ];
  return `${[...head, ...items.flatMap((item) => ["", ...itemMarkdown(item)])].join("\n")}\n`;
}

function itemMarkdown(item: ConversationItem): readonly string[] {
  switch (item.kind) {
    case "prompt":
      return [`## Prompt${item.t === undefined ? "" : ` (${timeText(item.t)} UTC)`}`, "", fenced(item.text, "text")];
    case "answer":
      return ["## Answer", "", safeMarkdown(item.text)];
    case "thought":
      return [quoted(item.text)];
    case "note":
      return [`*${escaped(oneLine(item.text))}*`];
    case "call":
      return [
        `### Tool ${code(item.tool)} (${item.outcome})`,
        "",
        fenced(item.arguments, "json"),
        ...(item.text === "" ? [] : ["", fenced(item.text, "text")]),
        ...(item.diff === undefined
          ? []
          : ["", `Change of ${code(item.diff.path)}:`, "", fenced(item.diff.text, "diff")]),
      ];
  }
}

/** A fence longer than any run of backticks in the text. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/gu)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** Answers are Markdown of the model's; HTML in it would run wherever the page is shown. */
function safeMarkdown(text: string): string {
  return text.replaceAll("<", "&lt;");
}

function quoted(text: string): string {
  return text
    .split("\n")
    .map((line) => `> ${escaped(line)}`)
    .join("\n");
}

function code(text: string): string {
  return `\`${oneLine(text).replaceAll("`", "'")}\``;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>#|]/gu, (sign) => (sign === "<" ? "&lt;" : `\\${sign}`));
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/gu, " ").trim();
}
