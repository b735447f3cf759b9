// Files that git, a shell, an editor or Tenon obeys; writes held against what was shown; what a question says; look-alikes.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { HAS_FILES, inEditor } from "./builtin/editor.js";
import { scenario } from "./scenario.js";
import { calls, inTurn, RecordedModel } from "./tools/recorded-model.js";
import { ToolBench } from "./tools/tool-session.js";

scenario(
  ["H451"],
  "mode auto-edit writes ordinary files unasked, and asks about .git/config and .git/hooks, whatever was answered before",
  async () => {
    await using bench = new ToolBench();
    mkdirSync(join(bench.project, ".git/hooks"), { recursive: true });
    bench.configure({ permissions: { mode: "auto-edit" } });
    const write = (path: string) => calls("write_file", { path, content: "text\n" });
    const paths = ["src/a.ts", ".git/config", ".git/hooks/pre-commit", ".git/config"];
    const session = bench.open({ model: new RecordedModel(inTurn(...paths.map(write))), answer: "once" });
    await session.prompt("write them");
    expect(bench.asked.map(({ arguments: { path } }) => path)).toEqual(paths.slice(1));
    expect(bench.asked[0]).toMatchObject({ protects: "obeyed" });
    expect(bench.asked[0]?.choices.map(({ answer }) => answer)).toEqual(["once", "no", "never"]);
    expect(bench.asked[0]?.reason).toBe(".git/config is protected: git runs or obeys what is in it");
    expect(readFileSync(join(bench.project, ".git/hooks/pre-commit"), "utf8")).toBe("text\n");
  },
);

scenario(
  ["H452"],
  "a session in the home folder cannot give itself bypass: Tenon's own configuration is asked about in every mode",
  async () => {
    for (const permissions of [{ mode: "auto-edit" }, { mode: "bypass", allowBypass: true }]) {
      await using bench = new ToolBench();
      bench.configure({ permissions });
      const given = { path: "config.json", content: JSON.stringify({ permissions: { allowBypass: true } }) };
      const model = new RecordedModel(
        inTurn(calls("write_file", given), calls("write_file", { ...given, path: "a.d/b" })),
      );
      const session = bench.open({ model, cwd: bench.home, answer: "no" });
      await session.prompt("go on");
      expect(bench.asked).toMatchObject([{ protects: "own" }]);
      expect(bench.outcomes.map(({ kind }) => kind)).toEqual(["refused", "done"]);
      expect(JSON.parse(readFileSync(join(bench.home, "config.json"), "utf8"))).toEqual({ permissions });
    }
  },
);

scenario(
  ["H453"],
  "an explicit bypass, and a user's rule that names the path, write a protected file unasked; a wider rule does not",
  async () => {
    const named = { effect: "allow", tool: "write_file", arguments: [{ pointer: "/path", equals: ".npmrc" }] };
    const wide = { effect: "allow", tool: "write_file", arguments: [{ pointer: "/path", under: "." }] };
    const cases: readonly (readonly [permissions: object, questions: number])[] = [
      [{ mode: "bypass", allowBypass: true }, 0],
      [{ rules: [named] }, 0],
      [{ rules: [wide] }, 1],
    ];
    for (const [permissions, questions] of cases) {
      await using bench = new ToolBench();
      bench.configure({ permissions });
      const model = new RecordedModel(inTurn(calls("write_file", { path: ".npmrc", content: "a=b\n" })));
      await bench.open({ model, answer: "no" }).prompt("go on");
      expect(bench.asked).toHaveLength(questions);
      expect(existsSync(join(bench.project, ".npmrc"))).toBe(questions === 0);
    }
  },
);

scenario(
  ["H454"],
  "a file that the person saves while they are asked is not overwritten: the new change is asked about, three times at most",
  async () => {
    const path = "notes.txt";
    const cases: readonly (readonly [saves: number, call: ReturnType<typeof calls>, outcome: string, text: string])[] =
      [
        [0, calls("write_file", { path, content: "model\n" }), "done", "model\n"],
        [1, calls("write_file", { path, content: "model\n" }), "done", "model\n"],
        [9, calls("write_file", { path, content: "model\n" }), "refused", "saved 3\n"],
        [1, calls("edit_file", { path, edits: [{ old_text: "d", new_text: "D" }] }), "done", "saveD 1\n"],
      ];
    for (const [saves, call, outcome, text] of cases) {
      await using bench = new ToolBench();
      const file = join(bench.project, path);
      writeFileSync(file, "saved 0\n");
      const session = bench.open({
        model: new RecordedModel(inTurn(call)),
        answer: () => {
          if (bench.asked.length <= saves) writeFileSync(file, `saved ${bench.asked.length}\n`);
          return "once";
        },
      });
      await session.prompt("go on");
      expect(bench.outcomes).toMatchObject([{ kind: outcome }]);
      expect(readFileSync(file, "utf8")).toBe(text);
      const shown = bench.asked.map(({ presentation }) => presentation?.diff?.oldText);
      expect(shown).toEqual(Array.from({ length: Math.min(saves + 1, 3) }, (_, index) => `saved ${index}\n`));
      expect(bench.asked.map(({ presentation }) => presentation?.isRenewed === true)).toEqual(
        shown.map((_, index) => index > 0),
      );
    }
  },
);

scenario(
  ["H454"],
  "the same for what the person types in an editor while its question is open: buffers are compared, not the disk",
  () =>
    inEditor(
      {
        capabilities: HAS_FILES,
        files: { "a.txt": "one\n" },
        onRead: async () => {
          reads += 1;
          // After the first question was answered, and before the second look.
          if (reads === 2) type?.();
        },
      },
      async (editor) => {
        const path = editor.project.at("a.txt");
        reads = 0;
        type = () => editor.desk.buffers.set(path, "typed by the person\n");
        await editor.call("write_file", { path: "a.txt", content: "model\n" });
        expect(editor.questions).toHaveLength(2);
        expect(editor.questions[1]?.toolCall.content).toMatchObject([
          { type: "content", content: { text: expect.stringContaining("changed while you were asked") } },
          { type: "diff", oldText: "typed by the person\n", newText: "model\n" },
        ]);
        expect(editor.desk.written).toEqual([{ path, content: "model\n" }]);
      },
    ),
);

let reads = 0;
let type: (() => void) | undefined;
