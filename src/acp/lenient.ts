// Reads `session/new` as clients really send it: what can be repaired is, what cannot is named, nothing fails the session.
import { isAbsolute } from "node:path";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.js";
import { normaliseKind } from "../base/server-kind.js";
import type { BearerAuth, ServerSpec } from "../mcp/index.js";
import type { RejectedServer } from "../session/index.js";

export interface SessionRequest {
  readonly cwd: string;
  readonly servers: readonly ServerSpec[];
  readonly rejected: readonly RejectedServer[];
}

export type ReadSession =
  | { readonly ok: true; readonly request: SessionRequest }
  | { readonly ok: false; readonly reason: string };

export function readSessionRequest(params: unknown): ReadSession {
  if (!isJsonObject(params)) return { ok: false, reason: "params must be an object" };
  const cwd = params["cwd"];
  if (typeof cwd !== "string")
    return { ok: false, reason: "cwd is missing: send the absolute path of the session's directory" };
  if (!isAbsolute(cwd)) return { ok: false, reason: `cwd must be an absolute path, got "${cwd}"` };
  const raw = params["mcpServers"] ?? [];
  if (!Array.isArray(raw)) return { ok: false, reason: "mcpServers must be an array" };
  const servers = new Map<string, ServerSpec>();
  const rejected: RejectedServer[] = [];
  for (const [index, entry] of raw.entries()) {
    const read = readServer(entry, index);
    if ("reason" in read) rejected.push(read);
    else {
      const earlier = servers.get(read.name);
      if (earlier)
        rejected.push({ name: read.name, reason: "another server of the same name follows: the last one counts" });
      servers.set(read.name, read);
    }
  }
  return { ok: true, request: { cwd, servers: [...servers.values()], rejected } };
}

function readServer(raw: JsonValue, index: number): ServerSpec | RejectedServer {
  if (!isJsonObject(raw)) return { name: `#${index + 1}`, reason: "the entry is not an object" };
  const name = typeof raw["name"] === "string" && raw["name"] !== "" ? raw["name"] : undefined;
  if (name === undefined) return { name: `#${index + 1}`, reason: "the entry has no name" };
  const type = raw["type"] ?? (raw["command"] === undefined && raw["url"] !== undefined ? "http" : "stdio");
  const named = typeof type === "string" ? normaliseKind(type) : undefined;
  switch (named?.kind) {
    case "stdio":
      return readStdio(raw, name);
    case "http":
    case "sse": {
      const url = raw["url"];
      if (typeof url !== "string" || url === "")
        return { name, reason: `a server of type "${named.kind}" needs a url` };
      const { kind, note } = named;
      return { kind, name, url, headers: readPairs(raw["headers"]), ...readAuth(raw["auth"]), ...(note && { note }) };
    }
    case undefined:
      return { name, reason: `type ${JSON.stringify(type)} is not supported: use stdio, http or sse` };
  }
}

/** Only a bearer token is known; anything else is left to the server, which says what it wants. */
function readAuth(raw: JsonValue | undefined): { auth?: BearerAuth } {
  if (!isJsonObject(raw) || raw["type"] !== "bearer" || typeof raw["token"] !== "string") return {};
  return { auth: { type: "bearer", token: raw["token"] } };
}

function readStdio(raw: JsonObject, name: string): ServerSpec | RejectedServer {
  const command = raw["command"];
  if (typeof command !== "string" || command === "") return { name, reason: "a stdio server needs a command" };
  const args = Array.isArray(raw["args"])
    ? raw["args"].map((arg) => (typeof arg === "string" ? arg : JSON.stringify(arg)))
    : [];
  const cwd = readCwd(raw["_meta"]);
  return { kind: "stdio", name, command, args, env: readPairs(raw["env"]), ...(cwd === undefined ? {} : { cwd }) };
}

/** ACP has no directory per server; `_meta.tenon.cwd` carries one for clients that have it in their config. */
function readCwd(meta: JsonValue | undefined): string | undefined {
  const ours = isJsonObject(meta) ? meta["tenon"] : undefined;
  const cwd = isJsonObject(ours) ? ours["cwd"] : undefined;
  return typeof cwd === "string" && cwd !== "" ? cwd : undefined;
}

/** `[{name, value}]` as the protocol says, or a plain map as some clients send it. */
function readPairs(raw: JsonValue | undefined): Record<string, string> {
  const pairs: [string, string][] = [];
  if (Array.isArray(raw)) {
    for (const pair of raw) {
      if (!isJsonObject(pair) || typeof pair["name"] !== "string") continue;
      pairs.push([pair["name"], valueText(pair["value"])]);
    }
  } else if (isJsonObject(raw)) {
    for (const [key, value] of Object.entries(raw)) pairs.push([key, valueText(value)]);
  }
  return Object.fromEntries(pairs);
}

function valueText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
