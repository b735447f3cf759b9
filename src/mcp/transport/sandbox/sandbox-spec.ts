// What a server's process may touch: how its entry says it, before anything is looked up on this machine.

/** Left out of a spec, a server runs like any other program of the person's. */
export interface SandboxSpec {
  /** What becomes of the session's directories: `workspace` may be written, `read-only` may not. */
  readonly mode: "workspace" | "read-only";
  /** Granted, it has the network of this machine; if not, one of its own without anybody in it. */
  readonly network: boolean;
  /** The session's further directories, beside the one it runs in. */
  readonly directories?: readonly string[];
  /** Files and folders besides that it may read, and write: absolute, `~/…`, or relative to the session's directory. */
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  /** Its entry is not to be trusted with that: naming a file or a directory does not make it visible, but for the program. */
  readonly isConfined?: boolean;
  /** Folders that stay out of sight, also where they lie in one that is granted: whoever writes there rules the sandbox. */
  readonly hidden?: readonly string[];
  /** Where a server that is downloaded when it starts may keep what it downloads, in a folder of its own. */
  readonly cacheDir?: string;
}
