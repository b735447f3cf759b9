// How a check fails: with the evidence, in one line.

/** The agent does not do what the check is about. Anything else that is thrown is a fault of the checker or the machine. */
export class CheckFailure extends Error {
  override readonly name = "CheckFailure";
}

export function demand(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new CheckFailure(otherwise);
}
