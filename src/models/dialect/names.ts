// Property names a provider refuses, under names it takes, and the table that leads back.
import { hashJson } from "../../base/json/hash.js";

const MAX_STEM = 50;

export class Names {
  readonly #allowed: RegExp;
  readonly #originals = new Map<string, string>();

  constructor(allowed: RegExp) {
    this.#allowed = allowed;
  }

  /** The name itself, or one that depends on nothing but it. */
  of(name: string): string {
    if (this.#allowed.test(name)) return name;
    const stem = name.slice(0, MAX_STEM).replace(/[^a-zA-Z0-9_.-]/g, "_");
    const short = `${stem}_${hashJson(name).slice(0, 8)}`;
    this.#originals.set(short, name);
    return short;
  }

  original(name: string): string | undefined {
    return this.#originals.get(name);
  }

  get isEmpty(): boolean {
    return this.#originals.size === 0;
  }
}
