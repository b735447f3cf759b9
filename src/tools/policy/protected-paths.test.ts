// Which files are protected, by path, by what links lead to, and by what git's own settings say.
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../base/limits.js";
import { fakeWorld } from "../../testing/index.js";
import { type ProtectedPlaces, protectedPath } from "./protected-paths.js";
import { findProtected, pathsInArguments, pathsInCommand, underProtection } from "./protection.js";

const PLACES: ProtectedPlaces = {
  home: "/home/me",
  configHome: "/xdg",
  own: [
    { path: "/home/me/.config/tenon", scope: "tree" },
    { path: "/moved", scope: "files" },
  ],
};

const isProtected = (path: string) => protectedPath(path, PLACES) !== undefined;

describe("a path by its words", () => {
  it.each([
    "/w/.git/config",
    "/w/a/b/.git/hooks/x",
    "/w/.GIT/Config",
    "/w/.git . ./config",
    "/w/.git::$INDEX_ALLOCATION/config",
    "/w/GIT~1/config",
    "/w/VSCODE~1/tasks.json",
    "/w/GITLAB~1.YML",
    "/w/.g\u200cit/config",
    "/w/.git\\config",
    "/w/.git",
    "/w/.vscode/tasks.json",
    "/w/x.code-workspace",
    "/w/.github/workflows/ci.yml",
    "/w/JENKINSFILE",
    "/home/me/bin/ls",
    "/home/me/.local/bin/ls",
    "/home/me/.config/systemd/user/x.service",
    "/xdg/git/config",
    "/etc/cron.d/x",
    "/var/spool/cron/me",
    "/w/.ſsh/config",
  ])("%s is protected", (path) => expect(isProtected(path)).toBe(true));

  it.each([
    "/w/src/git/config",
    "/w/.github/CODEOWNERS",
    "/w/.gitignore",
    "/w/package.json",
    "/w/workflows/ci.yml",
    "/w/bin/run",
    "/w/config/git",
    "/w/etc/x",
    "/w/backup~1",
    "/moved/project/a.txt",
    "/home/me/notes.txt",
  ])("%s is not", (path) => expect(isProtected(path)).toBe(false));

  it("tells Tenon's own files from others", () => {
    expect(protectedPath("/home/me/.CONFIG/tenon/config.json", PLACES)).toMatchObject({ isOwn: true });
    expect(protectedPath("/moved/config.json", PLACES)).toMatchObject({ isOwn: true });
    expect(protectedPath("/w/.tenon/config.json", PLACES)).toMatchObject({ isOwn: false });
  });
});

describe("the arguments of a call", () => {
  const place = { cwd: "/w", home: "/home/me" };
  const paths = (given: Parameters<typeof pathsInArguments>[0]) =>
    pathsInArguments(given, place).map(({ path }) => path);

  it("are paths by their form or by their name, wherever they stand", () => {
    expect(paths({ a: [{ b: ".git/config" }] })).toEqual(["/w/.git/config"]);
    expect(paths({ path: "Jenkinsfile", query: "Jenkinsfile" })).toEqual(["/w/Jenkinsfile"]);
    expect(paths({ x: "file:///w/.git/config" })).toEqual(["/w/.git/config"]);
    expect(paths({ x: ' "~/.bashrc" ' })).toEqual(["/home/me/.bashrc"]);
    expect(paths({ x: "$HOME/.ssh/config" })).toEqual(["/home/me/.ssh/config"]);
    expect(paths({ x: "https://example.com/.git/config", y: "two\nlines/.git", z: "words" })).toEqual([]);
  });

  it("that are too many are asked about, not passed over", async () => {
    const many = { list: Array.from({ length: LIMITS.policyMaxTexts + 1 }, () => 1) };
    const world = fakeWorld();
    const found = await findProtected(pathsInArguments(many, place), { ...PLACES, files: world.files, cwd: "/w" });
    expect(found).toHaveLength(1);
    const paths = Array.from({ length: LIMITS.policyMaxPaths + 1 }, (_, index) => ({ text: "", path: `/w/${index}` }));
    expect(await findProtected(paths, { ...PLACES, files: world.files, cwd: "/w" })).toHaveLength(1);
  });

  it("of a command are its words", () => {
    const words = pathsInCommand("tee .git/hooks/x >.npmrc && git diff HEAD", place).map(({ path }) => path);
    expect(words).toEqual(["/w/.git/hooks/x", "/w/.npmrc"]);
  });
});

describe("the decision", () => {
  const file = { path: "/w/.npmrc", why: "a package manager obeys it", isOwn: false };
  const found = [{ text: ".npmrc", path: "/w/.npmrc", file }];
  const facts = { mode: "ask", mayBypass: false, cwd: "/w" } as const;
  const allowed = (argument: object) =>
    underProtection(
      {
        effect: "allow",
        reason: "",
        rule: { effect: "allow", arguments: [{ pointer: "/path", ...argument } as never] },
      },
      found,
      facts,
    ).effect;

  it("is left to a rule of the user's that names the path, and to no wider one", () => {
    expect(allowed({ equals: ".npmrc" })).toBe("allow");
    expect(allowed({ oneOf: ["/w/.npmrc"] })).toBe("allow");
    expect(allowed({ under: "." })).toBe("ask");
    expect(allowed({ glob: "*" })).toBe("ask");
    expect(allowed({ prefix: ".npmrc" })).toBe("ask");
  });

  it("stays a refusal, and is open under an explicit bypass unless the file is Tenon's own", () => {
    const bypass = { ...facts, mode: "bypass", mayBypass: true } as const;
    const own = found.map((one) => ({ ...one, file: { ...file, isOwn: true } }));
    expect(underProtection({ effect: "deny", reason: "no" }, found, facts).effect).toBe("deny");
    expect(underProtection({ effect: "allow", reason: "" }, found, bypass).effect).toBe("allow");
    expect(underProtection({ effect: "allow", reason: "" }, own, bypass)).toMatchObject({
      effect: "ask",
      protects: {},
    });
    expect(underProtection({ effect: "allow", reason: "" }, found, { ...bypass, mayBypass: false }).effect).toBe("ask");
  });
});
