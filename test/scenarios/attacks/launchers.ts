// The attack matrix: launchers. Each cell plants a trap, starts the server as Tenon would, and shows that the trap works where it may.
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { PackageRegistry } from "../package-registry.js";
import type { AttackCell } from "./cell.js";
import { findPython, LauncherStage, type Words } from "./launcher-stage.js";

const python = findPython();

interface Attack {
  readonly words: Words | ((stage: LauncherStage) => Words);
  /** Planted in the folder, each with its text; a script that leaves the canary unless given. */
  readonly traps: Readonly<Record<string, (stage: LauncherStage) => string>>;
  /** The launcher cannot be kept out of the folder: not started, with a reason like this. */
  readonly asks?: RegExp;
  readonly env?: Readonly<Record<string, string>>;
  /** What the server prints that is not one of ours. */
  readonly prints?: RegExp;
}

const sh = (stage: LauncherStage) => stage.evil("sh");
const js = (stage: LauncherStage) => stage.evil("js");
const py = (stage: LauncherStage) => stage.evil("py");

function cell(row: string, column: string, attack: Attack): AttackCell {
  return { row, column, run: () => perform(attack) };
}

async function perform({ words: given, traps, asks, env, prints }: Attack): Promise<void> {
  using stage = new LauncherStage(python, env);
  if (python !== undefined) {
    stage.tool("python3", `#!/bin/sh\nexec ${python} "$@"\n`);
    stage.plant("../venv/pyvenv.cfg", "version = 3.12.1\n");
    mkdirSync(join(stage.root, "venv/bin"));
    symlinkSync(python, join(stage.root, "venv/bin/python"));
  }
  for (const [path, text] of Object.entries(traps)) stage.plant(path, text(stage));
  const words = typeof given === "function" ? given(stage) : given;
  if (asks) {
    await expect(stage.run(words)).rejects.toMatchObject({
      code: "mcp.launch_refused",
      message: expect.stringMatching(asks),
    });
  } else {
    const said = await stage.run(words);
    // The server itself runs, in the session's folder.
    expect(said).toMatch(prints ?? new RegExp(`^ran in ${stage.project}$`, "mu"));
  }
  expect(stage.hasFired).toBe(false);
  // The control: where the person approved the folder, the same trap works.
  await stage.run(words, asks ? "folder" : "project");
  expect(stage.hasFired).toBe(true);
}

const launcher = (command: string, ...args: string[]): Words => ({ command, args });
const BUNX = launcher("bunx", "good-server");
const PNPM = launcher("pnpm", "dlx", "good-server");
const YARN = launcher("yarn", "dlx", "good-server");
const UVX = launcher("uvx", "good-server");
const DENO = launcher("deno", "run", "-A", "npm:good-server");
const TSX = launcher("tsx", "/server.ts");
const MODULE = launcher("python3", "-m", "json.tool", "--help");
const absolute = (stage: LauncherStage) => launcher("bun", "run", join(stage.tools, "good-server"));

