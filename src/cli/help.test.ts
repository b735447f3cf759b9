// The table itself: complete, consistent, and shown within any width.
import { describe, expect, it } from "vitest";
import type { Command } from "./command.js";
import { helpLines } from "./help.js";
import { TABLE } from "./table.js";
import { createPalette } from "./terminal/stream.js";
import { displayWidth } from "./terminal/text.js";

const COMMANDS: readonly (readonly [string, Command])[] = TABLE.flatMap((entry) =>
  entry.kind === "command"
    ? [[entry.name, entry] as const]
    : entry.commands.map((one) => [`${entry.name} ${one.name}`, one] as const),
);

describe("the table", () => {
  it("has every name once", () => {
    const names = COMMANDS.map(([name]) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(COMMANDS)("tells of tenon %s what it is, with an example that is this command", (name, command) => {
    expect(command.summary).toMatch(/^[^A-Z].*[^.]$/u);
    expect(Object.keys(command.examples).length).toBeGreaterThan(0);
    for (const [line, does] of Object.entries(command.examples)) {
      const words = name.endsWith(" list") ? name.replace(/ list$/u, "") : name;
      expect(line).toContain(`tenon ${words}`);
      expect(does).not.toMatch(/[.\n]$/u);
    }
    for (const [option, { summary, type, value }] of Object.entries(command.options)) {
      expect(option).toMatch(/^[a-z][a-z-]*$/u);
      expect(summary).not.toBe("");
      expect(value === undefined, `--${option}`).toBe(type === "boolean");
    }
  });

  it.each([40, 60, 80, 160])("fits %d columns, but for lines that are to be typed", (columns) => {
    const style = { columns, palette: createPalette(false) };
    const lines = [
      ...helpLines(TABLE, [], style),
      ...TABLE.flatMap((entry) => [
        ...helpLines(TABLE, [entry], style),
        ...(entry.kind === "group" ? entry.commands : []).flatMap((one) => helpLines(TABLE, [entry, one], style)),
      ]),
    ];
    const isTyped = (line: string) => /^(?: {2}\S|tenon |Usage:|Exit codes|.* tenon )/u.test(line);
    const isTooWide = (line: string) => !isTyped(line) && displayWidth(line) > Math.max(columns, 60);
    expect(lines.filter(isTooWide)).toEqual([]);
  });
});
