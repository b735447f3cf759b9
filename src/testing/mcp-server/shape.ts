// Checks plain JSON against the fields a type has, naming every problem with its path. No dependency: a child starts with it.

/** The problems of `value`, each beginning with its path; none when it fits. */
export type Check = (value: unknown, path: string) => string[];

/** One check per field of `T`, so that a field added to the type and forgotten here does not compile. */
export type Fields<T> = { readonly [Key in keyof T]-?: Check };

function expected(what: string, test: (value: unknown) => boolean): Check {
  return (value, path) => (test(value) ? [] : [`${path}: expected ${what}, got ${show(value)}`]);
}

export const text: Check = expected("a string", (value) => typeof value === "string");
export const nonEmptyText: Check = expected("a non-empty string", (value) => typeof value === "string" && value !== "");
export const flag: Check = expected("true or false", (value) => typeof value === "boolean");
export const finite: Check = expected("a number", (value) => typeof value === "number" && Number.isFinite(value));
export const integer: Check = expected("an integer", (value) => Number.isInteger(value));
export const count: Check = expected(
  "an integer of 0 or more",
  (value) => Number.isInteger(value) && Number(value) >= 0,
);
export const positive: Check = expected(
  "an integer of 1 or more",
  (value) => Number.isInteger(value) && Number(value) >= 1,
);
export const requestId: Check = expected(
  "a string or an integer",
  (value) => typeof value === "string" || Number.isInteger(value),
);
export const plainObject: Check = expected("an object", isRecord);
/** Whatever came out of JSON. */
export const json: Check = expected("a JSON value", (value) => value !== undefined);

export function oneOf(words: readonly string[]): Check {
  return expected(`one of ${words.join(", ")}`, (value) => words.some((word) => word === value));
}

export function optional(check: Check): Check {
  return (value, path) => (value === undefined ? [] : check(value, path));
}

export function list(check: Check): Check {
  return (value, path) => {
    if (!Array.isArray(value)) return [`${path}: expected an array, got ${show(value)}`];
    return value.flatMap((item: unknown, index) => check(item, `${path}[${index}]`));
  };
}

/** A record with these fields and no others: a misspelt field is a problem, not a silent default. */
export function record<T>(fields: Fields<T>): Check {
  const checks = Object.entries<Check>(fields);
  const known = checks.map(([name]) => name);
  return (value, path) => {
    if (!isRecord(value)) return [`${path}: expected an object, got ${show(value)}`];
    const strangers = Object.keys(value).filter((name) => !known.includes(name));
    return [
      ...strangers.map((name) => `${path}.${name}: no such field; there are ${known.join(", ")}`),
      ...checks.flatMap(([name, check]) => check(value[name], `${path}.${name}`)),
    ];
  };
}

/** A union told apart by the word in `tag`. */
export function variants(tag: string, cases: Readonly<Record<string, Check>>): Check {
  return (value, path) => {
    if (!isRecord(value)) return [`${path}: expected an object, got ${show(value)}`];
    const word = value[tag];
    const check = typeof word === "string" && Object.hasOwn(cases, word) ? cases[word] : undefined;
    if (!check) return [`${path}.${tag}: expected one of ${Object.keys(cases).join(", ")}, got ${show(word)}`];
    return check(value, path);
  };
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  if (value === undefined) return "nothing";
  const words = JSON.stringify(value) ?? `a ${typeof value}`;
  return words.length <= 60 ? words : `${words.slice(0, 60)}…`;
}
