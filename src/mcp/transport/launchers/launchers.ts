// Rewrites a command line so that nothing in the working directory can change what it runs, or gives the reasons to ask.
import { posix } from "node:path";
import {
  guardBun,
  guardDeno,
  guardNode,
  guardPython,
  guardTsx,
  nodeOptionConcerns,
  PROJECT_RUNNERS,
  PYTHON_NAME,
  SCRIPT_RUNNERS,
  scriptConcerns,
  VERB_RUNNERS,
} from "./interpreters.js";
import {
  guardBunx,
  guardNpx,
  guardPipx,
  guardPnpm,
  guardUvRun,
  guardUvx,
  guardYarn,
  type Rule,
  UV_VALUES,
} from "./package-runners.js";
import type { CommandWords, Concern, GuardContext, GuardedWords, ValueOptions } from "./words.js";
import {
  concernIf,
  firstWord,
  isAbsolutePath,
  optionValues,
  plainShellWords,
  programName,
  relativeValues,
  shellText,
  unchanged,
  wordSet,
} from "./words.js";

const NONE: ValueOptions = new Set();
/** Wrappers and shells inside each other; real ones stop at two. */
const MAX_DEPTH = 5;

export function guardWords(words: CommandWords, context: GuardContext, depth = 0): GuardedWords {
  const own = relativeProgram(words, context);
  const guarded = depth > MAX_DEPTH ? unchanged(words, [TOO_DEEP]) : byName(words, context, depth);
  return { ...guarded, concerns: [...own, ...guarded.concerns] };
}

export function relativeProgram({ command }: CommandWords, context: GuardContext): readonly Concern[] {
  const isRelative = /[\\/]/u.test(command) && !isAbsolutePath(command, context.isWindows);
  return isRelative ? scriptConcerns("the server's command", command, context, [""]) : [];
}

const TOO_DEEP: Concern = { reason: "its command line starts too many programs through each other to tell what runs" };

type ByName = (rule: Rule, name: string) => GuardedWords;

const BY_NAME: Readonly<Record<string, ByName>> = {
  npx: (rule) => guardNpx(rule, 0),
  pnpx: (rule) => guardPnpm(rule, 0),
  pnx: (rule) => guardPnpm(rule, 0),
  bunx: (rule) => guardBunx(rule, 0),
  uvx: (rule) => guardUvx(rule, 0),
  node: ({ words, context }) => guardNode(words, context),
  nodejs: ({ words, context }) => guardNode(words, context),
  tsx: ({ words, context }) => guardTsx(words, context),
  deno: ({ words, context }) => guardDeno(words, context),
  dx: ({ words, context }) => guardDeno(words, context),
  cmd: guardCmd,
  ...everyName("npm pnpm yarn bun uv pipx", guardManager),
  ...everyName("go docker dotnet", ({ words }, name) => unchanged(words, verbConcerns(name, words))),
};

function everyName(names: string, guard: ByName): Record<string, ByName> {
  return Object.fromEntries(names.split(" ").map((name) => [name, guard]));
}

function byName(words: CommandWords, context: GuardContext, depth: number): GuardedWords {
  const name = programName(words.command, context.isWindows);
  const rule: Rule = { words, context, nested: (inner) => guardWords(inner, context, depth + 1) };
  if (PYTHON_NAME.test(name)) return guardPython(words, context);
  if (Object.hasOwn(WRAPPERS, name)) return guardWrapper(rule, name);
  if (SHELL_NAME.test(name)) return guardShell(rule, name);
  const guard = Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : undefined;
  return guard ? guard(rule, name) : guardOther(rule, name, depth);
}

const MANAGER_VALUES: ValueOptions = wordSet(
  "--prefix -C --dir --cwd --directory --project --config-file --cache-dir --filter -F --loglevel -w --workspace",
);
const FOLDER_OPTIONS = ["--prefix", "-C", "--dir", "--cwd", "--directory", "--project"];

