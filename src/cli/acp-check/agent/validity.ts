// What an agent may put on its stdout: ACP v1 messages that fit the schema the SDK publishes, unstable parts included.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";

export interface AgentMessage {
  readonly kind: "request" | "notification" | "response";
  /** Of a response: the method it answers; undefined when nobody asked. */
  readonly method: string | undefined;
  readonly payload: JsonValue | undefined;
}

/** What is wrong with a message, in a few words. */
export type Validate = (message: AgentMessage) => string | undefined;

type Compiled = (payload: unknown) => string | undefined;

const SUFFIX = { request: "Request", notification: "Notification", response: "Response" } as const;
const SHOWN_CHARS = 200;

export async function loadValidator(): Promise<Validate> {
  const definitions = readDefinitions();
  const compile = await loadCompiler();
  const compiled = new Map<string, Compiled>();
  return ({ kind, method, payload }) => {
    if (method === undefined) return "a response to a request that nobody sent, or a second one";
    if (method.startsWith("_")) return undefined;
    const name = definitionOf(kind, method, definitions);
    if (name === undefined) return `the protocol has no ${kind} "${method}"`;
    const target = targetOf(name, payload, definitions);
    if (target === undefined) return "a session update of a kind the protocol does not have";
    const check = compiled.get(target) ?? compile({ $defs: definitions, $ref: target });
    compiled.set(target, check);
    const isUpdate = target.includes("/oneOf/");
    const problem = check((isUpdate && isJsonObject(payload) ? payload["update"] : payload) ?? {});
    return problem === undefined ? undefined : `${method} ${kind}: ${problem.slice(0, SHOWN_CHARS)}`;
  };
}

function readDefinitions(): JsonObject {
  const path = createRequire(import.meta.url).resolve("@agentclientprotocol/sdk/schema/v1/schema.unstable.json");
  const parsed = parseJson(readFileSync(path, "utf8"));
  const definitions = parsed.ok && isJsonObject(parsed.value) ? parsed.value["$defs"] : undefined;
  if (!isJsonObject(definitions)) throw new Error("the ACP SDK's schema has no $defs");
  return definitions;
}

/** The schema says of each definition which method it is for and which side handles that. */
function definitionOf(kind: AgentMessage["kind"], method: string, definitions: JsonObject): string | undefined {
  const sides = kind === "response" ? ["agent"] : ["client", "protocol"];
  const found = Object.entries(definitions).find(([name, definition]) => {
    if (!isJsonObject(definition) || !name.endsWith(SUFFIX[kind])) return false;
    return definition["x-method"] === method && sides.some((side) => side === definition["x-side"]);
  });
  return found?.[0];
}

/** Of the union of updates only the kind that is meant, or the problems of all the others would bury its own. */
function targetOf(name: string, payload: JsonValue | undefined, definitions: JsonObject): string | undefined {
  const update = isJsonObject(payload) ? payload["update"] : undefined;
  const union = definitions["SessionUpdate"];
  if (name !== "SessionNotification" || !isJsonObject(update) || !isJsonObject(union)) return `#/$defs/${name}`;
  const kinds = Array.isArray(union["oneOf"]) ? union["oneOf"] : [];
  const index = kinds.findIndex((one) => updateKind(one) === update["sessionUpdate"]);
  return index < 0 ? undefined : `#/$defs/SessionUpdate/oneOf/${index}`;
}

function updateKind(schema: JsonValue): JsonValue | undefined {
  const properties = isJsonObject(schema) ? schema["properties"] : undefined;
  const field = isJsonObject(properties) ? properties["sessionUpdate"] : undefined;
  return isJsonObject(field) ? field["const"] : undefined;
}

async function loadCompiler(): Promise<(schema: JsonObject) => Compiled> {
  const { AjvJsonSchemaValidator } = await import("@modelcontextprotocol/client/validators/ajv");
  const ajv = new AjvJsonSchemaValidator();
  return (schema) => {
    // Formats such as "uint16" are unknown to the checker and say nothing the type does not.
    const plain = JSON.stringify(schema, (key, value: unknown) =>
      key === "format" && typeof value === "string" ? undefined : value,
    );
    const validate = ajv.getValidator<unknown>(JSON.parse(plain));
    return (payload) => {
      const result = validate(payload);
      return result.valid ? undefined : result.errorMessage;
    };
  };
}
