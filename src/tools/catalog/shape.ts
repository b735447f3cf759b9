// The pipeline every tool passes before the catalog: allow and deny, configuration, prefix, then code.
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, isTooDeep, type JsonObject, type JsonSchema, type JsonValue } from "../../base/json/json.js";
import { compileGlob, type GlobMatcher } from "../../base/text/glob.js";
import type { IncludeMode, ToolDefinition, ToolOrigin, ToolSource } from "../tool.js";

export type Shaped =
  | ({ readonly kind: "kept"; readonly definition: ToolDefinition } & Readonly<
      Record<"pinned" | "defaults", JsonObject>
    >)
  /** `filtered` by configuration or code; `broken` when something is wrong. */
  | { readonly kind: "filtered" | "broken"; readonly reason: string };

export type Shaper = (raw: ToolDefinition) => Shaped;

const NOTHING: JsonObject = {};

export function shaper(
  source: Pick<ToolSource, "name" | "origin">,
  settings: ShapeSettings,
  transformers: readonly ToolTransformer[],
): Shaper {
  const filter = nameFilter(settings);
  const applied = transformers.filter((one) => appliesTo(one, source.origin));
  const { prefix = "", tools } = settings;
  const shapes = tools && new Map(Object.entries(tools));
  return (raw) => {
    const reason = filter(raw.name);
    if (reason !== undefined) return { kind: "filtered", reason };
    const shape = shapes?.get(raw.name);
    const { arguments: pinned = NOTHING, defaults = NOTHING } = shape ?? {};
    const definition = shape || prefix !== "" ? configured(raw, shape ?? {}, prefix) : raw;
    const place = { source: source.name, origin: source.origin, ownName: raw.name };
    let last = definition;
    for (const transformer of applied) {
      const made = transformed(transformer, last, place);
      if ("kind" in made) return made;
      last = made;
    }
    return { kind: "kept", definition: last, pinned, defaults };
  };
}

/** The tool as the transformer makes it, or why it is left out. Whatever plain JavaScript returns is checked. */
function transformed(
  transformer: ToolTransformer,
  tool: ToolDefinition,
  place: ToolPlace,
): ToolDefinition | Extract<Shaped, { readonly reason: string }> {
  const { name } = transformer;
  const named =
    name === undefined ? "a transformer in the program's own code" : `the transformer ${JSON.stringify(name)}`;
  try {
    const made = transformer.transform(tool, place);
    if (made === tool) return tool;
    if (made === null) return { kind: "filtered", reason: `${named} leaves it out` };
    const problem = isJsonObject(made) ? definitionProblem(made) : "it returned neither a tool nor null";
    return problem === undefined ? made : { kind: "broken", reason: `${named} made it unusable: ${problem}` };
  } catch (error) {
    return { kind: "broken", reason: `${named} failed on it: ${messageOf(error)}` };
  }
}

/** What is wrong with a definition that a program made: no type holds plain JavaScript to anything. */
export function definitionProblem(made: JsonObject): string | undefined {
  const { name, title, description, inputSchema, outputSchema, annotations, providerOptions } = made;
  if (typeof name !== "string" || name.trim() === "") return "its name must be a text that is not empty";
  if (typeof description !== "string") return "its description must be a text";
  if (title !== undefined && typeof title !== "string") return "its title must be a text";
  if (!isJsonObject(inputSchema)) return "its inputSchema must be a JSON Schema object";
  if (outputSchema !== undefined && !isJsonObject(outputSchema)) return "its outputSchema must be a JSON Schema object";
  if (annotations !== undefined && !isJsonObject(annotations)) return "its annotations must be an object";
  const options =
    providerOptions === undefined ? [] : isJsonObject(providerOptions) ? Object.values(providerOptions) : [0];
  if (!options.every(isJsonObject)) return "its providerOptions must have an object for each provider";
  const data = { inputSchema, outputSchema, annotations, providerOptions };
  return isWritable(data) ? undefined : "its schemas and options must be plain data that is not nested too deep";
}

function isWritable(value: unknown): boolean {
  if (isTooDeep(value)) return false;
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}

/** Tools of servers, whoever named them. */
const SERVER_ORIGINS: ReadonlySet<ToolOrigin> = new Set(["user", "project", "client"]);

function appliesTo({ applyTo = "servers" }: ToolTransformer, origin: ToolOrigin): boolean {
  return applyTo === "all" || SERVER_ORIGINS.has(origin);
}

/** Why a tool of that name is left out by the entry of its server; undefined when it is not. */
export function whyFiltered(settings: ShapeSettings, ownName: string): string | undefined {
  return nameFilter(settings)(ownName);
}

/** Those of a server's tools that its entry does not leave out. */
export function usedTools<T extends Pick<ToolDefinition, "name">>(
  settings: ShapeSettings,
  tools: readonly T[],
): readonly T[] {
  const filter = nameFilter(settings);
  return tools.filter(({ name }) => filter(name) === undefined);
}

