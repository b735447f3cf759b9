// How Anthropic reports failures (docs: "Errors"; the messages are those of its API as people quote them).
import { unreachable } from "../../../base/id.js";
import type { JsonObject } from "../../../base/json/json.js";
import type { Fault } from "../fault.js";
import type { OfferedTool } from "../format.js";
import { newId } from "../issued.js";

export interface AnthropicFault {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

export function anthropicErrorBody(type: string, message: string): JsonObject {
  return { type: "error", error: { type, message }, request_id: newId("req_") };
}

function failure(status: number, type: string, message: string, headers?: Record<string, string>): AnthropicFault {
  return { status, body: anthropicErrorBody(type, message), ...(headers && { headers }) };
}

export function anthropicFault(fault: Fault, tools: readonly OfferedTool[]): AnthropicFault {
  switch (fault.kind) {
    case "unauthorized":
      return failure(401, "authentication_error", "invalid x-api-key");
    case "quota":
      return failure(
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
      );
    case "rate_limited": {
      const { retryAfterS } = fault;
      const message =
        "This request would exceed your organization's rate limit of 50 requests per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits.";
      const headers = retryAfterS === undefined ? undefined : { "retry-after": String(Math.ceil(retryAfterS)) };
      return failure(429, "rate_limit_error", message, headers);
    }
    case "overloaded":
      return failure(529, "overloaded_error", "Overloaded");
    case "server_error":
      return failure(500, "api_error", "Internal server error");
    case "context_overflow":
      return failure(
        400,
        "invalid_request_error",
        `prompt is too long: ${fault.tokens} tokens > ${fault.limit} maximum`,
      );
    case "content_filter":
      return failure(400, "invalid_request_error", "Output blocked by content filtering policy");
    case "unknown_model":
      return failure(404, "not_found_error", "model: claude-none");
    case "tool_schema":
      return failure(400, "invalid_request_error", schemaMessage(fault, tools));
    case "invalid":
      return failure(400, "invalid_request_error", fault.message);
    default:
      return unreachable(fault);
  }
}

/** It names a tool by its place in the request only. */
function schemaMessage(fault: Extract<Fault, { kind: "tool_schema" }>, tools: readonly OfferedTool[]): string {
  const detail =
    fault.detail ??
    "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.";
  const index = tools.findIndex(({ name }) => name === fault.tool);
  return index < 0 ? `Schema is too complex. ${detail}` : `tools.${index}.custom.input_schema: ${detail}`;
}
