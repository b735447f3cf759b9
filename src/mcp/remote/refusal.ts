// Reads an answer that is no success: a JSON-RPC error for the request, the end of the session, or a loss with its reason.
import type { IncomingMessage as HttpResponse } from "node:http";
import { TenonError } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import type { IncomingMessage, RpcId } from "../rpc/json-rpc.js";
import type { RequestLoss } from "../rpc/wire.js";
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
  /** The values of the headers its entry gives. */
  readonly given?: readonly string[];
  readonly nowMs: number;
}

const METHOD_NOT_FOUND = -32601;

export function readRefusal(response: HttpResponse, context: RefusalContext, done: (refused: Refused) => void): void {
  readBody(response, LIMITS.httpMaxErrorBytes, (body) => {
    const isWhole = body.kind === "whole";
    const error = isWhole ? readErrorFor(body.bytes, context.id ?? 0) : undefined;
    const text = isWhole ? body.bytes.toString("utf8") : "";
    done(judge(response, text, error, context));
  });
}

function judge(
  response: HttpResponse,
  text: string,
  message: IncomingMessage | undefined,
  context: RefusalContext,
): Refused {
  const status = response.statusCode ?? 0;
  const error = message?.kind === "error" ? message.error : undefined;
  if (context.hadSession && isSessionLoss(status, text, error?.code)) {
    const words = `the server no longer knows the session (${statusLine(status)})`;
    return { kind: "session_lost", error: new TenonError("mcp.session_lost", words) };
  }
  // Those say more as a status: who may call, when to come back, that nobody takes a POST here.
  const isAboutHttp = [401, 403, 405, 429].includes(status) || response.headers["retry-after"] !== undefined;
  if (message && context.id !== undefined && !isAboutHttp) return { kind: "answer", message };
  const { nowMs, hadCredentials, given = [] } = context;
  const said = error === undefined ? {} : { said: error.message };
  return { kind: "loss", loss: lossOf({ response, text, ...said, nowMs, hadCredentials, given }) };
}

/** 404 by the protocol; SDK servers also answer 400 with words of their own. An unknown method is neither. */
function isSessionLoss(status: number, text: string, code: number | undefined): boolean {
  if (status === 404) return code !== METHOD_NOT_FOUND;
  return status === 400 && code !== METHOD_NOT_FOUND && /session|not initialized/iu.test(text);
}