const PACKAGE_CELLS: readonly AttackCell[] = [
  cell("bunx", "node_modules/.bin has the package", { words: BUNX, traps: { "node_modules/.bin/good-server": sh } }),
  cell("bunx", "bunfig.toml", { words: BUNX, traps: { "bunfig.toml": sh } }),
  cell("bunx", ".env", { words: BUNX, traps: { ".env": sh } }),
  cell("bunx", ".npmrc", { words: BUNX, traps: { ".npmrc": sh } }),
  cell("bun x", "node_modules/.bin has the package", {
    words: launcher("bun", "x", "good-server"),
    traps: { "node_modules/.bin/good-server": sh },
  }),
  cell("bunx --bun", "bunfig.toml", {
    words: launcher("bunx", "--bun", "good-server"),
    traps: { "bunfig.toml": sh },
    asks: /bunx would read .*bunfig\.toml/u,
  }),
  cell("pnpm dlx", ".npmrc", { words: PNPM, traps: { ".npmrc": sh } }),
  cell("pnpm dlx", ".pnpmfile.cjs", { words: PNPM, traps: { ".pnpmfile.cjs": sh } }),
  cell("pnpm dlx", "pnpm-workspace.yaml", { words: PNPM, traps: { "pnpm-workspace.yaml": sh } }),
  cell("pnpm dlx", "node_modules/.bin has node", { words: PNPM, traps: { "node_modules/.bin/node": sh } }),
  cell("pnpx", ".pnpmfile.cjs", { words: launcher("pnpx", "good-server"), traps: { ".pnpmfile.cjs": sh } }),
  cell("pnpm run", "package.json script", {
    words: launcher("pnpm", "start"),
    traps: { ".npmrc": sh },
    asks: /script of the folder's package\.json/u,
  }),
  cell("yarn dlx", ".yarnrc.yml", { words: YARN, traps: { ".yarnrc.yml": sh } }),
  cell("yarn dlx", "packageManager of package.json", { words: YARN, traps: { "package.json": sh } }),
  cell("yarn run", "package.json script", {
    words: launcher("yarn", "start"),
    traps: { "package.json": sh },
    asks: /script of the folder's package\.json/u,
  }),
  cell("uvx", "uv.toml", { words: UVX, traps: { "uv.toml": sh } }),
  cell("uvx", ".python-version", { words: UVX, traps: { ".python-version": sh } }),
  cell("uv tool run", "uv.toml", { words: launcher("uv", "tool", "run", "good-server"), traps: { "uv.toml": sh } }),
  cell("uv run --with", "pyproject.toml", {
    words: launcher("uv", "run", "--with", "good-server", "good-server"),
    traps: { "pyproject.toml": sh },
  }),
  cell("uv run --with", ".venv", {
    words: launcher("uv", "run", "--with", "good-server", "good-server"),
    traps: { ".venv/bin/activate": sh },
  }),
  cell("uv run", "program of the folder's .venv", {
    words: launcher("uv", "run", "folder-server"),
    traps: { ".venv/bin/folder-server": sh },
    asks: /uv would take "folder-server" from the folder's project/u,
  }),
  cell("deno run npm:", "deno.json", { words: DENO, traps: { "deno.json": sh } }),
  cell("deno run npm:", "package.json", { words: DENO, traps: { "package.json": sh } }),
  cell("deno run npm:", ".npmrc", { words: DENO, traps: { ".npmrc": sh } }),
  cell("deno run", "file of the folder", {
    words: launcher("deno", "run", "./server.ts"),
    traps: { "server.ts": sh },
    asks: /deno would run the folder's "\.\/server\.ts"/u,
  }),
  cell("deno task", "deno.json", {
    words: launcher("deno", "task", "start"),
    traps: { "deno.json": sh },
    asks: /task of the folder's deno\.json/u,
  }),
  cell("bun run /absolute", "bunfig.toml", { words: absolute, traps: { "bunfig.toml": sh } }),
  cell("bun run /absolute", ".env", { words: absolute, traps: { ".env": sh } }),
  cell("bun run", "package.json script", {
    words: launcher("bun", "run", "start"),
    traps: { "package.json": sh },
    asks: /script of its package\.json/u,
  }),
  cell("tsx /absolute", "tsconfig.json", { words: TSX, traps: { "tsconfig.json": sh } }),
  cell("make", "Makefile", { words: launcher("make", "serve"), traps: { Makefile: sh }, asks: /make would run/u }),
];

