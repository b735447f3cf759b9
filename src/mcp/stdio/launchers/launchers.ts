// From the words of a launch to words that nothing in the working directory can change, or to what must be asked first.
import { type Concern, type GuardContext, type GuardedWords, unchanged } from "./guard.js";
import {
  guardBun,
  guardDeno,
  guardNode,
  guardPython,
  guardTsx,
  moduleConcerns,
  PROJECT_RUNNERS,
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
  relativeValues,
} from "./package-runners.js";
import {
  type CommandWords,
  firstWord,
  isAbsolutePath,
  optionValues,
  plainShellWords,
  programName,
  shellText,
  type ValueOptions,
} from "./words.js";

const NONE: ValueOptions = new Set();
/** Wrappers and shells inside each other; real ones stop at two. */
const MAX_DEPTH = 5;

export function guardWords(words: CommandWords, context: GuardContext, depth = 0): GuardedWords {
  const isRelative = /[\\/]/u.test(words.command) && !isAbsolutePath(words.command, context.isWindows);
  const own = isRelative ? scriptConcerns("the server's command", words.command, context, [""]) : [];
  const guarded = depth > MAX_DEPTH ? unchanged(words, [TOO_DEEP]) : byName(words, context, depth);
  return { ...guarded, concerns: [...own, ...guarded.concerns] };
}

const TOO_DEEP: Concern = { reason: "its command line starts too many programs through each other to tell what runs" };

function byName(words: CommandWords, context: GuardContext, depth: number): GuardedWords {
  const name = programName(words.command, context.isWindows);
  const nested = (inner: CommandWords) => guardWords(inner, context, depth + 1);
  const rule = { words, context, nested };
  if (/^(?:python|pypy)[\d.]*$|^py$|^pythonw$/u.test(name)) return guardPython(words, context);
  if (Object.hasOwn(WRAPPERS, name)) return guardWrapper(WRAPPERS[name] ?? "", words, nested);
  if (/^(?:sh|bash|zsh|dash|ksh|ash|fish)$/u.test(name)) return guardShell(name, words, context, nested);
  switch (name) {
    case "npx":
      return guardNpx(rule, 0);
    case "pnpx":
    case "pnx":
      return guardPnpm(rule, 0);
    case "bunx":
      return guardBunx(rule, 0);
    case "uvx":
      return guardUvx(rule, 0);
    case "node":
    case "nodejs":
      return guardNode(words, context);
    case "tsx":
      return guardTsx(words, context);
    case "deno":
    case "dx":
      return guardDeno(words, context);
    case "cmd":
      return guardCmd(words, nested);
    case "npm":
    case "pnpm":
    case "yarn":
    case "bun":
    case "uv":
    case "pipx":
      return guardManager(name, rule);
    case "go":
    case "docker":
    case "dotnet":
      return unchanged(words, verbConcerns(name, words));
    default:
      return guardOther(name, words, context);
  }
}

type Rule = Parameters<typeof guardNpx>[0];

const MANAGER_VALUES: ValueOptions = new Set(
  "--prefix -C --dir --cwd --directory --project --config-file --cache-dir --filter -F --loglevel -w --workspace".split(
    " ",
  ),
);
const FOLDER_OPTIONS = ["--prefix", "-C", "--dir", "--cwd", "--directory", "--project"];

/** Package managers: what they do depends on the word after their own options. */
function guardManager(name: string, rule: Rule): GuardedWords {
  const { words, context } = rule;
  const verb = firstWord(words.args, MANAGER_VALUES);
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
      const run = firstWord(words.args, MANAGER_VALUES, from);
      return run?.word === "run" ? guardUvx(rule, run.at + 1) : unchanged(words);
    }
    case "pipx run":
      return guardPipx(rule, from);
    default:
      if (name === "bun") return guardBun(words, context);
      return name === "uv" || name === "pipx" ? unchanged(words) : unchanged(words, scriptsOf(name, words, context));
  }
}

/** `npm run`, `pnpm start`, `yarn server`: scripts of a `package.json`, of the working directory unless a full path is given. */
function scriptsOf(name: string, { args }: CommandWords, context: GuardContext): readonly Concern[] {
  if (optionValues(args, FOLDER_OPTIONS).some((path) => isAbsolutePath(path, context.isWindows))) return [];
  return [{ reason: `${name} would run a script of the folder's package.json` }];
}

function verbConcerns(name: string, { args }: CommandWords): readonly Concern[] {
  const verb = firstWord(args, NONE);
  const target = verb && firstWord(args, new Set(["-C"]), verb.at + 1)?.word;
  const isOwn =
    (name === "go" && verb?.word === "run" && !/@[\w.-]+$/u.test(target ?? "")) ||
    (name === "docker" && verb?.word === "compose") ||
    (name === "dotnet" && verb?.word === "run");
  return isOwn ? [{ reason: `${name} ${verb?.word} would run what the folder's files say` }] : [];
}

function guardOther(name: string, words: CommandWords, context: GuardContext): GuardedWords {
  const { args } = words;
  if (Object.hasOwn(SCRIPT_RUNNERS, name)) {
    const values = new Set((SCRIPT_RUNNERS[name] ?? "").split(" ").filter((word) => word !== ""));
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
    const file = isRun ? firstWord(args, new Set(["-t", "--transport", "--with"]), verb.at + 1)?.word : undefined;
    return unchanged(words, scriptConcerns(name, file?.replace(/:[A-Za-z_]\w*$/u, ""), context, [""]));
  }
  if (!Object.hasOwn(PROJECT_RUNNERS, name)) return unchanged(words);
  const isElsewhere = optionValues(args, PROJECT_RUNNERS[name] ?? []).some((path) =>
    isAbsolutePath(path, context.isWindows),
  );
  return unchanged(words, isElsewhere ? [] : [{ reason: `${name} would run what the folder's files say` }]);
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
  sudo: "-u -g -C",
  doas: "-u",
  caffeinate: "-t -w",
};

