// What one connection may send: methods within its scopes, requests within its limits. The same for WebSocket and HTTP.
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json/json.js";
import type { LogFields, World } from "../../base/ports/world.js";
import type { AuditLog } from "../access/audit.js";
import { denial, type Principal } from "../access/principal.js";
import { GATEWAY_LIMITS } from "../limits.js";

const MINUTE_MS = 60_000;

/** A message to hand on, or the answer it gets instead. */
export type Checked =
  | { readonly kind: "message"; readonly message: JsonObject; readonly waitMs?: number }
  | { readonly kind: "refused"; readonly answer: object; readonly isMalformed: boolean }
  /** A notification that is not allowed: there is no answer to it. */
  | { readonly kind: "dropped" };

/** Requests of each token in the last minute, as one budget for all its connections. */
export class RequestBudgets {
  readonly #world: Pick<World, "monotonicMs">;
  readonly #budgets = new Map<string, { left: number; atMs: number }>();

  constructor(world: Pick<World, "monotonicMs">) {
    this.#world = world;
  }

  /** How long to wait until there is room for one more; 0: there was, and it is taken. The user of this machine is not limited. */
  take({ tokenId }: Principal): number {
    if (tokenId === undefined) return 0;
    const { perMinute, burst } = GATEWAY_LIMITS.requests;
    const nowMs = this.#world.monotonicMs();
    const budget = this.#budgets.get(tokenId) ?? { left: burst, atMs: nowMs };
    budget.left = Math.min(burst, budget.left + ((nowMs - budget.atMs) * perMinute) / MINUTE_MS);
    budget.atMs = nowMs;
    this.#budgets.set(tokenId, budget);
    if (budget.left < 1) return Math.ceil(((1 - budget.left) * MINUTE_MS) / perMinute);
    budget.left -= 1;
    return 0;
  }

  /** A token that is gone needs no budget. */
  forget(tokenId: string): void {
    this.#budgets.delete(tokenId);
  }
}

export interface ConnectionRequestsOptions {
  readonly world: Pick<World, "monotonicMs">;
  readonly principal: Principal;
  readonly budgets: RequestBudgets;
  readonly audit: AuditLog;
  readonly onRequest: (outcome: "taken" | "denied" | "limited" | "malformed") => void;
}

export class ConnectionRequests {
  readonly #options: ConnectionRequestsOptions;
  #underWay = 0;
  readonly #malformed = { count: 0, sinceMs: Number.NEGATIVE_INFINITY };
  readonly #limited = { count: 0, sinceMs: Number.NEGATIVE_INFINITY };

  constructor(options: ConnectionRequestsOptions) {
    this.#options = options;
  }

  /** `text`: one JSON-RPC message. */
  check(text: string): Checked {
    const parsed = parseJson(text);
    if (!parsed.ok) {
      const [code, what] = parsed.isDeep ? [-32600, "Invalid request"] : [-32700, "Parse error"];
      return this.malformed(code, `${what}: ${parsed.reason}`);
    }
    const message = parsed.value;
    if (!isJsonObject(message)) {
      return this.malformed(-32600, "Invalid request: a message is one JSON object; batches are not supported");
    }
    if (message["jsonrpc"] !== "2.0") return this.malformed(-32600, 'Invalid request: "jsonrpc" must be "2.0"');
    return message["method"] === undefined ? { kind: "message", message } : this.#checkMethod(message);
  }

  malformed(code: number, message: string): Checked {
    this.#options.onRequest("malformed");
    const answer = { jsonrpc: "2.0", id: null, error: { code, message } };
    return { kind: "refused", answer, isMalformed: true };
  }

  /** True when there have been too many in a minute: the connection is to be closed. The first and the last are written down. */
  countMalformed(): boolean {
    const isFirst = this.#isFirst(this.#malformed);
    const isLast = this.#malformed.count >= GATEWAY_LIMITS.malformedPerMinute;
    if (isFirst || isLast) this.#options.audit.write("malformed", this.#who(null));
    return isLast;
  }

  /** Counts one more, and says whether it is the first of its minute. */
  #isFirst(counted: { count: number; sinceMs: number }): boolean {
    const nowMs = this.#options.world.monotonicMs();
    if (nowMs - counted.sinceMs >= MINUTE_MS) Object.assign(counted, { count: 0, sinceMs: nowMs });
    counted.count += 1;
    return counted.count === 1;
  }

  #who(method: string | null): LogFields {
    const { account, tokenId, name } = this.#options.principal;
    return { account, token: tokenId ?? null, name, method };
  }

  /** To be called for every message to the client: an answer ends a request. */
  sent(message: object): void {
    if (!("method" in message) && "id" in message && message.id !== null) {
      this.#underWay = Math.max(0, this.#underWay - 1);
    }
  }

  #checkMethod(message: JsonObject): Checked {
    const { principal, budgets, audit, onRequest } = this.#options;
    const { id, method, params } = message;
    if (typeof method !== "string") return this.malformed(-32600, 'Invalid request: "method" must be a text');
    const isRequest = id !== undefined && id !== null;
    if (isRequest && typeof id !== "string" && typeof id !== "number") {
      return this.malformed(-32600, 'Invalid request: "id" must be a text or a number');
    }
    const denied = denial(principal, method, params);
    if (denied) {
      onRequest("denied");
      audit.write("denied", this.#who(method));
      return isRequest ? refused(id, denied) : { kind: "dropped" };
    }
    const waitMs = budgets.take(principal);
    // A notification has no answer to be refused with; the connection is read more slowly instead.
    if (!isRequest) return { kind: "message", message, waitMs };
    const problem =
      waitMs > 0 ? tooOften(waitMs) : this.#underWay >= GATEWAY_LIMITS.requestsAtOnce ? tooMany() : undefined;
    if (problem) {
      onRequest("limited");
      if (this.#isFirst(this.#limited)) audit.write("limited", this.#who(method));
      return refused(id, problem);
    }
    this.#underWay += 1;
    onRequest("taken");
    return { kind: "message", message };
  }
}

function tooOften(waitMs: number): TenonError {
  const { perMinute, burst } = GATEWAY_LIMITS.requests;
  const what = `this token may send ${perMinute} requests a minute, ${burst} at once`;
  return new TenonError("access.limited", `${what}; wait ${(waitMs / 1_000).toFixed(1)} s`, { retryAfterMs: waitMs });
}

function tooMany(): TenonError {
  const what = `${GATEWAY_LIMITS.requestsAtOnce} requests of this connection are under way`;
  return new TenonError("access.limited", `${what}; wait until one of them is answered`);
}

function refused(id: string | number, { code, message, hint, retryAfterMs }: TenonError): Checked {
  const wireCode = code === "access.denied" ? -32003 : -32004;
  const data = { code, hint, ...defined({ retryAfterMs }) };
  return {
    kind: "refused",
    answer: { jsonrpc: "2.0", id, error: { code: wireCode, message, data } },
    isMalformed: false,
  };
}
