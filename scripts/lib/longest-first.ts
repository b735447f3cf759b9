// The order in which vitest starts files: the longest first, so that none runs alone at the end; those that measure time last.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { BaseSequencer, type TestSequencer, type TestSpecification, type Vitest } from "vitest/node";

/** Files of half a minute and more, by their time. Vitest goes by size where it knows no times, and some of these are short. */
const LONGEST = [
  ...["docs", "terminal-grants"],
  ...["acp-check", "acp-load", "config-traps", "matrix", "walls", "turns-starts", "oauth-attacks"],
  ...["oauth-session", "oauth-login", "providers-long", "acpx-sessions", "providers-cancel", "acp-fuzz"],
  ...["terminal-questions", "terminal", "cli-servers", "tasks", "gateway-translator", "page", "serve"],
  ...["providers-answers", "providers-errors"],
];

/** By then the checks and the other Node, which run beside, have ended: these bounds are in real time. */
const MEASURING = /\b(?:longestStandstillMs|watchEventLoop)\b/u;

export class LongestFirst implements TestSequencer {
  readonly #usual: TestSequencer;

  constructor(vitest: Vitest) {
    this.#usual = new BaseSequencer(vitest);
  }

  async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    return await this.#usual.shard(files);
  }

  /** Projects one after the other: a worker keeps its modules only within one. */
  async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const ranked = files.map((file) => {
      const source = readFileSync(file.moduleId, "latin1");
      const place = LONGEST.indexOf(basename(file.moduleId, ".test.ts"));
      const rank = MEASURING.test(source) ? LONGEST.length + 1 : place < 0 ? LONGEST.length : place;
      return { file, rank, bytes: source.length };
    });
    ranked.sort(
      (one, other) =>
        one.file.project.name.localeCompare(other.file.project.name) ||
        one.rank - other.rank ||
        other.bytes - one.bytes,
    );
    return ranked.map(({ file }) => file);
  }
}
