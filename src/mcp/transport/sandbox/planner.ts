// Plans the mounts of one server's sandbox: everything it was granted, and no more; or the reason why there is none.
import { posix } from "node:path";
import { hashJson } from "../../../base/json/json.js";
import { SANDBOX_LIMITS } from "../../../base/limits.js";
import type { FoundPath, SpawnRequest, World } from "../../../base/ports/world.js";
import { launchFingerprint, type SandboxSpec, type StdioSpec } from "../../spec.js";
import { privateFolder } from "../launchers/folders.js";
import { binaryName, fetchWords, isContainerRunner, packageRunner } from "../launchers/package-runners.js";
import { optionValues } from "../launchers/words.js";
import { explainExit, inheritedCertificates } from "../stdio/launch.js";
import { type Bubblewrap, isInSystem, unavailable } from "./bubblewrap.js";
import { BARE_PARTS, findGitPlaces, type GitPlace, gitFolderOf } from "./git-places.js";
import { isWithin, isWithinAny, type Mount, showsTooMuch, writtenOutside } from "./mounts.js";
import { argumentPlaces, commandFile, type ProgramSurroundings, programPlaces } from "./program.js";

export interface SandboxedLaunch {
  readonly spec: StdioSpec;
  readonly sandbox: SandboxSpec;
  /** The request without a sandbox. */
  readonly request: SpawnRequest;
  /** The session's directory. */
  readonly sessionCwd: string;
  readonly world: World;
  /** Aborts when the server is not needed any more. */
  readonly signal: AbortSignal;
}

export interface Planned {
  readonly mounts: readonly Mount[];
  /** HOME inside. */
  readonly home: string;
  readonly program: string;
  /** Folders that bubblewrap creates as mount points; they are removed afterwards. */
  readonly made: readonly string[];
  /** A package to download first, for a program that has no network when it runs. */
  readonly fetch?: {
    /** The words with which the program downloads, and runs nothing. */
    readonly args: readonly string[];
    /** The home of the program, which is kept. */
    readonly folder: string;
    /** It was not there, so an earlier download is lost. */
    readonly isFresh: boolean;
    readonly mounts: readonly Mount[];
  };
}

export class Planner {
  readonly #launch: SandboxedLaunch;
  readonly #wrapper: Bubblewrap;
  /** The mounts of every sandbox. */
  readonly #base: readonly Mount[];
  readonly #mounts: Mount[];
  readonly #made: string[] = [];
  /** Folders around repositories. As mounts of their own they cannot be renamed, so that none can be made in their place. */
  readonly #held: string[] = [];
  /** All that may be written of the host, by every name. */
  readonly #writable: string[] = [];
  /** The folder that is kept was not there. */
  #isFresh = false;
  readonly #found = new Map<string, Promise<FoundPath | undefined>>();

  constructor(launch: SandboxedLaunch, wrapper: Bubblewrap) {
    this.#launch = launch;
    this.#wrapper = wrapper;
    this.#base = [...wrapper.system, { kind: "empty", path: "/tmp" }, { kind: "empty", path: "/var/tmp" }];
    this.#mounts = [...this.#base];
  }