/** Gives the reason for leaving a name out, or nothing. */
function nameFilter({ allow, deny = [] }: ShapeSettings): (name: string) => string | undefined {
  const compiled = (globs: readonly string[]): readonly [string, GlobMatcher][] =>
    globs.map((glob) => [glob, compileGlob(glob)]);
  const denied = compiled(deny);
  const allowed = allow && compiled(allow);
  return (name) => {
    const hit = denied.find(([, matches]) => matches(name));
    if (hit) return `"deny" of its server has ${JSON.stringify(hit[0])}, or "enabled" of it is false`;
    if (allowed && !allowed.some(([, matches]) => matches(name))) {
      return `"allow" of its server has nothing that matches its name: ${JSON.stringify(allow)}`;
    }
    return undefined;
  };
}

function configured(raw: ToolDefinition, shape: ToolShape, prefix: string): ToolDefinition {
  const { arguments: pinned = NOTHING, defaults = NOTHING, providerOptions } = shape;
  return {
    ...raw,
    name: shape.name ?? `${prefix}${raw.name}`,
    description: shape.description ?? raw.description,
    inputSchema: shapedSchema(raw.inputSchema, pinned, defaults),
    ...defined({ providerOptions: providerOptions ? { ...raw.providerOptions, ...providerOptions } : undefined }),
  };
}

// What configuration and code may change about a source's tools, before the catalog sees them.
/** One tool, by its source's own name. */
export interface ToolShape {
  /** Shown to the model in place of its own; taken as it is, without the prefix. The source is called by its own name. */
  readonly name?: string;
  readonly description?: string;
  /** Put into every call and not shown to the model. */
  readonly arguments?: JsonObject;
  /** Put into a call where the model gives nothing; shown as defaults. */
  readonly defaults?: JsonObject;
  /** By provider: see `ToolDefinition.providerOptions`. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>;
}

export interface ShapeSettings {
  /** Globs on the source's own names: only what matches one is used. */
  readonly allow?: readonly string[];
  /** Stronger than `allow`. */
  readonly deny?: readonly string[];
  /** Put before the name of every tool that has no name of its own in `tools`. */
  readonly prefix?: string;
  readonly tools?: Readonly<Record<string, ToolShape>>;
}

/** Include modes as a client may send them with a server: see `_meta.tenon.include`. */
export interface ServerInclude {
  /** Undefined: the default, which is `always` as far as the session's limits allow. */
  readonly include?: IncludeMode;
  /** By the source's own names; stronger than `include`. A tool that is `always` here keeps its place over any limit. */
  readonly includeByTool?: Readonly<Record<string, IncludeMode>>;
}

/** All that configuration says about a source's tools. */
export interface SourceSettings extends ShapeSettings, ServerInclude {}

/**
 * Where the tool being transformed comes from.
 *
 * @example
 * const transform = (tool: ToolDefinition, { source }: ToolPlace) => ({ ...tool, description: `[${source}] ${tool.description}` });
 */
export interface ToolPlace {
  readonly source: string;
  readonly origin: ToolOrigin;
  /** The source's own name of it, whatever was done to the rest. */
  readonly ownName: string;
}

/**
 * Code that changes tools: another name, description or schema, or null to leave the tool out. It sees what configuration
 * made of the tool, and the source is still called by its own name, with the arguments as the model wrote them. Must be
 * quick and give the same for the same tool; one that throws costs that tool, with its reason, and no other.
 *
 * @example
 * const prefix: ToolTransformer = { name: "prefix", transform: (tool) => ({ ...tool, name: `mcp_${tool.name}` }) };
 */
export interface ToolTransformer {
  /** By which its failures are reported. */
  readonly name?: string;
  /** `servers` (default): tools of servers only. `all`: also Tenon's own tools and those of the program itself. */
  readonly applyTo?: "servers" | "all";
  transform(tool: ToolDefinition, place: ToolPlace): ToolDefinition | null;
}

/**
 * The schema a model is shown: pinned arguments are left out, and arguments with a default are optional and say what it is.
 * The source's own schema stays the one that arguments are checked against.
 */
export function shapedSchema(schema: JsonSchema, pinned: JsonObject, defaults: JsonObject): JsonSchema {
  const optional: ReadonlySet<JsonValue> = new Set([...Object.keys(pinned), ...Object.keys(defaults)]);
  if (optional.size === 0) return schema;
  const { properties, required, ...rest } = schema;
  const shown = Object.entries(isJsonObject(properties) ? properties : {})
    .filter(([name]) => !Object.hasOwn(pinned, name))
    .map(([name, property]) => {
      const hasDefault = Object.hasOwn(defaults, name) && isJsonObject(property);
      return [name, hasDefault ? { ...property, default: defaults[name] } : property] as const;
    });
  const needed = Array.isArray(required) ? required.filter((name) => !optional.has(name)) : [];
  const kept = isJsonObject(properties) ? Object.fromEntries(shown) : properties;
  return { ...rest, ...defined({ properties: kept, required: needed.length === 0 ? undefined : needed }) };
}
