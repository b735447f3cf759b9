// Reads one server entry: which kind it is, whether it is well-formed, and what its layer is not allowed to say.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { LAUNCH_LIMITS } from "../../base/limits.js";
import { normaliseKind } from "../../base/server-kind.js";
import { nearest } from "../../base/text/nearest.js";
import { isUrl } from "../../base/text/url.js";
import type { ArgumentCondition, PolicyRule } from "../../tools/index.js";
import type { KeyPath } from "./document.js";
import { isRemoteEntry, REMOTE_TYPES, type RuleEntry, type ServerEntry } from "./entry.js";
import { type Checked, type Finding, foreignKey, kindOf, shownKey, without } from "./findings.js";
import type { LayerKind } from "./read-layer.js";
import type * as schema from "./schema.js";

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
  const kind = kindOfEntry(written, layer === "client");
  if (typeof kind === "object") return refused([kind]);
  const allowed = layer === "project" ? forProject(written) : { written, findings: [] };
  // What a program hands over may be a secret in the wrong place: nothing of it is shown.
  const show = layer === "client" ? kindOf : undefined;
  const checked: Checked<ServerEntry> =
    kind === "stdio"
      ? schemas.check(schemas.stdioEntry, allowed.written, show)
      : schemas.check(schemas.remoteEntry, allowed.written, show);
  const entry = checked.value;
  const findings = [...withoutEcho(checked.findings), ...allowed.findings];
  if (!entry) return refused(findings);
  const faults = [...formFaults(entry), ...(layer === "project" ? projectFaults(entry) : [])];
  return faults.length > 0 ? refused([...findings, ...faults]) : { value: entry, findings };
}

/**
 * Of a program. `load` is for entries with more than the keys all clients have, or with a fault: loading zod and the schemas
 * takes longer than some servers take to start.
 */
export async function readGivenEntry(
  written: JsonValue | undefined,
  load: () => Promise<Schemas>,
): Promise<Checked<ServerEntry>> {
  const entry = isJsonObject(written) ? ordinaryEntry(written) : undefined;
  if (entry && formFaults(entry).length === 0) return { value: entry, findings: [] };
  return readEntry(written, "client", await load());
}

/** What the schema would accept as it is; undefined: it has to be asked. */
function ordinaryEntry(written: JsonObject): ServerEntry | undefined {
  const { type, command, args, env, cwd, url, headers, ...more } = written;
  if (Object.keys(more).length > 0) return undefined;
  if (command !== undefined) {
    if (type !== undefined && type !== "stdio") return undefined;
    if (url !== undefined || headers !== undefined || !isText(command)) return undefined;
    if (!(cwd === undefined || isText(cwd)) || !(env === undefined || isTexts(env))) return undefined;
    if (args === undefined) return { command, ...defined({ type, env, cwd }) };
    return isTextList(args) ? { command, ...defined({ type, args, env, cwd }) } : undefined;
  }
  if (type !== undefined && type !== "http" && type !== "sse") return undefined;
  if (args !== undefined || env !== undefined || cwd !== undefined || !isText(url)) return undefined;
  return headers === undefined || isTexts(headers) ? { url, ...defined({ type, headers }) } : undefined;
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value !== "";
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && [...value].every((one) => typeof one === "string"); // `every` alone passes over holes
}

function isTexts(value: JsonValue): value is Readonly<Record<string, string>> {
  return isJsonObject(value) && !Object.hasOwn(value, "__proto__") && isTextList(Object.values(value));
}

function refused(findings: readonly Finding[]): Checked<ServerEntry> {
  return { value: undefined, findings };
}

function fault(path: KeyPath, message: string, suggestion?: string): Finding {
  return { severity: "error", path, at: "value", message, ...defined({ suggestion }) };
}

function kindOfEntry(entry: JsonObject, isPrivate: boolean): "stdio" | "remote" | Finding {
  const typeKey = entry["type"] === undefined ? "transport" : "type";
  const type = entry[typeKey];
  const hasCommand = entry["command"] !== undefined;
  const hasUrl = entry["url"] !== undefined;
  if (hasCommand && hasUrl) return fault([], "expected either a command or a url, got both");
  if (type !== undefined) {
    const known = typeof type === "string" ? normaliseKind(type) : undefined;
    if (known) return known.kind === "stdio" ? "stdio" : "remote";
    const meant = typeof type === "string" ? nearest(type, ["stdio", ...REMOTE_TYPES]) : undefined;
    const got = typeof type === "string" && !isPrivate ? JSON.stringify(type) : kindOf(type);
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
  return { written: without(written, paths), findings };
}

/** What the schema cannot say. */
function formFaults(entry: ServerEntry): readonly Finding[] {
  if (textsOf(entry).some((text) => text.includes("\0"))) return [fault([], "it holds a NUL character")];
  if (!isRemoteEntry(entry)) {
    return Object.keys(entry.env ?? {}).flatMap((name) =>
      name === "" || /[=\0]/u.test(name) ? [fault(["env", name], `env: ${shownKey(name)} is no variable's name`)] : [],
    );
  }
  const faults = Object.entries(entry.headers ?? {}).flatMap(([name, value]) => {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u.test(name)) {
      return [fault(["headers", name], `headers: ${shownKey(name)} is no header's name`)];
    }
    return /[\r\n]/u.test(value) ? [fault(["headers", name], `headers.${name} must not hold line breaks`)] : [];
  });
  if (!hasReferences(entry.url) && !isWebAddress(entry.url)) {
    faults.push(fault(["url"], "url must be a full http:// or https:// address"));
  }
  return faults;
}

