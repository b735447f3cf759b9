// The methods of Tenon's own about one session: its state, its records, its tools, its open questions.
import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../base/json/json.js";
import type { SetToolsMode, SetToolsRequest, StoredRecord } from "../session/index.js";
import type { CatalogTool } from "../tools/index.js";
import type { SessionAccess, SessionHandle } from "./access.js";
import type { SESSION_METHODS } from "./capabilities.js";
import { ACP_LIMITS } from "./limits.js";

type SessionMethod = (typeof SESSION_METHODS)[number];

type SessionMethods = Readonly<Record<SessionMethod, (params: JsonObject) => object | Promise<object>>>;

interface Finding {
  /** A session of this connection, or one that is in memory. */
  readonly find: (id: string) => SessionHandle;
  /** One that this connection has open. */
  readonly joined: (id: string) => SessionHandle;
}

export function sessionMethods(access: SessionAccess, { find, joined }: Finding): SessionMethods {
  return {
    "_tenon/session/view": (params) => viewOf(find(sessionId(params))),
    "_tenon/session/tools": async (params) => ({ tools: await toolsOf(find(sessionId(params)), params["query"]) }),
    "_tenon/session/set_tools": (params) => joined(sessionId(params)).setTools(readSetTools(params)),
    "_tenon/session/records": async (params) => await recordsOf(access, sessionId(params), params),
    "_tenon/question/answer": (params) => {
      const { questionId, answer } = params;
      if (typeof questionId !== "string" || answer === undefined) {
        throw new TenonError("session.invalid_request", "questionId and answer are needed");
      }
      const { questions } = find(sessionId(params));
      return { result: questions.answer(questionId, answer, { client: "local", name: "the client" }) };
    },
  };
}

/** All that a client needs to show a session, beside its conversation. */
export function viewOf(session: SessionHandle): WireView {
  const { id, cwd, state, clients, questions, queued, usage, servers } = session.view();
  return {
    sessionId: id,
    ...{ cwd, state, seq: session.log.lastSeq },
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

type View = ReturnType<SessionHandle["view"]>;

export interface WireView {
  readonly sessionId: string;
  readonly cwd: string;
  readonly state: View["state"];
  readonly seq: number;
  readonly clients: readonly {
    readonly client: string;
    readonly name: string;
    readonly role: View["clients"][number]["role"];
    readonly isHere: boolean;
  }[];
  readonly questions: readonly (Omit<View["questions"][number], "askedMs" | "summary"> & {
    readonly askedAt: number;
  })[];
  readonly queued: readonly {
    readonly promptId: string;
    readonly by?: { readonly client: string; readonly name: string };
  }[];
  readonly usage: object;
  readonly servers: readonly object[];
}

async function toolsOf(session: SessionHandle, query: unknown): Promise<readonly object[]> {
  await session.configured;
  if (typeof query !== "string" || query === "") return session.tools.list().map(toolSummary);
  const found = await session.tools.search({ query });
  if (found.kind !== "found") return [];
  return found.tools.map(({ tool, score, isOffered }) => ({ ...toolSummary(tool), score, isOffered }));
}

function toolSummary({ id, source, origin, definition: { title, description } }: CatalogTool): object {
  return { name: id, source, origin, description, ...defined({ title }) };
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
  const isWanted = ({ kind }: StoredRecord) => !Array.isArray(kinds) || kinds.includes(kind);
  const read = await access.records(id, after, Math.min(limit, ACP_LIMITS.recordsPerRead));
  const records = read.filter(isWanted);
  return { records, seq: read.at(-1)?.seq ?? after };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

function sessionId(params: unknown): string {
  const id = isJsonObject(params) ? params["sessionId"] : undefined;
  if (typeof id !== "string") throw new TenonError("session.invalid_request", "sessionId is missing");
  return id;
}
