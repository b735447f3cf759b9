// What an MCP server wants to know of the person, as ACP elicitations: who asks is said, and addresses are shown in full.

import { type AgentContext, type CreateElicitationRequest, methods } from "@agentclientprotocol/sdk";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../base/json/json.js";
import { markForeign } from "../base/text/marking.js";
import type { ElicitAnswer } from "../mcp/index.js";
import type { ElicitQuestion, SessionPorts } from "../session/index.js";
import { toFormSchema } from "./elicitation-schema.js";
import { ACP_LIMITS } from "./limits.js";

export interface ElicitationAbilities {
  /** The client shows forms. */
  readonly forms: boolean;
  /** The client leads people to pages. */
  readonly pages: boolean;
}

type ElicitationPorts = Pick<SessionPorts, "elicit" | "elicitModes" | "elicitationCompleted">;

export function elicitationPorts(
  client: AgentContext,
  sessionId: string,
  { forms, pages }: ElicitationAbilities,
): ElicitationPorts {
  if (!forms && !pages) return {};
  return {
    elicitModes: [...(forms ? (["form"] as const) : []), ...(pages ? (["url"] as const) : [])],
    elicit: async (question, signal) => {
      const request = toElicitation(question, sessionId);
      if (!request) return { action: "decline" };
      const response: unknown = await client.request(methods.client.elicitation.create, request, {
        cancellationSignal: signal,
      });
      return readAnswer(response);
    },
    elicitationCompleted: (elicitationId) => {
      // Told for convenience: a client that is gone needs it no more.
      client.notify(methods.client.elicitation.complete, { elicitationId }).catch(() => undefined);
    },
  };
}

/** Undefined for a form that cannot be asked: it needs a field of a kind that forms do not have. */
export function toElicitation(question: ElicitQuestion, sessionId: string): CreateElicitationRequest | undefined {
  const { id, server, toolCallId, request } = question;
  const scope = { sessionId, ...defined({ toolCallId }) };
  const who = `The MCP server "${markForeign(server)}"`;
  const { messageChars, formChars } = ACP_LIMITS.elicitation;
  const isLong = request.message.length > messageChars;
  const words = markForeign(isLong ? `${request.message.slice(0, messageChars)}… (cut)` : request.message);
  if (request.mode === "form") {
    if (JSON.stringify(request.requestedSchema ?? {}).length > formChars) return undefined;
    const requestedSchema = toFormSchema(request.requestedSchema ?? {});
    return requestedSchema && { mode: "form", ...scope, message: `${who} asks: ${words}`, requestedSchema };
  }
  if (request.url === undefined) return undefined;
  // As the address is really read: a name in look-alike letters shows as what it is.
  const url = new URL(request.url).href;
  const message = `${who} asks you to open ${url}\n${words}`;
  return { mode: "url", ...scope, message, elicitationId: id, url };
}

/** Anything but a clear yes is none. */
export function readAnswer(response: unknown): ElicitAnswer {
  const { action, content } = isJsonObject(response) ? response : {};
  if (action === "accept") return { action, content: isJsonObject(content) ? plain(content) : {} };
  return { action: action === "cancel" ? "cancel" : "decline" };
}

/** What people leave empty is left out: it then takes the default. */
function plain(content: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(content).filter(([, value]) => value !== undefined && value !== null));
}
