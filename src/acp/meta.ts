// Tenon's own fields in the `_meta` of ACP messages. docs/reference/acp.md describes each; a test compares the two.
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import type { AskedAs, ServerStatus } from "../session/index.js";

/** What a client may say of a server it hands over, in `_meta.tenon` of the entry. */
export interface ReceivedMeta {
  readonly include?: JsonValue;
  /** Of a server's entry: without it the first turn fails. */
  readonly required?: JsonValue;
  readonly cwd?: JsonValue;
}

/** What Tenon sends in `_meta.tenon`. */
export interface SentMeta {
  readonly methods?: readonly string[];
  readonly mcp?: { readonly servers: readonly ServerStatus[] };
  readonly trust?: true;
  readonly sampling?: true;
  readonly server?: string;
  readonly servers?: readonly string[];
  readonly notes?: readonly string[];
  readonly lock?: true;
  readonly protects?: string;
  readonly questionId?: string;
  readonly askedAt?: number;
  /** Of a notice: the provider is asked again at `untilMs`, since the epoch. */
  readonly retry?: {
    readonly reason: string;
    readonly untilMs: number;
    readonly attempt: number;
    readonly attempts: number;
  };
}

export function sentMeta(fields: SentMeta): { tenon: SentMeta } {
  return { tenon: fields };
}

/** Of sessions that several clients share: the types are in gateway/protocol.ts, and docs/reference/gateway.md describes them. */
export function sharedMeta(fields: object): { tenon: object } {
  return { tenon: fields };
}

/** The request of a question with what it is known by, where the client is one of several. */
export function asQuestion<Request extends { readonly _meta?: { readonly tenon: SentMeta } | null }>(
  request: Request,
  asked: AskedAs | undefined,
): Request {
  if (!asked) return request;
  const { questionId, askedMs: askedAt } = asked;
  return { ...request, _meta: sentMeta({ ...request._meta?.tenon, questionId, askedAt }) };
}

/** Empty where the client said nothing. */
export function receivedMeta(entry: JsonObject): ReceivedMeta {
  return tenonMeta(entry);
}

/** All of `_meta.tenon`, for those who know what may be in it. */
export function tenonMeta(message: unknown): JsonObject {
  const meta = isJsonObject(message) ? message["_meta"] : undefined;
  const ours = isJsonObject(meta) ? meta["tenon"] : undefined;
  return isJsonObject(ours) ? ours : {};
}
