// Searching file by file ourselves, where there is no ripgrep.
import { join } from "node:path";
import { Pace } from "../../base/async/pace.js";
import type { World } from "../../base/ports/world.js";
import { compilePathGlob, type GlobMatcher } from "../../base/text/glob.js";
import { BUILTIN_LIMITS } from "../limits.js";
import { sniff } from "../text/sniff.js";
import type { Grep, GrepRequest, Hit } from "./hit.js";
import { MatchThread } from "./match-thread.js";
import { Walk } from "./walk.js";

const LINES_AT_ONCE = 20_000;

export class GrepHere implements Grep {
  readonly #world: World;
  readonly #request: GrepRequest;
  readonly #notes: string[] = [];
  #skipped = 0;

  constructor(world: World, request: GrepRequest) {
    this.#world = world;
    this.#request = request;
  }

  get notes(): readonly string[] {
    const files = this.#skipped === 1 ? "1 file" : `${this.#skipped} files`;
    return this.#skipped === 0
      ? this.#notes
      : [...this.#notes, `${files} of more than ${BUILTIN_LIMITS.grepMaxFileBytes} bytes were not searched.`];
  }

  async *hits(): AsyncGenerator<Hit> {
    using deadline = this.#world.deadline(BUILTIN_LIMITS.walk.maxMs, this.#request.signal);
    const thread = new MatchThread(this.#world, this.#request.pattern);
    try {
      for await (const path of this.#paths()) yield* this.#inFile(path, thread, deadline.signal);
    } catch (thrown) {
      if (!deadline.expired) throw thrown;
      this.#notes.push(
        `The search was ended after ${BUILTIN_LIMITS.walk.maxMs / 1_000} s: take a simpler pattern or a smaller folder.`,
      );
    } finally {
      thread.end();
    }
  }

  async *#paths(): AsyncGenerator<string> {
    const { start, isFolder, includeIgnored, signal } = this.#request;
    if (!isFolder) {
      yield start;
      return;
    }
    const glob = this.#glob();
    const pace = Pace.of(this.#world);
    const walk = new Walk(this.#world, { start, includeIgnored, signal });
    for await (const { path, kind } of walk.entries()) {
      if (kind === "file" && (!glob || (await pace.run(() => glob(path))))) yield join(start, path);
    }
    this.#notes.push(...walk.notes);
  }

  #glob(): GlobMatcher | undefined {
    if (this.#request.glob === undefined) return undefined;
    const compiled = compilePathGlob(this.#request.glob);
    if (!compiled.ok) throw new Error(`The glob cannot be used: ${compiled.reason}.`);
    return compiled.matches;
  }

  async *#inFile(path: string, thread: MatchThread, signal: AbortSignal): AsyncGenerator<Hit> {
    const { files } = this.#world;
    const found = await files.find(path);
    if (found?.kind !== "file" || found.bytes === 0) return;
    if (found.bytes > BUILTIN_LIMITS.grepMaxFileBytes) {
      this.#skipped += 1;
      return;
    }
    const bytes = await files.readBytes(path, { start: 0, length: found.bytes }).catch(() => undefined); // no permission
    if (!bytes || sniff(bytes.subarray(0, BUILTIN_LIMITS.sniffBytes)).kind !== "text") return;
    const text = new TextDecoder().decode(bytes);
    const matching = await thread.match(text, signal);
    if (matching.length > 0) yield* this.#around(path, text, matching);
  }

  /** Every line once, also where the surroundings of two matches meet. Only lines up to the last match are looked at. */
  async *#around(path: string, text: string, matching: readonly number[]): AsyncGenerator<Hit> {
    const { context } = this.#request;
    const pace = Pace.of(this.#world);
    let start = 0;
    let line = 0;
    /** Goes to the start of a line, a lump at a time: a file may have millions of them. */
    const skipTo = async (wanted: number): Promise<void> => {
      for (let left = wanted - line; left > 0; left -= LINES_AT_ONCE) {
        await pace.run(() => {
          for (const stop = Math.min(wanted, line + LINES_AT_ONCE); line < stop; line++) {
            start = text.indexOf("\n", start) + 1 || text.length + 1;
          }
        });
      }
    };
    for (const [position, index] of matching.entries()) {
      const following = matching[position + 1] ?? Number.POSITIVE_INFINITY;
      await skipTo(Math.max(line, index - context));
      while (line <= index + context && line < following - context && start < text.length) {
        const end = text.indexOf("\n", start);
        const shown = text.slice(start, end === -1 ? undefined : end);
        yield { path, line: line + 1, text: shown, isContext: line !== index };
        start += shown.length + 1;
        line += 1;
      }
    }
  }
}
