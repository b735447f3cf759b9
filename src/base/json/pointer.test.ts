// A pointer gives the value it names, or nothing; never something that is not the value's own.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JsonValue, pointerSteps, valueAtPointer } from "./json.js";

describe("a JSON pointer", () => {
  // The examples of RFC 6901, section 5.
  const example: JsonValue = {
    foo: ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
  };

  it.each<[string, JsonValue]>([
    ["", example],
    ["/foo", ["bar", "baz"]],
    ["/foo/0", "bar"],
    ["/", 0],
    ["/a~1b", 1],
    ["/c%d", 2],
    ["/e^f", 3],
    ["/g|h", 4],
    ["/i\\j", 5],
    ['/k"l', 6],
    ["/ ", 7],
    ["/m~0n", 8],
  ])("%j finds what it names", (pointer, expected) => {
    expect(valueAtPointer(example, pointer)).toEqual(expected);
  });

  it.each(["foo", "/foo/2", "/foo/-", "/foo/00", "/foo/0/length", "/__proto__", "/constructor", "/foo/length", "/~2"])(
    "%j finds nothing",
    (pointer) => {
      expect(valueAtPointer(example, pointer)).toBeUndefined();
    },
  );

  it("comes back to the steps it was made of, whatever they are", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (steps) => {
        const pointer = steps.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
        expect(pointerSteps(pointer)).toEqual(steps);
      }),
    );
  });

  it("never throws, whatever is asked of whatever", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (value, pointer) => {
        const parsed: JsonValue = JSON.parse(JSON.stringify(value));
        valueAtPointer(parsed, pointer);
      }),
    );
  });
});
