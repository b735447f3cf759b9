// What kind of message an agent sent, in the form in which it is checked against a schema.
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";

export interface AgentMessage {
  readonly kind: "request" | "notification" | "response" | "error";
  /** Of a response: the method it answers. Undefined when it answers nothing that was asked. */
  readonly method: string | undefined;
  /** The params, the result or the error. */
  readonly payload: JsonValue | undefined;
}

/** What is wrong with a message, in words; undefined when nothing is. */
export type MessageValidator = (message: AgentMessage) => string | undefined;

export function agentMessage(message: JsonObject, answeredMethod: string | undefined): AgentMessage {
  const { method } = message;
  if (typeof method === "string") {
    return { kind: message["id"] === undefined ? "notification" : "request", method, payload: message["params"] };
  }
  return "error" in message
    ? { kind: "error", method: answeredMethod, payload: message["error"] }
    : { kind: "response", method: answeredMethod, payload: message["result"] };
}

/** What holds for every JSON-RPC message, whatever its method. */
export function envelopeProblem(message: JsonObject): string | undefined {
  const { jsonrpc, id, method, error } = message;
  if (jsonrpc !== "2.0") return `"jsonrpc" is ${JSON.stringify(jsonrpc)}, not "2.0"`;
  if (method !== undefined) return typeof method === "string" ? undefined : `"method" is no string`;
  if (id === undefined) return "neither a method nor an id";
  if ("result" in message === "error" in message) return "a response has either a result or an error";
  if (!("error" in message)) return undefined;
  const isError = isJsonObject(error) && Number.isInteger(error["code"]) && typeof error["message"] === "string";
  return isError ? undefined : "an error needs an integer code and a message";
}
