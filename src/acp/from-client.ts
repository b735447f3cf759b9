// Reads `session/new` and its kin (load, resume, fork) as clients really send them: what can be repaired is, what cannot is named, nothing fails the session.

import { isAbsolute } from "node:path";
import type * as acp from "@agentclientprotocol/sdk";
import { includeMode } from "../base/include-mode.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { normaliseKind } from "../base/server-kind.js";
import type { ContentBlock } from "../base/text/content.js";
import type { BearerAuth, ServerSpec } from "../mcp/index.js";
import type { NewSession, RejectedServer } from "../session/index.js";
import type { IncludeMode, ServerInclude } from "../tools/index.js";
import { ACP_LIMITS } from "./limits.js";
import { receivedMeta } from "./meta.js";

export interface SessionRequest extends ClientServers {
  readonly cwd: string;
  readonly additionalDirectories: readonly string[];
  readonly systemPrompt?: NonNullable<NewSession["systemPrompt"]>;
}

/** For a stored session. */
export type StoredSessionRequest = SessionRequest & { readonly id: string };

/** Throws an `InvalidRequest`, as `readSessionRequest` does. */
export function readStoredRequest(params: unknown): StoredSessionRequest {
  const id = isJsonObject(params) ? params["sessionId"] : undefined;
  if (typeof id !== "string") throw new InvalidRequest("sessionId is missing: send the id of the session");
  return { ...readSessionRequest(params), id };
}

export function readSessionRequest(params: unknown): SessionRequest {
  if (!isJsonObject(params)) throw new InvalidRequest("params must be an object");
  const cwd = params["cwd"];
  if (typeof cwd !== "string")
    throw new InvalidRequest("cwd is missing: send the absolute path of the session's directory");
  if (!isAbsolute(cwd)) throw new InvalidRequest(`cwd must be an absolute path, got "${cwd}"`);
  const systemPrompt = readSystemPrompt(params["systemPrompt"]);
  const { notices: odd, ...given } = readClientServers(params["mcpServers"]);
  const notices = [...odd];
  const additionalDirectories = readDirectories(params["additionalDirectories"], (problem) => notices.push(problem));
  return { cwd, additionalDirectories, ...given, ...defined({ systemPrompt }), notices };
}

/** No TenonError: the start of the command line must not load it. */
export class InvalidRequest extends Error {}

/** Of a list or a map. */
function mustFit(field: "mcpServers" | "additionalDirectories", raw: JsonValue | undefined, what: string): void {
  const most = ACP_LIMITS.lists[field];
  const given = Array.isArray(raw) ? raw.length : Object.keys(isJsonObject(raw) ? raw : {}).length;
  if (given > most) throw new InvalidRequest(`${field} has ${given} ${what}: a request may have at most ${most}`);
}

/** Nothing is repaired here: a session without the instructions its client relies on would be another session. */
function readSystemPrompt(raw: JsonValue | undefined): SessionRequest["systemPrompt"] {
  if (raw === undefined || raw === null) return undefined;
  const { mode, content } = isJsonObject(raw) ? raw : {};
  if (mode !== "append" && mode !== "override") {
    throw new InvalidRequest(`systemPrompt.mode must be "append" or "override", got ${JSON.stringify(mode)}`);
  }
  if (!Array.isArray(content) || content.length === 0) {
    throw new InvalidRequest("systemPrompt.content must be an array of text blocks, and not empty");
  }
  const texts = content.map((block) => (isJsonObject(block) && block["type"] === "text" ? block["text"] : undefined));
  if (!texts.every((text) => typeof text === "string"))
    throw new InvalidRequest("systemPrompt.content may have text blocks only");
  return { mode, text: texts.join("\n") };
}

/** One that cannot be used costs itself only, and that is told: a client that sends it has reason to think it has it. */
function readDirectories(raw: JsonValue | undefined, tell: (problem: string) => void): readonly string[] {
  if (raw === undefined || raw === null) return [];
  if (!Array.isArray(raw)) {
    tell("additionalDirectories is no array: the session has its own directory only");
    return [];
  }
  mustFit("additionalDirectories", raw, "directories");
  const isUsable = (path: JsonValue): path is string => typeof path === "string" && isAbsolute(path);
  for (const path of raw) {
    if (!isUsable(path)) tell(`additionalDirectories: ${JSON.stringify(path)} is no absolute path, and is left out`);
  }
  return [...new Set(raw.filter(isUsable))];
}

