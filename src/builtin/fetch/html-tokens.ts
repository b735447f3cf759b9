// HTML as a row of tags and texts, in one pass and without a grammar: what browsers forgive is forgiven here.

export type HtmlToken =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "open"; readonly name: string; readonly attributes: string; readonly isClosed: boolean }
  | { readonly kind: "close"; readonly name: string };

/** Their content is no markup, and nothing to read. */
const RAW: ReadonlySet<string> = new Set(["script", "style", "textarea", "noscript", "template", "iframe", "svg"]);

export function* htmlTokens(html: string): Generator<HtmlToken> {
  let at = 0;
  while (at < html.length) {
    const tag = html.indexOf("<", at);
    if (tag !== at) yield { kind: "text", text: html.slice(at, tag === -1 ? html.length : tag) };
    if (tag === -1) return;
    if (html.startsWith("<!--", tag)) {
      at = after(html, "-->", tag + 4);
      continue;
    }
    const next = html[tag + 1] ?? "";
    if (!/[a-z/!?]/iu.test(next)) {
      yield { kind: "text", text: "<" };
      at = tag + 1;
      continue;
    }
    const end = tagEnd(html, tag + 1);
    const token = readTag(html.slice(tag + 1, end));
    at = end + 1;
    if (!token) continue;
    yield token;
    if (token.kind === "open" && RAW.has(token.name) && !token.isClosed) at = rawEnd(html, token.name, at);
  }
}

function after(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from);
  return found === -1 ? html.length : found + mark.length;
}

/** The `>` that ends a tag: one inside quotes does not. A quote that is never closed ends the text. */
function tagEnd(html: string, from: number): number {
  let at = from;
  while (at < html.length) {
    const char = html[at];
    if (char === ">") return at;
    if (char === '"' || char === "'") {
      const close = html.indexOf(char, at + 1);
      if (close === -1) return after(html, ">", from) - 1;
      at = close;
    }
    at += 1;
  }
  return html.length;
}

function readTag(inside: string): HtmlToken | undefined {
  const name = /^\/?([a-z][a-z0-9-]*)/iu.exec(inside);
  const word = name?.[1]?.toLowerCase();
  if (word === undefined) return undefined; // doctype, processing instruction
  if (inside.startsWith("/")) return { kind: "close", name: word };
  return { kind: "open", name: word, attributes: inside.slice(name?.[0].length), isClosed: inside.endsWith("/") };
}

/** Before the closing tag, whatever the case of its letters. */
function rawEnd(html: string, name: string, from: number): number {
  const pattern = new RegExp(`</${name}`, "giu");
  pattern.lastIndex = from;
  return pattern.exec(html)?.index ?? html.length;
}

/** Undefined when the tag has no such attribute. */
export function attribute(attributes: string, name: string): string | undefined {
  const found = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, "iu").exec(attributes);
  return found?.[1] ?? found?.[2] ?? found?.[3];
}