/** Package managers: what they do depends on the word after their own options. */
function guardManager(rule: Rule, name: string): GuardedWords {
  const { words, context } = rule;
  const values: ValueOptions = name === "uv" ? new Set([...MANAGER_VALUES, ...UV_VALUES]) : MANAGER_VALUES;
  const verb = firstWord(words.args, values);
  const from = (verb?.at ?? 0) + 1;
  switch (`${name} ${verb?.word ?? ""}`) {
    case "npm exec":
    case "npm x":
      return guardNpx(rule, from);
    case "pnpm dlx":
      return guardPnpm(rule, from);
    case "yarn dlx":
      return guardYarn(rule, from);
    case "bun x":
      return guardBunx(rule, from);
    case "uv run":
      return guardUvRun(rule, from);
    case "uv tool": {
      const run = firstWord(words.args, values, from);
      return run?.word === "run" ? guardUvx(rule, run.at + 1) : unchanged(words, unknownVerb(name, run?.word));
    }
    case "pipx run":
      return guardPipx(rule, from);
    default:
      if (name === "bun") return guardBun(words, context);
      if (name === "uv" || name === "pipx") return unchanged(words, unknownVerb(name, verb?.word));
      return unchanged(words, scriptsOf(name, words, context));
  }
}

function unknownVerb(name: string, verb: string | undefined): readonly Concern[] {
  if (verb === undefined || /^(?:help|version|list|dir|cache|self|environment)$/u.test(verb)) return [];
  return [{ reason: `${name} ${verb} may run what the folder's files say` }];
}

/** Words after `--` belong to what is run. */
function ownOptions(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  return end < 0 ? args : args.slice(0, end);
}

/** `npm run`, `pnpm start`, `yarn server`: scripts of a `package.json`, of the working directory unless a full path is given. */
function scriptsOf(name: string, { args }: CommandWords, context: GuardContext): readonly Concern[] {
  if (optionValues(ownOptions(args), FOLDER_OPTIONS).some((path) => isAbsolutePath(path, context.isWindows))) return [];
  return [{ reason: `${name} would run a script of the folder's package.json` }];
}

function verbConcerns(name: string, { args }: CommandWords): readonly Concern[] {
  const verb = firstWord(args, NONE);
  const target = verb && firstWord(args, wordSet("-C"), verb.at + 1)?.word;
  const isOwn =
    (name === "go" && verb?.word === "run" && !/@[\w.-]+$/u.test(target ?? "")) ||
    (name === "docker" && verb?.word === "compose") ||
    (name === "dotnet" && verb?.word === "run");
  return concernIf(isOwn, `${name} ${verb?.word} would run what the folder's files say`);
}

function guardOther(rule: Rule, name: string, depth: number): GuardedWords {
  const { words, context } = rule;
  const { args } = words;
  if (Object.hasOwn(SCRIPT_RUNNERS, name)) {
    const values = wordSet(SCRIPT_RUNNERS[name] ?? "");
    const modules = optionValues(args, ["-I", "-cp", "-classpath", "--class-path", "-C", "--project", "-P"]);
    const named = [...optionValues(args, ["-jar", "-f", "-File"]), firstWord(args, values)?.word];
    return unchanged(words, [
      ...relativeValues(name, modules, context),
      ...named.flatMap((file) => scriptConcerns(name, file, context, [""])).slice(0, 1),
    ]);
  }
  if (Object.hasOwn(VERB_RUNNERS, name)) {
    const verb = firstWord(args, NONE);
    const isRun = verb !== undefined && VERB_RUNNERS[name]?.includes(verb.word);
    const file = isRun ? firstWord(args, wordSet("-t --transport --with"), verb.at + 1)?.word : undefined;
    return unchanged(words, scriptConcerns(name, file?.replace(/:[A-Za-z_]\w*$/u, ""), context, [""]));
  }
  if (!Object.hasOwn(PROJECT_RUNNERS, name)) return guardUnknown(rule, name, depth);
  const isElsewhere = optionValues(ownOptions(args), [...wordSet(PROJECT_RUNNERS[name] ?? "")]).some((path) =>
    isAbsolutePath(path, context.isWindows),
  );
  return unchanged(words, concernIf(!isElsewhere, `${name} would run what the folder's files say`));
}

const SHELL_NAME = /^(?:sh|bash|zsh|dash|ksh|ash|fish)$/u;
const LAUNCHER_NAME = /^(?:npx|npm|pnpm|pnpx|yarn|bunx?|uvx?|pipx|node|nodejs|deno|tsx)$/u;
/** They start the rest of their words with the variables they were given, after options that are not listed here. */
const STARTERS = wordSet(
  "taskset chrt numactl time gtime xargs xvfb-run chronic unbuffer strace ltrace setarch linux64 gtimeout tini dumb-init op",
);
/** Their programs run on another machine or in a container. */
const REMOTE_STARTERS = wordSet("podman nerdctl container finch kubectl ssh wsl lxc");

