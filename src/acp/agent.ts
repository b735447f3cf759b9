// The ACP agent: one line per method, each handed to the session room.
import { type AgentApp, agent, methods, ndJsonStream, RequestError, type Stream } from "@agentclientprotocol/sdk";
import { type ErrorCode, TenonError, toTenonError } from "../base/errors.js";
import { isJsonObject, type JsonObject } from "../base/json/json.js";
import { readTraceContext } from "../base/ports/trace.js";
import type { Notify, SessionAccess, SharedAccess } from "./access.js";
import {
  Authentication,
  abilitiesOf,
  introduction,
  MCP_STATUS,
  SESSION_METHODS,
  SET_MCP_SERVERS,
  type SetupCommand,
  SHARED_SESSION_METHODS,
} from "./capabilities.js";
import {
  type ClientServers,
  InvalidRequest,
  readClientServers,
  readSessionRequest,
  readStoredRequest,
  type SessionRequest,
  toBlock,
} from "./from-client.js";
import { sharedMeta, tenonMeta } from "./meta.js";
import { givenMeta } from "./options.js";
import { MCP_MESSAGE, TOOL_PROGRESS } from "./ports.js";
import { sessionMethods, viewOf } from "./session-methods.js";
import { type DirectWrite, listSessions, OpenSessions } from "./sessions.js";

export { NumberedRelay } from "./numbered.js";

/** A session whose id the front gave out before this agent was loaded. */
export interface PromisedSession {
  readonly id: string;
  readonly request: SessionRequest;
  /** As they came. */
  readonly params: JsonObject;
}

/** Unless a way past the SDK is given, updates are written as the SDK writes everything. */
export interface AgentOptions extends DirectWrite {
  readonly access: SessionAccess;
  readonly promised?: readonly PromisedSession[];
  /** Where this agent is a program: how its log-in is started in a terminal. */
  readonly setup?: SetupCommand;
}

/** Messages as lines of JSON, each way. */
export function byteStream(input: ReadableStream<Uint8Array>, output: WritableStream<Uint8Array>): Stream {
  return ndJsonStream(output, input);
}

/** Of the unstable protocol, so the SDK's stable half has no names for them. */
const FORK = "session/fork";
const SET_TITLE = "session/set_title";
const STATUS = "session/status";

/** Serves one connection: when it closes, so do the sessions opened over it. */
export function createAgent({ access, promised: earlier = [], setup, ...write }: AgentOptions): AgentApp {
  const sessions = new OpenSessions(access, write);
  const auth = new Authentication(access);
  const promised = [...earlier];
  const m = methods.agent;
  /** For requests that may use a key. */
  const loggedIn = <T>(run: () => T | Promise<T>): Promise<T> =>
    guarded(() => {
      auth.check();
      return run();
    });
  const settingsOf = (id: string, given: ClientServers) => {
    const { tenon } = givenMeta(given);
    const answer = { ...sessions.settingsOf(id), _meta: { tenon } };
    if (!access.shared) return answer;
    const view = viewOf(sessions.find(id));
    return { ...answer, _meta: sharedMeta({ ...tenon, seq: view.seq, state: view.state, view }) };
  };
  const opened = (sessionId: string, given: ClientServers) => ({ sessionId, ...settingsOf(sessionId, given) });
  const app = agent({ name: "tenon" })
    .onConnect((connection) => {
      sessions.connected(connection);
    })
    .onRequest(m.initialize, ({ params }) =>
      guarded(async () => {
        const answer = introduction(params, setup, access.shared?.introduce(params));
        sessions.abilities.set(abilitiesOf(params.clientCapabilities));
        // Only now, since their servers are told what the client can be asked. `initialize` may be said again.
        for (const { id, request } of promised.splice(0)) await sessions.open(request, {}, id);
        return answer;
      }),
    )
    .onRequest(m.session.new, readNew, ({ params: { request, meta } }) =>
      loggedIn(async () => opened(await sessions.open(request, meta), request)),
    )
    .onRequest(m.session.load, readStored, ({ params: { request, meta } }) =>
      loggedIn(async () => settingsOf(await sessions.load(request, { isReplayed: true, meta }), request)),
    )
    .onRequest(m.session.resume, readStored, ({ params: { request, meta } }) =>
      loggedIn(async () => settingsOf(await sessions.load(request, { isReplayed: false, meta }), request)),
    )
    .onRequest(FORK, readStored, ({ params: { request } }) =>
      loggedIn(async () => opened(await sessions.fork(request), request)),
    )
    .onRequest(m.session.list, ({ params }) => guarded(() => listSessions(access, params)))
    .onRequest(m.session.delete, ({ params }) => guarded(() => sessions.delete(params.sessionId)))
    .onRequest(m.session.prompt, ({ params, signal }) =>
      loggedIn(() =>
        inTraceOf(params, access, () =>
          sessions.prompt(params.sessionId, params.prompt.map(toBlock), { signal, meta: tenonMeta(params) }),
        ),
      ),
    )
    .onRequest(m.session.close, ({ params }) => guarded(() => sessions.leave(params.sessionId, "closed")))
    .onNotification(m.session.cancel, ({ params }) => sessions.cancel(params.sessionId))
    .onNotification(
      MCP_MESSAGE,
      (params: unknown) => params,
      ({ params }) => sessions.messages.hear(params),
    )
    .onNotification(
      TOOL_PROGRESS,
      (params: unknown) => params,
      ({ params }) => sessions.calls.hear(params),
    )
    .onRequest(SET_MCP_SERVERS, readServers, ({ params: { id, given } }) =>
      guarded(async () => ({ ...(await sessions.setServers(id, given)), notices: given.notices })),
    );
  return withOwnMethods(withSettings(app, { access, sessions, auth }), access, sessions);
}

