// A permission question over the wire: readable title, real arguments, and answers mapped back.
import {
  type AgentContext,
  methods,
  type PermissionOption,
  type ToolCallContent,
  type ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import type {
  PermissionAnswer,
  PermissionQuestion,
  SessionPorts,
  TrustAnswer,
  TrustRequest,
} from "../session/index.js";
import { toolKind } from "./to-client.js";

const OPTIONS: PermissionOption[] = [
  { optionId: "once", name: "Allow once", kind: "allow_once" },
  { optionId: "always", name: "Always allow in this session", kind: "allow_always" },
  { optionId: "no", name: "No", kind: "reject_once" },
];

export function permissionPorts(client: AgentContext, sessionId: string): SessionPorts {
  return {
    ask: async (question, signal) => {
      const response = await client.request(
        methods.client.session.requestPermission,
        { sessionId, toolCall: describe(question), options: OPTIONS },
        { cancellationSignal: signal },
      );
      if (signal.aborted || response.outcome.outcome === "cancelled") return "cancelled";
      return readAnswer(response.outcome.optionId);
    },
    confirmTrust: async (request, signal) => {
      const response = await client.request(
        methods.client.session.requestPermission,
        { sessionId, toolCall: describeTrust(request), options: TRUST_OPTIONS, _meta: trustMeta(request) },
        { cancellationSignal: signal },
      );
      if (signal.aborted || response.outcome.outcome === "cancelled") return "later";
      return readTrust(response.outcome.optionId);
    },
  };
}

/** No "once": what is approved is these exact words of the project's file, and asking again comes with their next change. */
const TRUST_OPTIONS: PermissionOption[] = [
  { optionId: "trust", name: "Trust exactly this", kind: "allow_always" },
  { optionId: "later", name: "Not now", kind: "reject_once" },
  { optionId: "never", name: "Never", kind: "reject_always" },
];

function describeTrust({ id, title, lines, written }: TrustRequest): ToolCallUpdate {
  const content: ToolCallContent[] = [{ type: "content", content: { type: "text", text: lines.join("\n") } }];
  return {
    toolCallId: `trust-${id.slice(0, 12)}`,
    title,
    kind: "other",
    status: "pending",
    rawInput: written,
    content,
  };
}

function trustMeta({ server }: TrustRequest): { tenon: { trust: true; server?: string } } {
  return { tenon: { trust: true, ...(server === undefined ? {} : { server }) } };
}

function readTrust(optionId: string): TrustAnswer {
  if (optionId === "trust") return "yes";
  return optionId === "never" ? "no" : "later";
}

function describe({ toolCallId, tool, arguments: args }: PermissionQuestion): ToolCallUpdate {
  return { toolCallId, title: tool.label, kind: toolKind(tool), status: "pending", rawInput: args };
}

/** An option we never offered is no consent. */
function readAnswer(optionId: string): PermissionAnswer {
  return optionId === "once" || optionId === "always" ? optionId : "no";
}