const NODE_CELLS: readonly AttackCell[] = [
  cell("node", "file of the folder", {
    words: launcher("node", "./server.cjs"),
    traps: { "server.cjs": js },
    asks: /node would run the folder's "\.\/server\.cjs"/u,
  }),
  cell("node", "file of the folder without its ending", {
    words: launcher("node", "server"),
    traps: { "server.js": js },
    asks: /node would run the folder's "server"/u,
  }),
  cell("node -r", "module of the folder's node_modules", {
    words: (stage) => launcher("node", "-r", "dotenv/config", join(stage.tools, "good-server")),
    traps: { "node_modules/dotenv/config.js": js },
    asks: /load the module "dotenv\/config" from the folder/u,
  }),
  cell("node --env-file", "NODE_OPTIONS in .env", {
    words: (stage) => launcher("node", "--env-file=.env", join(stage.tools, "good-server")),
    traps: { ".env": ({ project }) => `NODE_OPTIONS=--require=${project}/evil.cjs\n`, "evil.cjs": js },
    asks: /node would use "\.env" of the folder/u,
  }),
  cell("node with NODE_OPTIONS", "module of the folder", {
    words: (stage) => ({
      ...launcher("node", join(stage.tools, "good-server")),
      env: { NODE_OPTIONS: "--require ./evil.cjs" },
    }),
    traps: { "evil.cjs": js },
    asks: /NODE_OPTIONS would load the module/u,
  }),
  cell("node -e", "module of the folder's node_modules", {
    words: launcher("node", "-e", "require('dep')"),
    traps: { "node_modules/dep/index.js": js },
    asks: /modules, which it looks for in the folder's node_modules/u,
  }),
];

const PATH_CELLS: readonly AttackCell[] = [
  { row: "bare name", column: "relative entry in PATH", run: () => pathAttack("bin/", "bin:./bin") },
  { row: "bare name", column: "empty entry in PATH", run: () => pathAttack("", "") },
];

/** There is no folder where a relative entry of PATH would count: the control is the system itself. */
async function pathAttack(folder: string, entry: string): Promise<void> {
  for (const path of [`${entry}:/usr/bin:/bin`, `/usr/bin:/bin:${entry}`]) {
    using stage = new LauncherStage(python, { PATH: path });
    stage.plant(`${folder}planted-server`);
    await stage.run(launcher("planted-server"));
    await stage.run(launcher("planted-server"), "project");
    await stage.run(launcher("sh", "-c", "planted-server"));
    expect(stage.hasFired).toBe(false);
    await stage.run(launcher("sh", "-c", `PATH=${path} planted-server`), "project");
    expect(stage.hasFired).toBe(true);
  }
}

const SHELL_CELLS: readonly AttackCell[] = [
  cell("sh -c bunx", "node_modules/.bin has the package", {
    words: launcher("sh", "-c", "exec bunx good-server"),
    traps: { "node_modules/.bin/good-server": sh },
  }),
  cell("env bunx", "bunfig.toml", {
    words: launcher("env", "A=1", "bunx", "good-server"),
    traps: { "bunfig.toml": sh },
  }),
  cell("timeout bunx", "bunfig.toml", {
    words: launcher("timeout", "9", "bunx", "good-server"),
    traps: { "bunfig.toml": sh },
  }),
  cell("sh -c", "text of several commands", {
    words: launcher("sh", "-c", "true && ./x"),
    traps: { x: sh },
    asks: /sh would run "true && \.\/x"/u,
  }),
  cell("sh", "script of the folder", {
    words: launcher("sh", "run.sh"),
    traps: { "run.sh": sh },
    asks: /sh would run the folder's "run\.sh"/u,
  }),
  cell("command", "program of the folder", {
    words: launcher("./server"),
    traps: { server: sh },
    asks: /would run the folder's "\.\/server"/u,
  }),
  cell("asdf shim", ".tool-versions", {
    words: (stage) => launcher(join(dirname(stage.tools), ".asdf/shims/node"), join(stage.tools, "good-server")),
    traps: { ".tool-versions": sh },
    asks: /asdf would choose the program by .*\.tool-versions/u,
  }),
  {
    row: "bare name",
    column: "node_modules/.bin of the folder in PATH, as npm puts it there",
    run: async () => {
      using stage = new LauncherStage(python);
      stage.plant("node_modules/.bin/node");
      const bins = `${stage.project}/node_modules/.bin:${stage.root}/node_modules/.bin`;
      using npm = new LauncherStage(python, {
        PATH: `${bins}:${stage.tools}:/usr/bin:/bin:${dirname(process.execPath)}`,
      });
      const words = { ...launcher("good-server"), cwd: stage.project };
      Object.defineProperty(npm, "project", { value: stage.project });
      expect(await npm.run(words)).toContain(`ran in ${stage.project}`);
      expect(stage.hasFired).toBe(false);
      await npm.run(words, "project");
      expect(stage.hasFired).toBe(true);
    },
  },
];

