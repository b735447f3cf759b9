// The modern era (2026-07-28) of a scripted server: which requests it takes, what its results carry, who listens for changes.
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import { type Answer, capabilitiesOf, errorAnswer, serverInfoOf } from "./answers.js";
import type { Behaviour } from "./behaviour.js";
import type { Flow } from "./steps.js";

const META = "io.modelcontextprotocol/";
const MODERN_VERSIONS: readonly string[] = ["2026-07-28"];
const INVALID_PARAMS = -32602;
const UNSUPPORTED_VERSION = -32022;

/** What a change notice is called in the filter of `subscriptions/listen`. */
const FILTERS: Readonly<Record<string, string>> = {
  "notifications/tools/list_changed": "toolsListChanged",
  "notifications/prompts/list_changed": "promptsListChanged",
  "notifications/resources/list_changed": "resourcesListChanged",
};

type Era = "legacy" | "modern";

/** Takes requests of the era the server speaks; a server of both keeps to the one the client has begun with. */
export class EraSelector {
  readonly #behaviour: Behaviour;
  /** What the client has begun with; undefined while that is open. */
  era: Era | undefined;

  constructor(behaviour: Behaviour) {
    this.#behaviour = behaviour;
    if (behaviour.era !== "dual") this.era = behaviour.era ?? "legacy";
  }

  /** The era of the request, or the answer that refuses it. */
  judge(method: string, params: JsonObject): Era | Answer {
    const meta = metaOf(params);
    const claim = meta[`${META}protocolVersion`];
    const era = this.era ?? (claim === undefined ? "legacy" : "modern");
    // As the SDK's servers do it: after the probe alone, the client may still begin with `initialize`.
    if (method !== "server/discover") this.era = era;
    if (era === "legacy") return era;
    const versions = modernVersions(this.#behaviour);
    const asked = method === "initialize" ? params["protocolVersion"] : claim;
    if (typeof asked === "string" && !versions.includes(asked)) {
      const message = `Unsupported protocol version: ${asked}`;
      return { error: { code: UNSUPPORTED_VERSION, message, data: { supported: versions, requested: asked } } };
    }
    if (typeof claim !== "string") return errorAnswer(INVALID_PARAMS, "the _meta envelope is missing");
    if (!isJsonObject(meta[`${META}clientCapabilities`]))
      return errorAnswer(INVALID_PARAMS, "the envelope has no clientCapabilities");
    return era;
  }
}

export function discoverAnswer(behaviour: Behaviour): Answer {
  const { instructions } = behaviour;
  return {
    result: {
      supportedVersions: modernVersions(behaviour),
      capabilities: capabilitiesOf(behaviour),
      ...defined({ instructions }),
      ttlMs: 0,
      cacheScope: "private",
    },
  };
}

/** Every modern result says what kind it is and who gives it. A script's own `resultType` is left alone. */
export function modernAnswer(behaviour: Behaviour, answer: Answer): Answer {
  if (!("result" in answer) || !isJsonObject(answer.result)) return answer;
  const { result } = answer;
  const meta = { ...metaOf(result), [`${META}serverInfo`]: serverInfoOf(behaviour) };
  const isList = result["tools"] !== undefined; // lists also say how long they hold
  return {
    result: { resultType: "complete", ...(isList && { ttlMs: 0, cacheScope: "private" }), ...result, _meta: meta },
  };
}

/** Asks for input until it has been given `rounds` times; then tells what it was given. Undefined when that is done. */
export function inputAnswer(
  ask: { readonly inputRequests?: JsonObject; readonly requestState?: string; readonly rounds?: number },
  params: JsonObject,
): Answer | undefined {
  const { inputRequests, requestState, rounds = 1 } = ask;
  const { inputResponses, requestState: echoed } = params;
  const done = typeof echoed === "string" ? Number(echoed.slice(echoed.lastIndexOf("#") + 1)) : 0;
  const answered = requestState === undefined ? Number(inputResponses !== undefined) : done;
  if (answered >= rounds) return undefined;
  const state = requestState === undefined ? undefined : `${requestState}#${answered + 1}`;
  return { result: { resultType: "input_required", ...defined({ inputRequests, requestState: state }) } };
}

/** One stream of change notices that a client has opened. */
interface Subscription {
  readonly flow: Flow;
  readonly filters: readonly string[];
  readonly taskIds: readonly JsonValue[];
}

export class Subscriptions {
  readonly #behaviour: Behaviour;
  readonly #open = new Set<Subscription>();

  constructor(behaviour: Behaviour) {
    this.#behaviour = behaviour;
  }

  /** The message that acknowledges it. */
  open(flow: Flow): JsonObject {
    const { notifications } = flow.params;
    const wanted = isJsonObject(notifications) && this.#behaviour.listen !== "empty" ? notifications : {};
    const filters = Object.keys(wanted).filter((name) => wanted[name] === true);
    const taskIds = Array.isArray(wanted["taskIds"]) ? wanted["taskIds"] : [];
    this.#open.add({ flow, filters, taskIds });
    return tagged("notifications/subscriptions/acknowledged", flow, {
      notifications: {
        ...Object.fromEntries(filters.map((name) => [name, true])),
        ...(taskIds.length > 0 && { taskIds }),
      },
    });
  }

  close(flow: Flow): void {
    for (const subscription of this.#open) if (subscription.flow === flow) this.#open.delete(subscription);
  }

  /** The notice of a change, or of a task, for each stream that asked for it. */
  notices(method: string, task?: JsonObject): { readonly flow: Flow; readonly message: JsonObject }[] {
    const filter = FILTERS[method] ?? "";
    const isWanted = ({ filters, taskIds }: Subscription) =>
      task ? taskIds.includes(task["taskId"] ?? null) : filters.includes(filter);
    const hearing = [...this.#open].filter((one) => isWanted(one) && !one.flow.isStopped);
    return hearing.map(({ flow }) => ({ flow, message: tagged(method, flow, task ?? {}) }));
  }
}

export function isChangeNotice(method: JsonValue | undefined): method is string {
  return typeof method === "string" && Object.hasOwn(FILTERS, method);
}

/** The result with which a server ends a stream politely. */
export function streamEnd(flow: Flow): Answer {
  return { result: { _meta: { [`${META}subscriptionId`]: flow.request?.id ?? null } } };
}

function tagged(method: string, flow: Flow, params: JsonObject): JsonObject {
  const _meta = { [`${META}subscriptionId`]: flow.request?.id ?? null };
  return { jsonrpc: "2.0", method, params: { ...params, _meta } };
}

function modernVersions(behaviour: Behaviour): readonly string[] {
  return behaviour.modernVersions ?? MODERN_VERSIONS;
}

function metaOf(value: JsonObject): JsonObject {
  return isJsonObject(value["_meta"]) ? value["_meta"] : {};
}
