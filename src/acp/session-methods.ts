// The methods of Tenon's own about one session: its state, its records, its tools and servers, its open questions.
import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { markForeign } from "../base/text/marking.js";
import type { SetToolsMode, SetToolsRequest, StoredRecord, StoredView } from "../session/index.js";
import type { ExplainedTool } from "../tools/index.js";
import type { OwnMethod, SessionAccess, SessionHandle } from "./access.js";
import { MCP_STATUS, type SESSION_METHODS, type SHARED_SESSION_METHODS } from "./capabilities.js";
import { ACP_LIMITS } from "./limits.js";
import { mcpStatus } from "./sessions.js";

type SessionMethod = typeof MCP_STATUS | (typeof SESSION_METHODS | typeof SHARED_SESSION_METHODS)[number];

type SessionMethods = Readonly<Record<SessionMethod, OwnMethod>>;

interface Finding {
  /** A session of this connection, or one that is in memory. */
  readonly peek: (id: string) => SessionHandle | undefined;
  /** One that this connection has open. */
  readonly joined: (id: string) => SessionHandle;
  /** Aborts when the client takes its request back, but not when it is gone. */
  readonly takenBack: (signal: AbortSignal) => AbortSignal;
}

export function sessionMethods(access: SessionAccess, { peek, joined, takenBack }: Finding): SessionMethods {
  const find = (params: JsonObject): SessionHandle => {
    const id = sessionId(params);
    const session = peek(id);
    if (session) return session;
    throw new TenonError("session.not_found", `there is no open session "${id}"`, { hint: "Load it first." });
  };
  return {
    [MCP_STATUS]: async (params) => await mcpStatus(find(params)),
    "_tenon/mcp/restart": async (params) => {
      const change = await find(params).restartServer(textOf(params, "server"));
      if (change.ok) return { text: change.text };
      throw new TenonError("session.invalid_request", change.reason);
    },
    "_tenon/mcp/login": async (params) => {
      const page = await find(params).loginPage(textOf(params, "server"));
      if ("url" in page) return page;
      throw new TenonError("session.invalid_request", page.reason);
    },
    "_tenon/session/view": async (params) => {
      const open = peek(sessionId(params));
      return open ? viewOf(open) : storedViewOf(await access.stored(sessionId(params)));
    },
    "_tenon/session/tools": async (params, _, signal) => await toolsOf(find(params), params["query"], signal),
    "_tenon/session/call_tool": async (params, _, signal) => await callTool(find(params), params, takenBack(signal)),
    "_tenon/session/set_tools": (params) => joined(sessionId(params)).setTools(readSetTools(params)),
    "_tenon/session/records": async (params) => await recordsOf(access, sessionId(params), params),
    "_tenon/question/answer": (params) => {
      const { questionId, answer } = params;
      if (typeof questionId !== "string" || answer === undefined) {
        throw new TenonError("session.invalid_request", "questionId and answer are needed");
      }
      const { questions } = find(params);
      return { result: questions.answer(questionId, answer, { client: "local", name: "the client" }) };
    },
  };
}

/** All that a client needs to show a session, beside its conversation. */
export function viewOf(session: SessionHandle): WireView {
  const { id, title, cwd, state, clients, questions, queued, usage, servers } = session.view();
  return {
    sessionId: id,
    ...{ cwd, state, seq: session.log.lastSeq, ...defined({ title }) },
    clients: clients.map(({ client, name, role }) => ({ client, name, role, isHere: true })),
    questions: questions.map(({ id, of, askedMs, turn, toolCallId, shown }) => ({
      ...{ id, of, askedAt: askedMs, shown },
      ...defined({ turn, toolCallId }),
    })),
    queued: queued.map(({ promptId = "", by }) => ({ promptId, ...defined({ by }) })),
    usage: { ...usage },
    servers: servers.map((status) => ({ ...status })),
  };
}

/** Of a session that is not in memory: nobody is there, and no server runs. */
function storedViewOf({ id, title, cwd, seq, usage, questions, queued, owner }: StoredView): WireView {
  return {
    sessionId: id,
    ...{ cwd, state: "resting", seq, clients: [], queued, usage: { ...usage }, servers: [] },
    questions: questions.map(({ askedMs, ...question }) => ({ ...question, askedAt: askedMs })),
    ...defined({ title, owner }),
  };
}

type View = ReturnType<SessionHandle["view"]>;

export interface WireView {
  readonly sessionId: string;
  readonly title?: string;
  readonly cwd: string;
  readonly state: View["state"] | "resting";
  /** Of a session that is not in memory: who else has it open. */
  readonly owner?: string;
  readonly seq: number;
  readonly clients: readonly {
    readonly client: string;
    readonly name: string;
    readonly role: View["clients"][number]["role"];
    readonly isHere: boolean;
  }[];
  readonly questions: readonly (Omit<View["questions"][number], "askedMs" | "summary" | "shown"> & {
    readonly askedAt: number;
    readonly shown: JsonValue;
  })[];
  readonly queued: readonly {
    readonly promptId: string;
    readonly by?: { readonly client: string; readonly name: string };
  }[];
  readonly usage: object;
  readonly servers: readonly object[];
}

