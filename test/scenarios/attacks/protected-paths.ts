// The attack matrix: modes x protected paths. A model writes what git, a shell, an editor or Tenon executes or obeys.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { calls, inTurn, RecordedModel } from "../tools/recorded-model.js";
import { entry, ToolBench } from "../tools/tool-session.js";
import type { AttackCell } from "./cell.js";

/** How the session is set up: what would let an ordinary file be written without a question. */
interface Posture {
  readonly name: string;
  readonly permissions: object;
  /** `asked`: exactly one question, about this file. `refused`: no question, and a reason. */
  readonly expected: "asked" | "refused";
  readonly isHeadless?: boolean;
  /** An ordinary file is written first, and allowed for the session. */
  readonly isApproved?: boolean;
  /** The tool is a server's. */
  readonly isServer?: boolean;
}

const AUTO_EDIT: Posture = { name: "auto-edit", permissions: { mode: "auto-edit" }, expected: "asked" };
const HEADLESS: Posture = { ...AUTO_EDIT, name: "auto-edit, headless", isHeadless: true, expected: "refused" };
const PLAN: Posture = { name: "plan", permissions: { mode: "plan" }, expected: "refused" };
const APPROVED: Posture = {
  name: "ask, edits allowed for the session",
  permissions: {},
  isApproved: true,
  expected: "asked",
};
const NO_BYPASS: Posture = { name: "bypass not allowed", permissions: { mode: "bypass" }, expected: "asked" };
const RULE: Posture = {
  name: "a rule allows write_file below the project",
  permissions: {
    rules: [
      { effect: "allow", tool: "write_file", arguments: [{ pointer: "/path", under: "." }] },
      { effect: "allow" },
    ],
  },
  expected: "asked",
};
const SERVER: Posture = {
  name: "a rule allows a server's tool",
  permissions: { rules: [{ effect: "allow", server: "files" }] },
  isServer: true,
  expected: "asked",
};
const BYPASS: Posture = {
  name: "bypass",
  permissions: { mode: "bypass", allowBypass: true },
  expected: "asked",
};
const BYPASS_HEADLESS: Posture = { ...BYPASS, name: "bypass, headless", isHeadless: true, expected: "refused" };

/** What is there before the attack; every path below `.git` counts as real. */
const BEFORE: Readonly<Record<string, string>> = {
  ".git/HEAD": "ref: refs/heads/main\n",
  ".git/config": "[core]\n\thooksPath = tools/git\n",
  ".git/hooks/pre-commit": "true\n",
  "tools/git/pre-push": "true\n",
  "mirror/HEAD": "ref: refs/heads/main\n",
  "mirror/objects/keep": "",
  "mirror/config": "[core]\n\tbare = true\n",
  "ordinary.txt": "ordinary\n",
};

const LINKS: Readonly<Record<string, string>> = { shortcut: ".git", "notes.txt": ".git/config", ahead: ".vscode" };

/** Every kind of protected file, and every trick to reach one. */
const PATHS: readonly string[] = [
  ".git/config",
  ".git/hooks/post-checkout",
  "vendor/lib/.git/config",
  ".GIT/config",
  ".Git/hooks/pre-commit",
  "shortcut/config",
  "shortcut/hooks/new",
  "notes.txt",
  "docs/../.git/config",
  "./shortcut/../.git/config",
  ".git./config",
  ".git::$INDEX_ALLOCATION/config",
  "git~1/config",
  ".g\u200cit/config",
  "tools/git/post-merge",
  "mirror/config",
  "mirror/hooks/update",
  "other/HEAD",
  ".gitmodules",
  ".gitattributes",
  ".vscode/tasks.json",
  ".idea/workspace.xml",
  ".husky/pre-commit",
  ".githooks/pre-push",
  ".pre-commit-config.yaml",
  ".github/workflows/ci.yml",
  ".gitlab-ci.yml",
  "Jenkinsfile",
  ".bashrc",
  ".zshenv",
  ".config/fish/config.fish",
  ".ssh/authorized_keys",
  ".npmrc",
  ".envrc",
  ".mcp.json",
  ".tenon/config.json",
  "AGENTS.md",
];

const FEW = [".git/config", "shortcut/hooks/new", ".GIT/config", ".vscode/tasks.json", ".npmrc"];

function projectCell(posture: Posture, path: string): AttackCell {
  return {
    row: posture.name,
    column: visible(path),
    run: async () => {
      await using bench = new ToolBench();
      for (const [name, text] of Object.entries(BEFORE)) place(join(bench.project, name), text);
      for (const [name, target] of Object.entries(LINKS)) symlinkSync(target, join(bench.project, name));
      const mcpServers = posture.isServer ? { files: entry({ tools: [WRITER] }) } : {};
      bench.configure({ permissions: posture.permissions, mcpServers });
      await attack(bench, { posture, path, cwd: bench.project });
    },
  };
}

const WRITER = {
  name: "save",
  inputSchema: { type: "object", properties: { path: {}, content: {} } },
  reply: { kind: "text", text: "saved" },
} as const;

/** Tenon's own files, in a session that is opened in the home folder. */
const OWN_PATHS = [
  ".config/tenon/config.json",
  ".Config/Tenon/config.json",
  "settings-link.json",
  ".local/state/tenon/trust/allowed.json",
  ".local/state/tenon/approvals/x.json",
  ".cache/tenon/tools.json",
];

