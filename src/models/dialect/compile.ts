// One tool's JSON Schema, as the form a provider takes. Total: any value gives a form or a reason, in bounded time.
import { defined } from "../../base/json/defined.js";
import {
  isEmpty,
  isJsonObject,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  parseJson,
} from "../../base/json/json.js";
import { MODEL_LIMITS } from "../limits.js";
import type { DialectName, Model, ModelTool, ModelToolCall } from "../model.js";
import { foldObject } from "./combine.js";
import { readSchema } from "./read.js";
import {
  type CompiledSchema,
  type DialectOptions,
  dialectOf,
  NoForm,
  OPTION_KEYS,
  RULES,
  type Rules,
} from "./rules.js";
import {
  ANY,
  BOUND_NAMES,
  BOUNDS,
  type Bound,
  Fuel,
  mayBe,
  OutOfFuel,
  optionsWords,
  type Shape,
  saying,
  shapeWords,
  wordsAlone,
} from "./shape.js";
import { adaptedOptions } from "./tool-options.js";
import { type Node, type Written, writeSchema } from "./write.js";

/** Definitions do not change, so each is compiled once per form. */
const compiled = new WeakMap<JsonSchema, Map<string, CompiledSchema>>();

/** The schema itself is left untouched: arguments are checked against it, not against the form. */
export function compileSchema(raw: JsonSchema, dialect: DialectName, options: DialectOptions = {}): CompiledSchema {
  if (!isJsonObject(raw)) return { ok: false, reason: "its schema is no object" };
  const forms = compiled.get(raw) ?? new Map<string, CompiledSchema>();
  compiled.set(raw, forms);
  const key = `${dialect} ${String(options.strict ?? false)}`;
  const known = forms.get(key);
  if (known !== undefined) return known;
  const fresh = compile(raw, dialect, options.strict ?? false);
  forms.set(key, fresh);
  return fresh;
}

function compile(raw: JsonSchema, dialect: DialectName, strict: boolean | "required"): CompiledSchema {
  if (dialect === "plain" && isPlain(raw)) return { ok: true, schema: raw };
  const rules = RULES[dialect];
  if (strict !== false && rules.strict) {
    const form = attempt(raw, rules.strict, (schema) => strictLimit(dialect, schema));
    if (typeof form !== "string") return finished(form, true);
    if (strict === "required") return { ok: false, reason: `it has no strict form: ${form}` };
  }
  const form = usualForm(raw, rules.loose) ?? attempt(raw, rules.loose, () => undefined);
  if (typeof form === "string") return { ok: false, reason: form };
  // The Responses API decodes strictly unless told otherwise, and refuses schemas that are not made for it.
  const saysStrict = dialect === "openai-chat" || dialect === "openai-responses";
  return finished(form, saysStrict ? false : undefined);
}

function finished(written: Written, strict: boolean | undefined): CompiledSchema {
  // Nothing to restore when the form left all names as they were and made nothing nullable.
  const isSame = written.originals.size === 0 && written.nullables.size === 0;
  const restoreArguments = (args: JsonValue) => restore(args, written.schema, written, 0);
  return { ok: true, schema: written.schema, ...defined({ strict, restore: isSame ? undefined : restoreArguments }) };
}

function strictLimit(dialect: DialectName, schema: JsonObject): string | undefined {
  if (dialect === "anthropic") return overAnthropic(extentOf(schema));
  return dialect.startsWith("openai") ? overOpenAi(extentOf(schema)) : undefined;
}

/** The form, or why there is none. */
function attempt(raw: JsonSchema, rules: Rules, over: (schema: JsonObject) => string | undefined): Written | string {
  const fuel = new Fuel(MODEL_LIMITS.dialect.fuel);
  try {
    const shape = asArguments(readSchema(raw, fuel), fuel);
    if (typeof shape === "string") return shape;
    const written = writeSchema(shape, rules, fuel);
    return over(written.schema) ?? written;
  } catch (thrown) {
    if (thrown instanceof NoForm) return thrown.message;
    if (thrown instanceof OutOfFuel) return "it is too large or too entangled to be described to a model";
    throw thrown;
  }
}