/** Those of Tenon's own, and those that a gateway adds. */
function withOwnMethods(app: AgentApp, access: SessionAccess, sessions: OpenSessions): AgentApp {
  const all = sessionMethods(access, {
    peek: (id) => sessions.known(id) ?? access.peek(id),
    joined: (id) => sessions.find(id),
    takenBack: (signal) => sessions.takenBack(signal),
  });
  const names = [MCP_STATUS, ...SESSION_METHODS, ...(access.shared ? SHARED_SESSION_METHODS : [])];
  const own: SharedAccess["methods"] = Object.fromEntries(names.map((name) => [name, all[name]]));
  const notify: Notify = (method, params) => sessions.notify(method, params);
  for (const [method, run] of Object.entries({ ...own, ...access.shared?.methods })) {
    app.onRequest(method, readObject, ({ params, signal }) => guarded(() => run(params, notify, signal)));
  }
  return app;
}

/** What is set beside the conversation: log-in, modes and options, titles. */
function withSettings(
  app: AgentApp,
  { access, sessions, auth }: { access: SessionAccess; sessions: OpenSessions; auth: Authentication },
): AgentApp {
  const m = methods.agent;
  return app
    .onRequest(m.authenticate, ({ params }) => guarded(() => auth.authenticate(params.methodId)))
    .onRequest(m.logout, () => guarded(() => auth.logout()))
    .onRequest(m.session.setMode, ({ params }) =>
      guarded(async () => {
        await sessions.set(params.sessionId, "mode", params.modeId);
      }),
    )
    .onRequest(m.session.setConfigOption, ({ params }) =>
      guarded(async () => ({ configOptions: await sessions.set(params.sessionId, params.configId, params.value) })),
    )
    .onRequest(SET_TITLE, readTitle, ({ params: { id, title } }) =>
      guarded(async () => ({ title: await access.setTitle(id, title) })),
    )
    .onRequest(STATUS, readId, ({ params }) => guarded(async () => ({ status: await access.statusOf(params) })));
}

/** A client that traces says so in `_meta`: what the turn does belongs to its trace. */
function inTraceOf<T>(params: { readonly _meta?: unknown }, { world }: SessionAccess, run: () => T): T {
  const meta = params._meta;
  const context = isJsonObject(meta) ? readTraceContext(meta) : undefined;
  return context && world.telemetry ? world.telemetry.adopt(context, run) : run();
}

/** Lets every expected failure reach the client as the JSON-RPC error it stands for. */
async function guarded<T>(run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw toRequestError(error);
  }
}