export interface ClientServers {
  readonly servers: readonly ServerSpec[];
  readonly rejected: readonly RejectedServer[];
  /** By server name, how its tools come before the model: `_meta.tenon.include` of its entry, else its `toolInclude`. */
  readonly includes: Readonly<Record<string, ServerInclude>>;
  /** Those whose entry says `_meta.tenon.required`: without them the first turn is to fail. */
  readonly required: readonly string[];
  /** What could not be understood although the server can be used, each in one sentence. */
  readonly notices: readonly string[];
}

/** Throws an `InvalidRequest` for more than there may be. */
export function readClientServers(raw: JsonValue | undefined): ClientServers {
  mustFit("mcpServers", raw, "servers");
  const servers = new Map<string, ServerSpec>();
  const rejected: RejectedServer[] = [];
  const includes = new Map<string, ServerInclude>();
  const required = new Set<string>();
  const notices: string[] = [];
  for (const [index, entry] of entriesOf(raw).entries()) {
    const read = readServer(entry, index);
    const raw = isJsonObject(entry) ? entry : {};
    if ("reason" in read) {
      const isRequired = receivedMeta(raw).required === true;
      rejected.push(isRequired ? { ...read, isRequired } : read);
      continue;
    }
    const { include: ours, required: isRequired = false } = receivedMeta(raw);
    const key = ours === undefined ? "toolInclude" : "_meta.tenon.include";
    const tell = (problem: string) => notices.push(`server "${read.name}": ${key} ${problem}`);
    includes.set(read.name, readInclude(ours ?? raw["toolInclude"], tell));
    required.delete(read.name);
    if (isRequired === true) required.add(read.name);
    else if (isRequired !== false) {
      const value = JSON.stringify(isRequired);
      notices.push(`server "${read.name}": _meta.tenon.required is ${value}: use true or false`);
    }
    if (servers.has(read.name)) {
      rejected.push({ name: read.name, reason: "another server of the same name follows: the last one counts" });
    }
    servers.set(read.name, read);
  }
  const all = { includes: Object.fromEntries(includes), required: [...required] };
  return { servers: [...servers.values()], rejected, ...all, notices };
}

/**
 * An array by the protocol. A map from names to entries is what people have in their files and some clients pass on, and
 * an empty one is how an empty Lua table is written.
 */
function entriesOf(raw: JsonValue | undefined): readonly JsonValue[] {
  if (raw === undefined || raw === null) return [];
  if (!isJsonObject(raw)) return typeof raw === "object" ? raw : [raw];
  return Object.entries(raw).map(([name, entry]) => (isJsonObject(entry) ? { name, ...entry } : { name }));
}

function readServer(raw: JsonValue, index: number): ServerSpec | RejectedServer {
  if (!isJsonObject(raw)) return { name: `#${index + 1}`, reason: "the entry is not an object" };
  const name = typeof raw["name"] === "string" && raw["name"] !== "" ? raw["name"] : undefined;
  if (name === undefined) return { name: `#${index + 1}`, reason: "the entry has no name" };
  const type = raw["type"] ?? (raw["command"] === undefined && raw["url"] !== undefined ? "http" : "stdio");
  if (type === "acp") return readAcp(raw, name);
  const named = typeof type === "string" ? (normaliseKind(type) ?? normaliseKind(type.toLowerCase())) : undefined;
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
      return { name, reason: `type ${JSON.stringify(type)} is not supported: use stdio, http, sse or acp` };
  }
}

/** `id` is what an earlier draft of the protocol called it. */
function readAcp(raw: JsonObject, name: string): ServerSpec | RejectedServer {
  const serverId = raw["serverId"] ?? raw["id"];
  if (typeof serverId === "string" && serverId !== "") return { kind: "acp", name, serverId };
  return { name, reason: 'a server of type "acp" needs a serverId' };
}