/** Arguments are an object: what else the root allows is left out, and alternatives at the root become one object. */
function asArguments(shape: Shape, fuel: Fuel): Shape | string {
  if (!mayBe(shape, "object")) return `its arguments are not an object but ${shapeWords(shape, 0)}`;
  if (shape.forms !== undefined) {
    return foldObject({ ...wordsAlone(shape), kinds: ["object"] }, shape.forms, false, fuel);
  }
  const { options, ...rest } = shape;
  const object: Shape = { ...ANY, ...rest, kinds: ["object"] };
  return options === undefined ? object : saying(object, `The whole must be one of ${optionsWords(options)}.`);
}

/** Schemas that already are what every model expects; they are passed on as they came. */
function isPlain(raw: JsonSchema): boolean {
  const { type, properties } = raw;
  const isRooted = type === "object" && (properties === undefined || isJsonObject(properties));
  return (
    isRooted &&
    !["$ref", "anyOf", "oneOf", "allOf", "if", "$defs", "definitions"].some((key) => Object.hasOwn(raw, key))
  );
}

// Most schemas say nothing that has to be read twice: these are written as the reader and the writer would, at a tenth of the cost.

const PLAIN_KINDS: ReadonlySet<string> = new Set(["string", "number", "integer", "boolean"]);
/** `count`: some servers unroll longer repetitions, which are told in words there. */
const MAX_USUAL = { depth: 8, options: 200, chars: 10_000, count: 100 } as const;

/** Undefined: it has something beside kinds, words, properties, items, allowed texts, plain bounds and plain defaults. */
function usualForm(raw: JsonSchema, rules: Rules): Written | undefined {
  const isOpen = rules.objects === "open" && rules.optional === "omitted" && rules.keywords.has("minimum");
  if (!isOpen || raw["type"] !== "object") return undefined;
  const { $schema: _draft, ...root } = raw;
  const schema = new UsualWriter(rules).write(root, 0);
  return schema && { schema, originals: new Map(), nullables: new Map() };
}

class UsualWriter {
  readonly #rules: Rules;
  /** As much as reading and writing in full would take: what is too large there is too large here. */
  #fuel: number = MODEL_LIMITS.dialect.fuel;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  #spend(fuel: number): boolean {
    this.#fuel -= fuel;
    return this.#fuel >= 0;
  }

  write(given: JsonValue | undefined, depth: number): JsonObject | undefined {
    if (!isJsonObject(given) || depth > MAX_USUAL.depth || !this.#spend(2)) return undefined;
    const { type, description, ...rest } = given;
    if (typeof type !== "string" || !(description === undefined || isTold(description))) return undefined;
    const node: Node = description === undefined ? { type } : { type, description };
    if (type === "object") return this.#object(node, rest, depth);
    if (type === "array") return this.#list(node, rest, depth);
    return PLAIN_KINDS.has(type) ? this.#plain(node, type, rest) : undefined;
  }

  #object(node: Node, given: JsonObject, depth: number): JsonObject | undefined {
    const { properties = {}, required = [], additionalProperties, ...rest } = given;
    if (!isEmpty(rest) || !isJsonObject(properties) || !Array.isArray(required)) return undefined;
    if (!this.#spend(required.length / 4)) return undefined; // before each of them is looked at
    const names = new Set(required);
    const written: Node = {};
    const needed: string[] = [];
    for (const name of Object.keys(properties)) {
      const form = this.#rules.names.test(name) ? this.write(properties[name], depth + 1) : undefined;
      if (!form) return undefined;
      written[name] = form;
      if (names.has(name)) needed.push(name);
    }
    if (needed.length !== required.length) return undefined;
    node["properties"] = written;
    if (needed.length > 0) node["required"] = needed;
    if (additionalProperties !== undefined) node["additionalProperties"] = additionalProperties;
    return additionalProperties === undefined || typeof additionalProperties === "boolean" ? node : undefined;
  }

  #list(node: Node, given: JsonObject, depth: number): JsonObject | undefined {
    const { items, minItems, maxItems, ...rest } = given;
    if (!isEmpty(rest) || !this.#bounds(node, { minItems, maxItems })) return undefined;
    const written = this.write(items, depth + 1);
    if (written) node["items"] = written;
    return written && node;
  }

  #plain(node: Node, type: string, given: JsonObject): JsonObject | undefined {
    const { enum: options, minimum, maximum, minLength, maxLength, default: preset, ...rest } = given;
    if (!isEmpty(rest)) return undefined;
    if (options !== undefined) {
      if (type !== "string" || !areDistinctTexts(options) || !this.#spend(options.length / 2)) return undefined;
      node["enum"] = options;
    }
    if (type === "string" ? (minimum ?? maximum) !== undefined : (minLength ?? maxLength) !== undefined)
      return undefined;
    if (type === "boolean" && (minimum ?? maximum) !== undefined) return undefined;
    if (!this.#bounds(node, { minimum, maximum, minLength, maxLength })) return undefined;
    if (preset !== undefined) node["default"] = preset;
    return isPlainPreset(preset) ? node : undefined;
  }

  /** False for one that the reader drops, or that would be written in words. */
  #bounds(node: Node, bounds: Readonly<Partial<Record<Bound, JsonValue | undefined>>>): boolean {
    for (const bound of BOUND_NAMES) {
      const value = bounds[bound];
      if (value === undefined) continue;
      if (typeof value !== "number" || !(Math.abs(value) < Number.MAX_SAFE_INTEGER)) return false;
      const isCount = BOUNDS[bound] !== "number";
      const least = bound.startsWith("min") ? 1 : 0;
      if (isCount && (!Number.isInteger(value) || value < least || value > MAX_USUAL.count)) return false;
      node[bound] = value;
    }
    return true;
  }
}

