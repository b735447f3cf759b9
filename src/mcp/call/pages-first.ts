// A call that was refused until the person has been to a page (-32042): shows the page, and says what to do next.
import { TenonError } from "../../base/errors.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import type { Link } from "../era/link.js";
import { MCP_LIMITS } from "../limits.js";
import type { RpcErrorBody } from "../transport/json-rpc.js";
import { outcomeError } from "./outcome-error.js";

export const PAGES_REQUIRED = -32_042;

export interface RefusedCall {
  readonly error: RpcErrorBody;
  /** `server / tool`. */
  readonly where: string;
  readonly signal: AbortSignal;
}

/**
 * The server has not acted. It is not asked again by itself either: only the person knows when they are done at the page,
 * and the model may call again.
 */
export async function pagesFirst(
  link: Pick<Link, "askPeer">,
  { error, where, signal }: RefusedCall,
): Promise<TenonError> {
  const pages = pagesIn(error).slice(0, MCP_LIMITS.inputMaxRequests);
  let isAgreed = pages.length > 0 && link.askPeer !== undefined;
  for (const page of pages) {
    if (!isAgreed || signal.aborted) break;
    const answer = await link.askPeer?.("elicitation/create", page, signal).catch(() => undefined);
    isAgreed = answer?.["action"] === "accept";
  }
  const next = isAgreed
    ? "the person was shown the page; call again once they say that it is done"
    : "the person was not sent to the page, so it cannot be called now";
  const refusal = outcomeError({ kind: "error", error }, where);
  return new TenonError(refusal.code, `${refusal.message}; ${next}`, { cause: refusal.cause });
}

function pagesIn({ data }: RpcErrorBody): readonly JsonObject[] {
  const listed = isJsonObject(data) ? data["elicitations"] : undefined;
  const pages = Array.isArray(listed) ? listed.filter((page) => isJsonObject(page)) : [];
  // Whatever else it says of itself, a form is not what this error is for.
  return pages.map((page) => ({ ...page, mode: "url" }));
}
