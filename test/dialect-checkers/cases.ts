// The parts frozen cases are made of.

export type Provider = "anthropic" | "openai" | "gemini" | "openai-compatible";

export interface Case {
  readonly provider: Provider;
  readonly strict?: boolean;
  /** What the provider says, and where that is on record. */
  readonly says: string;
  readonly schema: unknown;
}

export const text = { type: "string" } as const;
export const rooted = (property: unknown, more: object = {}): object => ({
  type: "object",
  properties: { p: property },
  ...more,
});
export const closed = (property: unknown): object => rooted(property, { required: ["p"], additionalProperties: false });
export const object = (name: string): object => ({
  type: "object",
  properties: { [name]: text, other: text },
  required: [name, "other"],
  additionalProperties: false,
});
export const nested = (levels: number): unknown => (levels === 0 ? text : closed(nested(levels - 1)));
export const wide = (count: number): Readonly<Record<string, object>> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, text]));
export const many = (count: number, length: number): string[] =>
  Array.from({ length: count }, (_, index) => `${index}`.padStart(length, "0"));
/** Objects in objects, with nothing else about them. */
export const deep = (levels: number): unknown => (levels === 0 ? text : rooted(deep(levels - 1)));
