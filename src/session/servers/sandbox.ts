// The sandbox a server of a session really runs in: what its spec and the configuration say, and the session's own least.
import { defined } from "../../base/json/defined.js";
import { type SandboxMode, type ServerSandbox, stricterMode } from "../../config/index.js";
import type { SandboxSpec, ServerSpec } from "../../mcp/index.js";

export interface SessionSandbox {
  /** What the person chose for the session: no server of it runs below. */
  readonly least?: SandboxMode;
  /** The session's directories beside its own. */
  readonly directories?: readonly string[];
}

/** Never looser than any of them. Doing it again changes nothing. A server that is not started here has none. */
export function inSandbox(
  spec: ServerSpec,
  configured: ServerSandbox | undefined,
  { least = "off", directories }: SessionSandbox = {},
): ServerSpec {
  if (spec.kind !== "stdio") return spec;
  const mode = stricterMode(stricterMode(spec.sandbox?.mode, configured?.mode), least);
  if (mode === "off") return spec;
  const isImposed = configured?.isImposed === true || least !== "off";
  const isConfined = configured?.isProject === true && isImposed;
  const grants = grantsOf(spec.sandbox, configured, isConfined);
  const hidden = configured?.hidden ?? spec.sandbox?.hidden;
  const cacheDir = configured?.cacheDir ?? spec.sandbox?.cacheDir;
  const more = directories ?? spec.sandbox?.directories;
  const sandbox: SandboxSpec = {
    mode,
    ...grants,
    ...defined({ isConfined: isConfined || undefined, directories: more, hidden, cacheDir }),
  };
  return { ...spec, sandbox };
}

/**
 * Where the configuration asks for a sandbox, whoever brings the spec cannot grant more than it does. What a project grants
 * itself does not hold in a sandbox that somebody else wants.
 */
function grantsOf(
  brought: SandboxSpec | undefined,
  configured: ServerSandbox | undefined,
  isConfined: boolean,
): Pick<SandboxSpec, "network" | "read" | "write"> {
  if (isConfined && configured?.isImposed === false) return { network: false, read: [], write: [] };
  const { network = false, read = [], write = [] } = configured ?? {};
  if (configured && configured.mode !== "off") return { network: network && brought?.network !== false, read, write };
  return {
    network: brought?.network ?? network,
    read: [...new Set([...(brought?.read ?? []), ...read])],
    write: [...new Set([...(brought?.write ?? []), ...write])],
  };
}

/** For people. */
export function sandboxWords({ mode, network }: Pick<SandboxSpec, "mode" | "network">): string {
  return `sandbox ${mode} ${network ? "with" : "without"} network`;
}