/** PATH as it is with an active virtual environment of the folder, or below `npm run`. */
const withPath = (stage: LauncherStage, entry: string) => ({
  PATH: `${entry}:${stage.tools}:${dirname(process.execPath)}:/usr/bin:/bin`,
});

const FOLDER_CELLS: readonly AttackCell[] = [
  {
    row: "bunx, approved for its NODE_PATH",
    column: "node_modules/.bin has the package",
    run: async () => {
      using stage = new LauncherStage(python);
      const words = { ...BUNX, env: { NODE_PATH: "./lib" } };
      stage.plant("node_modules/.bin/good-server");
      expect(await stage.run(words, "folder")).toContain(`ran in ${stage.project}`);
      expect(stage.hasFired).toBe(false);
      await stage.run(words, "project");
      expect(stage.hasFired).toBe(true);
    },
  },
  cell("bunx, cwd inside the folder", "node_modules/.bin has the package", {
    words: (stage) => ({ ...BUNX, cwd: join(stage.project, "sub") }),
    traps: { "sub/node_modules/.bin/good-server": sh },
    prints: /ran in .*sub/u,
  }),
  cell("bunx, cwd is a link to the folder", "node_modules/.bin has the package", {
    words: (stage) => {
      symlinkSync(stage.project, join(stage.root, "link"));
      return { ...BUNX, cwd: join(stage.root, "link") };
    },
    traps: { "node_modules/.bin/good-server": sh },
  }),
  cell("bare name, cwd elsewhere", "node_modules/.bin of the folder in PATH", {
    words: (stage) => ({
      ...launcher("good-server"),
      cwd: join(stage.root, "home"),
      env: withPath(stage, join(stage.project, "node_modules/.bin")),
    }),
    traps: { "node_modules/.bin/good-server": sh },
    prints: /ran in .*home/u,
  }),
  cell("relative command, cwd elsewhere", "program of the folder", {
    words: (stage) => ({ ...launcher("./server"), cwd: join(stage.root, "home") }),
    traps: { server: sh },
    asks: /would run the folder's "\.\/server"/u,
  }),
  cell("bare name", "virtual environment of the folder in PATH", {
    words: (stage) => ({ ...launcher("good-server"), env: withPath(stage, join(stage.project, ".venv/bin")) }),
    traps: { ".venv/bin/good-server": sh },
  }),
  cell("bare name", "link to a folder of the folder in PATH", {
    words: (stage) => {
      symlinkSync(join(stage.project, "bin"), join(stage.root, "bin"));
      return { ...launcher("good-server"), env: withPath(stage, join(stage.root, "bin")) };
    },
    traps: { "bin/good-server": sh },
  }),
  cell("bare name", "found nowhere but in the folder", {
    words: (stage) => ({ ...launcher("venv-server"), env: withPath(stage, join(stage.project, ".venv/bin")) }),
    traps: { ".venv/bin/venv-server": sh },
    asks: /found nowhere but in the folder/u,
  }),
  cell("sh -ce", "text of several commands", {
    words: launcher("sh", "-ce", "true && ./x"),
    traps: { x: sh },
    asks: /sh would run "true && \.\/x"/u,
  }),
  cell("sh +e", "script of the folder", {
    words: launcher("sh", "+e", "run.sh"),
    traps: { "run.sh": sh },
    asks: /sh would run the folder's "run\.sh"/u,
  }),
  cell("nice of an unknown wrapper", "bunfig.toml", {
    words: (stage) => {
      stage.tool("some-wrapper", '#!/bin/sh\nexec "$@"\n');
      return launcher("nice", "some-wrapper", "bunx", "good-server");
    },
    traps: { "bunfig.toml": sh },
    asks: /some-wrapper may start "bunx"/u,
  }),
];

