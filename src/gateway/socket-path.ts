// Where the local gateway of a user listens. Light, since a translator asks for it before it has answered anything.
import { createHash } from "node:crypto";
import { dirname, isAbsolute, join } from "node:path";
import type { World } from "../base/ports/world.js";

/** A socket's address has 108 bytes on Linux and 104 on macOS, the final zero included. */
const MAX_SOCKET_PATH_BYTES = 100;

/** One per state directory: two homes of one user have two gateways. */
export function gatewaySocketPath({ env }: Pick<World, "env">, stateDir: string): string {
  const hash = createHash("sha256").update(stateDir).digest("hex").slice(0, 16);
  const [runtime, temporary] = [env["XDG_RUNTIME_DIR"], env["TMPDIR"]];
  const places = [
    runtime && isAbsolute(runtime) ? join(runtime, "tenon", `gateway-${hash}.sock`) : undefined,
    join(stateDir, "gateway", "gateway.sock"),
    temporary && isAbsolute(temporary) ? join(temporary, `tenon-${hash}`, "gateway.sock") : undefined,
  ];
  const fits = (path: string | undefined) => path !== undefined && Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES;
  return places.find(fits) ?? join("/tmp", `tenon-${hash}`, "gateway.sock");
}

/**
 * Why the folder of a socket may not be used, by whoever listens there and by whoever connects: in the temporary directory another
 * user may have made it first. Undefined: it is a folder, ours, and closed to others.
 */
export async function socketFolderProblem({ files }: Pick<World, "files">, path: string): Promise<string | undefined> {
  const folder = dirname(path);
  const kind = await files.kindOf(folder);
  if (kind === undefined) return `the folder ${folder} is not there`;
  if (kind !== "folder") return `${folder} is a ${kind}, not a folder`;
  const found = await files.find(folder);
  if (found === undefined) return `the folder ${folder} is not there`;
  if (found.foreignOwner !== undefined) return `the folder ${folder} belongs to user ${found.foreignOwner}, not to you`;
  const open = (found.mode & 0o077).toString(8);
  return open === "0" ? undefined : `the folder ${folder} is open to other users (mode ${found.mode.toString(8)})`;
}
