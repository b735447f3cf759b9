// Log lines: one JSON object each, filtered by level, safe to print, and never the cause of a failure.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLog, LOG_LEVELS, type LogLevel } from "./world.js";

function linesAt(level: LogLevel): { log: ReturnType<typeof createLog>; lines: string[] } {
  const lines: string[] = [];
  return { log: createLog({ level, now: () => 1_700_000_000_000, write: (line) => lines.push(line) }), lines };
}

describe("a log", () => {
  test("writes time, level and event first, then the fields, one line each", () => {
    const { log, lines } = linesAt("debug");
    log.warn("server.failed", { server: "files", code: 1, isLast: true, none: null, gone: undefined });
    log.info("bare");
    expect(lines).toEqual([
      '{"t":"2023-11-14T22:13:20.000Z","level":"warn","event":"server.failed","server":"files","code":1,"isLast":true,"none":null}\n',
      '{"t":"2023-11-14T22:13:20.000Z","level":"info","event":"bare"}\n',
    ]);
  });

  test.each(LOG_LEVELS)("writes nothing below %s", (level) => {
    const { log, lines } = linesAt(level);
    for (const each of LOG_LEVELS) log[each](each);
    const expected = LOG_LEVELS.slice(LOG_LEVELS.indexOf(level));
    expect(lines.map((line) => /"event":"(\w+)"/.exec(line)?.[1])).toEqual(expected);
  });

  test("lets no field pass for the time, the level or the event", () => {
    const { log, lines } = linesAt("debug");
    log.error("real", { event: "fake", level: "debug", t: 0 });
    expect(lines[0]).toBe('{"t":"2023-11-14T22:13:20.000Z","level":"error","event":"real"}\n');
  });

  test("keeps any text exactly, on one line, with nothing in it that steers a terminal or hides", () => {
    const hostile = fc.constantFrom(
      "\n",
      "\r",
      "\u001b[2J",
      "\u009b31m",
      "\u202e",
      "\u2066",
      "\u200b",
      "\u2028",
      "\ufeff",
      "\u{e0041}",
      "\ud800",
      "é",
      "漢",
      "😀",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(hostile, fc.string({ unit: "binary" }))), (parts) => {
        const { log, lines } = linesAt("debug");
        const value = parts.join("");
        log.info("said", { value });
        const [line = ""] = lines;
        expect(JSON.parse(line).value).toBe(value);
        expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
      { numRuns: 1_000 },
    );
  });

  test("leaves readable text readable", () => {
    const { log, lines } = linesAt("debug");
    log.info("said", { value: "Grüße, 世界 😀" });
    expect(lines[0]).toContain("Grüße, 世界 😀");
  });

  test("fails nobody when it cannot write", () => {
    const full = createLog({
      level: "debug",
      now: () => 0,
      write: () => {
        throw new Error("disk full");
      },
    });
    expect(() => full.error("x")).not.toThrow();
    const timeless = createLog({ level: "debug", now: () => Number.NaN, write: () => {} });
    expect(() => timeless.error("x")).not.toThrow();
  });
});
