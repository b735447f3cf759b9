// JSON-RPC messages as plain data, without the SDK: their kinds, and Tenon's fields in `_meta`.
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";

export type RpcId = string | number | null;

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonValue | undefined;
}

export type Outcome =
  | { readonly result: JsonValue; readonly error?: never }
  | { readonly error: RpcError; readonly result?: never };

export interface RpcRequest {
  readonly kind: "request";
  readonly id: RpcId;
  readonly method: string;
  readonly params: JsonValue | undefined;
}

export type Rpc =
  | RpcRequest
  | { readonly kind: "notification"; readonly method: string; readonly params: JsonValue | undefined }
  | { readonly kind: "answer"; readonly id: RpcId; readonly outcome: Outcome }
  | { readonly kind: "invalid" };

export const ERRORS = {
  invalidRequest: -32600,
  invalidParams: -32602,
  internal: -32603,
  notFound: -32002,
  denied: -32003,
  cancelled: -32800,
} as const;

/** By the same rules as the SDK: what is none of them is refused with `id: null`. */
export function readRpc(message: JsonObject): Rpc {
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc === "2.0" && typeof method === "string") {
    if (!("id" in message)) return { kind: "notification", method, params };
    if (isId(id)) return { kind: "request", id, method, params };
  }
  if ("method" in message || !("id" in message || "result" in message || "error" in message))
    return { kind: "invalid" };
  return isId(id) ? { kind: "answer", id, outcome: outcomeOf(message) } : { kind: "invalid" };
}

function isId(value: JsonValue | undefined): value is RpcId {
  return value === null || typeof value === "string" || (typeof value === "number" && Number.isFinite(value));
}

/** An answer with neither or both counts as a failure: whoever asked must hear something. */
function outcomeOf({ result, error }: JsonObject): Outcome {
  if (error === undefined && result !== undefined) return { result };
  const { code, message, data } = isJsonObject(error) ? error : {};
  if (typeof code === "number" && typeof message === "string")
    return { error: { code, message, ...defined({ data }) } };
  return { error: { code: ERRORS.invalidRequest, message: "Invalid request: the answer has no result and no error" } };
}

export function failure(code: number, message: string, tenonCode: string, hint = ""): Outcome {
  return { error: { code, message, data: { code: tenonCode, hint } } };
}

/** Tenon's fields of `_meta`; empty where there are none. */
export function tenonMeta(of: JsonValue | undefined): JsonObject {
  const meta = isJsonObject(of) ? of["_meta"] : undefined;
  const ours = isJsonObject(meta) ? meta["tenon"] : undefined;
  return isJsonObject(ours) ? ours : {};
}

/** With these fields in `_meta.tenon`, beside what is there. */
export function withTenonMeta(params: JsonObject, fields: JsonObject): JsonObject {
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  return { ...params, _meta: { ...meta, tenon: { ...tenonMeta(params), ...fields } } };
}

export function sessionIdOf(params: JsonValue | undefined): string | undefined {
  const id = isJsonObject(params) ? params["sessionId"] : undefined;
  return typeof id === "string" ? id : undefined;
}
