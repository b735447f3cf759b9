// Programs that download a package and run it: the words and variables that keep them out of the working directory.
import { defined } from "../../../base/json/defined.js";
import { nodeOptionConcerns, PYTHON_NAME } from "./interpreters.js";
import type { CommandWords, Concern, GuardContext, GuardedWords, PositionalWord, ValueOptions } from "./words.js";
import {
  concernIf,
  firstWord,
  isAbsolutePath,
  isAddress,
  optionValues,
  readLine,
  relativeValues,
  unchanged,
  wordSet,
} from "./words.js";

/** Guards the words a runner hands on to a program that is an interpreter itself. */
type Nested = (words: CommandWords) => GuardedWords;

export interface Rule {
  readonly words: CommandWords;
  readonly context: GuardContext;
  readonly nested: Nested;
}

const NPM_VALUES: ValueOptions = wordSet(
  "-p --package -c --call --prefix -C --registry --userconfig --globalconfig --cache -w --workspace --script-shell --loglevel --node-options --tag",
);

/** `npx`, `npm exec`. The flag is needed: npm takes its local prefix from nothing else. */
export function guardNpx({ words, context, nested }: Rule, from: number): GuardedWords {
  const { isWindows, paths } = context;
  const { target, end, values } = readLine(words.args, NPM_VALUES, from);
  const local = localPackages("npx", [...values("-p", "--package"), target?.word ?? ""], context);
  const files = values("--prefix", "-C", "--userconfig", "--globalconfig", "--cache", "--script-shell");
  const inner = nestedIn(target, words.args, nested);
  const concerns = [
    ...relativeValues("npx", files, context),
    ...local,
    ...callConcerns(words.args.slice(0, end), nested),
    ...values("--node-options").flatMap((value) => nodeOptionConcerns("npx", value, context)),
    ...(isWindows ? trapped("npx", ["node_modules/.bin"], context) : []),
    ...inner.concerns,
  ];
  const guards = [
    // A package of the folder is named relative to the prefix.
    ...(values("--prefix", "-C").length > 0 || local.length > 0 ? [] : ["--prefix", paths.empty]),
    ...(isWindows ? [] : ["--script-shell", paths.shell]),
  ];
  return { ...words, args: [...guards, ...inner.args], env: inner.env, concerns };
}

/** `npx -c "text"`: a shell runs the text. */
function callConcerns(args: readonly string[], nested: Nested): readonly Concern[] {
  const unsafe = optionValues(args, ["-c", "--call"]).filter((text) => {
    const inner = nested({ command: "sh", args: ["-c", text] });
    return inner.concerns.length > 0 || inner.args[1] !== text || Object.keys(inner.env).length > 0;
  });
  const hidden = args.filter((word) => /^-[a-z]+c[a-z]*$/iu.test(word));
  return [...unsafe, ...hidden].map((text) => ({
    reason: `a shell would run ${JSON.stringify(text)}, in which names may be the folder's`,
  }));
}

const PNPM_VALUES: ValueOptions = wordSet("--dir -C --package --reporter --filter -F --loglevel --registry");
const NODE_TRAPS = ["node_modules/.bin", ".npmrc", "package.json"];
const PNPM_TRAPS = [...NODE_TRAPS, "pnpm-workspace.yaml", ".pnpmfile.cjs", ".pnpmfile.mjs"];

/** `pnpm dlx`, `pnpx`: pnpm starts the package in the folder it is given, so its node goes back to the server's. */
export function guardPnpm({ words, context, nested }: Rule, from: number): GuardedWords {
  const { target, values } = readLine(words.args, PNPM_VALUES, from);
  const folders = values("--dir", "-C");
  const inner = nestedIn(target, words.args, nested);
  const local = localPackages("pnpm", [...values("--package"), target?.word ?? ""], context);
  const concerns = [...relativeValues("pnpm", folders, context), ...local, ...inner.concerns];
  if (folders.length > 0 || local.length > 0) return unchanged(words, concerns);
  if (context.isWindows) return unchanged(words, [...concerns, ...trapped("pnpm", PNPM_TRAPS, context)]);
  return {
    ...words,
    args: ["--dir", context.paths.empty, ...inner.args],
    env: { ...COREPACK, TENON_SERVER_FOLDER: context.cwd, ...inner.env },
    pathFirst: context.paths.nodeFolder,
    concerns,
  };
}