/** Launchers among the words of one program that are looked at, and how deep: with more, the person is asked. */
const MAX_CANDIDATES = 4;
const MAX_SCAN_DEPTH = 2;

/** A program that is not known: a later word may be a launcher that it starts. */
function guardUnknown({ words, context, nested }: Rule, name: string, depth: number): GuardedWords {
  if (REMOTE_STARTERS.has(name)) return unchanged(words);
  const { args } = words;
  const isStarter = STARTERS.has(name);
  const files = isStarter ? relativeValues(name, optionValues(ownOptions(args), ["--env-file"]), context) : [];
  const isFirst = (word: string) => isLauncher(/\s/u.test(word) ? (plainShellWords(word)?.[0] ?? "") : word);
  const isLauncher = (word: string) => isLauncherName(word, isStarter, context);
  const candidates = [...args.keys()].filter((at) => isFirst(args[at] ?? ""));
  if (candidates.length > MAX_CANDIDATES || (candidates.length > 0 && depth > MAX_SCAN_DEPTH)) {
    return unchanged(words, [...files, TOO_DEEP]);
  }
  for (const at of candidates) {
    const word = args[at] ?? "";
    const isText = /\s/u.test(word);
    const given = isText ? { command: "sh", args: ["-c", word] } : { command: word, args: args.slice(at + 1) };
    const inner = nested(given);
    const isSame = inner.args.join("\0") === given.args.join("\0") && Object.keys(inner.env).length === 0;
    if (isSame && inner.concerns.length === 0) continue;
    if (isText || !isStarter) {
      const reason = `${name} may start ${JSON.stringify(word)}, which the folder's files could change`;
      return unchanged(words, [...files, ...inner.concerns, { reason }]);
    }
    const safe = [...args.slice(0, at), inner.command, ...inner.args];
    return { ...inner, command: words.command, args: safe, concerns: [...files, ...inner.concerns] };
  }
  return unchanged(words, files);
}

/** After a program that only starts others, a relative path may be the program as well. */
function isLauncherName(word: string, isStarted: boolean, context: GuardContext): boolean {
  const name = programName(word, context.isWindows);
  if (LAUNCHER_NAME.test(name) || PYTHON_NAME.test(name) || SHELL_NAME.test(name)) return true;
  if (!isStarted) return false;
  const tables = [WRAPPERS, SCRIPT_RUNNERS, VERB_RUNNERS, PROJECT_RUNNERS];
  const isRelative = word.includes("/") && !isAbsolutePath(word, context.isWindows) && context.exists(word);
  return isRelative || STARTERS.has(name) || tables.some((table) => Object.hasOwn(table, name));
}

/** Programs that start the rest of their words, with their options that take a value. */
const WRAPPERS: Readonly<Record<string, string>> = {
  env: "-u --unset -C --chdir -S --split-string",
  nice: "-n --adjustment",
  nohup: "",
  setsid: "",
  stdbuf: "-i -o -e",
  ionice: "-c -n",
  timeout: "-s --signal -k --kill-after",
  sudo: "-u -g -C -D -R -T -h -p -r -t -U --user --group --chdir --chroot --host --prompt",
  doas: "-u -C",
  caffeinate: "-t -w",
};

const ASSIGNMENT = /^[A-Za-z_]\w*=/u;

function guardWrapper({ words, context, nested }: Rule, name: string): GuardedWords {
  const { args } = words;
  const values = wordSet(WRAPPERS[name] ?? "");
  // For `env`, a lone `-` is the option `-i`.
  const first = firstWord(args, values);
  let at = first?.word === "-" && name === "env" ? first.at + 1 : (first?.at ?? args.length);
  if (name === "timeout") at += 1; // its first word is the time
  const start = at;
  while (ASSIGNMENT.test(args[at] ?? "")) at += 1;
  const options = args.slice(0, start);
  const moves = name === "sudo" ? ["-D", "--chdir", "-R", "--chroot"] : ["-C", "--chdir"];
  const moved = name === "env" || name === "sudo" ? optionValues(options, moves) : [];
  const isSplit = name === "env" && options.some((word) => /^-[A-Za-z]*S|^--split-string/u.test(word));
  const assigned = args.slice(start, at);
  const concerns = [
    ...relativeValues(words.command, moved, context),
    ...concernIf(isSplit, `env would split a text into the words it runs (${JSON.stringify(args)})`),
    ...assignmentConcerns(assigned, context),
  ];
  const command = args[at];
  if (command === undefined || moved.length > 0 || isSplit) return unchanged(words, concerns);
  const inner = nested({ command, args: args.slice(at + 1) });
  const { added, lost } = carried(name, { options, assigned }, inner);
  return {
    ...inner,
    command: words.command,
    args: [...args.slice(0, at), ...added, inner.command, ...inner.args],
    concerns: [...concerns, ...lost, ...inner.concerns],
  };
}

