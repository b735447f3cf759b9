// The files of the page: read once from the folder of the package, compressed once, and found by their exact names.
import { createHash } from "node:crypto";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { messageOf } from "../../base/message.js";
import type { World } from "../../base/ports/world.js";
import { GATEWAY_LIMITS } from "../limits.js";

export interface PageFile {
  readonly type: string;
  readonly hash: string;
  /** Its name changes with its content, so it may be kept for ever. */
  readonly isHashed: boolean;
  /** As a client with this `Accept-Encoding` gets it. */
  for(acceptEncoding: string): { readonly encoding?: "br" | "gzip"; readonly body: Uint8Array };
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".txt": "text/plain; charset=utf-8",
};

/** By name. None where the folder is missing or cannot be read: then `/` says so. */
export async function readPageFiles(world: World, folder: string | undefined): Promise<ReadonlyMap<string, PageFile>> {
  if (folder === undefined) return new Map();
  try {
    const { files, filesMaxBytes } = GATEWAY_LIMITS.page;
    const found = (await world.files.list(folder)).filter(({ name }) => TYPES[extname(name)] !== undefined);
    const bytes = found.reduce((sum, file) => sum + file.bytes, 0);
    if (found.length > files || bytes > filesMaxBytes) throw new Error(`${found.length} files, ${bytes} bytes`);
    const read = found.map(async ({ name, bytes: length }) => {
      const body = await world.files.readBytes(join(folder, name), { start: 0, length });
      return [name, await pageFile(name, body)] as const;
    });
    return new Map(await Promise.all(read));
  } catch (error) {
    world.log.error("gateway.page_unreadable", { folder, error: messageOf(error) });
    return new Map();
  }
}

async function pageFile(name: string, body: Uint8Array): Promise<PageFile> {
  const type = TYPES[extname(name)] ?? "application/octet-stream";
  const isText = type.startsWith("text/") || type.startsWith("image/svg");
  const [br, zipped] = isText
    ? await Promise.all([
        promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
        promisify(gzip)(body, { level: 9 }),
      ])
    : [];
  return {
    type,
    hash: createHash("sha256").update(body).digest("base64url").slice(0, 22),
    isHashed: /-[0-9A-Za-z_]{8,}\.\w+$/u.test(name),
    for: (acceptEncoding) => {
      if (br && takes(acceptEncoding, "br")) return { encoding: "br", body: br };
      return zipped && takes(acceptEncoding, "gzip") ? { encoding: "gzip", body: zipped } : { body };
    },
  };
}

/** `gzip;q=0` is a refusal. */
function takes(acceptEncoding: string, encoding: string): boolean {
  const parts = acceptEncoding.split(",").map((part) => part.trim().split(/\s*;\s*/u));
  return parts.some(([name, quality]) => name === encoding && !/^q=0(\.0*)?$/u.test(quality ?? ""));
}
