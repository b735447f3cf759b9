// Commands for a shell: what counts as one program with literal words, checked against bash itself, and what grants and rules cover.
import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileGlob } from "../../base/text/glob.js";
import {
  commandPattern,
  commandStarts,
  coversCommand,
  hasCommandPrefix,
  mayHavePrefix,
  mayRun,
  parseCommand,
} from "./command.js";

const PIECES = [
  ["git", "status", "a", "b/c", "-x", "--y=z", "..", "~", "=", "A=b", "#", "!", "env", "rm", "é", "\u00a0", "%"],
  [
    " ",
    " ",
    " ",
    "\t",
    "\n",
    "\r",
    ";",
    "&",
    "|",
    "$",
    "$(",
    ")",
    "(",
    "`",
    "<",
    ">",
    "*",
    "?",
    "[",
    "]",
    "{",
    "}",
    ",",
  ],
  ["'", '"', "\\", "^", "''", '""', "'a b'", '"c d"', "$HOME", "${x}", "\u0000", "\u0007"],
].flat();

describe("a simple command", () => {
  it("has exactly the words that bash gives the program, for any text", () => {
    const texts = fc.sample(
      fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join("")),
      5_000,
    );
    const simple = texts.flatMap((text) => {
      const parsed = parseCommand(`p ${text}`);
      return parsed.kind === "simple" ? [{ text, words: parsed.words.slice(1) }] : [];
    });
    expect(simple.length).toBeGreaterThan(100);
    // What is no simple command never gets here; one that is more than words would print something else.
    const script = simple.map(({ text }) => `printf '%s\\0' p ${text}; printf '\\1\\0'`).join("\n");
    const printed = execFileSync("bash", ["-c", script], { cwd: "/", maxBuffer: 1 << 26 }).toString("utf8");
    const seen = printed.split("\u0001\0").slice(0, -1);
    expect(seen.map((one) => one.split("\0").slice(1, -1))).toEqual(simple.map(({ words }) => [...words]));
  });

  it.each([
    "git status; rm x",
    "git status && rm x",
    "git status & rm x",
    "git status | sh",
    "git status\nrm x",
    "git status\rrm x",
    "git status $(rm x)",
    "git status `rm x`",
    'git status "$(rm x)"',
    "git status > x",
    "git status <<< x",
    "A=b git status",
    "'git' status",
    "g\\it status",
    "$GIT status",
    "./*/git status",
    "(git status)",
    "{ git; }",
    "eval git",
    ". ./x",
    "exec git",
    "time git",
    "",
    "   ",
    "git 'status",
    "git status # x",
    "~/git",
  ])("is not %j", (text) => {
    expect(parseCommand(text).kind).toBe("complex");
  });

  it("has no quotes and no expansion where cmd.exe reads it", () => {
    expect(parseCommand("git status", "win32").kind).toBe("simple");
    for (const text of ["git 'a b'", 'git "a"', "git %PATH%", "git ^& x", "a,b", "git status & del x"]) {
      expect(parseCommand(text, "win32").kind).toBe("complex");
    }
  });
});

describe("a grant", () => {
  const covered = (granted: string, tried: string) => {
    const pattern = commandPattern(parseCommand(granted));
    return pattern !== undefined && coversCommand(pattern, parseCommand(tried));
  };

  it.each([
    ["git status", "git status", true],
    ["git status", "git  status  src/a.ts", true],
    ["git status src", "git status lib", true],
    ["git status", "git status --porcelain", false],
    ["git status", "git statusx", false],
    ["git status", "git push", false],
    ["git status", "git -C /x status", false],
    ["git status", "git status /etc", false],
    ["git status", "git status a/../../b", false],
    ["git log --oneline", "git log --oneline", true],
    ["git log --oneline", "git log --oneline a", false],
    ["npm run build", "npm run build", true],
    ["npm run build", "npm run deploy", false],
    ["npm test", "npm test --script-shell=x", false],
    ["npm install a", "npm install b", false],
    ["rm a", "rm a", true],
    ["rm a", "rm a b", false],
    ["npx one", "npx two", false],
    ["sh -c 'a b'", 'sh -c "a b"', true],
    ["cat a", "cat b", true],
    ["cat a", "cat /etc/passwd", false],
    ["git show x", "git show host:file", false],
    ["constructor", "constructor x", false],
  ])("for %j covers %j: %s", (granted, tried, isCovered) => {
    expect(covered(granted, tried)).toBe(isCovered);
  });

  it("always covers the command it was given for, and nothing that is no simple command", () => {
    const word = fc.constantFrom("git", "status", "npm", "run", "x", "-y", "/z", "a=b", "..", "é", ";", "$(x)");
    fc.assert(
      fc.property(fc.array(word, { maxLength: 5 }), fc.array(word, { maxLength: 5 }), (one, other) => {
        const parsed = parseCommand(one.join(" "));
        const pattern = commandPattern(parsed);
        expect(pattern !== undefined).toBe(parsed.kind === "simple");
        if (!pattern) return;
        expect(coversCommand(pattern, parsed)).toBe(true);
        const tried = parseCommand(other.join(" "));
        if (coversCommand(pattern, tried)) {
          expect(other.slice(0, pattern.words.length)).toEqual(pattern.words);
          expect(other.slice(pattern.words.length).some((part) => /^[-/]|\.\.|=/u.test(part))).toBe(false);
        }
      }),
    );
  });
});

