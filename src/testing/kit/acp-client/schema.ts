// Checks what an agent sends against the JSON Schema of ACP v1 that the SDK publishes.
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import { describeMisfit, SchemaCheck } from "../../../base/schema/schema-check.js";
import { SchemaRefs } from "../../../base/schema/schema-refs.js";

import type { AgentMessage, MessageValidator } from "./connection.js";

export interface SchemaValidatorOptions {
  /** Also takes what is in the protocol's unstable schema. */
  readonly unstable?: boolean;
}

/** In the schema each definition names its method (`x-method`) and the side that handles it (`x-side`). */
const SUFFIX = { request: "Request", notification: "Notification", response: "Response" } as const;

const MAX_PROBLEMS = 4;

/** Custom methods (`_…`) are free; every other method must be in the schema, and its payload must fit. */
export async function acpSchemaValidator(options: SchemaValidatorOptions = {}): Promise<MessageValidator> {
  const definitions = await readDefinitions(options.unstable === true);
  const refs = new SchemaRefs({ $defs: definitions });
  const check = (name: string, payload: JsonValue | undefined): string | undefined => {
    const schema = narrowed(name, payload, definitions);
    if (schema === undefined) return "the protocol has no session update of that name";
    const checking = new SchemaCheck(refs, new Map(), Number.POSITIVE_INFINITY, () => false);
    const misfits = checking.misfits(schema, payload ?? {}, MAX_PROBLEMS);
    if (misfits === "unsure" || misfits.length === 0) return undefined;
    return `${name}: ${misfits.map(describeMisfit).join(", ")}`;
  };
  return (message) => {
    const { kind, method, payload } = message;
    if (kind === "error") return check("Error", payload);
    if (method === undefined) return "a response to a request that nobody sent, or a second one";
    if (method.startsWith("_")) return undefined;
    const name = definitionFor(message, definitions);
    return name === undefined ? `the protocol has no ${kind} "${method}"` : check(name, payload);
  };
}

/** Imported, not read from a path: the bundle carries them. */
async function readDefinitions(isUnstable: boolean): Promise<JsonObject> {
  const schema: unknown = isUnstable
    ? await import("@agentclientprotocol/sdk/schema/v1/schema.unstable.json", { with: { type: "json" } })
    : await import("@agentclientprotocol/sdk/schema/v1/schema.json", { with: { type: "json" } });
  const whole = isJsonObject(schema) ? schema["default"] : undefined;
  const definitions = isJsonObject(whole) ? whole["$defs"] : undefined;
  if (!isJsonObject(definitions)) throw new Error("the schema of the ACP SDK has no $defs");
  return definitions;
}

/** An agent sends requests and notifications that the client handles, and responses to requests that the agent handles. */
function definitionFor({ kind, method }: AgentMessage, definitions: JsonObject): string | undefined {
  if (kind === "error") return undefined;
  const sides = kind === "response" ? ["agent"] : ["client", "protocol"];
  const found = Object.entries(definitions).find(([name, definition]) => {
    if (!isJsonObject(definition) || !name.endsWith(SUFFIX[kind])) return false;
    return definition["x-method"] === method && sides.some((side) => side === definition["x-side"]);
  });
  return found?.[0];
}

/**
 * Of the union of session updates only the case that is meant, so that the problem is reported for that case. Undefined
 * when there is none of that name.
 */
function narrowed(name: string, payload: JsonValue | undefined, definitions: JsonObject): JsonObject | undefined {
  const update = isJsonObject(payload) ? payload["update"] : undefined;
  const union = definitions["SessionUpdate"];
  if (name !== "SessionNotification" || !isJsonObject(update) || !isJsonObject(union)) {
    return { $ref: `#/$defs/${name}` };
  }
  const cases = Array.isArray(union["oneOf"]) ? union["oneOf"] : [];
  const index = cases.findIndex((one) => discriminator(one) === update["sessionUpdate"]);
  if (index === -1) return undefined;
  return {
    type: "object",
    required: ["sessionId", "update"],
    properties: { sessionId: { type: "string" }, update: { $ref: `#/$defs/SessionUpdate/oneOf/${index}` } },
  };
}

function discriminator(schema: JsonValue): JsonValue | undefined {
  const properties = isJsonObject(schema) ? schema["properties"] : undefined;
  const field = isJsonObject(properties) ? properties["sessionUpdate"] : undefined;
  return isJsonObject(field) ? field["const"] : undefined;
}