function ownCell(posture: Posture, path: string): AttackCell {
  return {
    row: `${posture.name}, in the home folder`,
    column: path,
    run: async () => {
      await using bench = new ToolBench();
      place(join(bench.home, ".config/tenon/config.json"), JSON.stringify({ permissions: posture.permissions }));
      symlinkSync(".config/tenon/config.json", join(bench.home, "settings-link.json"));
      await attack(bench, { posture, path, cwd: bench.home, env: { TENON_HOME: "" } });
    },
  };
}

interface Attack {
  readonly posture: Posture;
  readonly path: string;
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

async function attack(bench: ToolBench, { posture, path, cwd, env = {} }: Attack): Promise<void> {
  const target = join(cwd, path);
  const before = existsSync(target) ? readFileSync(target, "utf8") : undefined;
  const tool = posture.isServer ? "mcp__files__save" : "write_file";
  const first = posture.isApproved ? [calls(tool, { path: "ordinary.txt", content: "new\n" })] : [];
  const model = new RecordedModel(inTurn(...first, calls(tool, { path, content: "attack\n" })));
  const isFirst = (given: unknown) => given === "ordinary.txt";
  const session = bench.open({
    model,
    cwd,
    env,
    answer: posture.isHeadless ? "nobody" : ({ arguments: { path: asked } }) => (isFirst(asked) ? "always" : "no"),
  });
  await session.prompt("go on");
  const asked = bench.asked.filter(({ arguments: given }) => !isFirst(given["path"]));
  expect(bench.outcomes.at(-1)).toMatchObject({ kind: "refused" });
  if (posture.expected === "refused") expect(asked).toEqual([]);
  else {
    expect(asked).toHaveLength(1);
    expect(asked[0]?.choices.map(({ answer }) => answer)).toEqual(["once", "no", "never"]);
    expect(asked[0]).toMatchObject({ reason: expect.stringContaining("is protected") });
  }
  expect(existsSync(target) ? readFileSync(target, "utf8") : undefined).toBe(before);
}

function place(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function visible(path: string): string {
  return path.replaceAll("\u200c", "\\u{200C}");
}

/** Commands that an allow rule covers, and that write a protected file: nobody is there, so they are refused. */
const COMMANDS = [
  "cp e .g'i't/config",
  "cp e .git/HEAD",
  "cp e AGENTS.md",
  "cp e notes.txt",
  "cp --target-directory=.git/hooks e",
  "cp -t.git/hooks e",
];

const ALLOW_CP = { effect: "allow", tool: "run_command", arguments: [{ pointer: "/command", prefix: "cp" }] };

function commandCell(command: string): AttackCell {
  return {
    row: "a rule allows cp, headless",
    column: command,
    run: async () => {
      await using bench = new ToolBench();
      for (const [name, text] of Object.entries({ ...BEFORE, e: "attack\n" })) place(join(bench.project, name), text);
      for (const [name, target] of Object.entries(LINKS)) symlinkSync(target, join(bench.project, name));
      bench.configure({ permissions: { rules: [ALLOW_CP] } });
      const model = new RecordedModel(
        inTurn(...["cp e f", command].map((one) => calls("run_command", { command: one }))),
      );
      await bench.open({ model, answer: "nobody" }).prompt("go on");
      expect(bench.outcomes).toMatchObject([{ kind: "done" }, { kind: "refused" }]);
    },
  };
}

/** Tenon's configuration, from a session in the folder that it lies in. */
const OWN_COMMANDS = [{ command: "cp e ../config.json", path: "proj" }, { command: "cp proj/e config.json" }];

function ownCommandCell(given: { readonly command: string; readonly path?: string }): AttackCell {
  return {
    row: "a rule allows cp, headless, in the folder of the configuration",
    column: given.command,
    run: async () => {
      await using bench = new ToolBench();
      place(join(bench.home, "proj/e"), "{}\n");
      bench.configure({ permissions: { rules: [ALLOW_CP] } });
      const before = readFileSync(join(bench.home, "config.json"), "utf8");
      const model = new RecordedModel(inTurn(calls("run_command", given)));
      await bench.open({ model, cwd: bench.home, answer: "nobody" }).prompt("go on");
      expect(bench.outcomes).toMatchObject([{ kind: "refused" }]);
      expect(readFileSync(join(bench.home, "config.json"), "utf8")).toBe(before);
    },
  };
}

export const PROTECTED_PATH_CELLS: readonly AttackCell[] = [
  ...PATHS.map((path) => projectCell(AUTO_EDIT, path)),
  ...[HEADLESS, PLAN, APPROVED, NO_BYPASS, RULE, SERVER].flatMap((posture) =>
    FEW.map((path) => projectCell(posture, path)),
  ),
  ...[AUTO_EDIT, BYPASS].flatMap((posture) => OWN_PATHS.map((path) => ownCell(posture, path))),
  ...OWN_PATHS.slice(0, 2).map((path) => ownCell(BYPASS_HEADLESS, path)),
  ...COMMANDS.map(commandCell),
  ...OWN_COMMANDS.map(ownCommandCell),
];
