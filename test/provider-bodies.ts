// What providers send when they refuse, in the shape each of them really uses. For tests.
import type { JsonObject } from "../src/base/json/json.js";

export function named(name: string, fields: object = {}): Error {
  return Object.assign(new Error("said"), { name, ...fields });
}

/** As the adapters throw an answer with a failing status. */
export function refused(
  status: number,
  body: JsonObject | readonly JsonObject[] | string,
  headers: JsonObject = {},
): Error {
  const responseBody = typeof body === "string" ? body : JSON.stringify(body);
  return named("AI_APICallError", { statusCode: status, responseBody, responseHeaders: headers });
}

export function anthropic(type: string, message: string): JsonObject {
  return { type: "error", error: { type, message }, request_id: "req_011CbX3X2dtvKq82jNzF9Trp" };
}

export function openai(message: string, type: string, code: string | null, param: string | null = null): JsonObject {
  return { error: { message, type, param, code } };
}

export function google(code: number, status: string, message: string, details: readonly JsonObject[] = []): JsonObject {
  return { error: { code, message, status, details } };
}