/** Only a bearer token is known; anything else is left to the server, which says what it wants. */
function readAuth(raw: JsonValue | undefined): { auth?: BearerAuth } {
  if (!isJsonObject(raw) || raw["type"] !== "bearer" || typeof raw["token"] !== "string") return {};
  return { auth: { type: "bearer", token: raw["token"] } };
}

/** Some write program and arguments as one list. */
function readStdio(raw: JsonObject, name: string): ServerSpec | RejectedServer {
  const [command, ...more] = Array.isArray(raw["command"]) ? raw["command"] : [raw["command"]];
  if (typeof command !== "string" || command === "") return { name, reason: "a stdio server needs a command" };
  const given = Array.isArray(raw["args"]) ? raw["args"] : typeof raw["args"] === "string" ? [raw["args"]] : [];
  const args = [...more, ...given].map((arg) => (typeof arg === "string" ? arg : JSON.stringify(arg)));
  // ACP has no directory per server; `_meta.tenon.cwd` carries one for clients that have it, `cwd` for those that pass on a file.
  const place = receivedMeta(raw).cwd ?? raw["cwd"];
  const cwd = typeof place === "string" && place !== "" ? place : undefined;
  return { kind: "stdio", name, command, args, env: readPairs(raw["env"]), ...defined({ cwd }) };
}

/**
 * A mode for the whole server, or `{ default, tools: { name: mode } }`, where clients with `toolInclude` write `serverDefault`.
 * What is wrong is told and costs only itself.
 */
function readInclude(raw: JsonValue | undefined, tell: (problem: string) => void): ServerInclude {
  if (raw === undefined || raw === null) return {};
  if (!isJsonObject(raw)) {
    const mode = readMode(raw, tell);
    return mode ? { include: mode } : {};
  }
  const { default: ofServer, serverDefault, tools, ...unknown } = raw;
  for (const key of Object.keys(unknown)) tell(`has an unknown key "${key}"`);
  const server = ofServer ?? serverDefault;
  const include = server === undefined ? undefined : readMode(server, tell);
  if (tools !== undefined && !isJsonObject(tools)) tell("has tools that are no object");
  const byTool = Object.entries(isJsonObject(tools) ? tools : {}).flatMap(([name, given]): [string, IncludeMode][] => {
    const mode = readMode(given, tell);
    return mode ? [[name, mode]] : [];
  });
  return defined({
    include: include || undefined,
    includeByTool: byTool.length > 0 ? Object.fromEntries(byTool) : undefined,
  });
}

function readMode(raw: JsonValue | undefined, tell: (problem: string) => void): IncludeMode | undefined {
  const mode = includeMode(raw);
  if (!mode) tell(`is ${JSON.stringify(raw)}: use "always", "manual" or "search"`);
  return mode;
}

/** `[{name, value}]` as the protocol says, or a plain map as some clients send it. */
function readPairs(raw: JsonValue | undefined): Record<string, string> {
  const pairs: [string, JsonValue | undefined][] = Array.isArray(raw)
    ? raw.flatMap((pair) => {
        const { name, value } = isJsonObject(pair) ? pair : {};
        return typeof name === "string" ? [[name, value]] : [];
      })
    : Object.entries(isJsonObject(raw) ? raw : {});
  return Object.fromEntries(pairs.map(([name, value]) => [name, valueText(value)]));
}

function valueText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function toBlock(block: acp.ContentBlock): ContentBlock {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
      return { type: "image", data: block.data, mimeType: block.mimeType, ...defined({ uri: block.uri || undefined }) };
    case "audio":
      return { type: "audio", data: block.data, mimeType: block.mimeType };
    case "resource": {
      const { uri, mimeType, ...content } = block.resource;
      const words = "text" in content ? { text: content.text } : { blob: content.blob };
      return { type: "resource", uri, ...words, ...defined({ mimeType: mimeType || undefined }) };
    }
    case "resource_link": {
      const { uri, name, title, description, mimeType } = block;
      const more = {
        title: title || undefined,
        description: description || undefined,
        mimeType: mimeType || undefined,
      };
      return { type: "resource_link", uri, name, ...defined(more) };
    }
  }
}