export function isWebAddress(url: string): boolean {
  return isUrl(url) && /^https?:$/u.test(new URL(url).protocol);
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
  chat: "how the terminal tells of questions",
  providers: "model credentials and base URLs",
  allowHosts: "which hosts may be reached",
  commands: "which secrets commands get",
  systemPrompt: "what the model is told",
  sandbox: "the least sandbox of a layer",
  import: "which other clients' servers are used",
  serverLimits: "how many servers may run",
  search: "where prompts and tool descriptions are sent",
  gateway: "where a gateway sends notices",
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

interface RulesContext {
  readonly isProject: boolean;
  readonly schemas: Schemas;
  /** Where the rule of an index stands, for people. */
  placeOf(index: number): string;
  /** Whether there is a syntax error in the rule of an index, or, without one, anywhere around the rules. */
  isBroken(index?: number): boolean;
}

const ASK_ALL = "the rules cannot be read as they were meant, so every call they do not deny is asked about";

const TOO_MANY = `a project file may have ${LAUNCH_LIMITS.projectRules} rules; those after these are not read, and every call is asked about`;

/** Paths of the findings begin at the list. */
export function readRules(
  written: JsonValue | undefined,
  context: RulesContext,
): { readonly rules: readonly PolicyRule[]; readonly findings: readonly Finding[] } {
  if (!Array.isArray(written)) {
    const message = `permissions.rules must be a list, got ${kindOf(written)}: every call is asked about`;
    return { rules: [{ effect: "ask", isBroken: true }], findings: [error([], message)] };
  }
  const isBounded = context.isProject && written.length > LAUNCH_LIMITS.projectRules;
  const list: readonly JsonValue[] = isBounded ? written.slice(0, LAUNCH_LIMITS.projectRules) : written;
  const read = list.map((rule, index) => readRule(rule, index, context));
  const rules = read.flatMap(({ rule }) => rule ?? []);
  const findings = read.flatMap((one) => one.findings);
  if (isBounded) {
    rules.push({ effect: "ask", isBroken: true, reason: TOO_MANY });
    findings.push(error([], TOO_MANY));
  }
  if (!context.isBroken()) return { rules, findings };
  // A rule may be missing from what could be read, and it may be the one before an `allow`.
  const tight = rules.filter(({ effect }) => effect !== "allow");
  return {
    rules: [...tight, { effect: "ask", isBroken: true, reason: ASK_ALL }],
    findings: [...findings, error([], ASK_ALL)],
  };
}

interface ReadRule {
  readonly rule?: PolicyRule;
  readonly findings: readonly Finding[];
}

function readRule(written: JsonValue, index: number, context: RulesContext): ReadRule {
  if (!isJsonObject(written)) return { findings: [error([index], `a rule must be an object, got ${kindOf(written)}`)] };
  const place = context.placeOf(index);
  const checked = context.schemas.check(context.schemas.ruleEntry, written);
  // An unknown key may have narrowed the rule: a rule is used as a whole or not at all.
  const isWhole = checked.value !== undefined && !checked.findings.some(({ at }) => at === "key");
  if (context.isBroken(index)) return unusable(written, index, place, [error([], "there is a syntax error in it")]);
  if (!checked.value || !isWhole) return unusable(written, index, place, checked.findings);
  const entry = checked.value;
  if (!context.isProject) return { rule: ruleOf(entry, written, place), findings: [] };
  if (entry.effect === "allow") {
    const message = 'a project can never allow calls: the rule is left out; its rules may "ask" or "deny"';
    return { findings: [error([index, "effect"], message)] };
  }
  // Words of a project reach the person and the model through what was approved of it, and rules need no approval.
  const isSilent = entry.reason !== undefined;
  const message = "the reason of a project's rule is not shown";
  const findings: Finding[] = isSilent ? [{ ...error([index, "reason"], message), severity: "warning" }] : [];
  const { reason: _, ...rest } = entry;
  return { rule: ruleOf(rest, written, place), findings };
}

function unusable(written: JsonObject, index: number, place: string, findings: readonly Finding[]): ReadRule {
  const rule = fallbackOf(written, place);
  const said = findings.map((finding): Finding => {
    const message = finding.message.replace(/ is ignored$/u, "");
    return { ...finding, message, severity: "error", path: [index, ...finding.path] };
  });
  const consequence = error([index], rule ? fallbackText(rule) : "this rule is left out");
  return { findings: [...said, consequence], ...defined({ rule }) };
}

/** Nothing for what was surely to allow. */
function fallbackOf(written: JsonObject, place: string): PolicyRule | undefined {
  const { effect, server, tool } = written;
  if (effect === "allow") return undefined;
  return {
    effect: "ask",
    isBroken: true,
    place,
    ...defined({
      server: typeof server === "string" && server !== "" ? server : undefined,
      tool: typeof tool === "string" && tool !== "" ? tool : undefined,
    }),
  };
}

function fallbackText({ server = "*", tool = "*" }: PolicyRule): string {
  return `this rule cannot be used as it is, so every call of ${tool} of the server ${server} is asked about`;
}

function ruleOf(given: RuleEntry, written: JsonObject, place: string): PolicyRule {
  const { effect, annotations, arguments: conditions, ...entry } = given;
  return {
    ...defined(entry),
    effect,
    place,
    ...defined({
      annotations: annotations && defined(annotations),
      arguments: conditions && conditionsOf(written["arguments"]),
    }),
  };
}

/** From what was written, which the schema has passed: there the values are JSON. */
function conditionsOf(written: JsonValue | undefined): readonly ArgumentCondition[] {
  return Array.isArray(written) ? written.flatMap((one) => (isJsonObject(one) ? (conditionOf(one) ?? []) : [])) : [];
}

function conditionOf(written: JsonObject): ArgumentCondition | undefined {
  const { pointer, equals, glob, prefix, under, oneOf } = written;
  if (typeof pointer !== "string") return undefined;
  if (equals !== undefined) return { pointer, equals };
  if (typeof glob === "string") return { pointer, glob };
  if (typeof prefix === "string") return { pointer, prefix };
  if (typeof under === "string") return { pointer, under };
  return Array.isArray(oneOf) ? { pointer, oneOf } : undefined;
}

function error(path: KeyPath, message: string): Finding {
  return { severity: "error", path, at: "value", message };
}

export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "variable"; readonly name: string; readonly fallback?: string; readonly written: string }
  | { readonly kind: "file"; readonly path: string; readonly written: string }
  | { readonly kind: "command"; readonly command: string; readonly written: string }
  | { readonly kind: "keyring"; readonly name: string; readonly written: string }
  /** Begins like a reference and is none. */
  | { readonly kind: "malformed"; readonly written: string };