  async plan(): Promise<Planned> {
    const { request, sandbox, world } = this.#launch;
    const runner = this.#runner();
    const homes = await this.#homes();
    const directories = await this.#sessionDirectories(homes);
    await this.#grants(directories);
    const files: ProgramSurroundings["files"] = {
      find: this.#find,
      isFile: (path) => world.files.isFile(path),
      readBytes: (path, range) => world.files.readBytes(path, range),
    };
    const { PATH: path = "" } = request.env;
    const surroundings: ProgramSurroundings = { files, path, cwd: request.cwd, homes, directories };
    const program = await commandFile(request.command, surroundings);
    if (program === undefined) throw this.#notStarted();
    await this.#workingDirectory(homes, directories);
    const places = await programPlaces(program, surroundings);
    const before = this.#mounts.length;
    for (const place of places) await this.#bind(place, "read");
    const guards = privateFolder(world).root;
    if (guards !== undefined) await this.#bind(guards, "read");
    await this.#certificates(homes, directories);
    const ofProgram = this.#mounts.slice(before);
    if (!sandbox.isConfined) {
      for (const place of await argumentPlaces(request.args, surroundings)) await this.#bind(place, "read");
    }
    this.#hold();
    await this.#hide();
    const folder = runner && this.#keptFolder();
    const planned = { program, home: await this.#home(folder), mounts: this.#mounts, made: this.#made };
    this.#refuseUngranted(folder);
    if (folder === undefined || sandbox.network) return planned;
    const args = fetchWords(request.command, request.args) ?? [];
    return { ...planned, fetch: { args, folder, isFresh: this.#isFresh, mounts: [...this.#base, ...ofProgram] } };
  }

  /** By directory too: what is installed in one is run before anything that is downloaded, and must not be met in another. */
  #keptFolder(): string | undefined {
    const { sandbox, spec, sessionCwd } = this.#launch;
    const key = hashJson({ launch: launchFingerprint(spec), sessionCwd }).slice(0, 32);
    return sandbox.cacheDir === undefined ? undefined : posix.join(sandbox.cacheDir, key);
  }

  /** Many paths are looked up repeatedly. A path that cannot be looked up does not exist for a server either. */
  readonly #find = (path: string): Promise<FoundPath | undefined> => {
    const known = this.#found.get(path) ?? this.#launch.world.files.find(path).catch(() => undefined);
    this.#found.set(path, known);
    return known;
  };

  /** The person's, by the name it has and the one it really has. */
  async #homes(): Promise<readonly string[]> {
    const home = this.#launch.world.env["HOME"];
    if (home === undefined || !posix.isAbsolute(home) || home === "/") return ["/root"];
    return await this.#namesOf(home);
  }

