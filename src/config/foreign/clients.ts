// How each client writes its servers: where in the file they stand, what the keys mean, which references there are.

import { posix, win32 } from "node:path";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { literalGlob } from "../../base/text/glob.js";
import type { KeyPath } from "../layers/document.js";
import type { ImportName } from "../layers/entry.js";
import type { VariableSyntax } from "./translate.js";

export interface Dialect {
  /** For people. */
  readonly label: string;
  readonly format: "json" | "toml" | "yaml";
  readonly syntax: VariableSyntax;
  /** Its files in the person's home, the weaker first. */
  readonly user: (folders: Folders) => readonly string[];
  /** Its files in a project, the weaker first. */
  readonly project: readonly string[];
  /** Where servers by name stand, the weaker first. `isProject` says whether a path means the session's directory. */
  readonly sections: (root: JsonObject, isProject: (path: string) => boolean) => readonly KeyPath[];
  readonly entry: (written: JsonObject) => RawEntry | Unusable;
}

interface Folders {
  readonly join: (...parts: string[]) => string;
  readonly isWindows: boolean;
  readonly home: string;
  /** Where desktop programs keep their settings. */
  readonly programs: string;
  /** `~/.config`, which some command-line programs use on every system. */
  readonly config: string;
  /** A folder that a variable moves, if it holds a full path. */
  readonly moved: (variable: string) => string | undefined;
}

const MCP_SERVERS: readonly KeyPath[] = [["mcpServers"]];

/** As most have it. */
const USUAL = { format: "json", syntax: {}, project: [], sections: () => MCP_SERVERS, entry: common } as const;

