// Going through a schema as plain data. Shared by the checkers, and by nothing in the product.

export type Data = Readonly<Record<string, unknown>>;

export function isData(value: unknown): value is Data {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export interface Place {
  readonly path: string;
  /** Properties, items and further keys passed on the way. */
  readonly depth: number;
}

/** Every schema inside a schema, itself first. Keywords that hold schemas are those of JSON Schema 2020-12 and draft 7. */
export function* schemasIn(schema: unknown, place: Place = { path: "", depth: 0 }): Generator<[unknown, Place]> {
  yield [schema, place];
  if (!isData(schema)) return;
  for (const [keyword, value] of Object.entries(schema)) {
    const at = `${place.path}/${keyword}`;
    const deeper = { path: at, depth: place.depth + 1 };
    if (["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"].includes(keyword)) {
      if (!isData(value)) continue;
      for (const name of Object.keys(value)) yield* schemasIn(value[name], { ...deeper, path: `${at}/${name}` });
    } else if (["items", "additionalProperties", "contains", "unevaluatedProperties"].includes(keyword)) {
      if (Array.isArray(value)) for (const item of value) yield* schemasIn(item, deeper);
      else yield* schemasIn(value, deeper);
    } else if (["not", "if", "then", "else", "propertyNames"].includes(keyword)) {
      yield* schemasIn(value, { ...place, path: at });
    } else if (["anyOf", "oneOf", "allOf", "prefixItems"].includes(keyword) && Array.isArray(value)) {
      for (const [index, form] of value.entries()) yield* schemasIn(form, { ...place, path: `${at}/${index}` });
    }
  }
}

export function typesOf(schema: Data): readonly unknown[] {
  const { type } = schema;
  return Array.isArray(type) ? type : type === undefined ? [] : [type];
}

export function namesOf(schema: Data): readonly string[] {
  return isData(schema["properties"]) ? Object.keys(schema["properties"]) : [];
}

export function requiredOf(schema: Data): readonly unknown[] {
  return Array.isArray(schema["required"]) ? schema["required"] : [];
}
