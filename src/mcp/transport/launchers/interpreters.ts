// Interpreters and build tools: which of their words are files of the working directory that would run.
import type { CommandWords, Concern, GuardContext, GuardedWords, ValueOptions } from "./words.js";
import { concernIf, isAbsolutePath, optionValues, readLine, relativeValues, unchanged, wordSet } from "./words.js";

const NODE_MODULES = ["-r", "--require", "--import", "--loader", "--experimental-loader"];
const NODE_VALUES: ValueOptions = wordSet(
  `${NODE_MODULES.join(" ")} -e --eval -p --print -C --conditions --env-file --env-file-if-exists --title --input-type --run --watch-path --icu-data-dir --inspect-port --openssl-config --disable-warning`,
);
const NODE_ENDINGS = ["", ".js", ".cjs", ".mjs", ".json", "/index.js", "/package.json"];

export function guardNode(words: CommandWords, context: GuardContext): GuardedWords {
  const { target, end, values } = readLine(words.args, NODE_VALUES);
  const code = values("-e", "--eval", "-p", "--print", "-pe");
  const isProject = words.args
    .slice(0, end)
    .some((word) => /^--(?:run\b|experimental-default-config-file)/u.test(word));
  const loads = "the code given to node loads modules, which it looks for in the folder's node_modules";
  return unchanged(words, [
    ...moduleConcerns("node", values(...NODE_MODULES), context),
    ...relativeValues("node", values("--env-file", "--env-file-if-exists", "--openssl-config"), context),
    ...concernIf(isProject, "node would run what the folder's package.json or configuration says"),
    ...concernIf(code.some(loadsFromFolder), loads),
    ...(code.length > 0 ? [] : scriptConcerns("node", target?.word, context, NODE_ENDINGS)),
  ]);
}

/** Modules that node never looks for in a folder. */
const BUILTIN =
  /^(?:node:.*|(?:assert|dns|fs|path|readline|stream|timers|util)(?:\/[a-z/]+)?|buffer|child_process|cluster|crypto|events|http2?|https|module|net|os|perf_hooks|process|querystring|string_decoder|tls|tty|url|v8|vm|worker_threads|zlib)$/u;

