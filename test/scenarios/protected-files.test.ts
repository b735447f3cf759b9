// Files that git, a shell, an editor or Tenon obeys; writes held against what was shown; what a question says; look-alikes.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
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
    const session = bench.open({ model: new RecordedModel(inTurn(...paths.map(write))), answer: "session" });
    await session.prompt("write them");
    expect(bench.asked.map(({ arguments: { path } }) => path)).toEqual(paths.slice(1));
    expect(bench.asked[0]).toMatchObject({ protects: "obeyed", mayRemember: false });
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
