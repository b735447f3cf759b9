// The file area reads and writes below its root and nowhere else.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileArea } from "./file-area.js";

let outer: string;
let root: string;

beforeEach(() => {
  outer = mkdtempSync(join(tmpdir(), "file-area-test-"));
  root = join(outer, "area");
});

afterEach(() => rmSync(outer, { recursive: true, force: true }));

describe("FileArea", () => {
  it("writes, lists and reads files, also in folders it makes on the way", async () => {
    const area = new FileArea(root);
    expect(await area.list()).toEqual([]);
    expect(await area.write("plans/today.txt", "Läuft")).toBe(6);
    await area.write("a.txt", "a");
    expect(await area.list()).toEqual([
      { path: "a.txt", bytes: 1 },
      { path: "plans/today.txt", bytes: 6 },
    ]);
    expect(await area.read("./plans/../plans/today.txt")).toBe("Läuft");
  });

  it.each(["../secret.txt", "/etc/passwd", "a/../../secret.txt", "..", ".", "../area-2/x"])(
    "refuses %s",
    async (path) => {
      writeFileSync(join(outer, "secret.txt"), "secret");
      const area = new FileArea(root);
      await expect(area.read(path)).rejects.toThrow("outside the file area");
      await expect(area.write(path, "x")).rejects.toThrow("outside the file area");
      expect(readFileSync(join(outer, "secret.txt"), "utf8")).toBe("secret");
    },
  );

  it("refuses links that lead out, also those whose target does not exist yet", async () => {
    const area = new FileArea(root);
    await area.write("a.txt", "a");
    symlinkSync(outer, join(root, "out"));
    symlinkSync(join(outer, "new.txt"), join(root, "dangling"));
    await expect(area.write("out/x.txt", "x")).rejects.toThrow("outside the file area");
    await expect(area.write("dangling", "x")).rejects.toThrow("leads nowhere");
    await expect(area.write("dangling/x.txt", "x")).rejects.toThrow("leads nowhere");
    expect(readdirSync(outer)).toEqual(["area"]);
  });

  it("never touches anything outside, whatever the path", async () => {
    const segment = fc.constantFrom("..", ".", "a", "b.txt", "", "/", "\\", "~");
    await fc.assert(
      fc.asyncProperty(fc.array(segment, { maxLength: 6 }), async (segments) => {
        await new FileArea(root)
          .write(segments.join("/"), "x")
          .catch((error: unknown) => expect(error).toBeInstanceOf(Error));
        expect(readdirSync(outer).filter((name) => name !== "area")).toEqual([]);
      }),
    );
  });

  it("says what is wrong with a missing file, a folder, a huge file and an empty path", async () => {
    const area = new FileArea(root);
    await area.write("folder/a.txt", "a");
    writeFileSync(join(root, "huge.bin"), Buffer.alloc(262_145));
    await expect(area.read("b.txt")).rejects.toThrow('There is no file "b.txt".');
    await expect(area.read("folder")).rejects.toThrow('"folder" is not a file.');
    await expect(area.write("folder", "x")).rejects.toThrow('"folder" is not a file.');
    await expect(area.read("huge.bin")).rejects.toThrow("larger than");
    await expect(area.write("a.txt", "x".repeat(262_145))).rejects.toThrow("larger than");
    await expect(area.read(" ")).rejects.toThrow("needs a file name");
  });

  it("makes a temporary root with a welcome on first use only, and removes it on disposal", async () => {
    const area = new FileArea();
    expect(area.root).toBeUndefined();
    expect(await area.read("welcome.txt")).toContain("Welcome");
    const made = area.root ?? "";
    expect(dirname(made)).toBe(tmpdir());
    expect(existsSync(made)).toBe(true);
    area[Symbol.dispose]();
    expect(existsSync(made)).toBe(false);
  });

  it("keeps a root it was given on disposal", async () => {
    const area = new FileArea(root);
    await area.write("a.txt", "a");
    area[Symbol.dispose]();
    expect(existsSync(join(root, "a.txt"))).toBe(true);
  });
});
