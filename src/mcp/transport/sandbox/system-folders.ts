// The part of the system every program needs: programs and libraries, and of /etc what names, addresses and certificates are found by.
import type { Files } from "../../../base/ports/world.js";
import type { Mount } from "./mounts.js";

/** Read-only and for everybody; nothing in them is the person's own. */
const SYSTEM_FOLDERS: readonly string[] = ["/usr", "/opt", "/nix/store", "/gnu/store", "/run/current-system"];

/** Links into /usr on most systems, folders on some. */
const BESIDE_USR: readonly string[] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** Only what programs look for when they run: each of them costs a tenth of a millisecond at every start. */
const FROM_ETC: readonly string[] = [
  ...["alternatives", "ld.so.cache", "localtime", "os-release", "mime.types", "fonts", "gitconfig"],
  ...["passwd", "group", "nsswitch.conf", "hosts", "resolv.conf", "services"],
  ...["ssl", "pki", "ca-certificates", "crypto-policies", "java-17-openjdk", "java-21-openjdk"],
].map((name) => `/etc/${name}`);

export function isInSystem(path: string): boolean {
  return [...SYSTEM_FOLDERS, ...BESIDE_USR].some((folder) => path === folder || path.startsWith(`${folder}/`));
}

export async function systemMounts(files: Files): Promise<readonly Mount[]> {
  const beside = await Promise.all(
    BESIDE_USR.map(async (path): Promise<Mount> => {
      const target = await files.linkTarget(path);
      return target === undefined ? { kind: "read", path, isOptional: true } : { kind: "link", path, target };
    }),
  );
  const others = [...SYSTEM_FOLDERS, ...FROM_ETC].map((path): Mount => ({ kind: "read", path, isOptional: true }));
  return [...beside, ...others];
}
