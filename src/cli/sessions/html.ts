// A conversation as one HTML page that loads nothing and runs nothing: every word of it is text.
import { timeText } from "./list.js";
import type { Talk, TalkItem } from "./talk.js";

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

export function talkHtml({ session, items }: Talk): string {
  const { id, title, cwd, updatedMs } = session;
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
    `<p class="about">${escaped(`${id} in ${cwd}, last used ${timeText(updatedMs)} UTC`)}</p>`,
    ...items.map(itemHtml),
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

function itemHtml(item: TalkItem): string {
  if (item.kind !== "call") return `<pre class="${item.kind}">${escaped(item.text)}</pre>`;
  const summary = `<summary><code>${escaped(item.tool)}</code> ${item.outcome}</summary>`;
  const answer = item.text === "" ? "" : `<pre>${escaped(item.text)}</pre>`;
  return `<details>${summary}<pre>${escaped(item.arguments)}</pre>${answer}</details>`;
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
