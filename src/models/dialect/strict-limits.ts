// How large a schema may be for a provider to decode strictly by it. Beyond that, tools are offered without.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";

export interface Extent {
  properties: number;
  depth: number;
  /** Characters of names and allowed values. */
  chars: number;
  options: number;
  optional: number;
  unions: number;
  /** Characters in the longest list of allowed texts with more than 250 of them. */
  longList: number;
}

const LONG_LIST = 250;

export function extentOf(schema: JsonObject): Extent {
  const extent = { properties: 0, depth: 0, chars: 0, options: 0, optional: 0, unions: 0, longList: 0 };
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
export function overOpenAi(extent: Extent): string | undefined {
  if (extent.properties > 5_000) return `it has ${extent.properties} properties, and 5000 is the limit`;
  if (extent.depth > 10) return `it is nested ${extent.depth} levels deep, and 10 is the limit`;
  if (extent.chars > 120_000) return `its names and values have ${extent.chars} characters, and 120000 is the limit`;
  if (extent.options > 1_000) return `it lists ${extent.options} allowed values, and 1000 is the limit`;
  if (extent.longList > 15_000) return "one list of allowed values is longer than 15000 characters";
  return undefined;
}

/** Anthropic's documented limits, which hold for all strict tools of a request together. */
export const ANTHROPIC_STRICT = { tools: 20, optional: 24, unions: 16 } as const;

export function overAnthropic(extent: Pick<Extent, "optional" | "unions">): string | undefined {
  if (extent.optional > ANTHROPIC_STRICT.optional) {
    return `strict tools may have ${ANTHROPIC_STRICT.optional} optional properties in all`;
  }
  if (extent.unions > ANTHROPIC_STRICT.unions) {
    return `strict tools may have ${ANTHROPIC_STRICT.unions} properties of several types in all`;
  }
  return undefined;
}
