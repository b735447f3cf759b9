// A tool as six lists of terms. Everything here was written by strangers: each field counts up to a limit.
import { isJsonObject, type JsonSchema, type JsonValue } from "../../base/json/json.js";
import { type TextBounds, termsOf } from "../../base/text/terms.js";
import { TOOL_LIMITS } from "../limits.js";
import { COUNT_BITS, FIELD_TENTHS, MAX_COUNT } from "./ranking.js";

export interface SearchDocument {
  /** What a hit is called; one tool of one server. */
  readonly id: string;
  /** Empty where there is none: then the tool stands for itself. */
  readonly server: string;
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly schema?: JsonSchema;
}

/** How often each term occurs, by field (packed, see `COUNT_BITS`), and the weighted length of all fields in tenths. */
export interface CountedTerms {
  readonly counts: ReadonlyMap<string, number>;
  readonly lengthTenths: number;
}

const { nameChars, nameWords, textChars, textWords } = TOOL_LIMITS.toolSearchField;
const NAME_BOUNDS: TextBounds = { maxChars: nameChars, maxWords: nameWords };
const TEXT_BOUNDS: TextBounds = { maxChars: textChars, maxWords: textWords };

export function countTerms(document: SearchDocument): CountedTerms {
  const counts = new Map<string, number>();
  let lengthTenths = 0;
  for (const [field, terms] of fieldTerms(document).entries()) {
    lengthTenths += terms.length * (FIELD_TENTHS[field] ?? 0);
    const shift = field * COUNT_BITS;
    for (const term of terms) {
      const packed = counts.get(term) ?? 0;
      if (((packed >>> shift) & MAX_COUNT) < MAX_COUNT) counts.set(term, packed + (1 << shift));
    }
  }
  return { counts, lengthTenths };
}

/** In the order of `FIELDS`. */
function fieldTerms({ server, name, title, description, schema }: SearchDocument): readonly string[][] {
  const names = termsOf(name, NAME_BOUNDS);
  // Most titles say the name again, which would only make it longer.
  if (title !== undefined) names.push(...termsOf(title, NAME_BOUNDS).filter((term) => !names.includes(term)));
  const words = schema === undefined ? NO_WORDS : wordsOfSchema(schema);
  return [
    names,
    termsOf(description, TEXT_BOUNDS),
    termsOf(server, NAME_BOUNDS),
    termsOf(words.properties.join(" "), TEXT_BOUNDS),
    termsOf(words.descriptions.join(" "), TEXT_BOUNDS),
    termsOf(words.values.join(" "), TEXT_BOUNDS),
  ];
}

interface SchemaWords {
  readonly properties: string[];
  readonly descriptions: string[];
  readonly values: string[];
}

const NO_WORDS: SchemaWords = { properties: [], descriptions: [], values: [] };
const NESTED = ["items", "anyOf", "oneOf", "allOf", "additionalProperties", "$defs", "definitions"] as const;

/** Breadth first, so that a deep corner cannot use up what the outer properties need. */
function wordsOfSchema(schema: JsonSchema): SchemaWords {
  const words: SchemaWords = { properties: [], descriptions: [], values: [] };
  const waiting: JsonValue[] = [schema];
  for (let taken = 0; taken < waiting.length && taken < TOOL_LIMITS.toolSearchField.schemaNodes; taken++) {
    const node = waiting[taken];
    if (Array.isArray(node)) for (const part of node) waiting.push(part);
    else if (isJsonObject(node)) addNode(node, words, waiting);
  }
  return words;
}

function addNode(node: JsonSchema, words: SchemaWords, waiting: JsonValue[]): void {
  const { properties, enum: values } = node;
  if (isJsonObject(properties)) {
    for (const [name, property] of Object.entries(properties)) {
      if (words.properties.length >= TOOL_LIMITS.toolSearchField.schemaNodes) break;
      words.properties.push(name);
      if (property === undefined || !isJsonObject(property)) continue;
      if (typeof property["description"] === "string") words.descriptions.push(property["description"]);
      waiting.push(property);
    }
  }
  if (Array.isArray(values)) {
    const room = TOOL_LIMITS.toolSearchField.schemaNodes - words.values.length;
    for (const value of values.slice(0, room)) if (typeof value === "string") words.values.push(value);
  }
  for (const key of NESTED) {
    const part = node[key];
    if (part === undefined || typeof part !== "object" || part === null) continue;
    // Named definitions are schemas under names that only the schema itself uses.
    if (key === "$defs" || key === "definitions") waiting.push(Object.values(part).filter((one) => one !== undefined));
    else waiting.push(part);
  }
}
