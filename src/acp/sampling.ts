// The question whether a server may use the model, as an ACP permission request: who asks, what is sent, what it may cost.
import { type AgentContext, methods, type PermissionOption, type ToolCallUpdate } from "@agentclientprotocol/sdk";
import { plainText } from "../base/text/content.js";
import { markForeign } from "../base/text/marking.js";
import type { SamplingAnswer, SamplingRequest, SessionPorts } from "../session/index.js";
import { ACP_LIMITS } from "./limits.js";

const OPTIONS: PermissionOption[] = [
  { optionId: "once", name: "Allow once", kind: "allow_once" },
  { optionId: "session", name: "Allow this server in this session", kind: "allow_always" },
  { optionId: "no", name: "No", kind: "reject_once" },
  { optionId: "never", name: "Not in this session", kind: "reject_always" },
];

export function samplingPort(client: AgentContext, sessionId: string): Required<Pick<SessionPorts, "approveSampling">> {
  return {
    approveSampling: async (request, signal) => {
      const { outcome } = await client.request(
        methods.client.session.requestPermission,
        { sessionId, toolCall: describeSampling(request), options: OPTIONS },
        { cancellationSignal: signal },
      );
      if (signal.aborted || outcome.outcome === "cancelled") return "no";
      return readAnswer(outcome.optionId);
    },
  };
}

/** Everything is in the words: not every editor shows `rawInput`, and nobody should approve what they have not seen. */
export function describeSampling(request: SamplingRequest): ToolCallUpdate {
  const { id, server, model, system, messages, maxTokens, callsLeft } = request;
  const lines = [
    `The server "${markForeign(server)}" asks ${model} for an answer of at most ${maxTokens} tokens, at your expense.`,
    `After this it may ask ${callsLeft} more times in this session.`,
    ...(system === "" ? [] : [`system: ${shown(system)}`]),
    ...messages.map(({ role, content }) => `${role}: ${shown(plainText(content))}`),
  ];
  return {
    toolCallId: `sampling-${id}`,
    title: `${markForeign(server)} / wants to use the model`,
    kind: "think",
    status: "pending",
    rawInput: { server, model, maxTokens },
    content: [{ type: "content", content: { type: "text", text: lines.join("\n") } }],
    _meta: { tenon: { sampling: true, server, notes: lines.flatMap((line) => line.split("\n")) } },
  };
}

function shown(words: string): string {
  const hidden = words.length - ACP_LIMITS.permissionMaxArgumentChars;
  return hidden > 0 ? `${words.slice(0, ACP_LIMITS.permissionMaxArgumentChars)}… (${hidden} more characters)` : words;
}

/** An option we never offered is no consent. */
function readAnswer(optionId: string): SamplingAnswer {
  switch (optionId) {
    case "once":
    case "session":
    case "never":
      return optionId;
    default:
      return "no";
  }
}
