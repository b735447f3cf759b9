// The ways a provider refuses or fails, free of how each of them says so.
import { defined } from "../../base/json/defined.js";

export type Fault =
  | { readonly kind: "unauthorized" }
  /** The account has no credit, or a limit that waiting does not cure. */
  | { readonly kind: "quota" }
  | { readonly kind: "rate_limited"; readonly retryAfterS?: number }
  | { readonly kind: "overloaded" }
  | { readonly kind: "server_error" }
  | { readonly kind: "context_overflow"; readonly tokens: number; readonly limit: number }
  /** The prompt is blocked; for an answer that is blocked see `finish: "refusal"`. */
  | { readonly kind: "content_filter" }
  | { readonly kind: "unknown_model" }
  /** A tool's schema is refused. With `tool` it is told which one in the provider's own way, by name or by place. */
  | { readonly kind: "tool_schema"; readonly tool?: string; readonly detail?: string }
  /** The request breaks a rule of the API. */
  | { readonly kind: "invalid"; readonly message: string; readonly param?: string; readonly code?: string };

export function invalid(message: string, param?: string, code?: string): Fault {
  return {
    kind: "invalid",
    message,
    ...defined({ param, code }),
  };
}
