// Nothing outside of the session's directories is ever reached, whatever the path and whatever the links.
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { messageOf } from "../base/errors.js";
import { nodeWorld } from "../world/index.js";
import { Folders, type LocatedPath } from "./folders.js";

const { files } = nodeWorld();
let top: string;

beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "tenon-folders-")));
  for (const folder of ["project/src", "project-other", "more", "outside/deep"])
    mkdirSync(join(top, folder), { recursive: true });
  writeFileSync(join(top, "project/src/a.txt"), "a");
  writeFileSync(join(top, "outside/secret"), "s");
  writeFileSync(join(top, "project-other/secret"), "s");
});

afterEach(() => {
  rmSync(top, { recursive: true });
});

const open = (cwd = "project") => new Folders(files, join(top, cwd), [join(top, "more")]);

/** Where the system itself would come out, as far as there is something. */
function realPlace(path: string): string {
  return existsSync(path) ? realpathSync(path) : join(realPlace(dirname(path)), path.slice(dirname(path).length));
}

const step = fc.constantFrom(
  "..",
  ".",
  "src",
  "a.txt",
  "new",
  "link",
  "up",
  "self",
  "dead",
  "more",
  "outside",
  "project",
  "secret",
);
const linkTarget = fc.constantFrom(
  ".",
  "..",
  "src",
  "../outside",
  "../outside/secret",
  "../more",
  "link",
  "/",
  "nowhere",
  "../outside/new",
);

type Located = { readonly ok: true; readonly place: LocatedPath } | { readonly ok: false; readonly reason: string };

async function located(folders: Folders, path: string): Promise<Located> {
  try {
    return { ok: true, place: await folders.place(path) };
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}

test("for any path through any links, what passes really lies inside", async () => {
  const links = fc.record({ link: linkTarget, up: linkTarget, self: linkTarget, dead: linkTarget });
  await fc.assert(
    fc.asyncProperty(links, fc.array(step, { maxLength: 6 }), fc.boolean(), async (targets, steps, isAbsolute) => {
      const names = Object.entries(targets);
      for (const [name, target] of names) symlinkSync(target, join(top, "project", name));
      try {
        const path = isAbsolute ? `${top}${sep}${steps.join(sep)}` : steps.join(sep);
        const placed = await located(open(), path);
        if (!placed.ok) return;
        const { realPath, found } = placed.place;
        const isOurs = [join(top, "project"), join(top, "more")].some((root) =>
          `${realPath}${sep}`.startsWith(`${root}${sep}`),
        );
        expect([path, realPath, isOurs]).toEqual([path, realPath, true]);
        expect(realPath).toBe(realPlace(placed.place.path));
        expect(found !== undefined).toBe(existsSync(realPath));
      } finally {
        for (const [name] of names) rmSync(join(top, "project", name));
      }
    }),
    { numRuns: 400 },
  );
});

test.each([
  ["../project-other/secret", /outside of the session's directories/],
  ["/etc/passwd", /outside/],
  ["..", /outside/],
  ["src/a.txt/x", /src\/a.txt is not a folder/],
  ["a\0b", /NUL/],
])("%j is refused", async (path, words) => {
  const placed = await located(open(), path);
  expect(placed.ok ? placed.place : placed.reason).toMatch(words);
});

test.each(["src/a.txt", "./src/../src/a.txt", "new/deep/file", "", ".", "../more/x"])("%j is fine", async (path) => {
  expect(await located(open(), path)).toMatchObject({ ok: true });
});

test("a session's directory that is itself a link is no way out and no obstacle", async () => {
  symlinkSync("project", join(top, "opened"));
  const folders = open("opened");
  expect(await located(folders, "src/a.txt")).toMatchObject({
    ok: true,
    place: { path: join(top, "opened/src/a.txt"), realPath: join(top, "project/src/a.txt") },
  });
  expect(await located(folders, join(top, "project/src/a.txt"))).toMatchObject({ ok: true });
  expect(await located(folders, "../outside/secret")).toMatchObject({ ok: false });
});

test("a session's directory that does not exist opens nothing", async () => {
  expect(await located(new Folders(files, join(top, "gone")), "x")).toMatchObject({ ok: false });
});

test("paths are shown relative to the session's directory, if they are in it", () => {
  expect(["src/a.txt", ".", "../more/x"].map((path) => open().show(path))).toEqual([
    "src/a.txt",
    ".",
    join(top, "more/x"),
  ]);
});
