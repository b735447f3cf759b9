// Reads an answer that is no success: a JSON-RPC error for the request, the end of the session, or a loss with its reason.
import type { IncomingMessage as HttpResponse } from "node:http";
import { TenonError } from "../../../base/errors.js";
import { isJsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import type { KnownSecrets } from "../../../base/text/secrets.js";
import { MCP_LIMITS } from "../../limits.js";
import type { IncomingMessage, RpcId } from "../json-rpc.js";
import type { RequestLoss } from "../transport.js";
import { readBody } from "./body.js";
import { readErrorFor } from "./incoming.js";
import { lossOf, statusLine } from "./status.js";

export type Refused =
  | { readonly kind: "answer"; readonly message: IncomingMessage }
  | { readonly kind: "session_lost"; readonly error: TenonError }
  | { readonly kind: "loss"; readonly loss: RequestLoss };

export interface RefusalContext {
  /** The request that was refused; undefined for notifications, answers and streams. */
  readonly id?: RpcId;
  readonly hadSession: boolean;
  readonly hadCredentials: boolean;
  readonly secrets: KnownSecrets;
  readonly nowMs: number;
}

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

export function readRefusal(response: HttpResponse, context: RefusalContext, done: (refused: Refused) => void): void {
  readBody(response, MCP_LIMITS.httpMaxErrorBytes, (body) => {
    const isWhole = body.kind === "whole";
    const error = isWhole ? readErrorFor(body.bytes, context.id ?? 0) : undefined;
    const text = isWhole ? body.bytes.toString("utf8") : "";
    const isOwn = error !== undefined && idOf(text) === context.id;
    done(judge(response, text, { message: error, isOwn }, context));
  });
}

function judge(
  response: HttpResponse,
  text: string,
  { message, isOwn }: { readonly message: IncomingMessage | undefined; readonly isOwn: boolean },
  context: RefusalContext,
): Refused {
  const status = response.statusCode ?? 0;
  const error = message?.kind === "error" ? message.error : undefined;
  if (context.hadSession && isSessionLoss(status, text, { code: error?.code, isOwn })) {
    const words = `the server no longer knows the session (${statusLine(status)})`;
    return { kind: "session_lost", error: new TenonError("mcp.session_lost", words) };
  }
  // Those say more as a status: who may call, when to come back, that nobody takes a POST here.
  const isAboutHttp = [401, 403, 405, 429].includes(status) || response.headers["retry-after"] !== undefined;
  if (message && context.id !== undefined && !isAboutHttp) return { kind: "answer", message };
  const { nowMs, hadCredentials, secrets } = context;
  const said = error === undefined ? {} : { said: error.message };
  return { kind: "loss", loss: lossOf({ response, text, ...said, nowMs, hadCredentials, secrets }) };
}

/**
 * 404 by the protocol; SDK servers also answer 400 with words of their own. An unknown method is neither, and an error under
 * the request's own id is about the request (no such tool, a bad argument) unless its words are about the session.
 */
function isSessionLoss(
  status: number,
  text: string,
  { code, isOwn }: { readonly code: number | undefined; readonly isOwn: boolean },
): boolean {
  if (code === METHOD_NOT_FOUND || (isOwn && code === INVALID_PARAMS)) return false;
  const isAboutSession = /session|not initialized/iu.test(text);
  return status === 404 ? !isOwn || isAboutSession : status === 400 && isAboutSession;
}

function idOf(text: string): JsonValue | undefined {
  const parsed = parseJson(text);
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value["id"] : undefined;
}