const PYTHON_CELLS: readonly AttackCell[] = [
  cell("./python3 -m", "program of the folder, which is not asked for its version", {
    words: launcher("./python3", "-m", "mod"),
    traps: { python3: sh },
    asks: /would run the folder's "\.\/python3"/u,
  }),
  cell("bash -euo pipefail -c python3 -m", "json.py hides a standard module", {
    words: launcher("bash", "-euo", "pipefail", "-c", "python3 -m json.tool --help"),
    traps: { "json.py": py },
    prints: /usage/u,
  }),
  cell("sh -c -- python3 -m", "json.py hides a standard module", {
    words: launcher("sh", "-c", "--", "python3 -m json.tool --help"),
    traps: { "json.py": py },
    prints: /usage/u,
  }),
  cell("python3 -mP…", "module whose name begins like an option", {
    words: launcher("python3", "-mPmod"),
    traps: { "Pmod.py": py },
    prints: /No module named Pmod/u,
  }),
  cell("python3 -I", "script of the folder", {
    words: launcher("python3", "-I", "server.py"),
    traps: { "server.py": py },
    asks: /python would run the folder's "server\.py"/u,
  }),
  cell("python3 -P", "script of the folder", {
    words: launcher("python3", "-P", "server.py"),
    traps: { "server.py": py },
    asks: /python would run the folder's "server\.py"/u,
  }),
  cell("python3 -m", "json.py hides a standard module", { words: MODULE, traps: { "json.py": py }, prints: /usage/u }),
  cell("python3 -m", "package json hides a standard module", {
    words: MODULE,
    traps: { "json/__init__.py": py },
    prints: /usage/u,
  }),
  cell("python3 -m", "argparse.py hides what the module imports", {
    words: MODULE,
    traps: { "argparse.py": py },
    prints: /usage/u,
  }),
  cell("python3 -um", "json.py hides a standard module", {
    words: launcher("python3", "-um", "json.tool", "--help"),
    traps: { "json.py": py },
    prints: /usage/u,
  }),
  cell("python3 -c", "json.py hides a standard module", {
    words: launcher("python3", "-c", "import json; print('fine')"),
    traps: { "json.py": py },
    prints: /fine/u,
  }),
  cell("/venv/bin/python -m", "json.py hides a standard module", {
    words: (stage) => launcher(join(stage.root, "venv/bin/python"), "-m", "json.tool", "--help"),
    traps: { "json.py": py },
    prints: /usage/u,
  }),
  cell("env python3 -m", "json.py hides a standard module", {
    words: launcher("env", "python3", "-m", "json.tool", "--help"),
    traps: { "json.py": py },
    prints: /usage/u,
  }),
  cell("sh -c python3 -m", "json.py hides a standard module", {
    words: launcher("sh", "-c", "python3 -m json.tool --help"),
    traps: { "json.py": py },
    prints: /usage/u,
  }),
  cell("uv run python -m", "json.py hides a standard module", {
    words: launcher("uv", "run", "python3", "-m", "json.tool", "--help"),
    traps: { "json.py": py },
    prints: /usage/u,
  }),
  cell("uv run", "script of the folder", {
    words: launcher("uv", "run", "server.py"),
    traps: { "server.py": py },
    asks: /uv would run the folder's "server\.py"/u,
  }),
  cell("python3", "script of the folder", {
    words: launcher("python3", "server.py"),
    traps: { "server.py": py },
    asks: /python would run the folder's "server\.py"/u,
  }),
  cell("python3 with PYTHONPATH", "relative entry", {
    words: { ...MODULE, env: { PYTHONPATH: "lib" } },
    traps: { "lib/json.py": py },
    asks: /PYTHONPATH names files of the folder/u,
  }),
  cell("pipx run", "json.py hides a standard module", {
    words: launcher("pipx", "run", "good"),
    traps: { "json.py": py },
  }),
  cell("pipx run", "file of the package's name", {
    words: launcher("pipx", "run", "good"),
    traps: { good: sh },
    asks: /pipx would run the folder's file "good"/u,
  }),
  cell("pyenv shim -m", ".python-version", {
    words: (stage) => launcher(join(dirname(stage.tools), ".pyenv/shims/python3"), "-m", "json.tool", "--help"),
    traps: { ".python-version": sh },
    prints: /usage/u,
  }),
  {
    row: "Python 3.9 -m",
    column: "json.py hides a standard module",
    run: async () => {
      using stage = new LauncherStage(python);
      // As an old one: it does not know the option, and imports from the working directory first.
      const old = `#!/bin/sh\ncase $1 in --version) echo Python 3.9.18 ;; -P) exit 2 ;; *) exec ${python} "$@" ;; esac\n`;
      stage.tool("python3", old);
      stage.plant("json.py", stage.evil("py"));
      const reason = /Python 3\.9 imports modules from the folder first/u;
      await expect(stage.run(MODULE)).rejects.toMatchObject({
        code: "mcp.launch_refused",
        message: expect.stringMatching(reason),
      });
      expect(stage.hasFired).toBe(false);
      await stage.run(MODULE, "folder");
      expect(stage.hasFired).toBe(true);
    },
  },
];