/** Corepack stands behind `yarn` and `pnpm` on many machines and reads the folder's `packageManager` and `.corepack.env`. */
const COREPACK = { COREPACK_ENABLE_PROJECT_SPEC: "0", COREPACK_ENV_FILE: "0" };

/** `yarn dlx`. The user's own `.yarnrc.yml` has the same name as the folder's, so it is not read either. */
export function guardYarn({ words, context, nested }: Rule, from: number): GuardedWords {
  const { target, values } = readLine(words.args, wordSet("-p --package"), from);
  const packages = [...values("-p", "--package"), target?.word ?? ""];
  const inner = nestedIn(target, words.args, nested);
  return {
    ...words,
    args: inner.args,
    env: { ...COREPACK, YARN_IGNORE_PATH: "1", YARN_RC_FILENAME: context.paths.unusedName, ...inner.env },
    concerns: [...localPackages("yarn", packages, context), ...inner.concerns],
  };
}

const BUNX_TRAPS = [...NODE_TRAPS, "bunfig.toml", ".env", ".env.local", ".env.production", ".env.development"];

/** `bunx`, `bun x`. With `--bun` the package runs in bun itself, which nothing brings back to the server's folder. */
export function guardBunx({ words, context, nested }: Rule, from: number): GuardedWords {
  const { target, end, values } = readLine(words.args, wordSet("-p --package --cwd"), from);
  const folders = values("--cwd");
  const inner = nestedIn(target, words.args, nested);
  const local = localPackages("bunx", [...values("-p", "--package"), target?.word ?? ""], context);
  const concerns = [...relativeValues("bunx", folders, context), ...local, ...inner.concerns];
  if (folders.length > 0 || local.length > 0) return unchanged(words, concerns);
  if (context.isWindows || words.args.slice(0, end).includes("--bun")) {
    return unchanged(words, [...concerns, ...trapped("bunx", BUNX_TRAPS, context)]);
  }
  return {
    ...words,
    args: inner.args.toSpliced(from, 0, "--cwd", context.paths.empty),
    env: { TENON_SERVER_FOLDER: context.cwd, ...inner.env },
    pathFirst: context.paths.nodeFolder,
    concerns,
  };
}

export const UV_VALUES: ValueOptions = wordSet(
  [
    "--from --with -w --with-editable --with-requirements -p --python --index --default-index -i --index-url --extra-index-url",
    "-f --find-links --env-file -c --constraints --overrides -b --build-constraints --cache-dir --config-file --directory --project",
    "--link-mode --keyring-provider --resolution --prerelease --exclude-newer --refresh-package --reinstall-package -P",
    "--upgrade-package --color --python-platform --allow-insecure-host --extra --group --package --no-group --only-group",
  ].join(" "),
);
const UV_PATHS = ["--from", "--with", "-w", "--with-editable", "--python", "-p", "--find-links", "-f"];
const UV_FILES = ["--with-requirements", "--env-file", "--constraints", "-c", "--overrides", "--config-file"];

/** uv reads `uv.toml`, `pyproject.toml` and `.python-version` of the folder, unless it is to read no configuration at all. */
function uvEnv({ uvConfig }: GuardContext): Record<string, string> {
  return uvConfig === undefined ? { UV_NO_CONFIG: "1" } : { UV_CONFIG_FILE: uvConfig };
}

function uvConcerns(args: readonly string[], end: number, context: GuardContext): readonly Concern[] {
  return [
    ...relativeValues("uv", optionValues(args, [...UV_FILES, "--directory", "--project"], end), context),
    ...localPackages("uv", optionValues(args, UV_PATHS, end), context),
    // The user's own configuration can only be kept by naming it, and then uv still reads this file.
    ...(context.uvConfig === undefined ? [] : trapped("uv", [".python-version", ".python-versions"], context)),
  ];
}