/** The guard's variables where a wrapper takes variables away: given to `env` as words, asked about for others. */
function carried(
  name: string,
  { options, assigned }: { readonly options: readonly string[]; readonly assigned: readonly string[] },
  inner: GuardedWords,
): { readonly added: readonly string[]; readonly lost: readonly Concern[] } {
  const names = Object.keys(inner.env);
  const isCleared = name === "env" && options.some((word) => /^-(?:$|[^-]*[iu])|^--(?:ignore|unset)/u.test(word));
  const losesAll = name === "sudo" || name === "doas";
  const losesPath = isCleared || losesAll || assigned.some((word) => word.startsWith("PATH="));
  const isLost = (losesAll && names.length > 0) || (losesPath && inner.pathFirst !== undefined);
  const own = new Set(assigned.map((word) => word.split("=")[0]));
  return {
    added: isCleared ? names.filter((one) => !own.has(one)).map((one) => `${one}=${inner.env[one]}`) : [],
    lost: concernIf(isLost, `${name} takes away the variables that keep the folder's files out`),
  };
}

/** Variables set by words. A PATH among them is not looked through again, so it may not name the folder. */
function assignmentConcerns(words: readonly string[], context: GuardContext): readonly Concern[] {
  return words.flatMap((word) => {
    const name = word.slice(0, word.indexOf("="));
    const value = word.slice(name.length + 1);
    const isOfFolder = (part: string) => !isAbsolutePath(part, context.isWindows) || isBelow(context.cwd, part);
    if (name === "PATH" && value.split(context.isWindows ? ";" : ":").some(isOfFolder)) {
      return [{ reason: `its variable PATH names the folder (${JSON.stringify(value)})` }];
    }
    return environmentConcerns({ [name]: value }, context);
  });
}

function isBelow(folder: string, path: string): boolean {
  const way = posix.relative(folder, path);
  return way !== ".." && !way.startsWith("../") && !posix.isAbsolute(way);
}

/** `cmd /c npx …`. */
function guardCmd({ words, nested }: Rule): GuardedWords {
  const { args } = words;
  const at = args.findIndex((word) => /^\/[ck]$/iu.test(word)) + 1;
  const command = at === 0 ? undefined : args[at];
  if (command === undefined) return unchanged(words);
  if (/[\s&|<>^%]/u.test(command) && args.length === at + 1) {
    const reason = `cmd would run ${JSON.stringify(command)}, in which names may be the folder's`;
    return unchanged(words, [{ reason }]);
  }
  const inner = nested({ command, args: args.slice(at + 1) });
  return { ...inner, command: words.command, args: [...args.slice(0, at), inner.command, ...inner.args] };
}

/** A shell: a script by its path, or text. Text that is one plain command is guarded as that command. */
function guardShell(rule: Rule, name: string): GuardedWords {
  const { words, context } = rule;
  const { args } = words;
  const { at, isText, unknown, files } = shellOptions(name, args);
  const read = relativeValues(name, files, context);
  if (unknown !== undefined) {
    const reason = `${name} has the option ${JSON.stringify(unknown)}, with which it cannot be told what runs`;
    return unchanged(words, [...read, { reason }]);
  }
  if (!isText) return unchanged(words, [...read, ...scriptConcerns(name, args[at], context, [""])]);
  const guarded = guardShellText(rule, name, at);
  return { ...guarded, concerns: [...read, ...guarded.concerns] };
}

interface ShellOptions {
  /** Where the script or the text is. */
  readonly at: number;
  readonly isText: boolean;
  readonly unknown?: string;
  /** Files that are read first. */
  readonly files: readonly string[];
}

const SHELL_FLAGS = /^--(?:login|posix|norc|noprofile|restricted|verbose|noediting|no-config|private|interactive)$/u;

