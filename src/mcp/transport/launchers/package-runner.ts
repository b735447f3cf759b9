// Programs that download what they run: which command is one, and which package it is about. Pure.

export interface PackageRunner {
  /** As people call it: `npx`, `uv run`. */
  readonly name: string;
  /** What it would run, if that can be told from its words. */
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
const TAKES_PLACE: ReadonlySet<string> = new Set([
  "--directory",
  "--project",
  "--prefix",
  "--script-shell",
  "--dir",
  "--cwd",
]);

/** They speak to a service of the machine that may do everything: in a sandbox they would not reach it, and must not. */
const CONTAINERS: ReadonlySet<string> = new Set(["docker", "podman", "nerdctl"]);

export function isContainerRunner(command: string): boolean {
  return CONTAINERS.has(nameOf(command));
}

export function packageRunner(command: string, args: readonly string[]): PackageRunner | undefined {
  const name = nameOf(command);
  if (!Object.hasOwn(RUNNERS, name)) return undefined;
  const verbs = RUNNERS[name];
  const words = args.filter((word, at) => !word.startsWith("-") && !TAKES_PLACE.has(args[at - 1] ?? ""));
  if (!verbs) return { name, ...target(words[0]) };
  const [verb, first] = words;
  return verb !== undefined && verbs.includes(verb) ? { name: `${name} ${verb}`, ...target(first) } : undefined;
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

function target(word: string | undefined): Pick<PackageRunner, "target"> {
  return word === undefined ? {} : { target: word };
}

/** The command a package gives in most cases: its own name, without scope and version. */
export function binaryName(target: string): string {
  const name = target.replace(/^@[^/]*\//u, "");
  return name.split("@", 1)[0] ?? name;
}

function nameOf(command: string): string {
  return command.slice(command.lastIndexOf("/") + 1);
}
