// Reads `session/new` and its kin (load, resume, fork) as clients really send them: what can be repaired is, what cannot is named, nothing fails the session.
import { isAbsolute } from "node:path";
import { isJsonObject, type JsonValue } from "../base/json/json.js";
import type { NewSession } from "../session/index.js";
import { type ClientServers, readClientServers } from "./client-servers.js";

export interface SessionRequest extends ClientServers {
  readonly cwd: string;
  readonly additionalDirectories: readonly string[];
  readonly systemPrompt?: GivenPrompt;
}

type GivenPrompt = NonNullable<NewSession["systemPrompt"]>;

export type ReadSession =
  | { readonly ok: true; readonly request: SessionRequest }
  | { readonly ok: false; readonly reason: string };

/** For a session that is there already. */
export type StoredSessionRequest = SessionRequest & { readonly id: string };

export type ReadStoredSession =
  | { readonly ok: true; readonly request: StoredSessionRequest }
  | { readonly ok: false; readonly reason: string };

export function readStoredRequest(params: unknown): ReadStoredSession {
  const id = isJsonObject(params) ? params["sessionId"] : undefined;
  if (typeof id !== "string") return { ok: false, reason: "sessionId is missing: send the id of the session" };
  const read = readSessionRequest(params);
  return read.ok ? { ok: true, request: { ...read.request, id } } : read;
}

export function readSessionRequest(params: unknown): ReadSession {
  if (!isJsonObject(params)) return { ok: false, reason: "params must be an object" };
  const cwd = params["cwd"];
  if (typeof cwd !== "string")
    return { ok: false, reason: "cwd is missing: send the absolute path of the session's directory" };
  if (!isAbsolute(cwd)) return { ok: false, reason: `cwd must be an absolute path, got "${cwd}"` };
  const prompt = readSystemPrompt(params["systemPrompt"]);
  if (!prompt.ok) return prompt;
  const { notices: odd, ...given } = readClientServers(params["mcpServers"]);
  const notices = [...odd];
  const additionalDirectories = readDirectories(params["additionalDirectories"], (problem) => notices.push(problem));
  return { ok: true, request: { cwd, additionalDirectories, ...given, ...prompt.given, notices } };
}

type ReadPrompt =
  | { readonly ok: true; readonly given: { readonly systemPrompt?: GivenPrompt } }
  | { readonly ok: false; readonly reason: string };

/** Here nothing is repaired: a session without the words its client relies on would be another session. */
function readSystemPrompt(raw: JsonValue | undefined): ReadPrompt {
  if (raw === undefined || raw === null) return { ok: true, given: {} };
  const { mode, content } = isJsonObject(raw) ? raw : {};
  if (mode !== "append" && mode !== "override") {
    return { ok: false, reason: `systemPrompt.mode must be "append" or "override", got ${JSON.stringify(mode)}` };
  }
  if (!Array.isArray(content) || content.length === 0) {
    return { ok: false, reason: "systemPrompt.content must be an array of text blocks, and not empty" };
  }
  const texts = content.map((block) => (isJsonObject(block) && block["type"] === "text" ? block["text"] : undefined));
  if (!texts.every((text) => typeof text === "string")) {
    return { ok: false, reason: "systemPrompt.content may have text blocks only" };
  }
  return { ok: true, given: { systemPrompt: { mode, text: texts.join("\n") } } };
}

/** One that cannot be used costs itself only, and that is told: a client that sends it has reason to think it has it. */
function readDirectories(raw: JsonValue | undefined, tell: (problem: string) => void): readonly string[] {
  if (raw === undefined || raw === null) return [];
  if (!Array.isArray(raw)) {
    tell("additionalDirectories is no array: the session has its own directory only");
    return [];
  }
  const isUsable = (path: JsonValue): path is string => typeof path === "string" && isAbsolute(path);
  for (const path of raw) {
    if (!isUsable(path)) tell(`additionalDirectories: ${JSON.stringify(path)} is no absolute path, and is left out`);
  }
  return [...new Set(raw.filter(isUsable))];
}
