// Which files are protected, by path, by what links lead to, and by what git's own settings say.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FoundPath } from "../../base/ports/world.js";
import { fakeWorld } from "../../testing/index.js";
import { TOOL_LIMITS } from "../limits.js";
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
    "/w/.cargo/config.toml",
    "/w/.devcontainer.json",
    "/w/.helix/config.toml",
    "/w/.mise/config.toml",
    "/w/.build.yml",
    "/home/me/.cargo/env",
    "/home/me/.kube/config",
    "/home/me/.aws/config",
    "/home/me/.docker/config.json",
    "/home/me/.gradle/init.gradle",
    "/home/me/.config/tmux/tmux.conf",
    "/xdg/nushell/config.nu",
  ])("%s is protected", (path) => expect(isProtected(path)).toBe(true));

  it.each([
    "/w/src/git/config",
    "/w/.github/CODEOWNERS",
    "/w/.gitignore",
    "/w/package.json",
    "/w/workflows/ci.yml",
    "/w/bin/run",
    "/w/config/git",
    "/w/cargo/config.toml",
    "/w/.cargo/audit.toml",
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

  it("are the same paths for the quick look at a flat call as inside a list, which is looked through", () => {
    const piece = fc.constantFrom(
      "/",
      "\\",
      ".",
      "~",
      '"',
      "'",
      "`",
      " ",
      "\t",
      "\ufeff",
      "git",
      "$HOME",
      "file:",
      "\n",
    );
    const value = fc.oneof(
      fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join("")),
      fc.string(),
      fc.integer(),
    );
    const key = fc.oneof(fc.constantFrom("x", "path", "Filename", "to", "toad", "__proto__"), fc.string());
    fc.assert(
      fc.property(fc.dictionary(key, value, { maxKeys: 4 }), (given) => {
        expect(paths(given)).toEqual(paths({ list: [given] }));
      }),
      { numRuns: 2_000 },
    );
  });

  it("that are too many in one call without lists are asked about too", () => {
    const entries = Array.from({ length: TOOL_LIMITS.policyMaxTexts }, (_, index) => [`k${index}`, 1]);
    expect(pathsInArguments(Object.fromEntries(entries), place)).toEqual([{ text: "", path: "/w", isRest: true }]);
    expect(pathsInArguments(Object.fromEntries(entries.slice(1)), place)).toEqual([]);
  });

  it("that are too many are asked about, not passed over", async () => {
    const many = { list: Array.from({ length: TOOL_LIMITS.policyMaxTexts + 1 }, () => 1) };
    const world = fakeWorld();
    const found = await findProtected(pathsInArguments(many, place), { ...PLACES, files: world.files, cwd: "/w" });
    expect(found).toHaveLength(1);
    const paths = Array.from({ length: TOOL_LIMITS.policyMaxPaths + 1 }, (_, index) => ({
      text: "",
      path: `/w/${index}`,
    }));
    expect(await findProtected(paths, { ...PLACES, files: world.files, cwd: "/w" })).toHaveLength(1);
  });

  it("that cannot be looked at are asked about: the disk may answer again when they are written", async () => {
    const noAnswer = () => Promise.reject(new Error("EMFILE"));
    const files = { find: noAnswer, linkTarget: noAnswer, readText: noAnswer };
    const places = { ...PLACES, own: [{ path: "/w", scope: "files" as const }], files, cwd: "/w" };
    expect(await findProtected([{ text: "a", path: "/other/a.txt" }], places)).toHaveLength(1);
    expect(await findProtected([{ text: "status", path: "/w/status", isBare: true }], places)).toHaveLength(1);
  });

  it("of a command are its words", () => {
    const words = pathsInCommand("tee .git/hooks/x >.npmrc && git diff HEAD", place).map(({ path }) => path);
    expect(words).toEqual(expect.arrayContaining(["/w/.git/hooks/x", "/w/.npmrc"]));
    expect(words).not.toContain("/w/HEAD");
  });

  it.each([
    "cp e .g'i't/config",
    "cp e .git/HEAD",
    "cp e HEAD",
    "cp e AGENTS.md",
    "true && cp e AGENTS.md",
    "echo x > AGENTS.md",
    "echo x > .g\\it/config",
    "curl -o.git/config x",
    "curl -so.git/config x",
    "curl --output=.git/config x",
    "curl --output=AGENTS.md x",
    "dd if=x of=AGENTS.md",
    "sh -c 'cp e AGENTS.md'",
    "git checkout main AGENTS.md",
    "git diff --output AGENTS.md",
    "git diff --output=AGENTS.md",
    "head -5 x | tee AGENTS.md",
    "tee -a linked",
    "cp e config.json",
    "cp e kept",
    `cp ${Array.from({ length: TOOL_LIMITS.policyMaxPaths + 1 }, (_, index) => `f${index}`).join(" ")}`,
  ])("of %j are protected", async (command) => {
    expect(await protectedIn(command)).not.toEqual([]);
  });

  it.each([
    "cat AGENTS.md",
    "cat -n AGENTS.md | head -5",
    "ls -l && git status",
    "git log --oneline origin/HEAD",
    "git diff HEAD AGENTS.md",
    "git reset HEAD x",
    "git add AGENTS.md",
    "git show HEAD~1 > x",
    "npm run build -- --mode=x",
    "cp e other.txt; echo 'done'",
  ])("of %j are not", async (command) => {
    expect(await protectedIn(command, "/w/sub")).toEqual([]);
  });

  it("are not Tenon's own for each word in its folder", async () => {
    expect(await protectedIn("git status")).toEqual([]);
    expect(await protectedIn("npm test")).toEqual([]);
  });

  async function protectedIn(command: string, cwd = "/w") {
    const world = fakeWorld();
    const found = async (path: string) => {
      const there = { kind: "file", bytes: 1, mode: 0o644 } as const;
      if (path === "/w/linked") return { ...there, realPath: "/w/.npmrc" };
      if (path === "/w/kept") return { ...there, realPath: "/w/kept" };
      return await world.files.find(path);
    };
    const files = { ...world.files, find: found, linkTarget: async () => undefined, readText: async () => "" };
    const places = { ...PLACES, own: [{ path: "/w", scope: "files" as const }], cwd, files };
    return await findProtected(pathsInCommand(command, { cwd, home: "/home/me" }), places);
  }
});

describe("git's own settings", () => {
  it("protect what they include, and the hooks that an included file names", async () => {
    const world = fakeWorld();
    const texts = new Map([
      ["/w/.git/config", '[core]\n\tbare = false\n[include]\n\tpath = ../tools/extra\n[includeIf "x"] path = "more"\n'],
      ["/w/tools/extra", "[core]\n\thooksPath = tools/hooks\n[other]\n\tpath = free\n"],
    ]);
    const files = {
      linkTarget: async () => undefined,
      readText: async (path: string) => texts.get(path) ?? "",
      find: async (path: string): Promise<FoundPath | undefined> => {
        const kind = texts.has(path) ? "file" : path === "/w/.git" || path === "/w" ? "folder" : undefined;
        return kind && { kind, realPath: path, bytes: 1, mode: 0o644 };
      },
    } as const;
    const found = async (path: string) =>
      (await findProtected([{ text: path, path }], { ...PLACES, files: { ...world.files, ...files }, cwd: "/w" }))
        .length;
    expect(await found("/w/tools/extra")).toBe(1);
    expect(await found("/w/tools/hooks/pre-push")).toBe(1);
    expect(await found("/w/tools/free")).toBe(0);
    expect(await found("/w/tools/other")).toBe(0);
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
