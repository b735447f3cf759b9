// Reads one server entry: which kind it is, whether it is well-formed, and what its layer is not allowed to say.
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { normaliseKind } from "../base/server-kind.js";
import { nearest } from "../base/text/nearest.js";
import { type Checked, check, type Finding, foreignKey, kindOf, without } from "./check.js";
import { isRemoteEntry, REMOTE_TYPES, type ServerEntry } from "./entry.js";
import type { LayerKind } from "./place.js";
import { refusedVariable } from "./project-rules.js";
import type * as schema from "./schema.js";
import { hasReferences, parseTemplate, textsOf } from "./template.js";
import type { KeyPath } from "./text-tree.js";

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
  const { keysAt, stdioEntry, remoteEntry } = schemas;
  const allowed = layer === "project" ? forProject(written) : { written, findings: [] };
  const checked =
    kind === "stdio" ? check(stdioEntry, allowed.written, keysAt) : check(remoteEntry, allowed.written, keysAt);
  const entry: ServerEntry | undefined = checked.value;
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

function projectFaults(entry: ServerEntry): readonly Finding[] {
  const faults: Finding[] = [];
  const shown = isRemoteEntry(entry)
    ? [
        { path: ["url"], text: entry.url },
        ...(entry.oauth?.clientId === undefined ? [] : [{ path: ["oauth", "clientId"], text: entry.oauth.clientId }]),
        ...(entry.oauth?.idp ? [{ path: ["oauth", "idp", "clientId"], text: entry.oauth.idp.clientId }] : []),
      ]
    : [
        { path: ["command"], text: entry.command },
        ...(entry.args ?? []).map((text, index) => ({ path: ["args", index], text })),
        ...(entry.cwd === undefined ? [] : [{ path: ["cwd"], text: entry.cwd }]),
      ];
  for (const { path, text } of shown) {
    // What is approved must be what is seen; a file's text is not, and it changes without being asked about.
    if (parseTemplate(text, { mayBeSecret: false }).some(({ kind }) => kind === "file")) {
      faults.push(fault(path, `a project's ${path[0]} must be written out: {file:…} is for env, headers and auth`));
    }
  }
  const secrets = isRemoteEntry(entry)
    ? [
        ...Object.entries(entry.headers ?? {}).map(([name, text]) => ({ path: ["headers", name], text })),
        ...(entry.auth ? [{ path: ["auth", "token"], text: entry.auth.token }] : []),
        ...(["clientSecret", "assertion", "privateKey"] as const).flatMap((key) => {
          const text = entry.oauth?.[key];
          return text === undefined ? [] : [{ path: ["oauth", key], text }];
        }),
        ...(["clientSecret", "idToken"] as const).flatMap((key) => {
          const text = entry.oauth?.idp?.[key];
          return text === undefined ? [] : [{ path: ["oauth", "idp", key], text }];
        }),
      ]
    : Object.entries(entry.env ?? {}).map(([name, text]) => ({ path: ["env", name], text }));
  for (const { path, text } of secrets) {
    const [whole] = parseTemplate(text, { mayBeSecret: true });
    if (whole?.kind === "command") faults.push(fault(path, 'a project cannot run a command for a value ("!…")'));
    if (whole?.kind === "keyring") faults.push(fault(path, 'a project cannot read the user\'s keyring ("keyring:…")'));
  }
  for (const name of isRemoteEntry(entry) ? [] : Object.keys(entry.env ?? {})) {
    const reason = refusedVariable(name);
    if (reason !== undefined) {
      faults.push(fault(["env", name], `a project cannot set ${name}: it ${reason}`));
    }
  }
  return faults;
}
