// Markdown becomes nodes of a fixed set, whatever the text: no scripts, no foreign addresses, nothing hidden.
import fc from "fast-check";
import type { ComponentChildren } from "preact";
import { expect, test } from "vitest";
import { decoded, isLexable, safeAddress } from "../../base/text/markdown-safety.js";
import { markdownNodes } from "./markdown.js";

interface Shown {
  readonly tags: string[];
  readonly links: string[];
  text: string;
}

/** Tags, addresses and text of a tree of nodes. */
function shown(nodes: ComponentChildren, into: Shown = { tags: [], links: [], text: "" }): Shown {
  if (Array.isArray(nodes)) for (const node of nodes) shown(node, into);
  else if (typeof nodes === "string" || typeof nodes === "number") into.text += String(nodes);
  else if (typeof nodes === "object" && nodes !== null && "props" in nodes) {
    const { type, props } = nodes;
    if (typeof type === "function") return shown(Reflect.apply(type, undefined, [props]), into);
    into.tags.push(String(type));
    for (const [name, value] of Object.entries(props)) {
      if (name === "href") into.links.push(String(value));
      expect([
        "children",
        "href",
        "class",
        "title",
        "target",
        "rel",
        "start",
        "tabIndex",
        "role",
        "aria-level",
      ]).toContain(name);
    }
    shown(props.children, into);
  }
  return into;
}

const TAGS = "p span pre blockquote hr ul ol li div table thead tbody tr th td strong em del code br a".split(" ");

test.each([
  ["**bold** and `code`", ["p", "strong", "code"], "bold and code"],
  ["# Title\n\n- one\n- [x] two", ["p", "ul", "li", "span", "li", "span", "span"], "Titleone☑ two"],
  ["| a | b |\n|---|---|\n| 1 | 2 |", ["div", "table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"], "ab12"],
  ["a &lt;b&gt; &amp;amp; &#65;", ["p"], "a <b> &amp; A"],
  ["```js\nlet a;\n```", ["pre"], "let a;"],
  ["<b onclick=x>hi</b>", ["p"], "<b onclick=x>hi</b>"],
  ["<script>alert(1)</script>", ["p"], "<script>alert(1)</script>"],
  ["![alt](https://example.com/x.png)", ["p", "a", "span"], "picture: alt (example.com)"],
])("%j has the expected nodes", (text, tags, words) => {
  const found = shown(markdownNodes(text));
  expect(found.tags).toEqual(tags);
  expect(found.text).toBe(words);
});

test.each([
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](java&#10;script:alert(1))",
  "[x](&#106;avascript:alert(1))",
  "[x](data:text/html,<script>alert(1)</script>)",
  "[x](vbscript:x)",
  "[x](file:///etc/passwd)",
  "[x](/relative)",
  "[x](#pair=1)",
  "<javascript:alert(1)>",
  "![x](javascript:alert(1))",
  "[x]\n\n[x]: javascript:alert(1)",
])("%j is no link", (text) => {
  expect(shown(markdownNodes(text)).links).toEqual([]);
});

test("where a link leads is said, unless its own words say so; addresses are as the browser reads them", () => {
  expect(shown(markdownNodes("[your bank](https://evil.example/login)"))).toMatchObject({
    links: ["https://evil.example/login"],
    text: "your bank (evil.example)",
  });
  expect(shown(markdownNodes("<https://example.com/a>")).text).toBe("https://example.com/a");
  expect(shown(markdownNodes("[https://bank.example](https://evil.example)")).text).toBe(
    "https://bank.example (evil.example)",
  );
  expect(safeAddress("https://b\u00e4nk.example/")?.host).toBe("xn--bnk-qla.example");
});

test("hidden characters cannot come in as entities", () => {
  expect(decoded("a&#x202e;b&#8238;c&#xE0041;")).toBe("a\\u{202E}b\\u{202E}c\\u{E0041}");
  expect(decoded("&#0; &#xD800; &#1114112; &bogus;")).toBe("&#0; &#xD800; &#1114112; &bogus;");
});

test("any text becomes nodes of the known kinds, with plain addresses, and deep nesting is shown as it is", () => {
  const piece = fc.constantFrom(
    "# ",
    "> ",
    "- ",
    "`",
    "**",
    "_",
    "[a](",
    "javascript:x",
    ")",
    "<i>",
    "\n",
    "| a |",
    "---|",
    "&#x202e;",
    "![",
    "]",
    "x",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const { tags, links, text } = shown(markdownNodes(pieces.join("")));
      expect(tags.filter((tag) => !TAGS.includes(tag))).toEqual([]);
      for (const link of links) expect(link).toMatch(/^(?:https?|mailto):/u);
      expect(text).not.toContain("\u202e");
    }),
  );
  expect(shown(markdownNodes("> ".repeat(5_000))).tags.length).toBeLessThan(200);
  expect(shown(markdownNodes(`${"*a ".repeat(20_000)}`)).text.length).toBeGreaterThan(20_000);
  expect(shown(markdownNodes("x".repeat(300_000))).tags).toEqual(["p"]);
});

test("a text made to keep the parser busy is shown as it is, and long ordinary ones are not", () => {
  for (const slow of ["*a ".repeat(12_000), "_a__a_".repeat(8_000), "[".repeat(20_000), "`a``".repeat(9_000)]) {
    expect(isLexable(slow)).toBe(false);
    const startMs = performance.now();
    markdownNodes(slow);
    expect(performance.now() - startMs).toBeLessThan(200);
  }
  const ordinary = "Some *words* of `code` and [a link](https://example.com), twice _as_ **much**.\n\n".repeat(2_000);
  expect(isLexable(ordinary)).toBe(true);
  const list = `${"- an **item** with `code`\n".repeat(100)}\n`.repeat(5);
  expect(isLexable(list)).toBe(true);
});
