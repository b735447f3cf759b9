// A permission question over the wire: readable title, real arguments, and answers mapped back.
import { type AgentContext, methods, type PermissionOption, type ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { PermissionAnswer, PermissionQuestion, SessionPorts } from "../session/index.js";
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
  };
}

function describe({ toolCallId, tool, arguments: args }: PermissionQuestion): ToolCallUpdate {
  return { toolCallId, title: tool.label, kind: toolKind(tool), status: "pending", rawInput: args };
}

/** An option we never offered is no consent. */
function readAnswer(optionId: string): PermissionAnswer {
  return optionId === "once" || optionId === "always" ? optionId : "no";
}
