// What one check of the doctor found, and what to do about it.

export interface Finding {
  /** `server.github`: stays the same from run to run. */
  readonly id: string;
  /** What was looked at, in a word or two. */
  readonly subject: string;
  /** `wrong` makes the command fail; `odd` is worth a look; `unused` is not needed here. */
  readonly state: "ok" | "odd" | "wrong" | "unused";
  readonly text: string;
  /** Commands or steps, the most likely first. */
  readonly cures?: readonly string[];
}

export function ok(id: string, subject: string, text: string): Finding {
  return { id, subject, state: "ok", text };
}

export function wrong(id: string, subject: string, text: string, cures: readonly string[]): Finding {
  return { id, subject, state: "wrong", text, cures };
}

export function odd(id: string, subject: string, text: string, cures: readonly string[] = []): Finding {
  return { id, subject, state: "odd", text, cures };
}
