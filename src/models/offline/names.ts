// How people say a tool's name.

/** The part of a model's tool name that people say. A hint for matching only: tools are looked up by their whole name. */
export function bareName(name: string): string {
  const part = name.slice(name.lastIndexOf("__") + 1).replace(/^_+/, "");
  return part === "" ? name : part;
}

/**
 * Where a text says the name, as a whole word. A name of several words counts wherever it stands, since nobody writes
 * `read_file` by chance; a name of one word is an ordinary word too, and is left to the words around it.
 */
export function whereSaid(text: string, name: string): { start: number; end: number } | undefined {
  if (!/[\p{L}\p{N}][_-]+[\p{L}\p{N}]/u.test(name)) return undefined;
  const start = text.toLowerCase().indexOf(name.toLowerCase());
  const end = start + name.length;
  const isWhole = start >= 0 && !/[\w-]/.test(text[start - 1] ?? "") && !/[\w-]/.test(text[end] ?? "");
  return isWhole ? { start, end } : undefined;
}
