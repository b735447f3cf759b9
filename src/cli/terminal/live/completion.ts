// Completion while typing: commands behind a slash at the beginning, files behind an @, found by letters in their order.

export interface Candidate {
  /** What replaces the word. */
  readonly text: string;
  readonly note: string;
}

export interface CompletionSources {
  readonly commands: () => readonly Candidate[];
  /** Paths, relative to the folder; what is known of them now. */
  readonly files: () => readonly string[];
}

export interface Completion {
  /** Where the word begins that is replaced. */
  readonly from: number;
  readonly candidates: readonly Candidate[];
}

const MOST = 50;

/** Undefined where nothing could be completed. */
export function completionAt(text: string, cursor: number, sources: CompletionSources): Completion | undefined {
  const before = text.slice(0, cursor);
  const command = /^\/(\S*)$/u.exec(before);
  if (command) return found(0, command[1] ?? "", sources.commands(), ({ text: name }) => name.slice(1));
  const mention = /(?:^|\s)@([^\s@]*)$/u.exec(before);
  if (!mention) return undefined;
  const word = mention[1] ?? "";
  const files = sources.files().map((path) => ({ text: `@${path}`, note: "" }));
  return found(cursor - word.length - 1, word, files, ({ text: path }) => path.slice(1));
}

function found(
  from: number,
  word: string,
  all: readonly Candidate[],
  nameOf: (one: Candidate) => string,
): Completion | undefined {
  const scored = all.flatMap((candidate) => {
    const score = fuzzyScore(word, nameOf(candidate));
    return score === undefined ? [] : [{ candidate, score }];
  });
  const candidates = scored
    .sort((a, b) => b.score - a.score)
    .slice(0, MOST)
    .map(({ candidate }) => candidate);
  return candidates.length === 0 ? undefined : { from, candidates };
}

/** Undefined where a letter is missing. Higher for letters that follow each other, begin a part, or come early; and for short names. */
export function fuzzyScore(word: string, name: string): number | undefined {
  const [letters, lower] = [word.toLowerCase(), name.toLowerCase()];
  if (letters === "") return 0;
  const whole = lower.indexOf(letters);
  if (whole >= 0) return 100 - whole + (isBeginning(name, whole) ? 50 : 0) - name.length / 100;
  let at = 0;
  let score = 0;
  for (const letter of letters) {
    const next = lower.indexOf(letter, at);
    if (next < 0) return undefined;
    score += (next === at && at > 0 ? 3 : 0) + (isBeginning(name, next) ? 2 : 0);
    at = next + letter.length;
  }
  return score - name.length / 100;
}

function isBeginning(name: string, at: number): boolean {
  return at === 0 || /[^\p{L}\p{N}]/u.test(name.charAt(at - 1));
}