export const DIALECTS: Readonly<Record<ImportName, Dialect>> = {
  "claude-desktop": {
    ...USUAL,
    label: "Claude Desktop",
    user: ({ join, programs }) => [join(programs, "Claude/claude_desktop_config.json")],
  },
  // A project's `.mcp.json` is a layer of its own, whether it is imported or not.
  "claude-code": {
    ...USUAL,
    label: "Claude Code",
    syntax: { shell: true },
    user: ({ join, home, moved }) => [join(moved("CLAUDE_CONFIG_DIR") ?? home, ".claude.json")],
    // A person's servers for one project stand in their home, by the project's path.
    sections: ({ projects }, isProject) => [
      ...MCP_SERVERS,
      ...Object.keys(isJsonObject(projects) ? projects : {})
        .filter(isProject)
        .map((path) => ["projects", path, "mcpServers"]),
    ],
  },
  cursor: {
    ...USUAL,
    label: "Cursor",
    syntax: { editor: true },
    user: ({ join, home }) => [join(home, ".cursor/mcp.json")],
    project: [".cursor/mcp.json"],
  },
  vscode: {
    ...USUAL,
    label: "VS Code",
    syntax: { editor: true, inputs: true },
    user: ({ join, programs }) => ["Code - Insiders", "Code"].map((name) => join(programs, name, "User/mcp.json")),
    project: [".vscode/mcp.json"],
    sections: ({ servers }) => (servers === undefined ? MCP_SERVERS : [["servers"]]),
  },
  zed: {
    ...USUAL,
    label: "Zed",
    user: ({ join, isWindows, programs, config }) => [
      isWindows ? join(programs, "Zed/settings.json") : join(config, "zed/settings.json"),
    ],
    project: [".zed/settings.json"],
    sections: () => [["context_servers"]],
    entry: zed,
  },
  windsurf: {
    ...USUAL,
    label: "Windsurf",
    syntax: { editor: true, dollarFile: true },
    user: ({ join, home }) => [join(home, ".codeium/windsurf/mcp_config.json")],
  },
  codex: {
    ...USUAL,
    label: "Codex",
    format: "toml",
    user: ({ join, home, moved }) => [join(moved("CODEX_HOME") ?? join(home, ".codex"), "config.toml")],
    project: [".codex/config.toml"],
    sections: () => [["mcp_servers"]],
    entry: codex,
  },
  opencode: {
    ...USUAL,
    label: "opencode",
    syntax: { braces: true },
    user: ({ join, config }) => ["opencode.json", "opencode.jsonc"].map((name) => join(config, "opencode", name)),
    project: ["opencode.json", "opencode.jsonc"],
    sections: ({ mcp }) => [isJsonObject(mcp) && isSection(mcp["servers"]) ? ["mcp", "servers"] : ["mcp"]],
    entry: opencode,
  },
  magenta: {
    ...USUAL,
    label: "magenta.nvim",
    user: ({ join, home }) => [join(home, ".magenta/options.json")],
    project: [".magenta/options.json"],
    entry: magenta,
  },
  "gemini-cli": {
    ...USUAL,
    label: "Gemini CLI",
    syntax: { shell: true },
    user: ({ join, home }) => [join(home, ".gemini/settings.json")],
    project: [".gemini/settings.json"],
    entry: gemini,
  },
  cline: {
    ...USUAL,
    label: "Cline",
    user: ({ join, programs }) => [
      join(programs, "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
    ],
  },
  junie: {
    ...USUAL,
    label: "JetBrains Junie",
    user: ({ join, home }) => [join(home, ".junie/mcp/mcp.json")],
    project: [".junie/mcp/mcp.json"],
  },
  goose: {
    ...USUAL,
    label: "goose",
    format: "yaml",
    user: ({ join, isWindows, programs, config }) => [
      isWindows ? join(programs, "Block/goose/config/config.yaml") : join(config, "goose/config.yaml"),
    ],
    sections: () => [["extensions"]],
    entry: goose,
  },
};

/** Entries by name, rather than a server that happens to be called `servers`. */
function isSection(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && value["type"] === undefined && value["enabled"] === undefined;
}

/** `mcpServers` as most write it. */
function common(written: JsonObject): RawEntry | Unusable {
  const { type, transport, command, args, env, cwd, headers, disabled, disabledTools } = written;
  const notes: string[] = [];
  if (written["envFile"] !== undefined) notes.push("envFile is not read: set its variables otherwise");
  if (written["headersHelper"] !== undefined) notes.push('headersHelper is not run: see "!command" for headers');
  if (written["auth"] !== undefined || written["oauth"] !== undefined) {
    notes.push("its OAuth client is not taken over: tenon mcp login asks for a new one");
  }
  return {
    type: type ?? transport,
    command,
    args,
    env,
    cwd,
    url: written["url"] ?? written["serverUrl"] ?? written["httpUrl"],
    headers,
    isDisabled: disabled === true,
    extras: globs("deny", disabledTools),
    notes,
  };
}

function zed(written: JsonObject): RawEntry | Unusable {
  const { command, args, env, url, headers, enabled, source } = written;
  if (source === "extension" || (command === undefined && url === undefined)) {
    return { reason: "it comes with an extension of Zed, which only Zed starts" };
  }
  const raw = { url, headers, isDisabled: enabled === false };
  // Before 2025: {"command": {"path": …, "args": […], "env": {…}}}.
  if (isJsonObject(command)) return { ...raw, command: command["path"], args: command["args"], env: command["env"] };
  return { ...raw, command, args, env };
}

function codex(written: JsonObject): RawEntry | Unusable {
  const { command, args, env, cwd, url, enabled, required } = written;
  const bearer = written["bearer_token_env_var"];
  const isLost = ["oauth", "scopes", "oauth_resource"].some((key) => written[key] !== undefined);
  return {
    command,
    args,
    env,
    cwd,
    url,
    headers: written["http_headers"],
    references: {
      env: byName(written["env_vars"]),
      headers: referencesIn(written["env_http_headers"]),
      ...defined({ token: typeof bearer === "string" ? `\${${bearer}}` : undefined }),
    },
    isDisabled: enabled === false,
    extras: {
      ...timeouts(
        seconds(written["startup_timeout_sec"]) ?? written["startup_timeout_ms"],
        seconds(written["tool_timeout_sec"]),
      ),
      ...globs("allow", written["enabled_tools"]),
      ...globs("deny", written["disabled_tools"]),
      ...defined({ required: required === true ? required : undefined }),
    },
    notes: isLost ? ["its OAuth settings are not taken over: tenon mcp login asks for a new client"] : [],
  };
}

function opencode(written: JsonObject): RawEntry | Unusable {
  const { type, command, environment, cwd, url, headers, enabled, disabled, oauth, timeout } = written;
  if (type === undefined && command === undefined && url === undefined) {
    return { reason: "it only switches a server that is defined elsewhere" };
  }
  const isList = Array.isArray(command);
  return {
    command: isList ? command[0] : command,
    args: isList ? command.slice(1) : written["args"],
    env: environment ?? written["env"],
    cwd,
    url,
    headers,
    isDisabled: enabled === false || disabled === true,
    extras: timeouts(timeout, undefined),
    notes: isJsonObject(oauth) ? ["its OAuth client is not taken over: tenon mcp login asks for a new one"] : [],
  };
}

function magenta(written: JsonObject): RawEntry | Unusable {
  const { command, args, env, url, requestInit, tools } = written;
  if (Array.isArray(tools)) return { reason: "it is a mock, for tests of magenta" };
  return { command, args, env, url, headers: isJsonObject(requestInit) ? requestInit["headers"] : undefined };
}

/** A bare `url` is spoken to over SSE there, and `httpUrl` is the newer transport. */
function gemini(written: JsonObject): RawEntry | Unusable {
  const { url, httpUrl, timeout, includeTools, excludeTools } = written;
  const raw = common(written);
  if ("reason" in raw) return raw;
  const type = raw.type ?? (httpUrl === undefined && url !== undefined ? "sse" : undefined);
  const extras = { ...timeouts(undefined, timeout), ...globs("allow", includeTools), ...globs("deny", excludeTools) };
  return { ...raw, type, extras };
}

/** Its own extensions are part of goose; values of `env_keys` are in its keyring. */
function goose(written: JsonObject): RawEntry | Unusable {
  const { type, cmd, args, envs, uri, headers, enabled, timeout, env_keys: keys, available_tools: tools } = written;
  if (type !== "stdio" && type !== "sse" && type !== "streamable_http") {
    return { reason: "it is part of goose, which only goose has" };
  }
  return {
    type: type === "stdio" ? undefined : type === "sse" ? "sse" : "http",
    command: cmd,
    args,
    env: envs,
    url: uri,
    headers,
    references: { env: byName(keys) },
    isDisabled: enabled === false,
    extras: {
      ...timeouts(undefined, seconds(timeout)),
      ...(Array.isArray(tools) && tools.length > 0 ? globs("allow", tools) : {}),
    },
  };
}

function byName(value: JsonValue | undefined): Readonly<Record<string, string>> {
  const list: readonly JsonValue[] = Array.isArray(value) ? value : [];
  const names = list.map((one) => (isJsonObject(one) ? one["name"] : one));
  return Object.fromEntries(names.flatMap((name) => (typeof name === "string" ? [[name, `\${${name}}`]] : [])));
}

function referencesIn(value: JsonValue | undefined): Readonly<Record<string, string>> {
  const pairs = Object.entries(isJsonObject(value) ? value : {});
  return Object.fromEntries(pairs.flatMap(([name, of]) => (typeof of === "string" ? [[name, `\${${of}}`]] : [])));
}

function seconds(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value * 1000 : undefined;
}

/** Within what Tenon's own configuration takes: none, or a day at most. */
function timeouts(connect: JsonValue | undefined, call: JsonValue | undefined): JsonObject {
  const ms = (value: JsonValue | undefined) =>
    typeof value === "number" && value >= 1 && Number.isFinite(value)
      ? Math.min(Math.round(value), 86_400_000)
      : undefined;
  const [connectMs, callMs] = [ms(connect), ms(call)];
  return connectMs === undefined && callMs === undefined ? {} : { timeouts: defined({ connectMs, callMs }) };
}

function globs(key: "allow" | "deny", names: JsonValue | undefined): JsonObject {
  if (!Array.isArray(names)) return {};
  const list: readonly JsonValue[] = names;
  const texts = list.filter((name) => typeof name === "string").filter((name) => name !== "");
  // An empty list of allowed tools allows none there and here; an empty one of denied tools says nothing.
  return key === "deny" && texts.length === 0 ? {} : { [key]: texts.map(literalGlob) };
}

// A server entry of another client in one common form: keys named as ours, texts still in that client's own syntax.

type RawKey = "type" | "command" | "args" | "env" | "cwd" | "url" | "headers";

/** `type` is how a url is spoken to. */
export interface RawEntry extends Readonly<Partial<Record<RawKey, JsonValue | undefined>>> {
  /** Already in Tenon's own words: variables that are handed on by name. */
  readonly references?: {
    readonly env?: Readonly<Record<string, string>>;
    readonly headers?: Readonly<Record<string, string>>;
    readonly token?: string;
  };
  /** Tenon's own keys: `allow`, `deny`, `timeouts`, `required`. */
  readonly extras?: JsonObject;
  readonly isDisabled?: boolean;
  /** What is lost on the way, one sentence each. */
  readonly notes?: readonly string[];
}

/** An entry that is for that client only: no problem, and reported by `tenon mcp import` alone. */
interface Unusable {
  readonly reason: string;
}

// Where other clients keep their servers, on each system. Pure: does not look whether a file exists.

export interface MachinePlace {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The project. */
  readonly cwd: string;
}

/** Files of one client, the weaker first: in the person's home (none when no home is known), and in the project. */
export function foreignPlaces(
  client: ImportName,
  machine: MachinePlace,
): Readonly<Record<"user" | "project", readonly string[]>> {
  const { platform, env, cwd } = machine;
  const paths = platform === "win32" ? win32 : posix;
  const full = (variable: string): string | undefined => {
    const value = env[variable];
    return value && paths.isAbsolute(value) ? value : undefined; // relative: it would lead into the project
  };
  const isWindows = platform === "win32";
  const home = (isWindows ? full("USERPROFILE") : undefined) ?? full("HOME") ?? full("USERPROFILE") ?? "";
  const config = full("XDG_CONFIG_HOME") ?? paths.join(home, ".config");
  const ofSystem: Partial<Record<NodeJS.Platform, string>> = {
    win32: full("APPDATA") ?? win32.join(home, "AppData", "Roaming"),
    darwin: posix.join(home, "Library", "Application Support"),
  };
  const { user, project } = DIALECTS[client];
  const join = (...parts: string[]) => paths.join(...parts);
  const folders = { join, isWindows, home, programs: ofSystem[platform] ?? config, config, moved: full };
  return {
    user: user(folders).filter((path) => paths.isAbsolute(path)),
    project: project.map((path) => join(cwd, path)),
  };
}
