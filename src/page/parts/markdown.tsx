// Markdown as nodes. The parser gives tokens only; nothing of a text is ever read as HTML, and only plain links are links.
import { Lexer, type Token } from "marked";
import type { ComponentChildren, VNode } from "preact";
import { markHidden } from "../../base/text/marking.js";
import { isUrl } from "../../base/text/url.js";
import { entryOf } from "../wire/json.js";

/** Longer texts are shown as they are: parsing takes time with their length. */
const MAX_CHARS = 200_000;
const MAX_DEPTH = 24;
/** The parser's time grows with the square of the marks in a paragraph: a thousand of `*a ` take it 150 ms, 10,000 take 20 s. */
const MAX_MARKS_SQUARED = 1_500_000;

const SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** The address as the browser reads it; undefined for `javascript:`, `data:` and all others that are no plain address. */
export function safeAddress(text: string): URL | undefined {
  if (!isUrl(text)) return undefined;
  const url = new URL(text);
  return SCHEMES.has(url.protocol) ? url : undefined;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** The parser decodes entities by number, this the others. One that stood for a hidden character is marked. */
export function decoded(text: string): string {
  if (!text.includes("&")) return markHidden(text);
  const plain = text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/giu, (whole, decimal, hex, name) => {
    const code = decimal === undefined ? Number.parseInt(String(hex ?? ""), 16) : Number(decimal);
    if (name !== undefined) return entryOf(ENTITIES, String(name)) ?? String(whole);
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
      ? String.fromCodePoint(code)
      : String(whole);
  });
  return markHidden(plain);
}

export function Markdown({ text }: { readonly text: string }) {
  return <div class="markdown">{markdownNodes(text)}</div>;
}

export function markdownNodes(text: string): ComponentChildren {
  const plain = <p class="plain">{text}</p>;
  if (text.length > MAX_CHARS || isSlow(text)) return plain;
  try {
    return blocks(Lexer.lex(text, { gfm: true }), 0);
  } catch {
    return plain; // nested deeper than the parser can follow
  }
}

/** Whether the parser would take so long that the page stands still, as texts made for that do. Items of lists are parsed each by itself. */
export function isSlow(text: string): boolean {
  let cost = 0;
  for (const paragraph of text.split(/\n[ \t]*\n|\n(?= {0,3}[-+] \S)/u)) {
    const marks = paragraph.match(/[*_~[\]`<!|&\\]/gu)?.length ?? 0;
    cost += marks * marks;
  }
  return cost > MAX_MARKS_SQUARED;
}

function blocks(tokens: readonly Token[], depth: number): VNode[] {
  return tokens.flatMap((token) => block(token, depth) ?? []);
}

function block(token: Token, depth: number): VNode | undefined {
  if (depth > MAX_DEPTH) return <p class="plain">{token.raw}</p>;
  switch (token.type) {
    case "space":
    case "def":
      return undefined;
    case "heading":
      return <Heading level={Number(token["depth"])}>{inline(tokensOf(token), depth)}</Heading>;
    case "paragraph":
      return <p>{inline(tokensOf(token), depth)}</p>;
    case "text":
      return <span>{inline(tokensOf(token), depth, token)}</span>;
    case "code":
      return (
        <pre class="code" tabIndex={0}>
          {markHidden(String(token["text"]))}
        </pre>
      );
    case "blockquote":
      return <blockquote>{blocks(tokensOf(token), depth + 1)}</blockquote>;
    case "checkbox":
      return <span>{token["checked"] === true ? "☑ " : "☐ "}</span>;
    case "hr":
      return <hr />;
    case "list":
      return list(token, depth);
    case "table":
      return table(token, depth);
    default:
      return <p class="plain">{token.raw}</p>; // HTML among them
  }
}

function Heading({ level, children }: { readonly level: number; readonly children: ComponentChildren }) {
  return (
    <p class={`heading h${level}`} role="heading" aria-level={Math.min(6, level + 2)}>
      {children}
    </p>
  );
}

function list(token: Token, depth: number): VNode {
  const given: unknown = Reflect.get(token, "items");
  const items = (Array.isArray(given) ? given : []).map((item: unknown) => {
    return <li>{blocks(isToken(item) ? tokensOf(item) : [], depth + 1)}</li>;
  });
  if (Reflect.get(token, "ordered") !== true) return <ul>{items}</ul>;
  const start: unknown = Reflect.get(token, "start");
  return <ol start={typeof start === "number" ? start : 1}>{items}</ol>;
}

function table(token: Token, depth: number): VNode {
  const [header, rows]: unknown[] = [Reflect.get(token, "header"), Reflect.get(token, "rows")];
  const cells = (given: unknown) =>
    (Array.isArray(given) ? given : []).filter(isCell).map(({ tokens }) => inline(tokens, depth));
  return (
    <div class="table-frame">
      <table>
        <thead>
          <tr>
            {cells(header).map((cell) => (
              <th>{cell}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(Array.isArray(rows) ? rows : []).map((row: unknown) => (
            <tr>
              {cells(row).map((cell) => (
                <td>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function isCell(cell: unknown): cell is { readonly tokens: readonly Token[] } {
  return typeof cell === "object" && cell !== null && "tokens" in cell && Array.isArray(cell.tokens);
}

function inline(tokens: readonly Token[], depth: number, only?: Token): ComponentChildren {
  if (tokens.length === 0 && only) return decoded(String(Reflect.get(only, "text") ?? ""));
  return tokens.map((token) => span(token, depth));
}

function span(token: Token, depth: number): ComponentChildren {
  if (depth > MAX_DEPTH) return token.raw;
  const inner = () => inline(tokensOf(token), depth + 1, token);
  switch (token.type) {
    case "strong":
      return <strong>{inner()}</strong>;
    case "em":
      return <em>{inner()}</em>;
    case "del":
      return <del>{inner()}</del>;
    case "codespan":
      return <code>{markHidden(String(token["text"]))}</code>;
    case "br":
      return <br />;
    case "link":
      return link(token, inner());
    case "image": // nothing is fetched
      return link(token, `picture: ${String(token["text"])}`);
    case "text":
    case "escape":
      return inner();
    default:
      return token.raw;
  }
}

/** Where it leads is said beside it, unless its text says so. */
function link(token: Token, text: ComponentChildren): ComponentChildren {
  const url = safeAddress(decoded(String(Reflect.get(token, "href") ?? "")));
  if (!url) return token.raw;
  const place = url.protocol === "mailto:" ? url.pathname : url.host;
  const isSaid = plainOf(token)
    .trim()
    .replace(/^[a-z]+:(?:\/\/)?/u, "")
    .startsWith(place);
  return (
    <a href={url.href} target="_blank" rel="noreferrer noopener" title={url.href}>
      {text}
      {!isSaid && <span class="link-place"> ({place})</span>}
    </a>
  );
}

function plainOf(token: Token): string {
  return String(Reflect.get(token, "text") ?? "");
}

function tokensOf(token: Token): readonly Token[] {
  const tokens: unknown = Reflect.get(token, "tokens");
  return Array.isArray(tokens) ? tokens.filter(isToken) : [];
}

function isToken(value: unknown): value is Token {
  return typeof value === "object" && value !== null && "type" in value && "raw" in value;
}
