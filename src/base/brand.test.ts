// The end of an exhaustive switch.
import { expect, test } from "vitest";
import { unreachable } from "./id.js";

test("unreachable throws and names the value that got there", () => {
  const fromOutside: { kind: "known" } = JSON.parse('{"kind":"new"}');
  const name = (value: { kind: "known" }): string => {
    switch (value.kind) {
      case "known":
        return "known";
      default:
        return unreachable(value.kind);
    }
  };
  expect(() => name(fromOutside)).toThrow('unreachable case: "new"');
});
