// What one connection may send: methods within its scopes, requests within its limits. The same for WebSocket and HTTP.
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json/json.js";
import type { LogFields, World } from "../../base/ports/world.js";
import type { AuditLog } from "../access/audit.js";
import { denial, isMethod, type Principal } from "../access/principal.js";
import { GATEWAY_LIMITS } from "../limits.js";

const MINUTE_MS = 60_000;

/** A message to hand on, or the answer it gets instead. */
export type Checked =
  | { readonly kind: "message"; readonly message: JsonObject; readonly waitMs: number }
  | { readonly kind: "refused"; readonly answer: object; readonly why: Refused; readonly waitMs: number }
  /** A notification that is not allowed: there is no answer to it. */
  | { readonly kind: "dropped"; readonly waitMs: number };

/** `waitMs` above 0, of any of them: the token has sent more than it may, and is to be heard again after this. */
type Refused = "malformed" | "denied" | "limited";

/** Requests of each token in the last minute, as one budget for all its connections and those of browsers it let in. */
export class RequestBudgets {
  readonly #world: Pick<World, "monotonicMs">;
  readonly #budgets = new Map<string, { left: number; atMs: number }>();

  constructor(world: Pick<World, "monotonicMs">) {
    this.#world = world;
  }

  /** How long to wait until there is room for one more; 0: there was, and it is taken. The user of this machine is not limited. */
  take({ tokenId, parentId = tokenId }: Principal): number {
    if (parentId === undefined) return 0;
    const { perMinute, burst } = GATEWAY_LIMITS.requests;
    const nowMs = this.#world.monotonicMs();
    const budget = this.#budgets.get(parentId) ?? { left: burst, atMs: nowMs };
    budget.left = Math.min(burst, budget.left + ((nowMs - budget.atMs) * perMinute) / MINUTE_MS);
    budget.atMs = nowMs;
    this.#budgets.set(parentId, budget);
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
  readonly onRequest: (outcome: "taken" | Refused) => void;
}

export class ConnectionRequests {
  readonly #options: ConnectionRequestsOptions;
  #underWay = 0;
  readonly #malformed = { count: 0, sinceMs: Number.NEGATIVE_INFINITY };

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
    return message["method"] === undefined ? { kind: "message", message, waitMs: 0 } : this.#checkMethod(message);
  }

  malformed(code: number, message: string): Checked {
    this.#options.onRequest("malformed");
    const answer = { jsonrpc: "2.0", id: null, error: { code, message } };
    return { kind: "refused", answer, why: "malformed", waitMs: 0 };
  }

  /** True when there have been too many in a minute: the connection is to be closed. */
  countMalformed(): boolean {
    const nowMs = this.#options.world.monotonicMs();
    const counted = this.#malformed;
    if (nowMs - counted.sinceMs >= MINUTE_MS) Object.assign(counted, { count: 0, sinceMs: nowMs });
    counted.count += 1;
    this.#options.audit.write("malformed", this.#who(null));
    return counted.count >= GATEWAY_LIMITS.malformedPerMinute;
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
    const { principal, budgets } = this.#options;
    const { id, method, params } = message;
    if (typeof method !== "string") return this.malformed(-32600, 'Invalid request: "method" must be a text');
    // `null` is the id of answers to what could not be read: a request with it could not be answered.
    if (id !== undefined && typeof id !== "string" && typeof id !== "number") {
      return this.malformed(-32600, 'Invalid request: "id" must be a text or a number');
    }
    const waitMs = budgets.take(principal); // first: refusals cost something too
    const denied = denial(principal, method, params);
    if (id === undefined) {
      // A notification has no answer to be refused with; the connection is read more slowly instead.
      if (denied || waitMs > 0) this.#note(denied ? "denied" : "limited", method);
      return denied ? { kind: "dropped", waitMs } : { kind: "message", message, waitMs };
    }
    const full = this.#underWay >= GATEWAY_LIMITS.requestsAtOnce ? tooMany() : undefined;
    const problem = waitMs > 0 ? tooOften(waitMs) : (denied ?? full);
    if (problem) {
      const why = problem === denied ? "denied" : "limited";
      this.#note(why, method);
      return { kind: "refused", answer: refusal(id, problem), why, waitMs };
    }
    this.#underWay += 1;
    this.#options.onRequest("taken");
    return { kind: "message", message, waitMs };
  }

  /** Methods that there are not are one: their names are the client's to choose, and would fill the audit file. */
  #note(why: "denied" | "limited", method: string): void {
    const { audit, onRequest } = this.#options;
    onRequest(why);
    audit.write(why, this.#who(isMethod(method) ? method : "unknown"));
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

function refusal(id: string | number, { code, message, hint, retryAfterMs }: TenonError): object {
  const wireCode = code === "access.denied" ? -32003 : -32004;
  const data = { code, hint, ...defined({ retryAfterMs }) };
  return { jsonrpc: "2.0", id, error: { code: wireCode, message, data } };
}