function isTold(description: JsonValue): boolean {
  return typeof description === "string" && description.trim() !== "";
}

function isPlainPreset(preset: JsonValue | undefined): boolean {
  if (typeof preset === "string") return preset.length <= MAX_USUAL.chars;
  return typeof preset === "number" ? Number.isFinite(preset) : typeof preset !== "object";
}

function areDistinctTexts(options: JsonValue): options is readonly string[] {
  if (!Array.isArray(options) || options.length === 0 || options.length > MAX_USUAL.options) return false;
  const areTexts = options.every((option) => typeof option === "string" && option.length <= MAX_USUAL.chars);
  return areTexts && new Set(options).size === options.length;
}

// Arguments a model wrote to a compiled schema, as the tool's own schema wants them.

/** Deeper arguments are left as they are: no schema is that deep. */
const MAX_DEPTH = 80;

function restore(value: JsonValue, schema: JsonValue | undefined, written: Written, depth: number): JsonValue {
  if (depth > MAX_DEPTH || typeof value !== "object" || value === null) return value;
  const form = formFor(value, schema);
  if (!isJsonObject(value)) {
    const items = form?.["items"];
    return value.map((item) => restore(item, items, written, depth + 1));
  }
  const properties = isJsonObject(form?.["properties"]) ? form["properties"] : {};
  const nullables = form === undefined ? undefined : written.nullables.get(form);
  const entries: [string, JsonValue][] = [];
  for (const key of Object.keys(value)) {
    const field = value[key];
    // A null that stands for "left out" in the strict form would be no valid value in the tool's own.
    if (field === undefined || (field === null && nullables?.has(key) === true)) continue;
    const inside = Object.hasOwn(properties, key) ? properties[key] : form?.["additionalProperties"];
    entries.push([written.originals.get(key) ?? key, restore(field, inside, written, depth + 1)]);
  }
  // Not by assignment: one of the names may be `__proto__`.
  return Object.fromEntries(entries);
}

/** Of several forms the one the value was written to: the first that has all its keys and fits its fixed values. */
function formFor(value: readonly JsonValue[] | JsonObject, schema: JsonValue | undefined): JsonObject | undefined {
  if (!isJsonObject(schema)) return undefined;
  const { anyOf } = schema;
  if (!Array.isArray(anyOf)) return schema;
  const forms = anyOf.map((form) => formFor(value, form)).filter((form) => form !== undefined);
  return forms.find((form) => isFitting(value, form)) ?? forms.find((form) => isKind(value, form));
}

function isKind(value: readonly JsonValue[] | JsonObject, form: JsonObject): boolean {
  const kind = Array.isArray(value) ? "array" : "object";
  const { type } = form;
  return type === undefined || type === kind || (Array.isArray(type) && type.includes(kind));
}