const PACKAGE = "probe-server";

/** With the real npx and npm of this machine and a registry on it. */
const NPX_CELLS: readonly AttackCell[] = [
  npxCell("npx -y", "node_modules/.bin has the package", ["npx", "-y", PACKAGE], "node_modules/.bin/probe-server"),
  npxCell("npx -y", "node_modules/.bin has node", ["npx", "-y", PACKAGE], "node_modules/.bin/node"),
  npxCell("npx -y", ".npmrc names another registry", ["npx", "-y", PACKAGE], ".npmrc"),
  npxCell(
    "npm exec",
    "node_modules/.bin has the package",
    ["npm", "exec", "-y", PACKAGE],
    "node_modules/.bin/probe-server",
  ),
];

function npxCell(row: string, column: string, words: readonly [string, ...string[]], trap: string): AttackCell {
  return {
    row,
    column,
    run: async () => {
      await using registry = await PackageRegistry.start(PACKAGE);
      await using other = await PackageRegistry.start(PACKAGE);
      using stage = new LauncherStage(python);
      const [command, ...args] = words;
      stage.plant("../home/.npmrc", `registry=${registry.url}\nupdate-notifier=false\naudit=false\n`);
      stage.plant(trap, trap === ".npmrc" ? `registry=${other.url}\n` : stage.evil("sh"));
      const isLed = () => stage.hasFired || other.requests.length > 0;
      await stage.run({ command, args });
      expect(isLed()).toBe(false);
      expect(registry.requests).toContain(`/${PACKAGE}`);
      rmSync(join(stage.root, "home/.npm"), { recursive: true, force: true });
      await stage.run({ command, args, env: { npm_config_cache: join(stage.root, "cache") } }, "project");
      expect(isLed()).toBe(true);
    },
  };
}

export const LAUNCHER_CELLS: readonly AttackCell[] = [
  ...NPX_CELLS,
  ...PACKAGE_CELLS,
  ...NODE_CELLS,
  ...PATH_CELLS,
  ...SHELL_CELLS,
  ...FOLDER_CELLS,
  ...(python === undefined ? [] : PYTHON_CELLS),
];
