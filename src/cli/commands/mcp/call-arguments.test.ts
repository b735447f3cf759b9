// `key=value` words become what the tool's schema asks for, or a refusal that names the key and never the value.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readArguments, withFileTexts } from "./call-arguments.js";

const SCHEMA = {
  type: "object",
  properties: {
    text: { type: "string" },
    count: { type: "integer" },
    ratio: { type: "number" },
    isOn: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
    numbers: { type: "array", items: { type: "number" } },
    options: { type: "object", properties: { depth: { type: "integer" }, name: { type: "string" } } },
    either: { anyOf: [{ type: "number" }, { type: "string" }] },
    maybe: { type: ["string", "null"] },
    kind: { enum: ["a", "b"] },
    any: {},
    entities: { type: "array", items: { type: "object" } },
  },
} as const;

describe("arguments of a tool", () => {
  it.each([
    [["text=1"], { text: "1" }],
    [["text=a=b"], { text: "a=b" }],
    [["text="], { text: "" }],
    [["count=5", "ratio=0.5", "isOn=true"], { count: 5, ratio: 0.5, isOn: true }],
    [["tags=a", "tags=b"], { tags: ["a", "b"] }],
    [['tags=["x","y"]'], { tags: ["x", "y"] }],
    [["numbers=1", "numbers=2"], { numbers: [1, 2] }],
    [["options.depth=3", "options.name=n"], { options: { depth: 3, name: "n" } }],
    [['options={"depth":1}'], { options: { depth: 1 } }],
    [["either=7"], { either: 7 }],
    [["either=seven"], { either: "seven" }],
    [["maybe=null"], { maybe: null }],
    [["kind=a"], { kind: "a" }],
    [['any={"x":[1]}'], { any: { x: [1] } }],
    [["any=plain words"], { any: "plain words" }],
  ])("are read by its schema: %j", (words, expected) => {
    expect(readArguments(words, SCHEMA)).toEqual(expected);
  });

  it.each([
    [["count=hunter2"], "count must be a whole number"],
    [["isOn=maybe"], "isOn must be a boolean"],
    [["cuont=5"], "did you mean count?"],
    [["options.dept=5"], "did you mean depth?"],
    [["hunter2"], "key=value"],
    [["=x"], "key=value"],
    [["__proto__.x=1"], "__proto__"],
    [["count=9007199254740993"], "count is too large a number"],
    [["count=1", "count=2"], "count is given twice"],
    [["options=x"], "options must be an object, written as JSON"],
    [["entities=foo"], "entities must be a list of objects, written as JSON"],
  ])("are refused: %j", (words, reason) => {
    expect(() => readArguments(words, SCHEMA)).toThrow(reason);
    if (words[0] === "count=hunter2") expect(() => readArguments(words, SCHEMA)).not.toThrow("hunter2");
  });

  it("of any text never become anything but what was typed, where a text is wanted", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(readArguments([`text=${text}`], SCHEMA)).toEqual({ text });
      }),
    );
  });

  it("take the text of a file for @FILE, and a text that begins with @ for @@", async () => {
    const words = await withFileTexts(["text=@notes.md", "any=@@alice", "count=5"], async (path) => `<${path}>`);
    expect(words).toEqual(["text=<notes.md>", "any=@alice", "count=5"]);
  });

  it("of a tool that says nothing of its arguments are taken as they come", () => {
    expect(readArguments(["a=1", "b=x"], { type: "object" })).toEqual({ a: 1, b: "x" });
    expect(() => readArguments(["a=1"], { type: "object", additionalProperties: false })).toThrow("it takes none");
  });
});
