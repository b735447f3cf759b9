// How OpenAI and the servers that speak its protocols report failures (docs: "Error codes"; messages as people quote them).

import { z } from "zod";
import type { JsonObject } from "../../../base/json/json.js";
import { type Fault, type FaultResponse, invalid, type OfferedTool, placeOf } from "./format.js";

export interface OpenAiFault extends FaultResponse {
  readonly body: JsonObject & { readonly error: OpenAiError };
}

export interface OpenAiError extends JsonObject {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** Chat and Responses name the same places differently. */
export interface Dialect {
  readonly toolPlace: (index: number) => string;
  readonly overflow: (tokens: number, limit: number) => string;
}

export const functionName: z.ZodType<string> = z
  .string()
  .regex(
    /^[a-zA-Z0-9_-]{1,64}$/,
    "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
  );

export const maxTools = [128, "array too long. Expected an array with maximum length 128."] as const;

export function openAiMisfit(path: readonly PropertyKey[], message: string): Fault {
  const place = placeOf(path);
  return invalid(`Invalid '${place}': ${message}`, place, "invalid_value");
}

type ErrorParts = Partial<OpenAiError> & { readonly message: string };

const FIXED_FAULTS: Readonly<
  Record<
    "unauthorized" | "quota" | "overloaded" | "server_error" | "content_filter" | "unknown_model",
    ErrorParts & { readonly status: number }
  >
> = {
  unauthorized: {
    status: 401,
    message:
      "Incorrect API key provided: sk-fake. You can find your API key at https://platform.openai.com/account/api-keys.",
    code: "invalid_api_key",
  },
  quota: {
    status: 429,
    message:
      "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
    type: "insufficient_quota",
    code: "insufficient_quota",
  },
  overloaded: {
    status: 503,
    message: "The server is overloaded or not ready yet.",
    type: "server_error",
    code: "server_is_overloaded",
  },
  server_error: {
    status: 500,
    message: "The server had an error while processing your request. Sorry about that!",
    type: "server_error",
  },
  content_filter: {
    status: 400,
    message:
      "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt.",
    code: "invalid_prompt",
  },
  unknown_model: {
    status: 404,
    message: "The model `none` does not exist or you do not have access to it.",
    code: "model_not_found",
  },
};

export function openAiErrorBody(message: string, type: string, code: string | null = type): OpenAiFault["body"] {
  return { error: { message, type, param: null, code } };
}

function failure(status: number, error: ErrorParts): OpenAiFault {
  const { message, type = "invalid_request_error", param = null, code = null } = error;
  return { status, body: { error: { message, type, param, code } } };
}

export function openAiFault(fault: Fault, tools: readonly OfferedTool[], dialect: Dialect): OpenAiFault {
  switch (fault.kind) {
    case "rate_limited":
      return rateLimited(fault.retryAfterS);
    case "context_overflow": {
      const message = dialect.overflow(fault.tokens, fault.limit);
      return failure(400, { message, code: "context_length_exceeded", param: "messages" });
    }
    case "tool_schema":
      return failure(400, schemaError(fault, tools, dialect));
    case "invalid":
      return failure(400, { message: fault.message, param: fault.param ?? null, code: fault.code ?? null });
    default: {
      const { status, ...error } = FIXED_FAULTS[fault.kind];
      return failure(status, error);
    }
  }
}

function rateLimited(retryAfterS: number | undefined): OpenAiFault {
  const hint = retryAfterS === undefined ? "" : ` Please try again in ${retryAfterS}s.`;
  const fault = failure(429, {
    message: `Rate limit reached for requests in organization org-fake on requests per min (RPM): Limit 3, Used 3, Requested 1.${hint}`,
    type: "requests",
    code: "rate_limit_exceeded",
  });
  if (retryAfterS === undefined) return fault;
  const headers = {
    "retry-after": String(Math.ceil(retryAfterS)),
    "retry-after-ms": String(Math.ceil(retryAfterS * 1000)),
    "x-ratelimit-remaining-requests": "0",
    "x-ratelimit-reset-requests": `${retryAfterS}s`,
  };
  return { ...fault, headers };
}

function schemaError(
  fault: Extract<Fault, { kind: "tool_schema" }>,
  tools: readonly OfferedTool[],
  dialect: Dialect,
): ErrorParts {
  const detail = fault.detail ?? "In context=(), object schema missing properties.";
  const index = tools.findIndex(({ name }) => name === fault.tool);
  if (index < 0) return { message: `Invalid schema. ${detail}` };
  return {
    message: `Invalid schema for function '${fault.tool}': ${detail}`,
    param: dialect.toolPlace(index),
    code: "invalid_function_parameters",
  };
}
