// A merged entry, interpolated, as what the MCP room takes: the spec of a server and the settings of its connection.

import { dirname, join } from "node:path";
import { checkUrl, type UrlSource } from "../../base/io/net-policy.js";
import { defined } from "../../base/json/defined.js";
import { normaliseKind } from "../../base/server-kind.js";
import { literalGlob } from "../../base/text/glob.js";
import type { OAuthSettings, PoolSettings, ServerLimits, ServerSpec, ToolOverrides } from "../../mcp/index.js";
import type { SourceSettings, ToolOrigin, ToolShape } from "../../tools/index.js";
import { emptyRecord, type KeyPath } from "../layers/document.js";
import {
  type ConfigValues,
  type IncludeMode,
  isRemoteEntry,
  type OAuthEntry,
  type RemoteEntry,
  SANDBOX_MODES,
  type SandboxEntry,
  type SandboxMode,
  type SandboxWritten,
  type ServerExtras,
  type StdioEntry,
} from "../layers/entry.js";
import type { PossiblePaths } from "../layers/paths.js";
import { isWebAddress } from "../layers/read-entry.js";
import type { LayerKind, LayerServer, WrittenServer } from "../layers/read-layer.js";
import { type InterpolationSource, interpolate, isMissing, type Missing } from "../secrets/secrets.js";
import type { ApprovedProgram } from "../trust/project.js";

type SpecResult =
  | { readonly kind: "ready"; readonly spec: ServerSpec; readonly settings: ServerSettings }
  | Missing
  | { readonly kind: "refused"; readonly reason: string };

/** The spec of an entry. `program` is what was approved of a project's: its path replaces the entry's command. */
export async function toSpec(
  server: LayerServer<WrittenServer>,
  rules: LayerRules,
  source: InterpolationSource,
  program?: ApprovedProgram,
): Promise<SpecResult> {
  const { entry } = server.definition;
  const filler = new Filler(server.definition, source);
  const [spec, oauth] = await Promise.all([
    isRemoteEntry(entry) ? remoteSpec(server.name, entry, filler) : stdioSpec(server.name, entry, filler, program),
    isRemoteEntry(entry) && entry.oauth ? oauthSettings(entry.oauth, filler) : undefined,
  ]);
  // The one that must be corrected comes before the one that only takes time.
  const failed = filler.missing.find(({ kind }) => kind === "missing") ?? filler.missing[0];
  if (failed) return failed;
  const settings = { ...settingsOf(entry, server.place.layer, rules, filler.secrets), ...defined({ oauth }) };
  const refusal = "url" in spec ? urlRefusal(spec.url, settings) : undefined;
  return refusal === undefined ? { kind: "ready", spec, settings } : { kind: "refused", reason: refusal };
}

class Filler {
  readonly missing: Missing[] = [];
  readonly secrets: string[] = [];
  readonly #placeOf: WrittenServer["placeOf"];
  readonly #source: InterpolationSource;

  constructor({ placeOf }: WrittenServer, source: InterpolationSource) {
    this.#placeOf = placeOf;
    this.#source = source;
  }

