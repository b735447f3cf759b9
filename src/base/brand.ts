// Nominal types over plain values; each brand has one maker, the only place a cast is allowed.

declare const brand: unique symbol;

export type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** Ends an exhaustive switch: unreachable while the types are right, loud when they are not. */
export function unreachable(value: never): never {
  throw new Error(`unreachable case: ${JSON.stringify(value)}`);
}
