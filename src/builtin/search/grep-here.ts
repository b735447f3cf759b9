// Searching file by file ourselves, where there is no ripgrep.
import { join } from "node:path";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/world.js";
import { sniff } from "../text/sniff.js";
import { compileGlob, type Glob } from "./glob.js";
import type { Grep, GrepRequest, Hit } from "./hit.js";
import { MatchThread } from "./match-thread.js";
import { Walk } from "./walk.js";

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
      : [...this.#notes, `${files} of more than ${LIMITS.grepMaxFileBytes} bytes were not searched.`];
  }

  async *hits(): AsyncGenerator<Hit> {
    using deadline = this.#world.deadline(LIMITS.walk.maxMs, this.#request.signal);
    const thread = new MatchThread(this.#world, this.#request.pattern);
    try {
      for await (const path of this.#paths()) yield* this.#inFile(path, thread, deadline.signal);
    } catch (thrown) {
      if (!deadline.expired) throw thrown;
      this.#notes.push(
        `The search was ended after ${LIMITS.walk.maxMs / 1_000} s: take a simpler pattern or a smaller folder.`,
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
    const walk = new Walk(this.#world, { start, includeIgnored, signal });
    for await (const { path, kind } of walk.entries()) {
      if (kind === "file" && (!glob || glob.matches(path))) yield join(start, path);
    }
    this.#notes.push(...walk.notes);
  }

  #glob(): Glob | undefined {
    if (this.#request.glob === undefined) return undefined;
    const compiled = compileGlob(this.#request.glob);
    if (!compiled.ok) throw new Error(`The glob cannot be used: ${compiled.reason}.`);
    return compiled.glob;
  }

  async *#inFile(path: string, thread: MatchThread, signal: AbortSignal): AsyncGenerator<Hit> {
    const { files } = this.#world;
    const found = await files.find(path);
    if (found?.kind !== "file" || found.bytes === 0) return;
    if (found.bytes > LIMITS.grepMaxFileBytes) {
      this.#skipped += 1;
      return;
    }
    const bytes = await files.readBytes(path, { start: 0, length: found.bytes }).catch(() => undefined); // no permission
    if (!bytes || sniff(bytes.subarray(0, LIMITS.sniffBytes)).kind !== "text") return;
    const text = new TextDecoder().decode(bytes);
    const matching = await thread.match(text, signal);
    if (matching.length > 0) yield* this.#around(path, text.replace(/\n$/u, "").split("\n"), matching);
  }

  /** Every line once, also where the surroundings of two matches meet. */
  *#around(path: string, lines: readonly string[], matching: readonly number[]): Generator<Hit> {
    const { context } = this.#request;
    const matches = new Set(matching);
    let next = 0;
    for (const index of matching) {
      const from = Math.max(next, index - context);
      next = Math.min(lines.length, index + context + 1);
      for (let at = from; at < next; at++) {
        yield { path, line: at + 1, text: lines[at] ?? "", isContext: !matches.has(at) };
      }
    }
  }
}
