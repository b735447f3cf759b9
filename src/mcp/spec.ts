// What decides how one MCP server is reached: a union of its transports, already parsed and complete.

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
}

export interface RemoteSpec {
  /** `http` is Streamable HTTP, `sse` the older HTTP+SSE transport. */
  readonly kind: "http" | "sse";
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type ServerSpec = StdioSpec | RemoteSpec;