  async #sessionDirectories(homes: readonly string[]): Promise<readonly string[]> {
    const { sandbox, sessionCwd } = this.#launch;
    const kind = sandbox.mode === "workspace" ? "write" : "read";
    const seen: string[] = [];
    for (const given of new Set([sessionCwd, ...(sandbox.directories ?? [])])) {
      const paths = await this.#namesOf(given);
      if (paths.some((path) => showsTooMuch(path, homes) || (sandbox.hidden ?? []).includes(path))) {
        const text = `the session's directory ${given} holds your home, or places other programs keep their sockets in, so a sandbox around it would be none`;
        throw unavailable(text, 'Open a folder of its own for the work, or set "sandbox": "off".');
      }
      seen.push(...paths);
      await this.#bind(given, kind);
      if (kind !== "write") continue;
      this.#writable.push(...paths);
      for (const path of paths) await this.#guardGit(path);
    }
    return seen;
  }

  /** The last word before a start: whatever went wrong above, nothing else of the host is writable inside. */
  #refuseUngranted(kept: string | undefined): void {
    const granted = kept === undefined ? this.#writable : [...this.#writable, kept];
    const [path] = writtenOutside(this.#mounts, granted);
    if (path === undefined) return;
    const text = `its sandbox would let it write ${path}, which nobody granted`;
    throw unavailable(text, "This is a defect of Tenon: please report it.");
  }

  /**
   * Files in a repository can name programs, which the person's next git command runs outside. So repositories are
   * read-only, at any level; as mounts of their own they cannot be renamed either. Where the folder itself has none, an empty
   * private `.git` lies in its place, so that none can be made there.
   */
  async #guardGit(directory: string): Promise<void> {
    const { files } = this.#launch.world;
    const top = posix.join(directory, ".git");
    const isKeptFree = async (path: string) => path === top && (await files.entries(path).catch(() => [])).length === 0;
    const granted = (this.#launch.sandbox.write ?? []).map((given) => this.#absolute(given));
    let hasTop = false;
    for (const { path, kind } of await this.#gitPlaces(directory)) {
      if (kind === "folder" && (await isKeptFree(path))) continue; // another sandbox's
      hasTop ||= path === top;
      this.#held.push(...foldersBetween(path, directory));
      if (kind === "folder" && granted.includes(path)) await this.#guardGitParts(path);
      else if (kind === "link") await this.#guardLink(path, directory);
      else if (path === directory) await this.#guardBareTop(path);
      else this.#mounts.push({ kind: "guard", path });
      if (kind === "file") await this.#guardInside(await gitFolderOf(files, path));
    }
    if (hasTop) return;
    this.#mounts.push({ kind: "empty", path: top });
    this.#made.push(top);
  }

  /** Also those that an earlier search of this folder found: a server must not hide one behind thousands of new folders. */
  async #gitPlaces(directory: string): Promise<readonly GitPlace[]> {
    const { files, log } = this.#launch.world;
    const { places, isComplete } = await findGitPlaces(files, directory);
    if (!isComplete) log.info("sandbox.git_search_cut", { server: this.#launch.spec.name, path: directory });
    const first = firstPlaces(this.#launch.world, directory, places);
    const missed = first.filter(({ path }) => !places.some((place) => place.path === path));
    const still = await Promise.all(
      missed.map(async ({ path, kind }): Promise<readonly GitPlace[]> => {
        const now = await files.kindOf(path).catch(() => undefined);
        if (now === undefined || now === "other") return [];
        return [{ path, kind: kind === "bare" && now === "folder" ? kind : now }];
      }),
    );
    return [...places, ...still.flat()];
  }

  #hold(): void {
    const guarded = this.#mounts.flatMap(({ kind, path }) => (kind === "guard" ? [path] : []));
    const free = this.#held.filter((path) => !isWithinAny(path, guarded));
    this.#mounts.push(...free.map((path) => ({ kind: "write", path }) as const));
  }

  /** Nothing can be mounted on a link, so a server could replace it: the folder around it becomes read-only. */
  async #guardLink(path: string, directory: string): Promise<void> {
    const folder = posix.dirname(path);
    if (folder === directory) {
      throw replaceable(path, 'Replace the link by a file with the line "gitdir: <where it leads>"');
    }
    this.#mounts.push({ kind: "guard", path: folder });
    await this.#guardInside((await this.#find(path))?.realPath);
  }

  /** The folder itself is a repository, or looks like one: it stays writable but for what git goes by. */
  async #guardBareTop(directory: string): Promise<void> {
    for (const name of BARE_PARTS) {
      const path = posix.join(directory, name);
      const kind = await this.#launch.world.files.kindOf(path).catch(() => undefined);
      if (kind === "link" && name !== "HEAD") throw replaceable(path, "Replace the link by what it leads to");
      if (kind === "folder" || kind === "file") this.#mounts.push({ kind: "guard", path });
    }
  }

  /** Where the entry grants writing a `.git` by its name: git works, but for what always runs programs. */
  async #guardGitParts(git: string): Promise<void> {
    this.#mounts.push({ kind: "write", path: git });
    for (const name of GIT_PARTS) {
      const path = posix.join(git, name);
      const kind = await this.#launch.world.files.kindOf(path);
      if (kind === "folder" || kind === "file") this.#mounts.push({ kind: "guard", path });
      else if (kind === undefined && name === "hooks") this.#mounts.push({ kind: "empty", path });
    }
  }

  /** A repository that a link or a `.git` file leads to, where the server could write it. */
  async #guardInside(path: string | undefined): Promise<void> {
    const written = this.#mounts.flatMap((mount) => (mount.kind === "write" ? [mount.path] : []));
    if (path === undefined || !isWithinAny(path, written) || written.includes(path)) return;
    const kind = await this.#launch.world.files.kindOf(path);
    if (kind === "folder" || kind === "file") this.#mounts.push({ kind: "guard", path });
  }

  /** Paths that the entry grants. A link that leads out of a directory writable for others is not followed. */
  async #grants(directories: readonly string[]): Promise<void> {
    const { sandbox, world } = this.#launch;
    for (const kind of ["read", "write"] as const) {
      for (const given of sandbox[kind] ?? []) {
        const path = this.#absolute(given);
        const names = await this.#namesOf(path);
        const isLedOut = isWithinAny(path, directories) && names.some((name) => !isWithinAny(name, directories));
        if (path === "/" || isLedOut) {
          const why = path === "/" ? "is everything" : "is a link that leads out of the session's directory";
          throw unavailable(`its sandbox.${kind} names ${given}, which ${why}`, "Name the folders it needs.");
        }
        const isThere = await this.#bind(path, kind);
        if (isThere && kind === "write") {
          this.#writable.push(...names);
          // Repositories in a folder of the entry's own are guarded as well, and none can be made at its top.
          for (const name of names) {
            if (posix.basename(name) !== ".git" && world.files.isFolder(name)) await this.#guardGit(name);
          }
        }
        if (!isThere) world.log.warn("sandbox.path_missing", { server: this.#launch.spec.name, path });
      }
    }
  }

  /** Only where something granted holds it: elsewhere it is not seen anyway. */
  async #hide(): Promise<void> {
    const { sandbox, world } = this.#launch;
    const granted = this.#mounts.flatMap(({ kind, path }) => (kind === "read" || kind === "write" ? [path] : []));
    for (const given of sandbox.hidden ?? []) {
      for (const path of await this.#namesOf(given)) {
        if (isWithinAny(path, granted) && world.files.isFolder(path)) this.#mounts.push({ kind: "hidden", path });
      }
    }
  }

  /** Those the person's environment names, for HTTPS behind a proxy that has its own. */
  async #certificates(homes: readonly string[], directories: readonly string[]): Promise<void> {
    const { spec, request } = this.#launch;
    for (const path of [...inheritedCertificates(spec, request.env).values()].flat()) {
      const names = await this.#namesOf(path);
      const isSeen = isWithinAny(path, directories);
      if (!isSeen && !names.some((name) => showsTooMuch(name, homes))) await this.#bind(path, "read");
    }
  }

  /** An entry's own directory is where its program lies: it is read, unless the session may write there. */
  async #workingDirectory(homes: readonly string[], directories: readonly string[]): Promise<void> {
    const { request, sandbox, world } = this.#launch;
    const { cwd } = request;
    if (!world.files.isFolder(cwd)) throw this.#notStarted();
    if (isWithinAny(cwd, directories) || isInSystem(cwd) || [...homes, "/", "/tmp"].includes(cwd)) return;
    const names = await this.#namesOf(cwd);
    const isHolding = names.some((name) => showsTooMuch(name, homes));
    if (isHolding || sandbox.isConfined) {
      const why = isHolding ? "holds places a sandbox is there to hide" : "is not one of the session's";
      throw unavailable(`its directory ${cwd} ${why}`, 'Correct its cwd, or set "sandbox": "off".');
    }
    await this.#bind(cwd, "read");
  }

  /** A home of its own: empty and gone with it, or, for what is downloaded, kept in a folder nothing else uses. */
  async #home(kept: string | undefined): Promise<string> {
    const { request, world } = this.#launch;
    const given = request.env["HOME"] ?? "";
    const isUsable = posix.isAbsolute(given) && given !== "/" && !isInSystem(given);
    const path = isUsable ? posix.resolve(given) : "/home/tenon";
    const granted = this.#mounts.filter(({ kind }) => kind === "write" || kind === "read").map((mount) => mount.path);
    if (isWithinAny(path, granted)) return path;
    if (kept === undefined) this.#mounts.push({ kind: "empty", path });
    else {
      this.#isFresh = await world.files.createNew(posix.join(kept, ".tenon"), KEPT_NOTE);
      this.#mounts.push({ kind: "write", path, source: kept });
    }
    return path;
  }

  /** Refuses what could not work, in better words than the program itself would find. */
  #runner(): ReturnType<typeof packageRunner> {
    const { request, sandbox, world, spec } = this.#launch;
    if (isContainerRunner(request.command)) {
      const text = `${request.command} starts its server outside of any sandbox of ours, through a service that may do everything`;
      throw unavailable(text, 'Set "sandbox": "off" for it: the container is what holds it.');
    }
    const runner = packageRunner(request.command, request.args);
    if (!runner) return undefined;
    // Packages installed in a folder the entry names; in the session's folder only after approval.
    const named = optionValues(spec.args, ["--prefix"]).filter((path) => posix.isAbsolute(path));
    const isInstalled = [...named, ...(spec.approved ? [request.cwd] : [])].some((folder) =>
      world.files.isFile(posix.join(folder, "node_modules/.bin", binaryName(runner.target ?? ""))),
    );
    if (runner.target !== undefined && isInstalled) return undefined;
    if (sandbox.network) return runner;
    if (sandbox.cacheDir !== undefined && fetchWords(request.command, request.args)) return runner;
    throw unavailable(
      `${runner.name} downloads what it runs, and its sandbox has no network`,
      'Install the package and start it by its own command, or grant the network: "sandbox": { "mode": …, "network": true }.',
    );
  }

  /** False when there is nothing of that name. */
  async #bind(path: string, kind: "read" | "write"): Promise<boolean> {
    const found = await this.#find(path);
    if (!found) return false;
    const links = this.#wrapper.system.flatMap((mount) => (mount.kind === "link" ? [mount.path] : []));
    for (const name of new Set([path, found.realPath])) {
      if (isWithinAny(name, links) || (kind === "read" && isInSystem(name))) continue;
      this.#mounts.push({ kind, path: name, source: found.realPath });
    }
    return true;
  }

  async #namesOf(path: string): Promise<readonly string[]> {
    const found = await this.#find(path);
    return [...new Set([posix.resolve(path), found?.realPath ?? posix.resolve(path)])];
  }

  #absolute(given: string): string {
    const { sessionCwd, world } = this.#launch;
    if (given === "~" || given.startsWith("~/")) return posix.join(world.env["HOME"] ?? "/", given.slice(1));
    return posix.resolve(sessionCwd, given);
  }

  #notStarted(): Error {
    const { request, world } = this.#launch;
    const error = Object.assign(new Error(`spawn ${request.command} ENOENT`), { code: "ENOENT" });
    return explainExit({ kind: "not_started", error }, { request, world, stderrTail: "" });
  }
}

