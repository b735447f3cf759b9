// A private folder with what guarded launches need: an empty prefix for npm, a shell and a `node` that correct their surroundings.
import { posix } from "node:path";
import type { World } from "../../../base/world.js";
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
    const root = posix.join(this.#world.files.scratchFolder(), `launch-${name}`);
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

const folders = new WeakMap<World["files"], PrivateFolder>();

/** One for all launches of a World. */
export function privateFolder(world: World): PrivateFolder {
  const known = folders.get(world.files) ?? new PrivateFolder(world);
  folders.set(world.files, known);
  return known;
}
