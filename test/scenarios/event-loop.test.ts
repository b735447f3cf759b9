// Nothing that comes from outside holds the event loop: hostile ignore files, rules and texts, behind the built `tenon acp`.
import { expect } from "vitest";
import { LIMITS } from "../../src/base/limits.js";
import { watchEventLoop } from "../../src/testing/event-loop.js";
import { decide, type PolicyRule } from "../../src/tools/index.js";
import { TestSession } from "../builtin-session.js";
import { inEditor } from "./builtin/editor.js";
import { scenario } from "./scenario.js";

/** CPU time of this thread, so that a busy machine does not count. */
const MAX_HELD_MS = 50;

/** Each part of a path can be what any `*a` stands for. */
const HOSTILE_IGNORE = `${"*a".repeat(450)}b\n`.repeat(70);

scenario(
  ["H200"],
  "hostile .gitignore patterns cost find_files and grep milliseconds, and the result says what was left out",
  async () => {
    await using session = new TestSession();
    session.write(".gitignore", HOSTILE_IGNORE);
    for (let index = 0; index < 150; index++) session.write(`${"a".repeat(220)}${index}.txt`, "needle\n");
    const found = await watchEventLoop(session.say("find_files", { pattern: "**/*a*a*a*9.txt" }));
    expect(found.value).toContain("9.txt");
    expect(found.value).toContain("[The .gitignore files have more or longer rules than are used.]");
    expect(found.longestMs).toBeLessThan(MAX_HELD_MS);
    const searched = await watchEventLoop(session.say("grep", { pattern: "(?=needle)needle", limit: 1 }));
    expect(searched.value).toContain("1: needle");
    expect(searched.longestMs).toBeLessThan(MAX_HELD_MS);
  },
  { timeoutMs: 20_000 },
);

const ASK_ALL_RULES = Array.from({ length: 60 }, (_, index) => ({
  effect: "deny",
  tool: "write_file",
  arguments: [{ pointer: "/content", glob: `*${"a".repeat(15_000)}b${index}` }],
}));

scenario(
  ["H201"],
  "60 globs of an untrusted project's deny rules do not hold up an ordinary write, here and in another session",
  () =>
    inEditor(
      { files: { ".tenon/config.json": JSON.stringify({ permissions: { rules: ASK_ALL_RULES } }) } },
      async (editor) => {
        const content = "a".repeat(20_000);
        const startMs = performance.now();
        const result = await editor.call("write_file", { path: "notes.txt", content });
        expect(result).toContain("Created notes.txt");
        expect(performance.now() - startMs).toBeLessThan(8_000);
        // What the rules cannot tell within their steps is put to the person.
        expect(editor.questions).toHaveLength(1);
        const rules: readonly PolicyRule[] = ASK_ALL_RULES.map((rule) => ({ ...rule, effect: "deny" as const }));
        const { longestMs, value } = await watchEventLoop(
          Promise.resolve().then(() =>
            decide(
              {
                origin: "builtin",
                server: "tenon",
                tool: "write_file",
                trustsAnnotations: true,
                arguments: { content },
                paths: { folders: new Map(), values: new Map() },
                mode: "ask",
                mayBypass: false,
              },
              rules,
            ),
          ),
        );
        expect(value.effect).toBe("ask");
        expect(longestMs).toBeLessThan(MAX_HELD_MS);
      },
    ),
  { timeoutMs: 20_000 },
);

scenario(
  ["H202"],
  "a change of 130,000 lines is written, shown in part, and holds nobody up",
  () => {
    const before = Array.from({ length: 130_000 }, (_, index) => `line ${index}\n`).join("");
    return inEditor({ files: { "big.txt": before } }, async (editor) => {
      const content = before.replaceAll("line", "row");
      const result = await editor.call("write_file", { path: "big.txt", content });
      expect(result).toContain("Changed big.txt: 130000 lines added, 130000 removed.");
      expect(editor.project.read("big.txt")).toBe(content);
      await using session = new TestSession();
      session.write("big.txt", before);
      const written = await watchEventLoop(session.say("write_file", { path: "big.txt", content }));
      expect(written.value).toContain("[The diff is cut here: it is too long to be shown.]");
      expect(written.value.length).toBeLessThan(LIMITS.diff.maxShownBytes + 1_000);
      expect(written.longestMs).toBeLessThan(MAX_HELD_MS);
    });
  },
  { timeoutMs: 20_000 },
);
