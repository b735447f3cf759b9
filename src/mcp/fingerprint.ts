// The identity of a server without its secrets, for what is remembered about it. What may be shared is `pool/sharing-key`.
import { hashJson } from "../base/json/hash.js";
import type { JsonObject } from "../base/json/json.js";
import type { ServerSpec } from "./spec.js";

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
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  parsed.username = "";
  parsed.password = "";
  return parsed.href;
}
