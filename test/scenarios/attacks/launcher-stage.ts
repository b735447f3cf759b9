// A hostile folder, a home, and launchers: real ones where the machine has them, else stand-ins that read what the real ones read.
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { StdioSpec } from "../../../src/mcp/index.js";
import { guardedLaunch, launchConcern } from "../../../src/mcp/transport/launchers/guarded-launch.js";
import { nodeWorld } from "../../../src/world/index.js";
import { TemporaryFolder } from "../agent.js";

/** What it prints is where it ran. */
const PACKAGE_PROGRAM = "#!/usr/bin/env node\nconsole.log(`ran in ${process.cwd()}`);\n";

/**
 * What each launcher reads from its working directory, and which words and variables keep it from that: found with bun 1.4,
 * pnpm 12, yarn 4 and deno 2.9, and for uv in its documentation. A file it would obey is run as a shell script.
 */
const STAND_IN = `#!/bin/sh
name=\${0##*/}
here=\${0%/*}
config=1 env=1 project=1 isolated= verb=
while [ $# -gt 0 ]; do
  case $1 in
    --cwd|--dir) cd "$2" || exit 1; shift 2 ;;
    --config=*|--no-config) config=; shift ;;
    --env-file=*) env=; shift ;;
    --no-lock|--bun|-y|-A) shift ;;
    --no-project) project=; shift ;;
    --isolated) isolated=1; shift ;;
    dlx|x|run|tool) verb=$1; shift ;;
    *) break ;;
  esac
done
obey() { if [ -f "$1" ]; then sh "./$1"; fi; }
case $name-$verb in
  bunx-*|bun-x)
    if [ -x "node_modules/.bin/$1" ]; then exec "./node_modules/.bin/$1"; fi
    obey bunfig.toml; obey .env; obey .npmrc ;;
  bun-*)
    if [ -n "$config" ]; then obey bunfig.toml; fi
    if [ -n "$env" ]; then obey .env; fi
    if [ "$1" = start ]; then obey package.json; fi ;;
  pnpm-*|pnpx-*) obey .npmrc; obey .pnpmfile.cjs; obey pnpm-workspace.yaml; PATH=$PWD/node_modules/.bin:$PATH ;;
  yarn-dlx)
    if [ -z "$YARN_IGNORE_PATH" ]; then obey .yarnrc.yml; fi
    obey "\${YARN_RC_FILENAME:-.yarnrc.yml}"
    if [ "$COREPACK_ENABLE_PROJECT_SPEC" != 0 ]; then obey package.json; fi ;;
  yarn-*) obey package.json ;;
  uv-*|uvx-*)
    if [ -z "$UV_NO_CONFIG$UV_CONFIG_FILE" ]; then obey uv.toml; fi
    if [ -z "$UV_NO_CONFIG" ]; then obey .python-version; fi
    if [ "$name-$verb" = uv-run ]; then
      if [ -n "$project" ]; then obey pyproject.toml; fi
      if [ -z "$isolated" ]; then obey .venv/bin/activate; fi
      case $1 in
        *.py) exec python3 "$@" ;;
        python3) exec "$@" ;;
        folder-server) obey .venv/bin/folder-server ;;
      esac
    fi ;;
  deno-*)
    if [ -n "$config" ]; then obey deno.json; obey .npmrc; fi
    if [ -z "$DENO_NO_PACKAGE_JSON" ]; then obey package.json; fi
    case $1 in task|./*) obey "\${1#task}"; obey deno.json ;; esac ;;
  tsx-*) if [ -z "$TSX_TSCONFIG_PATH" ]; then obey tsconfig.json; fi ;;
  make-*) obey Makefile ;;
  *-*) echo "no such stand-in: $name $verb" >&2; exit 1 ;;
esac
export PATH
exec "$here/good-server"
`;

const STAND_INS = ["bun", "bunx", "pnpm", "pnpx", "yarn", "uv", "uvx", "deno", "tsx", "make"];

