// The message and the code of anything that was thrown. Apart from `errors.ts`: the start of the command line has no error class.

/** Words for whatever was thrown: never empty, never throws. */
export function messageOf(thrown: unknown): string {
  try {
    return wordsOf(thrown);
  } catch {
    return "thrown with a message that cannot be read";
  }
}

function wordsOf(thrown: unknown): string {
  if (thrown instanceof Error) {
    if (thrown.message !== "") return thrown.message;
    // Node reports "refused on every address" this way: no message of its own, the causes inside.
    if (thrown instanceof AggregateError && thrown.errors.length > 0) return thrown.errors.map(messageOf).join("; ");
    return thrown.name;
  }
  if (typeof thrown === "object" && thrown !== null) {
    if ("message" in thrown && typeof thrown.message === "string" && thrown.message !== "") return thrown.message;
    return `thrown without a message: ${Object.prototype.toString.call(thrown)}`;
  }
  return String(thrown) || "thrown without a message: empty text";
}

/** Whether it is an error of Node with one of these codes (`ENOENT`). */
export function hasErrorCode(thrown: unknown, ...codes: readonly string[]): boolean {
  return thrown instanceof Error && "code" in thrown && codes.some((code) => code === thrown.code);
}
