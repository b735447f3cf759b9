// Finds the cursor of the next page in a page that has not been read yet: where it stands is known, whose it is is a guess.
import type { MessageEnds } from "../transport/transport.js";

/** `"nextCursor":"250"`, with nothing in it that would have to be unescaped. */
const MEMBER = String.raw`"nextCursor"\s*:\s*"([^"\\]{1,400})"`;
const ID = String.raw`(?:-?\d{1,15}|"[^"\\]{0,200}")`;
/** `…,"nextCursor":"250"}}` and `…,"nextCursor":"250"},"jsonrpc":"2.0","id":7}`: as most write results. */
const AT_END = new RegExp(
  String.raw`[,{]\s*${MEMBER}\s*\}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*|,\s*"id"\s*:\s*${ID}\s*){0,2}\}\s*$`,
);
/** `{"jsonrpc":"2.0","id":7,"result":{"nextCursor":"250",…`: as those write it whose results have an order. */
const AT_START = new RegExp(
  String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*|"id"\s*:\s*${ID}\s*,\s*){0,2}"result"\s*:\s*\{\s*${MEMBER}\s*,`,
);

/** Not certain: a member of another object at the end of the message looks the same. Who acts on it compares later. */
export function nextCursorIn({ head, tail }: MessageEnds): string | undefined {
  return (AT_END.exec(tail) ?? AT_START.exec(head))?.[1];
}