/** `uvx`, `uv tool run`. */
export function guardUvx({ words, context, nested }: Rule, from: number): GuardedWords {
  const { target, end, values } = readLine(words.args, UV_VALUES, from);
  const inner = nestedIn(target, words.args, nested);
  const local = localPackages("uvx", [target?.word ?? ""], context);
  const concerns = [...uvConcerns(words.args, end, context), ...local, ...inner.concerns];
  if (values("--directory").length > 0) return unchanged(words, concerns);
  return { ...words, args: inner.args, env: { ...uvEnv(context), ...inner.env }, concerns };
}

/** `uv run`: without a project of its own (`--directory`, `--project`) the folder's project and `.venv` would be used. */
export function guardUvRun({ words, context, nested }: Rule, from: number): GuardedWords {
  const { args } = words;
  const module = args.slice(from).findIndex((word) => word === "-m" || word === "--module");
  const first = firstWord(args, UV_VALUES, from);
  const isModule = module >= 0 && (first === undefined || from + module < first.at);
  const end = isModule ? from + module : (first?.at ?? args.length);
  const paths = uvConcerns(args, end, context);
  if (optionValues(args, ["--directory", "--project"], end).length > 0) {
    const isMoved = optionValues(args, ["--directory"], end).length > 0;
    return unchanged(words, isMoved || !first ? paths : [...paths, ...nestedIn(first, args, nested).concerns]);
  }
  const rest = isModule ? ["python", "-P", "-m", ...args.slice(end + 1)] : args.slice(end);
  const [command = "", ...more] = rest;
  const inner = nested({ command, args: more });
  const isScript = /\.pyw?$/u.test(command);
  const needsProject =
    !isScript && !PYTHON_NAME.test(command) && !isAbsolutePath(command, context.isWindows) && command !== "";
  const hasPackages = optionValues(args, ["--with", "-w", "--with-requirements", "--with-editable"], end).length > 0;
  const name = JSON.stringify(command);
  const fromProject = `uv would take ${name} from the folder's project or virtual environment`;
  const ofFolder = [
    ...(isScript && context.exists(command) ? [{ reason: `uv would run the folder's ${name}`, file: command }] : []),
    ...(needsProject && !hasPackages ? [{ reason: fromProject }] : []),
    ...inner.concerns,
  ];
  if (ofFolder.length > 0) {
    // A program of the folder's project needs that project.
    const project = { reason: "uv would use the folder's project and virtual environment, where it has them" };
    return unchanged(words, [...paths, ...ofFolder, project]);
  }
  const safe = ["--no-project", "--isolated", ...args.slice(from, end), inner.command, ...inner.args];
  const env = { ...uvEnv(context), ...inner.env };
  return { ...words, args: [...args.slice(0, from), ...safe], env, concerns: paths };
}

/** `pipx run`: a file of the name counts before a package, and pip is run as a module in the folder. */
export function guardPipx({ words, context }: Rule, from: number): GuardedWords {
  const options = wordSet("--spec --python --pip-args --index-url -i --with --suffix");
  const { target, end, values } = readLine(words.args, options, from);
  const name = target?.word ?? "";
  const isFile = name !== "" && !isAbsolutePath(name, context.isWindows) && context.exists(name);
  const hasPackages = words.args.slice(0, end).includes("--pypackages");
  const concerns = [
    ...relativeValues("pipx", values("--python"), context),
    ...localPackages("pipx", values("--spec", "--with"), context),
    ...(isFile ? [{ reason: `pipx would run the folder's file ${JSON.stringify(name)}`, file: name }] : []),
    ...concernIf(hasPackages, "pipx would run a program of the folder's __pypackages__"),
  ];
  return { ...words, env: { PYTHONSAFEPATH: "1" }, concerns, python: "shebang" };
}

