// Reads one server entry: which kind it is, whether it is well-formed, and what its layer is not allowed to say.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { normaliseKind } from "../../base/server-kind.js";
import { nearest } from "../../base/text/nearest.js";
import type { KeyPath } from "./document.js";
import { isRemoteEntry, REMOTE_TYPES, type ServerEntry } from "./entry.js";
import { type Checked, type Finding, foreignKey, kindOf, without } from "./findings.js";
import type { LayerKind } from "./layer.js";
import type * as schema from "./schema.js";
import { hasReferences, parseTemplate, textsOf } from "./template.js";

/** `schema.ts`, which is loaded when the first file is read. */
export type Schemas = typeof schema;

const MAX_NAME_LENGTH = 128;

/** What is wrong with a server's name; undefined when nothing is. */
export function nameProblem(name: string): string | undefined {
  if (name.trim() === "") return "the name must not be empty";
  if (name.length > MAX_NAME_LENGTH) return `the name must not be longer than ${MAX_NAME_LENGTH} characters`;
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(name)) return "the name must not hold control or invisible characters";
  return name === "__proto__" ? 'the name "__proto__" is not used' : undefined;
}

export function readEntry(written: JsonValue | undefined, layer: LayerKind, schemas: Schemas): Checked<ServerEntry> {
  if (!isJsonObject(written)) return refused([fault([], `expected an object, got ${kindOf(written)}`)]);
  const kind = kindOfEntry(written);
  if (typeof kind === "object") return refused([kind]);
  const allowed = layer === "project" ? forProject(written) : { written, findings: [] };
  const checked: Checked<ServerEntry> =
    kind === "stdio"
      ? schemas.check(schemas.stdioEntry, allowed.written)
      : schemas.check(schemas.remoteEntry, allowed.written);
  const entry = checked.value;
  const findings = [...withoutEcho(checked.findings), ...allowed.findings];
  if (!entry) return refused(findings);
  const faults = [...formFaults(entry), ...(layer === "project" ? projectFaults(entry) : [])];
  return faults.length > 0 ? refused([...findings, ...faults]) : { value: entry, findings };
}

function refused(findings: readonly Finding[]): Checked<ServerEntry> {
  return { value: undefined, findings };
}

function fault(path: KeyPath, message: string, suggestion?: string): Finding {
  return { severity: "error", path, at: "value", message, ...defined({ suggestion }) };
}

function kindOfEntry(entry: JsonObject): "stdio" | "remote" | Finding {
  const typeKey = entry["type"] === undefined ? "transport" : "type";
  const type = entry[typeKey];
  const hasCommand = entry["command"] !== undefined;
  const hasUrl = entry["url"] !== undefined;
  if (hasCommand && hasUrl) return fault([], "expected either a command or a url, got both");
  if (type !== undefined) {
    const known = typeof type === "string" ? normaliseKind(type) : undefined;
    if (known) return known.kind === "stdio" ? "stdio" : "remote";
    const meant = typeof type === "string" ? nearest(type, ["stdio", ...REMOTE_TYPES]) : undefined;
    const got = typeof type === "string" ? JSON.stringify(type) : kindOf(type);
    return fault([typeKey], `${typeKey} must be "stdio", "http" or "sse", got ${got}`, meant);
  }
  if (hasCommand || hasUrl) return hasCommand ? "stdio" : "remote";
  const known = ["command", "url"];
  const meant = Object.keys(entry).map((key) => foreignKey(key, known) ?? nearest(key, known));
  if (meant.includes("command")) return "stdio";
  return meant.includes("url") ? "remote" : fault([], "expected a command, or a url");
}

/** "command is missing" is no news beside "comand: did you mean command?". */
function withoutEcho(findings: readonly Finding[]): readonly Finding[] {
  const slips = findings.filter(({ severity, at }) => severity === "error" && at === "key");
  const meant = new Set(slips.map(({ suggestion }) => suggestion));
  return findings.filter(
    ({ path, at, message }) => at === "key" || !message.endsWith("got nothing") || !meant.has(String(path.at(-1))),
  );
}