function isFitting(value: readonly JsonValue[] | JsonObject, form: JsonObject): boolean {
  if (!isKind(value, form)) return false;
  if (!isJsonObject(value)) return true;
  const { properties } = form;
  if (!isJsonObject(properties)) return true;
  return Object.keys(value).every((key) => {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    const field = value[key];
    if (!isJsonObject(property)) return false;
    return !Array.isArray(property["enum"]) || typeof field === "object" || property["enum"].includes(field);
  });
}

// How large a schema may be for a provider to decode strictly by it. Beyond that, tools are offered without.

/**
 * Of one schema. `chars`: characters of names and allowed values; `longList`: those in the longest list of allowed texts
 * with more than 250 of them.
 */
const NO_EXTENT = { properties: 0, depth: 0, chars: 0, options: 0, optional: 0, unions: 0, longList: 0 };
type Extent = typeof NO_EXTENT;

const LONG_LIST = 250;

function extentOf(schema: JsonObject): Extent {
  const extent = { ...NO_EXTENT };
  measure(schema, 1, extent);
  return extent;
}

/** For schemas the writer made: their depth is bounded. */
function measure(schema: JsonValue | undefined, depth: number, extent: Extent): void {
  if (!isJsonObject(schema)) return;
  const { properties, required, items, anyOf, enum: options, type } = schema;
  if (isJsonObject(properties) || items !== undefined) extent.depth = Math.max(extent.depth, depth);
  if (Array.isArray(options)) countOptions(options, extent);
  if (Array.isArray(anyOf) || Array.isArray(type)) extent.unions += 1;
  if (isJsonObject(properties)) {
    const names = Object.keys(properties);
    extent.properties += names.length;
    extent.optional += names.length - (Array.isArray(required) ? required.length : 0);
    for (const name of names) {
      extent.chars += name.length;
      measure(properties[name], depth + 1, extent);
    }
  }
  measure(items, depth + 1, extent);
  if (Array.isArray(anyOf)) for (const form of anyOf) measure(form, depth, extent);
}

function countOptions(options: readonly JsonValue[], extent: Extent): void {
  const chars = options.reduce<number>((sum, option) => sum + (typeof option === "string" ? option.length : 0), 0);
  extent.options += options.length;
  extent.chars += chars;
  if (options.length > LONG_LIST) extent.longList = Math.max(extent.longList, chars);
}

/** OpenAI's documented limits on one schema. */
function overOpenAi(extent: Extent): string | undefined {
  if (extent.properties > 5_000) return `it has ${extent.properties} properties, and 5000 is the limit`;
  if (extent.depth > 10) return `it is nested ${extent.depth} levels deep, and 10 is the limit`;
  if (extent.chars > 120_000) return `its names and values have ${extent.chars} characters, and 120000 is the limit`;
  if (extent.options > 1_000) return `it lists ${extent.options} allowed values, and 1000 is the limit`;
  if (extent.longList > 15_000) return "one list of allowed values is longer than 15000 characters";
  return undefined;
}

/** Anthropic's documented limits, which hold for all strict tools of a request together. */
const ANTHROPIC_STRICT = { tools: 20, optional: 24, unions: 16 } as const;

function overAnthropic(extent: Pick<Extent, "optional" | "unions">): string | undefined {
  if (extent.optional > ANTHROPIC_STRICT.optional) {
    return `strict tools may have ${ANTHROPIC_STRICT.optional} optional properties in all`;
  }
  if (extent.unions > ANTHROPIC_STRICT.unions) {
    return `strict tools may have ${ANTHROPIC_STRICT.unions} properties of several types in all`;
  }
  return undefined;
}

// The tools of one request in the model's dialect: those it takes, those it cannot, and the way back for its calls.

export interface CompiledTools {
  /** In the order given, so that appending tools leaves the bytes before them as they were. */
  readonly tools: readonly ModelTool[];
  /** `reason`: a clause that completes "The tool cannot be offered: …". */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
  /**
   * The same call with the arguments its tool wants: names it was shown under other ones, and nulls that meant "left out"
   * in strict form. For running the call; the transcript keeps what the model wrote. Invalid JSON passes through.
   */
  restore(call: ModelToolCall): ModelToolCall;
  /** The same for arguments that have been read already. */
  restoreArguments(name: string, args: JsonObject): JsonObject;
}

