// `/mcp add <server> …` -> what to connect to. Secrets do not belong into a conversation, so there is no way to give any.
import type { ServerSpec } from "../../mcp/index.js";

export type ReadServer =
  | { readonly ok: true; readonly spec: ServerSpec }
  | { readonly ok: false; readonly reason: string };

const FORM = "write /mcp add <server> <url>, or /mcp add <server> <command> <arguments…>";

export function readServerWords(words: string): ReadServer {
  const [name, target, ...args] = [...words.matchAll(/"((?:[^"\\]|\\.)*)"|\S+/gu)].map(([whole, quoted]) =>
    quoted === undefined ? whole : quoted.replaceAll(/\\(.)/gu, "$1"),
  );
  if (name === undefined || target === undefined) return { ok: false, reason: FORM };
  if (/^https?:\/\//iu.test(target)) {
    if (args.length > 0) return { ok: false, reason: `a url has no arguments; ${FORM}` };
    return { ok: true, spec: { kind: "http", name, url: target, headers: {} } };
  }
  return { ok: true, spec: { kind: "stdio", name, command: target, args, env: {} } };
}
