// A conversation as Markdown. Whatever was said stays text: it cannot end the fence it stands in.
import { timeText } from "./list.js";
import type { Talk, TalkItem } from "./talk.js";

export function talkMarkdown({ session, items }: Talk): string {
  const { id, title, cwd, updatedMs } = session;
  const head = [
    `# ${escaped(oneLine(title))}`,
    "",
    `Session \`${id}\` in ${code(cwd)}, last used ${timeText(updatedMs)} UTC`,
  ];
  return `${[...head, ...items.flatMap((item) => ["", ...itemMarkdown(item)])].join("\n")}\n`;
}

function itemMarkdown(item: TalkItem): readonly string[] {
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