/** Finds an installed tool by the folder it was told of, as pyenv does, or in the working directory, as asdf does. */
const PYENV_SHIM = `#!/bin/sh
if [ -f "\${PYENV_DIR:-.}/.python-version" ]; then sh "\${PYENV_DIR:-.}/.python-version"; fi
exec python3 "$@"
`;
const ASDF_SHIM = `#!/bin/sh
if [ -f .tool-versions ]; then sh ./.tool-versions; fi
exec node "$@"
`;
/** pip is run as a module in the working directory; a file of the name counts before a package. */
const PIPX = `import os, subprocess, sys
app = sys.argv[2]
if os.path.isfile(app): sys.exit(subprocess.call(["sh", app]))
subprocess.call([sys.executable, "-m", "json.tool", "--help"], stdout=subprocess.DEVNULL)
print("ran in " + os.getcwd())
`;

export type Words = Pick<StdioSpec, "command" | "args"> & Partial<Pick<StdioSpec, "env" | "cwd">>;

export class LauncherStage implements Disposable {
  readonly #folder = new TemporaryFolder();
  readonly root: string = realpathSync(this.#folder.path);
  readonly project: string = join(this.root, "project");
  readonly tools: string = join(this.root, "tools");
  readonly canary: string = join(this.root, "canary");
  readonly #env: Record<string, string>;

  constructor(python: string | undefined, env: Readonly<Record<string, string>> = {}) {
    for (const name of ["project", "home", "tools", "cache"]) mkdirSync(join(this.root, name));
    this.tool("good-server", PACKAGE_PROGRAM);
    for (const name of STAND_INS) this.tool(name, STAND_IN);
    this.tool("../.pyenv/shims/python3", PYENV_SHIM);
    this.tool("../.asdf/shims/node", ASDF_SHIM);
    if (python !== undefined) this.tool("pipx", `#!${python}\n${PIPX}`);
    const node = dirname(process.execPath);
    this.#env = { HOME: join(this.root, "home"), PATH: `${this.tools}:${node}:/usr/bin:/bin`, ...env };
  }

  /** A program in a folder of PATH. */
  tool(name: string, text: string): string {
    const path = join(this.tools, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    chmodSync(path, 0o755);
    return path;
  }

  /** A file in the hostile folder; by default a shell script that leaves the canary. */
  plant(path: string, text: string = this.evil("sh")): void {
    const file = join(this.project, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, 0o755);
  }

  evil(language: "sh" | "js" | "py"): string {
    const path = JSON.stringify(this.canary);
    if (language === "js") return `require("node:fs").writeFileSync(${path}, "");\n`;
    return language === "py" ? `open(${path}, "w").close()\n` : `#!/bin/sh\n: > '${this.canary}'\n`;
  }

  get hasFired(): boolean {
    return existsSync(this.canary);
  }

  reset(): void {
    rmSync(this.canary, { force: true });
  }

  /** Starts it as Tenon would and waits until it ends; rejects where Tenon would not start it. */
  async run(words: Words, approval: "none" | "project" | "folder" = "none"): Promise<string> {
    const world = nodeWorld({ env: this.#env });
    const spec: StdioSpec = { kind: "stdio", name: "s", env: {}, ...words };
    const concern = approval === "folder" ? await launchConcern(spec, this.project, world) : undefined;
    const approved =
      approval === "project"
        ? ({ by: "project", files: [] } as const)
        : concern && ({ by: "folder", files: concern.files, key: concern.key } as const);
    const full = approved ? { ...spec, approved } : spec;
    const { command, args, env, cwd } = await guardedLaunch(full, this.project, world);
    const child = spawn(command, args, { env: { ...env }, cwd, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
    child.on("error", (error) => (said += error.message));
    await new Promise<void>((resolve) => child.once("close", () => resolve()));
    return said;
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }
}

/** A Python of 3.11 or later, where this machine has one. */
export function findPython(): string | undefined {
  const folders = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];
  const names = ["python3.14", "python3.13", "python3.12", "python3.11"];
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find((path) => existsSync(path));
}
