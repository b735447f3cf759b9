// The span of one tool call, from being sent to its outcome, by the semantic conventions for GenAI.
import { inSpan } from "../../base/ports/trace.js";
import type { ToolOutcome } from "../tool.js";
import type { CallRequest, RunPorts } from "./ports.js";

/** What the tool's source adds to the span (that it is an MCP call, its error code) it adds by itself. */
export async function inToolSpan(
  { toolCallId, tool }: CallRequest,
  { world }: Pick<RunPorts, "world">,
  run: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const { telemetry } = world;
  if (!telemetry?.isActive) return await run();
  const attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": tool.id,
    "gen_ai.tool.call.id": toolCallId,
    "gen_ai.tool.type": "function",
    "tenon.tool.source": tool.source,
  };
  return await inSpan(telemetry, { name: `execute_tool ${tool.id}`, kind: "internal", attributes }, async (span) => {
    const outcome = await run();
    span.set({ "tenon.tool.outcome": outcome.kind });
    if (outcome.kind === "failed") span.fail("tool_error");
    if (outcome.kind === "unknown") span.fail("outcome_unknown", outcome.reason);
    return outcome;
  });
}
