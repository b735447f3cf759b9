// What decides how one MCP server is reached: a union of its transports, already parsed and complete.
import { hashJson, type JsonObject } from "../base/json/json.js";
import { isUrl } from "../base/text/url.js";

/** A file as it was approved: its real path, its size and the hash of its content. */
export interface PinnedFile {
  readonly path: string;
  readonly hash: string;
}

/**
 * What a person approved about starting a server, put here by the configuration. `project`: the entry is the project's own,
 * with the programs and scripts of the project that it runs. `folder`: a server that does not come from the project may run
 * what the session's folder has, as far as `key` says. `program`: the program around Tenon wrote the entry, so files of the
 * folder that its words name may run. Without an approval nothing in the folder may decide what runs.
 */
export type LaunchApproval =
  | { readonly by: "project"; readonly files: readonly PinnedFile[] }
  | { readonly by: "folder"; readonly files: readonly PinnedFile[]; readonly key: string }
  | { readonly by: "program"; readonly files: readonly [] };

export interface StdioSpec {
  readonly kind: "stdio";
  readonly name: string;
  /** A path, or a bare name looked up in PATH. A relative path is relative to the session's directory. */
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the minimal environment every server gets; never written to disk. */
  readonly env: Readonly<Record<string, string>>;
  /** Defaults to the session's directory. */
  readonly cwd?: string;
  /** What its process may touch; everything unless given. */
  readonly sandbox?: SandboxSpec;
  readonly approved?: LaunchApproval;
}

/** The credentials sent to a remote server besides its headers. */
export interface BearerAuth {
  readonly type: "bearer";
  readonly token: string;
}

export interface RemoteSpec {
  /** `http` is Streamable HTTP, `sse` the older HTTP+SSE transport. */
  readonly kind: "http" | "sse";
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as `Authorization`; wins over a header of that name. */
  readonly auth?: BearerAuth;
  /** Its name must not lead to a private address, as that of a project's server: somebody of another machine gave it. */
  readonly mustBePublic?: boolean;
  /** How its entry was understood, where that is not what it says: for people. */
  readonly note?: string;
}

/** A server of the client's own, reached over the client's protocol. */
export interface AcpSpec {
  readonly kind: "acp";
  readonly name: string;
  /** Given by the client, for it alone: another client may have given the same. */
  readonly serverId: string;
  /** Which client of the session has it; the one that is attached unless given. */
  readonly client?: string;
}

export type ServerSpec = StdioSpec | RemoteSpec | AcpSpec;

/**
 * Whose a server is that a client itself reaches, or that was named from another machine: its name is the client's choice and says
 * nothing about it. Undefined for one that somebody at this machine named.
 */
export function foreignOwner(spec: ServerSpec): string | undefined {
  if (spec.kind === "acp") return `client ${spec.client ?? ""}`;
  return isRemote(spec) && spec.mustBePublic === true ? `service ${launchFingerprint(spec)}` : undefined;
}

export function isRemote(spec: ServerSpec): spec is RemoteSpec {
  return spec.kind === "http" || spec.kind === "sse";
}

/** Left out of a spec, a server runs like any other program of the person's. */
export interface SandboxSpec {
  /** What becomes of the session's directories: `workspace` may be written, `read-only` may not. */
  readonly mode: "workspace" | "read-only";
  /** Granted, it has the network of this machine; if not, an empty one of its own. */
  readonly network: boolean;
  /** The session's further directories, beside the one it runs in. */
  readonly directories?: readonly string[];
  /** Files and folders besides that it may read, and write: absolute, `~/…`, or relative to the session's directory. */
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  /** Its entry is not to be trusted with that: naming a file or a directory does not make it visible, but for the program. */
  readonly isConfined?: boolean;
  /** Folders that stay out of sight, also where they lie in one that is granted: a program that writes there controls the sandbox. */
  readonly hidden?: readonly string[];
  /** Where a server that is downloaded when it starts may keep what it downloads, in a folder of its own. */
  readonly cacheDir?: string;
}

/**
 * What decides which program or service answers, for the caches of era and tools. Values of variables and headers and the
 * directory are left out: they are secrets or accidents. Its name is not part of it either: that is only what we call it.
 */
export function launchFingerprint(spec: ServerSpec): string {
  return hashJson(launchOf(spec));
}

function launchOf(spec: ServerSpec): JsonObject {
  switch (spec.kind) {
    case "stdio": {
      const { kind, command, args, env, approved } = spec;
      // `node ./server.mjs` is another program in another project.
      const files = approved && approved.files.length > 0 ? { files: approved.files.map(({ path }) => path) } : {};
      return { kind, command, args, env: Object.keys(env).sort(), ...files };
    }
    case "http":
    case "sse": {
      const { kind, url, headers, auth } = spec;
      const names = Object.keys(headers).map((name) => name.toLowerCase());
      return { kind, url: withoutPassword(url), headers: names.sort(), auth: auth?.type ?? null };
    }
    case "acp": // its id is made up anew for each connection: the name is all that tells it again
      return { kind: spec.kind, name: spec.name };
  }
}

function withoutPassword(url: string): string {
  if (!isUrl(url)) return url;
  const parsed = new URL(url);
  parsed.username = "";
  parsed.password = "";
  return parsed.href;
}

/** What is logged of a package that is downloaded before its program is started in a sandbox. */
export const PACKAGE_FETCH = { begun: "mcp.package_fetch", done: "mcp.package_fetched" } as const;

/** Programs that download a package and run it, by their words; what follows is options and the package. */
const PACKAGE_RUNNERS: readonly string[] = [
  ...["npx", "bunx", "pnpx", "uvx", "npm exec", "npm x", "bun x", "pnpm dlx", "yarn dlx", "pipx run", "uv tool run"],
];
const PACKAGE_OPTIONS: ReadonlySet<string> = new Set(["-p", "--package", "--from", "--spec"]);

/** What goes on while a server starts, for people and models: of its arguments only a package is named. */
export function startText(spec: ServerSpec): string {
  if (isRemote(spec)) return isUrl(spec.url) ? `connecting to ${new URL(spec.url).host}` : "connecting";
  if (spec.kind === "acp") return "the client is connecting it";
  const program = spec.command.replace(/^.*[\\/]/u, "").replace(/\.(?:cmd|exe|bat)$/iu, "");
  const words = [program, ...spec.args];
  const runner = PACKAGE_RUNNERS.find((known) => words.slice(0, known.split(" ").length).join(" ") === known);
  if (runner === undefined) return `${program} is starting`;
  const rest = words.slice(runner.split(" ").length);
  const option = rest.findIndex((word) => PACKAGE_OPTIONS.has(word));
  const named = option === -1 ? rest.find((word) => !word.startsWith("-")) : rest[option + 1];
  return `${runner} is downloading or starting ${named ?? "its package"}`;
}
