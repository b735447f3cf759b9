// The ACP agent: one line per method, each handed to the session room.
import { type AgentApp, agent, methods } from "@agentclientprotocol/sdk";
import { TenonError } from "../base/errors.js";
import { isJsonObject } from "../base/json.js";
import type { SessionHost } from "../session/index.js";
import { introduction } from "./capabilities.js";
import { toRequestError } from "./errors.js";
import { readSessionRequest, type SessionRequest } from "./lenient.js";
import { mcpStatus } from "./mcp-status.js";
import { OpenSessions } from "./open-sessions.js";
import { toBlocks } from "./to-session.js";

/** A session whose id the front gave out before this agent was loaded. */
export interface PromisedSession {
  readonly id: string;
  readonly request: SessionRequest;
}

export interface AgentOptions {
  readonly host: SessionHost;
  readonly promised?: readonly PromisedSession[];
}

/** Serves one connection: when it closes, so do the sessions opened over it. */
export function createAgent({ host, promised = [] }: AgentOptions): AgentApp {
  const sessions = new OpenSessions(host);
  const m = methods.agent;
  return agent({ name: "tenon" })
    .onConnect((connection) => {
      sessions.connected(connection);
      for (const { id, request } of promised) sessions.open(request, id);
    })
    .onRequest(m.initialize, ({ params }) => {
      sessions.introduced({ notices: params.clientCapabilities?.session?.notices != null });
      return introduction();
    })
    .onRequest(m.session.new, parseSessionRequest, ({ params }) =>
      guarded(() => ({ sessionId: sessions.open(params) })),
    )
    .onRequest(m.session.prompt, ({ params, signal }) =>
      guarded(() => sessions.prompt(params.sessionId, toBlocks(params.prompt), signal)),
    )
    .onRequest(m.session.close, ({ params }) => guarded(() => sessions.close(params.sessionId)))
    .onNotification(m.session.cancel, ({ params }) => sessions.cancel(params.sessionId))
    .onRequest("_tenon/mcp/status", parseSessionId, ({ params }) => guarded(() => mcpStatus(host.get(params))));
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
function parseSessionRequest(params: unknown): SessionRequest {
  const read = readSessionRequest(params);
  if (!read.ok) throw toRequestError(new TenonError("session.invalid_request", read.reason));
  return read.request;
}

function parseSessionId(params: unknown): string {
  const id = isJsonObject(params) ? params["sessionId"] : undefined;
  if (typeof id !== "string") throw toRequestError(new TenonError("session.invalid_request", "sessionId is missing"));
  return id;
}
