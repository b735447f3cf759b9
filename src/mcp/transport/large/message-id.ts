// Finds whose answer a message was that is too long to be read: the id stands at one of its two ends.
import type { Buffer } from "node:buffer";
import type { RpcId } from "../json-rpc.js";
import type { MessageEnds } from "../transport.js";

/** `{"jsonrpc":"2.0","id":7,…`: as most write it. */
const AT_START = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,200}")\s*,/;
/** `…,"jsonrpc":"2.0","id":7}`: as the SDKs write results. Only the message itself ends in a single bracket after its id. */
const AT_END = /"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,200}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;
/** A request or notification has an id or a name of its own, which is no answer to anything. */
const IS_METHOD = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*[^,]{1,200},\s*)?"method"\s*:/;

/** How much of each end is enough to find it. */
export const END_BYTES = 1_024;

export function endsOf(line: Buffer): MessageEnds {
  return {
    head: line.toString("utf8", 0, END_BYTES),
    tail: line.toString("utf8", Math.max(0, line.length - END_BYTES)),
  };
}

export function answeredId({ head, tail }: MessageEnds): RpcId | undefined {
  if (IS_METHOD.test(head)) return undefined;
  const [, found] = AT_END.exec(tail) ?? AT_START.exec(head) ?? [];
  if (found === undefined) return undefined;
  return found.startsWith('"') ? found.slice(1, -1) : Number(found);
}