const REFERENCE =
  /\$\$\{|\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\{env:([A-Za-z_][A-Za-z0-9_]*)\}|\{file:([^{}]+)\}|\$\{[^}]*\}?|\{(?:env|file):[^}]*\}?/gu;

const KEYRING = "keyring:";

/** Only values that carry secrets may be fetched as a whole: an argument such as `!node_modules` is just that. */
export function parseTemplate(text: string, { mayBeSecret }: { readonly mayBeSecret: boolean }): readonly Part[] {
  if (mayBeSecret) {
    if (text.startsWith("!!")) return parseReferences(text.slice(1)); // a value that really begins with "!"
    if (text.startsWith("!")) {
      const command = text.slice(1).trim();
      return [command === "" ? { kind: "malformed", written: text } : { kind: "command", command, written: text }];
    }
    if (text.startsWith(KEYRING)) {
      const name = text.slice(KEYRING.length).trim();
      return [name === "" ? { kind: "malformed", written: text } : { kind: "keyring", name, written: text }];
    }
  }
  return parseReferences(text);
}

function parseReferences(text: string): readonly Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of text.matchAll(REFERENCE)) {
    if (match.index > end) parts.push({ kind: "text", text: text.slice(end, match.index) });
    parts.push(partOf(match));
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push({ kind: "text", text: text.slice(end) });
  return parts;
}

function partOf([written, variable, fallback, envVariable, path]: RegExpExecArray): Part {
  if (written === "$${") return { kind: "text", text: "${" };
  const name = variable ?? envVariable;
  if (name !== undefined) return { kind: "variable", name, written, ...defined({ fallback }) };
  if (path !== undefined) return { kind: "file", path, written };
  return { kind: "malformed", written };
}

export function hasReferences(text: string): boolean {
  return parseReferences(text).some(({ kind }) => kind !== "text");
}

/** Every text in a value, but no keys: references stand in values only. */
/** Variables without a fallback that an entry refers to and the environment lacks. */
export function unsetVariables(entry: unknown, env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const parts = textsOf(entry).flatMap((text) => parseTemplate(text, { mayBeSecret: true }));
  const names = parts.flatMap((part) => (part.kind === "variable" && part.fallback === undefined ? [part.name] : []));
  return [...new Set(names)].filter((name) => env[name] === undefined);
}

export function textsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : [];
}