  async text(text: string, path: KeyPath, mayBeSecret = false): Promise<string> {
    const result = await interpolate({ text, path, mayBeSecret }, this.#placeOf, this.#source);
    if (isMissing(result)) {
      this.missing.push(result);
      return "";
    }
    this.secrets.push(...result.secrets);
    return result.text;
  }

  /** Those of an object's texts that are given, filled; names stay as they are. A client's id is no secret. */
  async texts<Key extends string>(
    written: { readonly [K in Key]?: string | undefined },
    path: KeyPath,
    keys: readonly Key[],
  ): Promise<{ [K in Key]?: string }> {
    const filled: { [K in Key]?: string } = {};
    const fill = async (key: Key) => {
      const text = written[key];
      if (text !== undefined) filled[key] = await this.text(text, [...path, key], key !== "clientId");
    };
    await Promise.all(keys.map(fill));
    return filled;
  }

  async record(values: Readonly<Record<string, string>> = {}, key: string): Promise<Record<string, string>> {
    const names = Object.keys(values);
    const texts = await Promise.all(names.map((name) => this.text(values[name] ?? "", [key, name], true)));
    return Object.fromEntries(names.map((name, index) => [name, texts[index] ?? ""]));
  }
}

async function stdioSpec(
  name: string,
  entry: StdioEntry,
  filler: Filler,
  program: ApprovedProgram | undefined,
): Promise<ServerSpec> {
  const [written, args, env, cwd] = await Promise.all([
    filler.text(entry.command, ["command"]),
    Promise.all((entry.args ?? []).map((arg, index) => filler.text(arg, ["args", index]))),
    filler.record(entry.env, "env"),
    entry.cwd === undefined ? undefined : filler.text(entry.cwd, ["cwd"]),
  ]);
  return {
    kind: "stdio",
    name,
    command: program?.command ?? written,
    args,
    env,
    ...defined({ cwd }),
    ...(program ? { approved: { by: "project", files: program.files } } : {}),
  };
}

async function remoteSpec(name: string, entry: RemoteEntry, filler: Filler): Promise<ServerSpec> {
  const { kind = "http", note } = normaliseKind(entry.type ?? entry.transport ?? "http") ?? {};
  const [url, headers, token] = await Promise.all([
    filler.text(entry.url, ["url"]),
    filler.record(entry.headers, "headers"),
    entry.auth && filler.text(entry.auth.token, ["auth", "token"], true),
  ]);
  return {
    kind: kind === "sse" ? "sse" : "http",
    name,
    url,
    headers,
    ...(token === undefined ? {} : { auth: { type: "bearer", token } }),
    ...defined({ note }),
  };
}

async function oauthSettings({ idp, ...entry }: OAuthEntry, filler: Filler): Promise<OAuthSettings> {
  const [texts, ofProvider] = await Promise.all([
    filler.texts(entry, ["oauth"], ["clientId", "clientSecret", "assertion", "privateKey"]),
    idp && filler.texts(idp, ["oauth", "idp"], ["clientId", "clientSecret", "idToken"]),
  ]);
  const provider = idp && { ...defined(idp), clientId: idp.clientId, ...ofProvider };
  return { ...defined(entry), ...texts, ...defined({ idp: provider }) };
}

function urlRefusal(url: string, { urlSource, allowHosts }: ServerSettings): string | undefined {
  if (!isWebAddress(url)) return "its url is no full http:// or https:// address once its references are filled in";
  const verdict = checkUrl(url, { source: urlSource, allowHosts });
  return verdict.ok ? undefined : `its url cannot be used: ${verdict.reason}`;
}

// The settings of a server's connection: what its entry says beside how it is reached, under the user's rules for its layer.

/** Everything about a server that is not how it is reached. */
export interface ServerSettings {
  /** Whose server it is; the command line's are the user's. */
  readonly origin: Extract<ToolOrigin, "user" | "project" | "client">;
  /** For `ConnectionOptions.limits`. */
  readonly limits: Partial<ServerLimits>;
  /** For `ConnectionOptions.tools`. */
  readonly tools: Readonly<Record<string, ToolOverrides>>;
  /** For `ConnectionOptions.allowHosts`. */
  readonly allowHosts: readonly string[];
  /** Who named its URL: a project's may not lead to private addresses. */
  readonly urlSource: Extract<UrlSource, "typed" | "project">;
  /** Undefined: whatever the origin's default is. */
  readonly include?: IncludeMode;
  readonly includeByTool: Readonly<Record<string, IncludeMode>>;
  /** Put before tool names. */
  readonly prefix?: string;
  /** What is changed about single tools. */
  readonly shapes: Readonly<Record<string, ToolShape>>;
  /** Globs on tool names. */
  readonly allow?: readonly string[];
  readonly deny: readonly string[];
  readonly isRequired: boolean;
  readonly isLazy: boolean;
  /** Whether other sessions of the process may use the same server. */
  readonly mayShare: boolean;
  /** What the user says about all servers together. */
  readonly pool: PoolSettings;
  /** The user's word that what the server says about its tools is true. */
  readonly trustsAnnotations: boolean;
  /** The user's word that what the server answers is no content from outside. */
  readonly trustsResults: boolean;
  /** What its process may touch; without meaning for a server that is not started here. */
  readonly sandbox: ServerSandbox;
  /** Which of several log-ins at the server. */
  readonly account?: string;
  /** Remote servers: what its entry says about logging in. */
  readonly oauth?: OAuthSettings;
  /** Values that came from the environment, files, commands or the keyring: never to be shown or written. */
  readonly secrets: readonly string[];
}

export interface LayerRules {
  readonly allowHosts: readonly string[];
  readonly sandbox: LeastSandboxes;
  /** The same for all servers. */
  readonly pool?: PoolSettings;
}

/** Settings of a server that came as a spec: nothing but the user's rules for clients. */
export function givenSettings(rules: LayerRules): ServerSettings {
  return settingsOf({}, "client", rules, []);
}

function settingsOf(
  entry: ServerExtras,
  layer: LayerKind,
  rules: LayerRules,
  secrets: readonly string[],
): ServerSettings {
  const origin = layer === "project" || layer === "client" ? layer : "user";
  const tools: Record<string, ToolOverrides> = emptyRecord();
  const includeByTool: Record<string, IncludeMode> = emptyRecord();
  const shapes: Record<string, ToolShape> = emptyRecord();
  const disabled: string[] = [];
  const { connectMs, callMs, maxCallMs } = entry.timeouts ?? {};
  const timeouts = { connectTimeoutMs: connectMs, callTimeoutMs: callMs ?? entry.timeoutMs, callMaxMs: maxCallMs };
  for (const [name, shown] of Object.entries(entry.rename ?? {})) shapes[name] = { name: shown };
  for (const [name, tool] of Object.entries(entry.tools ?? {})) {
    const { timeoutMs, idempotent, include, enabled } = tool;
    if (timeoutMs !== undefined || idempotent !== undefined) {
      tools[name] = defined({ timeoutMs, isIdempotent: idempotent });
    }
    if (include !== undefined) includeByTool[name] = include;
    if (enabled === false) disabled.push(literalGlob(name));
    const { name: shown, description, arguments: pinned, defaults, providerOptions } = tool;
    const shape = defined({ name: shown, description, arguments: pinned, defaults, providerOptions });
    if (Object.keys(shape).length > 0) shapes[name] = { ...shapes[name], ...shape };
  }
  return {
    origin,
    limits: defined({ ...timeouts, ...entry.limits }),
    tools,
    allowHosts: rules.allowHosts,
    urlSource: origin === "project" ? "project" : "typed",
    includeByTool,
    shapes,
    deny: [...(entry.deny ?? []), ...disabled],
    isRequired: entry.required === true,
    isLazy: entry.lazy === true,
    mayShare: entry.shared !== false,
    pool: rules.pool ?? {},
    trustsAnnotations: origin !== "project" && entry.trustAnnotations === true,
    trustsResults: origin !== "project" && entry.trustResults === true,
    sandbox: sandboxOf(entry.sandbox, origin, rules.sandbox),
    secrets: [...new Set(secrets)],
    ...defined({ include: entry.include, prefix: entry.prefix, allow: entry.allow, account: entry.account }),
  };
}

/** What the session's catalog needs to know of a server. */
export function sourceSettings(settings: ServerSettings): SourceSettings {
  const { include, includeByTool, allow, deny, prefix, shapes } = settings;
  return { includeByTool, deny, tools: shapes, ...defined({ include, allow, prefix }) };
}

export type SandboxOrigin = "user" | "project" | "client";

/** The least sandbox of each origin, and where Tenon keeps its own things. */
interface LeastSandboxes extends NonNullable<ConfigValues["sandbox"]> {
  readonly paths: PossiblePaths;
}

/** What a server may touch. The grants hold in whichever sandbox it runs in the end, so they are there with `off` too. */
export interface ServerSandbox {
  readonly mode: SandboxMode;
  readonly network: boolean;
  readonly read: readonly string[];
  readonly write: readonly string[];
  /** Its entry is a project's. */
  readonly isProject: boolean;
  /** The user wants servers of its layer in a sandbox, whatever its entry says. */
  readonly isImposed: boolean;
  /** Tenon's own folders: a server that writes there could approve itself. */
  readonly hidden: readonly string[];
  /** Where servers that are downloaded at their start keep that; undefined when no home is known. */
  readonly cacheDir?: string;
  /** Grants of a project that would loosen the user's least: they do not count. */
  readonly refused: readonly ("network" | "read" | "write")[];
}

export function stricterMode(one: SandboxMode = "off", other: SandboxMode = "off"): SandboxMode {
  return SANDBOX_MODES.indexOf(one) > SANDBOX_MODES.indexOf(other) ? one : other;
}

/**
 * The stricter mode counts. The network is granted when a layer that may grant it does, and none denies it. A project's own
 * grants count only where the user asks for no sandbox at all: there, whatever it writes tightens.
 */
export function sandboxOf(
  written: SandboxWritten | undefined,
  origin: SandboxOrigin,
  leasts: LeastSandboxes,
): ServerSandbox {
  const { paths } = leasts;
  const configDir = paths.configFile === undefined ? undefined : dirname(paths.configFile);
  const least = entryOf(leasts[origin]);
  const entry = entryOf(written);
  const mayGrant = origin !== "project" || least.mode === "off";
  const isNetworkDenied = entry.network === false || least.network === false;
  const isNetworkGranted = least.network === true || (mayGrant && entry.network === true);
  const granted = mayGrant ? entry : { mode: entry.mode };
  return {
    mode: stricterMode(entry.mode, least.mode),
    network: isNetworkGranted && !isNetworkDenied,
    read: [...(least.read ?? []), ...(granted.read ?? [])],
    write: [...(least.write ?? []), ...(granted.write ?? [])],
    hidden: [configDir, paths.stateDir, paths.cacheDir].filter((folder) => folder !== undefined),
    ...defined({ cacheDir: paths.cacheDir === undefined ? undefined : join(paths.cacheDir, "sandbox") }),
    isProject: origin === "project",
    isImposed: least.mode !== "off",
    refused: mayGrant ? [] : grantsOf(entry, least),
  };
}

function grantsOf({ network, read, write }: SandboxEntry, least: SandboxEntry): ServerSandbox["refused"] {
  return [
    ...(network === true && least.network !== true ? (["network"] as const) : []),
    ...(read?.length ? (["read"] as const) : []),
    ...(write?.length ? (["write"] as const) : []),
  ];
}

function entryOf(written: SandboxWritten = "off"): SandboxEntry {
  return typeof written === "object" ? written : { mode: written };
}

/** What no server of any layer runs below. */
export function leastOfAll({ user, project, client }: LeastSandboxes): SandboxMode {
  const modes = [user, project, client].map((least) => SANDBOX_MODES.indexOf(entryOf(least).mode));
  return SANDBOX_MODES[Math.min(...modes)] ?? "off";
}
