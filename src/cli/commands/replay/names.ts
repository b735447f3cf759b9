// Names that are new in every run (sessions, requests): what was recorded under one comes back under the other.
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from "../../../base/json/json.js";

/** Ids of sessions are long enough that no other text contains one by chance. */
export class SessionNames {
  readonly #now = new Map<string, string>();
  readonly #recorded = new Map<string, string>();

  /** From the answers to a request that makes a session. */
  learn(recorded: JsonValue | undefined, now: JsonValue | undefined): void {
    const then = sessionOf(recorded);
    const here = sessionOf(now);
    if (then === undefined || here === undefined) return;
    this.#now.set(then, here);
    this.#recorded.set(here, then);
  }

  has(recorded: string): boolean {
    return this.#now.has(recorded);
  }

  toNow(value: JsonValue): JsonValue {
    return renamed(value, this.#now);
  }

  toRecorded(value: JsonValue): JsonValue {
    return renamed(value, this.#recorded);
  }
}

function sessionOf(result: JsonValue | undefined): string | undefined {
  const id = isJsonObject(result) ? result["sessionId"] : undefined;
  return typeof id === "string" ? id : undefined;
}

function renamed(value: JsonValue, names: ReadonlyMap<string, string>): JsonValue {
  if (names.size === 0) return value;
  if (typeof value === "string") {
    let text = value;
    for (const [from, to] of names) text = text.replaceAll(from, to);
    return text;
  }
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (item === undefined ? [] : [[key, renamed(item, names)]])),
  );
}

/** The same message under other ids of requests: in the answer itself, and in what is said about a request. */
export function withIds(message: JsonObject, ids: ReadonlyMap<string, JsonValue>): JsonObject {
  const other = (id: JsonValue | undefined) => (id === undefined ? undefined : (ids.get(JSON.stringify(id)) ?? id));
  const { id, method, params, lost } = message;
  if (isJsonObject(lost)) return { ...message, lost: { ...lost, id: other(lost["id"]) } };
  if (method === undefined) return { ...message, id: other(id) };
  if (!isJsonObject(params)) return message;
  const { progressToken, requestId } = params;
  const ours = defined({ progressToken: other(progressToken), requestId: other(requestId) });
  return { ...message, params: { ...params, ...ours } };
}

// A message as it would stand on the wire.

export function plain(message: object): JsonObject {
  return parseObject(JSON.stringify(message)) ?? {};
}
