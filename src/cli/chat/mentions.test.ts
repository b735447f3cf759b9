// What is sent for a prompt that names files.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { preparePrompt } from "./mentions.js";

it.skipIf(process.platform === "win32")("a pipe that is named as a picture is not waited for", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tenon-mentions-"));
  try {
    execFileSync("mkfifo", [join(folder, "a.png")]);
    expect(await preparePrompt("look at @a.png", folder, undefined)).toEqual({
      blocks: [{ type: "text", text: "look at @a.png" }],
      problems: ["a.png is no file"],
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
