// The lines people read.
import { expect, test } from "vitest";
import { createPalette } from "../terminal/stream.js";
import type { CheckResult } from "./check.js";
import { endLines, headLines, resultLine } from "./report.js";

const paper = { palette: createPalette(false), columns: 80 };
const failed: CheckResult = {
  id: "leak.eof",
  title: "no server is left",
  why: "Processes pile up.",
  status: "fail",
  evidence: `2 of 3\u001b[31m ${"long ".repeat(40)}`,
  ms: 1_234,
};

test("a result is one line within the width, with what an agent wrote made visible", () => {
  const line = resultLine(failed, paper);
  expect(line).toMatch(/^fail {2}leak\.eof +1\.2 s {2}2 of 3/);
  expect(line.length).toBeLessThanOrEqual(80);
  expect(line).not.toContain("\u001b");
  expect(resultLine({ ...failed, status: "skip", evidence: "not claimed" }, paper)).toMatch(
    /^skip {2}leak\.eof +not claimed$/,
  );
});

test("at the end every failure says what it means, in full", () => {
  const lines = endLines([failed, { ...failed, status: "pass" }], paper);
  expect(lines.join("\n")).toContain("Processes pile up.");
  expect(lines.join("\n")).toContain("long ".repeat(39));
  expect(lines.at(-1)).toBe("1 passed, 1 failed, 0 skipped");
});

test("the head says what the agent claims and whether the model is asked", () => {
  const agent = {
    ...{ protocolVersion: 1, name: "a", version: "2", kinds: ["http" as const], authMethods: [] },
    ...{ mayLoad: false, mayResume: false, mayFork: false, mayClose: false },
  };
  expect(headLines(agent, { isUsed: true, format: "gemini" }, paper).join("\n")).toContain(
    "stdio, http; asks the model",
  );
  expect(headLines(agent, { isUsed: false, why: "no key" }, paper).join("\n")).toContain("no model: no key");
});
