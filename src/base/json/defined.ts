// Objects without the fields that are undefined: absent and undefined differ in JSON, in spreads and for `in`.

/** A copy of `fields` without those that are undefined, for spreading into an object with optional fields. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const copy: { [K in keyof T]?: Exclude<T[K], undefined> } = {};
  for (const key in fields) {
    const value = fields[key];
    if (isDefined(value)) copy[key] = value;
  }
  return copy;
}

function isDefined<T>(value: T): value is Exclude<T, undefined> {
  return value !== undefined;
}
