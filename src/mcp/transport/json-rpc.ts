// JSON-RPC 2.0 messages as MCP uses them.

import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";

export type RpcId = number | string;

export interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonValue;
}

/** A message that we send. */
export type OutgoingMessage =
  | { readonly jsonrpc: "2.0"; readonly id: RpcId; readonly method: string; readonly params?: JsonObject }
  | { readonly jsonrpc: "2.0"; readonly method: string; readonly params?: JsonObject }
  | { readonly jsonrpc: "2.0"; readonly id: RpcId; readonly result: JsonObject }
  | { readonly jsonrpc: "2.0"; readonly id: RpcId; readonly error: RpcErrorBody };

/** A message that came in, classified and checked as far as routing needs it. */
export type IncomingMessage =
  | { readonly kind: "request"; readonly id: RpcId; readonly method: string; readonly params: JsonObject }
  | { readonly kind: "notification"; readonly method: string; readonly params: JsonObject }
  | { readonly kind: "result"; readonly id: RpcId; readonly result: JsonObject }
  | { readonly kind: "error"; readonly id: RpcId; readonly error: RpcErrorBody };

/** Undefined for what is no JSON-RPC message of any kind: servers print such things, and it must not matter. */
export function readMessage(value: unknown): IncomingMessage | undefined {
  if (!isJsonObject(value) || value["jsonrpc"] !== "2.0") return undefined;
  const { id, method } = value;
  if (typeof method === "string") {
    const params = isJsonObject(value["params"]) ? value["params"] : {};
    if (id === undefined || id === null) return { kind: "notification", method, params };
    return isId(id) ? { kind: "request", id, method, params } : undefined;
  }
  if (!isId(id)) return undefined;
  if (isJsonObject(value["result"])) return { kind: "result", id, result: value["result"] };
  if (isJsonObject(value["error"])) return { kind: "error", id, error: readError(value["error"]) };
  // Servers written by hand put their words where an object belongs.
  if (typeof value["error"] === "string") return { kind: "error", id, error: readError({ message: value["error"] }) };
  return undefined;
}

/** Whose answer it is that has neither a result nor an error in it (`"result": null` is one): nothing else will come for it. */
export function emptyAnswerId(value: unknown): RpcId | undefined {
  if (!isJsonObject(value) || value["jsonrpc"] !== "2.0" || value["method"] !== undefined) return undefined;
  return isId(value["id"]) && readMessage(value) === undefined ? value["id"] : undefined;
}

/** The error for such a response. The server did respond, and may have acted. */
export function emptyAnswerError(): TenonError {
  return new TenonError("mcp.protocol", "the server's answer has neither a result nor an error that could be read");
}

export function readError(raw: JsonObject): RpcErrorBody {
  const { code, message, data } = raw;
  return {
    code: typeof code === "number" ? code : -32603,
    message: typeof message === "string" ? message : "the server gave no message",
    ...defined({ data }),
  };
}

function isId(value: unknown): value is RpcId {
  return typeof value === "string" || typeof value === "number";
}
