// The calls that a scenario wants: prescribed by it, or one of each tool.
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/base/json/json.js";
import { scenarioContext } from "./login.js";

export interface ScenarioCall {
  readonly name: string;
  readonly args: JsonObject;
}

/** The calls a scenario prescribes; undefined when it leaves them to the client. */
export function prescribedCalls(): ScenarioCall[] | undefined {
  const { toolCalls: calls } = scenarioContext();
  if (!Array.isArray(calls)) return undefined;
  return calls.filter(isJsonObject).flatMap(({ name, arguments: args }) => {
    return typeof name === "string" ? [{ name, args: isJsonObject(args) ? args : {} }] : [];
  });
}

/** Something of the right type for every required argument; the schema of the server's first tool where one is asked for. */
export function argumentsFor({ required, properties }: JsonObject, first: JsonObject = {}): JsonObject {
  const names = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
  const schemas = isJsonObject(properties) ? properties : {};
  if (names.length === 1 && names[0] === "schema") return { schema: first };
  return Object.fromEntries(names.map((name) => [name, sampleOf(schemas[name])]));
}

function sampleOf(schema: JsonValue | undefined): JsonValue {
  switch (isJsonObject(schema) ? schema["type"] : undefined) {
    case "number":
    case "integer":
      return 2;
    case "boolean":
      return true;
    case "object":
      return {};
    case "array":
      return [];
    default:
      return "text";
  }
}