const PROJECT_CANNOT: Readonly<Record<string, string>> = {
  account: "choose an account of the user's",
  trustAnnotations: "vouch for what its own server says",
  trustResults: "vouch for what its own server answers",
  idempotent: "say that calls may be repeated",
};

/** What only the user may say of a server is taken out: the rest of the entry works. */
function forProject(written: JsonObject): { readonly written: JsonObject; readonly findings: readonly Finding[] } {
  const tools = isJsonObject(written["tools"]) ? Object.entries(written["tools"]) : [];
  const paths: KeyPath[] = tools.flatMap(([name, tool]): KeyPath[] =>
    isJsonObject(tool) && tool["idempotent"] !== undefined ? [["tools", name, "idempotent"]] : [],
  );
  for (const key of ["account", "trustAnnotations", "trustResults"]) if (written[key] !== undefined) paths.push([key]);
  const findings = paths.map((path): Finding => {
    const key = String(path.at(-1));
    const why = PROJECT_CANNOT[key] ?? "say this";
    return { severity: "warning", path, at: "key", message: `a project cannot ${why}: "${key}" is ignored` };
  });
  return { written: paths.reduce(without, written), findings };
}

/** What the schema cannot say. */
function formFaults(entry: ServerEntry): readonly Finding[] {
  if (textsOf(entry).some((text) => text.includes("\0"))) return [fault([], "it holds a NUL character")];
  if (!isRemoteEntry(entry)) {
    return Object.keys(entry.env ?? {}).flatMap((name) =>
      name === "" || /[=\0]/u.test(name)
        ? [fault(["env", name], `env: ${JSON.stringify(name)} is no variable's name`)]
        : [],
    );
  }
  const faults = Object.entries(entry.headers ?? {}).flatMap(([name, value]) => {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u.test(name)) {
      return [fault(["headers", name], `headers: ${JSON.stringify(name)} is no header's name`)];
    }
    return /[\r\n]/u.test(value) ? [fault(["headers", name], `headers.${name} must not hold line breaks`)] : [];
  });
  if (!hasReferences(entry.url) && !isWebAddress(entry.url)) {
    faults.push(fault(["url"], "url must be a full http:// or https:// address"));
  }
  return faults;
}

export function isWebAddress(url: string): boolean {
  return URL.canParse(url) && /^https?:$/u.test(new URL(url).protocol);
}

type Field = readonly [path: KeyPath, text: string | undefined];

function given(fields: readonly Field[]): readonly { readonly path: KeyPath; readonly text: string }[] {
  return fields.flatMap(([path, text]) => (text === undefined ? [] : [{ path, text }]));
}

function projectFaults(entry: ServerEntry): readonly Finding[] {
  const faults: Finding[] = [];
  const shown = given(
    isRemoteEntry(entry)
      ? [
          [["url"], entry.url],
          [["oauth", "clientId"], entry.oauth?.clientId],
          [["oauth", "idp", "clientId"], entry.oauth?.idp?.clientId],
        ]
      : [
          [["command"], entry.command],
          ...(entry.args ?? []).map((text, index): Field => [["args", index], text]),
          [["cwd"], entry.cwd],
        ],
  );
  for (const { path, text } of shown) {
    // What is approved must be what is seen; a file's text is not, and it changes without being asked about.
    if (parseTemplate(text, { mayBeSecret: false }).some(({ kind }) => kind === "file")) {
      faults.push(fault(path, `a project's ${path[0]} must be written out: {file:…} is for env, headers and auth`));
    }
  }
  const fields = (key: string, values: Readonly<Record<string, string>> = {}) =>
    Object.entries(values).map(([name, text]): Field => [[key, name], text]);
  const secrets = given(
    isRemoteEntry(entry)
      ? [
          ...fields("headers", entry.headers),
          [["auth", "token"], entry.auth?.token],
          ...(["clientSecret", "assertion", "privateKey"] as const).map(
            (key): Field => [["oauth", key], entry.oauth?.[key]],
          ),
          ...(["clientSecret", "idToken"] as const).map(
            (key): Field => [["oauth", "idp", key], entry.oauth?.idp?.[key]],
          ),
        ]
      : fields("env", entry.env),
  );
  for (const { path, text } of secrets) {
    const [whole] = parseTemplate(text, { mayBeSecret: true });
    if (whole?.kind === "command") faults.push(fault(path, 'a project cannot run a command for a value ("!…")'));
    if (whole?.kind === "keyring") faults.push(fault(path, 'a project cannot read the user\'s keyring ("keyring:…")'));
  }
  for (const name of isRemoteEntry(entry) ? [] : Object.keys(entry.env ?? {})) {
    const reason = refusedVariable(name);
    if (reason !== undefined) faults.push(fault(["env", name], `a project cannot set ${name}: it ${reason}`));
  }
  return faults;
}