/** Of a repository that may be written: what names programs, or leads to other repositories. */
const GIT_PARTS: readonly string[] = "hooks config config.worktree commondir info modules worktrees".split(" ");

/** Results of the first search of a folder, kept while Tenon runs. The oldest are dropped when there are too many. */
const firstFound = new WeakMap<World, Map<string, readonly GitPlace[]>>();

function firstPlaces(world: World, directory: string, places: readonly GitPlace[]): readonly GitPlace[] {
  const known = firstFound.get(world) ?? new Map<string, readonly GitPlace[]>();
  firstFound.set(world, known);
  const first = known.get(directory) ?? places;
  known.set(directory, first);
  const [oldest] = known.keys();
  if (known.size > SANDBOX_LIMITS.git.maxSearched && oldest !== undefined) known.delete(oldest);
  return first;
}

function replaceable(link: string, cure: string): Error {
  const text = `${link} is a link, which a server in the sandbox could replace by a repository of its own`;
  return unavailable(text, `${cure}, or set "sandbox": "read-only" or "off".`);
}

/** The folders around a path, up to the directory and without it. None when the path is the directory itself. */
function foldersBetween(path: string, directory: string): readonly string[] {
  const found: string[] = [];
  let folder = posix.dirname(path);
  for (; folder !== directory && isWithin(folder, directory); folder = posix.dirname(folder)) found.push(folder);
  return found;
}

/** Not whose it is: nothing of a client's servers is written down. */
const KEPT_NOTE = "The home of a server in a sandbox: what it downloaded. It may be deleted at any time.\n";