function shellOptions(name: string, args: readonly string[]): ShellOptions {
  const files: string[] = [];
  let isText = false;
  let at = 0;
  for (; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--" || word === "-") return { at: at + 1, isText, files };
    if (!/^[-+]./u.test(word)) break;
    if (word === "--command" && name === "fish") return { at: at + 1, isText: true, files };
    if (word === "--rcfile" || word === "--init-file") files.push(args[++at] ?? "");
    else if (word.startsWith("--")) {
      if (!SHELL_FLAGS.test(word)) return { at, isText, unknown: word, files };
    } else {
      // fish takes values in the same word; other shells only flags, of which a last `o` or `O` takes the next word.
      const isKnown = name === "fish" ? /^-[ilNP]*c?$/u : /^-[A-Za-z]*$|^\+[ABD-Zabd-z]*$/u;
      if (!isKnown.test(word) || /[oO]./u.test(word)) return { at, isText, unknown: word, files };
      if (word.startsWith("-") && word.includes("c")) isText = true;
      if (/[oO]$/u.test(word)) at += 1;
    }
  }
  return { at, isText, files };
}

/** Text that is one plain command is guarded as that command. */
function guardShellText({ words, context, nested }: Rule, name: string, at: number): GuardedWords {
  const { args } = words;
  const text = args[at] ?? "";
  const moved = /^\s*cd\s+(?:'(\/[^'$`]*)'|"(\/[^"$`]*)"|(\/[^\s'"$`;&|]*))\s*&&/u.exec(text);
  const folder = moved?.[1] ?? moved?.[2] ?? moved?.[3];
  if (folder !== undefined && !isBelow(context.cwd, folder)) return unchanged(words); // runs elsewhere
  const passed = args[at + 1];
  if (passed !== undefined && /^\s*(?:exec\s+)?"\$0"\s+"\$@"\s*(?:;\s*true\s*)?$/u.test(text)) {
    const given = nested({ command: passed, args: args.slice(at + 2) });
    return { ...given, command: words.command, args: [...args.slice(0, at + 1), given.command, ...given.args] };
  }
  const plain = plainShellWords(text);
  const start = plain?.findIndex((word) => !ASSIGNMENT.test(word) && word !== "exec") ?? -1;
  const command = plain?.[start];
  if (!plain || command === undefined || /^(?:\.|source|eval|builtin|command)$/u.test(command)) {
    const reason = `${name} would run ${JSON.stringify(text)}, in which names may be the folder's`;
    return unchanged(words, [{ reason }]);
  }
  const given = { command, args: plain.slice(start + 1) };
  const inner = nested(given);
  const assigned = plain.slice(0, start).filter((word) => word !== "exec");
  const { lost } = carried(name, { options: [], assigned }, inner);
  const isSame = inner.command === given.command && inner.args.join("\0") === given.args.join("\0");
  const safe = isSame ? text : shellText([...plain.slice(0, start), inner.command, ...inner.args]);
  return {
    ...inner,
    command: words.command,
    args: [...args.slice(0, at), safe, ...args.slice(at + 1)],
    concerns: [...assignmentConcerns(assigned, context), ...lost, ...inner.concerns],
  };
}

/** Variables of the entry through which the working directory would load code. */
export function environmentConcerns(
  env: Readonly<Record<string, string>>,
  { isWindows }: Pick<GuardContext, "isWindows">,
): readonly Concern[] {
  return Object.entries(env).flatMap(([name, value]): readonly Concern[] => {
    if (/^(?:NODE_OPTIONS|BUN_OPTIONS|npm_config_node_options)$/iu.test(name)) {
      return nodeOptionConcerns(name, value, { isWindows });
    }
    const isList = /^(?:PYTHONPATH|NODE_PATH|CLASSPATH|RUBYLIB|PERL5LIB)$/u.test(name);
    const isFile =
      /^(?:BASH_ENV|ENV|PYTHONSTARTUP|PYTHONHOME|PYTHONUSERBASE|LD_PRELOAD|LD_LIBRARY_PATH|DYLD_INSERT_LIBRARIES)$|^npm_config_(?:prefix|userconfig|globalconfig|script_shell)$/iu.test(
        name,
      );
    if (!isList && !isFile) return [];
    const parts = value === "" ? [] : value.split(isWindows ? ";" : /:/u);
    const isRelative = parts.some((part) => !isAbsolutePath(part, isWindows));
    return concernIf(isRelative, `its variable ${name} names files of the folder (${JSON.stringify(value)})`);
  });
}