type Form = Extract<CompiledSchema, { ok: true }>;

/**
 * `providerOptions.<provider>.strict` of a tool, or its own `strict`, asks for the strict form: `true` where there is one,
 * `"required"` or not at all. Never throws.
 */
export function compileTools(tools: readonly ModelTool[], model: Pick<Model, "id" | "dialect">): CompiledTools {
  const dialect = model.dialect ?? dialectOf(model.id) ?? "plain";
  const admit = strictBudget(dialect);
  const offered: ModelTool[] = [];
  const refused: { name: string; reason: string }[] = [];
  const restores = new Map<string, NonNullable<Form["restore"]>>();
  for (const given of tools) {
    const { providerOptions } = given;
    const tool = providerOptions ? { ...given, providerOptions: adaptedOptions(providerOptions) } : given;
    const form = admit(compileSchema(tool.inputSchema, dialect, { strict: wantsStrict(tool, dialect) }), tool);
    if (!form.ok) {
      refused.push({ name: tool.name, reason: form.reason });
      continue;
    }
    offered.push(asOffered(tool, form, dialect));
    if (form.restore !== undefined) restores.set(tool.name, form.restore);
  }
  return {
    tools: offered,
    refused,
    restore: (call) => restored(call, restores.get(call.name)),
    restoreArguments(name, args) {
      const own = restores.get(name)?.(args);
      return isJsonObject(own) ? own : args;
    },
  };
}

function wantsStrict(tool: ModelTool, dialect: DialectName): boolean | "required" {
  const options = tool.providerOptions?.[OPTION_KEYS[dialect]];
  // Inside `function`, as OpenAI's Chat API has it.
  const inside = isJsonObject(options?.["function"]) ? options["function"]["strict"] : undefined;
  const asked = options?.["strict"] ?? inside;
  if (asked === "required" || typeof asked === "boolean") return asked;
  return tool.strict ?? false;
}

function asOffered(tool: ModelTool, form: Form, dialect: DialectName): ModelTool {
  const { strict: _strict, providerOptions, ...rest } = tool;
  const { properties, description } = form.schema;
  // Gemini leaves out the parameters of a tool without properties, and the words on them would go as well.
  const isBare = dialect === "gemini" && properties === undefined && typeof description === "string";
  const words = isBare ? [tool.description, description].filter((text) => text !== "").join("\n") : tool.description;
  const options = providerOptions && withoutStrict(providerOptions);
  return {
    ...rest,
    description: words,
    inputSchema: form.schema,
    ...defined({ strict: form.strict, providerOptions: options }),
  };
}

/** `strict` has been decided by now, and is no option of the adapter's. */
function withoutStrict(options: Readonly<Record<string, JsonObject>>): Readonly<Record<string, JsonObject>> {
  const cleaned = Object.entries(options).map(([provider, { strict: _strict, ...rest }]): [string, JsonObject] => [
    provider,
    rest,
  ]);
  return Object.fromEntries(cleaned);
}

function restored(call: ModelToolCall, restore: Form["restore"]): ModelToolCall {
  if (restore === undefined) return call;
  const args = parseJson(call.argumentsJson);
  return args.ok ? { ...call, argumentsJson: JSON.stringify(restore(args.value)) } : call;
}

/** Anthropic counts over all strict tools of a request; those that come after the limit go without. */
function strictBudget(dialect: DialectName): (form: CompiledSchema, tool: ModelTool) => CompiledSchema {
  let used = { tools: 0, optional: 0, unions: 0 };
  return (form, tool) => {
    if (dialect !== "anthropic" || !form.ok || form.strict !== true) return form;
    const { optional, unions } = extentOf(form.schema);
    const sum = { tools: used.tools + 1, optional: used.optional + optional, unions: used.unions + unions };
    const isFull = sum.tools > ANTHROPIC_STRICT.tools;
    const over = isFull ? `a request may have ${ANTHROPIC_STRICT.tools} strict tools` : overAnthropic(sum);
    if (over === undefined) {
      used = sum;
      return form;
    }
    if (wantsStrict(tool, dialect) === "required") return { ok: false, reason: `it has no strict form: ${over}` };
    return compileSchema(tool.inputSchema, dialect);
  };
}
