// Most text of an answer is words, `code` and **bold**: read in one pass, as the Markdown parser reads it, for a small part of its time.
import type { Token } from "marked";

/** Marks that can only be meant in one way: code without blanks at its ends, bold words between blanks or punctuation. */
const MARKED =
  /(?<!`)`([^`\s]|[^`\s][^`\n]*[^`\s])`(?!`)|(?<![^\s(])\*\*([A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9 ,.'-]*[A-Za-z0-9])\*\*(?![^\s.,;:?)])/g;
/** Any other mark, what becomes a link, and a line break. */
const MEANS_MORE = /[\u0000-\u0009\u000b-\u001f\\`*_~[\]!<>&@]|:\/\/|www\.| {2}\n/i;

/** Undefined for text that only the parser can read. */
export function simpleInline(text: string): Token[] | undefined {
  if (!MEANS_MORE.test(text)) return text === "" ? [] : [textToken(text)];
  const tokens: Token[] = [];
  let at = 0;
  for (const match of text.matchAll(MARKED)) {
    const [raw, code, bold = ""] = match;
    const between = text.slice(at, match.index);
    if (MEANS_MORE.test(between) || MEANS_MORE.test(bold)) return undefined;
    if (between !== "") tokens.push(textToken(between));
    const strong = { type: "strong", raw, text: bold, tokens: [textToken(bold)] };
    tokens.push(code === undefined ? strong : { type: "codespan", raw, text: code });
    at = match.index + raw.length;
  }
  const rest = text.slice(at);
  if (MEANS_MORE.test(rest)) return undefined;
  if (rest !== "") tokens.push(textToken(rest));
  return tokens;
}

function textToken(text: string): Token {
  return { type: "text", raw: text, text, escaped: false };
}