/** The SDK's own parser fails the whole session for one odd server entry; ours names the entry and goes on. */
const readNew = parser((params) => ({ request: readSessionRequest(params), meta: tenonMeta(params) }));
const readStored = parser((params) => ({ request: readStoredRequest(params), meta: tenonMeta(params) }));
const readObject = parser((params) => (isJsonObject(params) ? params : {}));
const readId = parser((params) => textIn(params, "sessionId"));
const readTitle = parser((params) => ({ title: textIn(params, "title"), id: textIn(params, "sessionId") }));
const readServers = parser((params) => {
  const id = textIn(params, "sessionId");
  return { id, given: readClientServers(isJsonObject(params) ? params["mcpServers"] : undefined) };
});

function parser<T>(read: (params: unknown) => T): (params: unknown) => T {
  return (params) => {
    try {
      return read(params);
    } catch (error) {
      const isInvalid = error instanceof InvalidRequest;
      throw toRequestError(isInvalid ? new TenonError("session.invalid_request", error.message) : error);
    }
  };
}

function textIn(params: unknown, name: "sessionId" | "title"): string {
  const value = isJsonObject(params) ? params[name] : undefined;
  if (typeof value !== "string") throw new InvalidRequest(`${name} is missing`);
  return value;
}

/** The one map from Tenon's error codes to JSON-RPC errors of ACP. */
const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;
const INTERNAL = -32603;
const AUTH_REQUIRED = -32000;
const NOT_FOUND = -32002;
const ACCESS_DENIED = -32003;
const ACCESS_LIMITED = -32004;

const WIRE_CODES: Readonly<Record<ErrorCode, number>> = {
  internal: INTERNAL,
  cancelled: -32800,
  "usage.invalid": INVALID_PARAMS,
  "config.unreadable": INTERNAL,
  "config.invalid": INVALID_PARAMS,
  "mcp.invalid_spec": INVALID_PARAMS,
  "mcp.url_refused": INVALID_PARAMS,
  "mcp.spawn_failed": INTERNAL,
  "mcp.sandbox_unavailable": INTERNAL,
  "mcp.launch_refused": INTERNAL,
  "mcp.connect_failed": INTERNAL,
  "mcp.connect_timeout": INTERNAL,
  "mcp.not_ready": INTERNAL,
  "mcp.connection_lost": INTERNAL,
  "mcp.session_lost": INTERNAL,
  "mcp.unauthorized": INTERNAL,
  "mcp.unsupported_version": INTERNAL,
  "mcp.protocol": INTERNAL,
  "mcp.unavailable": INTERNAL,
  "mcp.client_gone": INTERNAL,
  "mcp.rate_limited": INTERNAL,
  "mcp.over_budget": INTERNAL,
  "mcp.too_large": INTERNAL,
  "mcp.call_failed": INTERNAL,
  "mcp.call_timeout": INTERNAL,
  "mcp.task_lost": INTERNAL,
  "tool.unknown": INVALID_PARAMS,
  "tool.invalid_arguments": INVALID_PARAMS,
  "tool.refused": ACCESS_DENIED,
  "model.unknown": INVALID_PARAMS,
  "model.unauthorized": AUTH_REQUIRED,
  "model.quota": INTERNAL,
  "model.rate_limited": INTERNAL,
  "model.overloaded": INTERNAL,
  "model.unavailable": INTERNAL,
  "model.context_overflow": INTERNAL,
  "model.content_filter": INTERNAL,
  "model.invalid_request": INTERNAL,
  "model.tool_refused": INTERNAL,
  "model.broken_stream": INTERNAL,
  "session.not_found": NOT_FOUND,
  "session.busy": INVALID_REQUEST,
  "session.closed": NOT_FOUND,
  "session.not_recorded": INTERNAL,
  "session.invalid_request": INVALID_PARAMS,
  "session.superseded": INTERNAL,
  "session.gave_up": INTERNAL,
  "session.prompt_conflict": INVALID_PARAMS,
  "access.denied": ACCESS_DENIED,
  "access.limited": ACCESS_LIMITED,
  "store.unavailable": INTERNAL,
  "gateway.not_started": INTERNAL,
  "gateway.unreachable": INTERNAL,
};

export function toRequestError(thrown: unknown): RequestError {
  if (thrown instanceof RequestError) return thrown;
  const error = toTenonError(thrown);
  return new RequestError(WIRE_CODES[error.code], error.message, { code: error.code, hint: error.hint });
}
