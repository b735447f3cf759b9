// From JSON values to JSON-RPC messages, and from bytes to values where that is done at once.

import { Buffer } from "node:buffer";
import type { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import { emptyAnswerError, emptyAnswerId, type IncomingMessage, type RpcId, readMessage } from "../json-rpc.js";

export interface Incoming {
  readonly messages: readonly IncomingMessage[];
  /** What was in it besides, in words. */
  readonly noise?: string;
  /** An answer that came and could not be read. */
  readonly unread?: { readonly id: RpcId; readonly error: TenonError };
}

/**
 * `postId` is the request whose POST this answers, if any: servers leave the id of errors out or null, and on HTTP the
 * POST itself says whose they are.
 */
export function incomingOf(value: JsonValue, postId: RpcId | undefined): Incoming {
  const whole = readMessage(value);
  if (whole) return { messages: [whole] };
  // Batches: the version of 2025-03-26 had them, and servers of that time still send them.
  const values = Array.isArray(value) ? value : [value];
  const messages: IncomingMessage[] = [];
  let strangers = 0;
  let emptyId: RpcId | undefined;
  for (const item of values) {
    const message = readMessage(item) ?? errorWithoutId(item, postId);
    if (message) messages.push(message);
    else {
      emptyId ??= emptyAnswerId(item);
      strangers += 1;
    }
  }
  return {
    messages,
    ...defined({
      noise: strangers === 0 ? undefined : `${strangers} that were no JSON-RPC messages`,
      unread: emptyId === undefined ? undefined : { id: emptyId, error: emptyAnswerError() },
    }),
  };
}

export function readIncoming(bytes: Buffer, postId: RpcId | undefined): Incoming {
  const parsed = parseJson(textOf(bytes));
  return parsed.ok ? incomingOf(parsed.value, postId) : { messages: [], noise: `it is not JSON: ${parsed.reason}` };
}

/** A JSON-RPC error in a body, whatever its id says: it is about the POST it answers. */
export function readErrorFor(bytes: Buffer, postId: RpcId): IncomingMessage | undefined {
  const parsed = parseJson(textOf(bytes));
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined;
  const message = readMessage({ ...parsed.value, id: postId });
  return message?.kind === "error" ? message : undefined;
}

function errorWithoutId(value: JsonValue, postId: RpcId | undefined): IncomingMessage | undefined {
  if (postId === undefined || !isJsonObject(value) || (value["id"] ?? null) !== null) return undefined;
  const message = readMessage({ ...value, id: postId });
  return message?.kind === "error" ? message : undefined;
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

function textOf(bytes: Buffer): string {
  return (bytes[0] === BOM[0] && bytes.subarray(0, 3).equals(BOM) ? bytes.subarray(3) : bytes).toString("utf8");
}
