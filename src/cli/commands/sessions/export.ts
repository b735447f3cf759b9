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
} from "./sessions.js";

type ExportValues = Values<"json" | "force", "format" | "output">;

const FORMATS = {
  markdown: conversationMarkdown,
  html: conversationHtml,
  json: (conversation: StoredConversation) => `${JSON.stringify(conversationJson(conversation), undefined, 2)}\n`,
} as const;

type Format = keyof typeof FORMATS;

const BY_EXTENSION: Readonly<Record<string, Format>> = { ".html": "html", ".htm": "html", ".json": "json" };

export const runSessionExport: Run<ExportValues> = async ({ values, words }, context) => {
  const { output, force } = values;
  const format = formatOf(values);
  const conversation = await readConversation(words[0] ?? "", context);
  const text = FORMATS[format](conversation);
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

// A conversation as one HTML page that loads nothing and runs nothing: every word of it is text.

const STYLE = [
  "body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}",
  "pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.5rem 0}",
  ".prompt{border-left:4px solid #2b6cb0;padding-left:1rem;font-weight:600}",
  ".thought,.note,.about{color:#666}.note{font-style:italic}",
  "details{border:1px solid #ddd;border-radius:6px;padding:.5rem 1rem;margin:1rem 0}",
  "@media(prefers-color-scheme:dark){body{background:#161616;color:#eee}details{border-color:#444}.thought,.note,.about{color:#aaa}}",
].join("\n");

/** Even if something were to get past the escaping, the page may load and run nothing. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

export function conversationHtml({ session, items }: StoredConversation): string {
  const { id, title, cwd, updatedMs } = session;
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    '<meta name="viewport" content="width=device-width">',
    `<title>${escapedHtml(title)}</title>`,
    `<style>\n${STYLE}\n</style>`,
    "</head>",
    "<body>",
    `<h1>${escapedHtml(title)}</h1>`,
    `<p class="about">${escapedHtml(`${id} in ${cwd}, last used ${timeText(updatedMs)} UTC`)}</p>`,
    ...items.map(itemHtml),
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

function itemHtml(item: ConversationItem): string {
  if (item.kind !== "call") return `<pre class="${item.kind}">${escapedHtml(item.text)}</pre>`;
  const summary = `<summary><code>${escapedHtml(item.tool)}</code> ${item.outcome}</summary>`;
  const answer = item.text === "" ? "" : `<pre>${escapedHtml(item.text)}</pre>`;
  return `<details>${summary}<pre>${escapedHtml(item.arguments)}</pre>${answer}</details>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Controls are no characters of HTML; those that turn the direction of reading are shown as what they are. */
function escapedHtml(text: string): string {
  return text
    .replaceAll(/[&<>"']/gu, (sign) => ENTITIES[sign] ?? sign)
    .replaceAll(/(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (sign) => {
      const code = sign.codePointAt(0) ?? 0;
      return `&lt;U+${code.toString(16).toUpperCase().padStart(4, "0")}&gt;`;
    });
}

// A conversation as Markdown. Whatever was said stays text: it cannot end the fence it stands in.

export function conversationMarkdown({ session, items }: StoredConversation): string {
  const { id, title, cwd, updatedMs } = session;
  const head = [
    `# ${escaped(oneLine(title))}`,
    "",
    `Session \`${id}\` in ${code(cwd)}, last used ${timeText(updatedMs)} UTC`,
  ];
  return `${[...head, ...items.flatMap((item) => ["", ...itemMarkdown(item)])].join("\n")}\n`;
}

function itemMarkdown(item: ConversationItem): readonly string[] {
  switch (item.kind) {
    case "prompt":
      return ["## Prompt", "", fenced(item.text, "text")];
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
