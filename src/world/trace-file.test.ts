// Lines to a file: all of them in order, or a line that says how many are missing.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { WORLD_LIMITS } from "./limits.js";
import { TraceFile } from "./trace.js";

test("a disk that cannot keep up costs lines, and the trace says how many, where they are missing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tenon-trace-"));
  try {
    const path = join(folder, "t");
    const file = new TraceFile(path, (lost) => `lost ${lost}`);
    const long = "x".repeat(1_000_000);
    const fits = Math.ceil(WORLD_LIMITS.trace.backlogBytes / long.length);
    for (let index = 0; index < fits + 5; index++) file.add(`${index} ${long}`);
    await file.flush();
    file.add("after");
    await file.close();
    const kept = readFileSync(path, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => line.slice(0, 6));
    expect(kept.slice(-2)).toEqual(["lost 5", "after"]);
    expect(kept.slice(0, -2).map((line) => Number.parseInt(line, 10))).toEqual(
      Array.from({ length: fits }, (_, index) => index),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
