// Markdown as nodes. The parser gives tokens only; nothing of a text is ever read as HTML, and only plain links are links.
import { Lexer, type Token } from "marked";
import type { ComponentChildren, VNode } from "preact";
import { decoded, isLexable, MARKDOWN_DEPTH, safeAddress } from "../../base/text/markdown-safety.js";
import { markHidden } from "../../base/text/marking.js";

export function Markdown({ text }: { readonly text: string }) {
  return <div class="markdown">{markdownNodes(text)}</div>;
}

export function markdownNodes(text: string): ComponentChildren {
  const plain = <p class="plain">{text}</p>;
  if (!isLexable(text)) return plain;
  try {
    return blocks(Lexer.lex(text, { gfm: true }), 0);
  } catch {
    return plain; // nested deeper than the parser can follow
  }
}

function blocks(tokens: readonly Token[], depth: number): VNode[] {
  return tokens.flatMap((token) => block(token, depth) ?? []);
}

function block(token: Token, depth: number): VNode | undefined {
  if (depth > MARKDOWN_DEPTH) return <p class="plain">{token.raw}</p>;
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
  if (depth > MARKDOWN_DEPTH) return token.raw;
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
