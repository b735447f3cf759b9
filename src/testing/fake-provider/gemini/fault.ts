// How the Gemini API reports failures: google.rpc.Status, the cause for machines in its details (messages as people quote them).

import { unreachable } from "../../../base/id.js";
import { defined } from "../../../base/json/defined.js";
import type { JsonObject } from "../../../base/json/json.js";
import type { Fault } from "../fault.js";
import type { FaultResponse, OfferedTool } from "../format.js";
import { crlfEvent } from "../sse.js";

const RPC = "type.googleapis.com/google.rpc";

export function geminiErrorBody(
  code: number,
  status: string,
  message: string,
  details: readonly JsonObject[] = [],
): JsonObject {
  return { error: { code, message, status, ...defined({ details: details.length === 0 ? undefined : details }) } };
}

function failure(code: number, status: string, message: string, details?: readonly JsonObject[]): FaultResponse {
  return { status: code, body: geminiErrorBody(code, status, message, details) };
}

export function geminiFault(fault: Fault, tools: readonly OfferedTool[]): FaultResponse {
  switch (fault.kind) {
    case "unauthorized":
      return failure(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
        { "@type": `${RPC}.ErrorInfo`, reason: "API_KEY_INVALID", domain: "googleapis.com" },
      ]);
    case "quota":
      return exhausted("GenerateRequestsPerDayPerProjectPerModel-FreeTier", undefined);
    case "rate_limited":
      return exhausted("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", fault.retryAfterS);
    case "overloaded":
      return failure(503, "UNAVAILABLE", "The model is overloaded. Please try again later.");
    case "server_error":
      return failure(500, "INTERNAL", "An internal error has occurred. Please retry or report in troubleshooting.");
    case "context_overflow":
      return failure(
        400,
        "INVALID_ARGUMENT",
        `The input token count (${fault.tokens}) exceeds the maximum number of tokens allowed (${fault.limit}).`,
      );
    case "content_filter": {
      const usageMetadata = { promptTokenCount: 10, totalTokenCount: 10 };
      const blocked = { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata, modelVersion: "fake" };
      return { status: 200, body: [crlfEvent(blocked)] };
    }
    case "unknown_model":
      return failure(
        404,
        "NOT_FOUND",
        "models/none is not found for API version v1beta, or is not supported for generateContent.",
      );
    case "tool_schema":
      return failure(400, "INVALID_ARGUMENT", schemaMessage(fault, tools));
    case "invalid":
      return failure(400, "INVALID_ARGUMENT", fault.message);
    default:
      return unreachable(fault);
  }
}

/** Rate and quota share one status: what ran out and when to come back is in the details only. */
function exhausted(quotaId: string, retryAfterS: number | undefined): FaultResponse {
  const retry = retryAfterS === undefined ? "" : `\nPlease retry in ${retryAfterS}s.`;
  const metric = "generativelanguage.googleapis.com/generate_content_free_tier_requests";
  const message = `You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: ${metric}, limit: 10${retry}`;
  return failure(429, "RESOURCE_EXHAUSTED", message, [
    { "@type": `${RPC}.QuotaFailure`, violations: [{ quotaMetric: metric, quotaId, quotaValue: "10" }] },
    ...(retryAfterS === undefined ? [] : [{ "@type": `${RPC}.RetryInfo`, retryDelay: `${retryAfterS}s` }]),
  ]);
}

/** It names a tool by its place in the request only. */
function schemaMessage(fault: Extract<Fault, { kind: "tool_schema" }>, tools: readonly OfferedTool[]): string {
  const detail = fault.detail ?? "parameters.properties: should be non-empty for OBJECT type";
  const index = tools.findIndex(({ name }) => name === fault.tool);
  return index < 0
    ? "Request contains an invalid argument."
    : `* GenerateContentRequest.tools[0].function_declarations[${index}].${detail}\n`;
}
