// Text to terms: what people and tools write differently meets in one term, and nothing breaks it.
import fc from "fast-check";
import { expect, test } from "vitest";
import { isFunctionWord, stemOf, termsOf, wordsOf } from "./terms.js";

const bounds = { maxChars: 10_000, maxWords: 1_000 };
const words = (text: string) => wordsOf(text, bounds);
const terms = (text: string) => termsOf(text, bounds);

test.each([
  ["getUserInfo", ["get", "user", "info"]],
  ["get_user-info.v2", ["get", "user", "info", "v", "2"]],
  ["HTTPServer", ["http", "server", "httpserver"]],
  ["parseHTTPResponse", ["parse", "http", "response"]],
  ["listURLs of IDs", ["list", "urls", "of", "ids"]],
  ["sha256sum", ["sha", "256", "sum"]],
  ["GitHub", ["git", "hub", "github"]],
  ["the user's files don’t", ["the", "users", "files", "dont"]],
  ["Café ÜBER naïve", ["cafe", "uber", "naive"]],
  ["ＦＵＬＬ ﬁle", ["full", "file"]],
  ["天气预报 tool 雨", ["天气", "气预", "预报", "tool", "雨"]],
  ["用GitHub搜索", ["用", "git", "hub", "github", "搜索"]],
  ["сохранитьФайл", ["сохранить", "фаил"]],
])("takes %s apart", (text, expected) => {
  expect(words(text)).toEqual(expected);
});

test("forms of a word are one term, and words that only wrap a request are none", () => {
  expect(terms("searching searches search")).toEqual(["search", "search", "search"]);
  expect(terms("Could you please help me with the translations?")).toEqual(terms("translation"));
});

test("encoded data is left out, and a text counts only up to its bounds", () => {
  expect(words(`key ${"aB3".repeat(40)} end`)).toEqual(["key", "end"]);
  expect(wordsOf("one two three four", { maxChars: 100, maxWords: 2 })).toEqual(["one", "two"]);
  expect(wordsOf("天".repeat(50), { maxChars: 100, maxWords: 5 })).toHaveLength(5);
  expect(wordsOf("one two three", { maxChars: 7, maxWords: 9 })).toEqual(["one", "two"]);
});

test("any text gives the same lower-case terms every time, none of them empty", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" })), (text) => {
      const found = terms(text);
      expect(terms(text)).toEqual(found);
      for (const term of found) {
        expect(term).not.toBe("");
        expect(term).not.toMatch(/[A-Z\s]/u);
      }
    }),
  );
});

test("stems meet for forms of one word, and function words are told from verbs of a request", () => {
  expect(stemOf("directories")).toBe(stemOf("directory"));
  expect(isFunctionWord("the")).toBe(true);
  expect(isFunctionWord("show")).toBe(false);
});
