// Pages as text: what readers need stays, nothing is slow, nothing throws.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Pace } from "../base/async/pace.js";
import { watchEventLoop } from "../testing/lab/index.js";
import { nodeWorld } from "../world/index.js";
import { pageText } from "./html-text.js";
import { BUILTIN_LIMITS } from "./limits.js";

const BASE = new URL("https://site.test/dir/page");
/** Every slice in this turn of the loop. */
const AT_ONCE = { run: async <T>(work: () => T): Promise<T> => work() };
const show = async (html: string) => (await pageText(html, BASE, AT_ONCE)).text;

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
  ["quotes left open", '<p title="a>x</p>y', ""], // as browsers have it
  ["navigation left out", "<nav>a<ul><li>b</ul></nav><main>c</main><footer>d</footer>", "c"],
  ["a head that is never closed", "<head><meta x><body>text", "text"],
])("%s", async (_, html, expected) => {
  expect(await show(html)).toBe(expected);
});

test("the title is the page's own, not an image's", async () => {
  const page = await pageText("<svg><title>C</title></svg><title> A\n B </title><body>x", BASE, AT_ONCE);
  expect(page).toEqual({ title: "A B", text: "x", isCut: false });
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
  return fc.assert(
    fc.asyncProperty(fc.array(part), async (parts) => {
      // However it is cut into slices, nothing is lost: two empty lines never follow each other.
      expect(await show(parts.join(""))).not.toMatch(/\n\n\n|[^\S\n]\n|^\s|\s$/u);
    }),
  );
});

const REPEATED = [
  "<",
  "<a>",
  "<p ",
  "<p a='",
  "<!--",
  "&#",
  "<script>",
  "</a>",
  "<nav>",
  "<a href=x>y",
  "<b>",
  "\n",
  "&amp",
];

test.each([...REPEATED, "<pre> ", "<a href=/x>y</a>", "<li>a"])(
  "a page of nothing but %s never holds the event loop",
  async (part) => {
    const world = nodeWorld();
    const html = Buffer.from(part.repeat(Math.floor(BUILTIN_LIMITS.fetchMaxBytes / part.length / 4))).toString("utf8");
    const { value, longestMs } = await watchEventLoop(() => pageText(html, BASE, Pace.of(world)));
    expect(value.text.length).toBeLessThanOrEqual(BUILTIN_LIMITS.fetchPage.maxTextChars);
    expect(longestMs).toBeLessThan(50);
  },
);

test("slices do not grow with what came before them", async () => {
  const lumps: number[] = [];
  const pace = {
    run: async <T>(work: () => T): Promise<T> => {
      lumps.push(1);
      return work();
    },
  };
  const deep = await pageText(`${"<b>".repeat(5_000)}${"</i>".repeat(500_000)}`, BASE, pace);
  expect(deep.isCut).toBe(true);
  expect(lumps.length).toBeLessThan(3); // nobody looks through a thousand open elements for each closing tag
  const long = await pageText(
    "<a href=/x>y</a> ".repeat(300_000),
    new URL(`https://site.test/${"d".repeat(3_000)}/p`),
    pace,
  );
  expect(long.isCut).toBe(true);
  expect(long.text.length).toBeLessThanOrEqual(BUILTIN_LIMITS.fetchPage.maxTextChars);
});
