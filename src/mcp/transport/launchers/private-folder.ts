// A private folder with what guarded launches need: an empty prefix for npm, a shell and a `node` that correct their surroundings.
import { isAbsolute, posix } from "node:path";
import type { World } from "../../../base/ports/world.js";
import type { PrivatePaths } from "./guard.js";

/** npm puts `node_modules/.bin` of the working directory and every folder above it before PATH: a `node` there would run. */
const SHELL = `#!/bin/sh
set -f
here=$(pwd -P)
kept=
IFS=:
for entry in $PATH; do
  case $entry in
    */node_modules/.bin) case $here/ in "\${entry%/node_modules/.bin}"/*) continue ;; esac ;;
  esac
  kept=$kept\${kept:+:}$entry
done
unset IFS
set +f
PATH=$kept
export PATH
exec /bin/sh "$@"
`;

/** pnpm and bunx start a package in the folder they were given; its interpreter is this one first. */
const NODE = `#!/bin/sh
set -f
own=\${0%/*}
kept=
IFS=:
for entry in $PATH; do
  [ "$entry" = "$own" ] || kept=$kept\${kept:+:}$entry
done
unset IFS
set +f
PATH=$kept
export PATH
cd "$TENON_SERVER_FOLDER" || exit 1
exec node "$@"
`;

/** Tenon's cache: a folder that lives as long as a process needs somebody who watches over it, and this one is used all the time. */
function homeOf({ env }: World): string | undefined {
  const isFull = (path: string | undefined): path is string => path !== undefined && isAbsolute(path);
  if (isFull(env["TENON_HOME"])) return posix.join(env["TENON_HOME"], "cache");
  if (isFull(env["XDG_CACHE_HOME"])) return posix.join(env["XDG_CACHE_HOME"], "tenon");
  const home = env["HOME"] ?? env["USERPROFILE"];
  return isFull(home) ? posix.join(home, ".cache", "tenon") : undefined;
}

const PARTS = ["empty/.keep", "shell", "bin/node", "bunfig.toml", "empty.env", "tsconfig.json"];

export class PrivateFolder {
  readonly #world: World;
  #paths: PrivatePaths | undefined;
  #root: string | undefined;
  #made: Promise<void> | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  /** Undefined until a launch needed it. */
  get root(): string | undefined {
    return this.#root;
  }

  get paths(): PrivatePaths {
    if (this.#paths) return this.#paths;
    const name = Buffer.from(this.#world.randomBytes(9)).toString("hex");
    const root = posix.join(homeOf(this.#world) ?? this.#world.files.scratchFolder(), "launch");
    this.#root = root;
    this.#paths = {
      empty: posix.join(root, "empty"),
      shell: posix.join(root, "shell"),
      nodeFolder: posix.join(root, "bin"),
      bunfig: posix.join(root, "bunfig.toml"),
      emptyEnv: posix.join(root, "empty.env"),
      tsconfig: posix.join(root, "tsconfig.json"),
      unusedName: `.${name}.yml`,
    };
    return this.#paths;
  }

  /** Resolves when everything that `paths` names is there; at once when nothing was asked for. */
  async ready(): Promise<void> {
    if (!this.#paths) return;
    // A cache may be emptied at any time.
    if (this.#made) await this.#made;
    if (!PARTS.every((part) => this.#world.files.isFile(posix.join(this.#root ?? "", part)))) this.#made = undefined;
    this.#made ??= this.#make(this.#paths).catch((error: unknown) => {
      this.#made = undefined;
      throw error;
    });
    await this.#made;
  }

  async #make({ empty, shell, nodeFolder, bunfig, emptyEnv, tsconfig }: PrivatePaths): Promise<void> {
    const { files } = this.#world;
    await Promise.all([
      files.writeAtomic(posix.join(empty, ".keep"), ""),
      files.writeAtomic(shell, SHELL, 0o700),
      files.writeAtomic(posix.join(nodeFolder, "node"), NODE, 0o700),
      files.writeAtomic(bunfig, ""),
      files.writeAtomic(emptyEnv, ""),
      files.writeAtomic(tsconfig, "{}\n"),
    ]);
  }
}

const folders = new WeakMap<World["files"], Map<string, PrivateFolder>>();

/** One for all launches of a process with the same home. */
export function privateFolder(world: World): PrivateFolder {
  const ofFiles = folders.get(world.files) ?? new Map<string, PrivateFolder>();
  folders.set(world.files, ofFiles);
  const key = homeOf(world) ?? "";
  const known = ofFiles.get(key) ?? new PrivateFolder(world);
  ofFiles.set(key, known);
  return known;
}
