// The one map from Tenon's error codes to JSON-RPC errors of ACP.
import { RequestError } from "@agentclientprotocol/sdk";
import { type ErrorCode, toTenonError } from "../base/errors.js";

const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;
const INTERNAL = -32603;
const AUTH_REQUIRED = -32000;
const NOT_FOUND = -32002;

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
  "mcp.rate_limited": INTERNAL,
  "mcp.over_budget": INTERNAL,
  "mcp.too_large": INTERNAL,
  "mcp.call_failed": INTERNAL,
  "mcp.call_timeout": INTERNAL,
  "mcp.task_lost": INTERNAL,
  "tool.unknown": INVALID_PARAMS,
  "tool.invalid_arguments": INVALID_PARAMS,
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
};

export function toRequestError(thrown: unknown): RequestError {
  if (thrown instanceof RequestError) return thrown;
  const error = toTenonError(thrown);
  return new RequestError(WIRE_CODES[error.code], error.message, { code: error.code, hint: error.hint });
}
