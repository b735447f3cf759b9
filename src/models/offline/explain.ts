// What the offline model says when it calls no tool: who it is, what there is, and what it still needs.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { ModelTool } from "../model.js";
import type { FilledArguments } from "./arguments.js";
import type { Candidate } from "./choose.js";
import { bareName, listOf, type Parameter, readParameters } from "./parameters.js";

export const INTRODUCTION: string =
  "This is Tenon's offline model: it matches your words to tools and does not reason. For a real model run tenon login, " +
  "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or start with --model provider/name.";

/** More would scroll the answer away; the count tells that there are more. */
const LISTED_TOOLS = 20;
const LINE_MAX_CHARS = 100;

/** A question about the tools themselves, which no tool answers. */
const ABOUT_TOOLS =
  /^\W*(?:help|\?+|(?:what|which)\s+(?:tools|can\s+you\s+do|do\s+you\s+(?:do|have|offer))|(?:what|which)\b.*\btools\b|(?:list|show)\s+(?:me\s+)?(?:all\s+|the\s+|your\s+|available\s+|my\s+)*tools\b)/i;

export function isAboutTools(request: string): boolean {
  return ABOUT_TOOLS.test(request);
}

/** The tools there are, those that come closest first. */
export function describeTools(
  ranked: readonly ModelTool[],
  { isAsked, canSearch }: { readonly isAsked: boolean; readonly canSearch: boolean },
): string {
  if (ranked.length === 0) {
    return "There are no tools in this session, so there is nothing I can do. Connect an MCP server and ask again.";
  }
  const count = ranked.length === 1 ? "There is 1 tool" : `There are ${ranked.length} tools`;
  const start = isAsked ? `${count}:` : `None of the tools fits that. ${count}:`;
  const ordered = ranked.toSorted((one, other) => Number(isHostTool(one.name)) - Number(isHostTool(other.name)));
  const lines = ordered.slice(0, LISTED_TOOLS).map((tool) => `- ${tool.name}: ${oneLine(tool)}`);
  const more = ranked.length - LISTED_TOOLS;
  if (more > 0) lines.push(`- and ${more} more`);
  const [first] = ordered;
  if (canSearch) lines.push("- and others that are not listed: they are searched when none of these fits");
  const end = first === undefined ? [] : [`Name one with its arguments to call it, for example: ${exampleFor(first)}`];
  return [start, ...lines, "", ...end].join("\n");
}

/** About results and resources of the others: they are listed last. */
function isHostTool(name: string): boolean {
  return name.startsWith("tenon_");
}

export function describeMissing(candidate: Candidate, filled: FilledArguments): string {
  const name = bareName(candidate.tool.name);
  const needed = filled.missing.map((parameter) => `- ${parameter.name}: ${describeParameter(parameter)}`);
  const count = needed.length === 1 ? "one more argument" : `${needed.length} more arguments`;
  const example = exampleFor(candidate.tool, candidate.parameters, filled.arguments);
  return [`I would use ${name}, but it needs ${count}:`, ...needed, "", `For example: ${example}`].join("\n");
}

function describeParameter(parameter: Parameter): string {
  const kind = parameter.choices === undefined ? parameter.kind : `one of ${parameter.choices.map(plain).join(", ")}`;
  return clip(parameter.description === "" ? kind : `${kind}. ${parameter.description}`);
}

function oneLine(tool: ModelTool): string {
  const text = tool.description.trim() || tool.title || "(no description)";
  return clip(/^.+?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text);
}

function clip(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > LINE_MAX_CHARS ? `${line.slice(0, LINE_MAX_CHARS - 1)}…` : line;
}

/** A prompt that would call the tool: `read_file path=notes.txt`, or JSON where a value has parts. */
function exampleFor(
  tool: ModelTool,
  parameters: readonly Parameter[] = readParameters(tool),
  known: JsonObject = {},
): string {
  const name = bareName(tool.name);
  const values = parameters.flatMap((parameter): [string, JsonValue][] => {
    const given = Object.hasOwn(known, parameter.name) ? known[parameter.name] : undefined;
    const value = given ?? (parameter.isRequired ? exampleValue(parameter) : undefined);
    return value === undefined ? [] : [[parameter.name, value]];
  });
  if (values.some(([, value]) => typeof value === "object"))
    return `${name} ${JSON.stringify(Object.fromEntries(values))}`;
  return [name, ...values.map(([key, value]) => `${key}=${plain(value)}`)].join(" ");
}

function plain(value: JsonValue): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return /^\S+$/.test(value) ? value : JSON.stringify(value);
}

function exampleValue(parameter: Parameter): JsonValue {
  if (parameter.role === "path" && parameter.kind === "string") return "notes.txt";
  if (parameter.role === "url" && parameter.kind === "string") return "https://example.com";
  return sample(parameter.schema, 0);
}

/** The smallest value of a schema, to its third level. */
function sample(schema: JsonObject, depth: number): JsonValue {
  const [choice] = listOf(schema["enum"]);
  if (choice !== undefined) return choice;
  switch (schema["type"]) {
    case "number":
    case "integer":
      return 1;
    case "boolean":
      return true;
    case "array":
      return depth < 3 && isJsonObject(schema["items"]) ? [sample(schema["items"], depth + 1)] : [];
    case "object": {
      const properties = isJsonObject(schema["properties"]) && depth < 3 ? schema["properties"] : {};
      const required = listOf(schema["required"]);
      const fields = Object.entries(properties).filter(([key]) => required.includes(key));
      return Object.fromEntries(
        fields.map(([key, value]) => [key, sample(isJsonObject(value) ? value : {}, depth + 1)]),
      );
    }
    default:
      return "some text";
  }
}