// What a project's files may never do, approved or not: change the user's own settings, or how programs are loaded.

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

/**
 * Variables that turn a harmless command into another one. The command, arguments and values of a project's entry are
 * shown when it is approved, but `NODE_OPTIONS=--require=./x` does not look like "runs x". A project that needs one of these puts
 * it into a script that the entry starts, where it is seen for what it is. A name that ends in `*` stands for all that begin so.
 */
export const REFUSED_VARIABLES: readonly { readonly names: readonly string[]; readonly reason: string }[] =
  Object.entries({
    "loads code into every program": "LD_* DYLD_* GCONV_PATH GLIBC_TUNABLES",
    "loads code into Node programs": "NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE",
    "turns off the check of who is at the other end": "NODE_TLS_REJECT_UNAUTHORIZED NODE_EXTRA_CA_CERTS",
    "loads code into Python programs":
      "PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONBREAKPOINT PYTHONINSPECT PYTHONUSERBASE",
    "loads code into Perl programs": "PERL5OPT PERL5LIB PERL5DB PERLLIB",
    "loads code into Ruby programs": "RUBYOPT RUBYLIB GEM_PATH GEM_HOME BUNDLE_GEMFILE",
    "loads code into Java programs": "JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH",
    "loads code into .NET programs": "DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS CORECLR_* COR_*",
    "loads code into an interpreter": "PHPRC PHP_INI_SCAN_DIR LUA_INIT* R_PROFILE* ERL_FLAGS ERL_AFLAGS",
    "runs code in every shell": "BASH_ENV ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND BASH_FUNC_* ZDOTDIR IFS",
    "decides which program a name means": "PATH PATHEXT COMSPEC SHELL",
    "moves where programs look for their own configuration":
      "HOME USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA XDG_* TENON_*",
    "decides which programs git and ssh run":
      "GIT_SSH* GIT_EXEC_PATH GIT_ASKPASS GIT_CONFIG* GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_TEMPLATE_DIR SSH_ASKPASS SUDO_ASKPASS",
    "names a program that others run": "EDITOR VISUAL PAGER BROWSER LESSOPEN LESSCLOSE",
    "decides where packages come from and what their installation runs":
      "NPM_CONFIG_* YARN_* PNPM_* BUN_CONFIG_* BUN_OPTIONS PIP_* UV_INDEX* UV_DEFAULT_INDEX UV_EXTRA_INDEX_URL UV_FIND_LINKS UV_CONFIG_FILE UV_PYTHON* CARGO_* RUSTC_WRAPPER GOFLAGS GOPROXY DENO_*",
    "redirects every connection, or trusts another certificate":
      "HTTP_PROXY HTTPS_PROXY ALL_PROXY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE",
  }).map(([reason, names]) => ({ reason, names: names.split(" ") }));

/** Why a project may not set a variable; undefined when it may. Case is ignored, as Windows ignores it. */
function refusedVariable(name: string): string | undefined {
  const upper = name.toUpperCase();
  const isMatch = (pattern: string) =>
    pattern.endsWith("*") ? upper.startsWith(pattern.slice(0, -1)) : upper === pattern;
  return REFUSED_VARIABLES.find(({ names }) => names.some(isMatch))?.reason;
}
