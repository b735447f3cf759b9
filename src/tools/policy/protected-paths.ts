// Which files are protected: those that git, a shell, an editor, a build server or Tenon executes or obeys. Pure, by path alone.

/** A path that is asked about before it is written. */
export interface ProtectedFile {
  /** As it was found, for people. */
  readonly path: string;
  /** Who executes or obeys it, as the end of a sentence. */
  readonly why: string;
  /** Tenon's own configuration, state or trust: asked about in every mode, `bypass` included. */
  readonly isOwn: boolean;
}

/** A folder of Tenon's own. `files`: only what lies directly in it, since projects may lie below. */
export interface OwnPlace {
  readonly path: string;
  readonly scope: "tree" | "files";
}

export interface ProtectedPlaces {
  readonly home?: string | undefined;
  /** Where programs keep their configuration, if not in `.config` of the home folder. */
  readonly configHome?: string | undefined;
  readonly own: readonly OwnPlace[];
}

const GIT = "git runs or obeys what is in it";
const EDITOR = "an editor or an agent runs or obeys it";
const HOOKS = "git runs the hooks in it";
const CI = "a build server runs it";
const SHELL = "a shell runs or obeys it";
const PACKAGES = "a package manager obeys it";
const SYSTEM = "the system runs or obeys it";
const INSTRUCTIONS = "Tenon gives it to the model as instructions";
const PROJECT = "Tenon obeys it";
const OWN = "it belongs to Tenon's own configuration, state or trust";

/** Folders by their name, at any depth. A name with a slash is a folder in a folder. */
const FOLDERS: readonly (readonly [why: string, names: string])[] = [
  [GIT, ".git"],
  [HOOKS, ".husky .githooks .lefthook"],
  [EDITOR, ".vscode .idea .zed .cursor .claude .windsurf .gemini .codex .fleet .vs .devcontainer .vim .emacs.d .helix"],
  [CI, ".github/workflows .github/actions .gitea/workflows .forgejo/workflows .circleci .ci .buildkite"],
  [CI, ".woodpecker .semaphore .teamcity .gitlab/ci"],
  [SHELL, ".local/bin .bashrc.d .zshrc.d .oh-my-zsh .direnv .mise"],
  [SYSTEM, ".ssh .gnupg library/launchagents library/launchdaemons programs/startup .local/share/systemd"],
  [PROJECT, ".tenon"],
];

