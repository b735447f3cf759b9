// Styled lines broken between words: what code is indented by stays.
import { describe, expect, it } from "vitest";
import { createPalette, withoutStyles } from "../stream.js";
import { displayWidth } from "../text.js";
import { wrapStyled } from "./wrap-styled.js";

const { dim, red } = createPalette(true);

describe("wrapStyled", () => {
  it.each([
    ["in one style", "        return 1"],
    ["in another style than what stands before them", `    ${dim("    return 1")}`],
    ["in several", `    ${dim("  ")}${red("  return 1")}`],
  ])("keeps the blanks a line begins with, %s", (_, line) => {
    expect(wrapStyled(line, 40, 4).map(withoutStyles)).toEqual(["        return 1"]);
  });

  it("makes no line wider than the window, and keeps words of a line that is indented far", () => {
    for (const blanks of [0, 4, 15, 60]) {
      const lines = wrapStyled(`${" ".repeat(blanks)}${dim("some words that go on and on and on")}`, 30, 4);
      for (const line of lines) expect(displayWidth(withoutStyles(line))).toBeLessThanOrEqual(30);
      expect(lines.map(withoutStyles).join(" ").trim().replaceAll(/\s+/gu, " ")).toBe(
        "some words that go on and on and on",
      );
    }
  });
});