/** Every tool with why it is, or is not, in front of the model; with a query what a search finds, best first. */
async function toolsOf(session: SessionHandle, query: unknown, signal: AbortSignal): Promise<object> {
  await session.configured;
  const all = session.tools.inspect().all();
  const asked = typeof query === "string" && query !== "" ? query.slice(0, ACP_LIMITS.tools.queryChars) : undefined;
  const shown = asked === undefined ? all : await foundTools(session, { all, query: asked }, signal);
  const { most, schemaChars } = ACP_LIMITS.tools;
  let room: number = schemaChars;
  const tools = shown.slice(0, most).map((explained) => {
    const { tool, name, server, origin, kind, reason } = explained;
    const { title, description = "", inputSchema } = tool?.definition ?? {};
    const chars = inputSchema ? JSON.stringify(inputSchema).length : 0;
    room -= chars;
    return {
      ...{ name, server, origin, description, offered: kind === "offered", why: kind, reason: markForeign(reason) },
      ...defined({ title, score: "score" in explained ? explained.score : undefined }),
      ...defined({ inputSchema: room >= 0 ? inputSchema : undefined }),
    };
  });
  return { tools, ...defined({ leftOut: shown.length > most ? shown.length - most : undefined }) };
}

async function foundTools(
  session: SessionHandle,
  { all, query }: { readonly all: readonly ExplainedTool[]; readonly query: string },
  signal: AbortSignal,
): Promise<readonly (ExplainedTool & { readonly score: number })[]> {
  const { results: limit } = ACP_LIMITS.tools;
  const found = await session.tools.search({ query, limit, isTrial: true }, signal);
  if (found.kind !== "found") return [];
  const byName = new Map(all.map((one) => [one.name, one]));
  return found.tools.flatMap(({ tool, score }) => {
    const known = byName.get(tool.id);
    return known ? [{ ...known, score }] : [];
  });
}

/** As the model's calls: the result is what a model would be given. */
async function callTool(session: SessionHandle, params: JsonObject, signal: AbortSignal): Promise<object> {
  const name = textOf(params, "name");
  const { arguments: given = {} } = params;
  if (!isJsonObject(given)) throw new TenonError("session.invalid_request", "arguments must be an object");
  const argumentsJson = JSON.stringify(given);
  const { argumentsChars, nameChars } = ACP_LIMITS.tools;
  if (/\s/u.test(name) || name.length > nameChars) {
    throw new TenonError("session.invalid_request", `name must be the name of a tool, without spaces`);
  }
  if (argumentsJson.length > argumentsChars) {
    throw new TenonError("session.invalid_request", `arguments have at most ${argumentsChars} characters as JSON`);
  }
  return await session.callTool({ name, argumentsJson }, signal, {});
}

const SET_MODES: readonly SetToolsMode[] = ["replace", "add", "remove", "clear"];
/** One word or a few, in any script: it is part of names, and stands in questions to people. */
const KEY = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._-]{0,63}$/u;

export function readSetTools({ key, mode = "replace", tools = [] }: JsonObject): SetToolsRequest {
  const known = SET_MODES.find((one) => one === mode);
  if (typeof key !== "string" || !KEY.test(key)) {
    const words =
      "key must be a text of 1 to 64 letters, digits, spaces, dots, - and _ that begins with a letter or a digit";
    throw new TenonError("session.invalid_request", words);
  }
  if (!known) throw new TenonError("session.invalid_request", `mode must be one of ${SET_MODES.join(", ")}`);
  if (!Array.isArray(tools)) throw new TenonError("session.invalid_request", "tools must be a list");
  return { key, mode: known, tools };
}

/** As they are kept: long texts and media are records of their own, and blocks name them. */
async function recordsOf(access: SessionAccess, id: string, params: JsonObject): Promise<object> {
  const { after = 0, limit = ACP_LIMITS.recordsPerRead, kinds } = params;
  if (!isCount(after) || !isCount(limit)) {
    throw new TenonError("session.invalid_request", "after and limit must be whole numbers from 0 on");
  }
  const most = ACP_LIMITS.lists.kinds;
  if (Array.isArray(kinds) && kinds.length > most) {
    throw new TenonError("session.invalid_request", `kinds has ${kinds.length} entries: there may be at most ${most}`);
  }
  const wanted = Array.isArray(kinds) ? new Set<unknown>(kinds) : undefined;
  const isWanted = ({ kind }: StoredRecord) => wanted?.has(kind) ?? true;
  const read = await access.records(id, after, Math.min(limit, ACP_LIMITS.recordsPerRead));
  const records = read.filter(isWanted);
  const seq = read.at(-1)?.seq ?? after;
  return { records, seq, ...defined({ next: read.length > 0 ? seq : undefined }) };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

function sessionId(params: JsonObject): string {
  return textOf(params, "sessionId");
}

function textOf(params: JsonObject, name: "sessionId" | "server" | "name"): string {
  const text = params[name];
  if (typeof text !== "string") throw new TenonError("session.invalid_request", `${name} is missing`);
  return text;
}
