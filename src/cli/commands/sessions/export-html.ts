// A conversation as one HTML page that loads nothing and runs nothing: Markdown is rendered, and nothing said becomes markup.
import { Lexer, type Token } from "marked";
import { decoded, isLexable, MARKDOWN_DEPTH, safeAddress } from "../../../base/text/markdown-safety.js";
import { formatElapsed } from "../../terminal/stream.js";
import { type ConversationItem, type StoredConversation, timeText, usageText } from "./sessions.js";

const STYLE = [
  "body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}",
  "pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.5rem 0}",
  ".answer pre,.diff{background:#f4f4f4;border-radius:6px;padding:.5rem 1rem}code{font-size:.95em}",
  ".prompt{border-left:4px solid #2b6cb0;padding-left:1rem;font-weight:600}time{font-weight:400;font-size:.85em;color:#666}",
  "blockquote{border-left:3px solid #ccc;margin-left:0;padding-left:1rem;color:#555}",
  "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2rem .6rem}",
  ".thought,.note,.about{color:#666}.note{font-style:italic}.add{color:#1a7f37}.cut{color:#b31d28}.at{color:#666}",
  "details{border:1px solid #ddd;border-radius:6px;padding:.5rem 1rem;margin:1rem 0}",
  "@media(prefers-color-scheme:dark){body{background:#161616;color:#eee}details{border-color:#444}.answer pre,.diff{background:#222}.add{color:#7ee787}.cut{color:#ff7b72}.thought,.note,.about,time,.at{color:#aaa}}",
].join("\n");

/** Even if something were to get past the escaping, the page may load and run nothing. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

export function conversationHtml({ session, items, usage }: StoredConversation): string {
  const { id, title, cwd, updatedMs } = session;
  const used = usage ? `, ${usageText(usage)}` : "";
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    '<meta name="viewport" content="width=device-width">',
    `<title>${escaped(title)}</title>`,
    `<style>\n${STYLE}\n</style>`,
    "</head>",
    "<body>",
    `<h1>${escaped(title)}</h1>`,
    `<p class="about">${escaped(`${id} in ${cwd}, last used ${timeText(updatedMs)} UTC${used}`)}</p>`,
    ...items.map(itemHtml),
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

function itemHtml(item: ConversationItem): string {
  if (item.kind === "answer") return `<div class="answer">${markdownHtml(item.text)}</div>`;
  if (item.kind !== "call") {
    const time = item.t === undefined ? "" : `<time>${timeText(item.t)} UTC</time>\n`;
    return `<pre class="${item.kind}">${time}${escaped(item.text)}</pre>`;
  }
  const { tool, outcome, elapsedMs, arguments: given, text, diff } = item;
  const time = elapsedMs === undefined ? "" : `, ${formatElapsed(elapsedMs)}`;
  const answer = text === "" ? "" : `<pre>${escaped(text)}</pre>`;
  const change = diff === undefined ? "" : `<p>${escaped(diff.path)}</p><pre class="diff">${diffHtml(diff.text)}</pre>`;
  const isOpen = diff === undefined ? "" : " open";
  return `<details${isOpen}><summary><code>${escaped(tool)}</code> ${outcome}${time}</summary><pre>${escaped(given)}</pre>${answer}${change}</details>`;
}

function diffHtml(text: string): string {
  const kinds: Readonly<Record<string, string>> = { "+": "add", "-": "cut", "@": "at" };
  return text
    .split("\n")
    .map((line) => {
      const kind = kinds[line[0] ?? ""];
      return kind === undefined ? escaped(line) : `<span class="${kind}">${escaped(line)}</span>`;
    })
    .join("\n");
}

/** The parser gives tokens only; HTML in the text is shown as text. */
function markdownHtml(text: string): string {
  const plain = `<pre>${escaped(text)}</pre>`;
  if (!isLexable(text)) return plain;
  try {
    return blocks(Lexer.lex(text, { gfm: true }), 0);
  } catch {
    return plain; // nested deeper than the parser can follow
  }
}

function blocks(tokens: readonly Token[], depth: number): string {
  return tokens.map((token) => block(token, depth)).join("\n");
}