/** Files by their name, at any depth. A name with a slash is a file in a folder. */
const FILES: readonly (readonly [why: string, names: string])[] = [
  // `HEAD` makes a folder a repository together with `objects` and `refs`, and git obeys the configuration in it.
  [GIT, ".git .gitmodules .gitattributes .gitconfig head"],
  [HOOKS, ".pre-commit-config.yaml .pre-commit-config.yml lefthook.yml lefthook.yaml .lefthook.yml .overcommit.yml"],
  [HOOKS, "lefthook-local.yml lefthook-local.yaml .lefthook-local.yml"],
  [HOOKS, ".huskyrc .huskyrc.js .huskyrc.json"],
  [EDITOR, ".vimrc .nvimrc .exrc .nvim.lua .gvimrc .emacs .dir-locals.el .dir-locals-2.el .ideavimrc .claude.json"],
  [EDITOR, ".devcontainer.json"],
  [CI, ".gitlab-ci.yml .gitlab-ci.yaml jenkinsfile azure-pipelines.yml azure-pipelines.yaml .travis.yml"],
  [CI, "bitbucket-pipelines.yml .drone.yml .cirrus.yml appveyor.yml .appveyor.yml cloudbuild.yaml cloudbuild.yml"],
  [CI, "buildspec.yml .woodpecker.yml .build.yml .drone.star"],
  [SHELL, ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .login .logout .kshrc .mkshrc"],
  [SHELL, ".zshrc .zshenv .zprofile .zlogin .zlogout .cshrc .tcshrc .inputrc config.fish .envrc .direnvrc"],
  [SHELL, ".xprofile .xinitrc .xsession .xsessionrc .pam_environment .tmux.conf .screenrc profile.ps1"],
  [SHELL, "microsoft.powershell_profile.ps1 .mise.toml mise.toml .mise.local.toml mise.local.toml .tool-versions"],
  [SHELL, ".bash_completion .cargo/env"],
  [PACKAGES, ".cargo/config .cargo/config.toml .gradle/init.gradle"],
  [PACKAGES, ".npmrc .yarnrc .yarnrc.yml .yarnrc.yaml .pnpmrc .pnpmfile.cjs pnpmfile.cjs .pypirc .curlrc .wgetrc"],
  [SYSTEM, ".netrc crontab .kube/config .aws/config .docker/config.json"],
  [PROJECT, ".mcp.json"],
  [INSTRUCTIONS, "agents.md"],
];

const EXTENSIONS: readonly (readonly [why: string, end: string])[] = [[EDITOR, ".code-workspace"]];

/** What lies in the folder of programs' configuration, `.config` or another. */
const CONFIG_FOLDERS: readonly (readonly [why: string, names: string])[] = [
  [GIT, "git"],
  [SHELL, "fish mise direnv powershell environment.d zsh nushell tmux"],
  [EDITOR, "nvim zed code cursor vscodium emacs helix"],
  [SYSTEM, "systemd autostart"],
  [PACKAGES, "pip npm yarn pnpm"],
];

const SYSTEM_ROOTS = ["etc", "private/etc", "var/spool/cron", "private/var/at", "proc", "sys"];

const FOLDER_NAMES = byName(FOLDERS);
const FILE_NAMES = byName(FILES);
const CONFIG_NAMES = byName(CONFIG_FOLDERS);
const SHORT_NAMES = shortNames([...FOLDER_NAMES, ...FILE_NAMES]);

/**
 * What protects an absolute path, by its words: compared without case, invisible characters, trailing dots and blanks,
 * NTFS streams, and also by the short names of Windows (`git~1`). Links are for `protection.ts`.
 */
export function protectedPath(path: string, places: ProtectedPlaces): ProtectedFile | undefined {
  const steps = stepsOf(path);
  if (places.own.some((own) => isOwn(steps, own))) return { path, why: OWN, isOwn: true };
  const why = byAnyStep(steps) ?? byLastStep(steps) ?? byPlace(steps, places);
  return why === undefined ? undefined : { path, why, isOwn: false };
}

function byAnyStep(steps: readonly string[]): string | undefined {
  for (const [index, step] of steps.entries()) {
    const before = steps[index - 1];
    const why =
      FOLDER_NAMES.get(step) ??
      (before === undefined ? undefined : FOLDER_NAMES.get(`${before}/${step}`)) ??
      (before === ".config" ? CONFIG_NAMES.get(step) : undefined) ??
      shortNameOf(step);
    if (why !== undefined) return why;
  }
  return undefined;
}

function byLastStep(steps: readonly string[]): string | undefined {
  const last = steps.at(-1) ?? "";
  const before = steps.at(-2);
  const inFolder = before === undefined ? undefined : FILE_NAMES.get(`${before}/${last}`);
  return FILE_NAMES.get(last) ?? inFolder ?? EXTENSIONS.find(([, end]) => last.endsWith(end))?.[0];
}

function byPlace(steps: readonly string[], { home, configHome }: ProtectedPlaces): string | undefined {
  const inConfig = configHome === undefined ? undefined : stepBelow(steps, stepsOf(configHome));
  const ofConfig = inConfig === undefined ? undefined : CONFIG_NAMES.get(inConfig);
  if (ofConfig !== undefined) return ofConfig;
  if (home !== undefined && stepBelow(steps, stepsOf(home)) === "bin") return SHELL;
  const joined = `${steps.join("/")}/`;
  return SYSTEM_ROOTS.some((root) => joined.startsWith(`${root}/`)) ? SYSTEM : undefined;
}

function isOwn(steps: readonly string[], { path, scope }: OwnPlace): boolean {
  const folder = stepsOf(path);
  const isBelow = folder.length > 0 && folder.every((step, index) => steps[index] === step);
  return isBelow && (scope === "tree" || steps.length <= folder.length + 1);
}

/** The first step of a path inside a folder. */
function stepBelow(steps: readonly string[], folder: readonly string[]): string | undefined {
  return folder.every((step, index) => steps[index] === step) ? steps[folder.length] : undefined;
}

/** Backslashes separate too: a tool for Windows, or one that is lenient, reads them so. */
function stepsOf(path: string): string[] {
  return path
    .split(/[/\\]/u)
    .map(foldStep)
    .filter((step) => step !== "");
}

/** Characters that some file systems leave out of names. */
const IGNORED = /\p{Default_Ignorable_Code_Point}/gu;
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/u;

/** One name as the most lenient file system compares it. */
function foldStep(step: string): string {
  const isPlain = /^[a-z0-9_-][a-z0-9._-]*[a-z0-9_-]$/u.test(step);
  if (isPlain) return step;
  const visible = PRINTABLE_ASCII.test(step) ? step : step.normalize("NFKC").replaceAll(IGNORED, "");
  const folded = visible.toLowerCase();
  const stream = folded.indexOf(":");
  const name = stream > 0 ? folded.slice(0, stream) : folded;
  if (name === "." || name === "..") return name;
  let end = name.length;
  while (end > 0 && (name[end - 1] === "." || name[end - 1] === " ")) end -= 1;
  return name.slice(0, end);
}

function shortNameOf(step: string): string | undefined {
  const match = /^([^~]{1,8})~[0-9]{1,6}(?:\.[^.]{0,3})?$/u.exec(step);
  return match?.[1] === undefined ? undefined : SHORT_NAMES.get(match[1]);
}

function byName(table: readonly (readonly [why: string, names: string])[]): Map<string, string> {
  return new Map(table.flatMap(([why, names]) => names.split(" ").map((name): [string, string] => [name, why])));
}

/** The first six characters that Windows makes a short name from: without dots, and without the extension. */
function shortNames(names: Iterable<readonly [string, string]>): Map<string, string> {
  const short = new Map<string, string>();
  for (const [name, why] of names) {
    const bare = name.replace(/^\.+/u, "");
    const dot = bare.lastIndexOf(".");
    const base = (dot > 0 ? bare.slice(0, dot) : bare).replaceAll(/[. ]/gu, "").slice(0, 6);
    if (name.startsWith(".") && !name.includes("/") && base.length > 1) short.set(base, why);
  }
  return short;
}