function guardWrapper(
  options: string,
  words: CommandWords,
  nested: (words: CommandWords) => GuardedWords,
): GuardedWords {
  const { args } = words;
  const values = new Set(options.split(" "));
  const isTimeout = options.startsWith("-s");
  let at = firstWord(args, values)?.at ?? args.length;
  if (isTimeout) at += 1; // its first word is the time
  while (/^[A-Za-z_]\w*=/u.test(args[at] ?? "")) at += 1;
  const moved = optionValues(args, ["-C", "--chdir", "-S", "--split-string"], at);
  const concerns = moved
    .filter((value) => !value.startsWith("/"))
    .map((value) => ({
      reason: `${words.command} would be given ${JSON.stringify(value)}, which depends on the folder`,
    }));
  const command = args[at];
  if (command === undefined || moved.length > 0) return unchanged(words, concerns);
  const inner = nested({ command, args: args.slice(at + 1) });
  return { ...inner, command: words.command, args: [...args.slice(0, at), inner.command, ...inner.args] };
}

/** `cmd /c npx …`. */
function guardCmd(words: CommandWords, nested: (words: CommandWords) => GuardedWords): GuardedWords {
  const { args } = words;
  const at = args.findIndex((word) => /^\/[ck]$/iu.test(word)) + 1;
  const command = at === 0 ? undefined : args[at];
  if (command === undefined) return unchanged(words);
  if (/[\s&|<>^%]/u.test(command) && args.length === at + 1) {
    return unchanged(words, [
      { reason: `cmd would run ${JSON.stringify(command)}, in which names may be the folder's` },
    ]);
  }
  const inner = nested({ command, args: args.slice(at + 1) });
  return { ...inner, command: words.command, args: [...args.slice(0, at), inner.command, ...inner.args] };
}

/** A shell: a script by its path, or text. Text that is one plain command is guarded as that command. */
function guardShell(
  name: string,
  words: CommandWords,
  context: GuardContext,
  nested: (words: CommandWords) => GuardedWords,
): GuardedWords {
  const { args } = words;
  const at = args.findIndex((word) => /^-[A-Za-z]*c$/u.test(word) || word === "--command");
  const script = firstWord(args, new Set(["-o", "+o", "-O", "--rcfile", "--init-file"]));
  if (at < 0 || (script && script.at < at)) return unchanged(words, scriptConcerns(name, script?.word, context, [""]));
  const text = args[at + 1] ?? "";
  if (/^\s*cd\s+(?:'\/[^'$`]*'|"\/[^"$`]*"|\/[^\s'"$`;&|]*)\s*&&/u.test(text)) return unchanged(words); // runs elsewhere
  const passed = args[at + 2];
  if (passed !== undefined && /^\s*(?:exec\s+)?"\$0"\s+"\$@"\s*(?:;\s*true\s*)?$/u.test(text)) {
    const given = nested({ command: passed, args: args.slice(at + 3) });
    return { ...given, command: words.command, args: [...args.slice(0, at + 2), given.command, ...given.args] };
  }
  const plain = plainShellWords(text);
  const start = plain?.findIndex((word) => !/^[A-Za-z_]\w*=/u.test(word) && word !== "exec") ?? -1;
  const command = plain?.[start];
  if (!plain || command === undefined || /^(?:\.|source|eval|builtin|command)$/u.test(command)) {
    return unchanged(words, [
      { reason: `${name} would run ${JSON.stringify(text)}, in which names may be the folder's` },
    ]);
  }
  const given = { command, args: plain.slice(start + 1) };
  const inner = nested(given);
  const isSame = inner.command === given.command && inner.args.join("\0") === given.args.join("\0");
  const safe = isSame ? text : shellText([...plain.slice(0, start), inner.command, ...inner.args]);
  return { ...inner, command: words.command, args: [...args.slice(0, at + 1), safe, ...args.slice(at + 2)] };
}

/** Variables of the entry through which the working directory would load code. */
export function environmentConcerns(
  env: Readonly<Record<string, string>>,
  { isWindows }: Pick<GuardContext, "isWindows">,
): readonly Concern[] {
  return Object.entries(env).flatMap(([name, value]): readonly Concern[] => {
    if (/^(?:NODE_OPTIONS|BUN_OPTIONS)$/u.test(name)) {
      const modules = optionValues(value.split(/\s+/u), ["-r", "--require", "--import", "--loader", "--preload"]);
      return moduleConcerns(name, modules, { isWindows });
    }
    const isList = /^(?:PYTHONPATH|NODE_PATH|CLASSPATH|RUBYLIB|PERL5LIB)$/u.test(name);
    const isFile = /^(?:BASH_ENV|ENV|PYTHONSTARTUP|LD_PRELOAD|LD_LIBRARY_PATH|DYLD_INSERT_LIBRARIES)$/u.test(name);
    if (!isList && !isFile) return [];
    const parts = value === "" ? [] : value.split(isWindows ? ";" : /:/u);
    const isRelative = parts.some((part) => !isAbsolutePath(part, isWindows));
    return isRelative ? [{ reason: `its variable ${name} names files of the folder (${JSON.stringify(value)})` }] : [];
  });
}
