// Checks an agent's messages against the JSON Schema that the ACP SDK publishes.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import type { AgentMessage, MessageValidator } from "./agent-message.js";

export interface SchemaValidatorOptions {
  /** Also takes what is in the protocol's unstable schema. */
  readonly unstable?: boolean;
}

type Compiled = (payload: unknown) => string | undefined;
type Compile = (schema: JsonObject) => Compiled;

/** In the schema each definition names its method (`x-method`) and the side that handles it (`x-side`). */
const SUFFIX = { request: "Request", notification: "Notification", response: "Response" } as const;

const MAX_PROBLEMS = 4;

/** Custom methods (`_…`) are free; every other method must be in the schema, and its payload must fit. */
export async function acpSchemaValidator(options: SchemaValidatorOptions = {}): Promise<MessageValidator> {
  const definitions = readDefinitions(options.unstable ? "schema.unstable.json" : "schema.json");
  const compile = await loadCompiler();
  const compiled = new Map<string, Compiled>();
  const check = (name: string, payload: JsonValue | undefined): string | undefined => {
    const schema = narrowed(name, payload, definitions);
    if (schema === undefined) return "the protocol has no session update of that name";
    const key = JSON.stringify(schema);
    const validate = compiled.get(key) ?? compile({ $defs: definitions, ...schema });
    compiled.set(key, validate);
    const problem = validate(payload ?? {});
    return problem === undefined ? undefined : `${name}: ${problem}`;
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

function readDefinitions(file: string): JsonObject {
  const path = createRequire(import.meta.url).resolve(`@agentclientprotocol/sdk/schema/v1/${file}`);
  const schema: JsonValue = JSON.parse(readFileSync(path, "utf8"));
  const definitions = isJsonObject(schema) ? schema["$defs"] : undefined;
  if (!isJsonObject(definitions)) throw new Error(`${file} of the ACP SDK has no $defs`);
  return definitions;
}

/** What an agent sends: requests and notifications that the client handles, responses to what the agent handles. */
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
 * Of a union of updates only the one meant: the problems of all the others would bury its own. Undefined when there is
 * none of that name.
 */
function narrowed(name: string, payload: JsonValue | undefined, definitions: JsonObject): JsonObject | undefined {
  const whole = { $ref: `#/$defs/${name}` };
  const update = isJsonObject(payload) ? payload["update"] : undefined;
  const union = definitions["SessionUpdate"];
  if (name !== "SessionNotification" || !isJsonObject(update) || !isJsonObject(union)) return whole;
  const cases = union["oneOf"];
  const index = Array.isArray(cases) ? cases.findIndex((one) => discriminator(one) === update["sessionUpdate"]) : -1;
  if (index === -1) return undefined;
  return {
    type: "object",
    required: ["sessionId", "update"],
    properties: { sessionId: { type: "string" }, update: { $ref: `#/$defs/SessionUpdate/oneOf/${index}` } },
  };
}

function discriminator(schema: unknown): JsonValue | undefined {
  const properties = isJsonObject(schema) ? schema["properties"] : undefined;
  const field = isJsonObject(properties) ? properties["sessionUpdate"] : undefined;
  return isJsonObject(field) ? field["const"] : undefined;
}

/** The MCP SDK carries a JSON Schema validator; loading it takes time that only who validates should spend. */
async function loadCompiler(): Promise<Compile> {
  const { AjvJsonSchemaValidator } = await import("@modelcontextprotocol/client/validators/ajv");
  const ajv = new AjvJsonSchemaValidator();
  return (schema) => {
    const text = JSON.stringify(schema, (key, value: unknown) =>
      key === "format" && typeof value === "string" ? undefined : value,
    );
    const validate = ajv.getValidator<unknown>(JSON.parse(text));
    return (payload) => {
      const result = validate(payload);
      return result.valid ? undefined : shorten(result.errorMessage);
    };
  };
}

/** "must be equal to constant" only says which other case of a union it is not. */
function shorten(problems: string): string {
  const all = [...new Set(problems.split(", "))].filter((problem) => !problem.includes("must be equal to constant"));
  const shown = all.slice(0, MAX_PROBLEMS).join(", ");
  return all.length > MAX_PROBLEMS ? `${shown} and ${all.length - MAX_PROBLEMS} more` : shown || problems;
}
