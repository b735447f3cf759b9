// The plain screen keeps answers whole and puts lines between them.
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { Screen } from "./screen.js";

function textOf(stream: PassThrough): string {
  return String(stream.read() ?? "");
}

it("ends a streamed line before it writes a line of its own", () => {
  const [main, side] = [new PassThrough(), new PassThrough()];
  const screen = new Screen({ main, side });
  screen.text("half ");
  screen.text("a line");
  screen.line("a note");
  screen.text("whole\n");
  screen.line("another");
  screen.endLine();
  screen.text("open");
  screen.hold()();
  expect(textOf(main)).toBe("half a line\nwhole\nopen\n");
  expect(textOf(side)).toBe("a note\nanother\n");
});