/** Whether code loads a module that is not built in or named by its full path, or one whose name is not a constant. */
function loadsFromFolder(code: string): boolean {
  const named = [...code.matchAll(/\b(?:require\s*\(|import\s*\(|import|from)\s*(["'`])([^"'`$]*)\1/gu)].map(
    ([, , name = ""]) => name,
  );
  const loads = code.match(/\b(?:require|import)\b/gu)?.length ?? 0;
  return loads > named.length || named.some((name) => !BUILTIN.test(name) && !/^(?:\/|file:|data:)/u.test(name));
}

/** Modules loaded first: node looks for anything but a full path in the working directory. */
function moduleConcerns(
  name: string,
  modules: readonly string[],
  { isWindows }: Pick<GuardContext, "isWindows">,
): readonly Concern[] {
  const found = modules.filter((one) => !isAbsolutePath(one, isWindows) && !/^(?:node|file|data|https?):/u.test(one));
  return found.map((one) => ({ reason: `${name} would load the module ${JSON.stringify(one)} from the folder` }));
}

/** Options in one text, as `NODE_OPTIONS` has them. */
export function nodeOptionConcerns(
  name: string,
  options: string,
  context: Pick<GuardContext, "isWindows">,
): readonly Concern[] {
  const words = options.replaceAll(/["']/gu, "").split(/\s+/u);
  return moduleConcerns(name, optionValues(words, [...NODE_MODULES, "--preload"]), context);
}

/** `tsx`: maps imports by the `tsconfig.json` of the working directory. */
export function guardTsx(words: CommandWords, context: GuardContext): GuardedWords {
  const takesValue: ValueOptions = new Set([...NODE_VALUES, "--tsconfig"]);
  const first = readLine(words.args, takesValue);
  const isWatch = first.target?.word === "watch";
  const { target, values } = isWatch ? readLine(words.args, takesValue, (first.target?.at ?? 0) + 1) : first;
  const own = scriptConcerns("tsx", target?.word, context, [...NODE_ENDINGS, ".ts", ".mts"]);
  const concerns = [
    ...moduleConcerns("tsx", values(...NODE_MODULES), context),
    ...relativeValues("tsx", values("--tsconfig", "--env-file"), context),
    ...withConfiguration("tsx", own),
  ];
  return { ...unchanged(words, concerns), env: own.length > 0 ? {} : { TSX_TSCONFIG_PATH: context.paths.tsconfig } };
}

const PYTHON_ENDINGS = ["", "/__main__.py"];

export const PYTHON_NAME: RegExp = /^(?:python|pypy|graalpy)[\d.]*[a-z]{0,2}(?:-dbg|-intel64)?$|^py$/u;

/** `-P` (3.11) keeps the working directory off the import path; older versions refuse the option, so nothing runs. */
export function guardPython(words: CommandWords, context: GuardContext): GuardedWords {
  const { args } = words;
  const start = /^-(?:V:|\d)/u.test(args[0] ?? "") ? 1 : 0; // `py -3.12 -m …`: the version comes first
  let isSafe = false;
  for (let at = start; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--") return unchanged(words, scriptConcerns("python", args[at + 1], context, PYTHON_ENDINGS));
    if (!word.startsWith("-") || word === "-")
      return unchanged(words, scriptConcerns("python", word, context, PYTHON_ENDINGS));
    if (word === "--check-hash-based-pycs") at += 1;
    if (word.startsWith("--")) continue;
    // The letters up to one that takes the rest of the word, or the next word, as its value.
    const [, letters = "", valued = "", rest = ""] = /^-([^mcWXQ]*)([mcWXQ]?)(.*)$/su.exec(word) ?? [];
    isSafe ||= /[IP]/u.test(letters);
    if (valued === "m" || valued === "c") {
      if (isSafe) return unchanged(words);
      const safe = [...args.slice(0, start), "-P", ...args.slice(start)];
      return { ...words, args: safe, env: {}, concerns: [], python: "program" };
    }
    if (valued !== "" && rest === "") at += 1;
  }
  return unchanged(words);
}

const BUN_VALUES: ValueOptions = wordSet(
  "-c --config --cwd --env-file -r --preload --require --import --port --tsconfig-override -F --filter -d --define -l --loader",
);

/** `bun run`, `bun file`: reads `bunfig.toml` (which can preload code) and `.env` of the working directory. */
export function guardBun(words: CommandWords, context: GuardContext): GuardedWords {
  const first = readLine(words.args, BUN_VALUES);
  const isRun = first.target?.word === "run";
  const { target, values } = isRun ? readLine(words.args, BUN_VALUES, (first.target?.at ?? 0) + 1) : first;
  const folders = values("--cwd");
  if (folders.length > 0) return unchanged(words, relativeValues("bun", folders, context));
  const isPath = target !== undefined && isAbsolutePath(target.word, context.isWindows);
  const own = [
    ...(isRun && target && !isPath ? [scriptOrFile("bun", target.word, context)] : []),
    ...(isRun || isPath ? [] : scriptConcerns("bun", target?.word, context, [...NODE_ENDINGS, ".ts", ".tsx"])),
  ];
  const concerns = [
    ...moduleConcerns("bun", values("-r", "--preload", "--require", "--import"), context),
    ...relativeValues("bun", values("-c", "--config", "--env-file", "--tsconfig-override"), context),
    ...withConfiguration("bun", own),
  ];
  if (own.length > 0) return unchanged(words, concerns);
  const guards = [
    ...(values("-c", "--config").length > 0 ? [] : [`--config=${context.paths.bunfig}`]),
    ...(values("--env-file").length > 0 ? [] : [`--env-file=${context.paths.emptyEnv}`]),
  ];
  return { ...words, args: [...guards, ...words.args], env: {}, concerns };
}

const DENO_VALUES: ValueOptions = wordSet(
  "-c --config --import-map -L --log-level --seed --cert --location --preload --lock --port --host",
);

/** `deno run`: for a file deno reads the configuration beside the file, for anything else that of the working directory. */
export function guardDeno(words: CommandWords, context: GuardContext): GuardedWords {
  const { args } = words;
  const first = readLine(args, DENO_VALUES);
  const verb = first.target?.word ?? "";
  if (verb === "task") return unchanged(words, [{ reason: "deno would run a task of the folder's deno.json" }]);
  const at = /^(?:run|serve|x|test|eval|repl)$/u.test(verb) ? (first.target?.at ?? 0) + 1 : 0;
  const { target, values } = at > 0 ? readLine(args, DENO_VALUES, at) : first;
  const files = values("-c", "--config", "--import-map", "--preload", "--lock", "--env-file", "--env");
  const own = scriptConcerns("deno", target?.word, context, ["", ".ts", ".js"]);
  const concerns = [...relativeValues("deno", files, context), ...withConfiguration("deno", own)];
  if (own.length > 0 || (target && isAbsolutePath(target.word, context.isWindows))) return unchanged(words, concerns);
  const guards = [
    ...(values("-c", "--config").length > 0 ? [] : ["--no-config"]),
    ...(args.some((word) => word.startsWith("--lock")) ? [] : ["--no-lock"]),
  ];
  return { ...words, args: args.toSpliced(at, 0, ...guards), env: { DENO_NO_PACKAGE_JSON: "1" }, concerns };
}

/** Interpreters whose first word is the file they run, with their options that take a value. */
export const SCRIPT_RUNNERS: Readonly<Record<string, string>> = {
  "ts-node": "-P --project -r --require -e --eval",
  "vite-node": "-r --root -c --config",
  jiti: "",
  ruby: "-I -r -e -C -W",
  perl: "-I -e -E -M",
  php: "-c -d -r -f",
  lua: "-e -l",
  Rscript: "-e",
  julia: "-e -J --project",
  elixir: "-r -e",
  osascript: "-l -e",
  pwsh: "-ExecutionPolicy -WorkingDirectory",
  powershell: "-ExecutionPolicy",
  java: "-cp -classpath --class-path -p --module-path",
};

/** Files a program runs are named by a word of its own: `mcp run server.py`. */
export const VERB_RUNNERS: Readonly<Record<string, readonly string[]>> = {
  mcp: ["run", "dev"],
  fastmcp: ["run", "dev"],
};

/** Programs that run what a file of the working directory says; a full path for one of these options says another one. */
export const PROJECT_RUNNERS: Readonly<Record<string, string>> = {
  make: "-C --directory",
  gmake: "-C --directory",
  just: "-f --justfile -d --working-directory",
  task: "-d --dir -t --taskfile",
  rake: "-f --rakefile",
  gradle: "-p --project-dir",
  mvn: "-f --file",
  poetry: "-C --directory -P --project",
  pdm: "-p --project",
  mise: "-C --cd",
  bundle: "--gemfile",
  composer: "-d --working-dir",
  "docker-compose": "-f --file --project-directory",
  turbo: "--cwd",
  ...Object.fromEntries(["cargo", "hatch", "pipenv", "rye", "asdf", "nx"].map((name) => [name, ""])),
};

/** A script of the folder runs with the folder's configuration, which it needs: the question says so. */
function withConfiguration(name: string, own: readonly Concern[]): readonly Concern[] {
  return own.length === 0 ? [] : [...own, { reason: `${name} would read the folder's configuration for it` }];
}

/** The file in the script position, if the working directory has it. Other words are data and never matter. */
export function scriptConcerns(
  name: string,
  script: string | undefined,
  { isWindows, exists }: GuardContext,
  endings: readonly string[],
): readonly Concern[] {
  if (script === undefined || script === "-" || isAbsolutePath(script, isWindows)) return [];
  if (/^[a-z][a-z0-9+.-]+:/iu.test(script)) return [];
  const found = endings.map((ending) => script + ending).find((path) => exists(path));
  return found === undefined
    ? []
    : [{ reason: `${name} would run the folder's ${JSON.stringify(script)}`, file: found }];
}

function scriptOrFile(name: string, script: string, { exists }: GuardContext): Concern {
  const reason = `${name} would run ${JSON.stringify(script)} of the folder: a file, or a script of its package.json`;
  return exists(script) ? { reason, file: script } : { reason };
}