/** The package may be an interpreter (`npx tsx server.ts`): then its words count as well. */
function nestedIn(
  target: PositionalWord | undefined,
  args: readonly string[],
  nested: Nested,
): Pick<GuardedWords, "args" | "env" | "concerns"> {
  const name = target?.word.replace(/^@[^/]*\//u, "").replace(/(?<=.)@.*$/u, "");
  if (!target || name === undefined || /[\\/.]/u.test(name)) return { args, env: {}, concerns: [] };
  const inner = nested({ command: name, args: args.slice(target.at + 1) });
  return { args: [...args.slice(0, target.at + 1), ...inner.args], env: inner.env, concerns: inner.concerns };
}

/** Packages that are a folder or file of the working directory. */
function localPackages(name: string, packages: readonly string[], context: GuardContext): readonly Concern[] {
  const local = packages.filter((given) => {
    const path = given.replace(/^(?:file|link|portal):/u, "");
    if (isAbsolutePath(path, context.isWindows) || isAddress(given)) return false;
    // npm reads `user/repository` as a place at GitHub, uv reads it as a path.
    return path !== given || /^\.{1,2}(?:[\\/]|$)/u.test(path) || (name === "uv" && /[\\/]/u.test(path));
  });
  return local.map((given) => ({ reason: `${name} would run the package ${JSON.stringify(given)} of the folder` }));
}

function trapped(name: string, traps: readonly string[], { trap }: GuardContext): readonly Concern[] {
  const found = trap(traps);
  return found === undefined ? [] : [{ reason: `${name} would read ${found}, which can decide what it runs` }];
}

export interface PackageRunner {
  /** As people call it: `npx`, `uv run`. */
  readonly name: string;
  /** The package it would run, if its words name one. */
  readonly target?: string;
}

/** Each by its name, with the words that make it run what it may have to download; none when it always does. */
const RUNNERS: Readonly<Record<string, readonly string[] | undefined>> = {
  npx: undefined,
  pnpx: undefined,
  bunx: undefined,
  uvx: undefined,
  npm: ["exec", "x"],
  pnpm: ["dlx", "exec"],
  yarn: ["dlx"],
  bun: ["x"],
  uv: ["run", "tool", "x"],
  pipx: ["run"],
};

/** Options that are followed by a path, often before the word that says what is done. */
const TAKES_PATH: ReadonlySet<string> = wordSet("--directory --project --prefix --script-shell --dir --cwd");

/** They use a service of the machine that may do everything: from a sandbox it must not be reachable. */
const CONTAINERS: ReadonlySet<string> = wordSet("docker podman nerdctl");

export function isContainerRunner(command: string): boolean {
  return CONTAINERS.has(nameOf(command));
}

export function packageRunner(command: string, args: readonly string[]): PackageRunner | undefined {
  const name = nameOf(command);
  if (!Object.hasOwn(RUNNERS, name)) return undefined;
  const verbs = RUNNERS[name];
  const words = args.filter((word, at) => !word.startsWith("-") && !TAKES_PATH.has(args[at - 1] ?? ""));
  const [verb, first] = words;
  if (!verbs) return { name, ...defined({ target: verb }) };
  return verbs.includes(verb ?? "") ? { name: `${name} ${verb}`, ...defined({ target: first }) } : undefined;
}

/**
 * The words that make npm download what the command would run, and run nothing; undefined for those it is not known of,
 * and where the package is a folder or file of this machine, which is not there when it is downloaded.
 */
export function fetchWords(command: string, args: readonly string[]): readonly string[] | undefined {
  const name = nameOf(command);
  const runner = packageRunner(command, args);
  if ((name !== "npx" && name !== "npm") || runner?.target === undefined) return undefined;
  const named = args.flatMap((word, at) => {
    if (word === "-p" || word === "--package") return [args[at + 1] ?? ""];
    return word.startsWith("--package=") ? [word.slice("--package=".length)] : [];
  });
  const packages = named.length > 0 ? named : [runner.target];
  if (!packages.every((one) => /^(?:@[\w.-]+\/)?[\w.-]+(?:@[\w.^~<>=*+-]+)?$/u.test(one) && !one.startsWith(".")))
    return undefined;
  return [...(name === "npm" ? ["exec"] : []), "--yes", ...packages.map((one) => `--package=${one}`), "--call", "true"];
}

/** The command a package gives in most cases: its own name, without scope and version. */
export function binaryName(target: string): string {
  const name = target.replace(/^@[^/]*\//u, "");
  return name.split("@", 1)[0] ?? name;
}

function nameOf(command: string): string {
  return command.slice(command.lastIndexOf("/") + 1);
}
