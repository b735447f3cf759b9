// Pages as text: what readers need stays, nothing is slow, nothing throws.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { pageText } from "./html-text.js";

const BASE = new URL("https://site.test/dir/page");
const show = (html: string) => pageText(html, BASE).text;

test.each([
  ["headings and paragraphs", "<h2>A</h2><p>one</p><p>two\n  three</p>", "## A\n\none\n\ntwo three"],
  ["lists", "<ul><li>a<li>b</ul>", "- a\n- b"],
  ["code", "<pre>  a\n  b</pre>x <code>y</code>", "```\n  a\n  b\n```\nx `y`"],
  ["tables", "<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b\n | 1 | 2"],
  ["links", '<a href="x?a=1&amp;b">w <b>v</b></a>', "[w v](https://site.test/dir/x?a=1&b)"],
  ["no dead links", '<a href="#top">a</a><a href="javascript:x()">b</a><a>c</a><a href="/x"> </a>', "abc"],
  ["images by their words", '<img alt="a cat" src=x><img src=y>', "[image: a cat]"],
  ["no scripts, whatever is in them", "a<script>if (a<b) '<p>x</p>'</SCRIPT>b<style>p{}</style>c", "abc"],
  ["comments", "a<!-- <p>x --> b<!-- open", "a b"],
  ["entities", "&lt;&#65;&#x42;&nbsp;&hellip;&unknown;&#xD800;", "<AB …&unknown;\uFFFD"],
  ["less-than signs", "1 < 2 and 3<4", "1 < 2 and 3<4"],
  ["attributes with >", '<p title="a>b">x</p>', "x"],
  ["quotes left open", '<p title="a>x</p>y', "x\n\ny"],
  ["navigation left out", "<nav>a<ul><li>b</ul></nav><main>c</main><footer>d</footer>", "c"],
  ["a head that is never closed", "<head><meta x><body>text", "text"],
])("%s", (_, html, expected) => {
  expect(show(html)).toBe(expected);
});

test("the title is the page's own, not an image's", () => {
  expect(pageText("<title> A\n B </title><body><svg><title>C</title></svg>x", BASE)).toEqual({
    title: "A B",
    text: "x",
  });
});

test("any text is taken", () => {
  const part = fc.constantFrom(
    "<",
    ">",
    "</",
    "a",
    "p",
    "pre",
    " href=",
    '"',
    "'",
    "&",
    ";",
    "<!--",
    "-->",
    "script",
    "\n",
    "é",
  );
  fc.assert(fc.property(fc.array(part), (parts) => typeof show(parts.join("")) === "string"));
});

test.each(["<", "<a>", "<p ", "<p a='", "<!--", "&#", "<script>", "</a>", "<nav>", "<a href=x>y"])(
  "a page of nothing but %s is read in no time",
  (part) => {
    const before = performance.now();
    show(part.repeat(200_000));
    expect(performance.now() - before).toBeLessThan(3_000);
  },
);
