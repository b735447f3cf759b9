// What a project's files may never do, whoever approves them: reach into the user's own settings, or into how programs are loaded.

/** Keys that only the user's own configuration may hold, with what they are about. */
export const USER_ONLY_KEYS: Readonly<Record<string, string>> = {
  permissions: "what may happen without asking",
  trust: "who is trusted",
  providers: "model credentials and base URLs",
  allowHosts: "which hosts may be reached",
  commands: "which secrets commands get",
  systemPrompt: "what the model is told",
  sandbox: "the least sandbox of a layer",
  import: "which other clients' servers are used",
  serverLimits: "how many servers may run",
};

export function userOnlyMessage(key: string, what: string): string {
  return `a project can never change ${what}: ${JSON.stringify(key)} is read from the user's own configuration only`;
}

interface RefusedNames {
  /** Upper case; one that ends in `*` stands for all names that begin so. */
  readonly names: readonly string[];
  readonly reason: string;
}

/**
 * Variables that turn a harmless command into another one. The command, arguments and values of a project's entry are
 * shown when it is approved, but nobody reads `NODE_OPTIONS=--require=./x` as "runs x". Whoever needs one of these puts
 * it into a script that the entry starts, where it is seen for what it is.
 */
export const REFUSED_VARIABLES: readonly RefusedNames[] = [
  { names: ["LD_*", "DYLD_*", "GCONV_PATH", "GLIBC_TUNABLES"], reason: "loads code into every program" },
  { names: ["NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE"], reason: "loads code into Node programs" },
  {
    names: ["NODE_TLS_REJECT_UNAUTHORIZED", "NODE_EXTRA_CA_CERTS"],
    reason: "turns off the check of who is at the other end",
  },
  {
    names: ["PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PYTHONBREAKPOINT", "PYTHONINSPECT", "PYTHONUSERBASE"],
    reason: "loads code into Python programs",
  },
  { names: ["PERL5OPT", "PERL5LIB", "PERL5DB", "PERLLIB"], reason: "loads code into Perl programs" },
  { names: ["RUBYOPT", "RUBYLIB", "GEM_PATH", "GEM_HOME", "BUNDLE_GEMFILE"], reason: "loads code into Ruby programs" },
  {
    names: ["JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH"],
    reason: "loads code into Java programs",
  },
  {
    names: ["DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS", "CORECLR_*", "COR_*"],
    reason: "loads code into .NET programs",
  },
  {
    names: ["PHPRC", "PHP_INI_SCAN_DIR", "LUA_INIT*", "R_PROFILE*", "ERL_FLAGS", "ERL_AFLAGS"],
    reason: "loads code into an interpreter",
  },
  {
    names: ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "BASH_FUNC_*", "ZDOTDIR", "IFS"],
    reason: "runs code in every shell",
  },
  { names: ["PATH", "PATHEXT", "COMSPEC", "SHELL"], reason: "decides which program a name means" },
  {
    names: ["HOME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "XDG_*", "TENON_*"],
    reason: "moves where programs look for their own configuration",
  },
  {
    names: [
      ["GIT_SSH*", "GIT_EXEC_PATH", "GIT_ASKPASS", "GIT_CONFIG*", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND"],
      ["GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_TEMPLATE_DIR", "SSH_ASKPASS", "SUDO_ASKPASS"],
    ].flat(),
    reason: "decides which programs git and ssh run",
  },
  {
    names: ["EDITOR", "VISUAL", "PAGER", "BROWSER", "LESSOPEN", "LESSCLOSE"],
    reason: "names a program that others run",
  },
  {
    names: [
      ["NPM_CONFIG_*", "YARN_*", "PNPM_*", "BUN_CONFIG_*", "BUN_OPTIONS", "PIP_*", "UV_INDEX*", "UV_DEFAULT_INDEX"],
      ["UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_CONFIG_FILE", "UV_PYTHON*", "CARGO_*", "RUSTC_WRAPPER"],
      ["GOFLAGS", "GOPROXY", "DENO_*"],
    ].flat(),
    reason: "decides where packages come from and what their installation runs",
  },
  {
    names: [
      "HTTP_PROXY",
      "HTTPS_PROXY",
      "ALL_PROXY",
      "SSL_CERT_FILE",
      "SSL_CERT_DIR",
      "REQUESTS_CA_BUNDLE",
      "CURL_CA_BUNDLE",
    ],
    reason: "puts somebody in the middle of every connection",
  },
];

/** Why a project may not set a variable; undefined when it may. Case is ignored, as Windows ignores it. */
export function refusedVariable(name: string): string | undefined {
  const upper = name.toUpperCase();
  const isMatch = (pattern: string) =>
    pattern.endsWith("*") ? upper.startsWith(pattern.slice(0, -1)) : upper === pattern;
  return REFUSED_VARIABLES.find(({ names }) => names.some(isMatch))?.reason;
}
