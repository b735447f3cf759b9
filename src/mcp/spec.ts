// What decides how one MCP server is reached: a union of its transports, already parsed and complete.
import type { SandboxSpec } from "./transport/sandbox/sandbox-spec.js";

/** A file as it was approved: its real path, its size and the hash of its content. */
export interface PinnedFile {
  readonly path: string;
  readonly hash: string;
}

/**
 * What a person approved about starting a server, put here by the configuration. `project`: the entry is the project's own,
 * with the programs and scripts of the project that it runs. `folder`: a server that does not come from the project may run
 * what the session's folder has, as far as `key` says. Without an approval nothing in the folder may decide what runs.
 */
export type LaunchApproval =
  | { readonly by: "project"; readonly files: readonly PinnedFile[] }
  | { readonly by: "folder"; readonly files: readonly PinnedFile[]; readonly key: string };

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

/** How a remote server is told who is calling, besides its headers. */
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
  /** How its entry was understood, where that is not what it says: for people. */
  readonly note?: string;
}

/** A server of the client's own, reached over the client's protocol. */
export interface AcpSpec {
  readonly kind: "acp";
  readonly name: string;
  /** Given by the client, valid on its connection only. */
  readonly serverId: string;
}

export type ServerSpec = StdioSpec | RemoteSpec | AcpSpec;

export function isRemote(spec: ServerSpec): spec is RemoteSpec {
  return spec.kind === "http" || spec.kind === "sse";
}