describe("rules", () => {
  it("that allow are for whole words of one simple command", () => {
    expect(hasCommandPrefix("git status", parseCommand("git status -s"))).toBe(true);
    for (const text of ["git statusx", "git status; x", "git  stash", "git status\nx", "git -c a status"]) {
      expect(hasCommandPrefix("git status", parseCommand(text))).toBe(false);
    }
    expect(hasCommandPrefix("", parseCommand("rm x"))).toBe(false);
    expect(hasCommandPrefix("git; ls", parseCommand("git"))).toBe(false);
  });

  it.each([
    ["rm x", "yes"],
    ["true && rm x", "yes"],
    ["true; sudo -n rm x", "yes"],
    ["A=b env -i rm x", "yes"],
    ["/bin/rm x", "yes"],
    ["echo $(rm x)", "yes"],
    ["find . | xargs -n 1 rm", "yes"],
    ["if true; then rm x; fi", "yes"],
    ["if rm -rf x; then :; fi", "yes"],
    ["while rm x; do :; done", "yes"],
    ["! rm x", "yes"],
    ["{ rm x; }", "yes"],
    ["> /dev/null rm x", "yes"],
    ["2>&1 rm x", "yes"],
    ["&>x rm x", "yes"],
    ["eval rm x", "yes"],
    ["coproc rm x", "yes"],
    ["busybox rm x", "yes"],
    ["/usr/bin/sudo /bin/rm x", "yes"],
    ["'rm' x", "unclear"],
    ["r''m -rf x", "unclear"],
    ["sudo -u root rm x", "unclear"],
    ["sudo -u root r''m x", "unclear"],
    ["env -u A rm x", "unclear"],
    ["timeout -s KILL 5 rm x", "unclear"],
    ["timeout -s KILL 5 r? x", "unclear"],
    ["find . -exec rm {} +", "unclear"],
    ["exec -a x rm x", "unclear"],
    ["/bin/r? x", "unclear"],
    ["r{m,} x", "unclear"],
    ["true; r? x", "unclear"],
    [": # '\nr? x # '", "unclear"],
    ['echo "$(r? x)"', "unclear"],
    ["sh -c 'r? x'", "unclear"],
    ["sh -c 'rm x'", "unclear"],
    ["r\\m x", "unclear"],
    ["$CMD x", "unclear"],
    ["echo farm", "no"],
    ["ls rm", "no"],
    ["git commit -m 'done; and (more)' && npm test", "no"],
    ["if grep -q rm x; then :; fi", "no"],
    ["cp a* b 2>/dev/null", "no"],
    ["A=b npm test > x.log 2>&1", "no"],
    ["sudo cp -r a b", "no"],
  ])("that deny the prefix rm are about %j: %s", (text, verdict) => {
    expect(mayHavePrefix("rm", commandStarts(text))).toBe(verdict);
  });

  it.each([
    ["git push x", "yes"],
    ["git  push x", "yes"],
    ["git\tpush --force", "yes"],
    ["git 'push' x", "yes"],
    ["true && git  push", "yes"],
    ["git >/dev/null push x", "yes"],
    ["git 2>&1 push x", "yes"],
    ["true && git 'push' x", "unclear"],
    ["git p\\ush x", "unclear"],
    ["git pull", "no"],
    ["git log --grep push", "no"],
  ])("that deny the prefix git push are about %j: %s, also as a glob", (text, verdict) => {
    expect(mayHavePrefix("git push", commandStarts(text))).toBe(verdict);
    expect(mayHavePrefix("git \t push", commandStarts(text))).toBe(verdict);
    const isMatch = compileGlob("git push*");
    expect(mayRun((start) => isMatch(start), commandStarts(text))).toBe(verdict);
  });
});