function block(token: Token, depth: number): string {
  if (depth > MARKDOWN_DEPTH) return `<pre>${escaped(token.raw)}</pre>`;
  switch (token.type) {
    case "space":
    case "def":
      return "";
    case "heading": {
      const level = Math.min(6, Number(token["depth"]) + 1);
      return `<h${level}>${inline(token, depth)}</h${level}>`;
    }
    case "paragraph":
      return `<p>${inline(token, depth)}</p>`;
    case "text":
      return inline(token, depth);
    case "code":
      return `<pre>${escaped(String(token["text"]))}</pre>`;
    case "blockquote":
      return `<blockquote>${blocks(tokensIn(token), depth + 1)}</blockquote>`;
    case "hr":
      return "<hr>";
    case "checkbox":
      return token["checked"] === true ? "☑ " : "☐ ";
    case "list":
      return list(token, depth);
    case "table":
      return table(token, depth);
    default:
      return `<pre>${escaped(token.raw)}</pre>`;
  }
}

function list(token: Token, depth: number): string {
  const items = partsOf(token, "items").map((item) => `<li>${blocks(tokensIn(item), depth + 1)}</li>`);
  const start: unknown = Reflect.get(token, "start");
  if (Reflect.get(token, "ordered") !== true) return `<ul>${items.join("")}</ul>`;
  return `<ol start="${typeof start === "number" ? start : 1}">${items.join("")}</ol>`;
}

function table(token: Token, depth: number): string {
  const row = (cells: readonly object[], tag: "td" | "th") =>
    `<tr>${cells.map((cell) => `<${tag}>${spans(tokensIn(cell), depth)}</${tag}>`).join("")}</tr>`;
  const rows: unknown = Reflect.get(token, "rows");
  const body = (Array.isArray(rows) ? rows : []).map((cells: unknown) => row(objectsIn(cells), "td"));
  return `<table>${row(partsOf(token, "header"), "th")}${body.join("")}</table>`;
}

function inline(token: Token, depth: number): string {
  const inner = tokensIn(token);
  return inner.length > 0 ? spans(inner, depth) : escaped(decoded(String(Reflect.get(token, "text") ?? "")));
}

function spans(tokens: readonly Token[], depth: number): string {
  return tokens.map((token) => span(token, depth + 1)).join("");
}

const SPAN_TAGS: Readonly<Record<string, string>> = { strong: "strong", em: "em", del: "del" };

function span(token: Token, depth: number): string {
  if (depth > MARKDOWN_DEPTH) return escaped(token.raw);
  const tag = SPAN_TAGS[token.type];
  if (tag !== undefined) return `<${tag}>${inline(token, depth)}</${tag}>`;
  switch (token.type) {
    case "codespan":
      return `<code>${escaped(String(token["text"]))}</code>`;
    case "br":
      return "<br>";
    case "link":
    case "image": {
      const url = safeAddress(decoded(String(Reflect.get(token, "href") ?? "")));
      if (!url) return escaped(token.raw);
      return `<a href="${escaped(url.href)}" rel="noreferrer noopener">${inline(token, depth)}</a> (${escaped(url.host)})`;
    }
    case "text":
    case "escape":
      return inline(token, depth);
    default:
      return escaped(token.raw);
  }
}

function tokensIn(token: object): readonly Token[] {
  const tokens: unknown = Reflect.get(token, "tokens");
  return Array.isArray(tokens) ? tokens.filter(isToken) : [];
}

function partsOf(token: Token, key: "items" | "header"): readonly object[] {
  return objectsIn(Reflect.get(token, key));
}

function objectsIn(value: unknown): readonly object[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  return list.filter((one): one is object => typeof one === "object" && one !== null);
}

function isToken(value: unknown): value is Token {
  return typeof value === "object" && value !== null && "type" in value && "raw" in value;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Controls are no characters of HTML; those that turn the direction of reading are shown as what they are. */
function escaped(text: string): string {
  return text
    .replaceAll(/[&<>"']/gu, (sign) => ENTITIES[sign] ?? sign)
    .replaceAll(/(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (sign) => {
      const code = sign.codePointAt(0) ?? 0;
      return `&lt;U+${code.toString(16).toUpperCase().padStart(4, "0")}&gt;`;
    });
}
